"""How much each feature does for a model.

Of trees that are numbers of splits, their gain and their cover; of a network, how it moves scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.models.base import NETWORK
from rankforce.models.forest.tree import Tree
from rankforce.models.forest.walk import count_splits
from rankforce.models.model import Model

# Other names -> ours. LightGBM's "gain" is a sum, which XGBoost calls "total_gain".
_SAME = {"weight": "split", "total_gain": "gain"}
# kind: the detail of a tree to add up over splits, and whether to divide by their number
_SUMS = {
    "gain": ("gain", False),
    "mean_gain": ("gain", True),
    "total_cover": ("weight", False),
    "cover": ("weight", True),
}
KINDS = ("split", *_SUMS, *_SAME)
GAIN, INFLUENCE = "gain", "influence"  # the usual kind of trees, and the only one of networks


def check_kind(kind: Any) -> str:
    """The kind of importance under our name for it."""
    known = check_choice("importance_type", kind, KINDS)
    return _SAME.get(known, known)


def importance_of(model: Model, kind: str | None = None) -> NDArray[Any]:
    """One number per feature, by a kind that the model has, or by its usual one.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> ranker = rf.Ranker(n_estimators=2, num_leaves=4, progress=False).fit(data)
    >>> importance_of(ranker.model_, "influence")
    Traceback (most recent call last):
    rankforce.RankforceError: importance "influence" is for networks: this model is made of trees
    """
    if kind == INFLUENCE:
        model.network(f'importance "{INFLUENCE}"')
    if model.scorer.kind != NETWORK:
        trees = model.forest("importance").trees[: model.used]
        return importance(trees, len(model.feature_names), kind=kind or GAIN)
    if kind not in (None, INFLUENCE):
        raise RankforceError(f"importance is {kind!r}: a network has {INFLUENCE!r} alone")
    if model.scorer.forest is not None:
        raise RankforceError(
            "the features of this network are trees: ask its base for the importance of features"
        )
    return np.array(model.scorer.influence)


def importance(trees: Sequence[Tree], features: int, *, kind: str = GAIN) -> NDArray[Any]:
    """One number per feature; those of `kind` "split" are whole.

    "split" (XGBoost's "weight") counts the nodes that split on a feature, "gain" ("total_gain") is
    the sum of what they gained, "mean_gain" that for each of them (XGBoost's "gain"), "total_cover"
    and "cover" are the sum and the mean of the second derivatives that came to them.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> ranker = rf.Ranker(n_estimators=2, num_leaves=4, progress=False).fit(data)
    >>> int(importance(ranker.model_.trees, ranker.n_features_in_, kind="split").sum())
    6
    """
    kind = check_kind(kind)
    splits = count_splits(trees, features)
    if kind == "split":
        return splits
    field, is_mean = _SUMS[kind]
    total = np.zeros(features)
    for tree in trees:
        total += _by_feature(tree, field, features)
    return total / np.maximum(splits, 1) if is_mean else total


def _by_feature(tree: Tree, field: str, features: int) -> Floats:
    values = tree.details.get(field)
    if values is None:  # a model that another tool wrote may have none
        return np.zeros(features)
    return np.bincount(tree.feature, weights=values, minlength=features).astype(np.float64)
