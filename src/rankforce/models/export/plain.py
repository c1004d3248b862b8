"""Trees as plain comparisons, for formats that have few words.

Rows are float32 in a model. So `x <= t` is the same for every one of them as `x <= floor32(t)`,
and as `x < next_above(t)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.precision import floor_float32
from rankforce.models.export.shape import CATEGORIES, next_above, refuse
from rankforce.models.export.zeros import without_zeros
from rankforce.models.forest.tree import GOES_LEFT, MISSING_NAN, MISSING_SHIFT, Ints, Tree
from rankforce.models.forest.xgboost_tree import to_codes
from rankforce.models.model import Model

# JSON has no infinity. This is beyond float32: who reads a float32 has infinity, others compare.
FAR = 1e39
ROUNDED = 1.0001  # more than sums of thousands of float32 lose


class PlainTree(NamedTuple):
    """A tree whose nodes compare numbers; a row goes left where its value is at most `most`.

    Where a format has sets, `codes` are those that go left, by node; all others go right.
    """

    feature: Ints
    threshold: Floats  # as the model has it, for formats that hold float64; finite
    nan_left: NDArray[np.bool_]  # where a missing value goes
    left: Ints  # a child below 0 is ~leaf
    right: Ints
    leaf_value: Floats
    codes: Mapping[int, list[int]]

    @property
    def most(self) -> NDArray[np.float32]:
        """A row goes left where its value is at most this, which may be -infinity."""
        return floor_float32(self.threshold)

    @property
    def below(self) -> Floats:
        """A row goes left where its value is below this: float32 numbers, or `FAR`."""
        return np.minimum(next_above(self.threshold).astype(np.float64), FAR)


def plain_trees(model: Model, to: str, *, has_texts: bool = False) -> list[PlainTree]:
    """The trees that make the scores as plain comparisons, or a refusal that names the node.

    `has_texts` is said of a format that has sets of categories, if those are texts.
    """
    able = {
        column
        for column, values in model.categories.items()
        if has_texts and all(isinstance(value, str) for value in values)
    }
    return [_plain(tree, n, model, to, able) for n, tree in enumerate(without_zeros(model, to))]


def _plain(tree: Tree, number: int, model: Model, to: str, able: Set[int]) -> PlainTree:
    codes = {}
    for node in np.flatnonzero(tree.is_categorical).tolist():
        column, place = int(tree.feature[node]), int(tree.threshold[node])
        held = to_codes(tree.words[tree.sets[place] : tree.sets[place + 1]])
        # A code that no value has does not come.
        codes[node] = [code for code in held if code < len(model.categories.get(column, ()))]
        if column not in able or not codes[node]:
            refuse(to, number, node, model.feature_names[column], CATEGORIES)
    has_rule = (tree.rule >> MISSING_SHIFT) & 3 == MISSING_NAN
    # Without a rule for NaN it counts as 0.
    nan_left = np.where(has_rule, tree.rule & GOES_LEFT != 0, tree.threshold >= 0.0)
    threshold = np.clip(tree.threshold, -FAR, FAR)
    ends = (tree.left, tree.right, tree.leaf_value)
    return PlainTree(tree.feature, threshold, nan_left & ~tree.is_categorical, *ends, codes)


def constant_tree(value: float) -> PlainTree:
    """A tree that is one leaf: it moves all scores alike, so ranks stay."""
    none = np.empty(0, np.int64)
    return PlainTree(none, np.empty(0), np.empty(0, bool), none, none, np.array([value]), {})


def first_missing(trees: Sequence[PlainTree], names: Sequence[str]) -> str:
    """The first node that sends a missing value another way than 0, in words; or nothing."""
    for number, tree in enumerate(trees):
        for node in np.flatnonzero(tree.nan_left != (tree.threshold >= 0.0))[:1]:
            return (
                f"node {node} of tree {number} (feature {names[tree.feature[node]]!r}) sends "
                "missing values another way than 0"
            )
    return ""


def used_features(trees: Sequence[PlainTree]) -> list[int]:
    """The columns that some node looks at, in order."""
    return sorted({int(column) for tree in trees for column in tree.feature})


def least_score(trees: Sequence[PlainTree]) -> float:
    """A score that no row is below: the sum of the least leaves."""
    return math.fsum(float(tree.leaf_value.min()) for tree in trees)


def find_shift(least: float) -> float:
    """What to add to scores so that none is negative, in few digits; 0 where none can be.

    >>> find_shift(-3.2), find_shift(0.5)
    (3.25, 0.0)
    """
    if least >= 0.0:
        return 0.0
    step = 2.0 ** (math.frexp(least)[1] - 4)  # an eighth of it at most
    return (math.floor(-least * ROUNDED / step) + 1) * step
