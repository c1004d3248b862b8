"""What a table is: headers in levels, rows of cells, sections, notes."""

from __future__ import annotations

from itertools import groupby
from typing import NamedTuple

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
    worse: bool = False  # red in LaTeX


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
