"""Scores of a forest, 64 rows at a time, by masks: after QuickScorer and RapidScorer.

Lucchese et al. 2015, "QuickScorer"; Ye et al. 2018, "RapidScorer". Every question that nodes ask is
answered once for 64 rows, as the bits of a number, whichever tree asks it. In a tree, the rows that
reach a node are bits too: its children get those of the one and of the other answer. No branch
depends on the data. A block costs a comparison for each question, and for each tree a step for
each node and leaf and an addition for each row; a walk down costs a row some cache misses a tree.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel, strict
from rankforce.kernels.lanes import LANES, above, above_or_nan, number_sets
from rankforce.kernels.trees import ZERO

ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
MOST_LEAVES = 256  # of a tree: the number of a leaf is a byte
MISSING = np.float32(np.nan)


@kernel
def load_columns(begin, rows, width, values, columns, block):
    """The columns of some rows, each in 64 places; where zeros are missing they become NaN."""
    for own in range(np.uint64(len(columns))):
        place = np.uint64(begin) * np.uint64(width) + np.uint64(columns[own, 0])
        start = own * np.uint64(LANES)
        for lane in range(np.uint64(rows)):
            block[start + lane] = values[place + lane * np.uint64(width)]
        if columns[own, 1] > 0:
            for lane in range(np.uint64(rows)):
                if not abs(block[start + lane]) > ZERO:
                    block[start + lane] = MISSING


@kernel
def ask(columns, thresholds, block, answers):
    """The rows that go right, for every question about a threshold."""
    for own in range(len(columns)):
        start = own * LANES
        for question in range(columns[own, 2], columns[own, 3]):
            answers[question] = above(block, start, thresholds[question])
        for question in range(columns[own, 3], columns[own, 4]):
            answers[question] = above_or_nan(block, start, thresholds[question])


@kernel
def turn(bits):
    """64 numbers of 64 bits, rows and columns changed: bit i of number k is bit k of number i."""
    half = np.uint64(32)
    mask = np.uint64(0xFFFFFFFF)
    while half > np.uint64(0):
        k = np.uint64(0)
        while k < np.uint64(LANES):
            other = k | half
            swapped = ((bits[k] >> half) ^ bits[other]) & mask
            bits[k] ^= swapped << half
            bits[other] ^= swapped
            k = (other + np.uint64(1)) & ~half
        half >>= np.uint64(1)
        mask ^= mask << half


@kernel
def ask_sets(begin, rows, width, values, sets, members, answers, bits):
    """The rows that go right, for every question about a set of codes, 64 of a feature at once.

    `members` has for each code the bits of the questions whose sets have it.
    """
    for own in range(len(sets)):
        feature, question, end, start, words, codes = sets[own]
        for word in range(words):
            bits[:] = np.uint64(0)
            for lane in range(rows):
                x = values[(begin + lane) * width + feature]
                if x >= 0.0 and x < codes:
                    bits[lane] = members[start + np.int64(x) * words + word]
            turn(bits)
            for number in range(min(LANES, end - question)):
                answers[question + number] = ~bits[number]
            question += LANES


@kernel
def part_rows(first, nodes, questions, children, answers, reach):
    """The rows that reach each node and, behind those, each leaf of a tree."""
    reach[0] = ALL
    for node in range(np.uint64(nodes)):
        at = np.uint64(first) + node
        right = answers[np.uint64(questions[at])]
        here = reach[node]
        reach[np.uint64(children[at, 0])] = here & ~right
        reach[np.uint64(children[at, 1])] = here & right


@strict
def add_values(base, leaf, leaf_value, sums):
    """Add to every row the value of its leaf; strictly, so that sums are those of a walk."""
    for lane in range(LANES):
        sums[lane] += leaf_value[np.uint64(base) + np.uint64(leaf[lane])]


@entry
def score_masks(
    first,
    last,
    width,
    values,
    columns,
    thresholds,
    sets,
    members,
    questions,
    children,
    node_start,
    leaf_start,
    leaf_value,
    out,
):
    """Add the scores of a forest to the rows first..last-1, trees in order."""
    block = np.zeros(len(columns) * LANES, np.float32)
    answers = np.empty(sets[-1, 2] if len(sets) else len(thresholds), np.uint64)
    bits = np.empty(LANES, np.uint64)
    reach = np.empty(2 * MOST_LEAVES, np.uint64)
    leaf = np.empty(LANES, np.uint8)
    sums = np.zeros(LANES)
    begin = first
    while begin < last:
        rows = min(LANES, last - begin)
        load_columns(begin, rows, width, values, columns, block)
        ask(columns, thresholds, block, answers)
        ask_sets(begin, rows, width, values, sets, members, answers, bits)
        for lane in range(rows):
            sums[lane] = out[begin + lane]
        for tree in range(len(node_start)):
            base = leaf_start[tree]
            leaves = leaf_start[tree + 1] - base
            if leaves > 1:
                part_rows(node_start[tree], leaves - 1, questions, children, answers, reach)
                number_sets(reach, leaves - 1, leaves, leaf)
            else:
                leaf[:] = 0
            add_values(base, leaf, leaf_value, sums)
        for lane in range(rows):
            out[begin + lane] = sums[lane]
        begin += rows
