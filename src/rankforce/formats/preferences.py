"""Reads preference judgements: lines that name two documents, the better one first."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Callable
from typing import NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.data.preferences import Preferences, check_preferences
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import some_names
from rankforce.formats.lines import read_lines
from rankforce.formats.streams import local_file

PathLike = str | os.PathLike[str]

BY_ID, BY_ROW = "qid docid_hi docid_lo [weight]", "row_hi row_lo [weight]"
KINDS = {"ids": BY_ID, "rows": BY_ROW}
COMMENT = re.compile(r"(^|\s)#.*")  # behind a blank: an id such as a.html#top has its own


class _Line(NamedTuple):
    number: int
    words: list[str]


def read_preferences(path: PathLike, data: RankingData, *, by: str | None = None) -> Preferences:
    """Read lines `qid docid_hi docid_lo [weight]`, or `row_hi row_lo [weight]` with rows from 0.

    Blank lines, and what stands behind a word that begins with `#`, are skipped; the file may be
    compressed with gzip or zstd. Without `by` ("ids" or "rows") a line of four words says that the
    file has ids, one of two that it has rows; with three words in every line it has ids if the
    data has document ids. The result is for `data.with_preferences`.

    >>> import pathlib, tempfile
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


def _lines(path: PathLike) -> list[_Line]:
    """The words of each line that has some."""
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
