"""Export to Elasticsearch's own learning to rank: the body of a PUT to _ml/trained_models.

Sources: Tree, TreeNode, TreeInferenceModel and BoundedWindowInferenceModel of Elasticsearch, and
eland's _model_serializer and ltr. A row goes left where its value, a double, is at most the
threshold; what is not finite counts as missing. Elasticsearch lifts negative scores by itself.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from rankforce.common.errors import RankforceError
from rankforce.models.export.features import (
    MODEL,
    FeatureMap,
    Said,
    check_definitions,
    note_negative,
    say_features,
    send,
)
from rankforce.models.export.plain import PlainTree, plain_trees, used_features
from rankforce.models.export.registry import Exported
from rankforce.models.model import Model

NAME = "elasticsearch"


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The body that uploads the model, trees packed, with the queries that make its features."""
    trees = plain_trees(model, NAME)
    columns = used_features(trees) or [0]
    said = _said(model, features, columns)
    names = [one.name for one in said]
    place = {column: number for number, column in enumerate(columns)}
    ensemble = {
        "target_type": "regression",
        "feature_names": names,
        "trained_models": [_tree(tree, place, names) for tree in trees],
        "aggregate_output": {"weighted_sum": {}},
    }
    config = {"feature_extractors": [_extractor(one) for one in said]}
    body = {
        "inference_config": {"learning_to_rank": config},
        "compressed_definition": _packed({"trained_model": {"ensemble": ensemble}}),
    }
    name = MODEL if features is None else features.model
    told = [*_told(name), *note_negative(model, columns)]
    return Exported((json.dumps(body) + "\n").encode(), told)


def _told(name: str) -> list[str]:
    return [
        send(f"http://localhost:9200/_ml/trained_models/{quote(name, safe='')}"),
        "a document that the query of a feature does not match has no value there, unless the map "
        "gives a default_score: it goes where missing values go",
    ]


def _said(model: Model, features: FeatureMap | None, columns: Sequence[int]) -> list[Said]:
    said = say_features(features, [model.feature_names[column] for column in columns], NAME)
    if not check_definitions(said, NAME, "query", may=("default_score",)):
        raise RankforceError(
            f"to is {NAME!r}, which needs the query that makes each feature: give features "
            f"(--features map.json) as {{{model.feature_names[columns[0]]!r}: "
            "{'query': {...}}, ...}"
        )
    return said


def _extractor(one: Said) -> dict[str, Any]:
    return {"query_extractor": {"feature_name": one.name} | (one.definition or {})}


def _tree(tree: PlainTree, place: Mapping[int, int], names: Sequence[str]) -> dict[str, Any]:
    nodes = len(tree.feature)
    made: list[dict[str, Any]] = []
    for node in range(nodes):
        left, right = (
            int(child) if child >= 0 else nodes + ~int(child)
            for child in (tree.left[node], tree.right[node])
        )
        made.append(
            {
                "node_index": node,
                "split_feature": place[int(tree.feature[node])],
                "decision_type": "lte",
                "threshold": float(tree.threshold[node]),
                "default_left": bool(tree.nan_left[node]),
                "left_child": left,
                "right_child": right,
            }
        )
    made += [
        {"node_index": nodes + leaf, "leaf_value": value}
        for leaf, value in enumerate(tree.leaf_value.tolist())
    ]
    own = {"target_type": "regression", "feature_names": list(names), "tree_structure": made}
    return {"tree": own}


def _packed(definition: dict[str, Any]) -> str:
    """JSON in gzip in base64; the same model is the same text, so no time is in it."""
    plain = json.dumps(definition, separators=(",", ":")).encode()
    return base64.b64encode(gzip.compress(plain, mtime=0)).decode("ascii")
