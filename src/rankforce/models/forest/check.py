"""Trees from a file, before a kernel walks them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.models.forest.tree import GOES_LEFT, IS_CATEGORICAL, MISSING_SHIFT, Tree

RULES = IS_CATEGORICAL | GOES_LEFT | 3 << MISSING_SHIFT  # all bits that a rule may have


def check_trees(trees: Sequence[Tree], features: int) -> None:
    """Refuse trees that would lead a kernel astray: every path must end in a leaf of the tree."""
    for number, tree in enumerate(trees):
        nodes = tree.leaves - 1
        if {len(a) for a in (tree.feature, tree.threshold, tree.rule, tree.left)} != {nodes}:
            raise RankforceError(f"tree {number} has {tree.leaves} leaves, but not {nodes} nodes")
        if not nodes:
            continue
        child = np.stack([tree.left, tree.right])
        # LightGBM numbers nodes as they are split, so a child comes after its parent.
        inner = child >= 0
        is_good = np.where(inner, (child > np.arange(nodes)) & (child < nodes), ~child <= nodes)
        if not is_good.all() or tree.feature.min() < 0 or tree.feature.max() >= features:
            raise RankforceError(f"tree {number} is damaged: a node points nowhere")
        if np.isnan(tree.threshold).any() or tree.rule.min() < 0 or tree.rule.max() > RULES:
            raise RankforceError(f"tree {number} is damaged: a threshold or a rule is no number")
        _check_categories(number, tree)


def _check_categories(number: int, tree: Tree) -> None:
    which = tree.threshold[tree.is_categorical]
    if not which.size:
        return
    bounds = tree.sets
    in_range = which.min() >= 0 and which.max() < len(bounds) - 1
    if not in_range or np.diff(bounds).min() < 0 or bounds[0] < 0 or bounds[-1] > len(tree.words):
        raise RankforceError(f"tree {number} is damaged: a set of categories is missing")
