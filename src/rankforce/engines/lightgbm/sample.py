"""The same bins for all workers of a team: found from rows of all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.common.team import Team
from rankforce.data.sources import as_source, to_dense
from rankforce.engines.lightgbm.library import import_lightgbm


def find_bins(
    features: Any, names: list[str], categorical: list[int], parameters: dict[str, Any], team: Team
) -> Any:
    """LightGBM's data set of a sample of all rows, whose bins others take; None for one alone."""
    if team.size == 1:
        return None
    counts = np.array(team.gather(features.shape[0]))
    rows, before = int(counts.sum()), int(counts[: team.rank].sum())
    wanted = parameters["bin_construct_sample_cnt"]
    chosen = np.arange(rows)
    if rows > wanted:
        draws = np.random.default_rng(parameters.get("data_random_seed", parameters["seed"]))
        chosen = np.sort(draws.choice(rows, wanted, replace=False))
    own = chosen[(chosen >= before) & (chosen < before + counts[team.rank])] - before
    sample = np.concatenate(team.gather(to_dense(as_source(features).take(own))))
    is_part = {"feature_pre_filter": False} if rows > wanted else {}
    return (
        import_lightgbm()
        .Dataset(
            sample,
            np.zeros(len(sample), np.float32),
            feature_name=names,
            categorical_feature=categorical,
            params=parameters | is_part,
        )
        .construct()
    )
