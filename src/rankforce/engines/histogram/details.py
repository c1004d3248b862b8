"""A tree of sums in steps as one of numbers, and what growing it knew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.models.forest.tree import GOES_LEFT, MISSING_NAN, MISSING_SHIFT, Tree


def describe(
    feature: NDArray[np.int64],
    threshold: Floats,
    has_nan: NDArray[np.int64],
    *,
    nan_left: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    worth: NDArray[Any],
    ends: NDArray[Any],
    steps: tuple[float, float],
) -> Tree:
    """The tree whose nodes split these features behind these thresholds.

    `worth` has gain, force, hessian and rows of each node, `ends` the last three of each leaf;
    `steps` are what integers count.
    """
    step, step_hess = steps
    missing = np.where(has_nan > 0, MISSING_NAN << MISSING_SHIFT, 0)
    is_left = (nan_left > 0) | (missing == 0)
    rule = (missing | np.where(is_left, GOES_LEFT, 0)).astype(np.int64)
    gain, force, second, rows = worth.T
    own_force, own_second, own_rows = ends.T
    weight = own_second * step_hess
    details = {
        "gain": _shown(gain),
        "value": _shown(_values(force * step, second * step_hess)),
        "weight": _shown(second * step_hess),
        "count": rows.astype(np.int64),
        "leaf_weight": weight,
        "leaf_count": own_rows.copy(),
    }
    value = _values(own_force * step, weight)
    return Tree(feature, threshold, rule, left, right, value, details=details)


def _shown(values: Floats) -> Floats:
    """The values as a model's text has them, so that they are the same when it is read."""
    return np.array([float(f"{value:g}") for value in values.tolist()])


def _values(force: Floats, second: Floats) -> Floats:
    found = np.zeros_like(force)
    np.divide(force, second, out=found, where=second > 1e-15)
    return found
