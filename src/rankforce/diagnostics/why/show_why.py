"""Why one document stands above another, as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

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
from rankforce.diagnostics.explain.show import GAP, LEAST_BAR, MOST_NAME, NARROWEST, TextColumn
from rankforce.diagnostics.why.ranked_list import Standing
from rankforce.diagnostics.why.why_record import Why

MOST_VALUE = 12  # columns of a value


def show_why(one: Why, *, width: int = 80, top: int = 20, encoding: str | None = None) -> str:
    """Bars of the features that matter most, those that matter less in one line."""
    check_whole("top", top, least=1)
    width = max(check_whole("width", width, least=1), NARROWEST)
    chosen = find_encoding(encoding)
    drawn = can_draw(chosen)
    lines = wrap(clean(_head(one), chosen), width, "   ")
    lines += ["", *_rows(one, width, top, chosen, drawn)]
    text = "\n".join(line.rstrip() for line in lines)
    return text if drawn else text.translate(PLAIN)


def _head(one: Why) -> str:
    size = f"{abs(one.difference):{number_format([one.difference])}}"
    how = "above" if one.difference >= 0.0 else "below"
    return f"query {one.query}: {told(one.first)} stands {size} {how} {told(one.second)}"


def told(document: Standing) -> str:
    """A document in words.

    >>> told(Standing(3, 0, "d7", 1.5))
    'd7 (rank 3, score 1.500)'
    """
    score = f"{document.score:{number_format([document.score])}}"
    return f"{document.name} (rank {document.rank}, score {score})"


def _rows(one: Why, width: int, top: int, encoding: str, drawn: bool) -> list[str]:
    shown = [gap for gap in one.features if gap.difference][:top]
    left = [gap.difference for gap in one.features if gap.difference][top:]
    names = [clean(gap.feature, encoding) for gap in shown]
    values = [[show_value(v, encoding) for v in (gap.first, gap.second)] for gap in shown]
    amounts = [gap.difference for gap in shown]
    for name, amount in _sums(one, left):
        names.append(name)
        values.append(["", ""])
        amounts.append(amount)
    heads = [fit(clean(d.name, encoding), MOST_VALUE).rstrip() for d in (one.first, one.second)]
    kind = number_format(amounts)
    columns = [
        TextColumn("feature", names, "<", min(MOST_NAME, width // 4)),
        TextColumn(heads[0], [pair[0] for pair in values], ">", MOST_VALUE),
        TextColumn(heads[1], [pair[1] for pair in values], ">", MOST_VALUE),
        TextColumn("difference", [f"{amount:+{kind}}" for amount in amounts]),
    ]
    room = width - sum(column.wide + len(GAP) for column in columns)
    if room < LEAST_BAR:  # values are what a narrow terminal can do without
        del columns[1:3]
        room = width - sum(column.wide + len(GAP) for column in columns)
    return _with_bars(columns, heads, amounts, room, drawn)


def _sums(one: Why, left: Sequence[float]) -> list[tuple[str, float]]:
    """Lines below the features: those that are not shown, what is no feature's, and the sum."""
    found = [(f"{len(left)} other" + ("s" if len(left) > 1 else ""), math.fsum(left))]
    kept = found if left else []
    if one.rest:
        kept.append(("before the model", one.rest))
    return [*kept, ("together", one.difference)]


def _with_bars(
    columns: Sequence[TextColumn],
    heads: Sequence[str],
    amounts: Sequence[float],
    room: int,
    drawn: bool,
) -> list[str]:
    half = max(room - 1, LEAST_BAR - 1) // 2
    scale = max(map(abs, amounts)) or 1.0
    bars = [bar(amount / scale, half, drawn=drawn) for amount in amounts]
    title = f"{fit(heads[1], half, '>')}{'│' if drawn else '|'}{fit(heads[0], half)}"
    cells = [title, *bars]
    places = (None, *range(len(amounts)))
    return [
        GAP.join([*(column.line(at) for column in columns), cell])
        for at, cell in zip(places, cells, strict=True)
    ]


def show_value(value: Any, encoding: str) -> str:
    """A value of a feature in few columns.

    >>> show_value(0.123456, "ascii"), show_value(None, "ascii"), show_value("red", "ascii")
    ('0.1235', 'missing', 'red')
    """
    if value is None:
        return "missing"
    return clean(f"{value:.4g}" if isinstance(value, float) else str(value), encoding)
