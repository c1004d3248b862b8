"""What LightGBM says of a tree of several workers, as one who has all rows would."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.team import Team
from rankforce.common.types import Floats
from rankforce.models.forest.tree import Tree


def in_forces(tree: Tree, step: float, step_hess: float) -> Tree:
    """The tree of forces that were counted in steps."""
    step_value = step / step_hess if step_hess > 0.0 else 0.0
    scales = {"gain": step * step_value, "value": step_value, "weight": step_hess}
    found = {name: _shown(scale * tree.details[name]) for name, scale in scales.items()}
    found["leaf_weight"] = step_hess * tree.details["leaf_weight"]
    return _with_details(tree, found, step_value * tree.leaf_value)


def with_counts(tree: Tree, leaf: NDArray[np.int32], team: Team) -> Tree:
    """The tree with the rows of all workers counted; LightGBM's are guessed from hessians.

    Where workers vote on features, each has other values of nodes: those of worker 0 are kept.
    """
    told = team.gather([np.bincount(leaf, minlength=tree.leaves), tree.details["value"]])
    count = np.zeros(len(tree.feature), np.int64)
    by_leaf = np.sum([own for own, _ in told], axis=0)
    for node in reversed(range(len(count))):  # children come behind their parents
        for child in (tree.left[node], tree.right[node]):
            count[node] += by_leaf[~child] if child < 0 else count[child]
    found = {"count": count, "leaf_count": by_leaf, "value": told[0][1]}
    return _with_details(tree, found, tree.leaf_value)


def _with_details(tree: Tree, changed: dict[str, NDArray[Any]], leaf_value: Floats) -> Tree:
    details = {**tree.details, **changed}
    return dataclasses.replace(tree, leaf_value=leaf_value, details=details, lines={})


def _shown(values: Floats) -> Floats:
    """The values as a model's text has them, so that they are the same when it is read."""
    return np.array([float(f"{value:g}") for value in values.tolist()])
