"""Reports with maps of rank pairs, and what the maps show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankforce as rf
from rankforce.show.report.write import write_report
from tests.show.report.in_page import Floats

if TYPE_CHECKING:
    from playwright.sync_api import Locator

LONG, SHORT = 45, 9  # documents of a query in the two reports
NDCG, PRECISION = rf.objective("lambdarank-ndcg", k=5), rf.objective("lambdarank-p@k", k=3)
MIX = 0.7 * NDCG + 0.3 * PRECISION + 0.5 * rf.objective("lambdarank(map)", k=3)
STATIC = rf.objective("lambdamart-ex static", k=4)
OFFERED = [MIX, PRECISION, STATIC, "lambdarank(map)", "preferences", "ndcg-loss1", "ranknet"]

# Contrast of every text of the section with what it stands on.
TEXTS = """(section) => {
  const light = (color) => {
    const [r, g, b] = color.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const isText = (node) =>
    [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
  const ground = (node) => {
    const color = getComputedStyle(node).backgroundColor;
    return /, 0\\)$/.test(color) ? ground(node.parentElement) : color;
  };
  return [...section.querySelectorAll("*")].filter(isText).map((node) => {
    const { color, fill } = getComputedStyle(node);
    const ink = node instanceof SVGElement ? fill : color;
    const [low, high] = [light(ink), light(ground(node))].sort((a, b) => a - b);
    return [node.textContent, (high + 0.05) / (low + 0.05)];
  });
}"""


def draw_data(size: int) -> rf.RankingData:
    rng = np.random.default_rng(0)
    rows = 4 * size
    return rf.RankingData(
        rng.normal(size=(rows, 3)), rng.integers(0, 5, rows), qid=np.repeat(range(4), size)
    )


def train(objective: Any) -> rf.Ranker:
    return rf.Ranker(objective, n_estimators=1, num_leaves=3, progress=False).fit(draw_data(LONG))


def write_reports(place: Path) -> dict[int, Path]:
    """A report by the length of its lists."""
    found = {}
    for size in (LONG, SHORT):
        file = place / f"{size}.html"
        found[size] = write_report(
            train(NDCG), draw_data(size), out=file, objectives=OFFERED, queries=2
        )
    return found


def choose(section: Locator, number: int) -> None:
    """An objective by its place: the run's own, then those offered."""
    section.get_by_label("objective").select_option(index=number)


def drawn(section: Locator, number: int = 0) -> Locator:
    """A map, once it is drawn."""
    found = section.get_by_role("slider").nth(number)
    found.locator("rect").first.wait_for(state="attached")
    return found


def cells(shown: Locator) -> Floats:
    """The weights of a map; nothing is drawn where a rank meets itself."""
    told = shown.locator("rect[data-weight]").evaluate_all(
        "nodes => nodes.map((node) => Number(node.dataset.weight))"
    )
    n = round(len(told) ** 0.5 + 0.5)
    found = np.zeros((n, n))
    found[~np.eye(n, dtype=bool)] = told
    return found


def readout(section: Locator) -> str:
    return section.locator(".readout").first.inner_text()
