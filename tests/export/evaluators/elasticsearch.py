"""What Elasticsearch's own learning to rank makes of a trained model.

After Ensemble, Tree, TreeNode (strict parsers), TreeInferenceModel, EnsembleInferenceModel and
BoundedWindowInferenceModel: doubles, `lte`, what is not finite is missing, scores from 0 on.
"""

from __future__ import annotations

import base64
import gzip
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.export.evaluators.strict import Columns, fields, number, parse, walk

INNER = {"split_feature", "threshold", "left_child", "right_child"}
INNER_MAY = {"decision_type", "default_left", "number_samples"}


def score(content: bytes, columns: Columns) -> NDArray[np.float32]:
    """Scores of documents."""
    ensemble = definition(content)
    names = ensemble["feature_names"]
    extracted = extractors(content)
    if set(extracted) != set(names):
        raise ValueError("features and extractors differ")
    values = np.column_stack([columns[name].astype(np.float64) for name in names])
    values[~np.isfinite(values)] = np.nan
    rows = np.arange(len(values))
    total, one, least = np.zeros(len(rows)), np.empty(len(rows)), 0.0

    def goes_left(node: Any, some: NDArray[np.int64]) -> NDArray[np.bool_]:
        x = values[some, node["split_feature"]]
        return np.where(np.isnan(x), node.get("default_left", False), x <= node["threshold"])

    for tree in ensemble["trained_models"]:
        root, leaves = _tree(tree, names)
        walk(root, rows, goes_left, one)
        total += one
        least += min(leaves)
    return (total - min(least, 0.0)).astype(np.float32)


def definition(content: bytes) -> Any:
    """The ensemble of an upload, unpacked."""
    body = fields(parse(content), {"inference_config", "compressed_definition"})
    packed = gzip.decompress(base64.b64decode(body["compressed_definition"], validate=True))
    inner = fields(fields(parse(packed), {"trained_model"})["trained_model"], {"ensemble"})
    needs = {"feature_names", "trained_models", "aggregate_output", "target_type"}
    ensemble = fields(inner["ensemble"], needs)
    if ensemble["target_type"] != "regression" or not ensemble["trained_models"]:
        raise ValueError("learning to rank takes regression, of at least one tree")
    fields(fields(ensemble["aggregate_output"], {"weighted_sum"})["weighted_sum"], set())
    return ensemble


def extractors(content: bytes) -> dict[str, Any]:
    """The queries that make features, by feature."""
    config = fields(parse(content)["inference_config"], {"learning_to_rank"})["learning_to_rank"]
    found = {}
    for one in fields(config, {"feature_extractors"})["feature_extractors"]:
        own = fields(one, {"query_extractor"})["query_extractor"]
        fields(own, {"feature_name", "query"}, {"default_score"})
        found[own["feature_name"]] = own
    return found


def _tree(record: Any, names: list[str]) -> tuple[dict[str, Any], list[float]]:
    needs = {"feature_names", "tree_structure", "target_type"}
    tree = fields(fields(record, {"tree"})["tree"], needs)
    if tree["feature_names"] != names:
        raise ValueError("a tree has features of its own")
    nodes = tree["tree_structure"]
    seen: set[int] = set()
    made: list[dict[str, Any]] = [{} for _ in nodes]
    leaves = []
    for place, node in enumerate(nodes):
        if node["node_index"] != place:
            raise ValueError("node_index is not the place of the node")
        if "leaf_value" in node:
            fields(node, {"node_index", "leaf_value"})
            made[place]["value"] = number(node["leaf_value"])
            leaves.append(made[place]["value"])
            continue
        fields(node, {"node_index"} | INNER, INNER_MAY)
        if node["decision_type"] != "lte" or not 0 <= node["split_feature"] < len(names):
            raise ValueError(f"node {place} is damaged")
        both = (node["left_child"], node["right_child"])
        if seen & set(both) or not all(place < child < len(nodes) for child in both):
            raise ValueError("[tree] contains a cycle, or misses nodes")
        seen |= set(both)
        number(node["threshold"])
        made[place] |= node | {"children": [made[child] for child in both]}
    return made[0], leaves
