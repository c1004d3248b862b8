"""A sum of trees: scores, and the model text that LightGBM, Treelite and lleaves read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.data.matrix import dense_blocks
from rankforce.kernels import trees as kernels
from rankforce.threads import run_rows
from rankforce.trees.tree import Floats, Nodes, Tree, parse_tree, split_model, stack


def route(tree: Tree, nodes: Nodes, features: Any, *, threads: int) -> NDArray[np.int32]:
    """The leaf of every row in one tree.

    `nodes` is `stack([tree])`: made once for several data sets.
    """
    leaf = np.empty(features.shape[0], np.int32)
    for first, block in dense_blocks(features):
        _route_block(tree, nodes, block, leaf[first : first + len(block)], threads)
    return leaf


def _route_block(
    tree: Tree, nodes: Nodes, block: Any, leaf: NDArray[np.int32], threads: int
) -> None:
    values, width = block.reshape(-1), block.shape[1]

    def work(first: int, last: int) -> None:
        kernels.route_block(first, last, width, values, 0, tree.leaves, *nodes[2:6], leaf)

    run_rows(work, len(block), threads)


def route_some(
    tree: Tree, features: Any, rows: NDArray[np.int64], leaf: NDArray[np.int32], *, threads: int
) -> None:
    """The leaf of some rows, into `leaf`."""
    nodes = stack([tree])
    if not isinstance(features, np.ndarray):
        leaf[rows] = route(tree, nodes, features[rows], threads=threads)
        return
    values, width = features.reshape(-1), features.shape[1]

    def work(first: int, last: int) -> None:
        kernels.route_rows(first, last, rows, width, values, *nodes[2:6], leaf)

    run_rows(work, len(rows), threads)


def add_scores(nodes: Nodes, features: Any, scores: Floats, *, threads: int) -> None:
    """Add the scores of a forest to `scores`, in place."""
    for first, block in dense_blocks(features):
        _score_block(nodes, block, scores[first : first + len(block)], threads)


def _score_block(nodes: Nodes, block: Any, scores: Floats, threads: int) -> None:
    values, width = block.reshape(-1), block.shape[1]

    def work(first: int, last: int) -> None:
        kernels.score_block(first, last, width, values, *nodes, scores)

    run_rows(work, len(block), threads)


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
    blocks = [tree.text(number) for number, tree in enumerate(trees)]
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
        raise ValueError("a model with several classes does not rank")
    return head, [parse_tree(block) for block in blocks]


def feature_names(head: str) -> list[str]:
    """Names of the features, from the head of a model's text."""
    names = _field(head, "feature_names")
    if names is None:
        raise ValueError("the model's text names no features")
    return names.split(" ")


def feature_infos(head: str) -> list[str]:
    """What LightGBM saw of each feature: "[low:high]", the codes of categories, or "none".

    >>> feature_infos("version=v4\\nfeature_infos=[0:2] none")
    ['[0:2]', 'none']
    """
    return (_field(head, "feature_infos") or "").split(" ")


def complete_infos(head: str, other: str) -> str:
    """The head with what another one saw of features that are constant here."""
    own, known = feature_infos(head), feature_infos(other)
    if len(own) != len(known):
        return head
    whole = [old if new == "none" else new for new, old in zip(own, known, strict=True)]
    line = "feature_infos=" + " ".join(own)
    return head.replace(line, "feature_infos=" + " ".join(whole), 1)


def _field(head: str, name: str) -> str | None:
    start = f"{name}="
    found = (line for line in head.splitlines() if line.startswith(start))
    line = next(found, None)
    return None if line is None else line[len(start) :]


def count_splits(trees: Iterable[Tree], features: int) -> NDArray[np.int64]:
    """How many nodes split on each feature."""
    used = [tree.numbers("split_feature", np.int64) for tree in trees]
    return np.bincount(np.concatenate([*used, np.empty(0, np.int64)]), minlength=features)
