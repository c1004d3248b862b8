"""Regression trees as arrays: one tree, and a forest as the kernels walk it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.precision import floor_float32
from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO_MISSING

Ints = NDArray[np.int64]

# Bits of `Tree.rule`, which are LightGBM's.
IS_CATEGORICAL, GOES_LEFT, MISSING_SHIFT = 1, 2, 2
MISSING_NONE, MISSING_ZERO, MISSING_NAN = 0, 1, 2


def _no_ints() -> Ints:
    return np.empty(0, np.int64)


@dataclasses.dataclass(frozen=True, eq=False)
class Tree:
    """A tree: nodes in the order in which they were split, and leaves.

    A row goes left where its feature is at most the threshold; of a categorical node the threshold
    is the number of the set of codes that go left. `rule` has the bits above: whether the node is
    categorical, where missing values go, and what counts as missing. A child below 0 is ~leaf.
    """

    feature: Ints
    threshold: Floats
    rule: Ints
    left: Ints
    right: Ints
    leaf_value: Floats
    shrinkage: float = 1.0
    # First word of each set of codes, and the number of all words, which have 32 codes each.
    sets: Ints = dataclasses.field(default_factory=_no_ints)
    words: Ints = dataclasses.field(default_factory=_no_ints)
    # What growing it knew, as far as it is kept: gain, weight, count and value of each node, and
    # leaf_weight and leaf_count. Contributions of features need the counts, importance the gain.
    details: Mapping[str, NDArray[Any]] = dataclasses.field(default_factory=dict, repr=False)
    # Lines of a text, as they were read or once written: a forest is written again and again.
    lines: dict[str, str] = dataclasses.field(default_factory=dict, repr=False)

    @property
    def leaves(self) -> int:
        """Number of leaves; a tree with one leaf is a constant."""
        return len(self.leaf_value)

    @property
    def is_categorical(self) -> NDArray[np.bool_]:
        """Which nodes look at a set of codes."""
        return np.asarray(self.rule & IS_CATEGORICAL != 0)

    def with_values(self, leaf_value: Floats, shrinkage: float) -> Tree:
        """The same tree with other leaf values."""
        kept = {k: v for k, v in self.lines.items() if k not in ("leaf_value", "shrinkage", "json")}
        rate = float(shrinkage)
        return dataclasses.replace(self, leaf_value=leaf_value, shrinkage=rate, lines=kept)


def pack_sets(sets: Sequence[Ints]) -> tuple[Ints, Ints]:
    """Sets of codes as `Tree.sets` and `Tree.words`.

    >>> [part.tolist() for part in pack_sets([np.array([0, 3]), np.array([33])])]
    [[0, 1, 3], [9, 0, 2]]
    """
    words = []
    for codes in sets:
        own = np.zeros(int(codes.max()) // 32 + 1, np.int64)
        np.bitwise_or.at(own, codes // 32, 1 << codes % 32)
        words.append(own)
    if not words:
        return _no_ints(), _no_ints()
    return _starts(list(map(len, words))), np.concatenate(words)


class Nodes(NamedTuple):
    """Arrays of a forest, for the kernels."""

    node_start: NDArray[np.int64]  # first node of each tree
    leaf_start: NDArray[np.int64]  # first leaf of each tree, and the number of all leaves
    nodes: NDArray[np.int32]  # feature, left child, right child, flags; children below 0: ~leaf
    thresholds: NDArray[np.float32]
    cats: NDArray[np.int32]  # first word and number of words of a categorical node
    words: NDArray[np.uint32]
    leaf_value: Floats


def stack(trees: Sequence[Tree]) -> Nodes:
    """The arrays of some trees, one behind the other."""
    feature = _joined([tree.feature for tree in trees], np.int64)
    threshold = _joined([tree.threshold for tree in trees], np.float64)
    rule = _joined([tree.rule for tree in trees], np.int64)
    children = [_joined([getattr(t, side) for t in trees], np.int64) for side in ("left", "right")]
    nodes = np.column_stack([feature, *children, _flags(rule, threshold)])
    return Nodes(
        _starts([len(tree.feature) for tree in trees])[:-1],
        _starts([tree.leaves for tree in trees]),
        nodes.astype(np.int32),
        floor_float32(threshold),
        _sets(trees),
        _joined([tree.words for tree in trees], np.int64).astype(np.uint32),
        _joined([tree.leaf_value for tree in trees], np.float64),
    )


def _joined(arrays: Sequence[NDArray[Any]], kind: type) -> NDArray[Any]:
    if len(arrays) == 1:
        return np.asarray(arrays[0], kind)
    return np.concatenate(arrays).astype(kind) if arrays else np.empty(0, kind)


def _starts(counts: list[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _flags(rule: Ints, threshold: Floats) -> Ints:
    """The kernels' flags of nodes."""
    missing = (rule >> MISSING_SHIFT) & 3
    default_left = rule & GOES_LEFT != 0
    # Without a rule for NaN it counts as 0.
    nan_left = np.where(missing == MISSING_NAN, default_left, threshold >= 0.0)
    flags = np.where(nan_left, NAN_LEFT, 0) | np.where(default_left, DEFAULT_LEFT, 0)
    flags = np.where(missing == MISSING_ZERO, flags | ZERO_MISSING, flags & NAN_LEFT)
    return np.where(rule & IS_CATEGORICAL != 0, CATEGORICAL, flags)


def _sets(trees: Sequence[Tree]) -> NDArray[np.int32]:
    """First word and number of words of each categorical node, 0 of the others."""
    if not any(len(tree.sets) for tree in trees):
        return np.zeros((sum(len(tree.feature) for tree in trees), 2), np.int32)
    first = _starts([len(tree.words) for tree in trees])
    rows = []
    for tree, before in zip(trees, first[:-1], strict=True):
        cats = np.zeros((len(tree.feature), 2), np.int64)
        if len(tree.sets):
            which = tree.threshold[tree.is_categorical].astype(np.int64)
            cats[tree.is_categorical, 0] = tree.sets[which]
            cats[tree.is_categorical, 1] = tree.sets[which + 1] - tree.sets[which]
        cats[:, 0] += before
        rows.append(cats)
    return np.concatenate([np.empty((0, 2), np.int64), *rows]).astype(np.int32)
