"""Values of metrics: each query is ranked once, and every metric reads that ranking."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.layout import GIVEN, ORDER, make_scratch
from rankforce.kernels.load import load_scores
from rankforce.kernels.ranking import SELECT_AT_MOST, select_top, sort_by_score

# How a metric is made of the values of the documents in ranked order.
SUM, AVERAGE_PRECISION, RECIPROCAL_RANK, CASCADE = range(4)
# Up to this many ranks are found by insertion; for more, sorting all of 120 documents is faster.
INSERT_AT_MOST = 12
# What tied scores mean: ranks by row; the mean over all orders; each document at the last rank.
ROW, AVERAGE, LAST = range(3)


@kernel
def rank_top(n, depth, low, high, integers, floats):
    """Write the best `depth` documents into row ORDER, or all; returns how many that are."""
    known = min(n, depth)
    is_few = known <= SELECT_AT_MOST and known * known <= 2 * n
    if is_few or known <= INSERT_AT_MOST:
        select_top(n, known, integers, floats)
    else:
        sort_by_score(n, low, high, integers, floats)
    return known


@kernel
def weighted_sum(end, values, table):
    """Sum of value * table over the ranks before `end`."""
    total = 0.0
    for r in range(np.uint64(end)):
        total += values[r] * table[r]
    return total


@kernel
def precision_sum(end, values):
    """Sum over the relevant documents of the precision at their rank."""
    total = 0.0
    hits = 0.0
    for r in range(np.uint64(end)):  # no branch: whether a document is relevant is hard to foresee
        hits += values[r]
        total += values[r] * hits / (r + 1.0)
    return total


@kernel
def reciprocal_rank(end, values):
    """1 / rank of the first relevant document, 0 without one."""
    for r in range(end):
        if values[r] > 0.0:
            return 1.0 / (r + 1.0)
    return 0.0


@kernel
def cascade(end, values):
    """Sum over ranks of the probability to stop there, over the rank (Chapelle et al. 2009)."""
    total = 0.0
    reading = 1.0
    for r in range(end):
        total += reading * values[r] / (r + 1.0)
        reading *= 1.0 - values[r]
    return total


@kernel
def tie_ends(n, integers, floats, ends):
    """Write for every rank the rank after the last with the same score; returns whether any tie."""
    end = n
    any_tie = False
    for r in range(n - 1, 0, -1):
        ends[r] = end
        if floats[GIVEN, integers[ORDER, r - 1]] != floats[GIVEN, integers[ORDER, r]]:
            end = r
        else:
            any_tie = True
    ends[0] = end
    return any_tie


@kernel
def mean_weighted_sum(end, values, table, ends):
    """Mean of `weighted_sum` over all orders of tied documents."""
    total = 0.0
    start = 0
    while start < end:
        stop = ends[start]
        # Whole numbers are multiplied before they are divided: P and Recall stay exact.
        ranks = np.sum(table[start : min(stop, end)])
        total += np.sum(values[start:stop]) * ranks / (stop - start)
        start = stop
    return total


@kernel
def mean_precision_sum(end, values, ends):
    """Mean of `precision_sum` over all orders of tied documents.

    A rank of the tie is relevant with probability found / size, and of the ranks of the tie before
    it (found - 1) / (size - 1) are relevant then.
    """
    total = 0.0
    hits = 0.0
    start = 0
    while start < end:
        stop = ends[start]
        size = stop - start
        found = np.sum(values[start:stop])
        for r in range(start, min(stop, end)):
            before = hits + (r - start) * (found - 1.0) / max(size - 1.0, 1.0)
            total += found / size * (1.0 + before) / (r + 1.0)
        hits += found
        start = stop
    return total


@kernel
def last_precision_sum(end, values, ends):
    """`precision_sum` with every document at the last rank of its tie."""
    total = 0.0
    hits = 0.0
    start = 0
    while start < end:
        stop = ends[start]
        found = np.sum(values[start:stop])
        hits += found
        if stop <= end:
            total += found * hits / stop
        start = stop
    return total


@kernel
def mean_reciprocal_rank(end, values, ends):
    """Mean of `reciprocal_rank` over all orders: no document of the tie before it is relevant."""
    total = 0.0
    start = 0
    while start < end:
        stop = ends[start]
        found = np.sum(values[start:stop])
        none_before = 1.0
        for r in range(start, min(stop, end)):
            here = min(found / (stop - r), 1.0)
            total += none_before * here / (r + 1.0)
            none_before *= 1.0 - here
        if found > 0.0:
            return total
        start = stop
    return total


@kernel
def mean_cascade(end, values, ends, scratch):
    """Mean of `cascade` over all orders of tied documents.

    Over all choices of m documents of the tie, goes_on[m] is the mean product of their 1 - stop,
    and stops[m] that of m - 1 of them and of the stop of the last: rank m of the tie is worth
    stops[m] / rank. Both are found document by document.
    """
    goes_on, stops = scratch[0], scratch[1]
    total = 0.0
    reading = 1.0
    start = 0
    while start < end:
        stop = ends[start]
        deep = min(stop, end) - start
        goes_on[0] = 1.0
        goes_on[1 : deep + 1] = 0.0
        stops[: deep + 1] = 0.0
        rest = 1.0
        for seen in range(1, stop - start + 1):
            value = values[start + seen - 1]
            rest *= 1.0 - value
            for m in range(min(deep, seen), 0, -1):  # it is none of the m, the last, or another
                among = (m - 1.0) * (1.0 - value) * stops[m - 1]
                stops[m] = ((seen - m) * stops[m] + value * goes_on[m - 1] + among) / seen
                among = m * (1.0 - value) * goes_on[m - 1]
                goes_on[m] = ((seen - m) * goes_on[m] + among) / seen
        for m in range(1, deep + 1):
            total += reading * stops[m] / (start + m)
        reading *= rest
        start = stop
    return total


@kernel
def measure(kind, end, values, table):
    """One metric of one query, before it is divided by its ideal value."""
    if kind == SUM:
        return weighted_sum(end, values, table)
    if kind == AVERAGE_PRECISION:
        return precision_sum(end, values)
    if kind == RECIPROCAL_RANK:
        return reciprocal_rank(end, values)
    return cascade(end, values)


@kernel
def measure_ties(kind, ties, end, values, table, ends, scratch):
    """The same, where tied documents do not rank by row."""
    if kind == SUM:
        return mean_weighted_sum(end, values, table, ends)
    if kind == AVERAGE_PRECISION:
        if ties == LAST:
            return last_precision_sum(end, values, ends)
        return mean_precision_sum(end, values, ends)
    if kind == RECIPROCAL_RANK:
        return mean_reciprocal_rank(end, values, ends)
    return mean_cascade(end, values, ends, scratch)


@entry
def measure_block(
    first, last, scores, queries, columns, column_of, kind_of, end_of, ties_of, tables, depth, out
):
    """Fill out[:, first:last]; returns a query whose scores are not finite, or -1.

    `columns` holds values of documents, one row per kind of value, in the order of places. Metric
    m reads row column_of[m], to rank end_of[m]; `depth` is the largest of these, or beyond all
    documents where ties matter. Queries without a document are left as they are.
    """
    size, integers, floats = make_scratch(first, last, queries)
    ranked = np.empty((len(columns), size))
    ends = np.empty(size, np.int64)
    scratch = np.empty((2, size + 1))
    has_ties = np.any(ties_of != ROW)
    for q in range(first, last):
        start = queries.pointer[q]
        n = queries.pointer[q + 1] - start
        if n == 0:
            continue
        low, high = load_scores(scores, queries.row, start, n, floats)
        if np.isnan(low):
            return q
        known = rank_top(n, depth, low, high, integers, floats)
        for c in range(len(columns)):
            for r in range(np.uint64(known)):
                ranked[c, r] = columns[c, np.uint64(start + integers[ORDER, r])]
        by_row = not has_ties or not tie_ends(n, integers, floats, ends)
        for m in range(len(kind_of)):
            end = min(n, end_of[m])
            values = ranked[column_of[m]]
            if by_row or ties_of[m] == ROW:
                out[m, q] = measure(kind_of[m], end, values, tables[m])
            else:
                out[m, q] = measure_ties(
                    kind_of[m], ties_of[m], end, values, tables[m], ends, scratch
                )
    return -1
