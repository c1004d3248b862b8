"""Rounds of growth, some of them as one launch: all trees of a run give their kernels the same."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rankforce.engines.cuda.arrays import PART_ROWS, PART_SHARED, Shape, launch

# Rounds that are launched as one. On an H200 a launch takes 12 microseconds of the processor, and
# the kernels of a tree of 31 leaves took less time than their 60 launches.
AT_ONCE = 4
FIRST = 12  # rounds of the first tree, before it is known how many they need
# Rounds beyond those of the tree before. One that is missing costs a wait, and forces for nothing:
# on an H200 a tree of 31 leaves took 1.84 ms with one, 1.80 with three, and 1.79 with six.
SPARE = 3


class Sizes(NamedTuple):
    """How much there is for kernels to do."""

    rows: int
    leaves: int
    groups: int  # of columns
    count_bytes: int  # of shared memory
    split_bytes: int
    plan_bytes: int


class _Kernel(NamedTuple):
    name: str
    blocks: int
    shared: int


class Rounds:
    """Launches the rounds of trees that grow in the same memory."""

    def __init__(self, device: Any, shape: Shape, grow: NDArray[Any], sizes: Sizes) -> None:
        def repeated(kernels: Sequence[_Kernel]) -> Any:
            return device.repeated(partial(_launch_all, device, shape, grow, kernels))

        self._at_once = min(AT_ONCE, sizes.leaves)
        pieces = -(-sizes.rows // PART_ROWS) + sizes.leaves
        part = _Kernel("part_rows", min(pieces, shape.blocks), PART_SHARED)
        every = [part, *_of_new_leaves(shape, sizes, sizes.leaves - 1)]
        self._first = repeated([*_of_new_leaves(shape, sizes, 1), *(self._at_once - 1) * every])
        self._more = repeated(self._at_once * every)
        self._expected = FIRST

    def begin(self) -> None:
        """As many as the tree before needed, and some."""
        self._first()
        for _ in range(-(-self._expected // self._at_once) - 1):
            self._more()

    def go_on(self) -> None:
        """Some more."""
        self._more()

    def end(self, needed: int) -> None:
        """Learn how many a tree needed."""
        self._expected = needed + SPARE


def _of_new_leaves(shape: Shape, sizes: Sizes, pairs: int) -> list[_Kernel]:
    """Histograms and splits of new leaves, and what is split next."""
    blocks = min(2 * pairs * sizes.groups, shape.blocks)
    return [
        _Kernel("count_rows", shape.workers, sizes.count_bytes),
        _Kernel("find_splits", blocks, sizes.split_bytes),
        _Kernel("plan_round", 1, sizes.plan_bytes),
    ]


def _launch_all(device: Any, shape: Shape, grow: NDArray[Any], kernels: Sequence[_Kernel]) -> None:
    for one in kernels:
        launch(device, shape, one.name, one.blocks, grow, shared=one.shared)
