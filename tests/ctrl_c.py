"""Ctrl-C for tests, which may themselves run in the background, where a shell has it ignored."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

LONG = 60.0  # seconds after which a process that was interrupted hangs


@contextmanager
def heard() -> Iterator[None]:
    """Inside, Ctrl-C raises KeyboardInterrupt, and processes that start there hear it too."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


@contextmanager
def started(command: Sequence[str], **more: Any) -> Iterator[subprocess.Popen[Any]]:
    """A process that hears Ctrl-C, and does not outlive the block."""
    with heard():
        process = subprocess.Popen(command, **more)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
