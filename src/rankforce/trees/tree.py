"""One regression tree, as LightGBM writes it: the text and the arrays that kernels read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO_MISSING

Floats = NDArray[np.float64]

# Bits of LightGBM's decision_type.
_IS_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_NONE, _MISSING_ZERO, _MISSING_NAN = 0, 1, 2


class Tree(NamedTuple):
    """Fields of a tree's text in their order, and its leaf values."""

    fields: dict[str, str]
    leaf_value: Floats

    @property
    def leaves(self) -> int:
        """Number of leaves; a tree with one leaf is a constant."""
        return len(self.leaf_value)

    def with_values(self, leaf_value: Floats, shrinkage: float) -> Tree:
        """The same tree with other leaf values."""
        values = " ".join(map(repr, leaf_value.tolist()))
        changed = {"leaf_value": values, "shrinkage": repr(float(shrinkage))}
        return Tree(self.fields | changed, leaf_value)

    def text(self, number: int) -> str:
        """The block of this tree in a model file, the blank lines behind it included."""
        lines = [f"Tree={number}", *(f"{key}={value}" for key, value in self.fields.items())]
        return "\n".join(lines) + "\n\n\n"

    def numbers(self, field: str, kind: type) -> NDArray[Any]:
        """A field of numbers; empty if the tree does not have it."""
        try:
            return np.array(self.fields.get(field, "").split(), dtype=kind)
        except (ValueError, OverflowError):
            raise ValueError(f"{field} of a tree is no list of numbers") from None


def parse_tree(block: str) -> Tree:
    """Read the block of one tree.

    >>> tree = parse_tree("Tree=0\\nnum_leaves=1\\nnum_cat=0\\nleaf_value=0.5\\nshrinkage=1\\n")
    >>> tree.leaves, tree.text(3).splitlines()[0]
    (1, 'Tree=3')
    """
    fields = dict(line.split("=", 1) for line in block.strip().splitlines() if "=" in line)
    fields.pop("Tree", None)
    if "leaf_value" not in fields or "num_leaves" not in fields:
        raise ValueError("a tree without leaf_value or num_leaves: this is no LightGBM model")
    if fields.get("is_linear", "0") != "0":
        raise ValueError("trees with linear leaves are not supported")
    leaf_value = Tree(fields, np.empty(0)).numbers("leaf_value", np.float64)
    if not fields["num_leaves"].isdigit() or len(leaf_value) != int(fields["num_leaves"]):
        raise ValueError(f"a tree with {fields['num_leaves']} leaves has {len(leaf_value)} values")
    if not np.isfinite(leaf_value).all():
        raise ValueError("a leaf of a tree is not finite")
    return Tree(fields, leaf_value)


def split_model(text: str) -> tuple[str, list[str], str]:
    """A model's text in three: what stands before the trees, their blocks, what stands behind.

    >>> split_model("tree\\nversion=v4\\n\\nTree=0\\nnum_leaves=1\\n\\n\\nend of trees\\n\\nrest")
    ('tree\\nversion=v4\\n\\n', ['Tree=0\\nnum_leaves=1\\n\\n\\n'], 'end of trees\\n\\nrest')
    """
    head, end, tail = text.partition("end of trees")
    if not end or not head.startswith("tree\n"):
        raise ValueError("this is no LightGBM model text, or it is cut off")
    start = head.find("\nTree=") + 1
    if not start:
        return head, [], end + tail
    blocks = head[start:].split("\nTree=")
    whole = [blocks[0], *("Tree=" + block for block in blocks[1:])]
    whole[:-1] = [block + "\n" for block in whole[:-1]]
    return head[:start], whole, end + tail


class Nodes(NamedTuple):
    """Arrays of a forest, for the kernels."""

    node_start: NDArray[np.int64]  # first node of each tree
    leaf_start: NDArray[np.int64]  # first leaf of each tree, and the number of all leaves
    nodes: NDArray[np.int32]  # feature, left child, right child, flags; children below 0: ~leaf
    thresholds: NDArray[np.float32]
    cats: NDArray[np.int32]  # first word and number of words of a categorical node
    words: NDArray[np.uint32]
    leaf_value: Floats


def stack(trees: list[Tree]) -> Nodes:
    """The arrays of some trees, one behind the other."""
    tables = [_node_table(tree) for tree in trees]
    words = [tree.numbers("cat_threshold", np.int64).astype(np.uint32) for tree in trees]
    word_start = np.concatenate([[0], np.cumsum([len(word) for word in words])])
    cats = [
        table[2] + [[int(first), 0]] for table, first in zip(tables, word_start[:-1], strict=True)
    ]
    node_count = [len(table[0]) for table in tables]
    leaf_count = [tree.leaves for tree in trees]
    return Nodes(
        np.concatenate([[0], np.cumsum(node_count)])[:-1].astype(np.int64),
        np.concatenate([[0], np.cumsum(leaf_count)]).astype(np.int64),
        np.concatenate([t[0] for t in tables] or [np.empty((0, 4))]).astype(np.int32),
        np.concatenate([t[1] for t in tables] or [np.empty(0)]).astype(np.float32),
        np.concatenate(cats or [np.empty((0, 2))]).astype(np.int32),
        np.concatenate([*words, np.empty(0, np.uint32)]),
        np.concatenate([tree.leaf_value for tree in trees] or [np.empty(0)]),
    )


def _node_table(tree: Tree) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Nodes, thresholds and categorical ranges of one tree."""
    if tree.leaves <= 1:
        return np.empty((0, 4)), np.empty(0), np.empty((0, 2))
    kind = tree.numbers("decision_type", np.int64)
    threshold = tree.numbers("threshold", np.float64)
    is_categorical = kind & _IS_CATEGORICAL != 0
    missing = (kind >> 2) & 3
    default_left = kind & _DEFAULT_LEFT != 0
    # Without a rule for NaN it counts as 0.
    nan_left = np.where(missing == _MISSING_NAN, default_left, threshold >= 0.0)
    flags = np.where(nan_left, NAN_LEFT, 0) | np.where(default_left, DEFAULT_LEFT, 0)
    flags = np.where(missing == _MISSING_ZERO, flags | ZERO_MISSING, flags & NAN_LEFT)
    flags = np.where(is_categorical, CATEGORICAL, flags)
    children = [tree.numbers(name, np.int64) for name in ("left_child", "right_child")]
    nodes = np.column_stack([tree.numbers("split_feature", np.int64), *children, flags])
    cats = np.zeros((len(kind), 2), np.int64)
    if is_categorical.any():
        bounds = tree.numbers("cat_boundaries", np.int64)
        which = threshold[is_categorical].astype(np.int64)
        cats[is_categorical, 0] = bounds[which]
        cats[is_categorical, 1] = bounds[which + 1] - bounds[which]
    return nodes, floor_float32(threshold), cats


def floor_float32(values: Floats) -> NDArray[np.float32]:
    """The largest float32 that is not above each value: x <= value is the same for every float32 x.

    >>> bool(floor_float32(np.array([0.1]))[0] <= 0.1)
    True
    """
    with np.errstate(over="ignore"):
        rounded = values.astype(np.float32)
        below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > values, below, rounded)
