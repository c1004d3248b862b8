"""A tree of an engine that grows it while one waits, as one that grows on the GPU by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankforce.engines.base import Grown
from rankforce.forces.cuda import Shared
from rankforce.models.forest.tree import Tree
from rankforce.training.forces import leaf_steps


class Sown:
    """What `engines.cuda.planted.Planted` is for our own engine."""

    def __init__(
        self, engine: Any, grown: Grown | None, device: Any, *, l1: float, l2: float
    ) -> None:
        self._engine, self._grown, self._device = engine, grown, device
        self._l1, self._l2 = l1, l2
        self.leaf = None if grown is None else grown.leaf

    def is_to_go_on(self) -> bool:
        """It is there."""
        return False

    @property
    def is_there(self) -> bool:
        """Whether a split was worth it."""
        return self._grown is not None

    def tree(self) -> Tree:
        """The tree."""
        assert self._grown is not None
        return self._grown.tree

    def set_values(
        self,
        lam: Any,
        hess: Any,
        *,
        rate: float,
        share: Callable[[Any, int], Shared] | None,
    ) -> Any:
        """Values of leaves, on the device; None without a tree."""
        if self._grown is None:
            return None
        tree, leaf = self._grown
        values = tree.leaf_value
        if not self._engine.leaf_rules:
            taken, here = share(leaf, tree.leaves) if share else (0.0, 0.0)
            # Row by row: where all pairs are within a leaf, nothing is left, not even of rounding.
            force, second = self._engine.rows.sum_leaves(leaf, tree.leaves, lam, hess - taken)
            values = leaf_steps(force, np.maximum(second - here, 0.0), l1=self._l1, l2=self._l2)
        return self._device.upload(rate * values)

    def route(self, rows: Any) -> Any:
        """The leaf of every row of another data set."""
        assert self._grown is not None
        return rows.route(self._grown.tree)[0]
