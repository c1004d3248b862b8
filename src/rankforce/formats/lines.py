"""The lines of a text file, plain or compressed, with their numbers."""

from __future__ import annotations

import os
from collections.abc import Generator

from rankforce.common.errors import RankforceError
from rankforce.formats.blocks import Block, Blocks
from rankforce.formats.complaints import NOT_UTF8, complaint
from rankforce.formats.streams import Source

BLOCK_BYTES = 1 << 20

PathLike = str | os.PathLike[str]


def read_lines(
    path: PathLike, *, block_bytes: int = BLOCK_BYTES
) -> Generator[tuple[int, str], None, None]:
    """The number of each line, from 1, and its text without the line end; blank ones too.

    The file may be compressed with gzip or zstd. What is not UTF-8 is named with its line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "few.txt"
    >>> _ = path.write_bytes(b"one\\r\\n\\nthree")
    >>> list(read_lines(path))
    [(1, 'one'), (2, ''), (3, 'three')]
    """
    with Source(path) as source:
        blocks = Blocks(source, block_bytes=block_bytes, pieces=1)
        for block in iter(blocks.next, None):
            text = _text(path, block)
            lines = text.removesuffix("\n").split("\n") if text else []
            for number, line in enumerate(lines, block.lines_before + 1):
                yield number, line.removesuffix("\r")


def _text(path: PathLike, block: Block) -> str:
    begin, end, _ = block.pieces[0]
    wrong = block.text.find(b"\0", begin, end)
    try:
        text = block.text[begin:end].decode()
    except UnicodeDecodeError as error:
        at = begin + error.start
        wrong = at if wrong < 0 else min(wrong, at)
    if wrong >= 0:
        raise RankforceError(complaint(path, block, wrong, NOT_UTF8))
    return text
