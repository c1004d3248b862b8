"""A page with the explorer alone, and what its list shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rankforce as rf
from tests.show.report.in_page import Floats, Lists, script

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page


EVIL = "<script>alert(1)</script>"
SIZES = (24, 9, 6)
K = 5
OBJECTIVES = [
    rf.objective("lambdarank-ndcg", k=K),
    rf.objective("lambdamart-ex static", k=K),
    rf.objective("ranknet"),
    rf.objective("lambdarank-ndcg", k=1),
    rf.objective("lambdarank(cndcg)", k=K, source="click"),
]


def make_lists() -> Lists:
    """Three queries: a long one, one without ties, and one whose scores are all equal."""
    rng = np.random.default_rng(3)
    rows = sum(SIZES)
    scores = np.round(rng.normal(size=rows), 2)
    scores[-SIZES[-1] :] = 0.5
    labels = rng.choice([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0], rows)
    # The first example of Marcuzzi et al. 2023, Figure 1, with more documents of grade 0.
    second = slice(SIZES[0], SIZES[0] + SIZES[1])
    scores[second] = 0.09 - 0.01 * np.arange(SIZES[1])
    labels[second] = [1.0, 2.0, *[0.0] * (SIZES[1] - 2)]
    clicks = np.where(rng.uniform(size=rows) < 0.3, np.nan, np.round(rng.uniform(size=rows), 2))
    names = [f"doc-{row:03}" for row in range(rows)]
    names[1] = EVIL
    return Lists(scores, {None: labels, "click": clicks}, SIZES, names=names)


def make_data() -> dict[str, Any]:
    """What the page knows: two runs of which the second has the scores the other way round."""
    lists = make_lists()
    queries = lists.queries()
    for number, query in enumerate(queries):
        query["id"] = f"q<{number}>"
        query["why"] = "worst of run" if number == 0 else ""
        scores = query["scores"]
        query["scores"] = {"run": scores, "other": [-score for score in scores]}
    return {"queries": queries, "objectives": lists.written(OBJECTIVES)}


def make_page(data: dict[str, Any]) -> str:
    """A page with the explorer and nothing else."""
    styles = "".join(f"<style>{script(name)}</style>" for name in ("style.css", "explorer.css"))
    scripts = f"<script>{script('explorer.js')}</script>"
    text = json.dumps(data).replace("<", "\\u003c")
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>list</title>'
    meta = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = '<main style="padding: 1rem"><div id="here"></div></main>'
    mount = "window.handle = rankforce.explorer.mount(document.getElementById('here'), window.data)"
    return (
        f"{head}{meta}{styles}</head><body>{body}{scripts}"
        f"<script>window.data = {text}; {mount};</script></body></html>"
    )


def open_explorer(page: Page, folder: Path) -> Page:
    """The explorer as it opens, without animations."""
    place = folder / "list.html"
    place.write_text(make_page(make_data()), encoding="utf-8")
    page.emulate_media(reduced_motion="reduce")
    page.goto(place.as_uri())
    return page


def items(page: Page) -> Locator:
    return page.locator(".ex-item")


def documents(page: Page) -> list[int]:
    """Documents by rank, as the list shows them."""
    return [int(one) for one in attributes(page, "data-document")]


def attributes(page: Page, name: str, inside: str = ".ex-item") -> list[str]:
    found: list[str] = page.locator(inside).evaluate_all(
        "(nodes, name) => nodes.map((node) => node.getAttribute(name))", name
    )
    return found


def select(page: Page, label: str, option: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).select_option(label=option)


def heard(page: Page) -> str:
    return page.get_by_role("status").inner_text()


def row_of(page: Page, document: int) -> Locator:
    return page.locator(f'.ex-item[data-document="{document}"]')


def show_all(page: Page) -> None:
    page.get_by_role("button", name="Show all").click()


def scores_shown(page: Page) -> Floats:
    """The scores of all documents of the query, in the order of the data."""
    found = np.empty(items(page).count())
    found[documents(page)] = [float(score) for score in attributes(page, "data-score")]
    return found


def forces_shown(page: Page, column: int = 0) -> Floats:
    texts = attributes(page, "data-force", f".ex-item .ex-force:nth-child({column + 1})")
    found = np.empty(len(texts))
    found[documents(page)] = [float(text) for text in texts]
    return found


def assert_forces(page: Page, objective: Any, query: int, column: int = 0, **how: Any) -> None:
    """The forces shown are those of Python for the scores shown, and the ranks follow them."""
    lists = make_lists()
    scores = scores_shown(page)
    labels = {name or "label": y[lists.rows[query]] for name, y in lists.labels.items()}
    expected, _ = objective.gradients(scores, labels, **how)
    assert forces_shown(page, column) == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())
    assert documents(page) == np.argsort(-scores, kind="stable").tolist()
