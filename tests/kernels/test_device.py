"""The GPU's memory and the processor's, without a GPU: a stand-in for CuPy says when copies end."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from rankforce.kernels.cuda.device import Device


class Pinned(bytearray):
    """Memory of CuPy's pool, which another copy gets once nobody holds it."""


def test_memory_of_a_copy_under_way_is_held_though_nobody_waits_for_it() -> None:
    cupy, rooms, events = MagicMock(), [], []

    def alloc(size: int) -> Pinned:
        room = Pinned(size)
        rooms.append(weakref.ref(room))
        return room

    def begin(**_: Any) -> MagicMock:
        events.append(MagicMock(done=False))
        return events[-1]

    cupy.cuda.alloc_pinned_memory.side_effect, cupy.cuda.Event.side_effect = alloc, begin
    array = SimpleNamespace(nbytes=16, dtype=np.dtype(np.float64), size=2, get=lambda **_: None)
    device = Device(cupy)
    wanted = device.fetch(array)
    device.fetch(array)
    gc.collect()
    assert all(room() is not None for room in rooms)
    for event in events:
        event.done = True
    device.fetch(array)
    gc.collect()
    assert [room() is not None for room in rooms] == [True, False, True]
    assert wanted.get().tolist() == [0.0, 0.0]
