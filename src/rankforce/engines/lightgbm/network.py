"""LightGBM's learner for several machines, over the connections of a team.

LightGBM has sockets of its own: a peer that is gone makes it wait for ever, or ends the process.
It also takes two functions in their place, one that adds up histograms and one that passes on
splits: those here are a team's, so that a lost worker is an error like any other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rankforce.common.team import Team
from rankforce.engines.lightgbm.library import import_lightgbm

_SIZE = ctypes.c_int32
_SIZES = ctypes.POINTER(_SIZE)
_POINTER = ctypes.c_void_p
# reducer(from, into, size of a number, bytes)
_REDUCER = ctypes.CFUNCTYPE(None, _POINTER, _POINTER, ctypes.c_int, _SIZE)
# sum(from, bytes, size of a number, starts, lengths, blocks, into, bytes, reducer)
_SUM = ctypes.CFUNCTYPE(
    None, _POINTER, _SIZE, ctypes.c_int, _SIZES, _SIZES, ctypes.c_int, _POINTER, _SIZE,
    ctypes.POINTER(_REDUCER),
)  # fmt: skip
# pass_on(from, bytes, starts, lengths, blocks, into, bytes)
_PASS_ON = ctypes.CFUNCTYPE(
    None, _POINTER, _SIZE, _SIZES, _SIZES, ctypes.c_int, _POINTER, _SIZE
)  # fmt: skip


class Network:
    """What LightGBM's calls talk to while it is open; outside of that, it knows of one machine."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._error: BaseException | None = None
        self._functions = _SUM(self._sum), _PASS_ON(self._pass_on)  # LightGBM has their addresses

    @contextmanager
    def open(self) -> Iterator[None]:
        """LightGBM is one of several machines, in this thread; a lost worker is told at the end."""
        if self._team.size == 1:
            yield
            return
        library = import_lightgbm().basic._LIB
        functions = [ctypes.cast(one, _POINTER) for one in self._functions]
        library.LGBM_NetworkInitWithFunctions(self._team.size, self._team.rank, *functions)
        try:
            yield
        except Exception:
            self._complain()  # what LightGBM says of sums that it did not get is not why
            raise
        finally:
            library.LGBM_NetworkFree()
        self._complain()

    def _complain(self) -> None:
        if self._error is not None:
            raise self._error

    def _sum(
        self, given: int, _bytes: int, size: int, starts: Any, lengths: Any, blocks: int,
        into: int, _room: int, reducer: Any,
    ) -> None:  # fmt: skip
        """Add up this worker's block, in the order of ranks."""
        own = lengths[self._team.rank]
        spans = [(starts[rank], lengths[rank]) for rank in range(blocks)]
        parts = self._exchange([_view(given + start, length) for start, length in spans])
        if parts is None:
            ctypes.memset(into, 0, own)  # no split is worth anything: the tree ends soon
            return
        for rank, part in enumerate(parts):
            source = (ctypes.c_char * own).from_buffer(part)
            if rank:
                reducer[0](ctypes.addressof(source), into, size, own)
            else:
                ctypes.memmove(into, source, own)

    def _pass_on(
        self, given: int, length: int, starts: Any, lengths: Any, blocks: int, into: int, _room: int
    ) -> None:
        """Every worker's block, one behind the other."""
        own = bytes(_view(given, length))
        parts = self._exchange([own] * blocks) or [own] * blocks
        for rank, part in enumerate(parts):
            ctypes.memmove(into + starts[rank], bytes(part), min(lengths[rank], len(part)))

    def _exchange(self, parts: list[Any]) -> list[Any] | None:
        """What the workers have for this one; None once something went wrong.

        An error must not leave a function that LightGBM calls: the tree comes to an end without
        the others, and then it is raised.
        """
        if self._error is not None:
            return None
        try:
            return self._team.exchange(parts)
        except BaseException as error:
            self._error = error
            return None


def _view(address: int, length: int) -> memoryview:
    return memoryview((ctypes.c_char * length).from_address(address)).cast("B")
