"""TREC's files of runs and qrels, and one call that takes a run in any form.

A run is what a system found, `qid Q0 docid rank score tag`; qrels are what people judged,
`qid iteration docid label`. In memory both are plain dictionaries, query -> document -> number,
as pytrec_eval, ranx and ir-measures have them.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Collection, Generator, Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.formats.cells import to_number
from rankforce.formats.lines import read_lines
from rankforce.formats.run_forms import (
    QRELS,
    RUN,
    Kind,
    Qrels,
    Run,
    from_columns,
    is_run_like,
    to_dictionaries,
)
from rankforce.formats.streams import PathLike, local_file, open_output

__all__ = [
    "Qrels",
    "Run",
    "as_qrels",
    "as_run",
    "is_run_like",
    "read_qrels",
    "read_run",
    "write_qrels",
    "write_run",
]

SHOWN = 60  # characters of a line in a message
# What would not come back: blanks end a column, a byte order mark is skipped, and the rest of
# these is no text.
UNWRITABLE = re.compile(r"[\s\0\ufeff\ud800-\udfff]")


class Layout(NamedTuple):
    """What stands in a line; query and document are the first and the third column of both."""

    name: str
    columns: tuple[str, ...]
    number: int  # the column of the score, or of the label
    kind: Kind


RUN_FILE = Layout("run", ("qid", "Q0", "docid", "rank", "score", "tag"), 4, RUN)
QRELS_FILE = Layout("qrels", ("qid", "iteration", "docid", "label"), 3, QRELS)
LOOKS_LIKE = {len(layout.columns): layout.name for layout in (RUN_FILE, QRELS_FILE)}


def read_run(path: PathLike) -> Run:
    """Read lines `qid Q0 docid rank score tag`, plain or compressed with gzip or zstd.

    The score alone orders the documents: the rank is not looked at, as in trec_eval.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "bm25.run"
    >>> _ = path.write_text("0010 Q0 d7 1 12.5 bm25\\n0010 Q0 d2 2 9.25 bm25\\n")
    >>> read_run(path)
    {'0010': {'d7': 12.5, 'd2': 9.25}}
    """
    return _read(path, RUN_FILE)


def read_qrels(path: PathLike) -> Qrels:
    """Read lines `qid iteration docid label`, plain or compressed with gzip or zstd.

    A label below 0 (junk, in some tracks of TREC) is kept as 0, not relevant, as trec_eval counts
    it; only its bpref and infAP take such a document for one that was not judged.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "web.qrels"
    >>> _ = path.write_text("0010 0 d7 2\\n0010 0 d2 -2\\n")
    >>> read_qrels(path)
    {'0010': {'d7': 2.0, 'd2': 0.0}}
    """
    return _read(path, QRELS_FILE)


def write_run(run: Any, path: PathLike, *, tag: str = "rankforce") -> None:
    """Write a run, all that `as_run` takes; `.gz` and `.zst` in the name pack it.

    The best document of a query is first, and of those that tie the one with the highest id, as
    trec_eval orders them. Scores read back to the last bit; but trec_eval keeps them in float32,
    where more of them tie.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.run"
    >>> write_run({"q1": {"a": 0.5, "b": 0.5, "c": 2}}, path, tag="mine")
    >>> print(path.read_text(), end="")
    q1 Q0 c 1 2.0 mine
    q1 Q0 b 2 0.5 mine
    q1 Q0 a 3 0.5 mine
    """
    _write(path, run_texts(as_run(run), place=path, tag=tag))


def run_texts(run: Run, *, place: PathLike, tag: str = "rankforce") -> Iterator[str]:
    """The lines of a file of this run, a query at a time; `place` is for messages."""
    _check_words([tag], f"{place}: the tag")
    return (_run_lines(place, query, run[query], tag) for query in run)


def write_qrels(qrels: Any, path: PathLike) -> None:
    """Write qrels, all that `as_qrels` takes; `.gz` and `.zst` in the name pack them.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "mine.qrels"
    >>> write_qrels({"q1": {"a": 2, "b": 0.5}}, path)
    >>> print(path.read_text(), end="")
    q1 0 a 2
    q1 0 b 0.5
    """
    found = as_qrels(qrels)
    _write(path, (_qrels_lines(path, query, found[query]) for query in found))


def as_run(source: Any, *, name: str = "run") -> Run:
    """A run as new dictionaries, query -> document -> score; `name` is for messages.

    The source is the path of a TREC file, a dictionary of dictionaries, a `ranx.Run`, a list or an
    iterator of `ir_measures.ScoredDoc`, or a DataFrame of pandas or polars with columns
    `query_id` (or `q_id`, `qid`), `doc_id` (`docno`, `docid`) and `score`. Ids become text.

    >>> as_run({7: {"d1": 1, "d2": 0.5}})
    {'7': {'d1': 1.0, 'd2': 0.5}}
    """
    if isinstance(source, (str, os.PathLike)):
        return read_run(source)
    return to_dictionaries(source, RUN, name)


def as_qrels(source: Any) -> Qrels:
    """Qrels as new dictionaries, query -> document -> label; labels below 0 become 0.

    The source is the path of a TREC file, a dictionary of dictionaries, a `ranx.Qrels`, a list or
    an iterator of `ir_measures.Qrel`, a DataFrame of pandas or polars with columns as for `as_run`
    and the label in `relevance` (or `label`, `rel`, `score`), or a `RankingData`, whose documents
    are called by their rows if they have no ids.

    >>> as_qrels({"q1": {"d1": 2, "d2": -1}})
    {'q1': {'d1': 2.0, 'd2': 0.0}}
    """
    if isinstance(source, (str, os.PathLike)):
        return read_qrels(source)
    if isinstance(source, RankingData):
        names = range(source.rows) if source.doc_ids is None else source.doc_ids.tolist()
        queries, documents = list(map(str, source.qid.tolist())), list(map(str, names))
        return from_columns([queries, documents, source.labels.tolist()], QRELS, "data")
    return to_dictionaries(source, QRELS, "qrels")


def _read(path: PathLike, layout: Layout) -> dict[str, dict[str, float]]:
    with local_file(path) as place:
        return _read_file(place, layout)


def _read_file(path: Path, layout: Layout) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    query, documents = "", dict[str, float]()
    with contextlib.closing(_rows(path, layout)) as rows:
        for line, columns in rows:
            if columns[0] != query:
                query = columns[0]
                documents = found.setdefault(query, {})
            document = columns[2]
            if document in documents:
                first = _first_line(path, layout, query, document)
                raise RankforceError(
                    f"{path}, line {line}: document {document!r} of query {query!r} stands twice, "
                    f"first on line {first}: expected it once"
                )
            documents[document] = _number(path, line, columns[layout.number], layout)
    if not found:
        expected = " ".join(layout.columns)
        raise RankforceError(f"{path}: holds no {layout.name}: expected lines such as '{expected}'")
    return found


def _rows(path: PathLike, layout: Layout) -> Generator[tuple[int, list[str]], None, None]:
    """The number of each line that is not blank, and its columns."""
    count, is_first = len(layout.columns), True
    with contextlib.closing(read_lines(path)) as lines:
        for line, text in lines:
            columns = text.split()
            if len(columns) == count:
                yield line, columns
                is_first = False
            elif columns:
                raise RankforceError(_miscounted(path, line, columns, layout, is_first))


def _miscounted(
    path: PathLike, line: int, columns: list[str], layout: Layout, is_first: bool
) -> str:
    shown = " ".join(columns)
    shown = shown[:SHOWN] + "..." if len(shown) > SHOWN else shown
    expected = f"{len(layout.columns)}, '{' '.join(layout.columns)}'"
    other = LOOKS_LIKE.get(len(columns)) if is_first else None
    hint = f" (this looks like a {other} file)" if other else ""
    return f"{path}, line {line}: {shown!r}: {len(columns)} columns, expected {expected}{hint}"


def _first_line(path: PathLike, layout: Layout, query: str, document: str) -> int | None:
    """Where a document stands first: read again, so that a good file needs no table of lines."""
    with contextlib.closing(_rows(path, layout)) as rows:
        return next((line for line, (q, _, d, *_) in rows if (q, d) == (query, document)), None)


def _number(path: PathLike, line: int, text: str, layout: Layout) -> float:
    """A finite number; a label below 0 is 0."""
    number = to_number(text) if text.isascii() else None
    if number is None or not math.isfinite(number):
        what = layout.kind.number
        raise RankforceError(
            f"{path}, line {line}: the {what} is {text!r}: expected a finite number"
        )
    return max(0.0, number) if layout is QRELS_FILE else number


def _write(path: PathLike, texts: Iterator[str]) -> None:
    with open_output(Path(path)) as stream:
        for text in texts:
            stream.write(text.encode())


def _run_lines(path: PathLike, query: str, documents: dict[str, float], tag: str) -> str:
    _check_ids(path, query, documents)
    best_first = sorted(documents.items(), key=itemgetter(1, 0), reverse=True)
    return "".join(
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for rank, (document, score) in enumerate(best_first, 1)
    )


def _qrels_lines(path: PathLike, query: str, documents: dict[str, float]) -> str:
    _check_ids(path, query, documents)
    # The other readers want integers without a point.
    return "".join(
        f"{query} 0 {document} {int(label) if label.is_integer() else label!r}\n"
        for document, label in documents.items()
    )


def _check_ids(path: PathLike, query: str, documents: dict[str, float]) -> None:
    _check_words([query], f"{path}: the query id")
    _check_words(documents, f"{path}, query {query!r}: the document id")
    if not documents:
        raise RankforceError(
            f"{path}: query {query!r} has no documents, which the file cannot say: leave it out"
        )


def _check_words(words: Collection[str], what: str) -> None:
    """Refuse what cannot be a column; all words at once, because nearly all are good."""
    if "" not in words and not UNWRITABLE.search("".join(words)):
        return
    wrong = next(word for word in words if not word or UNWRITABLE.search(word))
    raise RankforceError(f"{what} is {wrong!r}: expected text without whitespace")
