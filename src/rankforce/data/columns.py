"""Columns beside the labels: what each means, whether rows or queries have it, what it may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.frames import to_vector

# Twice, of a row and of its query, with room for forces: single precision ends at 3e38.
LARGEST_WEIGHT = 1e15
LARGEST = float(np.finfo(np.float64).max)


class Column(NamedTuple):
    """Numbers that rows, or queries, may have."""

    what: str
    expected: str  # the sentence on values that are none
    low: float = -LARGEST
    high: float = LARGEST
    above: str = ""  # the sentence on those that are too high, if it is another one
    is_whole: bool = False
    has_gaps: bool = False  # whether NaN is a value
    is_of_queries: bool = False


_WEIGHT = Column(
    *("how much a document counts", "weights are numbers from 0 up", 0, LARGEST_WEIGHT),
    f"weights go up to {LARGEST_WEIGHT:g}, so that single precision holds the forces",
)
# What `RankingData` takes beside labels, under these names, and keeps with its rows or queries.
COLUMNS = {
    "weight": _WEIGHT,
    "query_weight": _WEIGHT._replace(what="how much a query counts", is_of_queries=True),
    "init_score": Column(
        "score of another model, where training starts",
        "base scores must be one finite number for each row",
    ),
    "positions": Column(
        "rank at which a document was shown; NaN: it was not",
        "positions are integers from 1 up, or NaN",
        low=1,
        is_whole=True,
        has_gaps=True,
    ),
    "propensities": Column(
        "chance that a document was looked at; NaN: it is not known",
        "propensities are above 0 and at most 1, or NaN",
        low=np.nextafter(0, 1),
        high=1,
        has_gaps=True,
    ),
    # The one column that has several, by name.
    "sources": Column("further labels; NaN: not known", "finite numbers or NaN", has_gaps=True),
}


def check_columns(given: Mapping[str, Any], rows: int, queries: int) -> dict[str, Any]:
    """All columns of the table as float64; None for one that is not given, {} for no sources.

    >>> check_columns({"positions": [2, 1]}, rows=2, queries=1)["positions"]
    array([2., 1.])
    >>> check_columns({"positions": [0, 1]}, rows=2, queries=1)
    Traceback (most recent call last):
    rankforce.RankforceError: positions[0] is 0.0: positions are integers from 1 up, or NaN
    """
    for name in given:
        if name not in COLUMNS:
            choices = ", ".join(COLUMNS)
            raise RankforceError(f"unknown column {name!r} beside the labels: one of {choices}")

    def check(column: Column, values: Any, name: str) -> Floats:
        if column is COLUMNS["sources"]:
            return check_labels(f"source {name!r}", values, rows, missing=True)
        return _check(column, values, name, queries if column.is_of_queries else rows)

    return dict.fromkeys(COLUMNS) | {"sources": {}} | _each(given, check)


def check_labels(name: str, values: Any, rows: int, *, missing: bool = False) -> Floats:
    """One finite label for each row; `missing` allows for NaN."""
    vector = to_vector(values, name)
    if vector.shape != (rows,):
        raise RankforceError(f"{name} have shape {vector.shape}, but there are {rows} rows")
    bad = np.flatnonzero(np.isinf(vector) if missing else ~np.isfinite(vector))
    if bad.size:
        rest = "finite numbers or NaN" if missing else "finite numbers"
        if name == "labels" and np.isnan(vector[bad[0]]):
            rest += " (labels with gaps can be a source)"
        raise RankforceError(f"{name}: row {bad[0]} is {vector[bad[0]]}, expected {rest}")
    return vector


def _check(column: Column, values: Any, name: str, count: int) -> Floats:
    vector = to_vector(values, name)
    if vector.shape != (count,):
        wanted = f"expected one number for each of {count}: {column.expected}"
        raise RankforceError(f"{name} has shape {vector.shape}, {wanted}")
    is_right = (vector >= column.low) & (vector <= column.high)
    is_right &= (np.floor(vector) == vector) | (not column.is_whole)
    bad = np.flatnonzero(~(is_right | (column.has_gaps & np.isnan(vector))))
    if bad.size:
        value = vector[bad[0]]
        is_above = column.high < value < np.inf
        sentence = column.above if is_above and column.above else column.expected
        raise RankforceError(f"{name}[{bad[0]}] is {value}: {sentence}")
    return vector


def cut_columns(columns: Mapping[str, Any], rows: Any, queries: Any) -> dict[str, Any]:
    """The columns of some rows and queries, without those that are not there."""
    return _each(columns, lambda one, values, _: values[queries if one.is_of_queries else rows])


def _each(
    columns: Mapping[str, Any], function: Callable[[Column, Any, str], Any]
) -> dict[str, Any]:
    """What a function makes of each column that is there, and of each of the sources."""
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if isinstance(values, Mapping):
            found[name] = {key: function(COLUMNS[name], own, key) for key, own in values.items()}
        elif values is not None:
            found[name] = function(COLUMNS[name], values, name)
    return found
