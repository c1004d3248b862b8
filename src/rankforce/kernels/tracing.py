"""Where forces come from, and where they are at odds with the ranking."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.exact import decay, list_query, load_query
from rankforce.kernels.forces import norm_factors
from rankforce.kernels.layout import (
    FLOAT_ROWS,
    INTEGER_COLUMNS,
    INTEGER_ROWS,
    LANES,
    LIGHTGBM_NORM,
    SCORE,
    STD_NORM,
    SUM_LAM,
    at,
    largest_query,
    make_documents,
)
from rankforce.kernels.preferences import (
    is_spread,
    pair_terms,
    row_at,
    shrink,
    spread_factor,
)
from rankforce.kernels.ranking import merge_sort


@kernel
def push_listed(n, pairs, hi, lo, weight, norm, rules, docs, floats):
    """Turn the listed weights of a query into magnitudes of forces, without powers of sigma.

    Returns their sum; the forces of documents go to row SUM_LAM.
    """
    low = np.inf
    high = -np.inf
    for p in range(n):
        floats[SUM_LAM, p] = 0.0
        low = min(low, docs[at(SCORE, p)])
        high = max(high, docs[at(SCORE, p)])
    is_apart = norm == LIGHTGBM_NORM and high > low
    total = 0.0
    for k in range(pairs):
        x = docs[at(SCORE, hi[k])] - docs[at(SCORE, lo[k])]
        z = rules.sigma * x + rules.center
        y = decay(z)
        base = weight[k] / ((1.0 + y) * (0.01 + abs(x) if is_apart else 1.0))
        if rules.is_sigmoid:
            weight[k] = base * y / (1.0 + y)
        else:
            weight[k] = base * (y if z > 0.0 else 1.0)
        total += weight[k]
        floats[SUM_LAM, hi[k]] += weight[k]
        floats[SUM_LAM, lo[k]] -= weight[k]
    return total


@entry
def trace_block(
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
    slot,
    code,
    share,
    counts,
    factors,
    sources,
):
    """Number of pairs and factor of the norm of each query, and where forces come from.

    `share` times the magnitude of every pair's force is added to sources[slot of a document, code
    of the other], for both documents; a slot below 0 has no place. Returns the first query whose
    scores are bad, or -1.
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
        counts[q] = 0
        factors[q] = 0.0
        members = load_query(
            q, scores, queries, labels, tables, rules, seed, iteration, integers, floats, docs
        )
        if members < 0:
            return q
        if members == 0:
            continue
        pairs = list_query(
            q, members, queries, labels, tables, rules, integers, docs, hi, lo, weight
        )
        if pairs > len(hi):
            hi = np.empty(2 * pairs, np.int64)
            lo = np.empty(2 * pairs, np.int64)
            weight = np.empty(2 * pairs, np.float64)
            list_query(q, members, queries, labels, tables, rules, integers, docs, hi, lo, weight)
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        for i in range(start, start + n):
            row_of[labels.position[i]] = row_at(queries.row, i)
        total = push_listed(n, pairs, hi, lo, weight, norm, rules, docs, floats)
        factor, _ = norm_factors(n, total, norm, labels.scale[q], rules, floats)
        counts[q] = pairs
        factors[q] = factor / (rules.sigma * labels.scale[q])
        for k in range(pairs):
            a = row_of[hi[k]]
            b = row_of[lo[k]]
            if slot[a] >= 0:
                sources[slot[a], code[b]] += share * factor * weight[k]
            if slot[b] >= 0:
                sources[slot[b], code[a]] += share * factor * weight[k]
    return -1


@entry
def trace_preferences(
    first,
    last,
    scores,
    queries,
    pointer,
    hi,
    lo,
    weight,
    sigma,
    norm,
    slot,
    code,
    share,
    counts,
    factors,
    sources,
):
    """`trace_block` for explicit pairs: query q has the pairs pointer[q]..pointer[q+1]-1."""
    lam = np.zeros(len(scores), np.float64)
    for q in range(first, last):
        is_apart = norm == LIGHTGBM_NORM and is_spread(q, scores, queries)
        counts[q] = 0
        total = 0.0
        for k in range(pointer[q], pointer[q + 1]):
            force, _ = pair_terms(scores[hi[k]] - scores[lo[k]], weight[k], sigma, is_apart)
            counts[q] += 1 if weight[k] > 0.0 else 0
            total += force
            lam[hi[k]] += force
            lam[lo[k]] -= force
        factor = sigma * shrink(total, sigma, norm)
        if norm == STD_NORM:
            factor = spread_factor(q, queries, lam)
        factors[q] = factor / sigma if counts[q] > 0 else 0.0
        for k in range(pointer[q], pointer[q + 1]):
            force, _ = pair_terms(scores[hi[k]] - scores[lo[k]], weight[k], sigma, is_apart)
            if slot[hi[k]] >= 0:
                sources[slot[hi[k]], code[lo[k]]] += share * factor * force
            if slot[lo[k]] >= 0:
                sources[slot[lo[k]], code[hi[k]]] += share * factor * force


@entry
def rank_block(first, last, scores, queries, ranked):
    """Rows of each query by rank, best first, ties by place."""
    size = largest_query(first, last, queries)
    own = np.empty(size, np.float64)
    order = np.empty(size, np.int32)
    other = np.empty(size, np.int32)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        for i in range(n):
            own[i] = scores[row_at(queries.row, start + i)]
        merge_sort(own, n, order, other)
        for r in range(n):
            ranked[start + r] = row_at(queries.row, start + order[r])


@entry
def restricted_block(first, last, pointer, code, ideal, lam, k, missable, violations, size):
    """Pairs of a false and a missed top-k document of which the false one has the larger force.

    Documents stand by rank: `code` numbers their labels, `ideal` the same in the best order; codes
    below `missable` are never missed. `size` sums how much larger.
    """
    need = np.zeros(np.max(code) + 1 if len(code) > 0 else 1, np.int64)
    missed = np.empty(np.max(np.diff(pointer)) if len(pointer) > 1 else 0, np.float64)
    for q in range(first, last):
        start = pointer[q]
        end = pointer[q + 1]
        below = start + min(k, end - start)
        for r in range(start, below):
            need[ideal[r]] += 1
            need[code[r]] -= 1
        count = 0
        for m in range(below, end):
            if need[code[m]] > 0 and code[m] >= missable:
                missed[count] = lam[m]
                count += 1
        found = 0
        total = 0.0
        for f in range(start, below if count > 0 else start):
            if need[code[f]] < 0:
                for m in range(count):
                    if lam[f] > missed[m]:
                        found += 1
                        total += lam[f] - missed[m]
        for r in range(start, below):
            need[ideal[r]] = 0
            need[code[r]] = 0
        violations[q] = found
        size[q] = total


@entry
def unrestricted_block(first, last, pointer, code, lam, violations, size):
    """Pairs in the wrong order of which the worse document has the larger force.

    Counted as a float and indexed without a sign, the inner loop is vectorised: 20 times as fast.
    """
    for q in range(first, last):
        found = 0.0
        total = 0.0
        end = np.uint64(pointer[q + 1])
        for i in range(np.uint64(pointer[q]), end):
            for j in range(i + np.uint64(1), end):
                more = max(lam[i] - lam[j], 0.0)
                more = more if code[j] > code[i] else 0.0
                found += 1.0 if more > 0.0 else 0.0
                total += more
        violations[q] = np.int64(found)
        size[q] = total
