"""What the trees of a model say about rows: scores, leaves, contributions of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.sources import as_source
from rankforce.engines.lightgbm.grow import make_booster
from rankforce.models.forest.tree import stack
from rankforce.models.forest.walk import add_scores, route
from rankforce.models.model import Model


def choose_trees(
    model: Model,
    *,
    start_iteration: int = 0,
    num_iteration: int | None = None,
    ntree_limit: int | None = None,
    iteration_range: Any = None,
) -> range:
    """The trees that are asked for, in LightGBM's words or XGBoost's; else those that are used.

    LightGBM's `num_iteration` below 1 means all trees, XGBoost's 0 those that are used.
    """
    given = {"num_iteration": num_iteration, "ntree_limit": ntree_limit}
    given["iteration_range"] = iteration_range
    known = [name for name, value in given.items() if value is not None]
    if len(known) > 1:
        raise RankforceError(f"give {' or '.join(known)}, not both")
    total = len(model.trees)
    first = max(check_whole("start_iteration", start_iteration), 0)
    if iteration_range is not None:
        first, last = _check_range(iteration_range)
        return range(total)[first : last or model.used]
    if ntree_limit is not None:
        num_iteration = check_whole("ntree_limit", ntree_limit, least=0) or None
    if num_iteration is None:
        return range(total)[first : model.used]
    count = check_whole("num_iteration", num_iteration)
    return range(total)[first : total if count <= 0 else first + count]


def _check_range(given: Any) -> tuple[int, int]:
    is_pair = isinstance(given, (tuple, list)) and len(given) == 2
    if not is_pair:
        raise RankforceError(
            f"iteration_range is {given!r}: it must be a pair (first, behind the last)"
        )
    first, last = (check_whole("iteration_range", entry, least=0) for entry in given)
    if last and first > last:
        raise RankforceError(f"iteration_range is {given!r}: it ends before it begins")
    return first, last


def tree_scores(model: Model, features: Any, trees: range, *, threads: int) -> Floats:
    """Sum of the trees for each row."""
    if trees.start == 0 and len(trees):
        return model.scores(features, trees=trees.stop, threads=threads)
    chosen = _chosen(model, features, trees)
    scores = np.zeros(features.shape[0])
    add_scores(stack(chosen), features, scores, threads=threads)
    return scores


def tree_leaves(model: Model, features: Any, trees: range, *, threads: int) -> NDArray[np.int32]:
    """Number of the leaf of each row (down) in each tree (across)."""
    forest = [(tree, stack([tree])) for tree in _chosen(model, features, trees)]
    leaves = np.empty((features.shape[0], len(trees)), np.int32)
    for first, block in as_source(features).blocks():
        for column, (tree, nodes) in enumerate(forest):
            leaf = route(tree, nodes, block, threads=threads)
            leaves[first : first + len(block), column] = leaf
    return leaves


def tree_contributions(model: Model, features: Any, trees: range, *, threads: int) -> Floats:
    """SHAP values: one column per feature, and what the trees give on average; a row adds up.

    They are LightGBM's (Lundberg et al. 2018, "Consistent individualized feature attribution for
    tree ensembles"), from the same trees.
    """
    found = np.zeros((features.shape[0], features.shape[1] + 1))
    if not _chosen(model, features, trees):
        return found
    booster = make_booster(model.text(trees.stop))
    # Of a sparse matrix LightGBM would return single precision.
    for first, block in as_source(features).blocks():
        found[first : first + len(block)] = booster.predict(
            block,
            pred_contrib=True,
            start_iteration=trees.start,
            num_iteration=len(trees),
            num_threads=threads,
        )
    return found


def _chosen(model: Model, features: Any, trees: range) -> list[Any]:
    """The trees, or an error if features are missing."""
    model.scores(as_source(features).take(slice(0)))
    return model.trees[trees.start : trees.stop]
