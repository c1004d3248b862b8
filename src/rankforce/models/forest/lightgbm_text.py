"""LightGBM's text of a model: read into arrays, and written from them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.models.forest.tree import Tree
from rankforce.models.forest.walk import count_splits


class Field(NamedTuple):
    """A line of a tree's text."""

    name: str  # of the tree's array
    kind: type
    shown: Callable[[Any], str]  # how LightGBM writes a number
    per_leaf: bool = False
    is_set: bool = False  # of codes: as many numbers as there are
    is_detail: bool = False  # read when it is asked for: scores do not need it


def _long(value: float) -> str:
    return f"{value:.17g}"


def _short(value: float) -> str:
    return f"{value:g}"


SUMS = "regression"  # the objective in a text: scores are sums of leaves and nothing else

# In LightGBM's order. Values of leaves are written so that they read back the same, in few digits.
FIELDS = {
    "split_feature": Field("feature", np.int64, str),
    "split_gain": Field("gain", np.float64, _short, is_detail=True),
    "threshold": Field("threshold", np.float64, _long),
    "decision_type": Field("rule", np.int64, str),
    "left_child": Field("left", np.int64, str),
    "right_child": Field("right", np.int64, str),
    "leaf_value": Field("leaf_value", np.float64, repr, per_leaf=True),
    "leaf_weight": Field("leaf_weight", np.float64, _long, per_leaf=True, is_detail=True),
    "leaf_count": Field("leaf_count", np.int64, str, per_leaf=True, is_detail=True),
    "internal_value": Field("value", np.float64, _short, is_detail=True),
    "internal_weight": Field("weight", np.float64, _short, is_detail=True),
    "internal_count": Field("count", np.int64, str, is_detail=True),
    "cat_boundaries": Field("sets", np.int64, str, is_set=True),
    "cat_threshold": Field("words", np.int64, str, is_set=True),
}
_DETAILS = {field.name: name for name, field in FIELDS.items() if field.is_detail}


class Details(Mapping[str, NDArray[Any]]):
    """Arrays that are read from lines when they are asked for: half of a model's time to load."""

    def __init__(self, lines: Mapping[str, str], leaves: int) -> None:
        self._lines = {name: lines[line] for name, line in _DETAILS.items() if line in lines}
        self._leaves = leaves

    def __getitem__(self, name: str) -> NDArray[Any]:
        line = _DETAILS[name]
        return _numbers(line, self._lines[name], FIELDS[line], self._leaves)

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)

    def __len__(self) -> int:
        return len(self._lines)


def tree_text(tree: Tree, number: int) -> str:
    """The block of a tree in a model file, the blank lines behind it included."""
    shown = [f"Tree={number}", f"num_leaves={tree.leaves}"]
    shown.append(f"num_cat={max(len(tree.sets) - 1, 0)}")
    for name, field in FIELDS.items():
        if name not in tree.lines:
            values = tree.details.get(field.name) if field.is_detail else getattr(tree, field.name)
            if values is None or (field.is_set and not len(values)):
                continue
            tree.lines[name] = " ".join(map(field.shown, values.tolist()))
        shown.append(f"{name}={tree.lines[name]}")
    rate = tree.lines.setdefault("shrinkage", repr(tree.shrinkage))
    return "\n".join([*shown, "is_linear=0", f"shrinkage={rate}\n\n\n"])


def parse_tree(block: str) -> Tree:
    """Read the block of one tree.

    >>> tree = parse_tree("Tree=0\\nnum_leaves=1\\nnum_cat=0\\nleaf_value=0.5\\nshrinkage=1\\n")
    >>> tree.leaves, tree_text(tree, 3).splitlines()[0]
    (1, 'Tree=3')
    """
    lines = dict(line.split("=", 1) for line in block.strip().splitlines() if "=" in line)
    if "leaf_value" not in lines or "num_leaves" not in lines:
        raise RankforceError("a tree without leaf_value or num_leaves: this is no LightGBM model")
    if lines.get("is_linear", "0") != "0":
        raise RankforceError("trees with linear leaves are not supported")
    if not lines["num_leaves"].isdigit():
        raise RankforceError(f"a tree has {lines['num_leaves']!r} leaves: expected an integer")
    leaves = int(lines["num_leaves"])
    arrays = {
        field.name: _numbers(name, lines.get(name, ""), field, leaves)
        for name, field in FIELDS.items()
        if not field.is_detail
    }
    if not np.isfinite(arrays["leaf_value"]).all():
        raise RankforceError("a leaf of a tree is not finite")
    rate = parse_numbers("shrinkage", lines.setdefault("shrinkage", "1"), np.float64)
    if len(rate) != 1:
        raise RankforceError("shrinkage of a tree is no number")
    kept = {name: lines[name] for name in (*FIELDS, "shrinkage") if name in lines}
    return Tree(**arrays, shrinkage=float(rate[0]), details=Details(kept, leaves), lines=kept)


def _numbers(name: str, text: str, field: Field, leaves: int) -> NDArray[Any]:
    expected = leaves if field.per_leaf else leaves - 1
    values = parse_numbers(name, text, field.kind)
    # Of a tree that is one leaf, LightGBM leaves most lines empty.
    is_whole = len(values) == expected or field.is_set or (leaves == 1 and field.is_detail)
    if not is_whole:
        raise RankforceError(f"a tree with {leaves} leaves has {len(values)} numbers in {name}")
    return values


def parse_numbers(name: str, text: str, kind: type) -> NDArray[Any]:
    """The numbers of a line."""
    if not text.strip():
        return np.empty(0, kind)
    try:
        values: NDArray[Any] = np.fromstring(text, dtype=kind, sep=" ")
    except (ValueError, DeprecationWarning):
        values = np.empty(0, kind)
    if len(values) != text.strip().count(" ") + 1:  # it stops at what is no number
        raise RankforceError(f"{name} of a tree is no list of numbers")
    return values


def split_model(text: str) -> tuple[str, list[str], str]:
    """A model's text in three: what stands before the trees, their blocks, what stands behind.

    >>> split_model("tree\\nversion=v4\\n\\nTree=0\\nnum_leaves=1\\n\\n\\nend of trees\\n\\nrest")
    ('tree\\nversion=v4\\n\\n', ['Tree=0\\nnum_leaves=1\\n\\n\\n'], 'end of trees\\n\\nrest')
    """
    head, end, tail = text.partition("end of trees")
    if not end or not head.startswith("tree\n"):
        raise RankforceError("this is no LightGBM model text, or it is cut off")
    start = head.find("\nTree=") + 1
    if not start:
        return head, [], end + tail
    blocks = head[start:].split("\nTree=")
    whole = [blocks[0], *("Tree=" + block for block in blocks[1:])]
    whole[:-1] = [block + "\n" for block in whole[:-1]]
    return head[:start], whole, end + tail


def model_text(
    head: str,
    trees: Sequence[Tree],
    parameters: dict[str, str],
    *,
    categories: Sequence[Sequence[Any]] | None = None,
) -> str:
    """The whole text of a model; `head` is the part before the trees of any model on the data.

    `categories` are the values of the columns of categories, in the order of columns: by them
    LightGBM numbers the values of a pandas frame.
    """
    blocks = [tree_text(tree, number) for number, tree in enumerate(trees)]
    lines = [line for line in head.strip().splitlines() if not line.startswith("tree_sizes=")]
    # LightGBM jumps from tree to tree by these sizes.
    lines.append("tree_sizes=" + " ".join(str(len(block.encode())) for block in blocks))
    names = feature_names(head)
    counts = count_splits(trees, len(names))
    order = sorted(np.flatnonzero(counts), key=lambda f: (-counts[f], f))
    importances = "".join(f"{names[f]}={counts[f]}\n" for f in order)
    settings = "".join(f"[{key}: {value}]\n" for key, value in parameters.items())
    known = json.dumps(categories)
    return (
        "\n".join(lines)
        + "\n\n"
        + "".join(blocks)
        + f"end of trees\n\nfeature_importances:\n{importances}"
        + f"\nparameters:\n{settings}\nend of parameters\n\npandas_categorical:{known}\n"
    )


def parse_model(text: str) -> tuple[str, list[Tree]]:
    """The head and the trees of a model's text."""
    head, blocks, _ = split_model(text)
    fields = dict(line.split("=", 1) for line in head.splitlines() if "=" in line)
    if fields.get("num_class", "1") != "1" or fields.get("num_tree_per_iteration", "1") != "1":
        raise RankforceError("a model with several classes does not rank")
    return head, [parse_tree(block) for block in blocks]


def make_head(names: Sequence[str], ranges: Sequence[str], about: Mapping[str, str]) -> str:
    """What stands before the trees.

    The objective says that scores are plain sums: of all its names, lleaves, Treelite, onnxmltools
    and every version of LightGBM know this one.

    >>> print(make_head(["a b", "c"], ["[0:2]", "none"], {}))
    tree
    version=v4
    num_class=1
    num_tree_per_iteration=1
    label_index=0
    max_feature_idx=1
    objective=regression
    feature_names=a_b c
    feature_infos=[0:2] none
    <BLANKLINE>
    """
    fields = {
        "version": "v4",
        "num_class": 1,
        "num_tree_per_iteration": 1,
        "label_index": 0,
        "max_feature_idx": len(names) - 1,
        "objective": SUMS,
        "feature_names": " ".join(plain_names(names)),
        **about,
        "feature_infos": " ".join(ranges),
    }
    return "\n".join(["tree", *(f"{name}={value}" for name, value in fields.items()), ""])


def plain_names(names: Sequence[str]) -> list[str]:
    """Names that LightGBM's format can hold: without blanks and the signs of JSON, all different.

    >>> plain_names(["a b", "a:b", "c"])
    ['a_b', 'a_b_1', 'c']
    """
    plain: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(names):
        simple = re.sub(r'[\s",:\[\]{}]', "_", name) or "_"
        while simple in taken:
            simple = f"{simple}_{number}"
        taken.add(simple)
        plain.append(simple)
    return plain


def feature_names(head: str) -> list[str]:
    """Names of the features, from the head of a model's text."""
    names = _field(head, "feature_names")
    if names is None:
        raise RankforceError("the model's text names no features")
    return names.split(" ")


def feature_infos(head: str) -> list[str]:
    """What LightGBM saw of each feature: "[low:high]", the codes of categories, or "none".

    >>> feature_infos("version=v4\\nfeature_infos=[0:2] none")
    ['[0:2]', 'none']
    """
    return (_field(head, "feature_infos") or "").split(" ")


def _field(head: str, name: str) -> str | None:
    start = f"{name}="
    found = (line for line in head.splitlines() if line.startswith(start))
    line = next(found, None)
    return None if line is None else line[len(start) :]
