"""Forces of whole queries: one call works off a block of them."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.exact import force_of, norm_factors, shrink, take_sums, walk_query
from rankforce.kernels.fours import fill_term, push_four_below, push_four_members, push_one_member
from rankforce.kernels.layout import (
    BY_RANK,
    BY_STEP,
    BY_USER,
    HESS,
    INSIDE,
    LAM,
    MASK,
    MEMBER,
    RANK,
    STD_NORM,
    SUM_HESS,
    SUM_LAM,
    TILE,
    WIDTH,
    Shown,
    at,
    classes_of,
    make_documents,
    make_scratch,
    row_at,
    tile_end,
)
from rankforce.kernels.load import exponentials, load_documents, load_scores, rank_documents
from rankforce.kernels.preferences import spread_factor
from rankforce.kernels.rows import push_band, push_run
from rankforce.kernels.sets import draw_key, mark_inside, mark_pair_set

# Score spread (times sigma, plus twice |center|) up to which float32 holds e^score, and the norm's
# 0.01 + |x|, well enough. Beyond it pairs are done one by one in float64.
SPREAD = 16.0
# Rows after which float32 sums move to float64: no sum has more than 4 * FLUSH terms.
FLUSH = 512


@kernel
def flush(n, floats, docs):
    """Move the sums so far into float64."""
    start = np.int64(0)
    while start < n:
        stop = tile_end(start, n)
        lam = at(LAM, start)
        hess = at(HESS, start)
        first = np.uint64(start)
        for p in range(np.uint64(stop - start)):
            floats[SUM_LAM, first + p] += docs[lam + p]
            floats[SUM_HESS, first + p] += docs[hess + p]
            docs[lam + p] = 0.0
            docs[hess + p] = 0.0
        start = stop


@kernel
def push_all(n, classes, rank, floats, docs, tables, rules, force):
    """Every pair with different labels; returns the sum of lambda magnitudes."""
    total = 0.0
    rows = 0
    by_four = rules.kind <= BY_STEP and not rules.is_sigmoid and not rules.is_tiered
    for c in range(len(classes.start) - 2):
        i = classes.start[c]
        below = classes.start[c + 1]
        stop = classes.tier_stop[c]
        if by_four:
            fill_term(i, below, stop, docs, rules)
        while i < below:
            if by_four:
                total += push_four_below(i, min(below - i, 4), below, stop, docs, rules, force)
                i += 4
            else:
                total += push_run(i, np.bool_(True), below, stop, docs, rank, tables, rules, force)
                i += 1
            rows += 1
            if rows % FLUSH == 0:
                flush(n, floats, docs)
    return total


@kernel
def clear_mask(n, docs):
    """Row MASK to 0, padding included."""
    start = np.int64(0)
    while start < n:
        mask = at(MASK, start)
        for j in range(np.uint64(WIDTH)):
            docs[mask + j] = 0.0
        start += TILE


@kernel
def push_members(n, members, classes, integers, floats, docs, tables, rules, force):
    """Pairs with at least one member.

    A member meets, as hi, everything below its label and, as lo, the documents above its label
    that are no members (row MASK): every pair once.
    """
    mark_inside(n, members, integers)
    inside = integers[INSIDE]
    rank = integers[RANK]
    total = 0.0
    rows = 0
    clear_mask(n, docs)
    for c in range(len(classes.start) - 1):
        above = classes.start[c]
        below = classes.start[c + 1]
        first, stop = classes.tier_start[c], classes.tier_stop[c]
        for i in range(above, below):
            if inside[i] == 0:
                continue
            total += push_run(i, np.bool_(True), below, stop, docs, rank, tables, rules, force)
            total += push_run(i, np.bool_(False), first, above, docs, rank, tables, rules, force)
            rows += 1
            if rows % FLUSH == 0:
                flush(n, floats, docs)
        for i in range(above, below):
            docs[at(MASK, i)] = 1.0 - inside[i]
    return total


@kernel
def push_members_by_four(n, members, integers, floats, docs, rules, force):
    """`push_members` for weights by rank that do not care which document of a pair is hi."""
    total = 0.0
    for m in range(members):
        docs[at(MASK, integers[MEMBER, m])] = 0.5
    m = 0
    while m < members:
        if members - m >= 3:
            total += push_four_members(m, min(members - m, 4), n, integers, docs, rules, force)
            m += 4
        else:
            total += push_one_member(integers[MEMBER, m], n, docs, rules, force)
            m += 1
        if m % FLUSH == 0:
            flush(n, floats, docs)
    return total


@kernel
def push_query(n, members, classes, integers, floats, docs, tables, rules, force):
    """All forces of a loaded query into the sums of `floats`; returns their total magnitude."""
    total = 0.0
    rank = integers[RANK]
    if members == n:
        total += push_all(n, classes, rank, floats, docs, tables, rules, force)
    elif (
        members > 0
        and rules.is_symmetric
        and rules.kind == BY_RANK
        and not (rules.is_sigmoid or rules.is_tiered)
    ):
        total += push_members_by_four(n, members, integers, floats, docs, rules, force)
    elif members > 0:
        total += push_members(n, members, classes, integers, floats, docs, tables, rules, force)
    flush(n, floats, docs)
    if 0 < rules.band < n:
        total += push_band(n, rank, docs, floats, tables, rules, force)
    return total


@kernel
def write_out(n, start, position, row, floats, factor, factor_hess, is_step, lam, hess):
    """Put the query's forces at their rows; a gradient step has hessian 1."""
    first = np.uint64(start)
    for i in range(np.uint64(n)):
        p = np.uint64(position[first + i])
        r = np.uint64(row[first + i]) if len(row) > 0 else first + i
        lam[r] = factor * floats[SUM_LAM, p]
        hess[r] = 1.0 if is_step else factor_hess * floats[SUM_HESS, p]


@entry
def push_block(
    first,
    last,
    scores,
    queries,
    labels,
    tables,
    exact,
    fast,
    norm,
    seed,
    iteration,
    lam,
    hess,
    totals,
):
    """Forces of the queries first..last-1; returns the first query whose scores are bad, or -1.

    `exact` are the objective's rules, `fast` a shortcut to the same forces for scores in range.
    `totals` takes what `norm_sums` needs, unless it is empty.
    """
    size, integers, floats = make_scratch(first, last, queries)
    docs = make_documents(size, np.zeros(1, np.float32))
    wide_docs = np.zeros(0, np.float64)
    row = queries.row
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        low, high = load_scores(scores, row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        classes = classes_of(q, labels)
        if len(classes.start) < 3 or labels.scale[q] == 0.0:
            for p in range(n):
                floats[SUM_LAM, p] = 0.0
                floats[SUM_HESS, p] = 0.0
            write_out(n, start, labels.position, row, floats, 0.0, 0.0, np.bool_(False), lam, hess)
            continue
        spread = max(high - low, exact.sigma * (high - low) + 2.0 * abs(exact.center))
        is_wide = spread > SPREAD or exact.kind == BY_USER
        force = force_of(norm, high > low, exact.center)
        rules = exact if is_wide else fast
        known = rank_documents(n, low, high, start, labels.position, rules.flat, integers, floats)
        shown = Shown(n, start, low, high, known, labels.positive[q])
        key = draw_key(seed, iteration, queries.key[q])
        members = mark_pair_set(
            n, classes.start, shown.positive, labels.strategy[q], key, rules, integers
        )
        position, u = labels.position, labels.u
        if is_wide:
            if len(wide_docs) == 0:
                wide_docs = make_documents(size, np.zeros(1, np.float64))
            load_documents(shown, position, u, tables, rules, integers, floats, wide_docs)
            total, _, _ = walk_query(
                n, members, classes, integers, wide_docs, tables, rules, force, None
            )
            take_sums(n, floats, wide_docs)
        else:
            load_documents(shown, position, u, tables, rules, integers, floats, docs)
            exponentials(n, rules.sigma, docs)
            total = push_query(n, members, classes, integers, floats, docs, tables, rules, force)
        if len(totals) > 0:
            totals[q] = 2.0 * rules.sigma * labels.scale[q] * total
        factor, factor_hess = norm_factors(n, total, norm, labels.scale[q], rules, floats)
        is_step = (norm == STD_NORM or rules.is_sigmoid) and factor > 0.0 and total > 0.0
        write_out(n, start, position, row, floats, factor, factor_hess, is_step, lam, hess)
    return -1


@entry
def norm_sums(queries, totals, norm, is_step, lam, hess, factors):
    """Give sums of forces the norm that one objective has; `factors` takes what multiplies them.

    `totals` has the sum of magnitudes of each query's pairs, counted once for each document.
    """
    for q in range(len(factors)):
        inverse = spread_factor(q, queries, lam)
        factors[q] = shrink(totals[q], norm) if totals[q] > 0.0 or inverse > 0.0 else 0.0
        if norm == STD_NORM:
            factors[q] = inverse
        for place in range(queries.pointer[q], queries.pointer[q + 1]):
            r = row_at(queries.row, place)
            lam[r] *= factors[q]
            hess[r] *= factors[q]
            if is_step:
                hess[r] = 1.0 if factors[q] > 0.0 else 0.0
