"""Values of metrics: each query is ranked once, and every metric reads that ranking."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.layout import (
    FLOAT_ROWS,
    INTEGER_COLUMNS,
    INTEGER_ROWS,
    ORDER,
    largest_query,
)
from rankforce.kernels.load import load_scores
from rankforce.kernels.ranking import SELECT_AT_MOST, select_top, sort_by_score

# How a metric is made of the values of the documents in ranked order.
SUM, AVERAGE_PRECISION, RECIPROCAL_RANK, CASCADE = range(4)
# Up to this many ranks are found by insertion; for more, sorting all of 120 documents is faster.
INSERT_AT_MOST = 12


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
def measure(kind, end, values, table):
    """One metric of one query, before it is divided by its ideal value."""
    if kind == SUM:
        return weighted_sum(end, values, table)
    if kind == AVERAGE_PRECISION:
        return precision_sum(end, values)
    if kind == RECIPROCAL_RANK:
        return reciprocal_rank(end, values)
    return cascade(end, values)


@entry
def measure_block(
    first, last, scores, queries, columns, column_of, kind_of, end_of, tables, depth, out
):
    """Fill out[:, first:last]; returns a query whose scores are not finite, or -1.

    `columns` holds values of documents, one row per kind of value, in the order of places. Metric
    m reads row column_of[m], to rank end_of[m]; `depth` is the largest of these. Queries without a
    document are left as they are.
    """
    size = largest_query(first, last, queries)
    integers = np.empty((INTEGER_ROWS, max(size, INTEGER_COLUMNS)), np.int32)
    floats = np.empty((FLOAT_ROWS, size))
    ranked = np.empty((len(columns), size))
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
        for m in range(len(kind_of)):
            end = min(n, end_of[m])
            out[m, q] = measure(kind_of[m], end, ranked[column_of[m]], tables[m])
    return -1
