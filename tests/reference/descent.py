"""Plain stochastic descent of a linear ranker, one query at a time (Tunys 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def ranknet_lambdas(scores: Floats, labels: Floats) -> Floats:
    """Sums over pairs of P(the better document is below), up for it and down for the other."""
    found = np.zeros(len(scores))
    for i in range(len(scores)):
        for j in range(len(scores)):
            if labels[i] > labels[j]:
                below = 1.0 / (1.0 + np.exp(scores[i] - scores[j]))
                found[i] += below
                found[j] -= below
    return found


def standardised(features: Floats) -> Floats:
    """Columns with the mean 0 and the standard deviation 1; those of one value are 0."""
    spread = features.std(axis=0)
    return np.where(spread > 0, (features - features.mean(axis=0)) / (spread + (spread == 0)), 0.0)


def descend(
    features: Floats,
    labels: Floats,
    queries: Sequence[NDArray[np.int64]],
    *,
    orders: Sequence[Any],
    rate: float,
    start: Floats | None = None,
    weights: Floats | None = None,
) -> Floats:
    """w += rate * sum_i lambda_i x_i for each query of each order, from w = 0.

    `queries` are the rows of each query; scores begin with `start`, forces are times `weights`.
    """
    w = np.zeros(features.shape[1])
    for order in orders:
        for query in order:
            rows = queries[query]
            x = features[rows]
            scores = x @ w + (0.0 if start is None else start[rows])
            lam = ranknet_lambdas(scores, labels[rows])
            if weights is not None:
                lam = lam * weights[rows]
            for force, row in zip(lam, x, strict=True):
                w = w + rate * force * row
    return w
