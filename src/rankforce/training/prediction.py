"""Which steps of a model predict, and what it says beside scores: leaves, contributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.models.base import NETWORK
from rankforce.models.model import Model
from rankforce.models.network.contributions import linear_contributions, weighted_forest


def choose_steps(
    model: Model,
    *,
    start_iteration: int = 0,
    num_iteration: int | None = None,
    ntree_limit: int | None = None,
    iteration_range: Any = None,
) -> range:
    """The steps that are asked for, in LightGBM's words or XGBoost's; else those that are used.

    LightGBM's `num_iteration` below 1 means all trees, XGBoost's 0 those that are used.
    """
    given = {"num_iteration": num_iteration, "ntree_limit": ntree_limit}
    given["iteration_range"] = iteration_range
    known = [name for name, value in given.items() if value is not None]
    if len(known) > 1:
        raise RankforceError(f"give {' or '.join(known)}, not both")
    total = model.steps
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


def find_leaves(model: Model, features: Any, steps: range, *, threads: int) -> NDArray[np.int32]:
    """Number of the leaf of each row (down) in each tree (across)."""
    model.check_width(features)
    leaves: NDArray[np.int32] = model.forest("pred_leaf").leaves(features, steps, threads=threads)
    return leaves


def find_contributions(model: Model, features: Any, steps: range, *, threads: int) -> Floats:
    """One column per feature, and one with the rest; a row adds up to its score.

    Of trees they are SHAP values, and the rest is what trees give on average.
    """
    model.check_width(features)
    if model.scorer.kind != NETWORK:
        forest = model.forest("pred_contrib")
    elif steps.start:
        raise RankforceError(
            "epochs of a network have no contributions by themselves: begin with the first"
        )
    elif model.scorer.forest is None:
        return linear_contributions(model.scorer, features, steps.stop)
    else:
        forest = weighted_forest(model.scorer, steps.stop)
        steps = range(len(forest))
    used = forest.trees[steps.start : steps.stop]
    if any("leaf_count" not in tree.details for tree in used if tree.leaves > 1):
        raise RankforceError(
            "the trees do not say how many rows came to their leaves, which contributions need: "
            "the tool that wrote the model left leaf_count out"
        )
    found = np.zeros((features.shape[0], features.shape[1] + 1))
    if len(steps):
        from rankforce.engines.lightgbm.booster import add_contributions

        add_contributions(forest, features, steps, found, threads=threads)
    return found
