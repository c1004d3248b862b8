"""Files as streams of bytes, plain, gzip or zstd: the one way in, and the one way out.

What is read is told apart by its first bytes, whatever its name; what is written, by its name.
"""

from __future__ import annotations

import contextlib
import gzip
import importlib
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file

PathLike = str | os.PathLike[str]

PACKINGS = (".gz", ".zst")
# The first bytes of a compressed file, and what pyarrow calls the format.
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
GZIP_LEVEL = 5

_spent: Any = None  # the standard input that has been read


def split_packing(name: str) -> tuple[str, str]:
    """A name without the ending of its compression, and that ending.

    >>> split_packing("a.txt.gz"), split_packing("a.txt")
    (('a.txt', '.gz'), ('a.txt', ''))
    """
    packing = next((ending for ending in PACKINGS if name.lower().endswith(ending)), "")
    return name[: len(name) - len(packing)], packing


def is_stream(path: PathLike) -> bool:
    """Whether a name is that of standard input ("-"), or of a pipe: what can be read only once."""
    if os.fspath(path) == "-":
        return True
    with contextlib.suppress(OSError, ValueError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


@contextlib.contextmanager
def local_file(path: PathLike) -> Iterator[Path]:
    """The file itself; what comes through standard input or a pipe is a file for the while.

    Readers go through a file more than once. An error names the stream and not that file.
    """
    if not is_stream(path):
        yield Path(path)
        return
    shown = "standard input" if os.fspath(path) == "-" else os.fspath(path)
    with tempfile.TemporaryDirectory(prefix="rankforce-") as folder:
        place = Path(folder) / "input"
        _spool(path, place)
        try:
            yield place
        except ValueError as error:
            text = str(error).replace(str(place), shown).replace(place.name + ".", shown + ".")
            raise RankforceError(text) from error


def _spool(path: PathLike, place: Path) -> None:
    global _spent
    with open(place, "wb") as target:
        if os.fspath(path) != "-":
            with open(path, "rb") as stream:
                shutil.copyfileobj(stream, target)
            return
        if sys.stdin is not None and sys.stdin is _spent:
            raise RankforceError("standard input was read already: only one file can be '-'")
        if sys.stdin is None or sys.stdin.isatty():
            raise RankforceError("'-' is standard input, and nothing comes through it: use a pipe")
        _spent = sys.stdin
        shutil.copyfileobj(sys.stdin.buffer, target)


class Source(io.RawIOBase):
    """The bytes of a file, decompressed; any trouble with it is an error with its name."""

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        self.size = _size(self.path)
        try:
            self._raw: Any = open(self.path, "rb", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise RankforceError(f"{self.path}: {error.strerror}") from error
        self._stream: Any = self._raw
        head = self._raw.read(4)
        self._raw.seek(0)
        for magic, codec in MAGIC.items():
            if head.startswith(magic):
                self._raw.close()
                self._raw, self._stream = _decompressed(self.path, codec)

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, view: Any) -> int:
        """Read some bytes into `view`; 0 at the end of the file."""
        try:
            return int(self._stream.readinto(view))
        except OSError as error:
            if "Truncated" in str(error):
                raise RankforceError(
                    f"{self.path}: the file is cut off: its compressed data ends before its end"
                ) from error
            raise RankforceError(f"{self.path}: cannot be read: {error}") from error

    def fill(self, view: memoryview) -> int:
        """Read until `view` is full or the file ends; the number of bytes read."""
        done = 0
        while done < len(view) and (count := self.readinto(view[done:])):
            done += count
        return done

    @property
    def share(self) -> float:
        """The share of the file that has been read, as far as is known."""
        return 1.0 if self.closed else min(1.0, float(self._raw.tell()) / max(self.size, 1))

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed and hasattr(self, "_stream"):
            self._stream.close()
            self._raw.close()
        super().close()


def _size(path: Path) -> int:
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise RankforceError(
            f"{path}: {reason}: expected a text file, plain, .gz or .zst"
        ) from error
    if not stat.S_ISREG(status.st_mode):
        what = "a folder" if path.is_dir() else "no regular file"
        raise RankforceError(f"{path}: is {what}: expected a text file, plain, .gz or .zst")
    return status.st_size


def _decompressed(path: Path, codec: str) -> tuple[Any, Any]:
    """The file and the stream of what it holds."""
    # pyarrow rather than zstandard: that reader takes a file that is cut off for a whole one.
    pa: Any = importlib.import_module("pyarrow")
    if not pa.Codec.is_available(codec):
        raise RankforceError(f"{path}: is compressed with {codec}, which this pyarrow cannot read")
    raw = pa.OSFile(str(path), "rb")
    return raw, pa.CompressedInputStream(raw, codec)


def first_bytes(path: Path, count: int = 1 << 12) -> bytes:
    """The first bytes of what a file holds, decompressed."""
    with Source(path) as source:
        head = bytearray(count)
        return bytes(head[: source.fill(memoryview(head))])


@contextlib.contextmanager
def open_output(path: Path) -> Iterator[Any]:
    """A stream of bytes to a file that appears under its name when all is there; that may pack it.

    >>> folder = Path(tempfile.mkdtemp())
    >>> with open_output(folder / "a.gz") as stream:
    ...     _ = stream.write(b"words")
    >>> first_bytes(folder / "a.gz")
    b'words'
    """
    if not path.parent.is_dir() or path.is_dir():
        raise RankforceError(f"{path}: expected the name of a file in a folder that exists")
    packing = split_packing(path.name)[1]
    with whole_file(path) as part, open(part, "wb") as file:
        if packing == ".gz":
            # No time in the header: the same data makes the same bytes.
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as stream:
                yield stream
        elif packing == ".zst":
            pa: Any = importlib.import_module("pyarrow")
            with pa.CompressedOutputStream(file, "zstd") as stream:
                yield stream
        else:
            yield file
