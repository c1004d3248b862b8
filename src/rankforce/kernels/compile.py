"""Compiles the kernels and keeps their machine code on disk, keyed by their sources.

Numba's own cache watches only the file of the function it compiled. A kernel calls kernels of
other files, so the cache folder here carries a hash over all of them: changed sources never meet
old machine code.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

from rankforce.kernels.cache import keep_on_disk, tell_unwritable

Function = TypeVar("Function", bound=Callable[..., Any])

# No `nnan` and no `ninf`: the kernels rely on NaN to find scores that are not finite.
FAST_MATH = {"reassoc", "contract", "arcp", "nsz", "afn"}
# `error_model="numpy"`: Python's check for a zero divisor would keep loops from being vectorised.
OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": FAST_MATH, "error_model": "numpy"}


def sources_hash(folder: Path) -> str:
    """Hash over the names and bytes of every Python file in `folder`."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where the machine code of these sources is kept; `RANKFORCE_CACHE_DIR` moves it."""
    base = os.environ.get("RANKFORCE_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    if base is None:
        home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        base = str(Path(home) / "rankforce")
    return Path(base) / f"kernels-{sources_hash(Path(__file__).parent)}"


def _make(folder: Path) -> bool:
    """Whether `folder` is there and can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        tell_unwritable(folder, error)
        return False
    return True


_FOLDER = cache_folder()
_CACHED = _make(_FOLDER)


def kernel(function: Function) -> Function:
    """Compile `function` when another kernel calls it, without the GIL."""
    compiled: Function = numba.njit(**OPTIONS)(function)
    return compiled


def strict(function: Function) -> Function:
    """`kernel` in plain floating point: the same bits wherever it is called from."""
    compiled: Function = numba.njit(**(OPTIONS | {"fastmath": False}))(function)
    return compiled


def inlined(function: Function) -> Function:
    """Copy `function` into its callers: for a line or two, not worth compiling alone."""
    compiled: Function = numba.njit(inline="always", **OPTIONS)(function)
    return compiled


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function`, with all that it calls, on first use; cached on disk by the sources."""
    compiled: Callable[..., Any] = numba.njit(**OPTIONS)(function)
    if not _CACHED or compiled is function:  # NUMBA_DISABLE_JIT leaves functions as they are
        return compiled
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_FOLDER)
    try:
        keep_on_disk(compiled)
    finally:
        numba.config.CACHE_DIR = before
    return compiled
