"""What Vespa's importer of LightGBM's models makes of a file.

After LightGBMImporter, LightGBMParser and LightGBMNode of vespa-engine/vespa: a sum of
`if (x < threshold, left, right)`, or `!(x >= threshold)` where default_left is true, in double.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators.strict import Columns, number, parse, walk

CHANGED = ("binary", "cross_entropy", "poisson", "gamma", "tweedie")  # objectives with a function


def score(content: bytes, columns: Columns, kind: type = np.float64) -> NDArray[Any]:
    """Scores of documents; in float32 they are those of a forest that Vespa compiles."""
    root = parse(content)
    names, trees = root["feature_names"], root["tree_info"]
    iter(root["pandas_categorical"])
    if not trees or root["objective"].startswith(CHANGED):
        raise ValueError("an empty expression, or one that is changed")
    values = [columns[name].astype(kind) for name in names]
    rows = np.arange(len(next(iter(columns.values()))))
    total, one = np.zeros(len(rows), kind), np.empty(len(rows), kind)

    def goes_left(node: Any, some: NDArray[np.int64]) -> NDArray[np.bool_]:
        x = values[node["split_feature"]][some]
        return ~(x >= node["threshold"]) if node["default_left"] else x < node["threshold"]

    for tree in trees:
        walk(_node(tree["tree_structure"], kind, len(names)), rows, goes_left, one)
        total += one
    return total


def _node(record: Any, kind: type, features: int) -> dict[str, Any]:
    children = [record.get(side) for side in ("left_child", "right_child")]
    if children == [None, None]:
        return {"value": kind(number(record["leaf_value"]))}
    if not 0 <= record["split_feature"] < features or record["decision_type"] != "<=":
        raise ValueError("a node is damaged")
    with np.errstate(over="ignore"):
        threshold = kind(number(record["threshold"]))
    return {
        "split_feature": record["split_feature"],
        "threshold": threshold,
        "default_left": record["default_left"] is True,
        "children": [_node(child, kind, features) for child in children],
    }
