"""The page in a real browser: what it shows, in which colours and widths, and to whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.show.report.browser import set_width
from tests.show.report.made_runs import ALERT, EVIL
from tests.show.report.report_pages import visit

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
    "weights": "Weights of rank pairs",
    "features": "Features",
    "settings": "Settings",
}


def overflow(page: Page) -> int:
    return int(page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


def test_every_section_is_there(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    found = page.locator("main > section")
    assert [one.get_attribute("id") for one in found.all()] == [*SECTIONS]
    assert page.locator("main h2").all_text_contents() == [*SECTIONS.values()]
    assert page.locator("#contents a").all_text_contents() == [*SECTIONS.values()]
    page.wait_for_selector("figure.chart svg .line")
    assert page.locator("figure.chart").count() == 2 + 9 + 3 * 3 + 1  # metrics, lines, labels, map


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
        set_width(page, width)
        page.emulate_media(color_scheme="light")
        assert overflow(page) <= 0
        page.emulate_media(color_scheme="dark")
        assert overflow(page) <= 0


def test_charts_follow_the_width(page: Page, reports: dict[str, Path]) -> None:
    visit(page, reports["three"])
    wide = page.locator("figure.chart svg:not(.sample)").first
    before = wide.bounding_box()
    set_width(page, 400)
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
