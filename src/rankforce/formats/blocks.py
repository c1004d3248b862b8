"""Cuts a stream of bytes into blocks of whole lines, and reads the next while one is parsed."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.formats.streams import Source
from rankforce.kernels.text import count_rows

# The first block is small: it shows how wide and how long the rows are.
FIRST_BYTES = 1 << 19
MAX_LINE_BYTES = 1 << 28
PIECES_PER_THREAD = 2
PADDING = 8  # the kernels look at eight bytes at once
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """Whole lines of a block, and how many rows they hold."""

    begin: int
    end: int
    rows: int


class Block(NamedTuple):
    """Whole lines, with a newline behind the last; `data` and `text` are the same bytes."""

    text: bytearray
    data: NDArray[np.uint8]
    pieces: list[Piece]
    lines_before: int  # in the file
    share: float  # of the file that had been read by the end of this block
    is_cut: bool  # whether the newline behind the last line is not the file's

    def line_of(self, at: int) -> int:
        """The number in the file, from 1, of the line with the byte `at`."""
        return self.lines_before + self.text.count(b"\n", self.pieces[0].begin, at) + 1


class Blocks:
    """Reads blocks in turn into two buffers: a block is good until the next but one is read."""

    def __init__(self, source: Source, *, block_bytes: int, pieces: int) -> None:
        self._source = source
        self._sizes = [min(FIRST_BYTES, block_bytes), block_bytes]
        self._pieces = pieces
        self._buffers = [bytearray(), bytearray()]
        self._rest = b""  # of a line whose end is in the next block
        self._number = 0
        self._lines = 0
        self._is_over = False

    def next(self) -> Block | None:
        """The next block, or None at the end of the file."""
        if self._is_over:
            return None
        text, end, is_cut = self._fill()
        begin = 0
        if self._number == 1 and text.startswith(BYTE_ORDER_MARK):
            begin = len(BYTE_ORDER_MARK)
        data: NDArray[np.uint8] = np.frombuffer(text, np.uint8)
        pieces, lines = _cut(text, data, begin, end, self._pieces)
        before = self._lines
        self._lines += lines
        return Block(text, data, pieces, before, self._source.share, is_cut)

    def _fill(self) -> tuple[bytearray, int, bool]:
        """A buffer, the end of its last line, and whether that lacked its newline."""
        size = self._sizes[min(self._number, 1)]
        turn = self._number % 2
        self._number += 1
        filled = len(self._rest)
        while True:
            text = self._room(turn, filled + size + 1 + PADDING)
            text[: len(self._rest)] = self._rest
            with memoryview(text) as view:
                count = self._source.fill(view[filled : filled + size])
            filled += count
            if count < size:
                self._is_over = True
                is_cut = filled > 0 and text[filled - 1] != ord("\n")
                if is_cut:
                    text[filled : filled + 1] = b"\n"
                return text, filled + is_cut, is_cut
            end = text.rfind(b"\n", 0, filled) + 1
            if end:
                self._rest = bytes(text[end:filled])
                return text, end, False
            self._check_long(text, filled)
            self._rest = bytes(text[:filled])
            size = filled

    def _room(self, turn: int, size: int) -> bytearray:
        if len(self._buffers[turn]) < size:
            # A new one: arrays may still look at the old, and then it cannot grow.
            self._buffers[turn] = bytearray(size)
        return self._buffers[turn]

    def _check_long(self, text: bytearray, filled: int) -> None:
        """Refuse a line without end before it fills the memory."""
        place = f"{self._source.path}, line {self._lines + 1}"
        if text.find(b"\0", 0, filled) >= 0:
            raise RankforceError(
                f"{place}: holds NUL bytes: expected text, and this is a binary file"
            )
        if filled > MAX_LINE_BYTES:
            raise RankforceError(
                f"{place}: is longer than {MAX_LINE_BYTES:,} bytes: expected one row for each line"
            )


def _cut(
    text: bytearray, data: NDArray[np.uint8], begin: int, end: int, count: int
) -> tuple[list[Piece], int]:
    """Pieces of about the same size, at line ends; and the number of lines."""
    pieces, lines = [], 0
    start = begin
    for number in range(1, count + 1):
        stop = end
        if number < count:
            target = max(start, begin + (end - begin) * number // count)
            stop = text.find(b"\n", target, end) + 1 or end
        rows, more = count_rows(data, start, stop)
        pieces.append(Piece(start, stop, rows))
        lines += more
        start = stop
    return pieces, lines


def read_ahead(blocks: Blocks, *, is_threaded: bool) -> Generator[Block, None, None]:
    """All blocks; the next is read, and decompressed, while the caller works on one."""
    if not is_threaded:
        yield from iter(blocks.next, None)
        return
    with ThreadPoolExecutor(1) as reader:
        future: Any = reader.submit(blocks.next)
        while (block := future.result()) is not None:
            future = reader.submit(blocks.next)
            yield block
