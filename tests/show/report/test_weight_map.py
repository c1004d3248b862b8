"""Maps of what an objective's weight makes of ranks, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.report.write import write_report
from tests.contract.cases import CASES, OF_CLICKS, Case
from tests.show.report.browser import open_page, set_width
from tests.show.report.in_page import Lists, script
from tests.show.report.report_pages import visit
from tests.show.report.weight_page import (
    LONG,
    NDCG,
    OFFERED,
    PRECISION,
    SHORT,
    TEXTS,
    cells,
    choose,
    drawn,
    readout,
    train,
    write_reports,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

LENGTHS = (2, 3, 4, 10, 40)
MAPS = """(text) => {
  const { list, tables, lengths } = JSON.parse(text);
  return JSON.stringify(list.map(({ parts: [part] }) => lengths.map((n) => {
    const weights = rankforce.weights.rankWeights(part, tables, n);
    return weights && { weights, count: rankforce.weights.candidatePairs(weights) };
  })));
}"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    return write_reports(tmp_path_factory.mktemp("maps"))


@pytest.fixture
def section(page: Page, reports: dict[int, Path]) -> Locator:
    """The section in a report with long lists."""
    visit(page, reports[LONG])
    return page.locator("#weights")


def has_ranks_alone(case: Case) -> bool:
    what = case.objective().description
    return what.swaps is None and what.listwise is None


@pytest.fixture(scope="module")
def computed(browser: Browser) -> Iterator[dict[Case, Any]]:
    """What the page makes of every objective, all in one call."""
    sizes, found = (max(LENGTHS),), {}
    with open_page(browser) as page:
        page.add_script_tag(content=script("forces.js"))
        for is_clicks in (False, True):
            cases = [case for case in CASES if (case.name in OF_CLICKS) == is_clicks]
            labels = np.arange(sizes[0]) % 2 if is_clicks else np.arange(sizes[0]) % 5
            lists = Lists(np.zeros(sizes[0]), {None: labels.astype(float)}, sizes)
            written = lists.written([case.objective() for case in cases])
            told = page.evaluate(MAPS, json.dumps(written | {"lengths": LENGTHS}))
            found |= dict(zip(cases, json.loads(told), strict=True))
        yield found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_objective_has_the_weights_of_python(computed: dict[Case, Any], case: Case) -> None:
    objective = case.objective()
    for n, got in zip(LENGTHS, computed[case], strict=True):
        if not has_ranks_alone(case):
            assert got is None
            with pytest.raises(ValueError, match="no function of the two ranks alone"):
                objective.rank_weights(n)
            continue
        assert np.array(got["weights"]) == pytest.approx(objective.rank_weights(n), rel=1e-12)
        assert got["count"] == objective.candidate_pairs(n)


def test_some_objectives_have_maps_and_some_have_none() -> None:
    assert {has_ranks_alone(case) for case in CASES} == {True, False}


def test_it_opens_with_the_objective_of_the_run(section: Locator) -> None:
    assert section.get_by_label("objective").locator("option:checked").inner_text() == (
        "LambdaRank-NDCG@5"
    )
    assert cells(drawn(section)) == pytest.approx(NDCG.rank_weights(10))
    assert "35 of 45 pairs of ranks in a list of 10 documents can" in section.inner_text()
    assert "up to 40" in section.inner_text()


def test_pairs_without_weight_are_hatched(section: Locator) -> None:
    shown = drawn(section)
    hatched = shown.locator("rect[data-weight='0']")
    assert hatched.count() == 2 * (45 - 35)
    fills = set(hatched.evaluate_all("nodes => nodes.map((node) => node.getAttribute('fill'))"))
    pattern = shown.locator("pattern")
    assert fills == {f"url(#{pattern.get_attribute('id')})"}
    assert pattern.locator("line").count() == 1
    shares = shown.locator("rect.cell").evaluate_all(
        "nodes => nodes.map((node) => parseFloat(node.style.getPropertyValue('--share')))"
    )
    weights = NDCG.rank_weights(10)
    assert shares == pytest.approx(100 * weights[weights > 0] / weights.max(), abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_more_weight_stands_out_more(section: Locator, theme: Any) -> None:
    """In both themes; the smallest weight still is no empty cell."""
    section.page.emulate_media(color_scheme=theme)
    fills = drawn(section).locator("rect.cell")
    lightness = fills.evaluate_all(
        """nodes => nodes.map((node) => getComputedStyle(node).fill)
          .map((fill) => parseFloat(fill.match(/oklab\\(([\\d.]+)/)[1]))"""
    )
    weights = NDCG.rank_weights(10)
    order = np.argsort(weights[weights > 0], kind="stable")
    steps = np.diff(np.array(lightness)[order])
    assert np.all(steps <= 1e-4) if theme == "light" else np.all(steps >= -1e-4)
    assert abs(lightness[order[0]] - lightness[order[-1]]) > 0.3


def test_lists_of_other_lengths(section: Locator) -> None:
    size = section.get_by_label("documents")
    for typed, n in (("2", 2), ("40", 40), ("99", 40), ("1", 2), ("", 2), ("17", 17)):
        size.fill(typed)
        size.press("Tab")
        assert size.input_value() == str(n)
        assert cells(drawn(section)) == pytest.approx(NDCG.rank_weights(n))
        assert f"in a list of {n} documents" in section.inner_text()
    assert section.page.evaluate("document.activeElement.getAttribute('role')") == "slider"


def test_no_longer_than_the_lists_of_the_report(page: Page, reports: dict[int, Path]) -> None:
    visit(page, reports[SHORT])
    section = page.locator("#weights")
    size = section.get_by_label("documents")
    assert size.input_value() == size.get_attribute("max") == str(SHORT)
    assert f"up to {SHORT}: the longest list in this report" in section.inner_text()
    size.fill("12")
    assert cells(drawn(section)).shape == (SHORT, SHORT)
    size.press("Enter")
    assert size.input_value() == str(SHORT)


def test_cells_by_keyboard(section: Locator) -> None:
    shown, weights = drawn(section), NDCG.rank_weights(10)
    shown.focus()
    assert readout(section) == f"Ranks 1 and 2: {weights[0, 1]:.4f}."
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        shown.press(key)
    assert readout(section) == f"Ranks 2 and 3: {weights[1, 2]:.4f}."
    assert shown.get_attribute("aria-valuetext") == readout(section)
    assert shown.get_attribute("aria-valuenow") == "13"
    for key, told in [
        ("ArrowLeft", "Rank 2 and itself: no pair."),
        ("PageDown", f"Ranks 10 and 2: {weights[9, 1]:.4f}."),
        ("ArrowDown", f"Ranks 10 and 2: {weights[9, 1]:.4f}."),
        ("End", "Rank 10 and itself: no pair."),
        ("ArrowUp", "Ranks 9 and 10: both below rank 5, no pair."),
    ]:
        shown.press(key)
        assert readout(section) == told
    assert shown.locator(".cursor").is_visible()
    shown.evaluate("node => node.blur()")
    assert not shown.locator(".cursor").is_visible()
    assert "Point at a cell" in readout(section)


def test_cells_by_pointer(section: Locator) -> None:
    shown, weights = drawn(section), NDCG.rank_weights(10)
    shown.locator("rect[data-weight]").nth(9 + 4).hover()  # nine in a row; not rank 2 itself
    assert readout(section) == f"Ranks 2 and 6: {weights[1, 5]:.4f}."
    cursor, cell = (
        shown.locator(which).bounding_box()
        for which in (".cursor rect:not(.halo)", "rect[data-weight] >> nth=13")
    )
    assert cursor is not None
    assert cell is not None
    assert (cursor["x"], cursor["y"]) == pytest.approx((cell["x"], cell["y"]), abs=2)
    section.page.mouse.move(0, 0)
    assert "Point at a cell" in readout(section)


def test_a_mix_has_a_map_for_each_part(section: Locator) -> None:
    choose(section, 1)
    titles = ["0.7 × LambdaRank-NDCG@5", "0.3 × LambdaRank-P@3", "0.5 × lambdarank(map@3)"]
    assert section.locator("figure h3").all_text_contents() == titles
    assert section.get_by_role("slider").count() == 2
    for number, objective in enumerate((NDCG, PRECISION)):
        assert cells(drawn(section, number)) == pytest.approx(objective.rank_weights(10))
    boxes = [figure.bounding_box() for figure in section.locator("figure").all()[:2]]
    assert all(boxes)
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] < boxes[1]["x"]
    patterns = section.locator("pattern").evaluate_all("nodes => nodes.map((node) => node.id)")
    assert len(set(patterns)) == 2
    assert "No map: its weight is no function of the two ranks alone" in section.inner_text()


@pytest.mark.parametrize(
    ("number", "maps", "told"),
    [
        (3, 1, "below rank 4 have more pairs: map and number are those of the top 4 only"),
        (4, 0, "No map: its weight is no function of the two ranks alone"),
        (5, 0, "No map: explicit preferences bring their own weights"),
        (6, 1, "Only the rank of the document with the higher label counts"),
    ],
)
def test_what_no_map_shows(section: Locator, number: int, maps: int, told: str) -> None:
    choose(section, number)
    assert told in section.locator("figure").inner_text()
    assert section.get_by_role("slider").count() == maps


def test_why_a_cell_has_no_weight(section: Locator) -> None:
    choose(section, 2)
    drawn(section).focus()
    assert readout(section) == "Ranks 1 and 2: 0, whatever the labels."
    choose(section, 3)
    shown = drawn(section)
    for key in ("PageDown", "End", "ArrowLeft"):
        shown.press(key)
    assert readout(section) == "Ranks 10 and 9: both below rank 4, no pair unless labels add it."


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.slow
def test_widths_and_contrast(section: Locator, width: int, theme: Any) -> None:
    page = section.page
    page.emulate_media(color_scheme=theme)
    set_width(page, width)
    section.get_by_label("documents").fill("40")
    for number in range(1 + len(OFFERED)):
        choose(section, number)
        if section.get_by_role("slider").count():
            drawn(section).focus()
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        edge = "nodes => Math.max(...nodes.map((node) => node.getBoundingClientRect().right))"
        assert section.locator("*").evaluate_all(edge) <= width
        texts = section.evaluate(TEXTS)
        assert len(texts) > 5
        assert [text for text in texts if text[1] < 4.5] == []


def test_lists_of_one_document_have_no_section(page: Page, tmp_path: Path) -> None:
    data = rf.RankingData(np.zeros((3, 3)), [0, 1, 2], qid=[0, 1, 2])
    visit(
        page,
        write_report(train("ranknet"), data, out=tmp_path / "single.html", objectives=["ranknet"]),
    )
    assert page.locator("#settings").count() == 1
    assert page.locator("#weights").count() == 0
