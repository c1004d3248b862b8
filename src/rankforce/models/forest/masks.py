"""A forest as questions: what the kernel that scores 64 rows at once reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.kernels.lanes import LANES
from rankforce.kernels.masks import MOST_LEAVES
from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO_MISSING
from rankforce.models.forest.tree import Nodes

BITS = 32  # of a word of codes
MOST_BYTES = 1 << 26  # of members; beyond that, walks


class Masks(NamedTuple):
    """Questions in the order of features, and the trees that ask them."""

    # Of each feature that is asked about, once for each way in which zeros count: its number,
    # whether zeros are missing, and its first question, the first by which missing values go right,
    # and the one behind its last.
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float32]  # of the questions: above them is right
    # Of each feature whose categories are asked about: its number, its first question and the one
    # behind its last, and in `members` its first word, the words of a code, and how many codes.
    sets: NDArray[np.int64]
    members: NDArray[np.uint64]  # bits of the questions whose sets have a code
    questions: NDArray[np.int32]  # of the nodes
    children: NDArray[np.uint16]  # by place among the nodes of a tree and, behind them, its leaves
    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    leaf_value: Floats


def make_masks(nodes: Nodes) -> Masks | None:
    """The questions of a forest; None where a tree has too many leaves, or sets too many codes."""
    leaves = np.diff(nodes.leaf_start)
    if leaves.max(initial=0) > MOST_LEAVES:
        return None
    feature, left, right, flags = nodes.nodes.T
    inner = np.repeat(leaves - 1, leaves - 1)  # nodes of the tree of each node
    children = np.stack([np.where(child < 0, inner + ~child, child) for child in (left, right)])
    is_set = flags == CATEGORICAL
    columns, thresholds, asked = _ask(feature[~is_set], flags[~is_set], nodes.thresholds[~is_set])
    found = _ask_sets(feature[is_set], nodes.cats[is_set], nodes.words, len(thresholds))
    if found is None:
        return None
    sets, members, places = found
    questions = np.empty(len(feature), np.int32)
    questions[~is_set], questions[is_set] = asked, places
    return Masks(
        columns,
        thresholds,
        sets,
        members,
        questions,
        np.ascontiguousarray(children.T.astype(np.uint16)),
        nodes.node_start,
        nodes.leaf_start,
        nodes.leaf_value,
    )


def _ask(
    feature: NDArray[Any], flags: NDArray[Any], threshold: NDArray[np.float32]
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.int32]]:
    """Columns, thresholds, and the question of each node: nodes that ask the same share it."""
    zero = flags & ZERO_MISSING != 0
    is_left = np.where(zero, flags & DEFAULT_LEFT, flags & NAN_LEFT) != 0
    order = np.lexsort((threshold, ~is_left, zero, feature))
    asked = np.column_stack([feature, zero, ~is_left])[order].astype(np.int64)
    threshold = threshold[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (asked[1:] != asked[:-1]).any(axis=1) | (threshold[1:] != threshold[:-1])
    questions = np.empty(len(order), np.int32)
    questions[order] = np.cumsum(is_new) - 1
    asked = asked[is_new]
    columns = np.empty((0, 5), np.int64)
    if len(asked):
        kinds, first, count = np.unique(asked[:, :2], axis=0, return_index=True, return_counts=True)
        goes_right = np.add.reduceat(asked[:, 2], first)
        columns = np.column_stack([kinds, first, first + count - goes_right, first + count])
    return columns.astype(np.int64), threshold[is_new], questions


def _ask_sets(
    feature: NDArray[Any], cats: NDArray[np.int32], words: NDArray[np.uint32], first: int
) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]] | None:
    """`Masks.sets` and `members`, and the question of each node; None where it is too much."""
    sets, tables = [], [np.empty(0, np.uint64)]
    questions = np.empty(len(feature), np.int64)
    start = 0
    for column in np.unique(feature).tolist():
        own = np.flatnonzero(feature == column)
        codes = BITS * int(cats[own, 1].max())
        width = -(-len(own) // LANES)
        if 8 * (start + codes * width) > MOST_BYTES:
            return None
        table = np.zeros((codes, width), np.uint64)
        for number, node in enumerate(own.tolist()):
            begin, count = cats[node].tolist()
            held = np.unpackbits(words[begin : begin + count].view(np.uint8), bitorder="little")
            bit = np.uint64(1 << number % LANES)
            table[: len(held), number // LANES][held > 0] |= bit
        sets.append((column, first, first + len(own), start, width, codes))
        questions[own] = first + np.arange(len(own))
        first, start = first + len(own), start + table.size
        tables.append(table.reshape(-1))
    found = np.array(sets, np.int64).reshape(-1, 6)
    return found, np.concatenate(tables), questions
