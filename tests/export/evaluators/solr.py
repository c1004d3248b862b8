"""What Solr's learning to rank makes of a model of its model store.

After MultipleAdditiveTreesModel, LinearModel and StandardNormalizer of apache/solr: floats, 1e-6f
on top of every threshold, numbers as text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators.strict import Columns, fields, number, parse, single, walk

PACKAGE = "org.apache.solr.ltr"
SLACK = np.float32(1e-6)


def score(content: bytes, columns: Columns) -> NDArray[np.float32]:
    """Scores of documents; a feature that is NaN is one whose default is."""
    model = fields(parse(content), {"name", "class", "features", "params"}, {"store"})
    listed = [fields(one, {"name"}, {"norm"}) for one in model["features"]]
    if not listed or len({one["name"] for one in listed}) < len(listed):
        raise ValueError("no features declared, or one twice")
    params = model["params"]
    if model["class"] == f"{PACKAGE}.model.LinearModel":
        fields(params, {"weights"})
        values = _values(listed, columns, null_is_zero=True)
        return _linear(params["weights"], values)
    if model["class"] != f"{PACKAGE}.model.MultipleAdditiveTreesModel":
        raise ValueError(f"class {model['class']!r} is not known")
    fields(params, {"trees"}, {"isNullSameAsZero"})
    null_is_zero = params.get("isNullSameAsZero", True)
    if not isinstance(null_is_zero, bool):
        raise ValueError("isNullSameAsZero is no truth")
    values = _values(listed, columns, null_is_zero=null_is_zero)
    return _trees(params["trees"], values, null_is_zero=null_is_zero)


def _values(listed: list[Any], columns: Columns, *, null_is_zero: bool) -> Columns:
    found = {}
    for one in listed:
        x = columns[one["name"]].astype(np.float32)
        if null_is_zero:
            x = np.where(np.isnan(x), np.float32(0), x)
        if "norm" in one:
            norm = fields(one["norm"], {"class", "params"})
            if norm["class"] != f"{PACKAGE}.norm.StandardNormalizer":
                raise ValueError(f"norm {norm['class']!r} is not known")
            own = fields(norm["params"], {"avg", "std"})
            mean, spread = _float(own["avg"]), _float(own["std"])
            if spread <= 0:
                raise ValueError("standard deviation must be positive")
            with np.errstate(over="ignore"):
                x = np.where(np.isnan(x), x, (x - mean) / spread)
        found[one["name"]] = x
    return found


def _float(text: Any) -> np.float32:
    """Float.parseFloat."""
    if not isinstance(text, str):
        raise ValueError(f"expected a number as text, got {text!r}")
    return single(float(text.replace("Infinity", "inf")))


def _linear(weights: Any, values: Columns) -> NDArray[np.float32]:
    if not set(values) <= set(weights):
        raise ValueError("Model lacks weights")
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name, x in values.items():
        total += x * single(number(weights[name]))
    return total


def _trees(trees: list[Any], values: Columns, *, null_is_zero: bool) -> NDArray[np.float32]:
    rows = np.arange(len(next(iter(values.values()))))
    total, one = np.zeros(len(rows), np.float32), np.empty(len(rows), np.float32)

    def goes_left(node: Any, some: NDArray[np.int64]) -> NDArray[np.bool_]:
        x = values[node["feature"]][some]
        is_left = x <= node["threshold"]
        return is_left if null_is_zero else np.where(np.isnan(x), node["nan_left"], is_left)

    for tree in trees:
        fields(tree, {"weight", "root"})
        walk(_node(tree["root"], null_is_zero, set(values)), rows, goes_left, one)
        total += _float(tree["weight"]) * one
    return total


def _node(record: Any, null_is_zero: bool, known: set[str]) -> dict[str, Any]:
    if "feature" not in record:
        return {"value": _float(fields(record, {"value"})["value"])}
    needs = {"feature", "threshold", "left", "right"}
    # Before 9.2 there is no such field; where NaN is one, a node without it fails.
    fields(record, needs if null_is_zero else needs | {"missing"})
    if record["feature"] not in known:
        raise ValueError(f"the model has no feature {record['feature']!r}: the tree would give 0")
    if not null_is_zero and record["missing"] not in ("left", "right"):
        raise ValueError("missing is left or right")
    return {
        "feature": record["feature"],
        "threshold": np.float32(_float(record["threshold"]) + SLACK),
        "nan_left": record.get("missing") == "left",
        "children": [_node(record[side], null_is_zero, known) for side in ("left", "right")],
    }
