"""Trees at work: which leaf a row falls into, sums over leaves, scores of a forest."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.sets import splitmix64
from rankforce.kernels.sums import add_exactly

# Flags of a node.
NAN_LEFT, CATEGORICAL, ZERO_MISSING, DEFAULT_LEFT = 1, 2, 4, 8
# A value this close to 0 counts as 0 where zeros are missing (LightGBM's kZeroThreshold).
ZERO = np.float32(1e-35)
ROWS_AT_ONCE = 64
_UNIT = 1.0 / 4294967296.0


@kernel
def goes_left(x, flag, threshold, cat_start, cat_words, words):
    """Decide a node that is categorical, treats zeros as missing, or meets a NaN."""
    if flag & CATEGORICAL:
        if not x >= 0.0:
            return False
        category = np.int64(x)
        word = category >> 5
        if word >= cat_words:
            return False
        return (words[cat_start + word] >> np.uint32(category & 31)) & np.uint32(1) != 0
    if flag & ZERO_MISSING:
        if not abs(x) > ZERO:
            return flag & DEFAULT_LEFT != 0
    if x != x:
        return flag & NAN_LEFT != 0
    return x <= threshold


@kernel
def find_leaf(row_start, tree, values, nodes, thresholds, cats, words):
    """Leaf of the row whose features begin at `row_start`, in the tree with first node `tree`."""
    node = np.int64(tree)
    while True:
        at = np.uint64(node)
        x = values[row_start + np.uint64(nodes[at, 0])]
        flag = nodes[at, 3]
        if flag >= CATEGORICAL or x != x:
            left = goes_left(x, flag, thresholds[at], cats[at, 0], cats[at, 1], words)
        else:
            left = x <= thresholds[at]
        child = nodes[at, 1] if left else nodes[at, 2]
        if child < 0:
            return ~child
        node = np.int64(tree) + child


@entry
def route_block(first, last, width, values, tree, leaves, nodes, thresholds, cats, words, leaf):
    """Leaf, counted within its tree, of the rows first..last-1 in one tree."""
    for row in range(np.uint64(first), np.uint64(last)):
        leaf[row] = 0
        if leaves > 1:
            start = row * np.uint64(width)
            leaf[row] = find_leaf(start, tree, values, nodes, thresholds, cats, words)


@entry
def decode_block(first, last, new, old, middles, leaf_of, leaf):
    """Leaf of each row from how far a booster moved its score; remembers the new score.

    `middles` lie between the values of leaves in order, filled up with infinity to one less than a
    power of two; `leaf_of` has the leaf of each value.
    """
    most = np.uint64((len(middles) + 1) >> 1)
    for row in range(np.uint64(first), np.uint64(last)):
        moved = new[row] - old[row]
        old[row] = new[row]
        below = np.uint64(0)
        step = most
        while step > np.uint64(0):
            below += step if middles[below + step - np.uint64(1)] < moved else np.uint64(0)
            step >>= np.uint64(1)
        leaf[row] = leaf_of[below]


@entry
def route_rows(first, last, rows, width, values, nodes, thresholds, cats, words, leaf):
    """`route_block` for the rows with the numbers rows[first..last-1], in a tree with nodes."""
    for i in range(np.uint64(first), np.uint64(last)):
        start = np.uint64(rows[i]) * np.uint64(width)
        leaf[rows[i]] = find_leaf(start, 0, values, nodes, thresholds, cats, words)


@entry
def score_block(
    first,
    last,
    width,
    values,
    node_start,
    leaf_start,
    nodes,
    thresholds,
    cats,
    words,
    leaf_value,
    out,
):
    """Add the scores of a forest to the rows first..last-1; trees in order, as LightGBM does."""
    trees = len(leaf_start) - 1
    begin = np.uint64(first)
    while begin < np.uint64(last):
        end = min(begin + np.uint64(ROWS_AT_ONCE), np.uint64(last))
        for t in range(trees):
            base = leaf_start[t]
            has_nodes = leaf_start[t + 1] - base > 1
            for row in range(begin, end):
                leaf = 0
                if has_nodes:
                    start = row * np.uint64(width)
                    leaf = find_leaf(start, node_start[t], values, nodes, thresholds, cats, words)
                out[row] += leaf_value[base + leaf]
        begin = end


@entry
def sum_block(first, last, leaf, lam, hess, sums):
    """Sums of forces and hessians over the leaves, of the rows first..last-1.

    Each comes with what rounding lost: forces x 2 x leaves, then hessians.
    """
    for row in range(np.uint64(first), np.uint64(last)):
        at = np.uint64(leaf[row])
        add_exactly(sums[0], at, lam[row])
        add_exactly(sums[1], at, hess[row])


@entry
def add_block(first, last, leaf, leaf_value, scores):
    """Add the value of its leaf to the score of every row first..last-1."""
    for row in range(np.uint64(first), np.uint64(last)):
        scores[row] += leaf_value[np.uint64(leaf[row])]


@entry
def largest_block(first, last, lam, hess):
    """Largest magnitude of a force, and largest hessian, of the rows first..last-1."""
    force = 0.0
    second = 0.0
    for row in range(np.uint64(first), np.uint64(last)):
        force = max(force, abs(lam[row]))
        second = max(second, hess[row])
    return force, second


@entry
def fix_block(first, last, lam, hess, grid, grid_hess, grad, second):
    """Forces and hessians in float32, the smallest rounded to multiples of a power of 2."""
    inverse = 1.0 / grid
    inverse_hess = 1.0 / grid_hess
    for row in range(np.uint64(first), np.uint64(last)):
        force = np.float64(np.float32(-lam[row]))
        own = np.float64(np.float32(hess[row]))
        grad[row] = np.rint(force * inverse) * grid
        second[row] = np.rint(own * inverse_hess) * grid_hess


@kernel
def throw_dice(lam, hess, inverse, inverse_hess, draw):
    """A force and a hessian in steps, up or down by chance: nothing is lost on average."""
    up = np.float64(draw >> np.uint64(32)) * _UNIT
    up_hess = np.float64(draw & np.uint64(0xFFFFFFFF)) * _UNIT
    size = np.floor(abs(lam) * inverse + up)
    return size if lam > 0.0 else -size, np.floor(hess * inverse_hess + up_hess)


@entry
def round_block(first, last, lam, hess, keys, key, step, step_hess, unit, unit_hess, grad, second):
    """Round to multiples of a step, by chance; a unit is what one step is written as.

    The draw of a row depends on `key` and its own key alone. `grad` is what a booster minimises.
    """
    inverse = 1.0 / step if step > 0.0 else 0.0
    inverse_hess = 1.0 / step_hess if step_hess > 0.0 else 0.0
    for row in range(np.uint64(first), np.uint64(last)):
        draw = splitmix64(key ^ keys[row])
        force, own = throw_dice(lam[row], hess[row], inverse, inverse_hess, draw)
        grad[row] = -force * unit
        second[row] = own * unit_hess
