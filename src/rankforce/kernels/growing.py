"""How a tree grows on binned features: histograms of integer forces, the best split, and again.

A force and a hessian are small integers, packed into one: force << 16 | hessian for a row, force <<
32 | hessian for sums. Columns stand in blocks, each with all its rows behind one another, so that
what a pass adds to stays in the fastest memory. Blocks can be examined in any order, by any number
of threads: sums of integers are exact.

A column of categories has a bin for each of its codes, and a set of them goes left.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.bins import CODED, HAS_NAN, IS_CODED
from rankforce.kernels.compile import entry, kernel, strict
from rankforce.kernels.sets import splitmix64
from rankforce.kernels.trees import throw_dice

# What is known of a leaf: its rows here, its depth, the sums over it, and how many rows it has,
# with those of other workers.
BEGIN, END, DEPTH, FORCE, HESSIAN, COUNT = 0, 1, 2, 3, 4, 5
# A split: its column, the last bin that goes left (or `CODED`), whether NaN does, the sums on the
# left, and the bins that go left where it is `CODED`, in words of 64 bits.
COLUMN, BIN, NAN_LEFT, LEFT_FORCE, LEFT_HESSIAN, SET = 0, 1, 2, 3, 4, 5
WORDS = 4
# Columns of `rules`; the second line is of categories.
MIN_ROWS, MIN_WEIGHT, MIN_GAIN, L1, L2 = 0, 1, 2, 3, 4
SMOOTH, CODES_L2, MOST_CODES, MOST_ALONE, GROUP_ROWS = 5, 6, 7, 8, 9
STEP, STEP_HESSIAN = 10, 11
LOW = 0xFFFFFFFF  # the hessian of a sum
AHEAD = 128  # rows to look at before they are needed, a power of two
TINY = 1e-15  # a hessian below it divides nothing


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


@strict
def _worth(force, second, l1, l2):
    size = max(abs(force) - l1, 0.0)
    below = second + l2
    return size * size / below if below > TINY else 0.0


@strict
def _least_hessian(leaf, rules):
    """The least sum of hessians that a side may have.

    Rows on a side are told from its share of the hessians, rounded, as LightGBM does.
    """
    by_rows = np.ceil((rules[MIN_ROWS] - 0.5) * max(leaf[HESSIAN], 1) / leaf[COUNT])
    by_weight = np.ceil(rules[MIN_WEIGHT] / rules[STEP_HESSIAN]) if rules[STEP_HESSIAN] else 0.0
    return np.int64(max(by_rows, by_weight, 0.0))


@strict
def _worth_parted(left, force, second, step, step_hess, l1, l2):
    """What a leaf is worth when one side has the sums `left`."""
    left_second = left & np.int64(LOW)
    left_force = (left - left_second) >> np.int64(32)
    return _worth(left_force * step, left_second * step_hess, l1, l2) + _worth(
        (force - left_force) * step, (second - left_second) * step_hess, l1, l2
    )


@strict
def _note_split(column, bin_, nan_left, left, found):
    found[COLUMN], found[BIN], found[NAN_LEFT] = column, bin_, nan_left
    found[LEFT_HESSIAN] = left & np.int64(LOW)
    found[LEFT_FORCE] = (left - found[LEFT_HESSIAN]) >> np.int64(32)


@strict
def _scan(total, columns, first_column, many, kind, leaf, shift, rules, found):
    """The best split of a leaf by the columns of a block: its gain, and `found`.

    In plain floating point: a gain must not depend on the kernel that asks for it. The loop that
    divides stands by itself, without a branch, so that it works on many bins at a time.
    """
    step, step_hess, l1, l2 = rules[STEP], rules[STEP_HESSIAN], rules[L1], rules[L2]
    force, second = leaf[FORCE], leaf[HESSIAN]
    least = _least_hessian(leaf, rules)
    least_worth = _worth(force * step, second * step_hess, l1, l2) + rules[MIN_GAIN]
    best = 0.0
    sums = np.empty(1 << shift, np.int64)
    gains = np.empty(1 << shift)
    for j in range(columns):
        column = first_column + j
        base = np.uint64(j << np.int64(shift))
        if kind[column] & IS_CODED:
            own = total[base : base + np.uint64(many[column])]
            best = _scan_codes(own, column, leaf, least, least_worth, rules, best, found)
            continue
        has_nan = kind[column] & HAS_NAN
        for nan_left in range(2 if has_nan else 1):
            at = total[base + np.uint64(many[column])] if nan_left else np.int64(0)
            # With NaN on the right, all values on the left is a split as well.
            ends = np.uint64(many[column] - (0 if has_nan and not nan_left else 1))
            for b in range(ends):
                at += total[base + b]
                sums[b] = at
            for b in range(ends):
                left_second = sums[b] & np.int64(LOW)
                worth = _worth_parted(sums[b], force, second, step, step_hess, l1, l2)
                gain = worth - least_worth
                gains[b] = gain if min(left_second, second - left_second) >= least else 0.0
            for b in range(ends):
                if gains[b] > best:
                    best = gains[b]
                    _note_split(column, np.int64(b), nan_left, sums[b], found)
    return best


@strict
def _scan_codes(total, column, leaf, least, least_worth, rules, best, found):
    """The best set of codes that goes left, if it gains more than `best`: the better gain.

    As LightGBM (Fisher 1958: sets are ends of an order). Where there are few codes, each by itself;
    else those with enough rows in the order of their force by their hessian, some of the largest or
    some of the least. Rows are told from hessians. Other codes, and missing values, go right.
    """
    step, step_hess, whole_second = rules[STEP], rules[STEP_HESSIAN], leaf[HESSIAN]
    each = leaf[COUNT] / max(whole_second, 1)  # rows of a step of hessians
    is_alone = len(total) < rules[MOST_ALONE]  # it counts the bin of all others as well
    rows = np.empty(len(total), np.int64)
    order = np.empty(len(total), np.int64)
    key = np.empty(len(total))
    used = 0
    for b in range(len(total)):
        second = total[b] & np.int64(LOW)
        rows[b] = np.int64(np.floor(second * each + 0.5))
        if second == 0 or (not is_alone and rows[b] < rules[SMOOTH]):
            continue
        force = (total[b] - second) >> np.int64(32)
        own = -force * step / (second * step_hess + rules[SMOOTH])
        at = used
        while at and not is_alone and key[at - 1] > own:
            key[at], order[at] = key[at - 1], order[at - 1]
            at -= 1
        key[at], order[at] = own, b
        used += 1
    l2 = rules[L2] if is_alone else rules[L2] + rules[CODES_L2]
    most = used if is_alone else min(np.int64(rules[MOST_CODES]), (used + 1) // 2)
    best_way, best_end = -1, -1
    for way in range(1 if is_alone else 2):
        left, here, fresh = np.int64(0), np.int64(0), np.int64(0)
        for i in range(most):
            b = order[used - 1 - i if way else i]
            if is_alone:
                left = total[b]
            else:
                left += total[b]
                here += rows[b]
                fresh += rows[b]
            left_second = left & np.int64(LOW)
            if min(left_second, whole_second - left_second) < least:
                continue
            if not is_alone:
                if leaf[COUNT] - here < rules[GROUP_ROWS]:
                    break
                if fresh < rules[GROUP_ROWS]:
                    continue
                fresh = np.int64(0)
            worth = _worth_parted(left, leaf[FORCE], whole_second, step, step_hess, rules[L1], l2)
            gain = worth - least_worth
            if gain > best:
                best, best_way, best_end = gain, way, i
                _note_split(column, CODED, 0, left, found)
    if best_way >= 0:
        found[SET : SET + WORDS] = 0
        for i in range(best_end if is_alone else 0, best_end + 1):
            b = order[used - 1 - i if best_way else i]
            found[SET + (b >> 6)] |= np.int64(1) << np.int64(b & 63)
    return best


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
        gains[block, other] = _scan(fresh, width, edge[block], many, kind, leaves[other], shift,
                                    rules, splits[block, other])  # fmt: skip
    gains[block, one] = _scan(whole, width, edge[block], many, kind, leaves[one], shift, rules,
                              splits[block, one])  # fmt: skip


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
