"""How LightGBM's library is loaded: with threads that do not spin for long, that know of forks, and
with errors that are a user's mistakes."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.engines.waits import short_waits

_is_without_threads = False  # LightGBM's stayed behind in the process that this one was forked from


_turning = threading.Lock()  # of standard error, for one call at a time


def _leave_threads() -> None:
    global _is_without_threads, _turning
    _is_without_threads = _is_without_threads or "lightgbm" in sys.modules
    _turning = threading.Lock()  # another thread may have held it, and is not here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_threads)


def import_lightgbm() -> Any:
    """LightGBM, or one line about what it lacks."""
    try:
        with short_waits("lightgbm"):
            import lightgbm
    except OSError as error:
        lacks = "libgomp" if "gomp" in str(error) else str(error)
        raise RankforceError(
            f"LightGBM does not load: install {lacks} (Debian: libgomp1)"
        ) from None
    if _is_without_threads:
        # Not by num_threads=1: some of its loops would still wait, for ever, for lost threads.
        lightgbm.basic._LIB.LGBM_SetMaxThreads(1)
    return lightgbm


def note_lost_threads(threads: int) -> None:
    """Say that trees grow on one thread, where more were wanted and a fork has lost them."""
    if _is_without_threads and threads > 1:
        note(
            "LightGBM was loaded before this process was forked, and a fork loses its threads: "
            "trees grow on one thread, which changes no result; start processes with "
            "multiprocessing's 'spawn' to use more"
        )


@contextmanager
def plain_errors() -> Iterator[None]:
    """LightGBM's complaints, mostly about parameters, as a user's mistakes."""
    try:
        yield
    except import_lightgbm().basic.LightGBMError as error:
        words = re.sub(r" at \S+, line \d+ \.\s*$", "", str(error))  # a place in its sources
        raise RankforceError(f"LightGBM: {words}") from None


@contextmanager
def said_once() -> Iterator[None]:
    """Plain errors without the line that LightGBM, however silent, writes before it raises one.

    It writes to the file descriptor of standard error, so that one is turned for a moment: only for
    calls that are short and start no threads. What others write meanwhile comes after it.
    """
    with plain_errors(), _turning:
        if not hasattr(os, "set_blocking"):  # Windows, before Python 3.12
            yield
            return
        try:
            usual, (reader, writer) = os.dup(2), os.pipe()
        except OSError:  # there is no standard error
            yield
            return
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        os.dup2(writer, 2)
        try:
            yield
        finally:
            os.dup2(usual, 2)
            os.close(usual)
            os.close(writer)
            _pass_on(reader)


def _pass_on(reader: int) -> None:
    """What was written to standard error, but for LightGBM's line."""
    try:
        held = os.read(reader, 1 << 16)  # all that a pipe holds
    except BlockingIOError:  # nothing, and a process that was started meanwhile may still write
        held = b""
    os.close(reader)
    rest = re.sub(rb"\[LightGBM\] \[Fatal\].*\n+", b"", held)
    if rest:
        os.write(2, rest)
