"""The page in a real browser: what it shows, and that every control works."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rankforce as rf
from rankforce.report.write import write_report
from tests.report.made_runs import ALERT, COLUMNS, EVIL, make_data, train

if TYPE_CHECKING:
    from playwright.sync_api import Page

SECTIONS = {
    "summary": "Summary",
    "comparison": "Comparison",
    "by-query": "Query by query",
    "curves": "Metric curves",
    "diagnostics": "Diagnostics",
    "queries": "Worst and best queries",
    "forces": "Forces in a list",
    "features": "Features",
    "settings": "Settings",
}


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of three runs, of one, of runs without data, and one whose texts are markup."""
    place = tmp_path_factory.mktemp("pages")
    learn, judge = make_data(0), make_data(1)
    recorder = rf.Recorder(every=2, metrics="ndcg@5", against=rf.objective("ranknet"))
    runs = {
        "old": train("lambdarank-ndcg", learn, judge, callbacks=[recorder]),
        "new": train("lambdamart-ex static", learn, judge, n_estimators=20, num_leaves=9),
        "gap": train("lambdagap-x+", learn, judge),
    }
    evil = make_data(2, evil=True)
    named = {text: train("ranknet", evil, evil, k=None, n_estimators=3) for text in EVIL}
    write_report(runs, judge, out=place / "three.html")
    write_report(runs["old"], judge, out=place / "one.html")
    write_report(runs, out=place / "no data.html")
    write_report(named, evil, out=place / "evil.html", title=ALERT, queries=30)
    return {file.stem: file for file in place.iterdir()}


def visit(page: Page, file: Path) -> Any:
    """Open a report from disk; the data it holds."""
    page.emulate_media(reduced_motion="reduce")  # what scrolls is there at once
    page.goto(file.as_uri())
    return json.loads(page.locator("#data").text_content() or "")


def chart(page: Page, title: str) -> Any:
    return page.locator("figure.chart").filter(
        has=page.get_by_role("heading", name=title, exact=True)
    )


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_every_section_is_there(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    found = page.locator("main > section")
    assert [one.get_attribute("id") for one in found.all()] == [*SECTIONS]
    assert page.locator("main h2").all_text_contents() == [*SECTIONS.values()]
    assert page.locator("#contents a").all_text_contents() == [*SECTIONS.values()]
    page.wait_for_selector("figure.chart svg .line")
    assert page.locator("figure.chart").count() == 2 + 9 + 2 * 3  # metrics, lines, stacks


def test_without_data_the_rest_is_there(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["no data"])
    shown = [one.get_attribute("id") for one in page.locator("main > section").all()]
    assert shown == ["summary", "curves", "diagnostics", "features", "settings", "notes"]
    assert "--data FILE" in page.locator("#notes").inner_text()


def test_one_run_needs_no_comparison(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["one"])
    assert page.locator("#comparison tbody tr th").all_text_contents() == [
        "run",
        "a random ranking",
        "an ideal ranking",
    ]
    assert page.locator("#summary .lead").inner_text() == data["summary"][0]
    assert "of each query" in page.locator("#by-query .about").inner_text()


@pytest.mark.parametrize("name", ["three", "one", "no data", "evil"])
def test_nothing_is_wider_than_the_page(page: Page, reports: dict[str, Path], name: str) -> None:
    visit(page, reports[name])
    for width in (1400, 1000, 400):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function("() => document.querySelector('.plot svg').clientWidth < innerWidth")
        page.emulate_media(color_scheme="light")
        assert overflow(page) <= 0
        page.emulate_media(color_scheme="dark")
        assert overflow(page) <= 0


def test_charts_follow_the_width(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    wide = page.locator("figure.chart svg:not(.sample)").first
    before = wide.bounding_box()
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_function("() => document.querySelector('.plot svg').clientWidth < 400")
    after = wide.bounding_box()
    assert before is not None
    assert after is not None
    assert after["width"] < before["width"]
    assert overflow(page) <= 0


def test_the_theme_can_be_turned(page: Page, reports: dict[str, Path]) -> None:
    page.emulate_media(color_scheme="light")
    visit(page, reports["three"])
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark theme").click()
    dark = page.evaluate(ground)
    assert dark != light
    page.get_by_role("button", name="Light theme").click()
    assert page.evaluate(ground) == light
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(ground) == light  # what was chosen stays


CONTRAST = """(pairs) => {
  const probe = document.body.appendChild(document.createElement("i"));
  const light = (name) => {
    probe.style.color = `var(${name})`;
    const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3);
    const [r, g, b] = parts.map((v) => v / 255)
      .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return pairs.map(([one, other]) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  });
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast(page: Page, reports: dict[str, Path], theme: Any) -> None:
    page.emulate_media(color_scheme=theme)
    visit(page, reports["one"])
    texts = [
        (ink, on) for ink in ("--ink", "--soft-ink", "--accent") for on in ("--page", "--panel")
    ]
    texts += [("--accent", "--accent-soft"), ("--ink", "--accent-soft")]
    texts += [(f"--grade-ink-{grade}", f"--grade-{grade}") for grade in range(5)]
    for pair, ratio in zip(texts, page.evaluate(CONTRAST, texts), strict=True):
        assert ratio >= 4.5, pair
    marks = [(f"--series-{number}", "--panel") for number in range(1, 9)]
    marks += [("--up", "--panel"), ("--down", "--panel")]
    for pair, ratio in zip(marks, page.evaluate(CONTRAST, marks), strict=True):
        assert ratio >= 3.0, pair


def test_what_flatters_stands_in_the_summary(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["evil"])
    assert len(data["cautions"]) == len(EVIL)
    shown = page.locator("#summary .caution").all_text_contents()
    assert shown == [f"Mind: {text}" for text in data["cautions"]]


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
    assert sum(marked) == 5  # objective, trees grown, trees used, n_estimators, num_leaves
    assert page.locator("#settings tbody th").first.inner_text().startswith("objective")


def test_contents_lead_to_sections(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    for name in ("Settings", "Diagnostics"):
        page.locator("#contents").get_by_role("link", name=name).click()
        page.locator("#contents [aria-current]").get_by_text(name, exact=True).wait_for()


def test_by_keyboard_alone(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    focused = "document.activeElement.textContent"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Skip to the report"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.reload()
    seen = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.add(
            page.evaluate(
                "document.activeElement.getAttribute('role') || document.activeElement.tagName"
            )
        )
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", page.evaluate("document.activeElement.outerHTML")
    assert {"A", "BUTTON", "region", "slider", "SELECT", "SUMMARY"} <= seen


def test_text_stays_text(page: Page, reports: dict[str, Path]) -> None:
    opened: list[str] = []
    page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    visit(page, reports["evil"])
    assert page.title() == ALERT
    assert page.locator("h1").inner_text() == ALERT
    assert page.locator("#queries").get_by_role("button", name=f"Open query {ALERT}").is_visible()
    assert page.locator("#features").get_by_text(ALERT, exact=True).last.is_visible()
    for text in EVIL:
        assert text.split("\u2028")[0] in page.locator("#settings thead").inner_text()
    for button in page.locator("#queries tbody button").all()[:8]:
        button.click()
    for summary in page.locator("summary").all()[:6]:
        summary.click()
    assert ALERT in page.locator("#forces").inner_text()
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert opened == []


def test_on_paper_there_are_no_controls(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator("#contents").is_visible()
    assert not page.get_by_role("button", name="logarithmic").first.is_visible()
    assert page.locator("#curves h2").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
