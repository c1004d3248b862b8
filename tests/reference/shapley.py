"""Shapley values of trees by their formula: over all sets of features, for a handful of them.

Trees are what LightGBM's `dump_model` has of them. Features that are not in a set are averaged over
by how many training rows went either way ("path-dependent", Lundberg et al. 2018, algorithm 1).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np


def count(node: Any) -> int:
    """Training rows that came to a node or a leaf."""
    return int(node["leaf_count"] if "leaf_value" in node else node["internal_count"])


def goes_left(node: Any, value: float) -> bool:
    """Where a row goes."""
    if node["decision_type"] == "==":
        known = {int(code) for code in str(node["threshold"]).split("||")}
        return not math.isnan(value) and int(value) in known
    if math.isnan(value):
        if node["missing_type"] == "NaN":
            return bool(node["default_left"])
        value = 0.0
    return value <= node["threshold"]


def expected(node: Any, row: Any, known: frozenset[int]) -> float:
    """What a tree gives on average where only some features of a row are known."""
    if "leaf_value" in node:
        return float(node["leaf_value"])
    left, right = node["left_child"], node["right_child"]
    if node["split_feature"] in known:
        is_left = goes_left(node, float(row[node["split_feature"]]))
        return expected(left if is_left else right, row, known)
    total = count(left) + count(right)
    return (
        count(left) * expected(left, row, known) + count(right) * expected(right, row, known)
    ) / total


def contributions(dump: Any, features: int, rows: Any) -> Any:
    """One column per feature, and a last one with what is expected of any row."""
    nodes = [tree["tree_structure"] for tree in dump["tree_info"]]

    def value(row: Any, known: frozenset[int]) -> float:
        return sum(expected(node, row, known) for node in nodes)

    found = np.zeros((len(rows), features + 1))
    for number, row in enumerate(rows):
        for feature in range(features):
            others = [one for one in range(features) if one != feature]
            for size in range(features):
                weight = math.factorial(size) * math.factorial(features - size - 1)
                for chosen in itertools.combinations(others, size):
                    known = frozenset(chosen)
                    gain = value(row, known | {feature}) - value(row, known)
                    found[number, feature] += weight / math.factorial(features) * gain
        found[number, -1] = value(row, frozenset())
    return found
