"""The charts and tables of the page in a real browser: every control works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import rankforce as rf
from tests.show.report.made_runs import COLUMNS, train
from tests.show.report.report_pages import chart, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page


def test_legends_hide_and_show(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    figure = chart(page, "Effective pairs")
    lines = figure.locator(".plot path.line")
    page.wait_for_selector("figure.chart svg .line")
    assert lines.count() == 3
    button = figure.get_by_role("button", name="gap")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert lines.count() == 2
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    assert lines.count() == 3


def test_stacks_close_the_gap_of_a_hidden_label(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["one"])
    figure = chart(page, "Labels at the top")
    page.wait_for_selector("path.solid")
    assert figure.locator("path.solid").count() == 5
    first = figure.get_by_role("button", name="label 0")
    before = figure.locator("path.solid").nth(1).get_attribute("d")
    first.click()
    assert figure.locator("path.solid").count() == 4
    assert figure.locator("path.solid").first.get_attribute("d") != before


def test_trees_on_a_logarithmic_axis(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    line = chart(page, "Effective pairs").locator("path.line").first
    page.wait_for_selector("figure.chart svg .line")
    before = line.get_attribute("d")
    page.locator("#curves").get_by_role("button", name="logarithmic").click()
    assert line.get_attribute("d") != before
    for section in ("#curves", "#diagnostics"):
        pressed = page.locator(section).get_by_role("button", name="logarithmic")
        assert pressed.get_attribute("aria-pressed") == "true"
    page.locator("#diagnostics").get_by_role("button", name="linear").click()
    assert line.get_attribute("d") == before


def test_crosshair_by_keyboard_and_pointer(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    curves = data["runs"][0]["diagnostics"]
    figure = chart(page, "Effective pairs")
    plot, value = figure.get_by_role("slider"), figure.locator(".legend .value").first
    absolute = [f"{number:.4g}" for number in curves["series"]["pairs"]["absolute"]]
    plot.focus()
    plot.press("Home")
    assert plot.get_attribute("aria-valuenow") == "1"
    assert f"{float(value.inner_text()):.4g}" == absolute[0]
    plot.press("ArrowRight")
    plot.press("ArrowRight")
    tree = int(plot.get_attribute("aria-valuenow") or 0)
    last = max(i for i, one in enumerate(curves["trees"]) if one <= tree)
    assert f"{float(value.inner_text()):.4g}" == absolute[last]
    assert figure.locator(".at").inner_text() == f"with {tree} trees"
    assert "old" in (plot.get_attribute("aria-valuetext") or "")
    assert figure.locator(".cross line").count() == 1
    plot.evaluate("node => node.blur()")
    assert figure.locator(".cross line").count() == 0
    plot.hover(position={"x": 62, "y": 60})
    assert plot.get_attribute("aria-valuenow") == "1"
    assert figure.locator(".cross line").count() == 1


def test_data_as_table(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    figure = chart(page, "Norm factors")
    figure.get_by_text("Data as table").click()
    rows = figure.locator("tbody tr")
    trees = sorted({t for run in data["runs"] for t in run["diagnostics"]["trees"]})
    assert rows.locator("th").all_text_contents() == [str(tree) for tree in trees]
    low = data["runs"][0]["diagnostics"]["series"]["norm_factors"]["low"][0]
    assert float(rows.first.locator("td").nth(1).inner_text()) == pytest.approx(low, rel=1e-3)


def test_the_best_tree_is_marked(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    page.wait_for_selector("circle.best")
    assert chart(page, "NDCG@5").locator("circle.best").count() == len(data["runs"])


def test_queries_one_by_one(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    section = page.locator("#by-query")
    old, new = (data["scores"]["per_query"][name] for name in ("old", "new"))
    change = [b - a for a, b in zip(old, new, strict=True)]
    best = change.index(max(change))
    plot = section.get_by_role("slider")
    plot.focus()
    plot.press("Home")
    assert f"Query {data['scores']['query_ids'][best]}: new {new[best]:.4f}" in section.inner_text()
    plot.press("End")
    assert "difference −" in section.locator(".readout").inner_text()
    section.get_by_label("run").select_option("gap")
    assert "of gap minus that of old" in section.locator(".about").inner_text()


def test_a_bar_opens_its_query(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    plot = page.locator("#by-query").get_by_role("slider")
    plot.focus()
    plot.press("Home")
    plot.press("Enter")
    old, new = (data["scores"]["per_query"][name] for name in ("old", "new"))
    change = [b - a for a, b in zip(old, new, strict=True)]
    numbers = [query["number"] for query in data["queries"]]
    wanted = numbers.index(change.index(max(change)))
    assert page.get_by_label("Query", exact=True).input_value() == str(wanted)


def test_rows_open_queries(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    chosen = page.get_by_label("Query", exact=True)
    rows = page.locator("#queries tbody tr")
    assert rows.count() == len(data["queries"]) == 12
    rows.nth(3).locator("td").last.click()
    assert chosen.input_value() == "3"
    assert page.evaluate("document.activeElement.id") == "forces-title"
    rows.nth(5).get_by_role("button").press("Enter")
    assert chosen.input_value() == "5"
    page.wait_for_function(
        "() => Math.abs(document.getElementById('forces').getBoundingClientRect().top) < 300"
    )


def test_features_by_gain_and_by_splits(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["three"])
    section = page.locator("#features")
    names = section.locator("tbody th")

    def order(run: int, by: str) -> list[str]:
        found = sorted(data["runs"][run]["importance"], key=lambda one: -one[by])
        return [one["feature"] for one in found]

    assert names.all_text_contents() == order(0, "gain")[:20]
    section.get_by_role("button", name="splits").click()
    assert names.all_text_contents() == order(0, "splits")[:20]
    section.get_by_label("run").select_option("new")
    assert names.all_text_contents() == order(1, "gain")[:20]
    more = section.get_by_role("button", name="Show all")
    assert 20 < len(order(1, "gain")) <= COLUMNS
    more.click()
    assert names.all_text_contents() == order(1, "gain")
    section.get_by_role("button", name="Show the first 20").click()
    assert names.count() == 20


def test_settings_that_differ_come_first(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    marked = page.locator("#settings tbody tr").evaluate_all(
        "rows => rows.map((row) => row.className === 'differs')"
    )
    assert marked == sorted(marked, reverse=True)
    assert sum(marked) == 5  # objective, trees made, trees used, n_estimators, num_leaves
    assert page.locator("#settings tbody th").first.inner_text().startswith("objective")


def test_charts_read_out_the_trees_that_are_used(
    page: Page, tmp_path: Path, train_data: rf.RankingData, test_data: rf.RankingData
) -> None:
    """Of a run that stopped early, not the last tree that it grew."""
    given = {"n_estimators": 60, "early_stopping_rounds": 8}
    early = train("lambdarank-ndcg", train_data, test_data, **given)
    used, grown = early.model_.used, len(early.model_.trees)
    assert used < grown
    value = early.evals_result_["valid_0"]["ndcg@5"][used - 1]
    rf.write_report({"early": early}, test_data, out=tmp_path / "one.html", objectives=[])
    visit(page, tmp_path / "one.html")
    figure = chart(page, "NDCG@5")
    page.wait_for_selector("figure.chart svg .line")
    assert figure.locator(".at").inner_text() == f"at the end, {used} trees"
    assert figure.locator(".value").first.inner_text() == f"{value:.4f}"
    figure.locator(".plot").press("End")
    assert figure.locator(".at").inner_text() == f"with {grown} trees"
    # Runs that end at different trees have no end in common.
    short = train("ranknet", train_data, test_data, n_estimators=3)
    both = {"early": early, "short": short}
    rf.write_report(both, test_data, out=tmp_path / "two.html", objectives=[])
    visit(page, tmp_path / "two.html")
    figure = chart(page, "NDCG@5")
    page.wait_for_selector("figure.chart svg .line")
    assert figure.locator(".at").inner_text() == "at the end of each run"
    ends = [value, short.evals_result_["valid_0"]["ndcg@5"][-1]]
    assert figure.locator(".value").all_inner_texts() == [f"{one:.4f}" for one in ends]
