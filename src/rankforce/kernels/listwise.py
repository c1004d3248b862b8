"""Forces and costs where no pair pushes: cross entropy of NDCG of whole lists, least squares."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.layout import FLOAT_ROWS, GIVEN, STD_NORM, make_scratch, row_at
from rankforce.kernels.load import LARGEST, load_scores
from rankforce.kernels.preferences import spread_factor
from rankforce.kernels.sets import draw_key, splitmix64
from rankforce.kernels.sums import add_exactly

# Rows of the scratch array, beside GIVEN.
RHO, QUOTA, TARGET, TERM, FORCE = range(1, 6)
assert max(RHO, QUOTA, TARGET, TERM, FORCE) < FLOAT_ROWS
assert GIVEN == 0


@kernel
def row_sum(n, row, floats):
    """The sum of a row.

    In a loop of its own: one that also writes is compiled twice, for arrays that lie apart and for
    others, and the two add in different orders.
    """
    total = 0.0
    for i in range(np.uint64(n)):
        total += floats[row, i]
    return total


@kernel
def fill_softmax(n, floats):
    """Rows RHO: softmax of the scores, and QUOTA: that of all but the best document.

    Returns the best document and 1 - rho of it. Only that one may be so close to 1 that 1 - rho
    loses its digits, or is 0 where float64 ends. Quotas keep them: rho_j / (1 - rho_best).
    """
    best = 0
    for i in range(1, n):
        if floats[GIVEN, i] > floats[GIVEN, best]:
            best = i
    second = -np.inf
    for i in range(n):
        if i != best:
            second = max(second, floats[GIVEN, i])
    for i in range(n):
        floats[QUOTA, i] = np.exp(floats[GIVEN, i] - second) if i != best else 0.0
    total = row_sum(n, QUOTA, floats)
    odds = total * np.exp(second - floats[GIVEN, best])
    rest = odds / (1.0 + odds)
    for i in range(n):
        floats[QUOTA, i] /= total
        floats[RHO, i] = floats[QUOTA, i] * rest
    floats[RHO, best] = 1.0 / (1.0 + odds)
    return best, rest


@kernel
def fill_targets(start, n, key, gain, number, floats):
    """Row TARGET: proportional to 2^y - gamma, gamma drawn by the row's number in its query."""
    for i in range(n):
        draw = splitmix64(key ^ np.uint64(number[start + i])) >> np.uint64(11)
        floats[TARGET, i] = gain[start + i] + (1.0 - np.float64(draw) * 2.0**-53)
    total = row_sum(n, TARGET, floats)
    for i in range(n):
        floats[TARGET, i] /= total


@kernel
def add_order(n, best, floats):
    """From the terms of one order to those of the next, which are added to the forces.

    term_i = rho_i * sum over j != i of term_j / (1 - rho_j).
    """
    of_best = floats[TERM, best]
    floats[TERM, best] = 0.0
    for i in range(n):
        if i != best:
            floats[TERM, i] /= 1.0 - floats[RHO, i]
    others = row_sum(n, TERM, floats)
    for i in range(n):
        if i != best:
            rest = others - floats[TERM, i]
            floats[TERM, i] = floats[RHO, i] * rest + floats[QUOTA, i] * of_best
    floats[TERM, best] = floats[RHO, best] * others
    for i in range(n):
        floats[FORCE, i] += floats[TERM, i]


@kernel
def scale_forces(q, queries, norm, lam, hess):
    """Apply the norm to the forces of a query; returns what it multiplies them by."""
    if norm != STD_NORM:
        return 1.0
    factor = spread_factor(q, queries, lam)
    for place in range(queries.pointer[q], queries.pointer[q + 1]):
        lam[row_at(queries.row, place)] *= factor
        hess[row_at(queries.row, place)] = 1.0 if factor > 0.0 else 0.0
    return factor


@entry
def push_lists(
    first, last, scores, queries, gain, number, norm, seed, iteration, lam, hess, factors
):
    """Forces of the queries first..last-1, and what their norm multiplies them by.

    Returns the first query whose scores are bad, or -1. `gain` and `number` are by place.
    """
    _, _, floats = make_scratch(first, last, queries)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        factors[q] = 0.0
        low, high = load_scores(scores, queries.row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        if n < 2:
            for place in range(start, start + n):
                lam[row_at(queries.row, place)] = 0.0
                hess[row_at(queries.row, place)] = 0.0
            continue
        best, rest = fill_softmax(n, floats)
        fill_targets(start, n, draw_key(seed, iteration, queries.key[q]), gain, number, floats)
        for i in range(n):
            floats[TERM, i] = floats[TARGET, i] - floats[RHO, i]
            floats[FORCE, i] = floats[TERM, i]
        add_order(n, best, floats)
        add_order(n, best, floats)
        for i in range(n):
            r = row_at(queries.row, start + i)
            lam[r] = floats[FORCE, i]
            hess[r] = floats[RHO, i] * (rest if i == best else 1.0 - floats[RHO, i])
        factors[q] = scale_forces(q, queries, norm, lam, hess)
    return -1


@entry
def push_points(first, last, scores, queries, label, norm, lam, hess, factors):
    """The same for least squares: forces are label - score, second derivatives 1."""
    for q in range(first, last):
        factors[q] = 0.0
        for place in range(queries.pointer[q], queries.pointer[q + 1]):
            r = row_at(queries.row, place)
            if not np.isfinite(scores[r]):
                return q
            lam[r] = label[place] - scores[r]
            hess[r] = 1.0
        if queries.pointer[q + 1] > queries.pointer[q]:
            factors[q] = scale_forces(q, queries, norm, lam, hess)
    return -1


@entry
def cost_lists(first, last, scores, queries, gain, number, seed, iteration, costs):
    """Cross entropy of the targets of `push_lists` against the softmax of the scores.

    Returns the first query whose scores are bad, or -1.
    """
    _, _, floats = make_scratch(first, last, queries)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        costs[q] = 0.0
        low, high = load_scores(scores, queries.row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        if n < 2:
            continue
        fill_targets(start, n, draw_key(seed, iteration, queries.key[q]), gain, number, floats)
        for i in range(n):
            below = min(high - floats[GIVEN, i], LARGEST)
            floats[TERM, i] = np.exp(-below)
            floats[FORCE, i] = floats[TARGET, i] * below
        costs[q] = np.log(row_sum(n, TERM, floats)) + row_sum(n, FORCE, floats)
    return -1


@entry
def cost_points(first, last, scores, queries, label, costs):
    """The same for least squares: half the square of label - score."""
    for q in range(first, last):
        costs[q] = 0.0
        for place in range(queries.pointer[q], queries.pointer[q + 1]):
            score = scores[row_at(queries.row, place)]
            if not np.isfinite(score):
                return q
            costs[q] += 0.5 * (label[place] - score) ** 2
    return -1


@entry
def share_lists(first, last, scores, queries, leaf, row_weight, sums):
    """rho_i * rho_j of the documents that share a leaf, summed over each leaf.

    A leaf that moves its documents of a list, of share P, has the second derivative P * (1 - P):
    the hessians rho_i * (1 - rho_i) of its documents less this. `sums` are as in `add_exactly`.
    """
    _, _, floats = make_scratch(first, last, queries)
    share = np.zeros(sums.shape[1], np.float64)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        if n < 2:
            continue
        load_scores(scores, queries.row, start, n, floats)
        fill_softmax(n, floats)
        for i in range(n):
            share[leaf[row_at(queries.row, start + i)]] += floats[RHO, i]
        for i in range(n):
            r = row_at(queries.row, start + i)
            weight = row_weight[r] if len(row_weight) > 0 else 1.0
            value = weight * floats[RHO, i] * (share[leaf[r]] - floats[RHO, i])
            add_exactly(sums, leaf[r], value)
        for i in range(n):
            share[leaf[row_at(queries.row, start + i)]] = 0.0
