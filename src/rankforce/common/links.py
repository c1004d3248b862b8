"""Connections between workers: for each pair one for values and one for signs of life.

Worker 0 has an address that all know. A worker proves that it knows the team's token, so that no
stranger, nor a worker of another run, comes in.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import socket
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError

Address = tuple[str, int]
VALUES, LIFE = 0, 1
_KINDS = (VALUES, LIFE)
_NONCE, _PROOF = 16, 32
_PATIENCE = 2.0  # seconds that a stranger may be silent
_PAUSE = 0.05  # seconds before another try


class Link(NamedTuple):
    """What joins two workers."""

    values: socket.socket
    life: socket.socket
    name: str  # of the other worker, with its address


def name_worker(rank: int, address: Address) -> str:
    """A worker as errors call it.

    >>> name_worker(1, ("10.0.0.7", 4001))
    'worker 1 (10.0.0.7:4001)'
    """
    return f"worker {rank} ({address[0]}:{address[1]})"


def open_door(host: str, port: int = 0, *, backlog: int = 1024) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=backlog)
    except OSError as error:
        raise RankforceError(f"a worker cannot listen at {host}:{port}: {error}") from None


class Hello(NamedTuple):
    """How a worker makes itself known."""

    rank: int
    token: bytes
    deadline: float

    @property
    def left(self) -> float:
        """Seconds until it is too late, never none."""
        return max(self.deadline - time.monotonic(), 1e-3)

    def proof(self, nonce: bytes, kind: int, rank: int) -> bytes:
        """What only who knows the token can say."""
        key = hashlib.sha256(self.token).digest()
        said = nonce + bytes([kind]) + rank.to_bytes(4, "little")
        return hashlib.blake2b(said, key=key, digest_size=_PROOF).digest()


def link_all(
    addresses: Sequence[Address], hello: Hello, door: socket.socket | None
) -> dict[int, Link]:
    """Links to all other workers, by rank; each worker calls it once.

    Port 0 among the addresses, but the first, is a port that its worker chooses.
    """
    rank, last = hello.rank, len(addresses) - 1
    if door is None and (rank == 0 or rank < last):
        door = open_door(*addresses[rank])
    found: dict[int, dict[int, socket.socket]] = {}
    try:
        if rank:
            found[0] = _visit(0, addresses[0], hello)
            port = 0 if door is None else door.getsockname()[1]
            addresses = _tell_port(found[0][VALUES], port, hello)
            for other in range(1, rank):
                found[other] = _visit(other, addresses[other], hello)
        if door is not None and rank < last:
            _receive(door, {*range(rank + 1, last + 1)}, hello, found)
        if not rank:
            addresses = _tell_addresses(addresses, found, hello)
    except BaseException:
        for both in found.values():
            for link in both.values():
                link.close()
        raise
    finally:
        if door is not None:
            door.close()
    return {
        other: Link(both[VALUES], both[LIFE], name_worker(other, addresses[other]))
        for other, both in sorted(found.items())
    }


def _visit(other: int, address: Address, hello: Hello) -> dict[int, socket.socket]:
    return {kind: _call(other, address, kind, hello) for kind in _KINDS}


def _call(other: int, address: Address, kind: int, hello: Hello) -> socket.socket:
    """A connection of one kind, once the other worker is there."""
    while True:
        found = _try(address, kind, hello)
        if isinstance(found, socket.socket):
            return found
        if time.monotonic() + _PAUSE > hello.deadline:
            raise RankforceError(
                f"{name_worker(other, address)} does not let worker {hello.rank} in: {found}"
            )
        time.sleep(_PAUSE)


def _try(address: Address, kind: int, hello: Hello) -> socket.socket | Exception:
    try:
        return _prove(socket.create_connection(address, timeout=hello.left), kind, hello)
    except (OSError, EOFError) as error:
        return error


def _prove(link: socket.socket, kind: int, hello: Hello) -> socket.socket:
    try:
        link.settimeout(hello.left)
        nonce = read_exactly(link, _NONCE)
        proof = hello.proof(nonce, kind, hello.rank)
        link.sendall(bytes([kind]) + hello.rank.to_bytes(4, "little") + proof)
        if not hmac.compare_digest(read_exactly(link, _PROOF), hello.proof(proof, kind, 0)):
            raise EOFError("somebody else answers there")
    except (OSError, EOFError):
        link.close()
        raise
    return _quick(link)


def _receive(
    door: socket.socket,
    ranks: set[int],
    hello: Hello,
    found: dict[int, dict[int, socket.socket]],
) -> None:
    """Find connections of both kinds from each of these workers; strangers are turned away."""
    found |= {rank: {} for rank in ranks}
    while any(len(both) < len(_KINDS) for both in found.values()):
        door.settimeout(hello.left)
        try:
            link, _ = door.accept()
        except TimeoutError:
            missing = [str(rank) for rank, both in found.items() if len(both) < len(_KINDS)]
            raise RankforceError(f"workers {', '.join(missing)} did not come in time") from None
        known = _know(link, hello)
        if known is None or known[0] not in ranks:
            link.close()
        else:
            rank, kind = known
            if kind in found[rank]:  # it lost patience, and came again
                found[rank][kind].close()
            found[rank][kind] = _quick(link)


def _know(link: socket.socket, hello: Hello) -> tuple[int, int] | None:
    """Rank and kind of who calls, if it knows the token."""
    nonce = os.urandom(_NONCE)
    try:
        link.settimeout(min(_PATIENCE, hello.left))
        link.sendall(nonce)
        said = read_exactly(link, 5 + _PROOF)
        kind, rank = said[0], int.from_bytes(said[1:5], "little")
        if not hmac.compare_digest(said[5:], hello.proof(nonce, kind, rank)):
            return None
        link.sendall(hello.proof(said[5:], kind, 0))
    except (OSError, EOFError):
        return None
    return rank, kind


def _quick(link: socket.socket) -> socket.socket:
    """Small messages go at once."""
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return link


def _tell_port(link: socket.socket, port: int, hello: Hello) -> list[Address]:
    """Tell worker 0 where this one listens; it answers with all addresses."""
    link.settimeout(hello.left)
    try:
        _send(link, port)
        return [(host, number) for host, number in _read(link)]
    except (OSError, EOFError) as error:
        raise RankforceError(f"worker 0 does not say who else is there: {error}") from None


def _tell_addresses(
    addresses: Sequence[Address], found: dict[int, dict[int, socket.socket]], hello: Hello
) -> list[Address]:
    """Hear where each worker listens, and tell all."""
    known = list(addresses)
    try:
        for rank, both in found.items():
            both[VALUES].settimeout(hello.left)
            known[rank] = known[rank][0], _read(both[VALUES])
        for both in found.values():
            _send(both[VALUES], known)
    except (OSError, EOFError) as error:
        raise RankforceError(f"a worker left before all were there: {error}") from None
    return known


def _send(link: socket.socket, value: Any) -> None:
    text = json.dumps(value).encode()
    link.sendall(len(text).to_bytes(4, "little") + text)


def _read(link: socket.socket) -> Any:
    return json.loads(read_exactly(link, int.from_bytes(read_exactly(link, 4), "little")))


def read_exactly(link: socket.socket, count: int) -> bytes:
    """So many bytes; an error if the connection ends before."""
    found = b""
    while len(found) < count:
        part = link.recv(count - len(found))
        if not part:
            raise EOFError("the connection was closed")
        found += part
    return found
