"""How a tree grows on binned features: histograms of integer forces, the best split, and again.

A force and a hessian are small integers, packed into one: force << 16 | hessian for a row, force <<
32 | hessian for sums. Columns stand in blocks, each with all its rows behind one another, so that
what a pass adds to stays in the fastest memory. Blocks can be examined in any order, by any number
of threads: sums of integers are exact.

A column of categories has a bin for each of its codes, and a set of them goes left.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.bins import CODED
from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.sets import splitmix64
from rankforce.kernels.splits import (
    BEGIN,
    BIN,
    COLUMN,
    COUNT,
    DEPTH,
    END,
    FORCE,
    HESSIAN,
    LEFT_FORCE,
    LEFT_HESSIAN,
    NAN_LEFT,
    SET,
    WORDS,
    find_split,
)
from rankforce.kernels.trees import throw_dice

AHEAD = 128  # rows to look at before they are needed, a power of two


@entry
def pack_block(first, last, rows, lam, hess, keys, key, step, step_hess, packed):
    """Forces of some rows in steps, rounded by chance, packed."""
    inverse = 1.0 / step if step > 0.0 else 0.0
    inverse_hess = 1.0 / step_hess if step_hess > 0.0 else 0.0
    for i in range(np.uint64(first), np.uint64(last)):
        row = np.uint64(rows[i])
        draw = splitmix64(key ^ keys[row])
        force, own = throw_dice(lam[row], hess[row], inverse, inverse_hess, draw)
        packed[i] = (np.int32(force) << 16) + np.int32(own)


@entry
def start(packed, order, leaves):
    """All rows in the first leaf."""
    force = np.int64(0)
    second = np.int64(0)
    for i in range(np.uint64(len(packed))):
        order[i] = i
        low = packed[i] & 0xFFFF
        second += low
        force += (packed[i] - low) >> 16
    leaves[0, BEGIN] = 0
    leaves[0, END] = len(packed)
    leaves[0, DEPTH] = 0
    leaves[0, FORCE] = force
    leaves[0, HESSIAN] = second
    leaves[0, COUNT] = len(packed)


@kernel
def _flush(small, total):
    for k in range(len(small)):
        low = np.int64(small[k] & 0xFFFF)
        total[k] += ((np.int64(small[k]) - low) << 16) + low
        small[k] = 0


@kernel
def _touch(bins, base, width, order, first, last):
    """Look at some rows before they are needed: the memory then brings many at a time.

    Half of the time of a pass over scattered rows was waiting for one after the other.
    """
    seen = np.uint64(0)
    for i in range(first, last):
        at = base + np.uint64(order[i]) * width
        seen += np.uint64(bins[at]) + np.uint64(bins[at + width - np.uint64(1)])
    return seen


@kernel
def _sum_rows(bins, base, width, order, begin, end, packed, chunk, shift, total):
    """Add the forces of some rows to the histograms of a block, in few bits as long as they do."""
    small = np.zeros(len(total), np.int32)
    is_all = end - begin == len(packed)
    seen = np.uint64(0)
    first = begin
    while first < end:
        last = min(first + chunk, end)
        for i in range(np.uint64(first), np.uint64(last)):
            if not is_all and i & np.uint64(AHEAD - 1) == np.uint64(0):
                seen |= _touch(
                    bins, base, width, order, i, min(i + np.uint64(AHEAD), np.uint64(end))
                )
            row = i if is_all else np.uint64(order[i])
            force = packed[row]
            at = base + row * width
            for j in range(width):
                small[(j << shift) + np.uint64(bins[at + j])] += force
        _flush(small, total)
        first = last
    return seen


@kernel
def _fill(block, one, other, smaller, bins, edge, packed, order, shift, chunk, leaves, totals,
          splits):  # fmt: skip
    """Histograms of the `smaller` of two leaves, in a block of columns, where `other` has its own.

    Without another leaf, other < 0, where the first has them.
    """
    base = np.uint64(len(packed)) * np.uint64(edge[block])
    width = np.uint64(edge[block + 1] - edge[block])
    first, last = edge[block] << np.int64(shift), edge[block + 1] << np.int64(shift)
    fresh = totals[one if other < 0 else other, first:last]
    fresh[:] = 0
    seen = _sum_rows(bins, base, width, order, leaves[smaller, BEGIN], leaves[smaller, END], packed,
                     chunk, np.uint64(shift), fresh)  # fmt: skip
    splits[block, one, COLUMN] = np.int64(seen & np.uint64(1))  # used, so that it is not left out


@kernel
def _weigh(block, one, other, smaller, edge, many, kind, shift, rules, leaves, totals, gains,
           splits):  # fmt: skip
    """Best splits of two leaves, in a block of columns; other < 0: of the first.

    `totals` of `one` has those of both together, that of `other` those of the smaller leaf.
    """
    width = edge[block + 1] - edge[block]
    first, last = edge[block] << np.int64(shift), edge[block + 1] << np.int64(shift)
    whole = totals[one, first:last]
    if other >= 0:
        fresh = totals[other, first:last]
        if smaller == one:
            for k in range(len(whole)):
                mine = fresh[k]
                fresh[k] = whole[k] - mine
                whole[k] = mine
        else:
            for k in range(len(whole)):
                whole[k] -= fresh[k]
        gains[block, other] = find_split(
            fresh, width, edge[block], many, kind, leaves[other], shift, rules, splits[block, other]
        )
    gains[block, one] = find_split(
        whole, width, edge[block], many, kind, leaves[one], shift, rules, splits[block, one]
    )


@kernel
def _examine(block, one, other, bins, edge, packed, order, many, kind, shift, chunk, rules,
             leaves, totals, gains, splits):  # fmt: skip
    """Histograms and best splits of two leaves, in a block of columns; other < 0: of the first.

    `totals` of `one` has those of both together: only those of the smaller leaf are made.
    """
    smaller = one
    if other >= 0 and leaves[other, COUNT] < leaves[one, COUNT]:
        smaller = other
    _fill(block, one, other, smaller, bins, edge, packed, order, shift, chunk, leaves, totals,
          splits)  # fmt: skip
    _weigh(block, one, other, smaller, edge, many, kind, shift, rules, leaves, totals, gains,
           splits)  # fmt: skip


@entry
def examine(block, one, other, bins, edge, packed, order, many, kind, shift, chunk, rules,
            leaves, totals, gains, splits):  # fmt: skip
    """`_examine`, for a thread that has this block."""
    _examine(block, one, other, bins, edge, packed, order, many, kind, shift, chunk, rules,
             leaves, totals, gains, splits)  # fmt: skip


@entry
def fill(block, one, other, smaller, bins, edge, packed, order, shift, chunk, leaves, totals,
         splits):  # fmt: skip
    """`_fill`, for a worker of a team: histograms of the others' rows come to these."""
    _fill(block, one, other, smaller, bins, edge, packed, order, shift, chunk, leaves, totals,
          splits)  # fmt: skip


@entry
def weigh(block, one, other, smaller, edge, many, kind, shift, rules, leaves, totals, gains,
          splits):  # fmt: skip
    """`_weigh`, for a worker of a team, by the histograms of all."""
    _weigh(block, one, other, smaller, edge, many, kind, shift, rules, leaves, totals, gains,
           splits)  # fmt: skip


@kernel
def _choose(count, deepest, leaves, gains):
    """The block and the leaf whose split is worth most; a leaf below 0 if none is worth it."""
    best, at, in_block = 0.0, -1, -1
    for leaf in range(count):
        if leaves[leaf, DEPTH] >= deepest:
            continue
        for block in range(len(gains)):
            if gains[block, leaf] > best:
                best, at, in_block = gains[block, leaf], leaf, block
    return in_block, at


@kernel
def _part(first, last, block, leaf, bins, edge, many, order, spare, splits):
    """Put those of some rows of a leaf that go left first, the others into `spare`: how many."""
    split = splits[block, leaf]
    width = np.uint64(edge[block + 1] - edge[block])
    column = np.uint64(len(order)) * np.uint64(edge[block])
    column += np.uint64(split[COLUMN] - edge[block])
    goes_left = np.zeros(257, np.uint64)  # of each bin
    if split[BIN] == CODED:
        for b in range(64 * WORDS):
            goes_left[b] = (split[SET + (b >> 6)] >> (b & 63)) & 1
    else:
        goes_left[: split[BIN] + 1] = 1
        goes_left[many[split[COLUMN]]] = split[NAN_LEFT]  # NaN's, which no other value has
    left, right = np.uint64(first), np.uint64(first)
    seen = np.empty(AHEAD, np.uint8)  # many at a time, as in `_touch`
    begin = np.uint64(first)
    while begin < np.uint64(last):
        end = min(begin + np.uint64(AHEAD), np.uint64(last))
        for i in range(begin, end):
            seen[i - begin] = bins[column + np.uint64(order[i]) * width]
        for i in range(begin, end):
            row = order[i]
            goes = goes_left[seen[i - begin]]
            order[left] = row
            spare[right] = row
            left += goes
            right += np.uint64(1) - goes
        begin = end
    return np.int64(left) - first


@kernel
def _join(block, leaf, new, bounds, lefts, order, spare, leaves, splits):
    """Make two leaves of one whose rows were parted, between `bounds`: `lefts` of each go left."""
    split = splits[block, leaf]
    at = bounds[0]
    for part in range(len(lefts)):
        for i in range(np.uint64(bounds[part]), np.uint64(bounds[part] + lefts[part])):
            order[np.uint64(at)] = order[i]
            at += 1
    leaves[new, BEGIN], leaves[new, END] = at, leaves[leaf, END]
    leaves[leaf, END] = at
    for part in range(len(lefts)):
        rights = bounds[part + 1] - bounds[part] - lefts[part]
        for i in range(np.uint64(bounds[part]), np.uint64(bounds[part] + rights)):
            order[np.uint64(at)] = spare[i]
            at += 1
    leaves[new, DEPTH] = leaves[leaf, DEPTH] = leaves[leaf, DEPTH] + 1
    leaves[new, FORCE] = leaves[leaf, FORCE] - split[LEFT_FORCE]
    leaves[new, HESSIAN] = leaves[leaf, HESSIAN] - split[LEFT_HESSIAN]
    leaves[leaf, FORCE], leaves[leaf, HESSIAN] = split[LEFT_FORCE], split[LEFT_HESSIAN]
    for one in (leaf, new):
        leaves[one, COUNT] = leaves[one, END] - leaves[one, BEGIN]


@kernel
def _note(node, block, leaf, new, leaves, gains, splits, nodes, parents, worth):
    """Write down a split before it is made: its node, and what is known of it."""
    if node:
        nodes[parents[leaf, 0], parents[leaf, 1]] = node
    nodes[node, :3] = splits[block, leaf, :3]
    nodes[node, 3], nodes[node, 4] = ~leaf, ~new
    nodes[node, SET:] = splits[block, leaf, SET:]
    parents[leaf, 0] = parents[new, 0] = node
    parents[leaf, 1], parents[new, 1] = 3, 4
    worth[node, 0] = gains[block, leaf]
    worth[node, 1] = leaves[leaf, FORCE]
    worth[node, 2] = leaves[leaf, HESSIAN]
    worth[node, 3] = leaves[leaf, COUNT]


@entry
def choose(count, deepest, leaves, gains, splits, nodes, parents, worth):
    """The best split of a tree with `count` leaves, noted: its block and leaf, or -1."""
    block, leaf = _choose(count, deepest, leaves, gains)
    if leaf >= 0:
        _note(count - 1, block, leaf, count, leaves, gains, splits, nodes, parents, worth)
    return block, leaf


@entry
def part(first, last, block, leaf, bins, edge, many, order, spare, splits):
    """`_part`, for a thread that has these rows."""
    return _part(first, last, block, leaf, bins, edge, many, order, spare, splits)


@entry
def join(block, leaf, new, bounds, lefts, order, spare, leaves, splits):
    """`_join`, when all rows are parted."""
    _join(block, leaf, new, bounds, lefts, order, spare, leaves, splits)


@entry
def grow(most, deepest, bins, edge, packed, many, kind, shift, chunk, rules, order, spare,
         leaves, totals, gains, splits, nodes, parents, worth):  # fmt: skip
    """A whole tree in one thread: the number of its leaves."""
    count, leaf, other = 1, 0, -1
    bounds, lefts = np.empty(2, np.int64), np.empty(1, np.int64)
    while True:
        for block in range(len(edge) - 1):
            _examine(block, leaf, other, bins, edge, packed, order, many, kind, shift, chunk,
                     rules, leaves, totals, gains, splits)  # fmt: skip
        block, leaf = _choose(count, deepest, leaves, gains)
        if leaf < 0:
            return count
        other = count
        _note(count - 1, block, leaf, other, leaves, gains, splits, nodes, parents, worth)
        bounds[0], bounds[1] = leaves[leaf, BEGIN], leaves[leaf, END]
        lefts[0] = _part(bounds[0], bounds[1], block, leaf, bins, edge, many, order, spare, splits)
        _join(block, leaf, other, bounds, lefts, order, spare, leaves, splits)
        count += 1
        if count == most:
            return count


@entry
def tell_leaves(count, order, rows, leaves, leaf):
    """The leaf of each of the rows that a tree was grown on."""
    for number in range(count):
        for i in range(np.uint64(leaves[number, BEGIN]), np.uint64(leaves[number, END])):
            leaf[np.uint64(rows[order[i]])] = number
