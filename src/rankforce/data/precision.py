"""Watches numbers on their way to float32: which columns have values that fall together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.notes import note
from rankforce.common.types import Floats

EXACT = 1 << 24  # integers up to here are float32 numbers
FEW = 100  # one of so many values may be lost, where they are no integers: it is rounding
REMEDY = "subtract a constant from the column, divide it, or make it categorical"


class Precision:
    """Values that float32 may not tell apart, by column.

    >>> watch = Precision()
    >>> watch.see(0, np.array([16777216, 16777217, 3]))
    >>> watch.losses()
    {0: (2, 1)}
    """

    def __init__(self) -> None:
        self._large: dict[int, list[NDArray[Any]]] = {}

    def see(self, column: int, values: NDArray[Any]) -> None:
        """Some values of a column, before they are narrowed."""
        if values.dtype.itemsize < 4 or values.dtype == np.float32 or not values.size:
            return
        # A comparison with NaN is False, and the least integer has no absolute value.
        is_large = (values >= EXACT) | (values <= -EXACT)
        if is_large.any():
            self._large.setdefault(column, []).append(np.unique(values[is_large]))

    def see_rows(self, rows: NDArray[Any]) -> None:
        """Some rows of a matrix."""
        if rows.dtype.itemsize < 4 or rows.dtype == np.float32 or not rows.size:
            return
        is_large = ((rows >= EXACT) | (rows <= -EXACT)).any(axis=0)
        for column in np.flatnonzero(is_large):
            self.see(int(column), rows[:, column])

    def move(self, shift: int) -> None:
        """All columns have moved to the right."""
        self._large = {column + shift: pieces for column, pieces in self._large.items()}

    def add(self, other: Precision) -> None:
        """What another one saw of the same columns."""
        for column, pieces in other._large.items():
            self._large.setdefault(column, []).extend(pieces)

    def losses(self) -> dict[int, tuple[int, int]]:
        """Columns that lose values: how many different ones they had, and have as float32."""
        found = {}
        for column, pieces in self._large.items():
            values = np.unique(np.concatenate(pieces))
            with np.errstate(over="ignore"):
                narrow = np.unique(values.astype(np.float32))
            lost = len(values) - len(narrow)
            is_whole = values.dtype.kind in "iu" or bool((np.floor(values) == values).all())
            if lost and (is_whole or lost * FEW > len(values)):
                found[column] = len(values), len(narrow)
        return found

    def say(self, names: Sequence[str] | None = None, *, place: str = "") -> None:
        """A note on each column that loses values."""
        for column, (before, after) in self.losses().items():
            name = f"column {column}" if names is None else f"column {names[column]!r}"
            note(
                f"{place}{name}: {before:,} different values from {EXACT:,} on become {after:,} in "
                f"float32: {REMEDY}"
            )


def floor_float32(values: Floats) -> NDArray[np.float32]:
    """The largest float32 that is not above each value: x <= value is the same for every float32 x.

    >>> bool(floor_float32(np.array([0.1]))[0] <= 0.1)
    True
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > values, below, rounded)
