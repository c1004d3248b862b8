"""Opens a file as a stream of bytes: plain, gzip or zstd, told apart by its first bytes."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from rankforce.common.errors import RankforceError

# The first bytes of a compressed file, and what pyarrow calls the format.
MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}


_spent: Any = None  # the standard input that has been read


def is_stream(path: str | os.PathLike[str]) -> bool:
    """Whether a name is that of standard input ("-"), or of a pipe: what can be read only once."""
    if os.fspath(path) == "-":
        return True
    with contextlib.suppress(OSError, ValueError):
        return stat.S_ISFIFO(os.stat(path).st_mode)
    return False


@contextlib.contextmanager
def local_file(path: str | os.PathLike[str]) -> Iterator[Path]:
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


def _spool(path: str | os.PathLike[str], place: Path) -> None:
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


class Source:
    """The bytes of a file, decompressed; any trouble with it is a ValueError with its name."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
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

    def fill(self, view: memoryview) -> int:
        """Read until `view` is full or the file ends; the number of bytes read."""
        done = 0
        try:
            while done < len(view):
                count = self._stream.readinto(view[done:])
                if not count:
                    break
                done += count
        except OSError as error:
            if "Truncated" in str(error):
                raise RankforceError(
                    f"{self.path}: the file is cut off: its compressed data ends before its end"
                ) from error
            raise RankforceError(f"{self.path}: cannot be read: {error}") from error
        return done

    @property
    def share(self) -> float:
        """The share of the file that has been read, as far as is known."""
        return min(1.0, float(self._raw.tell()) / max(self.size, 1))

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._raw.close()


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


def first_bytes(path: Path, count: int = 1 << 12) -> bytes:
    """The first bytes of what a file holds, decompressed."""
    with Source(path) as source:
        head = bytearray(count)
        return bytes(head[: source.fill(memoryview(head))])


def _decompressed(path: Path, codec: str) -> tuple[Any, Any]:
    """The file and the stream of what it holds."""
    # pyarrow rather than zstandard: that reader takes a file that is cut off for a whole one.
    pa: Any = importlib.import_module("pyarrow")
    if not pa.Codec.is_available(codec):
        raise RankforceError(f"{path}: is compressed with {codec}, which this pyarrow cannot read")
    raw = pa.OSFile(str(path), "rb")
    return raw, pa.CompressedInputStream(raw, codec)
