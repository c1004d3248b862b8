"""What would bring documents into the top k, as text: one in full, or a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from rankforce.common.checks import check_whole
from rankforce.diagnostics.explain.bars import (
    PLAIN,
    bar,
    can_draw,
    clean,
    find_encoding,
    number_format,
    wrap,
)
from rankforce.diagnostics.explain.show import GAP, LEAST_BAR, NARROWEST, TextColumn
from rankforce.diagnostics.why.entry import Change, Entry
from rankforce.diagnostics.why.show_why import MOST_VALUE, show_value, told

MOST_WORDS = 32  # columns of what a value must be
GREEDY = "pairs are found greedily: there may be smaller ones"


def show_entry(one: Entry, *, width: int = 80, top: int = 10, encoding: str | None = None) -> str:
    """The changes that suffice, else how far the best go and which two do."""
    check_whole("top", top, least=1)
    width = max(check_whole("width", width, least=1), NARROWEST)
    chosen = find_encoding(encoding)
    drawn = can_draw(chosen)
    lines = _wrapped(_head(one), width, chosen)
    if not one.is_inside:
        lines += ["", *_wrapped(_verdict(one), width, chosen)]
        shown = (one.changes or one.short)[:top]
        lines += _changes(one, shown, width, chosen, drawn) if shown else []
        for number, pair in enumerate(one.pairs):
            lines += [] if number else ["", *_wrapped(f"two are enough ({GREEDY}):", width, chosen)]
            lines += _wrapped(f"- {_pair(pair, one)}", width, chosen)
    text = "\n".join(line.rstrip() for line in lines)
    return text if drawn else text.translate(PLAIN)


def show_entries(several: Sequence[Entry], *, width: int = 80, encoding: str | None = None) -> str:
    """A line for each of several documents of one query."""
    chosen = find_encoding(encoding)
    width = max(check_whole("width", width, least=1), NARROWEST)
    if not several:
        return "every document of the query is in the top k"
    first = several[0]
    head = f"query {first.query}: to enter the top {first.k}, above {told(first.last)}"
    lines = _wrapped(head, width, chosen)
    for one in several:
        lines += _wrapped(f"{told(one.document)}: {_smallest(one)}", width, chosen)
    if any(one.pairs for one in several):
        lines += _wrapped(GREEDY, width, chosen)
    return "\n".join(lines)


def _wrapped(text: str, width: int, encoding: str) -> list[str]:
    return wrap(clean(text, encoding), width, "   ")


def _head(one: Entry) -> str:
    if one.is_inside:
        return f"query {one.query}: {told(one.document)} is in the top {one.k} as it is"
    return (
        f"query {one.query}: to enter the top {one.k}, {told(one.document)} has to score above "
        f"{told(one.last)}"
    )


def _verdict(one: Entry) -> str:
    if not one.features:
        return "the trees look at no feature that may change"
    of = f"of {one.features} that trees look at and that may change"
    if one.changes:
        return f"one feature is enough: {len(one.changes)} {of}"
    return f"no feature is enough by itself, {of}; how far the best go:"


def _smallest(one: Entry) -> str:
    """The smallest change that is known."""
    if one.is_inside:
        return f"in the top {one.k} as it is"
    if one.changes:
        more = len(one.changes) - 1
        others = f"; or one of {more} other features" if more > 1 else ""
        others = "; or one other feature" if more == 1 else others
        return f"{_words(one.changes[0])}{others}"
    if one.pairs:
        return f"{_words(one.pairs[0][0])} and {_words(one.pairs[0][1])}"
    if not one.short:
        return "no feature may change"
    best = one.short[0]
    return (
        f"no feature and no pair that was tried; {best.feature} goes {100 * one.reach(best):.0f} % "
        "of the way"
    )


def _words(change: Change) -> str:
    return f"{change.feature} {change.words} (now {show_value(change.value, 'utf-8')})"


def _pair(pair: tuple[Change, Change], one: Entry) -> str:
    kind = number_format([pair[0].score, one.last.score])
    return f"{_words(pair[0])} and {_words(pair[1])}: score {pair[0].score:{kind}}"


def _changes(
    one: Entry, shown: Sequence[Change], width: int, encoding: str, drawn: bool
) -> list[str]:
    kind = number_format(change.score for change in shown)
    most = min(MOST_WORDS, width // 2)
    columns = [
        TextColumn("feature", [clean(c.feature, encoding) for c in shown], "<", width // 3),
        TextColumn("now", [show_value(c.value, encoding) for c in shown], ">", MOST_VALUE),
        TextColumn("to", [clean(c.words, encoding) for c in shown], "<", most),
        TextColumn("passes", ["-" if c.passed is None else str(c.passed) for c in shown]),
        TextColumn("score", [f"{c.score:{kind}}" for c in shown]),
    ]
    for header in ("score", "passes", "now"):  # what a narrow terminal can do without
        if sum(column.wide + len(GAP) for column in columns) > width:
            columns = [column for column in columns if column.header != header]
    lines = [GAP.join(column.line(at) for column in columns) for at in (None, *range(len(shown)))]
    room = width - len(GAP) - max(map(len, lines))
    if one.changes or room < LEAST_BAR // 2:
        return lines
    bars = [bar(min(max(one.reach(c), 0.0), 1.0), room, drawn=drawn)[room + 1 :] for c in shown]
    lines[1:] = [a + GAP + b for a, b in zip(lines[1:], bars, strict=True)]
    return lines
