"""A forest as questions: what the kernel that scores 64 rows at once reads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.kernels.masks import MOST_LEAVES
from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO_MISSING
from rankforce.models.forest.tree import Nodes


class Masks(NamedTuple):
    """Questions in the order of features, and the trees that ask them."""

    # Of each feature that is asked about, once for each way in which zeros count: its number,
    # whether zeros are missing, and its first question, the first by which missing values go right,
    # and the one behind its last.
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float32]  # of the questions: above them is right
    sets: NDArray[np.int64]  # feature, first word and number of words of those about categories
    words: NDArray[np.uint32]
    questions: NDArray[np.int32]  # of the nodes
    children: NDArray[np.uint16]  # by place among the nodes of a tree and, behind them, its leaves
    node_start: NDArray[np.int64]
    leaf_start: NDArray[np.int64]
    leaf_value: Floats


def make_masks(nodes: Nodes) -> Masks | None:
    """The questions of a forest; None where a tree has too many leaves for them."""
    leaves = np.diff(nodes.leaf_start)
    if leaves.max(initial=0) > MOST_LEAVES:
        return None
    feature, left, right, flags = nodes.nodes.T
    inner = np.repeat(leaves - 1, leaves - 1)  # nodes of the tree of each node
    children = np.stack([np.where(child < 0, inner + ~child, child) for child in (left, right)])
    is_set = flags == CATEGORICAL
    sets = np.column_stack([feature, nodes.cats])[is_set].astype(np.int64)
    columns, thresholds, asked = _ask(feature[~is_set], flags[~is_set], nodes.thresholds[~is_set])
    questions = np.empty(len(feature), np.int32)
    questions[~is_set] = asked
    questions[is_set] = len(thresholds) + np.arange(len(sets))
    return Masks(
        columns,
        thresholds,
        sets,
        nodes.words,
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
