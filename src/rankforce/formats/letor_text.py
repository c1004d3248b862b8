"""Reads ranking data from text: lines `label qid:ID index:value ... # comment`."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads
from rankforce.data.schema import numbers_from
from rankforce.formats.blocks import PIECES_PER_THREAD, Block, Blocks, Piece, read_ahead
from rankforce.formats.complaints import NOT_UTF8, complaint
from rankforce.formats.growing import GrowingTable, too_big
from rankforce.formats.streams import Source
from rankforce.kernels import text as kernels

BLOCK_BYTES = 1 << 22
HARD_NUMBERS = 1 << 10
# The first row: its label, and whether a qid follows.
FIRST_ROW = re.compile(rb"(?m)^[ \t\r]*(?P<first>[^ \t\r\n#]+)(?:[ \t\r]+(?P<query>qid:)?)?")

_NOTHING: NDArray[np.uint8] = np.zeros(0, np.uint8)


class TextFile(NamedTuple):
    """What a text file holds, one row for each line that has a label."""

    features: NDArray[np.float32]  # (rows, columns), nan where missing, 0 where not written
    labels: NDArray[np.float64]
    qid: NDArray[Any] | None  # int64, or str as objects; None where no line has one
    doc_ids: Any  # pyarrow.StringArray; None where no line has a comment
    base: int = 1  # number of the first feature
    has_labels: bool = True


class Found(NamedTuple):
    """What came of a piece: the kernel's numbers, and the first line that is wrong."""

    state: NDArray[np.int64]
    at: int
    status: int
    large: NDArray[np.float64]  # columns and values that float32 may not hold


class _WordsAsQueries(Exception):  # noqa: N818
    """A query id is no integer: the file is read again, with ids as text."""


def read_text(
    path: str | os.PathLike[str],
    *,
    base: int | None = None,
    threads: int = 2,
    block_bytes: int = BLOCK_BYTES,
    needs_labels: bool = True,
) -> TextFile:
    """Read `label qid:ID index:value ... # comment` lines, plain or compressed (gzip, zstd).

    Column `index - base` holds the values of a feature. Without `base` the first column is index
    1, or 0 if the file has an index 0. What is not written is 0, `nan` is a missing value. Blank
    lines and lines with only a comment are skipped; the document id is the word behind `docid =`,
    or the whole comment. Lines may begin with their query where labels are not needed. The result
    does not depend on `threads`.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("2 qid:7 1:0.5 3:1e-2 # docid = a\\n0 qid:7 2:nan\\n")
    ...     file.flush()
    ...     data = read_text(file.name)
    >>> data.features
    array([[0.5 , 0.  , 0.01],
           [0.  ,  nan, 0.  ]], dtype=float32)
    >>> data.labels, data.qid, data.doc_ids.to_pylist()
    (array([2., 0.]), array([7, 7]), ['a', ''])
    """
    threads = check_threads(threads)
    if base not in (None, 0, 1):
        raise RankforceError(f"base is {base!r}: it must be 0, 1 or None (find out from the file)")
    try:
        return _read(
            path,
            GrowingTable(base=base, mode=kernels.WHOLE_QID),
            threads,
            block_bytes,
            needs_labels,
        )
    except _WordsAsQueries:
        return _read(
            path, GrowingTable(base=base, mode=kernels.TEXT_QID), threads, block_bytes, needs_labels
        )


def _read(
    path: str | os.PathLike[str],
    table: GrowingTable,
    threads: int,
    block_bytes: int,
    needs_labels: bool,
) -> TextFile:
    """Read the file from its start, with query ids as numbers or as text."""
    table.needs_labels = needs_labels
    with Source(path) as source, mapper(threads) as run:
        pieces = 1 if threads == 1 else threads * PIECES_PER_THREAD
        blocks = Blocks(source, block_bytes=block_bytes, pieces=pieces)
        with contextlib.closing(read_ahead(blocks, is_threaded=threads > 1)) as ahead:
            for block in ahead:
                _parse_block(source, table, block, run)
        names = numbers_from(table.base, table.columns)
        table.large.say(names, place=f"{source.path}: ")
        if table.rows == 0:
            raise RankforceError(
                f"{source.path}: holds no rows: expected lines such as '2 qid:1 1:0.5 2:3'"
            )
    return finish(table)


Mapper = Callable[[Callable[[Any], Any], list[Any]], list[Any]]


@contextlib.contextmanager
def mapper(threads: int) -> Iterator[Mapper]:
    """A map() over pieces, in threads where there are several."""
    if threads == 1:
        yield lambda call, items: [call(item) for item in items]
        return
    with ThreadPoolExecutor(threads) as pool:
        yield lambda call, items: list(pool.map(call, items))


def _parse_block(source: Source, table: GrowingTable, block: Block, run: Mapper) -> None:
    """Parse a block into the table; again if it turns out to be wider than all before."""
    rows = sum(piece.rows for piece in block.pieces)
    if table.rows == 0 and rows:
        find_mode(table, block)
    if excess := too_big(table.rows + rows, table.columns):
        raise RankforceError(f"{source.path}: {excess}")
    table.reserve(table.rows + rows, block.share)
    doc_text: NDArray[np.uint8] = np.empty(len(block.data), np.uint8)
    qid_text = np.empty_like(doc_text) if table.mode == kernels.TEXT_QID else _NOTHING
    starts = np.cumsum([table.rows] + [piece.rows for piece in block.pieces])

    def parse(number: int) -> Found:
        piece, row = block.pieces[number], int(starts[number])
        return parse_piece(table, block, piece, row, qid_text, doc_text)

    while True:
        found = run(parse, list(range(len(block.pieces))))
        if not _widened(source, table, block, found):
            break
    if wrong := first_wrong(found):
        if wrong.status == kernels.WORD_QUERY:
            raise _WordsAsQueries
        raise RankforceError(complaint(source.path, block, wrong.at, wrong.status))
    table.rows += rows
    for piece, one in zip(block.pieces, found, strict=True):
        table.see_large(one.large)
        table.doc_text += doc_text[piece.begin : one.state[kernels.DOC_END]].tobytes()
        if table.mode == kernels.TEXT_QID:
            table.qid_text += qid_text[piece.begin : one.state[kernels.QID_END]].tobytes()


def find_mode(table: GrowingTable, block: Block) -> None:
    """Whether the file has labels, and query ids: as its first row."""
    first = FIRST_ROW.search(block.text, block.pieces[0].begin, block.pieces[-1].end)
    if first is None:
        return
    table.has_labels = table.needs_labels or b":" not in first.group("first")
    query = first.group("query") if table.has_labels else first.group("first").startswith(b"qid:")
    if not query:
        table.mode = kernels.NO_QID


def first_wrong(found: list[Found]) -> Found | None:
    """The first piece with a line that is wrong."""
    return next((one for one in found if one.status != kernels.FINE), None)


def _widened(source: Source, table: GrowingTable, block: Block, found: list[Found]) -> bool:
    """Whether the block has columns that the table had not; it has them now."""
    widest = max(found, key=lambda one: int(one.state[kernels.TOP])).state
    top, at = int(widest[kernels.TOP]), int(widest[kernels.TOP_AT])
    saw_zero = not table.is_fixed and any(one.state[kernels.SAW_ZERO] for one in found)
    if top < table.base + table.columns and not saw_zero:
        return False
    rows = table.rows + sum(piece.rows for piece in block.pieces)
    if excess := too_big(rows, table.width(top, saw_zero)):
        wrong = first_wrong(found)
        if wrong and wrong.at < at:
            return False
        raise RankforceError(f"{complaint(source.path, block, at, kernels.TOO_WIDE)}: {excess}")
    table.widen(top, saw_zero)
    return True


def parse_piece(
    table: GrowingTable,
    block: Block,
    piece: Piece,
    row: int,
    qid_text: NDArray[np.uint8],
    doc_text: NDArray[np.uint8],
) -> Found:
    """Parse a piece, then what the kernel leaves to Python: hard numbers, and text beyond ASCII."""
    state = np.zeros(kernels.STATE_SIZE, np.int64)
    state[: kernels.STATUS] = (
        *(piece.begin, piece.end, row),
        *(table.base, table.is_fixed, table.columns, table.stride, table.mode, table.has_labels),
    )
    size, large = HARD_NUMBERS, np.empty((0, 2))
    while True:
        hard = np.empty((size, 4), np.int64)
        kernels.parse_piece(
            *(block.data, state, table.features, table.labels, table.qids, table.qid_sizes),
            *(table.doc_sizes, qid_text, doc_text, hard, large),
        )
        if state[kernels.STATUS] == kernels.MORE_HARD:
            size *= 8
        elif state[kernels.LARGE] > len(large):
            large = np.empty((int(state[kernels.LARGE]), 2))
        else:
            break
    wrong = [(piece.end, kernels.FINE)]
    if state[kernels.STATUS] != kernels.FINE:
        wrong.append((int(state[kernels.AT]), int(state[kernels.STATUS])))
    wrong += _finish_numbers(table, block, hard[: state[kernels.HARD]])
    if state[kernels.HIGH]:
        wrong += _check_text(block, piece)
    return Found(state, *min(wrong), large)


def _finish_numbers(
    table: GrowingTable, block: Block, hard: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Convert the numbers that need Python's float(); those that are no use, and where."""
    for begin, end, row, column in hard.tolist():
        # A feature is listed with its index, which names it in the message.
        value = float(block.text[begin:end].rpartition(b":")[2])
        if column == kernels.LABEL:
            table.labels[row] = value
            if not np.isfinite(value):
                yield begin, kernels.BAD_LABEL
        else:
            with np.errstate(over="ignore"):
                cell = np.float32(value)
            table.features[row * table.stride + column] = cell
            if not np.isfinite(cell):
                yield begin, kernels.BAD_VALUE


def _check_text(block: Block, piece: Piece) -> Iterator[tuple[int, int]]:
    """Where bytes beyond ASCII are not UTF-8."""
    try:
        block.text[piece.begin : piece.end].decode()
    except UnicodeDecodeError as error:
        at = piece.begin + error.start
        word = 1 + max(block.text.rfind(blank, 0, at) for blank in (b" ", b"\t", b"\n", b"#", b":"))
        yield word, NOT_UTF8


def finish(table: GrowingTable) -> TextFile:
    """The arrays, cut to the rows that there are."""
    qid: NDArray[Any] | None = None
    if table.mode == kernels.WHOLE_QID:
        qid = table.column(table.qids)
    elif table.mode == kernels.TEXT_QID:
        # Rows of a query share one string.
        ids = _strings(table.column(table.qid_sizes), table.qid_text).dictionary_encode()
        names = np.array([*ids.dictionary.to_pylist(), None], object)
        qid = names[ids.indices.to_numpy()]
    doc_ids = None
    if table.doc_text:
        doc_ids = _strings(table.column(table.doc_sizes), table.doc_text)
    labels = table.column(table.labels)
    return TextFile(table.matrix(), labels, qid, doc_ids, table.base, table.has_labels)


def _strings(sizes: NDArray[np.int32], text: bytearray) -> Any:
    """Strings of these sizes, one after the other in `text`; nothing is copied."""
    pa: Any = importlib.import_module("pyarrow")

    is_large = len(text) >= 1 << 31
    ends = np.zeros(len(sizes) + 1, np.int64 if is_large else np.int32)
    np.cumsum(sizes, out=ends[1:])
    kind = pa.LargeStringArray if is_large else pa.StringArray
    return kind.from_buffers(len(sizes), pa.py_buffer(ends), pa.py_buffer(text))
