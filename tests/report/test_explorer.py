"""The list with arrows, in a real browser: every control, by mouse and by keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics.pair_forces import pair_forces
from tests.report.in_page import Floats, Lists, script

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
    scripts = "".join(
        f"<script>{script(name)}</script>" for name in ("dom.js", "forces.js", "explorer.js")
    )
    text = json.dumps(data).replace("<", "\\u003c")
    head = '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>list</title>'
    meta = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    body = '<main style="padding: 1rem"><div id="here"></div></main>'
    mount = "window.handle = rankforce.explorer.mount(document.getElementById('here'), window.data)"
    return (
        f"{head}{meta}{styles}</head><body>{body}{scripts}"
        f"<script>window.data = {text}; {mount};</script></body></html>"
    )


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Page:
    """The explorer as it opens, without animations."""
    place = tmp_path / "list.html"
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
    shown.set_viewport_size({"width": width, "height": 900})
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
