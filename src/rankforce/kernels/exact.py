"""Pairs one by one in float64: forces of scores any distance apart, and the pairs themselves."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, inlined, kernel
from rankforce.kernels.layout import (
    FLOAT_ROWS,
    HESS,
    INSIDE,
    INTEGER_COLUMNS,
    INTEGER_ROWS,
    LAM,
    LANES,
    LIGHTGBM_NORM,
    MASK,
    RANK,
    SCORE,
    SUM_HESS,
    SUM_LAM,
    WEIGHT,
    Force,
    Shown,
    at,
    classes_of,
    largest_query,
    make_documents,
    tile_end,
)
from rankforce.kernels.load import load_documents, load_scores, rank_documents
from rankforce.kernels.sets import draw_key, mark_inside, mark_pair_set
from rankforce.kernels.weights import fill_weights


@kernel
def walk_query(n, members, classes, integers, docs, tables, rules, force, is_push, hi, lo, weight):
    """Every row of pairs: push it, or count its pairs and list them as far as `hi` has room.

    Returns the sum of lambda magnitudes, or the number of pairs.
    """
    mark_inside(n, members, integers)
    inside = integers[INSIDE]
    rank = integers[RANK]
    found = 0.0
    for p in range(n):
        docs[at(MASK, p)] = 0.0
    for c in range(len(classes.start) - 1):
        above = classes.start[c]
        below = classes.start[c + 1]
        for i in range(above, below):
            if inside[i] == 0:
                continue
            for side in range(2 if members < n else 1):
                is_hi = side == 0
                start = below if is_hi else classes.tier_start[c]
                end = classes.tier_stop[c] if is_hi else above
                while start < end:
                    stop = tile_end(start, end)
                    fill_weights(
                        i, is_hi, start, np.uint64(stop - start), docs, rank, tables, rules
                    )
                    if is_push:
                        found += push_row_exact(i, is_hi, start, stop, docs, rules, force)
                    else:
                        found = list_row(i, is_hi, start, stop, docs, found, hi, lo, weight)
                    start = stop
        for i in range(above, below):
            docs[at(MASK, i)] = 1.0 - inside[i]
    return found


@inlined
def decay(z):
    """e^-|z| = (e^(-|z|/1024))^1024: a polynomial vectorises where a call would not.

    Nor does a call give the same last bit in code that was just compiled and in code from disk.
    """
    t = -min(abs(z), 700.0) / 1024.0
    y = 1.0 / 3628800.0 * t + 1.0 / 362880.0
    y = y * t + 1.0 / 40320.0
    y = y * t + 1.0 / 5040.0
    y = y * t + 1.0 / 720.0
    y = y * t + 1.0 / 120.0
    y = y * t + 1.0 / 24.0
    y = y * t + 1.0 / 6.0
    y = y * t + 0.5
    y = y * t + 1.0
    y = y * t + 1.0
    for _ in range(10):
        y *= y
    return y if abs(z) <= 700.0 else 0.0


@kernel
def push_row_exact(i, is_hi, start, end, docs, rules, force):
    """Forces of row WEIGHT with one exponential for each pair."""
    sign = 1.0 if is_hi else -1.0
    own = docs[at(SCORE, i)]
    score, weights = at(SCORE, start), at(WEIGHT, start)
    lam, hess = at(LAM, start), at(HESS, start)
    total = 0.0
    total_hess = 0.0
    for j in range(np.uint64(end - start)):
        x = sign * (own - docs[score + j])
        z = rules.sigma * x + rules.center
        y = decay(z)
        apart = force.near + force.far * min(abs(x), 1e300)
        inverse = 1.0 / ((1.0 + y) * apart)
        base = docs[weights + j] * inverse
        second = base * y * (inverse * apart)
        first = second if rules.is_sigmoid else base * (y if z > 0.0 else 1.0)
        total += first
        total_hess += second
        docs[lam + j] -= sign * first
        docs[hess + j] += second
    docs[at(LAM, i)] += sign * total
    docs[at(HESS, i)] += total_hess
    return total


@kernel
def list_row(i, is_hi, start, end, docs, found, hi, lo, weight):
    """Count the weights of a row that are not 0, and list them where there is room."""
    for j in range(start, end):
        value = docs[at(WEIGHT, j)]
        # A NaN of a user's function is listed too, for the caller to refuse.
        if value != 0.0:
            place = np.int64(found)
            if place < len(hi):
                hi[place] = i if is_hi else j
                lo[place] = j if is_hi else i
                weight[place] = value
            found += 1.0
    return found


@kernel
def take_sums(n, floats, docs):
    """Hand the forces over."""
    for p in range(n):
        floats[SUM_LAM, p] = docs[at(LAM, p)]
        floats[SUM_HESS, p] = docs[at(HESS, p)]


@kernel
def load_query(q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs):
    """Bring one query into label order; returns the number of its members.

    0 if it has no pair, -1 if its scores are bad.
    """
    start = queries.pointer[q]
    n = queries.pointer[q + 1] - start
    low, high = load_scores(scores, queries.row, start, n, floats)
    if n > 0 and not low <= high:
        return np.int64(-1)
    classes = classes_of(q, labels)
    if len(classes.start) < 3 or labels.scale[q] == 0.0:
        return np.int64(0)
    known = rank_documents(n, low, high, start, labels.position, rules.flat, integers, floats)
    shown = Shown(n, start, low, high, known, labels.positive[q])
    load_documents(shown, labels.position, labels.u, tables, rules, integers, floats, docs)
    key = draw_key(seed, iteration, queries.key[q])
    return np.int64(
        mark_pair_set(n, classes.start, shown.positive, labels.strategy[q], key, rules, integers)
    )


@kernel
def list_query(q, members, queries, labels, tables, rules, integers, docs, hi, lo, weight):
    """Number of pairs of a loaded query; lists them, in label order, as far as `hi` has room."""
    n = queries.pointer[q + 1] - queries.pointer[q]
    classes = classes_of(q, labels)
    force = Force(1.0, 0.0, 1.0)
    return np.int64(
        walk_query(n, members, classes, integers, docs, tables, rules, force, False, hi, lo, weight)
    )


@entry
def list_block(
    first, last, scores, queries, labels, tables, rules, seed, iteration, counts, hi, lo, weight
):
    """Count the pairs of each query and list them, in label order, as far as `hi` has room.

    Returns the first query whose scores are bad, or -1.
    """
    size = largest_query(first, last, queries)
    integers = np.zeros((INTEGER_ROWS, max(size + LANES, INTEGER_COLUMNS)), np.int32)
    floats = np.zeros((FLOAT_ROWS, size), np.float64)
    docs = make_documents(size, np.zeros(1, np.float64))
    for q in range(first, last):
        counts[q] = 0
        members = load_query(
            q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs
        )
        if members < 0:
            return q
        if members > 0:
            counts[q] = list_query(
                q, members, queries, labels, tables, rules, integers, docs, hi, lo, weight
            )
    return -1


@kernel
def share_pairs(n, pairs, hi, lo, weight, row_of, leaf, row_weight, scale, norm, rules, docs, sums):
    """Add the listed pairs of one query that share a leaf."""
    low = np.inf
    high = -np.inf
    for p in range(n):
        low = min(low, docs[at(SCORE, p)])
        high = max(high, docs[at(SCORE, p)])
    is_apart = norm == LIGHTGBM_NORM and high > low
    total = 0.0
    for k in range(pairs):
        x = docs[at(SCORE, hi[k])] - docs[at(SCORE, lo[k])]
        apart = 0.01 + abs(x) if is_apart else 1.0
        weight[k] /= apart
        y = decay(rules.sigma * x)
        total += weight[k] * (y if x > 0.0 else 1.0) / (1.0 + y)
    factor = rules.sigma * scale
    if norm == LIGHTGBM_NORM and total > 0.0:
        s = 2.0 * factor * total
        factor *= np.log1p(s) / (s * np.log(2.0))
    for k in range(pairs):
        first = row_of[hi[k]]
        second = row_of[lo[k]]
        if leaf[first] != leaf[second]:
            continue
        x = docs[at(SCORE, hi[k])] - docs[at(SCORE, lo[k])]
        y = decay(rules.sigma * x)
        both = 2.0 if len(row_weight) == 0 else row_weight[first] + row_weight[second]
        sums[leaf[first]] += factor * rules.sigma * weight[k] * y / (1.0 + y) ** 2 * both


@entry
def share_block(
    first,
    last,
    scores,
    queries,
    labels,
    tables,
    rules,
    norm,
    seed,
    iteration,
    leaf,
    row_weight,
    sums,
):
    """Second derivatives of the pairs whose documents share a leaf, summed over each leaf.

    Such pairs do not move apart when the leaf's value changes (Tunys 2015, appendix).
    """
    size = largest_query(first, last, queries)
    integers = np.zeros((INTEGER_ROWS, max(size + LANES, INTEGER_COLUMNS)), np.int32)
    floats = np.zeros((FLOAT_ROWS, size), np.float64)
    docs = make_documents(size, np.zeros(1, np.float64))
    hi = np.empty(0, np.int64)
    lo = np.empty(0, np.int64)
    weight = np.empty(0, np.float64)
    row_of = np.empty(size, np.int64)
    for q in range(first, last):
        members = load_query(
            q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs
        )
        if members < 0:
            return q
        if members == 0:
            continue
        pairs = list_query(
            q, members, queries, labels, tables, rules, integers, docs, hi[:0], lo, weight
        )
        if pairs > len(hi):
            hi = np.empty(pairs, np.int64)
            lo = np.empty(pairs, np.int64)
            weight = np.empty(pairs, np.float64)
        list_query(q, members, queries, labels, tables, rules, integers, docs, hi, lo, weight)
        start = queries.pointer[q]
        for i in range(start, queries.pointer[q + 1]):
            row_of[labels.position[i]] = queries.row[i] if len(queries.row) > 0 else i
        n = queries.pointer[q + 1] - start
        share_pairs(
            n,
            pairs,
            hi,
            lo,
            weight,
            row_of,
            leaf,
            row_weight,
            labels.scale[q],
            norm,
            rules,
            docs,
            sums,
        )
    return -1
