"""Trees without zeros that count as missing values, for forms that have no such rule."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from rankforce.data.precision import floor_float32
from rankforce.kernels.trees import ZERO
from rankforce.models.export.shape import ZEROS, refuse, used_trees
from rankforce.models.forest.tree import (
    GOES_LEFT,
    MISSING_NAN,
    MISSING_SHIFT,
    MISSING_ZERO,
    Tree,
)
from rankforce.models.model import Model


def without_zeros(model: Model, to: str) -> list[Tree]:
    """The trees that make the scores, none of which takes zeros for missing values.

    Where zeros go the way of their neighbours on one side, a threshold says the same; else the node
    is refused.
    """
    names = model.feature_names
    return [
        _without_zeros(tree, number, names, to) for number, tree in enumerate(used_trees(model, to))
    ]


def _without_zeros(tree: Tree, number: int, names: Sequence[str], to: str) -> Tree:
    is_zero = ((tree.rule >> MISSING_SHIFT) & 3 == MISSING_ZERO) & ~tree.is_categorical
    if not is_zero.any():
        return tree
    most, goes_left = floor_float32(tree.threshold), tree.rule & GOES_LEFT != 0
    cannot = is_zero & np.where(goes_left, most < -ZERO, most > ZERO)
    for node in np.flatnonzero(cannot)[:1].tolist():
        refuse(to, number, node, names[tree.feature[node]], ZEROS)
    # All that counts as 0 is on one side.
    beside = np.where(goes_left, ZERO, np.nextafter(-ZERO, np.float32(-1)))
    threshold = np.where(is_zero & (np.abs(most) <= ZERO), beside, tree.threshold)
    rule = np.where(is_zero, (MISSING_NAN << MISSING_SHIFT) | tree.rule & GOES_LEFT, tree.rule)
    return dataclasses.replace(tree, threshold=threshold, rule=rule, lines={})
