"""Forces and costs of explicit pairs: somebody preferred one document to another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.exact import force_of, shrink
from rankforce.kernels.layout import STD_NORM, Array, row_at
from rankforce.kernels.pair import pair_cost, pair_force


class Explicit(NamedTuple):
    """Pairs by query: query q has those from pointer[q] to pointer[q+1] - 1."""

    pointer: Array
    hi: Array  # rows
    lo: Array
    weight: Array


@kernel
def is_spread(q, scores, queries):
    """Whether the scores of a query differ."""
    first = queries.pointer[q]
    for place in range(first, queries.pointer[q + 1]):
        if scores[row_at(queries.row, place)] != scores[row_at(queries.row, first)]:
            return True
    return False


@kernel
def spread_factor(q, queries, lam):
    """One over the root of the mean square of a query's forces, which is their standard deviation
    where their mean is 0, as it is of pairs; 0 without forces."""
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
def walk_preferences(
    first, last, scores, queries, pairs, sigma, norm, lam, hess, forces, seconds, factors
):
    """Forces of the queries first..last-1 into `lam` and `hess`, which are 0 before.

    `forces` and `seconds` take the magnitude of
    each pair's force and its second derivative, `factors` what the norm multiplies by.
    """
    pointer, hi, lo, weight = pairs
    for q in range(first, last):
        apart = force_of(norm, is_spread(q, scores, queries), 0.0)
        total = 0.0
        for k in range(pointer[q], pointer[q + 1]):
            x = scores[hi[k]] - scores[lo[k]]
            force, second = pair_force(x, weight[k], sigma, 0.0, False, apart.near, apart.far)
            forces[k] = force
            seconds[k] = second
            total += force
            lam[hi[k]] += force
            lam[lo[k]] -= force
            hess[hi[k]] += second
            hess[lo[k]] += second
        factor = sigma * shrink(2.0 * sigma * total, norm)
        factor_hess = factor * sigma
        if norm == STD_NORM:
            factor = spread_factor(q, queries, lam)
        factors[q] = factor / sigma
        for place in range(queries.pointer[q], queries.pointer[q + 1]):
            r = row_at(queries.row, place)
            lam[r] *= factor
            if norm == STD_NORM:
                hess[r] = 1.0 if factor > 0.0 else 0.0
            else:
                hess[r] *= factor_hess
        for k in range(pointer[q], pointer[q + 1]):
            forces[k] *= factor
            seconds[k] *= factor_hess


@entry
def cost_preferences(first, last, scores, pairs, sigma, costs):
    """What the pairs of the queries first..last-1 cost."""
    pointer, hi, lo, weight = pairs
    for q in range(first, last):
        total = 0.0
        for k in range(pointer[q], pointer[q + 1]):
            total += pair_cost(scores[hi[k]] - scores[lo[k]], weight[k], sigma, 0.0, False)
        costs[q] = total
