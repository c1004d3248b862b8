"""Features in bins: what range values have, the bin of each, where rows of bins go in a tree.

Bins are bytes. Columns stand in blocks, each with all its rows behind one another: bin `b` of a row
and a column is at `at[column] + row * step[column]`. NaN has the number behind the last bin.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry

# Columns of nodes that look at bins: the last bin that goes left, and whether NaN does; where the
# bin is `CODED`, a set of bins goes left, and bit b of the words from `SET` on says whether b does.
COLUMN, BIN, NAN_LEFT, LEFT, RIGHT, SET = 0, 1, 2, 3, 4, 5
CODED = -1
# What bins a column has: one for NaN, one for each code of a category.
HAS_NAN, IS_CODED = 1, 2
AHEAD = 128  # rows that are copied together, so that memory brings many at a time


@entry
def look_block(first, last, width, values, low, high, missing):
    """Least and largest value of each column, and how many are NaN, in the rows first..last-1."""
    for row in range(np.uint64(first), np.uint64(last)):
        start = row * np.uint64(width)
        for column in range(np.uint64(width)):
            x = values[start + column]
            low[column] = x if x < low[column] else low[column]
            high[column] = x if x > high[column] else high[column]
            missing[column] += x != x


@entry
def bin_block(first, last, before, width, values, columns, ends, starts, many, at, step, bins):
    """The bin of every value of the rows first..last-1: the first that does not end below it.

    The ends of a column's bins begin at starts[column], a power of two of them less one, infinite
    behind the last; the rows are those from `before` on in `bins`. Bins of many rows are halved at
    a time, without a branch: one after the other they took twice as long.
    """
    x = np.empty(AHEAD, np.float32)
    found = np.empty(AHEAD, np.uint32)
    begin = np.uint64(first)
    while begin < np.uint64(last):
        rows = min(np.uint64(AHEAD), np.uint64(last) - begin)
        for k in range(np.uint64(len(columns))):
            start = begin * np.uint64(width) + np.uint64(columns[k])
            for i in range(rows):
                x[i] = values[start + i * np.uint64(width)]
            found[:] = starts[k]
            size = np.uint32((starts[k + np.uint64(1)] - starts[k] + 1) >> 1)
            while size > np.uint32(0):
                for i in range(AHEAD):
                    middle = np.uint64(found[i] + size - np.uint32(1))
                    found[i] += size if ends[middle] < x[i] else np.uint32(0)
                size >>= np.uint32(1)
            into = np.uint64(at[k]) + (np.uint64(before) + begin) * np.uint64(step[k])
            for i in range(rows):
                b = np.uint8(found[i] - starts[k]) if x[i] == x[i] else np.uint8(many[k])
                bins[into + i * np.uint64(step[k])] = b
        begin += rows


@entry
def spread_block(first, last, is_all, rows, width, columns, bins, at, step, many, out):
    """Numbers of bins, NaN for that of missing values, of all rows first..last-1 or of these."""
    for i in range(np.uint64(first), np.uint64(last)):
        row = i if is_all else np.uint64(rows[i])
        into = (i - np.uint64(first)) * np.uint64(width)
        for k in range(np.uint64(len(columns))):
            b = bins[np.uint64(at[k]) + row * np.uint64(step[k])]
            out[into + np.uint64(columns[k])] = np.float32(b) if b < many[k] else np.nan


@entry
def gather_block(first, last, bins, at, step, rows, columns, edge, out):
    """The bins of some rows and columns, block by block."""
    count = np.uint64(len(rows))
    begin = np.uint64(first)
    while begin < np.uint64(last):
        end = min(begin + np.uint64(AHEAD), np.uint64(last))
        for block in range(len(edge) - 1):
            base = count * np.uint64(edge[block])
            low, high = np.uint64(edge[block]), np.uint64(edge[block + 1])
            for i in range(begin, end):
                row = np.uint64(rows[i])
                into = base + i * (high - low) - low
                for j in range(low, high):
                    k = np.uint64(columns[j])
                    out[into + j] = bins[np.uint64(at[k]) + row * np.uint64(step[k])]
        begin = end


@entry
def walk_block(first, last, is_all, rows, bins, at, step, many, nodes, leaf):
    """The leaf of all rows first..last-1, or of those with these numbers in `rows`."""
    for i in range(np.uint64(first), np.uint64(last)):
        row = i if is_all else np.uint64(rows[i])
        node = np.int64(0)
        while node >= 0:
            n = np.uint64(node)
            k = np.uint64(nodes[n, COLUMN])
            b = np.int64(bins[np.uint64(at[k]) + row * np.uint64(step[k])])
            if b == many[k]:
                goes = nodes[n, NAN_LEFT] != 0
            elif nodes[n, BIN] == CODED:
                goes = (nodes[n, SET + (b >> 6)] >> (b & 63)) & 1 != 0
            else:
                goes = b <= nodes[n, BIN]
            node = nodes[n, LEFT] if goes else nodes[n, RIGHT]
        leaf[row] = ~node
