"""A server with small models, and what its page shows in a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

import rankforce as rf
from rankforce.common.types import Floats
from tests.serving.running import Running, running, until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

NAMES = ["bm25", "title_match", "age", "clicks", "inlinks"]
READY = "#desk[aria-busy='false']"


class Site(NamedTuple):
    """Where a server is, and the rankers that it has."""

    url: str
    folder: Path  # has a folder for each
    rankers: dict[str, rf.Ranker]
    server: Running


def train_rankers() -> dict[str, rf.Ranker]:
    """One of five features, one of 136, one with a category."""
    given: dict[str, Any] = {"num_leaves": 7, "min_child_samples": 5, "progress": False}
    return {
        "few": rf.Ranker("lambdarank-ndcg", k=5, n_estimators=20, **given).fit(made_few()),
        "wide": rf.Ranker("ranknet", n_estimators=20, **given).fit(rf.make_data("mslr", queries=8)),
        "kinds": rf.Ranker("lambdarank-ndcg", k=5, n_estimators=5, **given).fit(made_kinds()),
    }


def made_few() -> rf.RankingData:
    """Grades that some of the features tell something about."""
    rng = np.random.default_rng(0)
    rows, size = 400, 10
    labels = rng.integers(0, 4, rows)
    told = labels[:, None] * [1.0, 0.5, 0.0, 0.3, 0.0]
    features = (rng.normal(size=(rows, len(NAMES))) + told).round(3)
    return rf.RankingData(features, labels, group=[size] * (rows // size), feature_names=NAMES)


def made_kinds() -> rf.RankingData:
    """The same with two of them, and a category of which one name is a number."""
    few = made_few()
    frame = pd.DataFrame(few.features[:, :2], columns=NAMES[:2])
    frame["shop"] = pd.Categorical.from_codes(few.labels.astype(int) % 3, ["books", "7", "toys"])
    return rf.RankingData(frame, few.labels, group=few.sizes)


@contextmanager
def served(folder: Path, rankers: dict[str, rf.Ranker], *more: str | Path) -> Iterator[Site]:
    """A server of these models."""
    for name, ranker in rankers.items():
        ranker.save(folder / name)
    first, *others = rankers
    named = [f"--model={name}={folder / name}" for name in others]
    with running(folder, folder / first, *named, *more) as server:
        yield Site(f"http://127.0.0.1:{server.port}", folder, rankers, server)


def warm(site: Site, body: dict[str, Any]) -> None:
    """Ask until there is an answer: where kernels are compiled first, the server has no time."""
    until(lambda: site.server.post("/explain", body).status == 200, "the forces of a list")


def ready(page: Page) -> Page:
    """The page, once all it asked for is answered."""
    page.wait_for_selector(READY)
    return page


def visit(page: Page, site: Site) -> Page:
    page.emulate_media(reduced_motion="reduce")
    page.goto(site.url)
    return ready(page)


def choose_model(page: Page, name: str) -> Page:
    page.get_by_role("combobox", name="Model", exact=True).select_option(name)
    return ready(page)


def paste(page: Page, text: str) -> Page:
    """Put text where documents are pasted, and use it."""
    box = page.get_by_label("Documents as text")
    if not box.is_visible():
        page.get_by_text("Paste documents").click()
    box.fill(text)
    page.get_by_role("button", name="Use these documents").click()
    return ready(page)


def cell(page: Page, name: str, document: str) -> Locator:
    return page.get_by_label(f"{name} of {document}", exact=True)


def table(page: Page) -> tuple[list[str], Floats, Floats]:
    """Names, labels and features, as the table of documents shows them."""
    found = page.locator(".documents-table tbody tr").evaluate_all(
        "(rows) => rows.map((row) => [...row.querySelectorAll('input')].map((one) => one.value))"
    )
    numbers = np.array([[float(text) for text in row[1:]] for row in found])
    return [row[0] for row in found], numbers[:, 0], numbers[:, 1:]


def ranked(page: Page) -> list[str]:
    """Names of the documents, best first."""
    return page.locator(".rank-doc > span").all_inner_texts()


def numbers(page: Page, what: str) -> Floats:
    """What rows of the ranking hold: "score" or "force"."""
    found = page.locator("li.rank-row").evaluate_all(
        "(rows, what) => rows.map((row) => row.dataset[what])", what
    )
    return np.array([float(text) for text in found])


def lines(page: Page, where: str) -> dict[str, float]:
    """Features of a sum and what they add, in its order."""
    if page.locator(f"{where} .more").is_visible():
        page.locator(f"{where} .more").click()
    names = page.locator(f"{where} tr[data-feature] th").all_inner_texts()
    return dict(zip(names, _values(page, f"{where} tr[data-feature]"), strict=True))


def total(page: Page, where: str) -> float:
    """The foot of a sum."""
    return _values(page, f"{where} tfoot")[0]


def _values(page: Page, where: str) -> list[float]:
    found: list[float] = page.locator(f"{where} [data-value]").evaluate_all(
        "(cells) => cells.map((cell) => Number(cell.dataset.value))"
    )
    return found
