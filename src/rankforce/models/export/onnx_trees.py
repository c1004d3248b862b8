"""Trees as a graph of ONNX: columns that some nodes look at in their own way, then an ensemble.

All is in double. So every comparison is that of float32 rows with float32 thresholds, and sums are
those of `predict`; the older TreeEnsembleRegressor has float32 sums and scores.

A set of categories looks at whole numbers, and where zeros are missing values, they are NaN: such
nodes look at a second column, made from the first by the graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from rankforce.common.types import Floats
from rankforce.kernels.trees import CATEGORICAL, DEFAULT_LEFT, NAN_LEFT, ZERO, ZERO_MISSING
from rankforce.models.forest.tree import Ints, Nodes, Tree, stack
from rankforce.models.forest.xgboost_tree import to_codes

INPUT, OUTPUT = "features", "scores"
AT_MOST, MEMBER = 0, 6  # modes of a node
OPSETS = {"": 18, "ai.onnx.ml": 5}
IR_VERSION = 10  # the first with these; later readers take it too
NOWHERE = -0.5  # is in no column of whole numbers: a set needs a member


class Ensemble(NamedTuple):
    """A node of the graph, and the columns that it needs behind those of the rows."""

    node: onnx.NodeProto
    whole: Ints  # columns that are rounded down
    zeroed: Ints  # columns whose zeros become NaN


def forest_model(trees: Sequence[Tree], columns: int) -> onnx.ModelProto:
    """The model of some trees, on rows of so many columns."""
    ensemble = make_ensemble(trees, columns)
    nodes, constants = [], []
    parts = [INPUT]
    for made, chosen, more in (
        ("whole", ensemble.whole, _floor),
        ("zeroed", ensemble.zeroed, _without_zeros),
    ):
        if len(chosen):
            constants.append(numpy_helper.from_array(chosen, f"{made}_columns"))
            nodes.append(
                helper.make_node("Gather", [INPUT, f"{made}_columns"], [f"{made}_plain"], axis=1)
            )
            nodes += more(f"{made}_plain", made, constants)
            parts.append(made)
    if len(parts) > 1:
        nodes.append(helper.make_node("Concat", parts, ["rows"], axis=1))
    nodes.append(
        helper.make_node(
            "Cast", ["rows" if len(parts) > 1 else INPUT], ["doubles"], to=TensorProto.DOUBLE
        )
    )
    constants.append(numpy_helper.from_array(np.array([1], np.int64), "last_axis"))
    nodes += [ensemble.node, helper.make_node("Squeeze", ["sums", "last_axis"], [OUTPUT])]
    graph = helper.make_graph(
        nodes,
        "rankforce",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["rows_given", columns])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.DOUBLE, ["rows_given"])],
        constants,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="rankforce"
    )


def _floor(source: str, target: str, constants: list[Any]) -> list[onnx.NodeProto]:
    return [helper.make_node("Floor", [source], [target])]


def _without_zeros(source: str, target: str, constants: list[Any]) -> list[onnx.NodeProto]:
    constants += [
        numpy_helper.from_array(np.array(ZERO, np.float32), "zero"),
        numpy_helper.from_array(np.array(np.nan, np.float32), "missing"),
    ]
    return [
        helper.make_node("Abs", [source], ["sizes"]),
        helper.make_node("Greater", ["sizes", "zero"], ["is_there"]),
        helper.make_node("Where", ["is_there", source, "missing"], [target]),
    ]


def make_ensemble(trees: Sequence[Tree], columns: int) -> Ensemble:
    """Trees as one TreeEnsemble, from the input "doubles" to the output "sums"."""
    nodes = stack(trees)
    feature, left, right, flags = (column.astype(np.int64) for column in nodes.nodes.T)
    is_set, is_zero = flags & CATEGORICAL != 0, flags & ZERO_MISSING != 0
    whole, zeroed = np.unique(feature[is_set]), np.unique(feature[is_zero])
    feature[is_set] = columns + np.searchsorted(whole, feature[is_set])
    feature[is_zero] = columns + len(whole) + np.searchsorted(zeroed, feature[is_zero])
    goes_left = np.where(is_zero, flags & DEFAULT_LEFT, flags & NAN_LEFT) != 0
    roots, table = _with_constants(
        nodes,
        {
            "nodes_featureids": feature,
            "nodes_splits": np.where(is_set, 0.0, nodes.thresholds.astype(np.float64)),
            "nodes_modes": np.where(is_set, MEMBER, AT_MOST),
            "nodes_missing_value_tracks_true": goes_left & ~is_set,
            **_children("true", left, nodes),
            **_children("false", right, nodes),
        },
    )
    given: dict[str, Any] = {
        "nodes_splits": _tensor(table.pop("nodes_splits")),
        "nodes_modes": _tensor(table.pop("nodes_modes").astype(np.uint8)),
    }
    given |= {name: values.astype(np.int64).tolist() for name, values in table.items()}
    given["leaf_weights"] = _tensor(nodes.leaf_value)
    given["leaf_targetids"] = [0] * len(nodes.leaf_value)
    if is_set.any():
        given["membership_values"] = _tensor(_members(nodes, np.flatnonzero(is_set)))
    node = helper.make_node(
        "TreeEnsemble",
        ["doubles"],
        ["sums"],
        domain="ai.onnx.ml",
        n_targets=1,
        tree_roots=roots.tolist(),
        **given,
    )
    return Ensemble(node, whole, zeroed)


def _children(side: str, child: Ints, nodes: Nodes) -> dict[str, NDArray[Any]]:
    inner = np.maximum(np.diff(nodes.leaf_start) - 1, 0)
    first_node, first_leaf = (
        np.repeat(start, inner) for start in (nodes.node_start, nodes.leaf_start[:-1])
    )
    is_leaf = child < 0
    return {
        f"nodes_{side}nodeids": np.where(is_leaf, ~child + first_leaf, child + first_node),
        f"nodes_{side}leafs": is_leaf,
    }


def _with_constants(
    nodes: Nodes, table: dict[str, NDArray[Any]]
) -> tuple[Ints, dict[str, NDArray[Any]]]:
    """Roots of trees; one that is a leaf gets a node, both ways of which lead there."""
    is_leaf = np.diff(nodes.leaf_start) == 1
    extra = {name: np.zeros(is_leaf.sum(), values.dtype) for name, values in table.items()}
    for side in ("true", "false"):
        extra[f"nodes_{side}nodeids"] = nodes.leaf_start[:-1][is_leaf]
        extra[f"nodes_{side}leafs"] = np.ones(is_leaf.sum(), bool)
    roots = nodes.node_start.copy()
    roots[is_leaf] = len(nodes.nodes) + np.arange(is_leaf.sum())
    return roots, {name: np.concatenate([values, extra[name]]) for name, values in table.items()}


def _members(nodes: Nodes, chosen: Ints) -> Floats:
    """Codes of each set, NaN behind each."""
    found: list[float] = []
    for start, many in nodes.cats[chosen].tolist():
        codes = to_codes(nodes.words[start : start + many])
        found.extend(codes or [NOWHERE])
        found.append(np.nan)
    return np.array(found, np.float64)


def _tensor(values: NDArray[Any]) -> onnx.TensorProto:
    return numpy_helper.from_array(values)
