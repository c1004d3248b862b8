"""The best split of a leaf, by its histograms: of numbers, and of sets of codes.

Histograms are of sums: force << 32 | hessian. In plain floating point: a gain must not depend on
the kernel that asks for it.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.bins import CODED, HAS_NAN, IS_CODED
from rankforce.kernels.compile import strict

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
TINY = 1e-15  # a hessian below it divides nothing


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
    # More than there is, however much, is as little to be had: int64 does not hold every limit.
    return np.int64(min(max(by_rows, by_weight, 0.0), leaf[HESSIAN] + 1.0))


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
def find_split(total, columns, first_column, many, kind, leaf, shift, rules, found):
    """The best split of a leaf by the columns of a block: its gain, and `found`.

    The loop that divides stands by itself, without a branch, so that it works on many bins at a
    time.
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
