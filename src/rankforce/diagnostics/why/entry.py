"""What would have to change for a document to enter the top k."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any, NamedTuple

from rankforce.common.types import plain
from rankforce.diagnostics.why.ranked_list import Standing

NEXT_TO_ZERO = 1e-34


class Change(NamedTuple):
    """One feature of a document with another value: the nearest that suffices, or the best."""

    feature: str
    value: Any  # as it is; None where it is missing
    to: Any  # None: if it were missing
    above: float | None  # around `to`, values above this
    upto: float | None  # and up to this do as well; None: without end
    also: list[Any]  # other categories that suffice, None among them if missing does
    # Documents of the list with values in between; None: no numbers, or all have the same one.
    passed: int | None
    share: float  # by how much it changes, of the feature's range; 1 where it is no number
    score: float  # with the change
    suffices: bool

    @property
    def size(self) -> tuple[float, float]:
        """How large it is, for comparisons: documents passed, then the share of the range."""
        return math.inf if self.passed is None else self.passed, self.share

    @property
    def words(self) -> str:
        """The new value in words: where it goes up, what it must be above.

        >>> Change("age", 3.0, 5.1, 5.0, 7.5, [], 2, 0.1, 1.0, True).words
        'above 5, up to 7.5'
        >>> Change("age", 9.0, 7.5, None, 7.5, [None], 1, 0.1, 1.0, True).words
        'at most 7.5, or missing'
        """
        low = None if self.above is None else _lower(self.above, self.upto)
        high = None if self.upto is None else _upper(self.upto, self.above)
        if (low, high) == ("from 0", "at most 0"):
            first = "0"
        elif low is None or high is None:
            first = low or high or _text(self.to)
        elif isinstance(self.value, float) and self.value > self.to:
            first = f"{high}, {low}"
        else:
            first = f"{low}, {high.replace('at most', 'up to')}"
        return ", or ".join([first, *map(_text, self.also)])


# LightGBM sets zeros apart by thresholds next to 0, on either side of it.


def _lower(edge: float, other: float | None) -> str:
    if abs(edge) < NEXT_TO_ZERO:
        return "above 0" if edge > 0.0 else "from 0"
    return f"above {_inside(edge, ROUND_CEILING, other)}"


def _upper(edge: float, other: float | None) -> str:
    if abs(edge) < NEXT_TO_ZERO:
        return "at most 0" if edge > 0.0 else "below 0"
    return f"at most {_inside(edge, ROUND_FLOOR, other)}"


def _inside(edge: float, rounding: str, other: float | None) -> str:
    """An edge in few digits, rounded to the side where values suffice.

    >>> _inside(0.0041152486, ROUND_CEILING, None), _inside(1.23456, ROUND_FLOOR, 1.23455)
    ('0.0041153', '1.23456')
    """
    short = float(Context(prec=5, rounding=rounding).create_decimal_from_float(edge))
    is_inside = other is None or (short < other) == (edge < other)
    return f"{short if is_inside and short != other else edge:.9g}"


def _text(value: Any) -> str:
    if value is None:
        return "missing"
    return f"{value:g}" if isinstance(value, float) else str(value)


class Entry(NamedTuple):
    """What would bring a document into the top k. Made by :func:`rankforce.enter`."""

    query: Any  # its id
    document: Standing
    k: int
    last: Standing  # of the top k: the document has to score above it
    features: int  # that trees look at and that may change
    changes: list[Change]  # of one feature, that suffice: the smallest first
    short: list[Change]  # of each other feature the best: the one that goes farthest first
    pairs: list[tuple[Change, Change]]  # of two features, where one is not enough

    @property
    def is_inside(self) -> bool:
        """Whether it is in the top k as it is."""
        return self.document.rank <= self.k

    def reach(self, change: Change) -> float:
        """How much of the way to the last of the top k a change goes: 1 and more suffices."""
        way = self.last.score - self.document.score
        return (change.score - self.document.score) / way if way else float(change.suffices)

    def table(self, width: int = 80, *, top: int = 10, encoding: str | None = None) -> str:
        """The changes that suffice, or how far the best ones go, and pairs, as text."""
        from rankforce.diagnostics.why.show_entries import show_entry

        return show_entry(self, width=width, top=top, encoding=encoding)

    def record(self) -> dict[str, Any]:
        """The same for programs: JSON can hold it."""
        return {
            "query": plain(self.query),
            "document": self.document._asdict(),
            "k": self.k,
            "last": self.last._asdict(),
            "inside": self.is_inside,
            "features": self.features,
            "changes": [_change(one) for one in self.changes],
            "short": [_change(one) for one in self.short],
            "pairs": [[_change(one) for one in pair] for pair in self.pairs],
        }


def _change(one: Change) -> dict[str, Any]:
    own = {"value": plain(one.value), "to": plain(one.to), "also": [plain(v) for v in one.also]}
    return one._asdict() | own | {"words": one.words}
