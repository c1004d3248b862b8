"""Which rows belong to which query: `group` sizes or `qid` values, sorted or not."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray


class QueryIndex(NamedTuple):
    """Rows grouped by query; inside a query rows keep the caller's order."""

    pointer: NDArray[np.int64]  # query q has the places pointer[q]..pointer[q+1]-1
    row: NDArray[np.int64]  # row of each place; empty when places are rows already
    key: NDArray[np.uint64]  # identity of each query, for random draws

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of documents of each query."""
        return np.diff(self.pointer)

    def places(self, values: NDArray[Any]) -> NDArray[Any]:
        """Bring one value per row into the order of places."""
        return values[self.row] if len(self.row) else values

    def rows_of(self, queries: ArrayLike) -> NDArray[np.int64]:
        """Rows of one or several queries, by their numbers, in the order of places.

        >>> index_queries(4, qid=["b", "a", "b", "a"]).rows_of(1).tolist()
        [1, 3]
        """
        chosen = np.atleast_1d(np.asarray(queries, np.int64))
        places = spans(self.pointer[chosen], self.pointer[chosen + 1])
        return self.row[places] if len(self.row) else places

    def of_rows(self) -> NDArray[np.int64]:
        """Number of the query of each row."""
        return self._by_row(np.repeat(np.arange(len(self.sizes)), self.sizes))

    def place_of_rows(self) -> NDArray[np.int64]:
        """Place of each row: its number where queries stand one behind the other."""
        return self._by_row(np.arange(self.pointer[-1]))

    def number_of_places(self) -> NDArray[np.int64]:
        """Number of the row of each place within its query, in the caller's order.

        >>> index_queries(4, qid=["b", "a", "b", "a"]).number_of_places().tolist()
        [0, 1, 0, 1]
        """
        query = np.repeat(np.arange(len(self.sizes)), self.sizes)
        local = np.arange(len(query)) - self.pointer[query]
        if not len(self.row):
            return local
        number = np.empty_like(local)
        number[np.lexsort((self.row, query))] = local
        return number

    def _by_row(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        if not len(self.row):
            return values
        by_row = np.empty_like(values)
        by_row[self.row] = values
        return by_row


def index_queries(
    rows: int, *, group: ArrayLike | None = None, qid: Sequence[Any] | ArrayLike | None = None
) -> QueryIndex:
    """Index `rows` rows by query sizes or by query ids; neither means one query.

    >>> index_queries(5, group=[2, 3]).pointer
    array([0, 2, 5])
    >>> index_queries(4, qid=["b", "a", "b", "a"]).row
    array([0, 2, 1, 3])
    """
    if group is not None and qid is not None:
        raise ValueError("give group= (sizes) or qid= (one id per row), not both")
    if qid is not None:
        return _index_ids(rows, np.asarray(qid))
    return _index_sizes(rows, np.asarray([rows] if group is None else group))


def query_ids(index: QueryIndex, qid: Any = None) -> NDArray[Any]:
    """Id of each query: as in `qid`, or its number.

    >>> query_ids(index_queries(3, qid=["b", "a", "b"]), ["b", "a", "b"]).tolist()
    ['b', 'a']
    """
    if qid is None:
        return np.arange(len(index.sizes))
    places = index.pointer[:-1][index.sizes > 0]
    return np.asarray(qid)[index.row[places] if len(index.row) else places]


def spans(begin: NDArray[np.int64], end: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of each span from `begin` to below `end`, one span behind the other.

    >>> spans(np.array([7, 0]), np.array([9, 3])).tolist()
    [7, 8, 0, 1, 2]
    """
    count = end - begin
    first = np.cumsum(count) - count
    return np.asarray(np.arange(count.sum()) + np.repeat(begin - first, count))


def _index_sizes(rows: int, sizes: NDArray[Any]) -> QueryIndex:
    if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iuf"):
        raise ValueError(f"group must be a list of query sizes, got shape {sizes.shape}")
    bad = np.flatnonzero(~np.isfinite(sizes) | (np.floor(sizes) != sizes) | (sizes < 0))
    if bad.size:
        where = int(bad[0])
        raise ValueError(f"group[{where}] is {sizes[where]}: sizes are whole numbers from 0 up")
    whole = sizes.astype(np.int64)
    if whole.sum() != rows:
        raise ValueError(f"group sizes add up to {whole.sum()}, but there are {rows} rows")
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(whole)])
    return QueryIndex(pointer, np.empty(0, np.int64), np.arange(len(whole), dtype=np.uint64))


def _index_ids(rows: int, ids: NDArray[Any]) -> QueryIndex:
    if ids.shape != (rows,):
        raise ValueError(f"qid must hold one id for each of the {rows} rows, got shape {ids.shape}")
    if ids.dtype.kind == "f" and not np.isfinite(ids).all():
        where = int(np.flatnonzero(~np.isfinite(ids))[0])
        raise ValueError(f"qid of row {where} is {ids[where]}: every row needs a query id")
    if rows == 0:
        return _index_sizes(0, np.empty(0, np.int64))
    unique, first, number = np.unique(ids, return_index=True, return_inverse=True)
    # Queries in order of first appearance: rows that are grouped already stay where they are.
    rank = np.empty(len(unique), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(unique))
    query = rank[number.reshape(-1)]
    row = np.argsort(query, kind="stable")
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(query))])
    key = np.empty(len(unique), np.uint64)
    key[rank] = _keys(unique)
    is_grouped = bool(np.all(query[1:] >= query[:-1]))
    return QueryIndex(pointer, np.empty(0, np.int64) if is_grouped else row, key)


def _keys(ids: NDArray[Any]) -> NDArray[np.uint64]:
    if ids.dtype.kind in "iub":
        return ids.astype(np.int64).view(np.uint64)
    return np.array([zlib.crc32(str(i).encode()) for i in ids], dtype=np.uint64)
