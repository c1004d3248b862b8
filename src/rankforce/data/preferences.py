"""Preference judgements: pairs of documents of which one should rank above the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, Ints
from rankforce.data.queries import QueryIndex, spans


class Preferences(NamedTuple):
    """Pairs of rows: `hi` should rank above `lo`, as much as `weight` says.

    A pair may stand there several times, and the other way round too.
    """

    hi: Ints
    lo: Ints
    weight: Floats


def check_preferences(
    given: Any,
    index: QueryIndex,
    ids: NDArray[Any] | None = None,
    *,
    place: Callable[[int], str] = "preferences[{}]".format,
) -> Preferences:
    """Pairs in any form as `Preferences` of their own; a pair that cannot be is named.

    A tuple is (hi, lo) or (hi, lo, weight), all else a table of pairs with two or three columns.
    `ids` are those of the queries, if they have some, and `place` is what a message calls a pair.

    >>> from rankforce.data.queries import index_queries
    >>> index = index_queries(4, group=[3, 1])
    >>> check_preferences([[2, 0], [1, 2]], index).hi
    array([2, 1])
    >>> check_preferences(([2], [3]), index)
    Traceback (most recent call last):
    rankforce.RankforceError: preferences[0]: row 2 is of query 0 and row 3 of query 1, ...
    """
    hi, lo, weight = _columns(given)
    of_row = index.of_rows()
    rows = len(of_row)
    found = Preferences(_rows(hi, rows, place), _rows(lo, rows, place), _weights(weight, place))
    same = np.flatnonzero(found.hi == found.lo)
    if same.size:
        row = found.hi[same[0]]
        raise RankforceError(f"{place(same[0])}: row {row} is on both sides, expected two rows")
    apart = np.flatnonzero(of_row[found.hi] != of_row[found.lo])
    if apart.size:
        first, second = (side[apart[0]] for side in found[:2])
        names = list(range(len(index.sizes))) if ids is None else ids.tolist()
        here, there = names[of_row[first]], names[of_row[second]]
        what = f"row {first} is of query {here!r} and row {second} of query {there!r}"
        raise RankforceError(f"{place(apart[0])}: {what}, expected one query")
    return found


def take_preferences(given: Preferences, index: QueryIndex, queries: Ints) -> Preferences:
    """The pairs of some queries, with the rows of data that has these queries alone, in order.

    >>> from rankforce.data.queries import index_queries
    >>> pairs = Preferences(np.array([1, 2]), np.array([0, 4]), np.ones(2))
    >>> take_preferences(pairs, index_queries(5, group=[2, 3]), np.array([1]))
    Preferences(hi=array([0]), lo=array([2]), weight=array([1.]))
    """
    query = index.of_rows()[given.hi]
    order = np.argsort(query, kind="stable")
    begin, end = (np.searchsorted(query[order], queries, side) for side in ("left", "right"))
    kept = order[spans(begin, end)]
    sizes = index.sizes[queries]
    moved = np.repeat(np.cumsum(sizes) - sizes - index.pointer[queries], end - begin)
    row = index.place_of_rows()
    return Preferences(row[given.hi[kept]] + moved, row[given.lo[kept]] + moved, given.weight[kept])


def _columns(given: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """hi, lo and weight, whatever is in them."""
    if not isinstance(given, tuple):
        table = _array(given)
        if table.size == 0 and table.ndim == 1:
            table = table.reshape(0, 2)
        if table.ndim != 2 or table.shape[1] not in (2, 3):
            raise RankforceError(
                f"preferences has shape {table.shape}: expected pairs with two or three columns, "
                "or a tuple (hi, lo) or (hi, lo, weight)"
            )
        given = tuple(table.T)
    if len(given) not in (2, 3):
        raise RankforceError(
            f"preferences is a tuple of {len(given)}: expected (hi, lo) or (hi, lo, weight)"
        )
    columns = [_array(column) for column in given]
    if len(columns) == 2:
        columns.append(np.ones(columns[0].shape))
    shapes = [column.shape for column in columns]
    if any(len(shape) != 1 or shape != shapes[0] for shape in shapes):
        shown = ", ".join(map(str, shapes))
        raise RankforceError(
            f"preferences: hi, lo, weight have shapes {shown}: expected one length"
        )
    return columns[0], columns[1], columns[2]


def _array(given: Any) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError:
        raise RankforceError(
            "preferences has lines of different lengths: expected a table"
        ) from None


def _rows(given: NDArray[Any], rows: int, place: Callable[[int], str]) -> Ints:
    if given.size == 0:
        return np.empty(0, np.int64)
    if given.dtype.kind not in "iuf":
        raise RankforceError(f"{place(0)}: {given[:1].tolist()[0]!r} is no row, expected a number")
    bad = np.flatnonzero(~((given >= 0) & (given < rows) & (given == np.floor(given))))
    if bad.size:
        value = given[bad[:1]].tolist()[0]
        raise RankforceError(
            f"{place(bad[0])}: there is no row {value}, expected an integer below {rows}"
        )
    return given.astype(np.int64)


def _weights(given: NDArray[Any], place: Callable[[int], str]) -> Floats:
    if given.size and given.dtype.kind not in "biuf":
        raise RankforceError(f"{place(0)}: weight {given[:1].tolist()[0]!r}, expected a number")
    weight = given.astype(np.float64)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        raise RankforceError(
            f"{place(bad[0])}: weight {weight[bad[0]]}, expected a finite number from 0 up"
        )
    return weight
