"""The forces of one query as text: under one objective, or under several side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rankforce.common.checks import check_whole
from rankforce.diagnostics.explain.bars import (
    PLAIN,
    bar,
    can_draw,
    clean,
    find_encoding,
    fit,
    number_format,
    wrap,
)
from rankforce.diagnostics.explain.explained import FALSE, MISSED, Document, Explained, Violation
from rankforce.show.tables.text import width as text_width

GAP = "  "
MOST = 3  # violations that are told one by one
MOST_NAME = 24  # columns of the name of a document
LEAST_BAR = 9  # columns of a bar: less says nothing
LEAST_WITH_NUMBER = 22  # columns from which on a force stands beside its bar
NARROWEST = 40


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


def show(
    several: Sequence[Explained],
    *,
    width: int = 80,
    top: int = 20,
    pairs: int = 10,
    encoding: str | None = None,
) -> str:
    """Bars of forces, violations in words, and the pairs that contribute most.

    `several` are of one query: the forces under each objective stand side by side.
    """
    check_whole("top", top, least=1)
    check_whole("pairs", pairs, least=0)
    width = max(check_whole("width", width, least=1), NARROWEST)
    chosen = find_encoding(encoding)
    drawn = can_draw(chosen)
    several = [_shown(one, chosen) for one in several]
    parts = [_head(several, width)]
    if several[0].documents:
        parts += _documents(several, width, top, drawn)
    said = [_violations(one, width - 3) for one in several]
    told = [_lettered(*two) for two in zip(_letters(several), said, strict=True)]
    parts.append(("\n" if max(map(len, said)) == 1 else "\n\n").join(told))
    for letter, one in zip(_letters(several), several, strict=True):
        if pairs and len(one.pairs.force):
            parts.append(_pairs(one, letter, pairs, width, drawn))
    text = "\n\n".join(parts)
    text = text if drawn else text.translate(PLAIN)
    return "\n".join(line.rstrip() for line in text.split("\n"))


def _shown(one: Explained, encoding: str) -> Explained:
    """The same with texts from data as a terminal can show them."""
    documents = [
        document._replace(doc_id=clean(document.name, encoding)) for document in one.documents
    ]
    return one._replace(
        query=clean(str(one.query), encoding),
        objective=clean(one.objective, encoding),
        documents=documents,
    )


def _letters(several: Sequence[Explained]) -> list[str]:
    """What tells objectives apart where there are several."""
    if len(several) == 1:
        return [""]
    return [f"{_letter(number)}  " for number in range(len(several))]


def _lettered(letter: str, lines: list[str]) -> str:
    return letter + f"\n{' ' * len(letter)}".join(lines)


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else str(number + 1)


def _head(several: Sequence[Explained], width: int) -> str:
    first = several[0]
    count = len(first.documents)
    told = [f"{count} document" + ("s" if count != 1 else "")]
    told += [f"{name} {value:.4f}" for name, value in first.metrics.items() if value == value]
    lines = [f"query {first.query}: {', '.join(told)}"]
    if first.why:
        lines.append(f"it has {first.why}")
    how = [] if first.norm == "none" else [f"norm {first.norm}"]
    how += [f"iteration {first.iteration}"] if first.iteration else []
    for letter, one in zip(_letters(several), several, strict=True):
        number = len(one.pairs.force)
        pairs = f"{number:,} pair" + ("s" if number != 1 else "")
        lines.append(f"{letter}{', '.join([one.objective, *how])}: {pairs}")
    return "\n".join(part for line in lines for part in wrap(line, width, "   "))


def _documents(several: Sequence[Explained], width: int, top: int, drawn: bool) -> list[str]:
    """One block, or as many as it takes to give every objective room."""
    shown = _choose(several, top)
    first = several[0]
    ranked = [first.documents[at] for at in shown]
    score = number_format(one.score for one in ranked)
    left = [
        TextColumn("rank", [str(one.rank) for one in ranked]),
        TextColumn("document", [one.name for one in ranked], "<", min(MOST_NAME, width // 5)),
        TextColumn("label", [show_label(one.label) for one in ranked]),
        TextColumn("score", [f"{one.score:{score}}" for one in ranked]),
        TextColumn(f"top {first.k}", [one.kind for one in ranked], "<"),
    ]
    if width < 64:
        del left[3]
    used = sum(column.wide + len(GAP) for column in left)
    each = max((width - used + len(GAP)) // (LEAST_BAR + len(GAP)), 1)
    blocks = math.ceil(len(several) / each)
    each = math.ceil(len(several) / blocks)
    room = max((width - used + len(GAP)) // each - len(GAP), LEAST_BAR)
    found = []
    for start in range(0, len(several), each):
        part = several[start : start + each]
        titles = [f"{_letter(start + at)} {one.objective}" for at, one in enumerate(part)]
        forces = [_ForceColumn(one, shown, room, drawn) for one in part]
        head = [" " * used + GAP.join(fit(title, room) for title in titles)]
        lines = head if len(several) > 1 else []
        lines.append("".join(c.line(None) + GAP for c in left) + GAP.join(f.header for f in forces))
        lines += _rows(shown, first, left, forces)
        found.append("\n".join(lines))
    return found


class _ForceColumn:
    """The forces under one objective: a number, where there is room, and a bar."""

    def __init__(self, one: Explained, shown: list[int], room: int, drawn: bool) -> None:
        values = [one.documents[at].force for at in shown]
        kind = number_format([one.largest])
        numbers = [f"{value:+{kind}}" if value else "0" for value in values]
        with_number = room >= LEAST_WITH_NUMBER
        column = TextColumn("force", numbers if with_number else [])
        half = (room - (column.wide + len(GAP) if with_number else 0) - 1) // 2
        axis = "│" if drawn else "|"
        title = f"{'down':>{half}}{axis}{'up':<{half}}"
        scale = one.largest or 1.0
        bars = [bar(value / scale, half, drawn=drawn) for value in values]
        before = [column.line(at) + GAP if with_number else "" for at in range(len(values))]
        self.header = fit((column.line(None) + GAP if with_number else "") + title, room)
        self.cells = [fit(a + b, room) for a, b in zip(before, bars, strict=True)]


def _rows(
    shown: list[int], one: Explained, left: Sequence[TextColumn], forces: Sequence[_ForceColumn]
) -> list[str]:
    """Lines of the documents, with one where the top k ends and where some are left out."""
    wide = sum(column.wide + len(GAP) for column in left)
    wide += sum(len(part.header) for part in forces) + len(GAP) * (len(forces) - 1)
    lines, last = [], -1
    for at, number in enumerate([*shown, len(one.documents)]):
        missing = number - last - 1
        is_edge = last < one.k <= number and number > 0 and one.k < len(one.documents)
        if missing:
            kind = "more document" + ("s" if missing > 1 else "")
            lines.append(f"{'⋮':>{left[0].wide}}{GAP}{missing:,} {kind}")
        if is_edge:
            lines.append(fit(f"── top {one.k} ".ljust(wide, "─"), wide))
        if number < len(one.documents):
            lines.append(
                "".join(column.line(at) + GAP for column in left)
                + GAP.join(part.cells[at] for part in forces)
            )
        last = number
    return lines


def _choose(several: Sequence[Explained], top: int) -> list[int]:
    """Which documents to show: the first, and in a quarter of the room those that matter below.

    These are the ones that violations are told of, then missed ones, then the most pushed.
    """
    documents = several[0].documents
    count = len(documents)
    if count <= top:
        return list(range(count))
    told = {two.missed.row for one in several for two in one.violations[:MOST]}

    def worth(at: int) -> tuple[bool, bool, float]:
        one = documents[at]
        push = max(abs(each.documents[at].force) / (each.largest or 1.0) for each in several)
        return one.row in told, one.kind == MISSED, push

    below = sorted(range(top - top // 4, count), key=worth, reverse=True)
    return [*range(top - top // 4), *sorted(below[: top // 4])]


def _pairs(one: Explained, letter: str, count: int, width: int, drawn: bool) -> str:
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


def show_label(label: float) -> str:
    """A label as text.

    >>> show_label(2.0), show_label(0.25), show_label(float("-inf"))
    ('2', '0.25', '?')
    """
    return f"{label:g}" if math.isfinite(label) else "?"


def _violations(one: Explained, width: int) -> list[str]:
    """Lines that say what is not coherent, or that nothing is."""
    found = one.violations
    if not found:
        return wrap(_nothing(one), width)
    kind = number_format([one.largest])
    total = f"{len(found):,} violation" + ("s" if len(found) > 1 else "")
    more = f", the {MOST} largest" if len(found) > MOST else ""
    lines = [f"{total} of coherence{more}:"]
    for violation in found[:MOST]:
        lines += wrap(f"- {_sentence(violation, one.k, kind)}", width, "  ")
    return lines


def _nothing(one: Explained) -> str:
    kinds = {document.kind for document in one.documents}
    if MISSED in kinds and FALSE not in kinds:  # where labels decide, not how many have them
        return f"coherent: the ideal top {one.k} has every label of the top {one.k}"
    if not {FALSE, MISSED} <= kinds:
        return f"the labels of the top {one.k} are as good as can be: no document is missed"
    return f"coherent: no false top-{one.k} document is pushed up more than a missed one"


def _sentence(violation: Violation, k: int, kind: str) -> str:
    """What happens to the two documents.

    >>> false = Document(1, 0, "d3", 0.0, 2.0, 0.5, "false")
    >>> missed = Document(9, 7, "d9", 3.0, 1.0, 0.25, "missed")
    >>> _sentence(Violation(false, missed), 5, ".2f")
    'd3 (label 0, false top-5) is pushed up more than d9 (label 3, missed): +0.50 against +0.25'
    """
    false, missed = violation
    first = f"{_short(false.name)} (label {show_label(false.label)}, false top-{k})"
    second = f"{_short(missed.name)} (label {show_label(missed.label)}, missed)"
    said = f"{first} {_verb(false, missed, second)}"
    return f"{said}: {false.force:+{kind}} against {missed.force:+{kind}}"


def _short(name: str) -> str:
    return fit(name, MOST_NAME).rstrip()


def _verb(false: Document, missed: Document, second: str) -> str:
    if missed.force > 0.0:
        return f"is pushed up more than {second}"
    if false.force > 0.0:
        how = "down" if missed.force < 0.0 else "not at all"
        return f"is pushed up, {second} {how}"
    if false.force < 0.0:
        return f"is pushed down less than {second}"
    return f"is not pushed, {second} down"
