"""Signs of life between workers: who is gone, who is silent, and who cannot go on, and why.

A worker that computes for an hour is fine: a thread of its own says so every second. One that is
killed closes its connections; of one that is frozen, or cut off, nothing is heard.
"""

from __future__ import annotations

import contextlib
import queue
import selectors
import socket
import threading
import time
from collections.abc import Mapping

from rankforce.common.links import Link

_OFTEN = 1.0  # seconds between two signs, at most
_LAST_WORDS = 2.0  # seconds that telling why may take
_MOST = 1 << 16  # bytes that may wait for a worker that does not listen
_BEAT = (0).to_bytes(4, "little")


class _Line:
    """The connection to one worker."""

    def __init__(self, link: Link) -> None:
        self.name = link.name
        self.socket = link.life
        self.socket.setblocking(False)
        self.heard = time.monotonic()
        self._in = bytearray()
        self._out = bytearray()

    def say(self, words: bytes) -> None:
        if len(self._out) < _MOST:
            self._out += words
        self.flush()

    def flush(self) -> None:
        """Send what can be sent now; a worker that is gone is noticed when it is read from."""
        with contextlib.suppress(OSError):
            while self._out:
                del self._out[: self.socket.send(self._out)]

    @property
    def has_more(self) -> bool:
        return bool(self._out)

    def hear(self) -> list[str] | None:
        """What the other says, None if it has closed the connection."""
        try:
            while part := self.socket.recv(_MOST):
                self._in += part
            is_open = False
        except BlockingIOError:
            is_open = True
        except OSError:
            is_open = False
        self.heard = time.monotonic()
        found = self._words()
        return found if is_open or found else None

    def _words(self) -> list[str]:
        found = []
        while len(self._in) >= 4:
            end = 4 + int.from_bytes(self._in[:4], "little")
            if len(self._in) < end:
                break
            if end > 4:
                found.append(self._in[4:end].decode())
            del self._in[:end]
        return found


class Life:
    """Tells the others that this worker lives, and hears the same of them.

    `failure` is the first thing that went wrong, in words; `bell` can be read from then.
    """

    def __init__(self, links: Mapping[int, Link], timeout: float) -> None:
        self.failure: str | None = None
        self.bell, self._ringer = socket.socketpair()
        self._kicked, self._kicker = socket.socketpair()
        for one in (self._ringer, self._kicked, self._kicker):
            one.setblocking(False)
        self._lines = [_Line(link) for link in links.values()]
        self._timeout = timeout
        self._often = min(_OFTEN, timeout / 5.0)
        self._words: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="rankforce-life", daemon=True)
        self._thread.start()

    def tell(self, why: str) -> None:
        """Tell all others why this worker cannot go on."""
        self._put(why)

    def end(self) -> None:
        """Fall silent, after what was to be told."""
        self._put(None)
        self._thread.join(_LAST_WORDS + 1.0)
        for one in (self.bell, self._ringer, self._kicked, self._kicker):
            one.close()

    def _put(self, words: str | None) -> None:
        self._words.put(words)
        with contextlib.suppress(OSError):  # full: it is awake already
            self._kicker.send(b"\0")

    def _run(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._kicked, selectors.EVENT_READ)
            for line in self._lines:
                waiting.register(line.socket, selectors.EVENT_READ, line)
            beaten = 0.0
            while not self._is_told_to_end():
                now = time.monotonic()
                if now - beaten > 3.0 * self._often:  # it was this worker that was frozen
                    for line in self._lines:
                        line.heard = now
                if now - beaten >= self._often:
                    beaten = now
                    for line in self._lines:
                        line.say(_BEAT)
                self._listen(waiting, max(beaten + self._often - now, 0.0))
                self._judge()
        self._leave()

    def _listen(self, waiting: selectors.BaseSelector, seconds: float) -> None:
        for key, _ in waiting.select(seconds):
            if key.data is None:
                self._kicked.recv(_MOST)
                continue
            line: _Line = key.data
            said = line.hear()
            if said is None:
                waiting.unregister(line.socket)
                self._lines.remove(line)
                line.socket.close()
                self._fail(f"{line.name} is gone: it ended, or was killed")
            for words in said or ():
                self._fail(words)

    def _judge(self) -> None:
        now = time.monotonic()
        for line in self._lines:
            if now - line.heard > self._timeout:
                self._fail(
                    f"{line.name} has not been heard of for {self._timeout:g} s: it is frozen, "
                    "or the network is down"
                )

    def _fail(self, why: str) -> None:
        if self.failure is None:
            self.failure = why
            self._ringer.send(b"\0")

    def _is_told_to_end(self) -> bool:
        while True:
            try:
                words = self._words.get_nowait()
            except queue.Empty:
                return False
            if words is None:
                return True
            for line in self._lines:
                encoded = words.encode()[: _MOST - 1]
                line.say(len(encoded).to_bytes(4, "little") + encoded)

    def _leave(self) -> None:
        latest = time.monotonic() + _LAST_WORDS
        while any(line.has_more for line in self._lines) and time.monotonic() < latest:
            time.sleep(0.01)
            for line in self._lines:
                line.flush()
        for line in self._lines:
            with contextlib.suppress(OSError):  # the other has left already
                line.socket.shutdown(socket.SHUT_WR)
            line.socket.close()
