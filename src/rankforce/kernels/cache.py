"""Machine code on disk: what is damaged counts as absent, what cannot be written stays in memory.

Numba unpickles whatever its files hold, and stops where a write fails. Here every file ends with a
hash of what comes before, and nothing is unpickled before its hash was found right.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import caching

from rankforce.common.notes import note

COMPILING = "compiling kernels for this machine, once: up to a minute"
SEAL = hashlib.sha256().digest_size
# Numba does not promise these: where one is gone, its own cache serves.
_Files: Any = getattr(caching, "IndexDataCacheFile", object)
_Cache: Any = getattr(caching, "FunctionCache", object)
_METHODS = ("load", "save", "_load_index", "_load_data", "_data_path", "_open_for_write")

_told: set[str] = set()  # each is told once in a process
_is_writable = True


def tell_unwritable(folder: str | Path, error: OSError) -> None:
    """Say that machine code is not kept, and why."""
    note(
        f"cannot write to {folder} ({error.strerror}): kernels are compiled anew in every process; "
        "RANKFORCE_CACHE_DIR moves their folder"
    )


def keep_on_disk(compiled: Any) -> None:
    """Give a compiled function a cache in the folder `numba.config.CACHE_DIR`."""
    try:
        for name in _METHODS:
            getattr(_Files, name)
        compiled._cache = KernelCache(compiled.py_func)
    except AttributeError:
        compiled.enable_caching()


class KernelCache(_Cache):  # type: ignore[misc]
    """Numba's cache of one function, with sealed files, and writes that may fail."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        base, stamp = self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = SealedFiles(self._cache_path, base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for these types; None if it must be compiled, which is told."""
        found = super().load_overload(sig, target_context)
        if found is None:
            _tell(COMPILING, logging.getLogger("rankforce").warning)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code; after a write that failed nothing is written any more."""
        global _is_writable
        if not _is_writable:
            return
        try:
            super().save_overload(sig, data)
        except OSError as error:
            _is_writable = False
            tell_unwritable(self._cache_path, error)


class SealedFiles(_Files):  # type: ignore[misc]
    """Numba's index and machine code of one function, each file with its hash at the end."""

    def save(self, key: Any, data: Any) -> None:
        """Keep `data` beside its key: processes at once may give two keys the same file."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """What was kept under `key`; None if there is nothing, or something else."""
        found = super().load(key)
        return None if found is None or found[0] != key else found[1]

    def _load_index(self) -> Any:
        content = self._read(self._index_path)
        if content is None:
            return {}
        stream = io.BytesIO(content)
        # First: what comes after it may be unreadable for another version.
        if pickle.load(stream) != numba.__version__:
            return {}
        stamp, names = pickle.load(stream)
        return names if stamp == self._source_stamp else {}

    def _load_data(self, name: str) -> Any:
        content = self._read(self._data_path(name))
        return None if content is None else pickle.loads(content)

    def _read(self, path: str) -> bytes | None:
        """What was written to `path`; None if that is not what it holds now."""
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[:-SEAL]).digest() == content[-SEAL:]:
            return content[:-SEAL]
        with contextlib.suppress(OSError):  # another process may have been faster
            os.unlink(path)
        folder = os.path.dirname(path)
        _tell(f"the kernel cache {folder} was damaged: what is lost is compiled anew", note)
        return None

    @contextlib.contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[_Sealed]:
        with super()._open_for_write(filepath) as file:
            sealed = _Sealed(file)
            yield sealed
            sealed.close()


class _Sealed:
    """A file to which the hash of what was written is added at the end."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def write(self, part: bytes) -> None:
        self._hash.update(part)
        self._file.write(part)

    def close(self) -> None:
        self._file.write(self._hash.digest())


def _tell(text: str, say: Callable[[str], None]) -> None:
    if text not in _told:
        _told.add(text)
        say(text)
