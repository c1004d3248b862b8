"""Reads LETOR text, lines `label qid:ID index:value ... # comment`: all at once, or in blocks.

How many columns there are, whether index 0 is one of them and whether query ids are numbers: only
the end of the file tells. Blocks go through a file twice, for its shape and then for its rows.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads
from rankforce.data.precision import Precision
from rankforce.data.schema import numbers_from
from rankforce.formats.growing import GrowingTable
from rankforce.formats.letor_pieces import Mapper, Parsed, find_mode, mapper, parse_block
from rankforce.formats.lines import Block, complaint, open_blocks
from rankforce.formats.roles import NoRowsError
from rankforce.formats.streams import PathLike
from rankforce.kernels import text as kernels

BLOCK_BYTES = 1 << 22
BLOCK_VALUES = 1 << 22  # that a block of rows holds, as far as can be told
LEAST_BYTES = 1 << 12

Seen = Callable[[float], None]  # is told the share of the file that has been read


class TextFile(NamedTuple):
    """What a text file holds, one row for each line that has a label."""

    features: NDArray[np.float32]  # (rows, columns), nan where missing, 0 where not written
    labels: NDArray[np.float64]
    qid: NDArray[Any] | None  # int64, or str as objects; None where no line has one
    doc_ids: Any  # pyarrow.StringArray; None where no line has a comment
    base: int = 1  # number of the first feature
    has_labels: bool = True


class Shape(NamedTuple):
    """What only the end of a text file tells."""

    rows: int
    columns: int
    base: int  # number of the first feature
    mode: int  # where query ids go
    has_labels: bool
    has_doc_ids: bool
    density: float  # rows for a byte, in the block that has most


class _WordsAsQueries(Exception):  # noqa: N818
    """A query id is no integer: the file is read again, with ids as text."""


def read_text(
    path: PathLike,
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
    table = _parse(path, threads, block_bytes, base=base, needs_labels=needs_labels)
    table.large.say(numbers_from(table.base, table.columns), place=f"{path}: ")
    return _finish(table)


def find_shape(
    path: PathLike, *, seen: Seen, threads: int = 2, block_bytes: int | None = None
) -> Shape:
    """Parse a whole file and keep nothing of its rows; a line that is wrong is named.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
    ...     _ = file.write("2 qid:7 1:0.5 3:1e-2\\n0 qid:a 2:nan # b\\n")
    ...     file.flush()
    ...     shape = find_shape(file.name, seen=lambda share: None)
    >>> shape.rows, shape.columns, shape.base, shape.has_doc_ids
    (2, 3, 1, True)
    """
    size = block_bytes or BLOCK_BYTES
    return _shape(_parse(path, threads, size, seen, base=None, needs_labels=False, keeps=False))


def read_beside(
    path: PathLike, *, needs_labels: bool, has_documents: bool, threads: int = 2
) -> tuple[Shape, TextFile, Precision]:
    """The shape of a file, all that it holds but the features, and what float32 does to these."""
    table = _parse(
        path,
        threads,
        BLOCK_BYTES,
        base=None,
        needs_labels=needs_labels,
        has_matrix=False,
        has_documents=has_documents,
    )
    return _shape(table), _finish(table), table.large


def read_blocks(
    path: PathLike,
    shape: Shape,
    *,
    seen: Seen,
    threads: int = 2,
    block_bytes: int | None = None,
) -> Iterator[TextFile]:
    """The rows of a file of that shape, some at a time: as `read_text`, cut into pieces."""
    wanted = int(BLOCK_VALUES / max(shape.columns, 1) / shape.density)
    size = max(min(block_bytes or BLOCK_BYTES, wanted), LEAST_BYTES)
    with open_blocks(path, block_bytes=size, threads=threads) as blocks, mapper(threads) as run:
        for block in blocks:
            if block.rows:
                yield _read_block(path, shape, block, run)
            seen(block.share)


def _parse(
    path: PathLike,
    threads: int,
    block_bytes: int,
    seen: Seen = lambda share: None,
    **options: Any,
) -> GrowingTable:
    """A whole file, with query ids as integers, or as text if one of them is no integer."""
    for mode in (kernels.WHOLE_QID, kernels.TEXT_QID):
        table = GrowingTable(mode=mode, **options)
        with (
            contextlib.suppress(_WordsAsQueries),
            open_blocks(path, block_bytes=block_bytes, threads=threads) as blocks,
            mapper(threads) as run,
        ):
            for block in blocks:
                _add_block(path, table, block, run)
                seen(block.share)
            break
    if table.rows == 0:
        raise NoRowsError(f"{path}: holds no rows: expected lines such as '2 qid:1 1:0.5 2:3'")
    return table


def _add_block(path: PathLike, table: GrowingTable, block: Block, run: Mapper) -> None:
    """Parse a block into the table; again if it turns out to be wider than all before."""
    if table.rows == 0 and block.rows:
        find_mode(table, block)
    if excess := table.excess(block.rows, table.columns):
        raise RankforceError(f"{path}: {excess}")
    table.reserve(block.rows, block.share)
    parsed = parse_block(table, block, run)
    while _widened(path, table, block, parsed):
        parsed = parse_block(table, block, run)
    if wrong := parsed.wrong:
        if wrong.status == kernels.WORD_QUERY:
            raise _WordsAsQueries
        raise RankforceError(complaint(path, block, wrong.at, wrong.status))
    parsed.keep(table, block)


def _widened(path: PathLike, table: GrowingTable, block: Block, parsed: Parsed) -> bool:
    """Whether the block has columns that the table had not; it has them now."""
    if (width := parsed.width(table)) is None:
        return False
    top, at, saw_zero = width
    if excess := table.excess(block.rows, table.width(top, saw_zero)):
        if parsed.wrong and parsed.wrong.at < at:
            return False
        raise RankforceError(f"{complaint(path, block, at, kernels.TOO_WIDE)}: {excess}")
    table.widen(top, saw_zero)
    return True


def _read_block(path: PathLike, shape: Shape, block: Block, run: Mapper) -> TextFile:
    """The rows of a block of a file of that shape."""
    table = GrowingTable(base=shape.base, mode=shape.mode)
    table.columns = table.stride = shape.columns
    table.has_labels = shape.has_labels
    if excess := table.excess(block.rows, shape.columns):
        raise RankforceError(f"{path}, from line {block.lines_before + 1} on: {excess}")
    table.reserve(block.rows, 1.0)
    parsed = parse_block(table, block, run)
    if parsed.width(table) or parsed.wrong:
        raise RankforceError(f"{path}: has changed while it was read: expected it to stay")
    parsed.keep(table, block)
    table.has_doc_ids = shape.has_doc_ids
    return _finish(table)


def _shape(table: GrowingTable) -> Shape:
    return Shape(*(getattr(table, name) for name in Shape._fields))


def _finish(table: GrowingTable) -> TextFile:
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
    if table.has_doc_ids and table.has_documents:
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
