"""Which rows belong to which query, by sizes or ids; the ranked list of each, folds of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_whole
from rankforce.common.draws import GOLDEN, hash_keys
from rankforce.common.errors import RankforceError
from rankforce.data.codes import is_missing


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

    An id is what it reads as, whatever its type: 1, 1.0 and "1" are one query, with one key.

    >>> index_queries(5, group=[2, 3]).pointer
    array([0, 2, 5])
    >>> index_queries(4, qid=["b", "a", "b", "a"]).row
    array([0, 2, 1, 3])
    >>> [index_queries(1, qid=[one]).key.tolist() for one in (7, 7.0, "7")]
    [[7], [7], [7]]
    """
    if group is not None and qid is not None:
        raise RankforceError("give group= (sizes) or qid= (one id per row), not both")
    if qid is not None:
        return _index_ids(rows, qid)
    return index_sizes(rows, np.asarray([rows] if group is None else group))


def list_parts(index: QueryIndex, documents: int) -> Iterator[tuple[int, int]]:
    """First and last query of parts with about so many documents each, none of them cut.

    >>> list(list_parts(index_queries(7, group=[2, 4, 1]), 3))
    [(0, 1), (1, 2), (2, 3)]
    """
    first = 0
    while first < len(index.sizes):
        until = index.pointer[first] + documents
        last = int(np.searchsorted(index.pointer, until, side="right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def list_sizes(index: QueryIndex, documents: int) -> Iterator[int]:
    """How many rows the `list_parts` have.

    >>> list(list_sizes(index_queries(7, group=[2, 4, 1]), 3))
    [2, 4, 1]
    """
    return (int(index.pointer[b] - index.pointer[a]) for a, b in list_parts(index, documents))


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


def row_keys(index: QueryIndex, rows: int) -> NDArray[np.uint64]:
    """A number for each row from its query's key and its place within the query.

    What is random about a row depends on these, so not on where its query stands in the file.
    """
    sizes = index.sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    local = (np.arange(len(query)) - index.pointer[query]).astype(np.uint64)
    with np.errstate(over="ignore"):
        by_place = hash_keys(hash_keys(index.key)[query] + local * GOLDEN)
    keys = np.empty(rows, np.uint64)
    keys[index.row if len(index.row) else slice(None)] = by_place
    return keys


class Ranking(NamedTuple):
    """Documents by query and rank: four arrays of the same length."""

    query: NDArray[Any]  # id of the query
    rank: NDArray[np.int64]  # from 1
    row: NDArray[np.int64]  # of the document in the data
    score: NDArray[np.float64]


def rank_documents(
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    index: QueryIndex | None = None,
    top: int | None = None,
) -> Ranking:
    """The best `top` documents of each query (all of them by default); ties go by row.

    >>> rank_documents([0.1, 0.9, 0.5, 0.7], qid=["a", "a", "b", "a"], top=2).row
    array([1, 3, 2])
    """
    values = np.asarray(scores, dtype=np.float64)
    if top is not None:
        check_whole("top", top, least=1)
    if index is None:
        index = index_queries(len(values), qid=qid, group=group)
    number = np.repeat(np.arange(len(index.sizes)), index.sizes)
    row = index.row if len(index.row) else np.arange(len(values))
    order = np.lexsort((row, -values[row], number))
    rank = np.arange(len(values)) - index.pointer[number] + 1
    kept = rank <= (top or len(values))
    chosen = row[order][kept]
    query = number[kept] if qid is None else np.asarray(qid)[chosen]
    return Ranking(query, rank[kept], chosen, values[chosen])


def best_rows(scores: NDArray[np.float64], top: int | None) -> NDArray[np.int64]:
    """Rows of one query by score, best first, `top` of them (all without it); ties go by row.

    >>> best_rows(np.array([1.0, 3.0, 3.0]), 2).tolist()
    [1, 2]
    """
    some = np.arange(len(scores))
    if top is not None and top < len(scores):
        least = np.partition(scores, len(scores) - top)[len(scores) - top]
        some = np.flatnonzero(scores >= least)  # a few more than `top` where scores are equal
    return np.asarray(some[np.argsort(-scores[some], kind="stable")][:top], np.int64)


def query_folds(queries: int, folds: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """The numbers of the queries of each fold, shuffled by `seed`; sizes differ by one at most.

    >>> [fold.tolist() for fold in query_folds(5, 2, seed=1)]
    [[0, 1, 4], [2, 3]]
    """
    if queries < check_whole("folds", folds, least=2):
        raise RankforceError(
            f"{folds} folds need at least {folds} queries, but there are {queries}"
        )
    order = np.random.default_rng(seed).permutation(queries)
    return [np.sort(part).astype(np.int64) for part in np.array_split(order, folds)]


def index_sizes(rows: int, sizes: NDArray[Any], *, name: str = "group") -> QueryIndex:
    """Queries one behind the other, by their sizes; `name` is what a message calls these.

    >>> index_sizes(5, np.array([2, 3])).pointer.tolist()
    [0, 2, 5]
    """
    if sizes.ndim != 1 or (sizes.size and sizes.dtype.kind not in "iuf"):
        raise RankforceError(f"{name} must be a list of query sizes, got shape {sizes.shape}")
    bad = np.flatnonzero(~np.isfinite(sizes) | (np.floor(sizes) != sizes) | (sizes < 0))
    if bad.size:
        where = int(bad[0])
        raise RankforceError(f"{name}[{where}] is {sizes[where]}: sizes are integers from 0 up")
    whole = sizes.astype(np.int64)
    if whole.sum() != rows:
        what = "sizes" if name == "sizes" else f"{name} sizes"
        raise RankforceError(f"{what} add up to {whole.sum()}, but there are {rows} rows")
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(whole)])
    return QueryIndex(pointer, np.empty(0, np.int64), np.arange(len(whole), dtype=np.uint64))


def _index_ids(rows: int, qid: Any) -> QueryIndex:
    try:
        given = np.asarray(qid)
    except ValueError:  # lists of different lengths
        raise RankforceError(
            "qid must hold one id for each row: an id is a number or a text"
        ) from None
    if given.shape != (rows,):
        raise RankforceError(
            f"qid must hold one id for each of the {rows} rows, got shape {given.shape}"
        )
    if rows == 0:
        return index_sizes(0, np.empty(0, np.int64))
    # NumPy makes a text of everything in a list that has a text in it, of NaN and None too.
    is_list = given.dtype.kind in "US" and not hasattr(qid, "dtype")
    ids = np.array(qid, object) if is_list else given
    plain = _plain_ids(ids)
    found = None if plain is None else _index_runs(plain)
    if found is not None:
        return found
    unique, first, number = _distinct(ids, plain)
    # Queries in order of first appearance: rows that are grouped already stay where they are.
    rank = np.empty(len(unique), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(unique))
    query = rank[number.reshape(-1)]
    row = np.argsort(query, kind="stable")
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.bincount(query))])
    key = np.empty(len(unique), np.uint64)
    key[rank] = _keys(unique, first)
    is_grouped = bool(np.all(query[1:] >= query[:-1]))
    return QueryIndex(pointer, np.empty(0, np.int64) if is_grouped else row, key)


def _index_runs(ids: NDArray[Any]) -> QueryIndex | None:
    """Queries that stand one behind the other, without sorting rows; None if some do not."""
    starts = np.concatenate([[0], np.flatnonzero(ids[1:] != ids[:-1]) + 1])
    heads = ids[starts]
    if len(np.unique(heads)) < len(heads):
        return None
    pointer = np.append(starts, len(ids)).astype(np.int64)
    return QueryIndex(pointer, np.empty(0, np.int64), _keys(heads, starts))


def _plain_ids(ids: NDArray[Any]) -> NDArray[Any] | None:
    """Ids as integers or texts, if that is what they are."""
    kind = ids.dtype.kind
    if kind == "f":
        bad = np.flatnonzero(~np.isfinite(ids))
        if bad.size:
            raise RankforceError(_no_id(bad[0], ids[bad[0]]))
        if ((np.floor(ids) == ids) & (np.abs(ids) < 2.0**63)).all():
            return ids.astype(np.int64)
    if kind in "iub":
        return ids.astype(np.int64)  # beyond 2^63 the same 64 bits
    return ids if kind == "U" else None


def _distinct(
    ids: NDArray[Any], plain: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Ids that differ, in any order, the first row of each, and which of them each row has."""
    if plain is not None:
        return np.unique(plain, return_index=True, return_inverse=True)
    # Not as one array of texts, which are all as long as the longest.
    texts: dict[str, int] = {}
    numbers: dict[Any, int] = {}  # most rows have the id of another row
    first, number = list[int](), np.empty(len(ids), np.int64)
    for row, one in enumerate(ids.tolist()):
        try:
            known = numbers.get(one)
        except TypeError:
            raise RankforceError(
                f"qid of row {row} is {one!r}: an id is a number or a text"
            ) from None
        if known is None:
            known = numbers[one] = texts.setdefault(_text_of(one, row), len(texts))
            first += [row] if known == len(first) else []
        number[row] = known
    return np.array([*texts]), np.array(first, np.int64), number


def _text_of(one: Any, row: int) -> str:
    """What an id reads as: integers as their digits."""
    is_float = isinstance(one, (float, np.floating))
    if is_missing(one) or (is_float and not np.isfinite(one)):
        raise RankforceError(_no_id(row, one))
    if isinstance(one, bytes):
        return one.decode("utf-8", "backslashreplace")
    if is_float and not float(one).is_integer():
        return repr(float(one))
    is_number = is_float or isinstance(one, (int, np.integer, np.bool_))
    return str(int(one) if is_number else one)


def _no_id(row: int, one: Any) -> str:
    return f"qid of row {row} is {one}: every row needs a query id"


def _keys(ids: NDArray[Any], first: NDArray[np.intp]) -> NDArray[np.uint64]:
    """Of an integer, written in any way, itself; of other texts 64 bits of their hash."""
    if ids.dtype.kind == "i":
        return ids.view(np.uint64)
    found = np.empty(len(ids), np.uint64)
    for number, (text, row) in enumerate(zip(ids.tolist(), first, strict=True)):
        digits = text[1:] if text.startswith("-") else text
        is_whole = len(digits) <= 20 and digits.isascii() and digits.isdecimal()
        if is_whole and str(int(text)) == text and -(2**63) <= int(text) < 2**64:
            found[number] = int(text) % 2**64
            continue
        try:
            digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        except UnicodeEncodeError:
            message = "half of a character (a surrogate) is no text"
            raise RankforceError(f"qid of row {row} is {text!r}: {message}") from None
        found[number] = int.from_bytes(digest, "little")
    return found
