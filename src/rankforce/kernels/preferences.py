"""Forces of explicit pairs: somebody preferred one document to another."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, inlined, kernel
from rankforce.kernels.exact import decay
from rankforce.kernels.layout import LIGHTGBM_NORM, STD_NORM


@inlined
def row_at(row, place):
    """The row of a place."""
    return row[place] if len(row) > 0 else place


@kernel
def is_spread(q, scores, queries):
    """Whether the scores of a query differ."""
    first = queries.pointer[q]
    for place in range(first, queries.pointer[q + 1]):
        if scores[row_at(queries.row, place)] != scores[row_at(queries.row, first)]:
            return True
    return False


@inlined
def pair_terms(x, weight, sigma, is_apart):
    """Magnitude of the force and second derivative of a pair, both without powers of sigma."""
    y = decay(sigma * x)
    base = weight / (0.01 + abs(x) if is_apart else 1.0) / (1.0 + y)
    return base * (y if x > 0.0 else 1.0), base * y / (1.0 + y)


@kernel
def shrink(total, sigma, norm):
    """The factor of LightGBM's norm."""
    s = 2.0 * sigma * total
    return np.log1p(s) / (s * np.log(2.0)) if norm == LIGHTGBM_NORM and s > 0.0 else 1.0


@kernel
def spread_factor(q, queries, lam):
    """One over the standard deviation of a query's forces, whose mean is 0; 0 without forces."""
    largest = 0.0
    for place in range(queries.pointer[q], queries.pointer[q + 1]):
        largest = max(largest, abs(lam[row_at(queries.row, place)]))
    if largest < 1e-300:
        return 0.0
    square = 0.0
    for place in range(queries.pointer[q], queries.pointer[q + 1]):
        square += (lam[row_at(queries.row, place)] / largest) ** 2
    count = queries.pointer[q + 1] - queries.pointer[q]
    return 1.0 / (largest * np.sqrt(square / count))


@entry
def push_preferences(first, last, scores, queries, pointer, hi, lo, weight, sigma, norm, lam, hess):
    """Forces of the queries first..last-1 into `lam` and `hess`, which are 0 before.

    Query q has the pairs pointer[q]..pointer[q+1]-1.
    """
    for q in range(first, last):
        is_apart = norm == LIGHTGBM_NORM and is_spread(q, scores, queries)
        total = 0.0
        for k in range(pointer[q], pointer[q + 1]):
            force, second = pair_terms(scores[hi[k]] - scores[lo[k]], weight[k], sigma, is_apart)
            total += force
            lam[hi[k]] += force
            lam[lo[k]] -= force
            hess[hi[k]] += second
            hess[lo[k]] += second
        factor = sigma * shrink(total, sigma, norm)
        factor_hess = factor * sigma
        if norm == STD_NORM:
            factor = spread_factor(q, queries, lam)
        for place in range(queries.pointer[q], queries.pointer[q + 1]):
            r = row_at(queries.row, place)
            lam[r] *= factor
            if norm == STD_NORM:
                hess[r] = 1.0 if factor > 0.0 else 0.0
            else:
                hess[r] *= factor_hess


@entry
def share_preferences(
    first, last, scores, queries, pointer, hi, lo, weight, sigma, norm, leaf, row_weight, sums
):
    """Second derivatives of the pairs whose documents share a leaf, summed over each leaf."""
    for q in range(first, last):
        is_apart = norm == LIGHTGBM_NORM and is_spread(q, scores, queries)
        total = 0.0
        for k in range(pointer[q], pointer[q + 1]):
            force, _ = pair_terms(scores[hi[k]] - scores[lo[k]], weight[k], sigma, is_apart)
            total += force
        factor = sigma * sigma * shrink(total, sigma, norm)
        for k in range(pointer[q], pointer[q + 1]):
            if leaf[hi[k]] == leaf[lo[k]]:
                x = scores[hi[k]] - scores[lo[k]]
                _, second = pair_terms(x, weight[k], sigma, is_apart)
                both = 2.0 if len(row_weight) == 0 else row_weight[hi[k]] + row_weight[lo[k]]
                sums[leaf[hi[k]]] += factor * second * both
