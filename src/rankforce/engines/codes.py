"""Trees that were grown on the numbers of bins."""

from __future__ import annotations

import dataclasses

import numpy as np

from rankforce.data.binned import Binned
from rankforce.models.forest.tree import Tree


def with_ends(tree: Tree, binned: Binned) -> Tree:
    """The tree with ends of bins in place of numbers of bins."""
    edges = binned.edges
    code = np.clip(np.floor(tree.threshold), 0, edges.many[tree.feature] - 1).astype(np.int64)
    lines = {key: text for key, text in tree.lines.items() if key != "threshold"}
    threshold = edges.ends[edges.starts[tree.feature] + code]
    return dataclasses.replace(tree, threshold=threshold, lines=lines)
