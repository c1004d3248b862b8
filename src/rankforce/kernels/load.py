"""Brings a query into label order: scores, ranks, labels, values of ranks, exponentials."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.layout import (
    GAIN,
    GIVEN,
    HESS,
    LAM,
    LANES,
    MASK,
    ORDER,
    POSITION,
    RANK,
    RANK_VALUE,
    SCORE,
    SIDE,
    SIDES,
    SUM_HESS,
    SUM_LAM,
    E,
    G,
    U,
    at,
    tile_end,
)
from rankforce.kernels.ranking import SELECT_AT_MOST, select_top, sort_by_score
from rankforce.kernels.swaps import ERR, fill_sides

LARGEST = np.finfo(np.float64).max


@kernel
def load_scores(scores, row, start, n, floats):
    """Copy the scores of one query; returns their minimum and maximum, NaN if one is not finite."""
    first = np.uint64(start)
    count = np.uint64(n)
    if len(row) > 0:
        for i in range(count):
            floats[GIVEN, i] = scores[row[first + i]]
    else:
        for i in range(count):
            floats[GIVEN, i] = scores[first + i]
    low = np.inf
    high = -np.inf
    bad = 0
    for i in range(count):
        low = min(low, floats[GIVEN, i])
        high = max(high, floats[GIVEN, i])
        bad += 0 if abs(floats[GIVEN, i]) <= LARGEST else 1
    return np.nan if bad else low, high


@kernel
def rank_documents(n, low, high, start, position, flat, integers, floats):
    """Find the ranks that the objective looks at; returns their number.

    Row ORDER maps ranks to documents in label order, row RANK the other way round.
    """
    known = n
    if flat == 0:
        known = np.int64(0)
    elif flat < n and flat <= SELECT_AT_MOST:
        select_top(n, flat, integers, floats)
        known = np.int64(flat)
    else:
        sort_by_score(n, low, high, integers, floats)
    for r in range(np.uint64(known)):
        p = position[np.uint64(start + integers[ORDER, r])]
        integers[ORDER, r] = p
        integers[RANK, np.uint64(p)] = r
    return known


@kernel
def load_documents(shown, position, u, tables, rules, integers, floats, docs):
    """Fill the rows of `docs` that one ranking decides, all but the exponentials."""
    n, start, known = shown.n, shown.start, shown.known
    middle = 0.5 * shown.low + 0.5 * shown.high
    first = np.uint64(start)
    for i in range(np.uint64(n)):
        docs[at(SCORE, position[first + i])] = floats[GIVEN, i] - middle
    begin = np.int64(0)
    while begin < n:
        stop = tile_end(begin, n)
        load_tile(begin, stop - begin, start, u, tables, rules, known == n, integers, docs)
        begin = stop
    if known < n:
        for r in range(known):
            docs[at(G, integers[ORDER, r])] = tables[POSITION, r]
    for p in range(np.uint64(n)):
        floats[SUM_LAM, p] = 0.0
        floats[SUM_HESS, p] = 0.0
    if rules.swaps > 0:
        load_sides(n, start, u, shown.positive, rules, integers, floats, docs)


@kernel
def load_tile(start, n, first_u, u, tables, rules, is_sorted, integers, docs):
    """Labels and values of ranks of one tile; forces and padding to 0."""
    first = np.uint64(start)
    first_u = np.uint64(first_u + start)
    count = np.uint64(n)
    u_row, g_row, values = at(U, start), at(G, start), at(RANK_VALUE, start)
    e_row, mask, lam, hess = at(E, start), at(MASK, start), at(LAM, start), at(HESS, start)
    for p in range(count):
        docs[u_row + p] = u[first_u + p]
    if is_sorted:
        for p in range(count):
            docs[g_row + p] = tables[POSITION, np.uint64(integers[RANK, first + p])]
    elif rules.flat > 0:
        for p in range(count):
            docs[g_row + p] = tables[POSITION, rules.flat]
    if rules.step > 0.0:
        for p in range(count):
            docs[values + p] = integers[RANK, first + p]
    for p in range(count, count + np.uint64(LANES)):
        docs[e_row + p] = 0.0
        docs[u_row + p] = 0.0
    for p in range(count + np.uint64(LANES)):
        docs[mask + p] = 1.0
        docs[lam + p] = 0.0
        docs[hess + p] = 0.0


@kernel
def load_sides(n, start, u, positive, rules, integers, floats, docs):
    """The six numbers of `swaps` for every document."""
    for r in range(n):
        p = integers[ORDER, r]
        if rules.swaps == ERR:
            floats[GAIN, r] = u[start + p]
        else:
            floats[GAIN, r] = 1.0 if p < positive else 0.0
    fill_sides(rules.swaps, n, rules.swaps_cutoff, floats[GAIN], floats[SIDES:])
    for k in range(6):
        for p in range(n):
            docs[at(SIDE + k, p)] = floats[SIDES + k, integers[RANK, p]]


@kernel
def exponentials(n, sigma, docs):
    """e^(sigma * score) for |sigma * score| <= 8: a Taylor polynomial of x/16, squared four times.

    Vectorised by the compiler, unlike a call of the library's exp; relative error below 3e-6.
    """
    factor = np.float32(sigma / 16.0)
    one = np.float32(1.0)
    start = np.int64(0)
    while start < n:
        stop = tile_end(start, n)
        x = at(SCORE, start)
        e = at(E, start)
        for i in range(np.uint64(stop - start)):
            t = docs[x + i] * factor
            y = np.float32(1.0 / 5040.0) * t + np.float32(1.0 / 720.0)
            y = y * t + np.float32(1.0 / 120.0)
            y = y * t + np.float32(1.0 / 24.0)
            y = y * t + np.float32(1.0 / 6.0)
            y = y * t + np.float32(0.5)
            y = y * t + one
            y = y * t + one
            y *= y
            y *= y
            y *= y
            docs[e + i] = y * y
        start = stop
