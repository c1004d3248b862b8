"""XGBoost's trees: read into ours, and written from them.

Nodes and leaves are numbered level by level, so that they are the same once they were written and
read. Values of leaves are ours, in full precision; XGBoost rounds them to float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.precision import floor_float32
from rankforce.models.forest.tree import (
    GOES_LEFT,
    IS_CATEGORICAL,
    MISSING_NAN,
    MISSING_SHIFT,
    MISSING_ZERO,
    Ints,
    Tree,
)

OURS = "rankforce"  # the key of what XGBoost does not know
ROOT = 2**31 - 1  # stands for the parent of a root
LARGEST = np.finfo(np.float32).max
NAN_RULE = MISSING_NAN << MISSING_SHIFT
_ARRAYS = {
    "left_children": np.int64,
    "right_children": np.int64,
    "split_indices": np.int64,
    "split_conditions": np.float64,
    "default_left": np.int64,
    "loss_changes": np.float64,
    "sum_hessian": np.float64,
    "base_weights": np.float64,
}


def parse_tree(record: Mapping[str, Any], codes: Mapping[int, int] | None = None) -> Tree:
    """A tree from its record; `codes` says how many codes a categorical feature has.

    >>> one = {"left_children": [1, -1, -1], "right_children": [2, -1, -1],
    ...        "split_indices": [0, 0, 0], "split_conditions": [0.5, -1.0, 1.0],
    ...        "default_left": [1, 0, 0]}
    >>> tree = parse_tree(one)
    >>> bool(tree.threshold[0] < 0.5), tree.leaf_value.tolist()
    (True, [-1.0, 1.0])
    """
    arrays = _read_arrays(record)
    left, right = arrays["left_children"].copy(), arrays["right_children"].copy()
    sets = _Sets(record, codes or {})
    for node in sets.swapped(arrays):
        left[node], right[node] = right[node], left[node]
    inner, leaf = _in_order(left, right)
    number = np.empty(len(left), np.int64)
    number[inner], number[leaf] = np.arange(len(inner)), ~np.arange(len(leaf))
    threshold = _below(arrays["split_conditions"][inner])
    rule = NAN_RULE | np.where(arrays["default_left"][inner] != 0, GOES_LEFT, 0)
    categorical, bounds, words = sets.of(inner)
    threshold[categorical], rule[categorical] = np.arange(len(categorical)), IS_CATEGORICAL
    own = record.get(OURS, {})
    details = {
        name: arrays[theirs][which]
        for name, theirs, which in (
            ("gain", "loss_changes", inner),
            ("value", "base_weights", inner),
            ("weight", "sum_hessian", inner),
            ("leaf_weight", "sum_hessian", leaf),
        )
        if theirs in arrays
    }
    counts = {
        name: np.array(own[name], np.int64) for name in ("count", "leaf_count") if name in own
    }
    return Tree(
        arrays["split_indices"][inner],
        threshold,
        rule,
        number[left[inner]],
        number[right[inner]],
        arrays["split_conditions"][leaf],
        float(own.get("shrinkage", 1.0)),
        bounds,
        words,
        details | counts,
    )


def _read_arrays(record: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    found = {name: np.array(record[name], kind) for name, kind in _ARRAYS.items() if name in record}
    missing = [name for name in list(_ARRAYS)[:5] if name not in found]
    if missing or len({len(values) for values in found.values()}) != 1:
        what = f"{missing[0]} is missing" if missing else "its lists have different lengths"
        raise RankforceError(f"a tree is damaged: {what}")
    conditions = found["split_conditions"]
    kinds = np.array(record.get("split_type", ()), np.int64)
    if len(kinds) == len(conditions):
        conditions[kinds != 0] = 0.0  # of sets of categories, which XGBoost 2 had no number for
    _turn_round(found)
    if not np.isfinite(conditions).all():
        raise RankforceError("a tree is damaged: a leaf or a threshold is not finite")
    return found


def _turn_round(found: dict[str, NDArray[Any]]) -> None:
    """Missing values alone go left where XGBoost's GPU has minus infinity: all others instead."""
    left, right, conditions = (
        found[name] for name in ("left_children", "right_children", "split_conditions")
    )
    below_none = (left >= 0) & (conditions == -np.inf)
    left[below_none], right[below_none] = right[below_none], left[below_none]
    conditions[below_none] = LARGEST
    found["default_left"][below_none] ^= 1


def _in_order(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Nodes and leaves that can be reached, level by level."""
    inner, leaves = [], []
    level, seen = np.zeros(1, np.int64), 0
    while len(level):
        seen += len(level)
        if seen > len(left) or level.min() < 0 or level.max() >= len(left):
            raise RankforceError("a tree is damaged: a node points nowhere")
        is_leaf = left[level] < 0
        leaves.append(level[is_leaf])
        nodes = level[~is_leaf]
        inner.append(nodes)
        level = np.stack([left[nodes], right[nodes]], axis=1).reshape(-1)
    return np.concatenate(inner), np.concatenate(leaves)


def _below(conditions: Floats) -> Floats:
    """The threshold that a row is at most exactly where its value is below XGBoost's.

    Below the largest float32 are all, that one too.
    """
    given = conditions.astype(np.float32)
    below = np.nextafter(given, np.float32(-np.inf))
    return np.where(given >= LARGEST, LARGEST, below).astype(np.float64)


def _above(thresholds: Floats) -> Floats:
    """What `_below` was made from, in as many digits as tell float32 apart."""
    given = np.minimum(floor_float32(thresholds), np.nextafter(LARGEST, np.float32(0)))
    found = np.nextafter(given, LARGEST)
    return np.array([float(f"{value:.9g}") for value in found.tolist()])


class _Sets:
    """Sets of codes of a tree: those that XGBoost sends right, where ours go left.

    There missing values go either way, here they go right with all codes that a set does not have.
    So a set is the codes that go the other way than missing values.
    """

    def __init__(self, record: Mapping[str, Any], codes: Mapping[int, int]) -> None:
        self._record, self._codes = record, codes
        self._at = {int(node): n for n, node in enumerate(record.get("categories_nodes", ()))}
        self._flipped: set[int] = set()

    def swapped(self, arrays: Mapping[str, NDArray[Any]]) -> list[int]:
        """Nodes whose children change sides."""
        kinds = self._record.get("split_type", ())
        for node, kind in enumerate(kinds):
            if kind and node not in self._at and arrays["left_children"][node] >= 0:
                raise RankforceError("a tree is damaged: a set of categories is missing")
        is_left = arrays["default_left"]
        self._flipped = {node for node in self._at if not is_left[node]}
        self._feature = arrays["split_indices"]
        return [node for node in self._at if is_left[node]]

    def of(self, inner: Ints) -> tuple[Ints, Ints, Ints]:
        """Which of the nodes have sets, where the words of each begin, and all words."""
        which = [place for place, node in enumerate(inner.tolist()) if node in self._at]
        parts = [_to_words(self._codes_of(int(inner[place]))) for place in which]
        if not parts:
            return (np.empty(0, np.int64),) * 3
        bounds = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return np.array(which), bounds.astype(np.int64), np.concatenate(parts)

    def _codes_of(self, node: int) -> Ints:
        at = self._at[node]
        first, many = (self._record[f"categories_{what}"][at] for what in ("segments", "sizes"))
        chosen = np.array(self._record["categories"][first : first + many], np.int64)
        if not len(chosen) or chosen.min() < 0:
            raise RankforceError("a tree is damaged: a set of categories is empty")
        if node not in self._flipped:
            return chosen
        known = self._codes.get(int(self._feature[node]))
        if known is None:
            raise RankforceError(
                f"feature {self._feature[node]} is categorical, and the file does not say how many "
                "categories it has"
            )
        return np.setdiff1d(np.arange(max(known, chosen.max() + 1)), chosen)


def _to_words(codes: Ints) -> Ints:
    words = np.zeros(int(codes.max(initial=0)) // 32 + 1, np.int64)
    np.bitwise_or.at(words, codes // 32, np.left_shift(1, codes % 32))
    return words


def to_codes(words: NDArray[Any]) -> list[int]:
    """The codes of a set.

    >>> to_codes(np.array([5, 1]))
    [0, 2, 32]
    """
    bits = (words[:, None] >> np.arange(32)) & 1
    return np.flatnonzero(bits.reshape(-1)).tolist()


def tree_text(tree: Tree) -> str:
    """A tree as XGBoost's JSON, without its number."""
    if "json" not in tree.lines:
        tree.lines["json"] = json.dumps(tree_record(tree), separators=(",", ":"))
    return tree.lines["json"]


def tree_record(tree: Tree) -> dict[str, Any]:
    """A tree as XGBoost keeps it, without its number."""
    if (((tree.rule >> MISSING_SHIFT) & 3 == MISSING_ZERO) & ~tree.is_categorical).any():
        raise RankforceError(
            "a tree takes zeros for missing values (zero_as_missing), which XGBoost's form of a "
            "model cannot say: save it with engine='lightgbm'"
        )
    ids, left, right = _numbered(tree)
    inner, leaf = ids
    count = len(inner) + len(leaf)
    kind = tree.is_categorical

    def spread(of_nodes: Any, of_leaves: Any, dtype: type = np.float64) -> list[Any]:
        values: NDArray[Any] = np.zeros(count, dtype)
        values[inner], values[leaf] = of_nodes, of_leaves
        listed: list[Any] = values.tolist()
        return listed

    details = tree.details
    nan_left = np.where(
        (tree.rule >> MISSING_SHIFT) & 3 == MISSING_NAN, tree.rule & GOES_LEFT, tree.threshold >= 0
    )
    parents = np.full(count, ROOT)
    parents[left], parents[right] = inner, inner
    order = np.argsort(inner[kind])  # XGBoost wants its numbers ascending
    bounds = _bounds(tree)
    sets = [to_codes(tree.words[slice(*bounds[one])]) for one in order.tolist()]
    sizes = [len(one) for one in sets]
    own = {name: details[name].tolist() for name in ("count", "leaf_count") if name in details}
    return {
        OURS: {"shrinkage": tree.shrinkage, **own},
        "base_weights": spread(details.get("value", 0.0), tree.leaf_value),
        "categories": [code for one in sets for code in one],
        "categories_nodes": inner[kind][order].tolist(),
        "categories_segments": (np.cumsum(sizes, dtype=np.int64) - sizes).tolist(),
        "categories_sizes": sizes,
        "default_left": spread((nan_left != 0) | kind, 0, np.int64),
        "left_children": spread(left, -1, np.int64),
        "loss_changes": spread(details.get("gain", 0.0), 0.0),
        "parents": parents.tolist(),
        "right_children": spread(right, -1, np.int64),
        "split_conditions": spread(
            np.where(kind, 0.0, _above(np.where(kind, 0.0, tree.threshold))), tree.leaf_value
        ),
        "split_indices": spread(tree.feature, 0, np.int64),
        "split_type": spread(kind, 0, np.int64),
        "sum_hessian": spread(details.get("weight", 0.0), details.get("leaf_weight", 0.0)),
        "tree_param": {"num_deleted": "0", "num_nodes": str(count), "size_leaf_vector": "1"},
    }


def _numbered(tree: Tree) -> tuple[tuple[Ints, Ints], Ints, Ints]:
    """XGBoost's number of each node and leaf, and of the children of each node.

    It wants a right child behind the left one. A row whose code is in a set goes right there.
    """
    nodes = len(tree.feature)
    number = np.zeros(nodes + tree.leaves, np.int64)
    children = np.stack([tree.left, tree.right], axis=1)
    place = np.where(children < 0, nodes + ~children, children)
    level, ahead = np.zeros(min(nodes, 1), np.int64), 1
    while len(level):
        first = ahead + 2 * np.arange(len(level))
        is_set = tree.is_categorical[level]
        number[place[level, 0]] = np.where(is_set, first + 1, first)
        number[place[level, 1]] = np.where(is_set, first, first + 1)
        ahead += 2 * len(level)
        following = children[level].reshape(-1)
        level = following[following >= 0]
    left, right = number[place[:, 0]], number[place[:, 1]]
    swap = tree.is_categorical
    ids = number[:nodes], number[nodes:]
    return ids, np.where(swap, right, left), np.where(swap, left, right)


def _bounds(tree: Tree) -> list[tuple[int, int]]:
    which = tree.threshold[tree.is_categorical].astype(np.int64)
    return [(int(tree.sets[one]), int(tree.sets[one + 1])) for one in which]
