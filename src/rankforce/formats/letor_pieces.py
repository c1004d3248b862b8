"""Parses the pieces of a block of LETOR text into a table, in threads."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.pool import open_pool
from rankforce.formats.growing import GrowingTable
from rankforce.formats.lines import NOT_UTF8, Block, Piece
from rankforce.kernels import text as kernels

HARD_NUMBERS = 1 << 10
# The first row: its label, and whether a qid follows.
FIRST_ROW = re.compile(rb"(?m)^[ \t\r]*(?P<first>[^ \t\r\n#]+)(?:[ \t\r]+(?P<query>qid:)?)?")


class Found(NamedTuple):
    """What came of a piece: the kernel's numbers, and the first line that is wrong."""

    state: NDArray[np.int64]
    at: int
    status: int
    large: NDArray[np.float64]  # columns and values that float32 may not hold


class Parsed(NamedTuple):
    """What came of a block: of its pieces in turn, and their texts, each from its begin on."""

    found: list[Found]
    qid_text: NDArray[np.uint8]
    doc_text: NDArray[np.uint8]

    @property
    def wrong(self) -> Found | None:
        """The first piece with a line that is wrong."""
        return next((one for one in self.found if one.status != kernels.FINE), None)

    def width(self, table: GrowingTable) -> tuple[int, int, bool] | None:
        """The largest index, where it stands, and whether there is an index 0, if these are new."""
        widest = max(self.found, key=lambda one: int(one.state[kernels.TOP])).state
        top, at = int(widest[kernels.TOP]), int(widest[kernels.TOP_AT])
        saw_zero = not table.is_fixed and any(one.state[kernels.SAW_ZERO] for one in self.found)
        return (top, at, saw_zero) if saw_zero or top >= table.base + table.columns else None

    def keep(self, table: GrowingTable, block: Block) -> None:
        """The rows are in the table: count them, and add their texts to those before."""
        table.rows += block.rows
        size = block.pieces[-1].end - block.pieces[0].begin
        table.density = max(table.density, block.rows / max(size, 1))
        for piece, one in zip(block.pieces, self.found, strict=True):
            doc_text = self.doc_text[piece.begin : one.state[kernels.DOC_END]]
            table.has_doc_ids = table.has_doc_ids or len(doc_text) > 0
            if not table.keeps:
                continue
            table.see_large(one.large)
            if table.has_documents:
                table.doc_text += doc_text.tobytes()
            if table.mode == kernels.TEXT_QID:
                table.qid_text += self.qid_text[piece.begin : one.state[kernels.QID_END]].tobytes()


Mapper = Callable[[Callable[[Any], Any], list[Any]], list[Any]]


@contextlib.contextmanager
def mapper(threads: int) -> Iterator[Mapper]:
    """A map() over pieces, in threads where there are several."""
    if threads == 1:
        yield lambda call, items: [call(item) for item in items]
        return
    with open_pool(threads) as pool:
        yield pool.map


def parse_block(table: GrowingTable, block: Block, run: Mapper) -> Parsed:
    """Parse a block into the rows of the table behind those that it has."""
    doc_text: NDArray[np.uint8] = np.empty(len(block.data), np.uint8)
    qid_text = np.empty_like(doc_text) if table.mode == kernels.TEXT_QID else doc_text[:0]
    starts = np.cumsum([table.next_row] + [piece.rows for piece in block.pieces])

    def parse(number: int) -> Found:
        piece, row = block.pieces[number], int(starts[number])
        return _parse_piece(table, block, piece, row, qid_text, doc_text)

    return Parsed(run(parse, list(range(len(block.pieces)))), qid_text, doc_text)


def find_mode(table: GrowingTable, block: Block) -> None:
    """Whether the file has labels, and query ids: as its first row."""
    first = FIRST_ROW.search(block.text, block.pieces[0].begin, block.pieces[-1].end)
    if first is None:
        return
    table.has_labels = table.needs_labels or b":" not in first.group("first")
    query = first.group("query") if table.has_labels else first.group("first").startswith(b"qid:")
    if not query:
        table.mode = kernels.NO_QID


def _parse_piece(
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
