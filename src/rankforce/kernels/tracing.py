"""Where forces come from, and where they are at odds with the ranking."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.exact import decay, load_query, take_sums
from rankforce.kernels.forces import norm_factors
from rankforce.kernels.layout import (
    FLOAT_ROWS,
    INSIDE,
    INTEGER_COLUMNS,
    INTEGER_ROWS,
    LAM,
    LANES,
    LIGHTGBM_NORM,
    MASK,
    ORDER,
    RANK,
    SCORE,
    STD_NORM,
    WEIGHT,
    Force,
    at,
    classes_of,
    largest_query,
    make_documents,
    tile_end,
)
from rankforce.kernels.load import load_scores
from rankforce.kernels.preferences import (
    is_spread,
    pair_terms,
    row_at,
    shrink,
    spread_factor,
)
from rankforce.kernels.ranking import sort_by_score
from rankforce.kernels.sets import mark_inside
from rankforce.kernels.weights import fill_weights


@kernel
def trace_row(i, is_hi, start, end, docs, rules, force):
    """Magnitudes of the forces of row WEIGHT, in its place; returns their sum and their number."""
    sign = 1.0 if is_hi else -1.0
    own = docs[at(SCORE, i)]
    score, weights, lam = at(SCORE, start), at(WEIGHT, start), at(LAM, start)
    total = 0.0
    count = 0.0
    for j in range(np.uint64(end - start)):
        x = sign * (own - docs[score + j])
        z = rules.sigma * x + rules.center
        y = decay(z)
        apart = force.near + force.far * min(abs(x), 1e300)
        weight = docs[weights + j]
        base = weight / ((1.0 + y) * apart)
        first = base * y / (1.0 + y) if rules.is_sigmoid else base * (y if z > 0.0 else 1.0)
        total += first
        count += 1.0 if weight != 0.0 else 0.0
        docs[weights + j] = first
        docs[lam + j] -= sign * first
    docs[at(LAM, i)] += sign * total
    return total, count


@kernel
def share_row(i, start, end, docs, code, slot, parts, masks):
    """Add the forces of row WEIGHT to `parts`: on each of the others from the code of document
    `i`, and on `i`, if it is traced, from theirs. One pass for each code, without a branch."""
    count = np.uint64(end - start)
    weights = at(WEIGHT, start)
    there = parts[code[i]][start:end]
    for j in range(count):
        there[j] += docs[weights + j]
    if slot[i] >= 0:
        for c in range(len(parts)):
            mask = masks[c][start:end]
            total = 0.0
            for j in range(count):
                total += docs[weights + j] * mask[j]
            parts[c, i] += total


@kernel
def trace_query(
    n, members, classes, integers, docs, tables, rules, force, code, slot, parts, masks
):
    """Every row of pairs of a loaded query, as `exact.walk_query` goes through them.

    Returns the sum of magnitudes and the number of pairs.
    """
    mark_inside(n, members, integers)
    inside = integers[INSIDE]
    rank = integers[RANK]
    total = 0.0
    count = 0.0
    for p in range(n):
        docs[at(MASK, p)] = 0.0
    for c in range(len(classes.start) - 1):
        above, below = classes.start[c], classes.start[c + 1]
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
                    found, pairs = trace_row(i, is_hi, start, stop, docs, rules, force)
                    share_row(i, start, stop, docs, code, slot, parts, masks)
                    total += found
                    count += pairs
                    start = stop
        for i in range(above, below):
            docs[at(MASK, i)] = 1.0 - inside[i]
    return total, count


@kernel
def read_codes(n, start, scores, row, position, slot, code, own_slot, own_code, masks):
    """Slots and codes of a query's documents in label order, and for each code 1 where a document
    has it; returns whether scores differ."""
    masks[:, :n] = 0.0
    low = np.inf
    high = -np.inf
    for i in range(start, start + n):
        p = position[i]
        r = row_at(row, i)
        own_slot[p] = slot[r]
        own_code[p] = code[r]
        masks[code[r], p] = 1.0
        low = min(low, scores[r])
        high = max(high, scores[r])
    return high > low


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
    # By position in label order: the slot and the code of each document, the sums of forces on it
    # by code, and for each code 1 where a document has it.
    own_slot = np.empty(size, np.int64)
    own_code = np.empty(size, np.int64)
    parts = np.zeros((sources.shape[1], size), np.float64)
    masks = np.zeros((sources.shape[1], size), np.float64)
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
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        parts[:, :n] = 0.0
        is_spread_out = read_codes(
            n, start, scores, queries.row, labels.position, slot, code, own_slot, own_code, masks
        )
        is_apart = norm == LIGHTGBM_NORM and is_spread_out
        force = Force(0.01 if is_apart else 1.0, 1.0 if is_apart else 0.0, 1.0)
        total, pairs = trace_query(
            n,
            members,
            classes_of(q, labels),
            integers,
            docs,
            tables,
            rules,
            force,
            own_code,
            own_slot,
            parts,
            masks,
        )
        take_sums(n, floats, docs)
        factor, _ = norm_factors(n, total, norm, labels.scale[q], rules, floats)
        counts[q] = np.int64(pairs)
        factors[q] = factor / (rules.sigma * labels.scale[q]) if pairs > 0.0 else 0.0
        for p in range(n):
            if own_slot[p] >= 0:
                for c in range(len(parts)):
                    sources[own_slot[p], c] += share * factor * parts[c, p]
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
    """Rows of each query by rank, best first, ties by place.

    Returns the first query whose scores are bad, or -1.
    """
    size = largest_query(first, last, queries)
    integers = np.zeros((INTEGER_ROWS, max(size + LANES, INTEGER_COLUMNS)), np.int32)
    floats = np.zeros((FLOAT_ROWS, size), np.float64)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        low, high = load_scores(scores, queries.row, start, n, floats)
        if n > 0 and not low <= high:
            return q
        sort_by_score(n, low, high, integers, floats)
        for r in range(n):
            ranked[start + r] = row_at(queries.row, start + integers[ORDER, r])
    return -1


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
