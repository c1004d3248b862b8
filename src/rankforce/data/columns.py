"""Columns beside the labels: what each means, whether rows or queries have it, what it may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.frames import to_vector

# Twice, of a row and of its query, with room for forces: single precision ends at 3e38.
LARGEST_WEIGHT = 1e15
Rule = tuple[Callable[[Floats], NDArray[np.bool_]], str]  # which values are right, and the sentence


class Column(NamedTuple):
    """Numbers that rows, or queries, may have."""

    what: str
    check: Callable[[str, Any, int], Floats]  # of a name, values and how many there must be
    is_of_queries: bool = False


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


def _check_numbers(name: str, values: Any, count: int, *, rules: Sequence[Rule]) -> Floats:
    """One number for each row or query, as the rules have it."""
    vector = to_vector(values, name)
    if vector.shape != (count,):
        raise RankforceError(
            f"{name} has shape {vector.shape}, expected one number for each of {count}: "
            f"{rules[0][1]}"
        )
    for is_right, sentence in rules:
        bad = np.flatnonzero(~is_right(vector))
        if bad.size:
            raise RankforceError(f"{name}[{bad[0]}] is {vector[bad[0]]}: {sentence}")
    return vector


def _numbers(*rules: Rule) -> Callable[[str, Any, int], Floats]:
    return partial(_check_numbers, rules=rules)


_WEIGHTS = _numbers(
    (lambda v: np.isfinite(v) & (v >= 0), "weights are numbers from 0 up"),
    (
        lambda v: v <= LARGEST_WEIGHT,
        f"weights go up to {LARGEST_WEIGHT:g}, so that single precision holds the forces",
    ),
)
_SCORES = _numbers((np.isfinite, "base scores must be one finite number for each row"))
_RANKS = _numbers(
    (
        lambda v: np.isnan(v) | ((v >= 1) & (v < np.inf) & (np.floor(v) == v)),
        "positions are integers from 1 up, or NaN",
    )
)
_CHANCES = _numbers(
    (lambda v: np.isnan(v) | ((v > 0) & (v <= 1)), "propensities are above 0 and at most 1, or NaN")
)

# What `RankingData` takes beside labels, under these names, and keeps with its rows or queries.
COLUMNS = {
    "weight": Column("how much a document counts", _WEIGHTS),
    "query_weight": Column("how much a query counts", _WEIGHTS, is_of_queries=True),
    "init_score": Column("score of another model, where training starts", _SCORES),
    "positions": Column("rank at which a document was shown; NaN: it was not", _RANKS),
    "propensities": Column("chance that a document was looked at; NaN: unknown", _CHANCES),
    "sources": Column("further labels, by name; NaN: unknown", partial(check_labels, missing=True)),
}


def check_columns(given: Mapping[str, Any], rows: int, queries: int) -> dict[str, Any]:
    """All columns of the table as float64: None for one that is not given, none of `sources`.

    >>> check_columns({"positions": [2, 1]}, rows=2, queries=1)["positions"]
    array([2., 1.])
    >>> check_columns({"positions": [0, 1]}, rows=2, queries=1)
    Traceback (most recent call last):
    rankforce.RankforceError: positions[0] is 0.0: positions are integers from 1 up, or NaN
    """
    unknown = [name for name in given if name not in COLUMNS]
    if unknown:
        choices = ", ".join(COLUMNS)
        raise RankforceError(f"unknown column {unknown[0]!r} beside the labels: one of {choices}")
    count = {False: rows, True: queries}
    found = _each(given, lambda name, column, v: column.check(name, v, count[column.is_of_queries]))
    return dict.fromkeys(COLUMNS) | {"sources": {}} | found


def cut_columns(columns: Mapping[str, Any], rows: Any, queries: Any) -> dict[str, Any]:
    """The columns of some rows and queries, which are there."""
    chosen = {False: rows, True: queries}
    return _each(columns, lambda _, column, values: values[chosen[column.is_of_queries]])


def join_columns(several: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns that rows have, of several sets one below the other; all have the same ones."""
    found: dict[str, Any] = {}
    for name, values in several[0].items():
        own = [columns[name] for columns in several]
        if isinstance(values, Mapping):
            found[name] = {key: np.concatenate([one[key] for one in own]) for key in values}
        elif values is not None and not COLUMNS[name].is_of_queries:
            found[name] = np.concatenate(own)
    return found


def _each(
    columns: Mapping[str, Any], function: Callable[[str, Column, Any], Any]
) -> dict[str, Any]:
    """What a function makes of each column that is there, and of each of the sources."""
    found: dict[str, Any] = {}
    for name, values in columns.items():
        column = COLUMNS[name]
        if isinstance(values, Mapping):
            own = {key: function(f"source {key!r}", column, one) for key, one in values.items()}
            found[name] = own
        elif values is not None:
            found[name] = function(name, column, values)
    return found
