"""The mean of a metric over queries."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.errors import RankforceError


def mean(values: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean over the queries that count (NaN does not), by default each with the same weight.

    Never above the largest value nor below the smallest; NaN if no query counts.

    >>> mean([1.0, float("nan"), 0.0])
    0.5
    >>> mean([1.0, 0.0], weights=[3, 1])
    0.75
    """
    found = np.asarray(values, dtype=np.float64)
    if found.ndim != 1:
        raise RankforceError(f"values must be one number per query, got shape {found.shape}")
    weight = np.ones(len(found)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != found.shape:
        raise RankforceError(
            f"weights must be one number per query: there are {len(found)} queries, "
            f"but weights have shape {weight.shape}"
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if bad.size:
        message = "weights are finite numbers from 0 up"
        raise RankforceError(f"weight of query {bad[0]} is {weight[bad[0]]}: {message}")
    counts = ~np.isnan(found) & (weight > 0)
    if not counts.any():
        return float("nan")
    found, weight = found[counts], weight[counts]
    share = weight / weight.max()  # so that the sum of large weights stays finite
    average = np.sum(found * share) / np.sum(share)
    return float(np.clip(average, found.min(), found.max()))
