"""The list with arrows, in a real browser: what it shows, and every control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rankforce.diagnostics import pair_forces
from tests.show.report.browser import set_width
from tests.show.report.explorer_page import (
    EVIL,
    OBJECTIVES,
    SIZES,
    assert_forces,
    attributes,
    documents,
    heard,
    items,
    make_data,
    make_lists,
    row_of,
    select,
    show_all,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_it_opens_with_the_list_of_the_run(shown: Page) -> None:
    lists = make_lists()
    order = np.argsort(-lists.scores[lists.rows[0]], kind="stable").tolist()
    assert documents(shown) == order[:20]
    show_all(shown)
    assert documents(shown) == order
    assert_forces(shown, OBJECTIVES[0], 0)
    shown.get_by_role("button", name="Show the first 20").click()
    assert items(shown).count() == 20
    last = row_of(shown, order[19])
    last.focus()
    shown.keyboard.press("Alt+ArrowDown")  # out of sight is no place to go
    assert documents(shown) == order[:20]
    assert last.get_by_role("button", name="down").get_attribute("aria-disabled") == "true"


def test_text_of_the_data_stays_text(shown: Page) -> None:
    show_all(shown)
    row = row_of(shown, 1)
    assert row.locator(".ex-name > span").inner_text() == EVIL
    row.click()
    assert EVIL in shown.locator(".ex-detail h4").inner_text()
    assert shown.locator("#here script").count() == 0
    assert shown.get_by_role("combobox", name="Query", exact=True).locator(
        "option"
    ).first.inner_text() == ("q<0> (worst of run)")


@pytest.mark.parametrize("number", range(len(OBJECTIVES)))
def test_objectives_and_norms(shown: Page, number: int) -> None:
    select(shown, "Objective", make_data()["objectives"]["list"][number]["name"])
    show_all(shown)
    for norm in ("lightgbm", "std", "none"):
        shown.get_by_role("combobox", name="Norm").select_option(norm)
        assert_forces(shown, OBJECTIVES[number], 0, norm=norm)


def test_two_objectives_side_by_side(shown: Page) -> None:
    show_all(shown)
    assert shown.locator(".ex-head .ex-force").count() == 1
    select(shown, "Beside it", "RankNet")
    assert_forces(shown, OBJECTIVES[0], 0, column=0)
    assert_forces(shown, OBJECTIVES[2], 0, column=1)
    counts = [one.inner_text() for one in shown.locator(".ex-pairs").all()]
    lists = make_lists()
    for text, objective in zip(counts, (OBJECTIVES[0], OBJECTIVES[2]), strict=True):
        rows = lists.rows[0]
        (count,) = objective.effective_pairs(lists.scores[rows], lists.labels[None][rows])
        assert text == f"{count} of {24 * 23 // 2} pairs push"
    select(shown, "Beside it", "nothing")
    assert shown.locator(".ex-item .ex-force").count() == 24


def test_the_scores_of_another_run(shown: Page) -> None:
    lists = make_lists()
    select(shown, "Scores of", "other")
    show_all(shown)
    assert documents(shown) == np.argsort(lists.scores[lists.rows[0]], kind="stable").tolist()
    assert_forces(shown, OBJECTIVES[0], 0)


def test_queries_are_found_by_typing(shown: Page) -> None:
    query = shown.get_by_role("combobox", name="Query", exact=True)
    search = shown.get_by_label("Find a query")
    search.fill("Q<2")
    assert query.locator("option").all_inner_texts() == ["q<2>"]
    assert items(shown).count() == SIZES[2]
    search.fill("nowhere")
    assert heard(shown) == "No query matches."
    assert items(shown).count() == SIZES[2]
    search.fill("")
    assert query.locator("option").count() == 3
    query.select_option("1")
    assert items(shown).count() == SIZES[1]
    assert heard(shown) == "Query q<1>, 9 documents."
    shown.evaluate("handle.show(0)")
    assert query.input_value() == "0"


def test_a_query_that_the_search_hides_can_be_opened(shown: Page) -> None:
    shown.get_by_label("Find a query").fill("q<2")
    shown.evaluate("handle.show(1)")
    assert items(shown).count() == SIZES[1]
    assert shown.get_by_role("combobox", name="Query", exact=True).input_value() == "1"
    assert shown.get_by_label("Find a query").input_value() == ""


def test_pairs_of_a_document(shown: Page) -> None:
    """The strongest pairs, with Python's weights and forces."""
    lists = make_lists()
    rows = lists.rows[0]
    one = documents(shown)[0]
    row_of(shown, one).focus()
    shown.keyboard.press("Enter")
    found = pair_forces(OBJECTIVES[0], lists.scores[rows], lists.labels[None][rows])
    mine = [
        (force, int(lo if hi == one else hi), weight)
        for hi, lo, weight, force in zip(*found, strict=True)
        if one in (hi, lo)
    ]
    mine.sort(key=lambda pair: -pair[0])
    table = shown.locator(".ex-detail tbody tr")
    assert [int(o) for o in attributes(shown, "data-other", ".ex-detail tbody tr")] == [
        other for _, other, _ in mine[:8]
    ]
    cells = table.first.locator("td").all_inner_texts()
    assert float(cells[1]) == pytest.approx(mine[0][2], rel=5e-3)
    assert float(cells[2].split("\xa0")[1].replace("−", "-")) == pytest.approx(
        -mine[0][0], rel=5e-3
    )
    assert f"with {len(mine)} pairs" in shown.locator(".ex-detail").inner_text()
    shown.get_by_role("button", name="Close").click()
    assert table.count() == 0
    assert shown.evaluate("document.activeElement.dataset.document") == str(one)


def test_incoherent_documents_are_named(shown: Page) -> None:
    """Marcuzzi et al. 2023, Figure 1: the first is pushed harder than the better second."""
    shown.get_by_role("combobox", name="Query", exact=True).select_option("1")
    select(shown, "Objective", "LambdaRank-NDCG@1")
    first, second = documents(shown)[:2]
    warning = shown.locator(".ex-warning").inner_text()
    assert "rank 1, grade 1) is pushed harder than" in warning
    assert "rank 2, grade 2), which the top 1 misses" in warning
    words = [row_of(shown, one).locator(".ex-value small").inner_text() for one in (first, second)]
    assert words == ["too strong", "too weak"]
    assert "too weak" in (row_of(shown, second).get_attribute("aria-label") or "")
    row_of(shown, second).get_by_role("button", name="up").click()
    assert shown.locator(".ex-warning").count() == 0


def test_the_cutoff_follows_the_objective_until_somebody_chooses(shown: Page) -> None:
    cutoff = shown.get_by_label("Cutoff k")
    select(shown, "Objective", "LambdaRank-NDCG@1")
    assert cutoff.input_value() == "1"
    cutoff.fill("3")
    assert shown.locator(".ex-metric strong").inner_text() == "NDCG@3"
    assert shown.locator(".ex-cut").get_attribute("data-cut") == "top 3"
    select(shown, "Objective", "LambdaRank-NDCG@5")
    assert cutoff.input_value() == "3"
    cutoff.fill("0")
    assert shown.locator(".ex-metric strong").inner_text() == "NDCG@3"


def test_keys_go_from_row_to_row(shown: Page) -> None:
    """One row is in the order of tabs; arrows, Home and End do the rest."""
    ranks = documents(shown)
    items(shown).first.focus()
    shown.keyboard.press("ArrowDown")
    shown.keyboard.press("ArrowDown")
    assert shown.evaluate("document.activeElement.dataset.document") == str(ranks[2])
    shown.keyboard.press("End")
    assert shown.evaluate("document.activeElement.dataset.document") == str(ranks[-1])
    shown.keyboard.press("Home")
    assert shown.evaluate("document.activeElement.dataset.document") == str(ranks[0])
    assert shown.locator('.ex-item[tabindex="0"]').count() == 1
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Move")


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits(shown: Page, width: int, scheme: str) -> None:
    """Nothing is wider than the screen, with two objectives and a document opened."""
    shown.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    set_width(shown, width)
    select(shown, "Beside it", "RankNet")
    items(shown).nth(2).click()
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    for name in (".ex-name", ".ex-value", ".ex-detail"):
        box = shown.locator(name).first.bounding_box()
        assert box
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert shown.locator(".ex-detail").is_visible()


def test_without_lists_it_says_so(shown: Page) -> None:
    shown.evaluate(
        "rankforce.explorer.mount(document.getElementById('here'), "
        "{queries: [], objectives: {tables: [], list: []}}).show(0)"
    )
    assert shown.locator("#here").inner_text() == "There is no list to show."
