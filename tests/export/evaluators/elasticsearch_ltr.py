"""What the learning-to-rank plugin of Elasticsearch makes of an uploaded model.

After StoredLtrModel, StoredFeature, XGBoostJsonParser, NaiveAdditiveDecisionTree, LinearRanker and
StandardFeatureNormalizer of o19s/elasticsearch-learning-to-rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators.strict import Columns, fields, number, parse, single, walk

TREES, LINEAR = "model/xgboost+json", "model/linear"
SPLIT = {"nodeid", "depth", "split", "split_condition", "yes", "no", "children"}


def score(
    content: bytes, columns: Columns, *, missing: str, stored: list[str] | None = None
) -> NDArray[np.float32]:
    """Scores; `stored` are the features of the stored set, if the upload has none of its own.

    `missing` is "node" for versions that follow the field, "zero" for those that fill with 0, and
    "right" for those that compare NaN.
    """
    whole = fields(parse(content), {"model"})["model"]
    asked = {"name", "model"} | ({"feature_set"} if stored is None else set())
    fields(whole, asked)
    known = _feature_set(whole["feature_set"]) if stored is None else stored
    model = fields(whole["model"], {"type", "definition"}, {"feature_normalizers"})
    values = {name: columns[name].astype(np.float32) for name in known}
    definition = parse(model["definition"])
    if model["type"] == LINEAR:
        values = {name: np.where(np.isnan(v), np.float32(0), v) for name, v in values.items()}
        return _linear(definition, _normalised(model, values, known), known)
    if model["type"] != TREES or not isinstance(definition, list) or not definition:
        raise ValueError("expected an array of at least one tree")
    if missing == "zero":
        values = {name: np.where(np.isnan(v), np.float32(0), v) for name, v in values.items()}
    return _trees(definition, values, follows=missing == "node")


def _feature_set(record: Any) -> list[str]:
    made = fields(record, {"name", "features"})["features"]
    for one in made:
        fields(one, {"name", "template"}, {"params", "template_language"})
    names = [one["name"] for one in made]
    if len(set(names)) < len(names):
        raise ValueError("a feature is there twice")
    return names


def _normalised(model: dict[str, Any], values: Columns, known: list[str]) -> Columns:
    found = dict(values)
    for name, norm in model.get("feature_normalizers", {}).items():
        if name not in known:
            raise ValueError(f"Feature {name} not contained in feature set")
        own = fields(fields(norm, {"standard"})["standard"], {"mean", "standard_deviation"})
        mean, spread = (single(number(own[key])) for key in ("mean", "standard_deviation"))
        if spread <= 0:
            raise ValueError("standard_deviation must be positive")
        found[name] = (values[name] - mean) / spread
    return found


def _linear(weights: Any, values: Columns, known: list[str]) -> NDArray[np.float32]:
    unknown = set(weights) - set(known)
    if unknown:
        raise ValueError(f"Feature {unknown} is unknown")
    total = np.zeros(len(next(iter(values.values()))), np.float32)
    for name in known:
        total += single(number(weights.get(name, 0.0))) * values[name]
    return total


def _trees(trees: list[Any], values: Columns, *, follows: bool) -> NDArray[np.float32]:
    rows = np.arange(len(next(iter(values.values()))))
    total, one = np.zeros(len(rows), np.float32), np.empty(len(rows), np.float32)

    def goes_left(node: Any, some: NDArray[np.int64]) -> NDArray[np.bool_]:
        x = values[node["split"]][some]
        is_left = node["threshold"] > x
        return np.where(np.isnan(x), node["nan_left"], is_left) if follows else is_left

    for tree in trees:
        walk(_node(tree, set(values)), rows, goes_left, one)
        total += one
    return total


def _node(record: Any, known: set[str]) -> dict[str, Any]:
    if "leaf" in record:
        fields(record, {"nodeid", "leaf"})
        return {"id": record["nodeid"], "value": single(number(record["leaf"]))}
    fields(record, SPLIT, {"missing"})
    if record["split"] not in known:
        raise ValueError(f"Unknown feature {record['split']!r}")
    children = [_node(child, known) for child in record["children"]]
    if [child["id"] for child in children] != [record["yes"], record["no"]]:
        raise ValueError("Split structure is invalid")
    if record["missing"] not in (record["yes"], record["no"]):
        raise ValueError("missing does not point to a child")
    return {
        "id": record["nodeid"],
        "split": record["split"],
        "threshold": single(number(record["split_condition"])),
        "nan_left": record["missing"] == record["yes"],
        "children": children,
    }
