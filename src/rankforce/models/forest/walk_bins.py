"""Where rows of bins go in trees whose thresholds are ends of these bins."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.kernels.trees import NAN_LEFT
from rankforce.models.forest.tree import Nodes


def route_bins(
    nodes: Nodes,
    number: int,
    binned: Binned,
    leaf: NDArray[np.int32],
    rows: NDArray[np.int64] | None = None,
    *,
    threads: int,
) -> None:
    """The leaf of all rows, or of some, in one of the trees, into `leaf`."""
    found = _nodes_of_bins(nodes, number, binned)
    if len(found):
        binned.walk(found, leaf, rows, threads=threads)
    else:
        leaf[slice(None) if rows is None else rows] = 0


def add_bin_scores(nodes: Nodes, binned: Binned, scores: Floats, *, threads: int) -> None:
    """Add the scores of a forest to `scores`, trees in order."""
    leaf = np.empty(binned.shape[0], np.int32)
    for number in range(len(nodes.node_start)):
        route_bins(nodes, number, binned, leaf, threads=threads)
        values = nodes.leaf_value[nodes.leaf_start[number] : nodes.leaf_start[number + 1]]
        scores += values[leaf]


def _nodes_of_bins(nodes: Nodes, number: int, binned: Binned) -> NDArray[np.int64]:
    """The nodes of a tree, as `Binned.walk` takes them.

    A threshold inside a bin would send part of it elsewhere: that is an error.
    """
    begin = nodes.node_start[number]
    end = begin + nodes.leaf_start[number + 1] - nodes.leaf_start[number] - 1
    place = {column: own for own, column in enumerate(binned.columns.tolist())}
    limits = binned.limits
    found = np.empty((end - begin, 5), np.int64)
    for node in range(begin, end):
        feature, left, right, flags = nodes.nodes[node].tolist()
        threshold = nodes.thresholds[node]
        own = place.get(feature)
        last = 0 if own is None else int(np.searchsorted(limits[own], threshold))
        if own is None or flags & ~NAN_LEFT or limits[own][last : last + 1] != threshold:
            name = binned.names[feature] if binned.names else f"Column_{feature}"
            raise RankforceError(
                f"feature {name!r} is split at {threshold:g}, where no bin of {binned.place} ends: "
                "bins serve models that were trained on them; give the data that they were made of"
            )
        found[node - begin] = own, last, flags & NAN_LEFT, left, right
    return found
