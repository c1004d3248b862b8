"""One message out and one in, over a connection that does not wait."""

from __future__ import annotations

import selectors

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.links import Link

Buffer = bytes | bytearray | memoryview
_HEAD = 16


class Transfer:
    """A message to another worker and the one from it, each with the number of the exchange."""

    def __init__(self, link: Link, message: Buffer, number: int) -> None:
        self.link = link
        self.received: memoryview = memoryview(b"")
        self._number = number
        size = memoryview(message).nbytes
        head = size.to_bytes(8, "little") + number.to_bytes(8, "little")
        self._out = [memoryview(head), memoryview(message).cast("B")]
        self._head = memoryview(bytearray(_HEAD))
        self._rest = self._head  # what is still to be filled
        self._has_head = False

    @property
    def wants(self) -> int:
        """What it waits for."""
        reads = selectors.EVENT_READ if len(self._rest) or not self._has_head else 0
        return reads | (selectors.EVENT_WRITE if self._out else 0)

    def advance(self) -> bool:
        """Do what can be done now; whether both messages are through."""
        self._send()
        self._receive()
        return not self.wants

    def _send(self) -> None:
        try:
            while self._out:
                first = self._out[0]
                sent = self.link.values.send(first) if len(first) else 0
                if sent == len(first):
                    del self._out[0]
                else:
                    self._out[0] = first[sent:]
        except BlockingIOError:
            return

    def _receive(self) -> None:
        try:
            while len(self._rest) or not self._has_head:
                if not len(self._rest):
                    self._open()
                    continue
                got = self.link.values.recv_into(self._rest)
                if not got:
                    raise EOFError("the connection was closed")
                self._rest = self._rest[got:]
        except BlockingIOError:
            return

    def _open(self) -> None:
        """Make room for what the head announces."""
        number = int.from_bytes(self._head[8:], "little")
        if number != self._number:
            raise RankforceError(f"{self.link.name} is at another place of the program")
        size = int.from_bytes(self._head[:8], "little")
        self.received = self._rest = np.empty(size, np.uint8).data
        self._has_head = True
