"""Trees from a file, before a kernel walks them."""

from __future__ import annotations

import numpy as np

from rankforce.trees.tree import Tree


def check_trees(trees: list[Tree], features: int) -> None:
    """Refuse trees that would lead a kernel astray: every path must end in a leaf of the tree."""
    for number, tree in enumerate(trees):
        nodes = tree.leaves - 1
        names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
        lengths = {len(tree.numbers(name, float)) for name in names}
        if nodes and lengths != {nodes}:
            raise ValueError(f"tree {number} has {tree.leaves} leaves, but not {nodes} nodes")
        if not nodes:
            continue
        feature = tree.numbers("split_feature", np.int64)
        child = np.stack([tree.numbers(name, np.int64) for name in names[3:]])
        # LightGBM numbers nodes as they are split, so a child comes after its parent.
        inner = child >= 0
        is_good = np.where(inner, (child > np.arange(nodes)) & (child < nodes), ~child <= nodes)
        if not is_good.all() or feature.min() < 0 or feature.max() >= features:
            raise ValueError(f"tree {number} is damaged: a node points nowhere")
        if np.isnan(tree.numbers("threshold", np.float64)).any():
            raise ValueError(f"tree {number} is damaged: a threshold is no number")
        _check_categories(number, tree)


def _check_categories(number: int, tree: Tree) -> None:
    kind = tree.numbers("decision_type", np.int64)
    which = tree.numbers("threshold", np.float64)[kind & 1 != 0]
    if not which.size:
        return
    bounds = tree.numbers("cat_boundaries", np.int64)
    words = len(tree.numbers("cat_threshold", np.int64))
    in_range = which.min() >= 0 and which.max() < len(bounds) - 1
    if not in_range or np.diff(bounds).min() < 0 or bounds[0] < 0 or bounds[-1] > words:
        raise ValueError(f"tree {number} is damaged: a set of categories is missing")
