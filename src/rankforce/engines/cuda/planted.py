"""A tree that grows on the GPU, while the processor does something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.engines.cuda import arrays
from rankforce.engines.cuda.rows import BinRows
from rankforce.engines.histogram.details import describe
from rankforce.forces.cuda import Shared
from rankforce.kernels.cuda.launch import make_record
from rankforce.models.forest.on_gpu import largest_of, sum_bits
from rankforce.models.forest.tree import Tree

if TYPE_CHECKING:
    from rankforce.engines.cuda.engine import CudaTrees


class Planted:
    """A tree that was begun: rounds of growth, and what comes of them.

    What is launched behind it does nothing as long as the tree is not done: then `is_to_go_on`
    launches more rounds, and all that stands behind them must be launched once more.
    """

    def __init__(
        self,
        engine: CudaTrees,
        grow: NDArray[Any],
        forces: Any,  # with which it grows: forces and hessians
        bag: tuple[Any, Any] | None,  # rows that are in it, and the others
        again: Callable[[], Planted | None],
    ) -> None:
        self._engine, self._device = engine, engine.device
        self._grow, self._forces, self._bag = grow, forces, bag
        self._again: Any = again  # with other dice
        self._kept: Any = None
        self.is_there = False  # whether a split was worth it, as far as that is known
        self._head: Any = None
        self._result: Any = None
        self.leaf = engine.arrays.leaf
        self.most = engine.arrays.most

    def begin(self) -> None:
        """Launch the first rounds."""
        engine = self._engine
        sums = make_record(self._device, arrays.LEAVES_OF, {"sums": engine.arrays.sums})
        engine.run("begin_tree", 1, self._grow, sums)
        lam, hess = self._forces
        largest_of(self._device, lam, hess, engine.arrays.kept["largest"], engine.rows.rows)
        engine.run(
            "pack_rows",
            min(engine.shape.blocks, -(-engine.rows.rows // arrays.ROW_THREADS)),
            self._grow,
        )
        engine.rounds.begin()
        self._end_rounds()

    def _end_rounds(self) -> None:
        self._head = self._device.fetch(self._engine.arrays.kept["result"][: arrays.RESULT])

    def is_to_go_on(self) -> bool:
        """Wait for the rounds; True if there are more now, or other dice were thrown."""
        head = self._head.get()
        self._check(head)
        if not head[arrays.DONE]:
            self._engine.rounds.go_on()
            self._end_rounds()
            return True
        self._engine.rounds.end(int(head[arrays.ROUNDS]))
        self.is_there = bool(head[arrays.LEAVES] > 1)
        other = None if self.is_there else self._again()
        if other is not None:
            self._grow, self._head, self._again = other._grow, other._head, other._again
        elif self.is_there:
            self._forces = self._kept = self._again = None  # all that reads them was launched
        return other is not None

    def _check(self, head: NDArray[np.int64]) -> None:
        if head[[arrays.LARGEST, arrays.LARGEST_HESSIAN]].max() >= 0x7F800000:
            raise RankforceError(
                "forces are not finite: a lower learning_rate, or other weights, may help"
            )

    def set_values(
        self,
        lam: Any,
        hess: Any,
        *,
        rate: float,
        share: Callable[[Any, int], Shared] | None = None,
    ) -> Any:
        """Values of leaves by the sums of these forces: an array on the device.

        `share` tells what moving leaves as a whole takes from hessians, by the leaf of each row.
        """
        engine, device, own = self._engine, self._device, self._engine.arrays
        is_same = lam is self._forces[0] and hess is self._forces[1]
        leaves = self._sum_leaves(lam, hess, own.kept["largest"] if is_same else None, rate)
        if self._bag is not None:
            self._walk(engine.rows, self.leaf, self._bag[1])
        here: Any = None
        if share is not None:
            taken, found = share(self.leaf, self.most)
            # Row by row: where all pairs are within a leaf, nothing is left, not even of rounding.
            own.sums[:] = 0
            leaves = self._sum_leaves(lam, hess - taken, None, rate)
            here = device.upload(found)
            leaves["shared"] = device.pointer(here)
        engine.run("set_values", 1, self._grow, leaves)
        self._result = device.fetch(own.kept["result"])
        return own.values

    def _sum_leaves(self, lam: Any, hess: Any, largest: Any, rate: float) -> NDArray[Any]:
        """Tell the leaf of every row, and add up forces over each."""
        engine, device, own = self._engine, self._device, self._engine.arrays
        if largest is None:
            largest = device.zeros(2, np.uint32)
            largest_of(device, lam, hess, largest, engine.rows.rows)
        self._kept = lam, hess, largest  # as long as kernels read them
        given = {"lam": lam, "hess": hess, "largest": largest, "sums": own.sums}
        given["values"] = own.values
        bits = sum_bits(engine.rows.rows)
        leaves = make_record(device, arrays.LEAVES_OF, given, rate=rate, bits=bits)
        engine.run("end_tree", engine.shape.blocks, self._grow, leaves)
        return leaves

    def route(self, rows: BinRows) -> Any:
        """The leaf of every row of another data set."""
        leaf = self._device.empty(rows.rows, np.int32)
        self._walk(rows, leaf, None)
        return leaf

    def _walk(self, rows: BinRows, leaf: Any, some: Any) -> None:
        walk = self._grow.copy()
        pointer = self._device.pointer
        walk["bins"], walk["leaf"] = pointer(rows.bins), pointer(leaf)
        walk["bag"] = 0 if some is None else pointer(some)
        walk["rows"] = rows.rows
        walk["count"] = rows.rows if some is None else some.size
        blocks = min(self._engine.shape.blocks, -(-int(walk["count"]) // arrays.ROW_THREADS))
        self._engine.run("walk_bins", blocks, walk)

    def tree(self) -> Tree:
        """The tree, waited for."""
        words = self._result.get().reshape(-1, self._engine.arrays.result)
        count = int(words[0, arrays.LEAVES])
        nodes, leaves = words[1:count], words[self.most : self.most + count]
        steps = self._engine.steps(words[0])
        column, last, nan_left, leaf = nodes[:, :4].T
        left, right = children(leaf)
        gain = nodes[:, arrays.GAIN].copy().view(np.float64)
        worth = np.column_stack([gain, nodes[:, arrays.FORCE : arrays.RESULT]])
        return describe(
            self._engine.edges,
            self._engine.columns[column],
            last,
            sets=nodes[:, arrays.RESULT :],
            nan_left=nan_left,
            left=left,
            right=right,
            worth=worth,
            ends=leaves[:, arrays.FORCE : arrays.RESULT],
            steps=steps,
        )


def children(leaf: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Children of nodes that split these leaves, one after the other; ~leaf, or a node.

    >>> [side.tolist() for side in children(np.array([0, 1, 0]))]
    [[2, -2, -1], [1, -3, -4]]
    """
    left, right = ~leaf, ~np.arange(1, len(leaf) + 1)
    parents: dict[int, tuple[NDArray[np.int64], int]] = {}
    for node, own in enumerate(leaf.tolist()):
        if node:
            side, parent = parents[own]
            side[parent] = node
        parents[own] = left, node
        parents[node + 1] = right, node
    return left, right
