"""XGBoost on features that are in bins already: it gets the numbers of bins."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rankforce.data.binned import Binned
from rankforce.data.sources import Blocks, Rows, block_rows
from rankforce.engines.codes import with_ends
from rankforce.models.forest.tree import GOES_LEFT, Tree
from rankforce.models.forest.xgboost_tree import parse_tree, tree_record


class Codes:
    """Features in bins as a source of the numbers of their bins."""

    def __init__(self, binned: Binned) -> None:
        self._binned = binned
        self.shape = binned.shape

    def blocks(self, rows: int | None = None) -> Blocks:
        """Consecutive rows."""
        step = rows or block_rows(self.shape[1])
        for first in range(0, max(self.shape[0], 1), step):
            yield first, self.take(slice(first, first + step))

    def take(self, rows: Any) -> Rows:
        """Some rows."""
        return self._binned.codes(rows)


def in_values(tree: Tree, binned: Binned) -> Tree:
    """The tree with ends of bins in place of their numbers.

    It is numbered as it will be when it is read. Where all numbers go right, and missing values
    alone go left, children change sides: no bin ends below the first one.
    """
    is_none = tree.threshold < 0.0
    if is_none.any():
        left, right = (
            np.where(is_none, one, other)
            for one, other in ((tree.right, tree.left), (tree.left, tree.right))
        )
        tree = dataclasses.replace(
            tree,
            left=left,
            right=right,
            threshold=np.where(is_none, float(binned.many.max()), tree.threshold),
            rule=np.where(is_none, tree.rule & ~GOES_LEFT, tree.rule),
        )
    return parse_tree(tree_record(with_ends(tree, binned)))
