"""Forces of a row of pairs, for every kind of weight, in float32.

With p = e_lo / (e_hi + e_lo), a pair's lambda is p * weight and its hessian p * (1 - p) * weight:
one exponential per document and one division per pair, which serves the norm as well.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.layout import (
    DISTANCE,
    HESS,
    LAM,
    SCORE,
    SIDES,
    SUM_HESS,
    SUM_LAM,
    E,
    U,
    at,
    padded,
    tile_end,
)
from rankforce.kernels.weights import fill_extra, row_of


@kernel
def push_run(i, is_hi, start, end, docs, rank, tables, rules, force):
    """Forces of document `i` against documents start..end-1; returns the sum of magnitudes."""
    total = 0.0
    while start < end:
        stop = tile_end(start, end)
        # Behind a tier stand other documents, not padding.
        count = np.uint64(stop - start) if rules.is_tiered else padded(stop - start)
        fill_extra(i, is_hi, start, count, docs, rank, tables, rules)
        total += push_row(i, is_hi, start, count, docs, rules, force)
        start = stop
    return total


@kernel
def push_row(i, is_hi, start, count, docs, rules, force):
    """Add the forces of one row, weights made on the way; returns the sum of its magnitudes."""
    real = docs.dtype.type
    one = real(1.0)
    near = real(force.near)
    far = real(force.far)
    constant = real(rules.constant)
    row = row_of(is_hi, rules)
    sign = real(row.sign)
    own_label = docs[at(row.own_label, i)]
    own_value = docs[at(row.own_value, i)]
    own_score = docs[at(SCORE, i)]
    own_e = docs[at(E, i)] * (real(force.shift) if is_hi else one / real(force.shift))
    # lambda = weight * p with p = e_lo / sum; the sigmoid cost has weight * p * (1 - p) instead.
    logistic = real(0.0) if rules.is_sigmoid else sign
    sigmoid = sign - logistic
    e_there = logistic if is_hi else real(0.0)
    e_here = real(0.0) if is_hi else logistic * own_e
    label = at(row.label, start)
    value = at(row.value, start)
    extra = at(row.extra, start)
    mask = at(row.mask, start)
    score = at(SCORE, start)
    e = at(E, start)
    lam = at(LAM, start)
    hess = at(HESS, start)
    total = real(0.0)
    total_hess = real(0.0)
    for j in range(count):
        ranks = constant + abs(own_value - docs[value + j]) + docs[extra + j]
        weight = sign * (own_label - docs[label + j]) * docs[mask + j] * ranks
        apart = near + far * abs(own_score - docs[score + j])
        inverse = one / ((own_e + docs[e + j]) * apart)
        base = weight * inverse
        second = base * docs[e + j] * (own_e * (inverse * apart))
        first = base * (e_there * docs[e + j] + e_here) + sigmoid * second
        total += first
        total_hess += second
        docs[lam + j] -= first
        docs[hess + j] += second
    docs[at(LAM, i)] += total
    docs[at(HESS, i)] += total_hess
    return np.float64(sign * total)


@kernel
def push_band(n, rank, docs, floats, tables, rules, force):
    """Pairs exactly `rules.band` ranks apart (LambdaGap-S): one pass down the ranking."""
    gap = rules.band
    value = tables[DISTANCE, gap]
    score, e, label = floats[SIDES], floats[SIDES + 1], floats[SIDES + 2]
    first, second = floats[SIDES + 3], floats[SIDES + 4]
    for p in range(n):
        score[rank[p]] = docs[at(SCORE, p)]
        e[rank[p]] = docs[at(E, p)]
        label[rank[p]] = docs[at(U, p)]
    total = 0.0
    for r in range(n - gap):
        differ = label[r] - label[r + gap]
        e_hi = force.shift * (e[r] if differ > 0.0 else e[r + gap])
        e_lo = e[r + gap] if differ > 0.0 else e[r]
        apart = force.near + force.far * abs(score[r] - score[r + gap])
        inverse = 1.0 / ((e_hi + e_lo) * apart)
        base = value * abs(differ) * e_lo * inverse
        second[r] = base * e_hi * (inverse * apart)
        magnitude = second[r] if rules.is_sigmoid else base
        total += magnitude
        first[r] = magnitude if differ > 0.0 else -magnitude
    for p in range(n):
        r = rank[p]
        if r < n - gap:
            floats[SUM_LAM, p] += first[r]
            floats[SUM_HESS, p] += second[r]
        if r >= gap:
            floats[SUM_LAM, p] -= first[r - gap]
            floats[SUM_HESS, p] += second[r - gap]
    return total
