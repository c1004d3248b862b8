"""A tree while it grows on bins: in one thread, in several, or on the rows of a team.

Sums of integers are exact: the tree is the same each time.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.team import Team, add_up
from rankforce.common.threads import get_pool
from rankforce.common.types import Floats
from rankforce.kernels import growing as kernels
from rankforce.kernels.splits import BEGIN, COUNT, END, FORCE, HESSIAN, SET, WORDS

SMALL = 1 << 20  # values of rows and columns below which one thread grows a tree faster
PARTED = 1 << 14  # rows of a leaf above which threads share them out


class Part(NamedTuple):
    """Rows and columns that a tree sees, with their bins in blocks of columns."""

    rows: NDArray[np.int32]
    columns: NDArray[np.int64]  # by their numbers among those that have bins
    edge: NDArray[np.int64]  # the first of the columns of each block, and their number
    bins: NDArray[np.uint8]


class Frame(NamedTuple):
    """What holds for every tree."""

    most: int  # leaves
    deepest: int
    shift: int  # a column has 2^shift bins in histograms
    chunk: int  # rows whose sums need few bits


class Growth:
    """What a tree is while it grows: see `kernels.growing`."""

    def __init__(
        self,
        part: Part,
        frame: Frame,
        many: NDArray[np.int64],
        kind: NDArray[np.int64],
        totals: NDArray[np.int64],
    ) -> None:
        rows, blocks, most = len(part.rows), len(part.edge) - 1, frame.most
        self.count = 1  # leaves
        self.order = np.empty(rows, np.int32)
        self.leaves = np.empty((most, 6), np.int64)
        self.nodes = np.empty((most - 1, SET + WORDS), np.int64)
        self.worth = np.empty((most - 1, 4))
        self._part, self._frame, self._totals = part, frame, totals
        self._many, self._kind = many, kind
        self._spare = np.empty(rows, np.int32)
        self._gains = np.empty((blocks, most))
        self._splits = np.zeros((blocks, most, SET + WORDS), np.int64)
        self._parents = np.empty((most, 2), np.int64)
        self._blocks = range(blocks)

    def grow(self, packed: NDArray[np.int32], rules: Floats, *, threads: int, team: Team) -> int:
        """Grow it by these forces; the number of its leaves."""
        part, frame = self._part, self._frame
        kernels.start(packed, self.order, self.leaves)
        if team.size > 1 or (threads > 1 and len(part.bins) >= SMALL):
            self._grow_in_steps(packed, rules, threads, team)
        else:
            self.count = kernels.grow(
                frame.most, frame.deepest, part.bins, part.edge, packed, self._many, self._kind,
                frame.shift, frame.chunk, rules, self.order, self._spare, self.leaves,
                self._totals, self._gains, self._splits, self.nodes, self._parents, self.worth,
            )  # fmt: skip
        return self.count

    def _grow_in_steps(
        self, packed: NDArray[np.int32], rules: Floats, threads: int, team: Team
    ) -> None:
        """Leaf by leaf, each in threads."""
        look = self._look if team.size == 1 else self._look_together
        known = [FORCE, HESSIAN, COUNT]
        self.leaves[0, known] = add_up(team, self.leaves[0, known])
        self.count, leaf, other, rows = 1, 0, -1, 0
        while True:
            look(leaf, other, rows, packed, rules, threads, team)
            block, leaf = kernels.choose(
                self.count, self._frame.deepest, self.leaves, self._gains, self._splits,
                self.nodes, self._parents, self.worth,
            )  # fmt: skip
            if leaf < 0:
                return
            other, rows = self.count, int(self.leaves[leaf, COUNT])
            self._divide(block, leaf, other, threads)
            self.count += 1
            if self.count == self._frame.most:
                self._count_together(leaf, other, rows, team)
                return

    def _look(
        self, leaf: int, other: int, rows: int, packed: NDArray[np.int32], rules: Floats,
        threads: int, team: Team,
    ) -> None:  # fmt: skip
        """Find the best splits of two new leaves, or of the first."""

        def examine(block: int) -> None:
            kernels.examine(
                block, leaf, other, self._part.bins, self._part.edge, packed, self.order,
                self._many, self._kind, self._frame.shift, self._frame.chunk, rules,
                self.leaves, self._totals, self._gains, self._splits,
            )  # fmt: skip

        get_pool(threads).map(examine, self._blocks)

    def _look_together(
        self, leaf: int, other: int, rows: int, packed: NDArray[np.int32], rules: Floats,
        threads: int, team: Team,
    ) -> None:  # fmt: skip
        """The same by the histograms of all workers, each of its own rows."""
        seconds = self.leaves[:, HESSIAN]
        smaller = other if other >= 0 and seconds[other] < seconds[leaf] else leaf

        def fill(block: int) -> None:
            kernels.fill(
                block, leaf, other, smaller, self._part.bins, self._part.edge, packed, self.order,
                self._frame.shift, self._frame.chunk, self.leaves, self._totals, self._splits,
            )  # fmt: skip

        def weigh(block: int) -> None:
            kernels.weigh(
                block, leaf, other, smaller, self._part.edge, self._many, self._kind,
                self._frame.shift, rules, self.leaves, self._totals, self._gains, self._splits,
            )  # fmt: skip

        get_pool(threads).map(fill, self._blocks)
        fresh = self._totals[leaf if other < 0 else other]
        own = self.leaves[smaller, END] - self.leaves[smaller, BEGIN]
        found = add_up(team, np.append(fresh, own))
        fresh[:] = found[:-1]
        if other >= 0:
            self._set_counts(smaller, leaf + other - smaller, int(found[-1]), rows)
        get_pool(threads).map(weigh, self._blocks)

    def _count_together(self, leaf: int, other: int, rows: int, team: Team) -> None:
        """Count the rows of the last two leaves, whose histograms nobody needs."""
        own = self.leaves[leaf, END] - self.leaves[leaf, BEGIN]
        self._set_counts(leaf, other, int(add_up(team, np.array([own]))[0]), rows)

    def _set_counts(self, one: int, other: int, count: int, rows: int) -> None:
        self.leaves[one, COUNT] = count
        self.leaves[other, COUNT] = rows - count

    def _divide(self, block: int, leaf: int, other: int, threads: int) -> None:
        """Make two leaves of one."""
        begin, end = self.leaves[leaf, : END + 1].tolist()
        parts = threads if end - begin > PARTED else 1
        bounds = np.linspace(begin, end, parts + 1).astype(np.int64)
        rows = (self._part.bins, self._part.edge, self._many, self.order, self._spare, self._splits)

        def divide(bounds: tuple[int, int]) -> int:
            return int(kernels.part(*bounds, block, leaf, *rows))

        lefts = np.array(get_pool(threads).map(divide, itertools.pairwise(bounds.tolist())))
        kernels.join(
            block, leaf, other, bounds, lefts, self.order, self._spare, self.leaves, self._splits
        )
