"""A document's page in a real browser: in which widths and colours, and what scrolls."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rankforce.show.pages import Command, Document, Heading, Items, Picture, Shown, Words, write
from rankforce.show.tables import Cell, Table
from tests.show.pages.test_pages import EVIL
from tests.show.report.browser import set_width

if TYPE_CHECKING:
    from playwright.sync_api import Page

WIDE = '<svg xmlns="http://www.w3.org/2000/svg" width="2000" height="300"></svg>'
LONG = "LambdaLoss-BNDCG++(" + "all" * 40 + ")"


def wide_table() -> Table:
    """42 rows below headers in two levels, in two sections."""
    columns = [("", "algorithm")]
    columns += [
        (name, f"k = {k}") for name in ("MSLR", "Istella", "Yahoo", "TREC") for k in (5, 10)
    ]
    rows: list[list[Cell] | str] = []
    for number in range(42):
        if number % 21 == 0:
            rows.append(f"NDCG, part {number // 21}")
        stars = "*" * (number % 4)
        cells = [Cell(f"{10 + number}.25", stars, bold=not number) for _ in columns[1:]]
        rows.append([Cell(LONG if number == 5 else f"system {number}"), *cells])
    return Table(columns, rows, ["* p < 0.05"], "Every system by every metric, with " + LONG)


@pytest.fixture
def shown(page: Page, tmp_path: Path) -> Page:
    """A page with everything that can be too wide."""
    (tmp_path / "wide.svg").write_text(WIDE)
    blocks = [
        Heading("Findings"),
        Items([f"**{LONG}** is `{LONG}`", f"[{LONG}]({LONG})", EVIL]),
        Heading("All systems"),
        Words(f"{LONG} {EVIL}"),
        Shown(wide_table()),
        Heading("Pictures"),
        Picture("wide.svg", LONG),
        Heading(LONG),
        Command(f"rankforce compare {LONG}"),
    ]
    _, file, _ = write(Document(f"Title {LONG}", blocks), tmp_path, {})
    page.emulate_media(reduced_motion="reduce")  # what scrolls is there at once
    page.goto(file.as_uri())
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 1000, 400])
def test_only_the_table_scrolls_sideways(shown: Page, width: int, scheme: str) -> None:
    set_width(shown, width)
    shown.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    wider = "document.documentElement.scrollWidth - window.innerWidth"
    assert shown.evaluate(wider) <= 0
    box = shown.locator(".scroll")
    hidden = box.evaluate("box => box.scrollWidth - box.clientWidth")
    assert hidden > 0 or width > 400
    if hidden:
        box.evaluate("box => box.scrollLeft = 80")
        left = box.bounding_box()["x"]  # type: ignore[index]
        for name in ("caption", ".section span", "tbody th[scope=row]"):
            assert left <= shown.locator(name).first.bounding_box()["x"] < left + 20  # type: ignore[index]


def test_pictures_and_rows_are_there(shown: Page) -> None:
    assert shown.locator("img").evaluate("one => one.naturalWidth") == 2000
    assert shown.locator("tbody tr").count() == 44


def test_contents_lead_to_their_headings(shown: Page) -> None:
    shown.get_by_role("link", name="Pictures", exact=True).click()
    assert shown.evaluate("location.hash") == "#pictures"
    place = shown.locator("#pictures").bounding_box()
    assert place is not None
    assert 0 <= place["y"] < 900


def test_numbers_line_up_beside_their_stars(shown: Page) -> None:
    ends = shown.evaluate("""() => [...document.querySelectorAll("tbody td:nth-child(2)")].map(
      (cell) => {
        const range = document.createRange();
        const text = cell.firstChild;
        range.selectNodeContents(text);
        return Math.round(range.getBoundingClientRect().right);
      })""")
    assert len(ends) == 42
    assert len(set(ends)) == 1


def test_light_and_dark(shown: Page) -> None:
    colours = {}
    for scheme in ("light", "dark"):
        shown.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        style = "getComputedStyle(document.body)"
        colours[scheme] = shown.evaluate(f"[{style}.backgroundColor, {style}.color]")
    assert colours == {
        "light": ["rgb(251, 251, 250)", "rgb(28, 33, 40)"],
        "dark": ["rgb(20, 23, 27)", "rgb(230, 233, 237)"],
    }
