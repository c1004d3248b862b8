"""Goes through a text file in blocks, twice: for its shape, then for its rows.

How many columns there are, whether index 0 is one of them and whether query ids are numbers: only
the end of the file tells.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.formats import letor_text
from rankforce.formats.blocks import PIECES_PER_THREAD, Block, Blocks, read_ahead
from rankforce.formats.complaints import complaint
from rankforce.formats.growing import GrowingTable, too_big
from rankforce.formats.streams import Source
from rankforce.kernels import text as kernels

BLOCK_VALUES = 1 << 22  # that a block of rows holds, as far as can be told
LEAST_BYTES = 1 << 12

Seen = Callable[[float], None]  # is told the share of the file that has been read


class Shape(NamedTuple):
    """What holds for all of a text file."""

    rows: int = 0
    columns: int = 0
    base: int = 1  # feature index of the first column
    mode: int = kernels.WHOLE_QID
    has_doc_ids: bool = False
    has_labels: bool = True
    density: float = 0.0  # rows for a byte, in the block that has most

    @property
    def has_qid(self) -> bool:
        """Whether rows have query ids."""
        return self.mode != kernels.NO_QID


class _Open(NamedTuple):
    """A file that is being read, and how its pieces are worked on."""

    path: os.PathLike[str]
    blocks: Iterator[Block]
    run: letor_text.Mapper


class _Parsed(NamedTuple):
    found: list[letor_text.Found]
    qid_text: NDArray[np.uint8]
    doc_text: NDArray[np.uint8]


def find_shape(
    path: str | os.PathLike[str],
    *,
    seen: Seen,
    threads: int = 2,
    block_bytes: int = letor_text.BLOCK_BYTES,
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
    shape = Shape()
    with _opened(path, threads, block_bytes) as file:
        for block in file.blocks:
            shape = _survey(file, block, shape)
            seen(block.share)
        if shape.rows == 0:
            raise RankforceError(
                f"{file.path}: holds no rows: expected lines such as '2 qid:1 1:0.5 2:3'"
            )
    return shape


def read_blocks(
    path: str | os.PathLike[str],
    shape: Shape,
    *,
    seen: Seen,
    threads: int = 2,
    block_bytes: int = letor_text.BLOCK_BYTES,
) -> Iterator[letor_text.TextFile]:
    """The rows of a file of that shape, some at a time: as `read_text`, cut into pieces."""
    wanted = int(BLOCK_VALUES / max(shape.columns, 1) / shape.density)
    size = max(min(block_bytes, wanted), LEAST_BYTES)
    with _opened(path, threads, size) as file:
        for block in file.blocks:
            if any(piece.rows for piece in block.pieces):
                yield _read(file, block, shape)
            seen(block.share)


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str], threads: int, block_bytes: int) -> Iterator[_Open]:
    with Source(path) as source, letor_text.mapper(threads) as run:
        pieces = 1 if threads == 1 else threads * PIECES_PER_THREAD
        blocks = Blocks(source, block_bytes=block_bytes, pieces=pieces)
        with contextlib.closing(read_ahead(blocks, is_threaded=threads > 1)) as ahead:
            yield _Open(source.path, ahead, run)


def _survey(file: _Open, block: Block, shape: Shape) -> Shape:
    """The shape of the file up to the end of this block."""
    rows = sum(piece.rows for piece in block.pieces)
    if rows and shape.rows == 0:
        first = _table(shape, 0)
        first.needs_labels = False
        letor_text.find_mode(first, block)
        shape = shape._replace(mode=first.mode, has_labels=first.has_labels)
    while True:
        table = _table(shape, rows)
        # The stride is 0: every row is written over the one before.
        table.features = np.zeros(shape.columns, np.float32)
        parsed = _parse(file, block, table)
        wider = _widened(table, parsed.found)
        wrong = letor_text.first_wrong(parsed.found)
        if wider is not None:
            shape = shape._replace(columns=wider[0], base=wider[1])
        elif wrong is None:
            break
        elif wrong.status == kernels.WORD_QUERY:
            shape = shape._replace(mode=kernels.TEXT_QID)
        else:
            raise RankforceError(complaint(file.path, block, wrong.at, wrong.status))
    size = block.pieces[-1].end - block.pieces[0].begin
    ends = [int(one.state[kernels.DOC_END]) for one in parsed.found]
    return shape._replace(
        rows=shape.rows + rows,
        has_doc_ids=shape.has_doc_ids
        or any(end > piece.begin for end, piece in zip(ends, block.pieces, strict=True)),
        density=max(shape.density, rows / max(size, 1)),
    )


def _widened(table: GrowingTable, found: list[letor_text.Found]) -> tuple[int, int] | None:
    """Columns and base, where a block has an index that was not met before."""
    top = max(int(one.state[kernels.TOP]) for one in found)
    saw_zero = any(one.state[kernels.SAW_ZERO] for one in found)
    if top < table.base + table.columns and not saw_zero:
        return None
    return table.width(top, saw_zero), 0 if saw_zero else table.base


def _read(file: _Open, block: Block, shape: Shape) -> letor_text.TextFile:
    """The rows of a block."""
    rows = sum(piece.rows for piece in block.pieces)
    if excess := too_big(rows, shape.columns):
        raise RankforceError(f"{file.path}, from line {block.lines_before + 1} on: {excess}")
    table = _table(shape, 0)
    table.is_fixed = True
    table.stride = shape.columns
    table.reserve(rows, 1.0)
    parsed = _parse(file, block, table)
    if _widened(table, parsed.found) or letor_text.first_wrong(parsed.found):
        raise RankforceError(f"{file.path}: has changed while it was read: expected it to stay")
    table.rows = rows
    for piece, one in zip(block.pieces, parsed.found, strict=True):
        table.doc_text += parsed.doc_text[piece.begin : one.state[kernels.DOC_END]].tobytes()
        if table.mode == kernels.TEXT_QID:
            table.qid_text += parsed.qid_text[piece.begin : one.state[kernels.QID_END]].tobytes()
    result = letor_text.finish(table)
    if shape.has_doc_ids and result.doc_ids is None:
        pa: Any = importlib.import_module("pyarrow")
        result = result._replace(doc_ids=pa.array([""] * rows, pa.string()))
    return result


def _table(shape: Shape, rows: int) -> GrowingTable:
    """An empty table of this shape, with room for the rows of a block."""
    table = GrowingTable(base=None, mode=shape.mode)
    table.base, table.columns = shape.base, shape.columns
    table.has_labels = shape.has_labels
    table.reserve(rows, 1.0)
    return table


def _parse(file: _Open, block: Block, table: GrowingTable) -> _Parsed:
    """Parse the pieces of a block into the table, from its first row on."""
    doc_text: NDArray[np.uint8] = np.empty(len(block.data), np.uint8)
    qid_text = np.empty_like(doc_text) if table.mode == kernels.TEXT_QID else doc_text[:0]
    starts = np.cumsum([0] + [piece.rows for piece in block.pieces])

    def parse(number: int) -> letor_text.Found:
        piece, row = block.pieces[number], int(starts[number])
        return letor_text.parse_piece(table, block, piece, row, qid_text, doc_text)

    return _Parsed(file.run(parse, list(range(len(block.pieces)))), qid_text, doc_text)
