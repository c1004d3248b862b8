"""Tables as HTML: what a browser would find in them."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankforce.show.tables import Cell, Table, render
from rankforce.show.tables.table import one_line, printed_notes
from tests.show.tables.made_tables import by_cutoff, by_data_set, comparison, plain

GROUP = {"class": "group"}
EVIL = "<script>alert('1')</script> & \"quoted\" &lt;"


class Found(NamedTuple):
    """One cell of a parsed table."""

    name: str
    text: str
    marks: dict[str, str]
    inside: tuple[str, ...]


class Reader(HTMLParser):
    """Rows of cells, the caption and the notes; a tag that does not close its own is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[Found]] = []
        self.bodies = 0
        self.caption = ""
        self.notes: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        marks = {key: value or "" for key, value in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            self.rows[-1].append(Found(tag, "", marks, ()))
        elif tag in ("b", "i", "sup", "span"):
            cell = self.rows[-1][-1]
            self.rows[-1][-1] = cell._replace(inside=(*cell.inside, tag))
        elif tag in ("p", "br"):
            self.notes.append("")
        else:
            assert tag in ("table", "caption", "thead", "tbody")
            self.bodies += tag == "tbody"
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "th" in self.open or "td" in self.open:
            cell = self.rows[-1][-1]
            self.rows[-1][-1] = cell._replace(text=cell.text + data)
        elif "caption" in self.open:
            self.caption += data
        elif "p" in self.open:
            self.notes[-1] += data
        else:
            assert not data.strip()


def read(table: Table) -> Reader:
    return Reader(render(table, "html"))


def texts(row: list[Found]) -> list[str]:
    return [cell.text for cell in row]


def test_comparison() -> None:
    found = read(comparison())
    assert found.caption == "MSLR & co"
    assert texts(found.rows[0]) == ["system", "mean", "difference", "95% interval", "p", "stars"]
    interval = "[-0.0040, -0.0003]"
    assert texts(found.rows[2]) == ["rank_net", "0.6910", "-0.0022", interval, "0.021", "*"]
    assert found.notes == ["P@10, y > 0", "6306 queries"]
    assert [cell.name for cell in found.rows[2]] == ["th", *["td"] * 5]
    assert found.rows[2][0].marks == {"scope": "row"}
    assert found.rows[2][1].marks == {"class": "number worse"}
    assert found.rows[3][1].inside == ("b",)
    assert found.rows[3][5].inside == ()  # stars alone stand as large as any text


def test_groups_span_their_columns() -> None:
    upper, lower, *_ = read(by_data_set()).rows
    assert texts(upper) == ["", "MSLR-WEB30K", "Istella-S"]
    assert [cell.marks for cell in upper] == [{}, *[{"scope": "col", "colspan": "2"} | GROUP] * 2]
    assert texts(lower) == ["algorithm", "k = 5", "k = 10", "k = 5", "k = 10"]
    assert lower[0].marks == {"scope": "col"}
    assert lower[1].marks == {"scope": "col", "class": "number"}


def test_header_without_one_below_it_is_no_group() -> None:
    upper = read(Table([("dataset", ""), ("P", "k = 5")], [])).rows[0]
    assert [cell.marks for cell in upper] == [{"scope": "col"}, {"scope": "col"} | GROUP]


def test_sections_have_bodies_of_their_own() -> None:
    found = read(by_cutoff())
    assert found.bodies == 2
    section = Found(
        "th", "NDCG@5", {"scope": "rowgroup", "colspan": "4", "class": "section"}, ("span",)
    )
    assert found.rows[2] == [section]
    assert texts(found.rows[3]) == ["IST-S", "70.19", "70.67**", "70.65*"]
    assert [cell.inside for cell in found.rows[3]] == [(), (), ("b", "sup"), ("i", "sup")]
    assert found.notes == ["bold: p < 0.01"]


def test_rows_before_the_first_section() -> None:
    found = read(Table([("x",)], [plain("a"), "s", plain("b")]))
    assert found.bodies == 2
    assert texts([row[0] for row in found.rows]) == ["x", "a", "s", "b"]


@pytest.mark.parametrize(
    ("filled", "is_number"),
    [
        (["12", ""], True),
        (["+0.1", "baseline"], True),
        (["[-0.4, 0.1]", ""], True),
        (["<0.001", ".5"], True),
        (["\N{MINUS SIGN}3", "–"], True),
        (["better by NDCG@2", "baseline"], False),
        (["", ""], True),
        ([], True),
    ],
)
def test_only_numbers_are_at_the_right(filled: list[str], is_number: bool) -> None:
    found = read(Table([("x",), ("y",)], [plain("1", text) for text in filled]))
    assert [("class" in row[1].marks) for row in found.rows] == [is_number] * (len(filled) + 1)
    assert not any("class" in row[0].marks for row in found.rows)


def test_everything_is_escaped() -> None:
    table = Table([(EVIL, EVIL)], [EVIL, [Cell(EVIL, "<*", True, True, True)]], [EVIL], EVIL)
    text = render(table, "html")
    assert "<script" not in text
    found = Reader(text)
    assert [texts(row) for row in found.rows] == [[EVIL], [EVIL], [EVIL], [EVIL + "<*"]]
    assert (found.caption, found.notes) == (EVIL, [EVIL])


def test_what_is_empty_leaves_nothing_behind() -> None:
    text = render(Table([("x",)], [[Cell("", bold=True, italic=True)]]), "html")
    assert not any(tag in text for tag in ("<b>", "<i>", "<sup>", "<caption>", "<p", "class"))
    assert "<tbody>" not in render(Table([("x",)], []), "html")


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("<>&\"'\n*"))
CELL = st.builds(Cell, TEXT, st.sampled_from(["", "*", "***"]), *[st.booleans()] * 3)


@st.composite
def tables(draw: Callable[..., Any]) -> Table:
    """Any table of up to four columns."""
    width = draw(st.integers(1, 4))
    levels = draw(st.integers(1, 3))
    columns = draw(st.lists(st.tuples(*[TEXT] * levels), min_size=width, max_size=width))
    rows = st.lists(CELL, min_size=width, max_size=width) | TEXT
    return Table(columns, draw(st.lists(rows, max_size=4)), draw(st.lists(TEXT)), draw(TEXT))


@given(tables())
def test_all_texts_come_back(table: Table) -> None:
    found = read(table)
    levels = len(table.columns[0])
    for level, shown in enumerate(found.rows[:levels]):
        wide = [cell.text for cell in shown for _ in range(int(cell.marks.get("colspan", 1)))]
        assert wide == [one_line(column[level]) for column in table.columns]
    for row, shown in zip(table.rows, found.rows[levels:], strict=True):
        filled = [Cell(row)] if isinstance(row, str) else row
        assert texts(shown) == [one_line(cell.text) + cell.stars for cell in filled]
    assert found.caption == one_line(table.caption)
    assert found.notes == printed_notes(table.notes)


@given(tables())
def test_every_row_has_all_columns(table: Table) -> None:
    for row in read(table).rows:
        assert sum(int(cell.marks.get("colspan", "1")) for cell in row) == len(table.columns)
