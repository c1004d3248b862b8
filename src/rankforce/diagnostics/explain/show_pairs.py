"""The pairs that contribute most, as text in columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rankforce.diagnostics.explain.bars import bar, fit, number_format, wrap
from rankforce.diagnostics.explain.explained import Document, Explained
from rankforce.diagnostics.explain.words import MOST_NAME, show_label
from rankforce.show.tables.text import width as text_width

GAP = "  "


class TextColumn(NamedTuple):
    """A column of the table: its header and the cells, as wide as they are."""

    header: str
    cells: list[str]
    align: str = ">"
    most: int = 100

    @property
    def wide(self) -> int:
        """Columns of the terminal."""
        return min(max(map(text_width, [self.header, *self.cells])), self.most)

    def line(self, at: int | None) -> str:
        """A cell, or the header."""
        return fit(self.header if at is None else self.cells[at], self.wide, self.align)


def show_pairs(one: Explained, letter: str, count: int, width: int, drawn: bool) -> str:
    """The pairs that contribute most, each with its share of all force."""
    found = one.strongest(count)
    weight = number_format(pair.weight for pair in found)
    force = number_format(pair.force for pair in found)
    most = max((width - 44) // 2, 8)
    columns = [
        *_side("pushed up", [pair.hi for pair in found], most),
        *_side("pushed down", [pair.lo for pair in found], most),
        TextColumn("weight", [f"{pair.weight:{weight}}" for pair in found]),
        TextColumn("force", [f"{pair.force:{force}}" for pair in found]),
        TextColumn("share", [f"{100 * pair.share:.1f} %" for pair in found]),
    ]
    for header in ("weight", "rank", "label"):  # what a narrow terminal can do without
        if _span(columns) > width:
            columns = [column for column in columns if column.header != header]
    room = min(width - _span(columns) - len(GAP), MOST_NAME)
    lines = [GAP.join(column.line(at) for column in columns) for at in (None, *range(len(found)))]
    if room >= 4:
        largest = found[0].share or 1.0
        drawings = (bar(pair.share / largest, room, drawn=drawn)[room + 1 :] for pair in found)
        lines[1:] = [a + GAP + b for a, b in zip(lines[1:], drawings, strict=True)]
    share = sum(pair.share for pair in found)
    rest = len(one.pairs.force)
    which = f"the {len(found)} of {rest:,} pairs" if len(found) < rest else f"all {rest:,} pairs"
    which = "the only pair" if rest == 1 else which
    told = f" that contribute most, {100 * share:.0f} % of all force" if len(found) < rest else ""
    return "\n".join([*wrap(f"{letter}{which}{told}", width, "   "), *lines])


def _span(columns: Sequence[TextColumn]) -> int:
    return sum(column.wide for column in columns) + len(GAP) * (len(columns) - 1)


def _side(header: str, documents: list[Document], most: int) -> list[TextColumn]:
    return [
        TextColumn(header, [one.name for one in documents], "<", max(most - 10, len(header))),
        TextColumn("rank", [str(one.rank) for one in documents]),
        TextColumn("label", [show_label(one.label) for one in documents]),
    ]
