"""What workers that train together tell each other; one that is alone tells nobody.

Every worker runs the same program over its own rows. Where that program looks at all rows, every
worker gives what it knows of its own and gets what all the others gave, in the order of their
ranks.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.life import Life
from rankforce.common.links import Address, Hello, Link, link_all, name_worker
from rankforce.common.messages import decode, encode
from rankforce.common.transfer import Buffer, Transfer

_WHY = 5.0  # seconds after a lost connection until one knows why, if ever
# Cheaper to open than one that knows its sockets: an exchange of little takes little time.
WAITING: type[selectors.BaseSelector] = getattr(selectors, "PollSelector", selectors.SelectSelector)


class Team(Protocol):
    """Workers that train together: each has a rank from 0 up."""

    rank: int
    size: int

    def gather(self, value: Any) -> list[Any]:
        """What every worker gave, in order of rank: all get the same.

        A value is a number, a text, None, a plain array, or a list or a dictionary of such.
        """
        ...

    def exchange(self, parts: Sequence[Buffer]) -> list[Buffer]:
        """Give every worker its own part, and get one from each, in order of rank."""
        ...

    def fail(self, why: str) -> None:
        """Tell the others that this worker cannot go on: what they wait for ends in an error."""
        ...

    def close(self) -> None:
        """Leave, when all are done; at once after a failure."""
        ...


class Alone:
    """A team of one.

    >>> ALONE.gather(3.0)
    [3.0]
    """

    rank = 0
    size = 1

    def gather(self, value: Any) -> list[Any]:
        """Its own value."""
        return [value]

    def exchange(self, parts: Sequence[Buffer]) -> list[Buffer]:
        """Its own part."""
        return list(parts)

    def fail(self, why: str) -> None:
        """There is nobody to tell."""

    def close(self) -> None:
        """There is nobody to leave."""


ALONE = Alone()


def add_up(team: Team, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum of all workers' whole numbers: each adds up a part of them for all.

    >>> add_up(ALONE, np.array([1, 2]))
    array([1, 2])
    """
    if team.size == 1:
        return values
    parts = [np.ascontiguousarray(one).data.cast("B") for one in np.array_split(values, team.size)]
    own = np.sum([np.frombuffer(one, np.int64) for one in team.exchange(parts)], axis=0)
    found = team.exchange([own.data.cast("B")] * team.size)
    return np.concatenate([np.frombuffer(one, np.int64) for one in found])


class Linked:
    """A team of several processes, each linked to all others.

    A slow worker is waited for as long as it takes; a lost one is an error at all others.
    """

    def __init__(self, rank: int, links: Mapping[int, Link], name: str, timeout: float) -> None:
        self.rank = rank
        self.size = len(links) + 1
        self._name = name
        self._links = links
        self._count = 0  # exchanges so far, which all have to agree on
        self._has_failed = False
        for link in links.values():
            link.values.setblocking(False)
        self._life = Life(links, timeout)

    def __enter__(self) -> Linked:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _trace: Any) -> None:
        if error is not None:
            self.fail(str(error) or type(error).__name__)
        self.close()

    @property
    def failure(self) -> str | None:
        """What went wrong at another worker, in words."""
        return self._life.failure

    def gather(self, value: Any) -> list[Any]:
        """What every worker gave, in order of rank."""
        message = encode(value)
        found = self.exchange([message] * self.size)
        return [decode(one) for one in found]

    def exchange(self, parts: Sequence[Buffer]) -> list[Buffer]:
        """Give every worker its own part, and get one from each, in order of rank."""
        self._count += 1
        transfers = {
            rank: Transfer(link, parts[rank], self._count) for rank, link in self._links.items()
        }
        self._carry_out([*transfers.values()])
        return [
            parts[rank] if rank == self.rank else transfers[rank].received
            for rank in range(self.size)
        ]

    def fail(self, why: str) -> None:
        """Tell the others that this worker cannot go on; what another one told is passed on."""
        if not self._has_failed:
            self._has_failed = True
            self._life.tell(self._life.failure or f"{self._name}: {why}")

    def close(self) -> None:
        """Leave, when all are done; at once after a failure."""
        if not (self._has_failed or self._life.failure):
            # All have what they came for: whoever is lost now is missed by nobody.
            with contextlib.suppress(RankforceError):
                self.exchange([b""] * self.size)
        self._life.end()
        for link in self._links.values():
            link.values.close()

    def _carry_out(self, transfers: Sequence[Transfer]) -> None:
        """Send and receive until all is through."""
        rest = [transfer for transfer in transfers if not self._advance(transfer)]
        if not rest:
            return
        with WAITING() as waiting:
            waiting.register(self._life.bell, selectors.EVENT_READ)
            for transfer in rest:
                waiting.register(transfer.link.values, transfer.wants, transfer)
            missing = len(rest)
            while missing:
                for key, _ in waiting.select():
                    if key.data is None:
                        raise RankforceError(self._life.failure)
                    if self._advance(key.data):
                        waiting.unregister(key.fileobj)
                        missing -= 1
                    elif key.events != key.data.wants:
                        waiting.modify(key.fileobj, key.data.wants, key.data)

    def _advance(self, transfer: Transfer) -> bool:
        """Whether it is through, after what can be done now."""
        try:
            return transfer.advance()
        except (OSError, EOFError) as error:
            # Why comes by the other way.
            with contextlib.suppress(TimeoutError):
                self._life.bell.settimeout(_WHY)
                self._life.bell.recv(1, socket.MSG_PEEK)
            lost = f"the connection to {transfer.link.name} is lost: {error}"
            raise RankforceError(self._life.failure or lost) from None


def join_team(
    rank: int,
    addresses: Sequence[Address],
    *,
    token: bytes,
    timeout: float = 50.0,
    patience: float | None = None,
    door: socket.socket | None = None,
) -> Linked:
    """Meet the other workers: all of them call it, each with its rank and the same addresses.

    `addresses` are host and port of each worker, in order of rank; a port may be 0, but for worker
    0, which then takes any. `door` is a socket that listens at this worker's address already.
    Only who knows the `token` is let in. It is an error if of one of them nothing is heard for
    `timeout` seconds, or if they are not together within their `patience`, by default as long.
    """
    hello = Hello(rank, token, time.monotonic() + (timeout if patience is None else patience))
    links = link_all(addresses, hello, door)
    return Linked(rank, links, name_worker(rank, addresses[rank]), timeout)
