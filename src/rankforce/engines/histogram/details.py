"""A tree of sums in steps as one of numbers, and what growing it knew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.edges import Edges
from rankforce.kernels.bins import CODED
from rankforce.models.forest.tree import (
    GOES_LEFT,
    IS_CATEGORICAL,
    MISSING_NAN,
    MISSING_SHIFT,
    Tree,
    pack_sets,
)


def describe(
    edges: Edges,
    feature: NDArray[np.int64],
    last: NDArray[np.int64],
    *,
    sets: NDArray[np.int64],
    nan_left: NDArray[np.int64],
    left: NDArray[np.int64],
    right: NDArray[np.int64],
    worth: NDArray[Any],
    ends: NDArray[Any],
    steps: tuple[float, float],
) -> Tree:
    """The tree whose nodes split these features behind these bins, or by `sets` of bins, in words.

    `worth` has gain, force, hessian and rows of each node, `ends` the last three of each leaf;
    `steps` are what integers count.
    """
    step, step_hess = steps
    is_coded = last == CODED
    threshold = edges.ends[edges.starts[feature] + np.maximum(last, 0)]
    threshold[is_coded] = np.arange(is_coded.sum())
    missing = np.where(edges.has_nan[feature] > 0, MISSING_NAN << MISSING_SHIFT, 0)
    is_left = (nan_left > 0) | (missing == 0)
    rule = (missing | np.where(is_left, GOES_LEFT, 0)).astype(np.int64)
    rule[is_coded] |= IS_CATEGORICAL
    coded = zip(feature[is_coded].tolist(), sets[is_coded], strict=True)
    found = pack_sets([_codes(edges.of(column), words) for column, words in coded])
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
    return Tree(feature, threshold, rule, left, right, value, 1.0, *found, details=details)


def _codes(codes: Floats, words: NDArray[np.int64]) -> NDArray[np.int64]:
    """Those of the codes of a column whose bins are in a set.

    >>> _codes(np.array([2.0, 5.0, 9.0]), np.array([0b101, 0, 0, 0])).tolist()
    [2, 9]
    """
    bits = np.unpackbits(words.astype("<i8").view(np.uint8), bitorder="little")
    return codes[np.flatnonzero(bits)].astype(np.int64)


def _shown(values: Floats) -> Floats:
    """The values as a model's text has them, so that they are the same when it is read."""
    return np.array([float(f"{value:g}") for value in values.tolist()])


def _values(force: Floats, second: Floats) -> Floats:
    found = np.zeros_like(force)
    np.divide(force, second, out=found, where=second > 1e-15)
    return found
