"""Pairs one by one in float64: weight, force, second derivative and cost of each, written once.

Forces of scores any distance apart, lists of pairs, where forces come from, what pairs within a
leaf add to its second derivative, and what pairs cost: all are read off the one walk over a query's
pairs.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, inlined, kernel
from rankforce.kernels.layout import (
    APART_NORM,
    FORCE,
    GIVEN,
    HESS,
    INSIDE,
    LAM,
    LIGHTGBM_NORM,
    MASK,
    RANK,
    SCORE,
    SECOND,
    STD_NORM,
    SUM_HESS,
    SUM_LAM,
    WEIGHT,
    Force,
    Shown,
    at,
    classes_of,
    make_documents,
    make_scratch,
    tile_end,
)
from rankforce.kernels.load import load_documents, load_scores, rank_documents
from rankforce.kernels.notes import (
    Notes,
    cost_row,
    count_row,
    end_notes,
    list_row,
    share_row,
    start_notes,
    trace_row,
)
from rankforce.kernels.pair import pair_cost, pair_force
from rankforce.kernels.sets import draw_key, mark_inside, mark_pair_set
from rankforce.kernels.weights import fill_weights


@kernel
def force_row(i, is_hi, start, end, docs, rules, force):
    """Forces and second derivatives of row WEIGHT into rows FORCE and SECOND, and their sums."""
    sign = 1.0 if is_hi else -1.0
    own = docs[at(SCORE, i)]
    score, weights = at(SCORE, start), at(WEIGHT, start)
    lam, hess = at(LAM, start), at(HESS, start)
    forces, seconds = at(FORCE, start), at(SECOND, start)
    total = 0.0
    total_hess = 0.0
    for j in range(np.uint64(end - start)):
        first, second = pair_force(
            sign * (own - docs[score + j]),
            docs[weights + j],
            rules.sigma,
            rules.center,
            rules.is_sigmoid,
            force.near,
            force.far,
        )
        total += first
        total_hess += second
        docs[forces + j] = first
        docs[seconds + j] = second
        docs[lam + j] -= sign * first
        docs[hess + j] += second
    docs[at(LAM, i)] += sign * total
    docs[at(HESS, i)] += total_hess
    return total


@kernel
def walk_query(n, members, classes, integers, docs, tables, rules, force, notes):
    """Visit every pair of a loaded query once, a row of pairs at a time.

    A row is one document against a run of others of one tile. Its weights, forces and second
    derivatives stand in rows WEIGHT, FORCE and SECOND while `notes` are taken, which may be None;
    their sums over documents stay in LAM and HESS. Returns the sum of lambda magnitudes, the number
    of pairs that were noted, and what they cost.
    """
    mark_inside(n, members, integers)
    inside = integers[INSIDE]
    rank = integers[RANK]
    total = 0.0
    count = 0.0
    cost = 0.0
    is_forced = True
    if notes is not None:  # taken apart here: a tuple of arrays counts references at each use
        is_listed, is_traced, is_shared = notes.is_listed, notes.is_traced, notes.is_shared
        listed = notes.listed
        is_forced = is_listed or is_traced or is_shared
        is_priced = notes.is_priced
        slot, code, parts, masks = notes.slot, notes.code, notes.parts, notes.masks
        leaf, row_weight, within = notes.leaf, notes.row_weight, notes.within
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
                    width = np.uint64(stop - start)
                    fill_weights(i, is_hi, start, width, docs, rank, tables, rules)
                    if is_forced:
                        total += force_row(i, is_hi, start, stop, docs, rules, force)
                    if notes is not None:
                        if is_shared:
                            share_row(i, start, stop, docs, leaf, row_weight, within)
                        if is_traced:  # last of the two: it takes the place of SECOND
                            trace_row(i, is_hi, start, stop, docs, force, code, slot, parts, masks)
                        if is_priced:
                            cost += cost_row(i, is_hi, start, stop, docs, rules)
                        if is_listed:
                            count = list_row(i, is_hi, start, stop, docs, count, listed)
                        else:
                            count += count_row(start, stop, docs)
                    start = stop
        for i in range(above, below):
            docs[at(MASK, i)] = 1.0 - inside[i]
    return total, count, cost


@kernel
def shrink(s, norm):
    """What LightGBM's norm multiplies forces by whose magnitudes add up to s / 2."""
    if norm != LIGHTGBM_NORM:
        return 1.0
    return np.log1p(s) / (s * np.log(2.0)) if s > 0.0 else 0.0


@kernel
def norm_factors(n, total, norm, scale, rules, floats):
    """What lambdas and hessians are multiplied by."""
    factor = rules.sigma * scale
    factor_hess = factor * rules.sigma
    if norm == LIGHTGBM_NORM:
        less = shrink(2.0 * factor * total, norm)
        return factor * less, factor_hess * less
    if norm == STD_NORM:
        largest = 0.0
        for p in range(n):
            largest = max(largest, abs(floats[SUM_LAM, p]))
        if largest < 1e-300:
            return 0.0, 0.0
        square = 0.0
        for p in range(n):
            square += (floats[SUM_LAM, p] / largest) ** 2  # the mean is 0
        factor = 1.0 / (largest * np.sqrt(square / n))
    return factor, factor_hess


@inlined
def force_of(norm, is_spread, center):
    """LightGBM's norm divides a pair's weight by 0.01 + |x|, where the scores of a query differ."""
    is_apart = norm in (LIGHTGBM_NORM, APART_NORM) and is_spread
    return Force(0.01 if is_apart else 1.0, 1.0 if is_apart else 0.0, np.exp(center))


@kernel
def take_sums(n, floats, docs):
    """Hand the forces over."""
    for p in range(n):
        floats[SUM_LAM, p] = docs[at(LAM, p)]
        floats[SUM_HESS, p] = docs[at(HESS, p)]


@kernel
def load_query(q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs):
    """Bring one query into label order; returns the number of its members, and whether its scores
    differ.

    0 if it has no pair, -1 if its scores are bad.
    """
    start = queries.pointer[q]
    n = queries.pointer[q + 1] - start
    low, high = load_scores(scores, queries.row, start, n, floats)
    if n > 0 and not low <= high:
        return np.int64(-1), False
    classes = classes_of(q, labels)
    if len(classes.start) < 3 or labels.scale[q] == 0.0:
        return np.int64(0), False
    known = rank_documents(n, low, high, start, labels.position, rules.flat, integers, floats)
    shown = Shown(n, start, low, high, known, labels.positive[q])
    load_documents(shown, labels.position, labels.u, tables, rules, integers, floats, docs)
    key = draw_key(seed, iteration, queries.key[q])
    members = mark_pair_set(
        n, classes.start, shown.positive, labels.strategy[q], key, rules, integers
    )
    return np.int64(members), high > low


@entry
def walk_block(first, last, scores, queries, labels, tables, rules, norm, seed, iteration, wanted):
    """Pairs of the queries first..last-1: their number, the factor of the norm, and what is noted.

    Pairs within a leaf do not
    move apart when the leaf's value changes (Tunys 2015, appendix). Returns the first query whose
    scores are bad, or -1.
    """
    size, integers, floats = make_scratch(first, last, queries)
    counts, factors = wanted.counts, wanted.factors
    docs = make_documents(size, np.zeros(1, np.float64))
    codes = wanted.traced.sources.shape[2]
    is_listed, is_traced = len(wanted.listed.hi) > 0, codes > 0
    is_shared = len(wanted.shared.sums) > 0
    is_priced = len(wanted.costs) > 0
    notes = Notes(
        is_listed,
        is_traced,
        is_shared,
        is_priced,
        wanted.listed,
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros((3, codes, size), np.float64),
        np.zeros((codes, size), np.float64),
        np.empty(size, np.int64),
        np.empty(size, np.float64),
        np.empty(size, np.float64),
    )
    for q in range(first, last):
        counts[q] = 0
        factors[q] = 0.0
        if is_priced:
            wanted.costs[q] = 0.0
        members, is_spread = load_query(
            q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs
        )
        if members < 0:
            return q
        if members == 0:
            continue
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        start_notes(n, start, queries.row, labels.position, wanted, notes)
        force = force_of(norm, is_spread, rules.center)
        total, count, cost = walk_query(
            n, members, classes_of(q, labels), integers, docs, tables, rules, force, notes
        )
        counts[q] = np.int64(count)
        if is_priced:
            wanted.costs[q] = labels.scale[q] * cost
        if count == 0.0 or not (is_listed or is_traced or is_shared):
            continue
        take_sums(n, floats, docs)
        scale = labels.scale[q]
        factor, factor_hess = norm_factors(n, total, norm, scale, rules, floats)
        factors[q] = factor / (rules.sigma * scale)
        end_notes(n, scale, rules.sigma, factor, factor_hess, wanted, notes)
    return -1


@entry
def equal_block(first, last, scores, queries, labels, sigma, costs):
    """What pairs of equal labels of the queries first..last-1 cost if each weighs 1.

    Such a pair has no hi: 1/2 sigma x + log(1 + exp(-sigma x)) is the same for x and -x. Returns
    the first query whose scores are bad, or -1.
    """
    _, _, floats = make_scratch(first, last, queries)
    given, ordered = floats[GIVEN], floats[SUM_LAM]
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        low, high = load_scores(scores, queries.row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        for i in range(n):
            ordered[labels.position[start + i]] = given[i]
        classes = classes_of(q, labels).start
        total = 0.0
        for c in range(len(classes) - 1):
            for i in range(classes[c], classes[c + 1]):
                for j in range(i + 1, classes[c + 1]):
                    x = abs(ordered[i] - ordered[j])
                    total += 0.5 * min(sigma * x, 1e300) + pair_cost(x, 1.0, sigma, 0.0, False)
        costs[q] = total
    return -1
