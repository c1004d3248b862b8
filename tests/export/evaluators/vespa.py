"""What Vespa's importer of LightGBM's models makes of a file.

After LightGBMImporter, LightGBMParser and LightGBMNode of vespa-engine/vespa: a sum of
`if (x < threshold, left, right)`, or `!(x >= threshold)` where default_left is true, in double;
`x in ["a", "b"]` for categories, whose values stand in the order of the features that have such.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators.strict import number, parse, walk

CHANGED = ("binary", "cross_entropy", "poisson", "gamma", "tweedie")  # objectives with a function


def score(content: bytes, columns: dict[str, Any], kind: type = np.float64) -> NDArray[Any]:
    """Scores of documents; in float32 they are those of a forest that Vespa compiles."""
    root = parse(content)
    names, trees = root["feature_names"], root["tree_info"]
    if not trees or root["objective"].startswith(CHANGED):
        raise ValueError("an empty expression, or one that is changed")
    records = [tree["tree_structure"] for tree in trees]
    found: set[int] = set()
    for record in records:
        _find_categorical(record, found)
    texts = dict(zip(sorted(found), root["pandas_categorical"], strict=True))
    values = [_column(columns[name], kind) for name in names]
    rows = np.arange(len(next(iter(columns.values()))))
    total, one = np.zeros(len(rows), kind), np.empty(len(rows), kind)

    def goes_left(node: Any, some: NDArray[np.int64]) -> NDArray[np.bool_]:
        x = values[node["split_feature"]][some]
        if "texts" in node:
            return np.isin(x, node["texts"])
        return ~(x >= node["threshold"]) if node["default_left"] else x < node["threshold"]

    for record in records:
        walk(_node(record, kind, len(names), texts), rows, goes_left, one)
        total += one
    return total


def _column(given: NDArray[Any], kind: type) -> NDArray[Any]:
    return given.astype(kind) if given.dtype.kind == "f" else given.astype(str)


def _find_categorical(record: Any, found: set[int]) -> None:
    if "left_child" in record:
        if record["decision_type"] == "==":
            found.add(record["split_feature"])
        for side in ("left_child", "right_child"):
            _find_categorical(record[side], found)


def _node(record: Any, kind: type, features: int, texts: dict[int, list[str]]) -> dict[str, Any]:
    children = [record.get(side) for side in ("left_child", "right_child")]
    if children == [None, None]:
        return {"value": kind(number(record["leaf_value"]))}
    feature = record["split_feature"]
    if not 0 <= feature < features:
        raise ValueError("a node is damaged")
    below = [_node(child, kind, features, texts) for child in children]
    made = {"split_feature": feature, "children": below}
    if record["decision_type"] == "==":
        if record["default_left"]:
            raise ValueError("isNan of a text")
        codes = [int(code) for code in record["threshold"].split("||")]
        return made | {"texts": [texts[feature][code] for code in codes]}
    with np.errstate(over="ignore"):
        threshold = kind(number(record["threshold"]))
    return made | {"threshold": threshold, "default_left": record["default_left"] is True}
