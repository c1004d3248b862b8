"""Where rows go in trees."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import run_rows
from rankforce.data.binned import Binned
from rankforce.data.sources import as_source
from rankforce.kernels import trees as kernels
from rankforce.models.forest.tree import Nodes, Tree, stack
from rankforce.models.forest.walk_bins import route_bins


def route(tree: Tree, nodes: Nodes, features: Any, *, threads: int) -> NDArray[np.int32]:
    """The leaf of every row in one tree.

    `nodes` is `stack([tree])`: made once for several data sets.
    """
    leaf = np.empty(features.shape[0], np.int32)
    if isinstance(features, Binned):
        route_bins(nodes, 0, features, leaf, threads=threads)
        return leaf
    for first, block in as_source(features).blocks():
        _route_block(tree, nodes, block, leaf[first : first + len(block)], threads)
    return leaf


def _route_block(
    tree: Tree, nodes: Nodes, block: Any, leaf: NDArray[np.int32], threads: int
) -> None:
    values, width = block.reshape(-1), block.shape[1]

    def work(first: int, last: int) -> None:
        kernels.route_block(first, last, width, values, 0, tree.leaves, *nodes[2:6], leaf)

    run_rows(work, len(block), threads)


def route_some(
    tree: Tree, features: Any, rows: NDArray[np.int64], leaf: NDArray[np.int32], *, threads: int
) -> None:
    """The leaf of some rows, into `leaf`."""
    nodes = stack([tree])
    if isinstance(features, Binned):
        route_bins(nodes, 0, features, leaf, rows, threads=threads)
        return
    if not isinstance(features, np.ndarray):
        leaf[rows] = route(tree, nodes, as_source(features).take(rows), threads=threads)
        return
    values, width = features.reshape(-1), features.shape[1]

    def work(first: int, last: int) -> None:
        kernels.route_rows(first, last, rows, width, values, *nodes[2:6], leaf)

    run_rows(work, len(rows), threads)


def count_splits(trees: Iterable[Tree], features: int) -> NDArray[np.int64]:
    """How many nodes split on each feature."""
    used = [tree.feature for tree in trees]
    return np.bincount(np.concatenate([*used, np.empty(0, np.int64)]), minlength=features)
