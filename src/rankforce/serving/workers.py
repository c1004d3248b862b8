"""Several workers behind one socket: the first process hands out connections in turn.

Left to themselves, workers that wait at one socket let one of them take nearly all connections.
A worker that is killed is started again; connections that nobody has been given wait meanwhile.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from typing import Any, NamedTuple

from prometheus_client.multiprocess import mark_process_dead

from rankforce.serving.metrics import FOLDER
from rankforce.serving.models import LOG

QUICK = 5.0  # seconds below which a worker has not lived
LONGEST = 30.0  # seconds between two attempts to start one that does not live
AT_ONCE = 64  # connections that are handed out before anything else is looked at

Work = Callable[[socket.socket], None]  # is given the socket that connections come through


class Worker(NamedTuple):
    """A process, and the socket that its connections go through."""

    process: Any
    line: socket.socket
    born: float


class Team:
    """Processes that do the same work, as many as were asked for."""

    def __init__(self, work: Work, door: socket.socket, count: int, folder: str) -> None:
        self._work, self._door, self._folder = work, door, folder
        self._context = multiprocessing.get_context("spawn")
        self._failed = 0  # workers in a row that did not live
        self._workers: list[Worker] = []
        self._ready: list[Worker] = []  # those that take connections, the next one first
        self._due: list[float] = [0.0] * count  # times at which workers are to be started
        door.setblocking(False)

    def keep(self, bell: socket.socket) -> None:
        """Hand out connections, and start workers for those that end, until the bell rings."""
        while True:
            self._start_due()
            lines = {one.line: one for one in self._workers}
            doors = [self._door] if self._ready else []
            pause = max(min(self._due) - time.monotonic(), 0.0) if self._due else None
            for heard in wait([bell, *lines, *doors], pause):
                if heard is bell:
                    return
                if heard is self._door:
                    self._hand_out()
                elif isinstance(heard, socket.socket):
                    self._hear(lines[heard])

    def end(self) -> None:
        """Have all of them finish what they have begun."""
        for one in self._workers:
            one.process.terminate()
        for one in self._workers:
            one.process.join()
            one.line.close()

    def _start_due(self) -> None:
        now = time.monotonic()
        for _ in [due for due in self._due if due <= now]:
            own, its = socket.socketpair()
            process = self._context.Process(target=_live, args=(self._work, its))
            process.start()
            its.close()
            own.setblocking(False)
            self._workers.append(Worker(process, own, now))
        self._due = [due for due in self._due if due > now]

    def _hand_out(self) -> None:
        for _ in range(AT_ONCE):
            if not self._ready:
                return
            try:
                given, _ = self._door.accept()
            except (BlockingIOError, ConnectionError):
                return
            with given:
                self._give(given)

    def _give(self, connection: socket.socket) -> None:
        """To the next worker that can take it; of one that is gone one hears soon."""
        for one in list(self._ready):
            self._ready.append(self._ready.pop(0))
            with contextlib.suppress(OSError):
                socket.send_fds(one.line, [b"c"], [connection.fileno()])
                return

    def _hear(self, one: Worker) -> None:
        """A worker says that it is ready; one that says nothing any more has ended."""
        try:
            is_ready = bool(one.line.recv(1))
        except ConnectionError:
            is_ready = False
        if is_ready:
            self._ready.append(one)
        else:
            self._bury(one)

    def _bury(self, one: Worker) -> None:
        self._workers.remove(one)
        self._ready = [other for other in self._ready if other is not one]
        one.line.close()
        one.process.join()
        mark_process_dead(one.process.pid, self._folder)  # type: ignore[no-untyped-call]
        self._failed = 0 if time.monotonic() - one.born > QUICK else self._failed + 1
        pause = min(2.0 ** (self._failed - 3), LONGEST) if self._failed > 2 else 0.0
        self._due.append(time.monotonic() + pause)
        why = _why(one.process.exitcode)
        LOG.error("worker %d ended (%s): another one starts", one.process.pid, why)


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
            del os.environ[FOLDER]
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


def _live(work: Work, line: socket.socket) -> None:
    """The life of a worker."""
    # Ctrl-C comes to all processes of a terminal: uvicorn ends well, and there is no more to say.
    signal.signal(signal.SIGINT, lambda *_: None)
    work(line)


def _why(code: int | None) -> str:
    """How a process ended.

    >>> _why(-9), _why(1)
    ('SIGKILL', 'exit code 1')
    """
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
