"""Tables as plain text, for terminals and logs."""

from __future__ import annotations

import unicodedata

from rankforce.show.tables.table import Cell, Group, Table, cells, groups, one_line

_GAP = "  "


def render_text(table: Table) -> str:
    """`table` in columns of equal width.

    >>> columns = [("", "system"), ("P", "k = 5"), ("P", "k = 10")]
    >>> print(render_text(Table(columns, [[Cell("RankNet"), Cell("73.32"), Cell("69.10")]])))
                   P
             -------------
    system   k = 5  k = 10
    ----------------------
    RankNet  73.32   69.10
    """
    columns = [tuple(map(one_line, header)) for header in table.columns]
    body = [_column([row[at] for row in cells(table)], at) for at in range(len(columns))]
    widths = _widths(columns, body)
    rule = "-" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    filled = (_line(list(row), widths) for row in zip(*body, strict=True))
    lines = [*_head(columns, widths), rule]
    for number, row in enumerate(table.rows):
        if isinstance(row, str):
            lines += [rule, one_line(row)] if number else [one_line(row)]
        else:
            lines.append(next(filled))
    caption = [one_line(table.caption), ""] if table.caption else []
    notes = _notes(table)
    below = ["", *notes] if notes else []
    return "\n".join(line.rstrip() for line in [*caption, *lines, *below])


def width(text: str) -> int:
    """Columns that `text` takes in a terminal: East Asian characters two, accents none.

    >>> width("tau"), width("順位"), width("e\u0301")
    (3, 4, 1)
    """
    return sum(map(_character_width, text))


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _pad(text: str, wide: int, align: str) -> str:
    free = wide - width(text)
    left = {"<": 0, "^": free // 2, ">": free}[align]
    return " " * left + text + " " * (free - left)


def _align(column: int) -> str:
    return ">" if column else "<"


def _column(column_cells: list[Cell], at: int) -> list[str]:
    """The cells of a column: stars have room of their own, so that the numbers line up."""
    marked = any(cell.bold for cell in column_cells)
    # Names begin at the left: without the marker they keep its place free.
    blank = " " if marked and _align(at) == "<" else ""
    texts = [(">" if cell.bold else blank) + one_line(cell.text) for cell in column_cells]
    wide = max(map(width, texts), default=0)
    stars = max((width(cell.stars) for cell in column_cells), default=0)
    if _align(at) == "<":
        found = [text + cell.stars for text, cell in zip(texts, column_cells, strict=True)]
        return [_pad(text, wide + stars, "<") for text in found]
    pairs = zip(texts, column_cells, strict=True)
    return [_pad(text, wide, ">") + _pad(cell.stars, stars, "<") for text, cell in pairs]


def _widths(columns: list[tuple[str, ...]], body: list[list[str]]) -> list[int]:
    """Width of each column: of its cells and its header, and its share of a long group header."""
    widths = [
        max(width(text) for text in [header[-1], *filled])
        for header, filled in zip(columns, body, strict=True)
    ]
    for level in reversed(range(len(columns[0]) - 1)):
        for group in groups(columns, level):
            missing = width(group.label) - _span(group, widths)
            for extra in range(max(missing, 0)):
                widths[group.start + extra % (group.stop - group.start)] += 1
    return widths


def _span(group: Group, widths: list[int]) -> int:
    return sum(widths[group.start : group.stop]) + len(_GAP) * (group.stop - group.start - 1)


def _line(texts: list[str], widths: list[int]) -> str:
    padded = [_pad(text, widths[at], _align(at)) for at, text in enumerate(texts)]
    return _GAP.join(padded)


def _head(columns: list[tuple[str, ...]], widths: list[int]) -> list[str]:
    """A line for each level, and one below each level of groups."""
    lines = []
    for level in range(len(columns[0]) - 1):
        found = groups(columns, level)
        spans = [_span(group, widths) for group in found]
        aligns = ["^" if group.start else "<" for group in found]
        labels = zip(found, spans, aligns, strict=True)
        lines.append(_GAP.join(_pad(group.label, wide, align) for group, wide, align in labels))
        if any(group.ruled for group in found):
            rules = zip(found, spans, strict=True)
            lines.append(_GAP.join(("-" if group.ruled else " ") * wide for group, wide in rules))
    return [*lines, _line([header[-1] for header in columns], widths)]


def _notes(table: Table) -> list[str]:
    notes = [one_line(note) for note in table.notes]
    bold = any(cell.bold for row in cells(table) for cell in row)
    explained = any(note.startswith(">:") for note in notes)
    return [*notes, ">: best"] if bold and not explained else notes
