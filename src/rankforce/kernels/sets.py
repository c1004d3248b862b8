"""Pair sets: the documents of which one must be in a pair."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import inlined, kernel
from rankforce.kernels.layout import (
    ALL_PAIRS,
    EXTENDED,
    EXTENDED_BY_LABEL,
    INSIDE,
    LABEL_CLASS,
    LEFT,
    MEMBER,
    NEED,
    NO_PAIRS,
    ORDER,
    TRUNCATED,
)

STATIC, RANDOM, ALL = 0, 1, 2


@inlined
def splitmix64(x):
    """One step of the SplitMix64 generator (Steele et al. 2014): a hash of 64 bits."""
    z = x + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def draw_key(seed, iteration, query):
    """Key of the draws of one query in one iteration."""
    return splitmix64(splitmix64(splitmix64(seed) ^ iteration) ^ query)


@kernel
def mark_pair_set(n, classes, positive, strategy, key, rules, integers):
    """Find the documents of which one must be in a pair; returns their number, or n for all.

    Row MEMBER lists them.
    """
    if rules.pair_set == NO_PAIRS:
        return np.int64(0)
    if rules.pair_set == ALL_PAIRS or (rules.pair_set == TRUNCATED and rules.cutoff >= n):
        return n
    found = min(rules.cutoff, n)
    for r in range(found):
        integers[MEMBER, r] = integers[ORDER, r]
    if rules.pair_set >= EXTENDED:
        by_label = rules.pair_set == EXTENDED_BY_LABEL
        found = extend(n, found, classes, positive, strategy, by_label, key, integers)
    return found


@kernel
def mark_inside(n, members, integers):
    """Row INSIDE: 1 for the members, which may be all documents."""
    for p in range(n):
        integers[INSIDE, p] = 1 if members == n else 0
    if members < n:
        for m in range(members):
            integers[INSIDE, integers[MEMBER, m]] = 1


@kernel
def extend(n, top, classes, positive, strategy, by_label, key, integers):
    """Extend the top to the set X of Lambda-eX (Marcuzzi et al. 2023, section 4).

    In label order the ideal top are the first documents, and label 0 those from `positive` on.
    Each label needs what the ideal top has more of it than the top; or, `by_label`, all labels of
    the ideal top share one need: the documents of the top with any other label.
    Random picks by selection sampling: going down the list, a missed document is taken with
    probability need / left, which draws every subset of the needed size with equal chance.
    """
    label_class = integers[LABEL_CLASS]
    need = integers[NEED]
    left = integers[LEFT]
    order = integers[ORDER]
    member = integers[MEMBER]
    for c in range(len(classes) - 1):
        need[c] = 0
        left[c] = 0
        shared = (0 if classes[c] < top else 1) if by_label else c
        left[shared] += min(classes[c + 1], positive) - min(classes[c], positive)
        for p in range(classes[c], classes[c + 1]):
            label_class[p] = shared
    for p in range(top):
        need[label_class[p]] += 1
    for r in range(top):
        need[label_class[order[r]]] -= 1
        if order[r] < positive:
            left[label_class[order[r]]] -= 1
    if by_label and strategy == ALL:
        need[0] = n  # also where no document of the top stands in their place
    found = top
    for r in range(top, n):
        p = order[r]
        c = label_class[p]
        if p >= positive or need[c] <= 0:
            continue
        is_taken = True
        if strategy == RANDOM:
            draw = np.float64(splitmix64(key ^ np.uint64(r)) >> np.uint64(11)) * 2.0**-53
            is_taken = draw * left[c] < need[c]
            left[c] -= 1
        if is_taken:
            member[found] = p
            found += 1
            if strategy != ALL:
                need[c] -= 1
    return found
