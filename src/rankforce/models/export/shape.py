"""What exporters share: trees as plain comparisons, and what a format cannot say.

Rows are float32 in a model. So `x <= t` is the same for every one of them as `x <= floor32(t)`,
and as `x < next_above(t)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.precision import floor_float32
from rankforce.kernels.trees import ZERO
from rankforce.models.base import FORESTS, NETWORK
from rankforce.models.forest.tree import (
    GOES_LEFT,
    MISSING_NAN,
    MISSING_SHIFT,
    MISSING_ZERO,
    Ints,
    Tree,
)
from rankforce.models.model import Model
from rankforce.models.network.contributions import weighted_forest

# JSON has no infinity. This is beyond float32: who reads a float32 has infinity, others compare.
FAR = 1e39
# What a node may need, and the formats that can say it.
CATEGORIES, ZEROS, MISSING = "categories", "zeros", "missing"
ABLE = {
    CATEGORIES: ("c", "onnx", "treelite", "xgboost"),
    ZEROS: ("c",),
    MISSING: ("c", "elasticsearch", "onnx", "solr", "treelite", "vespa", "xgboost"),
}


class PlainTree(NamedTuple):
    """A tree whose nodes compare numbers; a row goes left where its value is at most `most`."""

    feature: Ints
    most: NDArray[np.float32]  # infinite where the threshold is beyond float32
    nan_left: NDArray[np.bool_]  # where a missing value goes
    left: Ints  # a child below 0 is ~leaf
    right: Ints
    leaf_value: Floats
    threshold: Floats  # as the model has it, for formats that hold float64; finite

    @property
    def below(self) -> Floats:
        """A row goes left where its value is below this: float32 numbers, or `FAR`."""
        return np.minimum(_next(self.most).astype(np.float64), FAR)


def used_trees(model: Model, to: str) -> list[Tree]:
    """The trees that make the scores, once nothing else makes them."""
    check_alone(model, to)
    if model.scorer.kind == NETWORK and model.scorer.forest is not None:
        return list(weighted_forest(model.scorer, model.used).trees)
    if model.scorer.kind not in FORESTS:
        raise RankforceError(
            f"to is {to!r}, which holds trees: this model is a {model.scorer.kind} (to='onnx' "
            "takes networks)"
        )
    return list(model.trees[: model.used])


def check_alone(model: Model, to: str) -> None:
    """Refuse a model whose scores need more than its file: no format has a place for that."""
    if model.base is not None or model.base_mark is not None:
        raise RankforceError(
            f"to is {to!r}: the scores begin with those of another model (base), which the file "
            "cannot hold: export both, add their scores, or train without base"
        )
    if model.scorer.needs_lists:
        raise RankforceError(
            f"to is {to!r}: the score of a document depends on the others of its query, which the "
            "format cannot say: 'rankforce serve' answers with whole lists"
        )
    stands = model.parameters.get("missing")
    if stands is not None:
        raise RankforceError(
            f"to is {to!r}: the model takes {stands:g} for a missing value (missing={stands:g}), "
            "which the format cannot say: train on data with NaN in its place"
        )


def plain_trees(model: Model, to: str, *, has_missing: bool = True) -> list[PlainTree]:
    """The trees that make the scores as plain comparisons, or a refusal that names the node.

    Without `has_missing`, the format has no way for missing values: those of the model must go
    where 0 goes, as they do in models that were trained without any.
    """
    names = model.feature_names
    return [
        _plain(tree, number, names, to, has_missing)
        for number, tree in enumerate(used_trees(model, to))
    ]


def _plain(tree: Tree, number: int, names: Sequence[str], to: str, has_missing: bool) -> PlainTree:
    for node in np.flatnonzero(tree.is_categorical)[:1]:
        refuse(to, number, node, names[tree.feature[node]], CATEGORIES)
    kind = (tree.rule >> MISSING_SHIFT) & 3
    goes_left = tree.rule & GOES_LEFT != 0
    most = floor_float32(tree.threshold)
    nan_left = np.where(kind == MISSING_NAN, goes_left, tree.threshold >= 0.0)
    threshold = tree.threshold.copy()
    if (kind == MISSING_ZERO).any():
        cannot = (kind == MISSING_ZERO) & np.where(goes_left, most < -ZERO, most >= ZERO)
        for node in np.flatnonzero(cannot)[:1]:
            refuse(to, number, node, names[tree.feature[node]], ZEROS)
        near = (kind == MISSING_ZERO) & (np.abs(most) <= ZERO)
        # All that counts as 0 is on one side.
        most = np.where(near, np.where(goes_left, ZERO, -_next(ZERO)), most)
        threshold = np.where(near, most, threshold)
        nan_left = np.where(kind == MISSING_ZERO, goes_left, nan_left)
    if not has_missing:
        for node in np.flatnonzero(nan_left != (most >= 0.0))[:1]:
            refuse(to, number, node, names[tree.feature[node]], MISSING)
    held = np.clip(threshold, -FAR, FAR)
    return PlainTree(tree.feature, most, nan_left, tree.left, tree.right, tree.leaf_value, held)


_WHAT = {
    CATEGORIES: "asks for categories",
    ZEROS: "takes zeros for missing values and sends them another way than their neighbours",
    MISSING: "sends missing values another way than 0",
}


def refuse(to: str, tree: int, node: int, feature: str, what: str) -> None:
    """Say which node the format cannot say, and what to do."""
    able = [repr(name) for name in ABLE[what] if name != to]
    raise RankforceError(
        f"to is {to!r}: node {node} of tree {tree} (feature {feature!r}) {_WHAT[what]}, which the "
        f"format cannot say: {' or '.join(able)} can, and so does the model's own file"
    )


def next_above(threshold: Floats) -> NDArray[np.float32]:
    """The least float32 that is above each threshold: x <= threshold is x < that, for float32 x.

    Above the largest float32 is infinity.

    >>> found = next_above(np.array([0.1, 1.0]))
    >>> float(found[0]) > 0.1, float(found[1]) > 1.0
    (True, True)
    """
    return _next(floor_float32(np.asarray(threshold, np.float64)))


def _next(values: NDArray[np.float32] | np.float32) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.nextafter(values, np.float32(np.inf))


def used_features(trees: Sequence[PlainTree | Tree]) -> list[int]:
    """The columns that some node looks at, in order."""
    return sorted({int(column) for tree in trees for column in tree.feature})


def least_score(trees: Sequence[PlainTree | Tree]) -> float:
    """A score that no row is below: the sum of the least leaves."""
    return math.fsum(float(tree.leaf_value.min()) for tree in trees)


def find_shift(least: float) -> float:
    """What to add to scores so that none is negative, in few digits; 0 where none can be.

    >>> find_shift(-3.2), find_shift(0.5)
    (3.25, 0.0)
    """
    if least >= 0.0:
        return 0.0
    step = 2.0 ** (math.frexp(least)[1] - 4)  # an eighth to a sixteenth more at most
    return (math.floor(-least / step) + 1) * step


def constant_tree(value: float) -> PlainTree:
    """A tree that is one leaf: it moves all scores alike, so ranks stay."""
    none, bits = np.empty(0, np.int64), np.empty(0, bool)
    short = np.empty(0, np.float32)
    return PlainTree(none, short, bits, none, none, np.array([value]), np.empty(0))
