"""Features that stay in files, one behind the other: a source that reads the rows it is asked for.

A file that is read again must be the one that was read before: its size and time are compared.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Ints
from rankforce.data.sources import Blocks, Rows, equal_parts, recut

ENDS = 1 << 16  # bytes of each end of a file by which it is known again


class Shard(NamedTuple):
    """A file as it was when it was first looked at."""

    path: Path
    size: int
    time: int  # when it was last changed

    @classmethod
    def of(cls, path: Path) -> Shard:
        """The file as it is now.

        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "part.txt"
        >>> _ = path.write_text("2 qid:7 1:0.5")
        >>> Shard.of(path).size
        13
        """
        try:
            found = os.stat(path)
        except OSError as error:
            raise RankforceError(f"{path} cannot be read: {error.strerror}") from None
        return cls(path, found.st_size, found.st_mtime_ns)

    @property
    def mark(self) -> int:
        """By its size and its ends: that of Parquet has the range of every column."""
        with open(self.path, "rb") as file:
            begin = file.read(ENDS)
            file.seek(max(self.size - ENDS, 0))
            return zlib.crc32(begin + file.read(ENDS) + str(self.size).encode())

    def check(self) -> None:
        """Refuse a file that is no longer what it was."""
        if Shard.of(self.path) != self:
            raise RankforceError(
                f"{self.path}: has changed while it was read: expected it to stay as it is"
            )


class Part(Protocol):
    """The features of one shard."""

    @property
    def shard(self) -> Shard:
        """Where they are."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def blocks(self, wanted: Ints | None = None) -> Blocks:
        """Blocks of all rows, or at least those that have the rows `wanted`, which ascend."""


class Shards:
    """Rows of several files as one source; of what is read, only a block is kept at a time."""

    def __init__(self, parts: Sequence[Part], names: Sequence[str]) -> None:
        self.parts, self.names = list(parts), list(names)
        self.ends = np.cumsum([part.rows for part in parts], dtype=np.int64)
        self.shape = int(self.ends[-1]) if len(parts) else 0, len(self.names)

    def blocks(self, rows: int | None = None) -> Blocks:
        """Consecutive rows of all files; of exactly that many, but for the last, if it is given."""
        if self.shape[0] == 0:
            return iter([(0, np.empty(self.shape, np.float32))])
        found = self._all()
        return found if rows is None else recut(found, equal_parts(self.shape[0], rows))

    def take(self, rows: Any) -> Rows:
        """Some rows; files that have none of them are not read."""
        wanted = np.arange(self.shape[0])[rows]
        taken = np.empty((len(wanted), self.shape[1]), np.float32)
        order = np.argsort(wanted, kind="stable")
        ascending = wanted[order]
        for number in np.unique(np.searchsorted(self.ends, ascending, side="right")).tolist():
            before = self._before(number)
            begin, end = np.searchsorted(ascending, [before, self.ends[number]])
            for first, block in self._read(number, ascending[begin:end] - before):
                span = np.searchsorted(ascending, [first, first + len(block)])
                places = order[slice(*span)]
                taken[places] = block[wanted[places] - first]
        return taken

    def marks(self, _rows: Ints) -> NDArray[np.uint32]:
        """A number by which each file is known again, whoever has it."""
        return np.array([part.shard.mark for part in self.parts], np.uint32)

    def _before(self, number: int) -> int:
        """Rows before a shard."""
        return int(self.ends[number]) - self.parts[number].rows

    def _all(self) -> Blocks:
        for number in range(len(self.parts)):
            yield from self._read(number)

    def _read(self, number: int, wanted: Ints | None = None) -> Iterator[tuple[int, Rows]]:
        """Blocks of a shard, which is the same before and behind."""
        part, before, done = self.parts[number], self._before(number), 0
        part.shard.check()
        for first, block in part.blocks(wanted):
            done = first + len(block)
            yield before + first, block
        part.shard.check()
        if wanted is None and done != part.rows:
            raise RankforceError(
                f"{part.shard.path}: has {done} rows, and had {part.rows} when it was first read: "
                "expected it to stay as it is"
            )
