"""What a table is: headers in levels, rows of cells, sections, notes; and as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError


class Cell(NamedTuple):
    """One cell.

    >>> Cell("69.76", stars="***", bold=True).text
    '69.76'
    """

    text: str
    stars: str = ""  # "", "*", "**", "***"
    bold: bool = False
    italic: bool = False
    worse: bool = False  # red in LaTeX, a class in HTML


class Table(NamedTuple):
    """A table of results.

    A column has one header for each level, the top one first. Neighbours that are equal on a level
    and on all above it are one group there; the lowest level has no groups. A row that is a string
    is a section across all columns.

    A note that begins with ">:" says what bold means, instead of ">: best" in text.

    >>> Table([("P@10", "mean"), ("P@10", "p")], [[Cell("0.5"), Cell("0.02")]]).caption
    ''
    """

    columns: list[tuple[str, ...]]
    rows: list[list[Cell] | str]
    notes: list[str] = []  # noqa: RUF012 - nothing here changes it
    caption: str = ""


class Group(NamedTuple):
    """Neighbouring columns under one header."""

    label: str
    start: int
    stop: int
    ruled: bool  # a line below: there is a header, and one below it


def check(table: Table) -> None:
    """Refuse headers of unequal depth and rows of unequal length.

    >>> check(Table([("system",), ("mean",)], [[Cell("RankNet")]]))
    Traceback (most recent call last):
    ...
    rankforce.RankforceError: row 1 ('RankNet') has 1 cells: the table has 2 columns
    """
    if not table.columns or not table.columns[0]:
        raise RankforceError(
            f"the columns are {table.columns!r}: there must be one, with one header"
        )
    levels = len(table.columns[0])
    for number, header in enumerate(table.columns, start=1):
        if len(header) != levels:
            found = f"column {number} {header!r} has {len(header)} header levels"
            raise RankforceError(f"{found}: column 1 {table.columns[0]!r} has {levels}")
    for number, row in enumerate(table.rows, start=1):
        if not isinstance(row, str) and len(row) != len(table.columns):
            name = f" ({row[0].text!r})" if row else ""
            found = f"row {number}{name} has {len(row)} cells"
            raise RankforceError(f"{found}: the table has {len(table.columns)} columns")


def cells(table: Table) -> list[list[Cell]]:
    """The rows that are no sections.

    >>> cells(Table([("system",)], ["NDCG@5", [Cell("RankNet")]]))[0][0].text
    'RankNet'
    """
    return [row for row in table.rows if not isinstance(row, str)]


def groups(columns: list[tuple[str, ...]], level: int) -> list[Group]:
    """The groups of columns on an upper level, from left to right.

    >>> groups([("", "system"), ("P", "k = 5"), ("P", "k = 10")], 0)[1]
    Group(label='P', start=1, stop=3, ruled=True)
    """
    found = []
    for path, members in groupby(range(len(columns)), lambda column: columns[column][: level + 1]):
        span = list(members)
        below = any(any(columns[column][level + 1 :]) for column in span)
        found.append(Group(path[-1], span[0], span[-1] + 1, bool(path[-1]) and below))
    return found


def joined(header: tuple[str, ...]) -> str:
    """The levels of a header in one line.

    >>> joined(("LambdaMART", "tau = k")), joined(("", "system"))
    ('LambdaMART tau = k', 'system')
    """
    return " ".join(filter(None, header))


def one_line(text: str) -> str:
    r"""`text` without line ends and tabs, and without space around it.

    >>> one_line("two\nlines ")
    'two lines'
    """
    return " ".join(text.splitlines()).replace("\t", " ").strip()


def printed_notes(notes: list[str]) -> list[str]:
    """Notes for formats in which bold is bold.

    >>> printed_notes([">: p < 0.01", "6306 queries"])
    ['bold: p < 0.01', '6306 queries']
    """
    lines = map(one_line, notes)
    return ["bold:" + line[2:] if line.startswith(">:") else line for line in lines]


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    r"""Rows by RFC 4180, without a line end after the last one.

    >>> csv_text([["system", "P"], ["a,b", 0.5]])
    'system,P\r\n"a,b",0.5'
    """
    sheet = io.StringIO(newline="")
    csv.writer(sheet).writerows(rows)
    return sheet.getvalue().removesuffix("\r\n")


def render_csv(table: Table) -> str:
    r"""`table` by RFC 4180, without notes and caption.

    >>> render_csv(Table([("P", "k = 5"), ("P", "k = 10")], [[Cell("0,7", "*"), Cell("0,6")]]))
    'P k = 5,P k = 10\r\n"0,7*","0,6"'
    """
    return csv_text([_keys(table), *_values(table)])


def render_json(table: Table) -> str:
    """A list with an object for each row, without notes and caption.

    >>> print(render_json(Table([("system",), ("P",)], [[Cell("RankNet"), Cell("0.7", "*")]])))
    [
      {"system": "RankNet", "P": "0.7*"}
    ]
    """
    keys = _keys(table)
    for key in keys:
        if keys.count(key) > 1:
            raise RankforceError(
                f"{keys.count(key)} columns are {key!r}: a key of JSON must be unique"
            )
    rows = [dict(zip(keys, values, strict=True)) for values in _values(table)]
    lines = ["  " + json.dumps(row, ensure_ascii=False) for row in rows]
    return "\n".join(["[", ",\n".join(lines), "]"]) if lines else "[]"


def _has_sections(table: Table) -> bool:
    return any(isinstance(row, str) for row in table.rows)


def _keys(table: Table) -> list[str]:
    first = ["section"] if _has_sections(table) else []
    return first + [joined(header) for header in table.columns]


def _values(table: Table) -> list[list[str]]:
    """Text and stars of each row, behind the name of its section if there are sections."""
    section = [""] if _has_sections(table) else []
    found = []
    for row in table.rows:
        if isinstance(row, str):
            section = [row]
        else:
            found.append(section + [cell.text + cell.stars for cell in row])
    return found
