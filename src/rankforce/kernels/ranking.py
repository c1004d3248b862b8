"""Ranks of a query's documents: best score first, ties by row."""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import inlined, kernel
from rankforce.kernels.layout import GAIN, GIVEN, LABEL_CLASS, LEFT, NEED, ORDER, OTHER

# Above this many documents a list is sorted; up to it the top is selected by insertion.
SELECT_AT_MOST = 32


@kernel
def select_top(n, count, integers, floats):
    """Write the best `count` documents into row ORDER, best first: O(n + count^2 log n)."""
    filled = 0
    worst = -np.inf
    for i in range(n):
        score = floats[GIVEN, i]
        if filled == count and not score > worst:
            continue
        filled = min(filled + 1, count)
        t = filled - 1
        while t > 0 and score > floats[GAIN, t - 1]:
            floats[GAIN, t] = floats[GAIN, t - 1]
            integers[ORDER, t] = integers[ORDER, t - 1]
            t -= 1
        floats[GAIN, t] = score
        integers[ORDER, t] = i
        if filled == count:
            worst = floats[GAIN, count - 1]


@inlined
def is_before(s, i, j):
    """Whether document `i` ranks before `j`. Rounding may confuse tied documents, too: vectors and
    the scalars at their end round differently."""
    return s[i] > s[j] or (s[i] == s[j] and i < j)


@kernel
def sort_by_score(n, low, high, integers, floats):
    """Write all documents into row ORDER, best first.

    Two passes of an 8-bit radix sort over scores rounded to 16 bits, then one insertion pass over
    the exact scores repairs what rounding confused. Where rounding confuses much (one outlier
    squeezes the rest together) a merge sort takes over, so the cost stays O(n log n).
    """
    s = floats[GIVEN]
    order = integers[ORDER]
    other = integers[OTHER]
    keys = integers[LABEL_CLASS]
    spread = high - low
    if spread == 0.0:
        for i in range(n):
            order[i] = i
        return
    if not (1e-290 < spread < 1e290):
        merge_sort(s, n, order, other)
        return
    low_digit = integers[NEED]
    high_digit = integers[LEFT]
    low_digit[:256] = 0
    high_digit[:256] = 0
    scale = 65535.0 / spread
    for i in range(n):
        keys[i] = np.int32((high - s[i]) * scale)
    for i in range(n):
        low_digit[keys[i] & 255] += 1
        high_digit[keys[i] >> 8] += 1
    low_sum = 0
    high_sum = 0
    for d in range(256):
        low_sum, low_digit[d] = low_sum + low_digit[d], low_sum
        high_sum, high_digit[d] = high_sum + high_digit[d], high_sum
    for i in range(n):
        d = keys[i] & 255
        other[low_digit[d]] = i
        low_digit[d] += 1
    for i in range(n):
        j = other[i]
        d = keys[j] >> 8
        order[high_digit[d]] = j
        high_digit[d] += 1
    moves = 8 * n + 64
    for i in range(1, n):
        j = order[i]
        t = i - 1
        while t >= 0 and is_before(s, j, order[t]):
            order[t + 1] = order[t]
            t -= 1
        order[t + 1] = j
        moves -= i - 1 - t
        if moves < 0:
            merge_sort(s, n, order, other)
            return


@kernel
def merge_sort(s, n, order, other):
    """Stable bottom-up merge sort of 0..n-1 by descending score into `order`."""
    source = order
    target = other
    for i in range(n):
        source[i] = i
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            end = min(start + 2 * width, n)
            a = start
            b = middle
            for t in range(start, end):
                if a < middle and (b >= end or not s[source[b]] > s[source[a]]):
                    target[t] = source[a]
                    a += 1
                else:
                    target[t] = source[b]
                    b += 1
        source, target = target, source
        width *= 2
    for i in range(n):
        order[i] = source[i]
