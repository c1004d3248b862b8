"""Text in blocks of whole lines: cut, read ahead, and what to say of a line that is wrong."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.pool import Pool, open_pool
from rankforce.formats.cells import SHOWN, parse_numbers, to_number
from rankforce.formats.streams import PathLike, Source, local_file
from rankforce.kernels import text as kernels

BLOCK_BYTES = 1 << 20
# The first block is small: it shows how wide and how long the rows are.
FIRST_BYTES = 1 << 19
MAX_LINE_BYTES = 1 << 28
PIECES_PER_THREAD = 2
PADDING = 8  # the kernels look at eight bytes at once
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
TOKEN_CHARACTERS = 60
TOKEN = re.compile(rb"[^ \t\r\n#]*")
LINE = re.compile(rb"[^\n]*")
NOT_UTF8 = -1  # beside the kernels' own: found by Python

EXPECTED = {
    kernels.NO_QUERY: "missing qid: expected qid:ID after the label, as on the first row",
    kernels.SECOND_QUERY: "a qid, but the first row has none (missing qid): "
    "expected one on every row, or on none",
    kernels.EMPTY_QUERY: "expected an id behind 'qid:'",
    kernels.TOO_WIDE: f"expected a feature index of at most {kernels.MAX_INDEX:,}",
    kernels.BELOW_BASE: "expected feature indices from 1 on, for base=1",
    kernels.DUPLICATE: "duplicate feature: expected every index once in a line",
    kernels.NUL: "not text: it holds a NUL byte: expected a text file",
    NOT_UTF8: "not text: expected UTF-8",
}


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

    @property
    def rows(self) -> int:
        """The rows of all pieces."""
        return sum(piece.rows for piece in self.pieces)

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
        rows, more = kernels.count_rows(data, start, stop)
        pieces.append(Piece(start, stop, rows))
        lines += more
        start = stop
    return pieces, lines


@contextlib.contextmanager
def open_blocks(
    path: PathLike, *, block_bytes: int | None = None, threads: int = 1
) -> Iterator[Iterator[Block]]:
    """The blocks of a text file; with threads the next is read while the caller works on one."""
    size = BLOCK_BYTES if block_bytes is None else block_bytes
    with Source(path) as source:
        if threads == 1:
            yield iter(Blocks(source, block_bytes=size, pieces=1).next, None)
            return
        blocks = Blocks(source, block_bytes=size, pieces=threads * PIECES_PER_THREAD)
        with open_pool(1) as reader:
            yield _read_ahead(blocks, reader)


def _read_ahead(blocks: Blocks, reader: Pool) -> Iterator[Block]:
    """All blocks; the next is read, and decompressed, while the caller works on one."""
    task = reader.submit(blocks.next)
    while (block := task.result()) is not None:
        task = reader.submit(blocks.next)
        yield block


def read_lines(path: PathLike) -> Generator[tuple[int, str], None, None]:
    """The number of each line, from 1, and its text without the line end; blank ones too.

    The file may be compressed with gzip or zstd. What is not UTF-8 is named with its line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "few.txt"
    >>> _ = path.write_bytes(b"one\\r\\n\\nthree")
    >>> list(read_lines(path))
    [(1, 'one'), (2, ''), (3, 'three')]
    """
    with open_blocks(path) as blocks:
        for block in blocks:
            yield from lines_of(path, block)


def lines_of(path: PathLike, block: Block) -> Iterator[tuple[int, str]]:
    """The lines of a block that is one piece, with their numbers in the file."""
    begin, end, _ = block.pieces[0]
    wrong = block.text.find(b"\0", begin, end)
    try:
        text = block.text[begin:end].decode()
    except UnicodeDecodeError as error:
        at = begin + error.start
        wrong = at if wrong < 0 else min(wrong, at)
    if wrong >= 0:
        raise RankforceError(complaint(path, block, wrong, NOT_UTF8))
    lines = text.removesuffix("\n").split("\n") if text else []
    for number, line in enumerate(lines, block.lines_before + 1):
        yield number, line.removesuffix("\r")


def estimate_rows(path: PathLike) -> int:
    """About how many rows a text file has, from the length of its first lines.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "few.txt"
    >>> _ = path.write_text("2 qid:1 1:0.5\\n" * 7)
    >>> estimate_rows(path)
    7
    """
    with open_blocks(path, block_bytes=FIRST_BYTES) as blocks:
        block = next(blocks)
        return int(block.rows / max(block.share, 1e-9))


def read_numbers(path: PathLike) -> NDArray[np.float64]:
    """Numbers of a text file, one a line; blank lines are skipped.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "few.txt"
    >>> _ = path.write_text("1\\n\\n2.5")
    >>> read_numbers(path)
    array([1. , 2.5])
    """
    found = [np.empty(0)]
    with local_file(path) as place, open_blocks(place) as blocks:
        for block in blocks:
            begin, end, _ = block.pieces[0]
            numbers = parse_numbers(block.text[begin:end], 1)
            if numbers is None:
                lines = [one for one in lines_of(place, block) if one[1].strip()]
                numbers = np.array([_number(place, *line) for line in lines])
            found.append(numbers.ravel())
    return np.concatenate(found)


def _number(path: PathLike, line: int, text: str) -> float:
    number = to_number(text)
    if number is None:
        shown = text.strip()[:SHOWN]
        raise RankforceError(f"{path}, line {line}: {shown!r}: expected one number")
    return number


def complaint(path: object, block: Block, at: int, status: int) -> str:
    """The message for what is wrong at byte `at` of a block."""
    line = _match(LINE, block, block.text.rfind(b"\n", 0, at) + 1)
    token = _match(TOKEN, block, at) or _match(LINE, block, at) or line
    if b"\0" in line:
        status = kernels.NUL
    expected = EXPECTED.get(status) or _expected(status, token)
    end = at + len(token) + 1
    if block.is_cut and end == block.pieces[-1].end:
        expected += " (the file ends here, without a line end: is it cut off?)"
    shown = token.decode(errors="backslashreplace")
    if len(shown) > TOKEN_CHARACTERS:
        shown = shown[:TOKEN_CHARACTERS] + "..."
    return f"{path}, line {block.line_of(at)}: {shown!r}: {expected}"


def _match(pattern: re.Pattern[bytes], block: Block, at: int) -> bytes:
    found = pattern.match(block.text, at)
    return bytes(found.group()).rstrip(b"\r") if found else b""


def _expected(status: int, token: bytes) -> str:
    """What a label or a feature should have been."""
    if status == kernels.BAD_LABEL:
        if b":" in token:
            return "no label: expected a number at the start of the line"
        return "expected a label, a finite number"
    index, colon, value = token.partition(b":")
    if not colon:
        return "missing colon: expected index:value"
    if status == kernels.BAD_VALUE:
        if not value:
            return "expected a number behind the colon"
        if value.lower().lstrip(b"+-").startswith(b"inf"):
            return "infinite: expected a finite number, or nan for a missing value"
        return "expected a number that float32 can hold, or nan for a missing value"
    if index == b"qid":
        return "expected the query id right after the label, once"
    if re.fullmatch(rb"\d+", index):
        return EXPECTED[kernels.TOO_WIDE]
    if re.fullmatch(rb"-\d+", index):
        return "negative index: expected a feature index from 0 up"
    return "expected a feature index, an integer from 0 up, before the colon"
