"""Preference judgements: pairs of documents of which one should rank above the other."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.queries import QueryIndex, spans
from rankforce.data.schema import some_names

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

PathLike = str | os.PathLike[str]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]

BY_ID, BY_ROW = "qid docid_hi docid_lo [weight]", "row_hi row_lo [weight]"
KINDS = {"ids": BY_ID, "rows": BY_ROW}
COMMENT = re.compile(r"(^|\s)#.*")  # behind a blank: an id such as a.html#top has its own


class Preferences(NamedTuple):
    """Pairs of rows: `hi` should rank above `lo`, as much as `weight` says.

    A pair may stand there several times, and the other way round too.
    """

    hi: Rows
    lo: Rows
    weight: Floats


class _Line(NamedTuple):
    number: int
    words: list[str]


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


def take_preferences(given: Preferences, index: QueryIndex, queries: Rows) -> Preferences:
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


def read_preferences(path: PathLike, data: RankingData, *, by: str | None = None) -> Preferences:
    """Read lines `qid docid_hi docid_lo [weight]`, or `row_hi row_lo [weight]` with rows from 0.

    Blank lines, and what stands behind a word that begins with `#`, are skipped; the file may be
    compressed with gzip or zstd. Without `by` ("ids" or "rows") a line of four words says that the
    file has ids, one of two that it has rows; with three words in every line it has ids if the
    data has document ids. The result is for `data.with_preferences`.

    >>> import pathlib, tempfile
    >>> from rankforce.data.ranking_data import RankingData
    >>> data = RankingData([[1], [2], [3]], [0, 0, 0], qid=[7, 7, 7], doc_ids=["a", "b", "c"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "judged.txt"
    >>> _ = path.write_text("# side by side\\n7 c a\\n7 b a 0.5\\n")
    >>> read_preferences(path, data)
    Preferences(hi=array([2, 1]), lo=array([0, 0]), weight=array([1. , 0.5]))
    """
    if by not in (None, *KINDS):
        raise RankforceError(f"by is {by!r}: choose 'ids', 'rows' or None (find out from the file)")
    lines = _lines(path)
    kind = by or _kind(path, lines, data)
    rest = 3 if kind == "ids" else 2  # words before the weight
    for line in lines:
        if not rest <= len(line.words) <= rest + 1:
            raise RankforceError(
                f"{path}, line {line.number}: {len(line.words)} words, expected '{KINDS[kind]}'"
            )
    look_up = _Documents(path, data).row if kind == "ids" else _look_up_row(path, data.rows)
    pairs = [[look_up(line, column) for line in lines] for column in (rest - 2, rest - 1)]
    weight = [_number(path, line, rest) for line in lines]
    return check_preferences(
        (*pairs, weight), data.index, data.query_ids, place=lambda n: _at(path, lines[n])
    )


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


def _rows(given: NDArray[Any], rows: int, place: Callable[[int], str]) -> Rows:
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


def _lines(path: PathLike) -> list[_Line]:
    """The words of each line that has some."""
    from rankforce.formats.lines import read_lines
    from rankforce.formats.open import local_file

    with local_file(path) as place, contextlib.closing(read_lines(place)) as texts:
        split = [_Line(number, COMMENT.sub("", text).split()) for number, text in texts]
    lines = [line for line in split if line.words]
    if not lines:
        raise RankforceError(
            f"{path}: holds no preferences: expected lines '{BY_ID}' or '{BY_ROW}'"
        )
    return lines


def _kind(path: PathLike, lines: list[_Line], data: RankingData) -> str:
    """Whether the file has ids or rows, as the number of words tells."""
    words = {len(line.words): line for line in reversed(lines)}
    if 2 in words and 4 in words:
        raise RankforceError(
            f"{path}: line {words[2].number} has two words and line {words[4].number} has four, "
            f"expected '{BY_ROW}' or '{BY_ID}' in all"
        )
    if 2 in words or 4 in words:
        return "rows" if 2 in words else "ids"
    return "rows" if data.doc_ids is None else "ids"


def _at(path: PathLike, line: _Line) -> str:
    return f"{path}, line {line.number}"


def _look_up_row(path: PathLike, rows: int) -> Callable[[_Line, int], int]:
    def look_up(line: _Line, column: int) -> int:
        word = line.words[column]
        # Python alone takes 1_000, and digits of other scripts.
        if not (word.isascii() and word.isdigit() and float(word) < rows):
            raise RankforceError(
                f"{_at(path, line)}: there is no row {word!r}, "
                f"expected an integer below {rows} (or ids: '{BY_ID}')"
            )
        return int(word)

    return look_up


class _Documents:
    """Finds rows by query and document; the documents of a query are listed when first needed."""

    def __init__(self, path: PathLike, data: RankingData) -> None:
        if data.doc_ids is None:
            raise RankforceError(
                f"{path}: names documents by id, but the data has no ids: expected '{BY_ROW}'"
            )
        self._path, self._index, self._ids = path, data.index, data.doc_ids
        self._queries = {str(name): number for number, name in enumerate(data.query_ids.tolist())}
        self._found: dict[str, dict[str, list[int]]] = {}

    def row(self, line: _Line, column: int) -> int:
        """The row of the document that stands in a column of a line."""
        query, name = line.words[0], line.words[column]
        if query not in self._found:
            self._found[query] = self._list(line, query)
        rows = self._found[query].get(name, [])
        if not rows:
            has = some_names(self._found[query])
            raise RankforceError(
                f"{_at(self._path, line)}: no document {name!r} in query {query!r}: it has {has}"
            )
        if len(rows) > 1:
            raise RankforceError(
                f"{_at(self._path, line)}: document {name!r} stands twice in query {query!r}, in "
                f"rows {rows[0]} and {rows[1]}: expected ids that differ, or '{BY_ROW}'"
            )
        return rows[0]

    def _list(self, line: _Line, query: str) -> dict[str, list[int]]:
        if query not in self._queries:
            has = some_names(self._queries)
            hint = " (by='rows' takes three words for rows)" if len(line.words) == 3 else ""
            raise RankforceError(
                f"{_at(self._path, line)}: no query {query!r} in the data: it has {has}{hint}"
            )
        number, index = self._queries[query], self._index
        found: dict[str, list[int]] = {}
        for row in index.rows_of(number).tolist():
            found.setdefault(str(self._ids[row]), []).append(row)
        return found


def _number(path: PathLike, line: _Line, column: int) -> float:
    """The weight, 1 where none is written."""
    if column == len(line.words):
        return 1.0
    word = line.words[column]
    try:
        number = float(word) if "_" not in word and word.isascii() else math.nan
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise RankforceError(
            f"{_at(path, line)}: weight {word!r}, expected a finite number from 0 up"
        )
    return number
