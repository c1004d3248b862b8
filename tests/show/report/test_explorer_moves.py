"""Documents of the list with arrows are moved, in a real browser: by keys, buttons and pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.show.report.explorer_page import (
    OBJECTIVES,
    SIZES,
    assert_forces,
    documents,
    heard,
    items,
    row_of,
    scores_shown,
    show_all,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.mark.parametrize("query", range(len(SIZES)))
def test_moves_by_keyboard(shown: Page, query: int) -> None:
    """Also where all scores tie: the document moves, and keeps the focus."""
    shown.get_by_role("combobox", name="Query", exact=True).select_option(str(query))
    if SIZES[query] > 20:
        show_all(shown)
    before = documents(shown)
    third = before[2]
    row_of(shown, third).focus()
    shown.keyboard.press("Alt+ArrowUp")
    shown.keyboard.press("Alt+ArrowUp")
    assert documents(shown) == [third, *before[:2], *before[3:]]
    assert_forces(shown, OBJECTIVES[0], query)
    assert "is at rank 1. NDCG@5" in heard(shown)
    shown.keyboard.press("Alt+ArrowUp")
    assert documents(shown)[0] == third
    for _ in before:
        shown.keyboard.press("Alt+ArrowDown")
    assert documents(shown) == [*(one for one in before if one != third), third]
    assert_forces(shown, OBJECTIVES[0], query)
    focused = shown.evaluate("document.activeElement.dataset.document")
    assert int(focused) == third


def test_moves_by_buttons_and_reset(shown: Page) -> None:
    shown.get_by_role("combobox", name="Query", exact=True).select_option("1")
    before = documents(shown)
    metric = shown.locator(".ex-metric")
    assert "as the run ranks" in metric.inner_text()
    value = metric.locator(".ex-big").inner_text()
    row_of(shown, before[1]).get_by_role("button", name="up").click()
    assert documents(shown)[:2] == [before[1], before[0]]
    assert metric.locator(".ex-big").inner_text() == "1.000"
    assert f"before {value}" in metric.inner_text()
    assert row_of(shown, before[1]).locator(".ex-rank").inner_text().split() == ["1", "↑1"]
    assert "was at rank 2" in (row_of(shown, before[1]).get_attribute("aria-label") or "")
    row_of(shown, before[0]).get_by_role("button", name="down").click()
    assert documents(shown)[:3] == [before[1], before[2], before[0]]
    shown.get_by_role("button", name="Reset").click()
    assert documents(shown) == before
    assert metric.locator(".ex-big").inner_text() == value
    assert shown.locator(".ex-rank small").count() == 0


MOVES = """(cases) => cases.map(([scores, from, to]) => {
  const moved = rankforce.explorer.moveDocument(scores, from, to);
  return [rankforce.forces.rankDocuments(moved).order, [...moved]];
})"""


def test_a_move_always_happens(shown: Page) -> None:
    """From any rank to any other, with ties, huge scores, and scores one bit apart."""
    rng = np.random.default_rng(0)
    lists = [rng.normal(size=8), rng.integers(0, 3, 8) / 2.0, np.zeros(5), np.full(4, -3e9)]
    lists += [
        np.array([1.0, np.nextafter(1.0, 2.0), 1.0]),
        np.array([2.0, 1.0]),
        np.arange(6) * 1e9,
    ]
    cases = [
        (scores, start, to)
        for scores in lists
        for start in range(len(scores))
        for to in range(len(scores))
        if start != to
    ]
    found = shown.evaluate(MOVES, [[scores.tolist(), start, to] for scores, start, to in cases])
    for (scores, start, to), (order, moved) in zip(cases, found, strict=True):
        expected = np.argsort(-scores, kind="stable").tolist()
        one = expected.pop(start)
        expected.insert(to, one)
        assert order == expected, (scores, start, to)
        is_free = len(set(scores)) == len(scores) and np.diff(np.sort(scores)).min() > 1e-9
        if is_free:  # only the document that moves gets another score
            assert np.flatnonzero(np.array(moved) != scores).tolist() == [one]


def drag(page: Page, document: int, to: int, *, drop: bool = True) -> None:
    items(page).nth(to).scroll_into_view_if_needed()
    start = row_of(page, document).locator(".ex-name").bounding_box()
    end = items(page).nth(to).bounding_box()
    assert start
    assert end
    page.mouse.move(start["x"] + 5, start["y"] + 5)
    page.mouse.down()
    page.mouse.move(start["x"] + 5, end["y"] + end["height"] / 2, steps=8)
    if drop:
        page.mouse.up()


def test_moves_by_mouse(shown: Page) -> None:
    show_all(shown)
    before = documents(shown)
    drag(shown, before[6], 1)
    assert documents(shown) == [before[0], before[6], *before[1:6], *before[7:]]
    assert_forces(shown, OBJECTIVES[0], 0)
    new = scores_shown(shown)
    assert new[before[0]] > new[before[6]] > new[before[1]]
    assert shown.locator(".ex-detail table").count() == 0  # a drag is no click


def test_a_drag_there_and_back_changes_nothing(shown: Page) -> None:
    show_all(shown)
    before, scores = documents(shown), scores_shown(shown)
    drag(shown, before[6], 1, drop=False)
    assert documents(shown) != before
    box = items(shown).nth(6).bounding_box()
    assert box
    shown.mouse.move(box["x"] + 200, box["y"] + box["height"] / 2, steps=8)
    shown.mouse.up()
    assert documents(shown) == before
    assert scores_shown(shown).tolist() == scores.tolist()


def test_escape_ends_a_drag(shown: Page) -> None:
    before = documents(shown)
    drag(shown, before[6], 1, drop=False)
    assert documents(shown) != before
    shown.keyboard.press("Escape")
    assert documents(shown) == before
    shown.mouse.up()
    assert documents(shown) == before
    assert shown.locator(".ex-dragged").count() == 0


FINGER = """([document, to, where]) => {
  const row = window.document.querySelector(`.ex-item[data-document="${document}"]`);
  const target = window.document.querySelectorAll(".ex-item")[to].getBoundingClientRect();
  const fire = (node, type, y) => node.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerType: "touch", pointerId: 7, button: 0, clientX: 30, clientY: y }));
  const box = row.getBoundingClientRect();
  fire(row.querySelector(where), "pointerdown", box.top + 5);
  fire(row, "pointermove", target.top + target.height / 2);
  fire(row, "pointerup", target.top + target.height / 2);
}"""


def test_a_finger_drags_by_the_rank_and_scrolls_elsewhere(shown: Page) -> None:
    before = documents(shown)
    shown.evaluate(FINGER, [before[4], 2, ".ex-name"])
    assert documents(shown) == before
    shown.evaluate(FINGER, [before[4], 2, ".ex-rank"])
    assert documents(shown) == [*before[:2], before[4], *before[2:4], *before[5:]]
    rank = row_of(shown, before[4]).locator(".ex-rank")
    assert rank.evaluate("(node) => getComputedStyle(node).touchAction") == "none"
