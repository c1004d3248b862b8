"""What exporters share: the trees that make the scores, and refusals of what no format can say."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.precision import floor_float32
from rankforce.models.base import FORESTS, NETWORK
from rankforce.models.forest.tree import Tree
from rankforce.models.model import Model
from rankforce.models.network.contributions import weighted_forest

# What a node may need, and the formats that can say it.
CATEGORIES, ZEROS = "categories", "zeros"
ABLE = {
    CATEGORIES: ("c", "onnx", "treelite", "xgboost"),
    ZEROS: ("c", "onnx"),
}


def used_trees(model: Model, to: str) -> list[Tree]:
    """The trees that make the scores, once nothing else makes them.

    Instead of none there is a leaf of 0: not every format has a forest without trees.
    """
    check_alone(model, to)
    if model.scorer.kind == NETWORK and model.scorer.forest is not None:
        return list(weighted_forest(model.scorer, model.used).trees)
    if model.scorer.kind not in FORESTS:
        raise RankforceError(
            f"to is {to!r}, which holds trees: this model is a {model.scorer.kind} (to='onnx' "
            "takes networks)"
        )
    return list(model.trees[: model.used]) or [_leaf(0.0)]


def _leaf(value: float) -> Tree:
    none = np.empty(0, np.int64)
    return Tree(none, np.empty(0), none, none, none, np.array([value]))


def check_alone(model: Model, to: str, *, has_lists: bool = False) -> None:
    """Refuse a model whose scores need more than its file: no format has a place for that.

    `has_lists` is said of a format whose rows may be a list.
    """
    if model.base is not None or model.base_mark is not None:
        raise RankforceError(
            f"to is {to!r}: the scores begin with those of another model (base), which the file "
            "cannot hold: export both, add their scores, or train without base"
        )
    if model.scorer.needs_lists and not has_lists:
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


_WHAT = {
    CATEGORIES: "asks for categories",
    ZEROS: "takes zeros for missing values and sends them another way than their neighbours",
}


def refuse(to: str, tree: int, node: int, feature: str, what: str) -> NoReturn:
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
    with np.errstate(over="ignore"):
        return np.nextafter(floor_float32(threshold), np.float32(np.inf))
