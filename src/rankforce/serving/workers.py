"""Several workers on one socket: each its own process, started again when it is killed."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any

from prometheus_client.multiprocess import mark_process_dead

from rankforce.serving.metrics import FOLDER

LOG = logging.getLogger("rankforce.serving")
QUICK = 5.0  # seconds below which a worker has not lived
LONGEST = 30.0  # seconds between two attempts to start one that does not live

Work = Callable[[socket.socket], None]


class Team:
    """Processes that do the same work, as many as were asked for."""

    def __init__(self, work: Work, door: socket.socket, count: int, folder: str) -> None:
        self._work, self._door, self._folder = work, door, folder
        self._context = multiprocessing.get_context("spawn")
        self._failed = 0  # workers in a row that did not live
        self._born: dict[Any, float] = {}
        self._due: list[float] = [0.0] * count  # times at which workers are to be started

    def keep(self, bell: socket.socket) -> None:
        """Start workers, and start others for those that end, until the bell rings."""
        while True:
            self._start_due()
            ends = {process.sentinel: process for process in self._born}
            pause = max(min(self._due) - time.monotonic(), 0.0) if self._due else None
            ready = wait([*ends, bell], pause)
            if bell in ready:
                return
            for end in ready:
                if isinstance(end, int):
                    self._bury(ends[end])

    def end(self) -> None:
        """Have all of them finish what they have begun."""
        for process in self._born:
            process.terminate()
        for process in self._born:
            process.join()

    def _start_due(self) -> None:
        now = time.monotonic()
        for _ in [due for due in self._due if due <= now]:
            process = self._context.Process(target=_live, args=(self._work, self._door))
            process.start()
            self._born[process] = now
        self._due = [due for due in self._due if due > now]

    def _bury(self, process: Any) -> None:
        process.join()
        lived = time.monotonic() - self._born.pop(process)
        mark_process_dead(process.pid, self._folder)  # type: ignore[no-untyped-call]
        self._failed = 0 if lived > QUICK else self._failed + 1
        pause = min(2.0 ** (self._failed - 3), LONGEST) if self._failed > 2 else 0.0
        LOG.error("worker %d ended (%s): another one starts", process.pid, _why(process.exitcode))
        self._due.append(time.monotonic() + pause)


def run_workers(work: Work, door: socket.socket, count: int) -> None:
    """Workers until SIGTERM or Ctrl-C, after which each finishes what it has begun."""
    with tempfile.TemporaryDirectory(prefix="rankforce-") as folder, _bell() as bell:
        os.environ[FOLDER] = folder
        team = Team(work, door, count, folder)
        try:
            team.keep(bell)
        finally:
            door.close()
            team.end()
        if bell.recv(1) == bytes([signal.SIGINT]):
            raise KeyboardInterrupt


@contextlib.contextmanager
def _bell() -> Iterator[socket.socket]:
    """A socket that has the number of a signal to read once one has come."""
    bell, ringer = socket.socketpair()
    signals = (signal.SIGTERM, signal.SIGINT)
    usual = [signal.signal(one, lambda got, _: _ring(ringer, got)) for one in signals]
    try:
        yield bell
    finally:
        for one, handler in zip(signals, usual, strict=True):
            signal.signal(one, handler)
        bell.close()
        ringer.close()


def _ring(ringer: socket.socket, got: int) -> None:
    ringer.send(bytes([got]))


def _live(work: Work, door: socket.socket) -> None:
    """The life of a worker, which ends with that of the first process."""
    threading.Thread(target=_end_with_parent, name="rankforce-parent", daemon=True).start()
    # Ctrl-C comes to all processes of a terminal: uvicorn ends well, and there is no more to say.
    signal.signal(signal.SIGINT, lambda *_: None)
    work(door)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


def _why(code: int | None) -> str:
    """How a process ended.

    >>> _why(-9), _why(1)
    ('SIGKILL', 'exit code 1')
    """
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
