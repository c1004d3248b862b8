"""The learning-to-rank plugin of Elasticsearch, and of OpenSearch: their models, and features.

Sources: XGBoostJsonParser, NaiveAdditiveDecisionTree, LinearRankerParser, StoredLtrModel and
RestFeatureManager of o19s/elasticsearch-learning-to-rank and of
opensearch-project/opensearch-learning-to-rank-base. A row goes left where its value is below the
threshold; values, leaves and sums are float32; a field that the parser does not know is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import numpy as np

from rankforce.models.export.features import (
    FEATURE_SET,
    MODEL,
    FeatureMap,
    Said,
    check_definitions,
    note_negative,
    say_features,
    send,
)
from rankforce.models.export.linear import Term, is_linear, linear_terms, missing_notes
from rankforce.models.export.plain import (
    PlainTree,
    constant_tree,
    find_shift,
    first_missing,
    least_score,
    plain_trees,
    used_features,
)
from rankforce.models.export.registry import Exported
from rankforce.models.model import Model

TREES, LINEAR = "model/xgboost+json", "model/linear"


def export_plugin(
    model: Model, features: FeatureMap | None, to: str, *, zeros_note: str, nan_note: str
) -> Exported:
    """The body that uploads a model.

    Notes say which versions go wrong on missing values: those of models that take such for 0, and
    of others.
    """
    if is_linear(model):
        return _linear(model, features, to)
    trees = plain_trees(model, to)
    columns = used_features(trees) or [0]
    said = _said(model, features, columns, to)
    by_column = {column: one.name for column, one in zip(columns, said, strict=True)}
    shift = find_shift(least_score(trees))
    lifted = [*trees, constant_tree(shift)] if shift else trees
    definition = [tree_record(tree, by_column) for tree in lifted]
    told = _upload(features, said) + note_negative(model, columns)
    if shift:
        told.append(f"scores are {shift:g} higher, so that none is negative: ranks are the same")
    odd = first_missing(trees, model.feature_names)
    told += [f"{odd}: {nan_note}"] if odd else [zeros_note] * bool(zeros_note)
    return Exported(_body(features, said, {"type": TREES, "definition": _json(definition)}), told)


def _linear(model: Model, features: FeatureMap | None, to: str) -> Exported:
    terms = linear_terms(model, to)
    said = _said(model, features, [term.column for term in terms], to)
    weights = {one.name: _short(term.weight) for one, term in zip(said, terms, strict=True)}
    inner: dict[str, Any] = {"type": LINEAR, "definition": _json(weights)}
    norms = {
        one.name: {"standard": _standard(term)}
        for one, term in zip(said, terms, strict=True)
        if term.is_scaled
    }
    if norms:
        inner["feature_normalizers"] = norms
    told = _upload(features, said) + note_negative(model, [term.column for term in terms])
    told += missing_notes(terms, model.feature_names)
    told.append("scores may be negative, which a rescore takes, and a query does not")
    return Exported(_body(features, said, inner), told)


def _standard(term: Term) -> dict[str, float]:
    return {"mean": _short(term.mean), "standard_deviation": _short(term.spread)}


def _said(model: Model, features: FeatureMap | None, columns: Sequence[int], to: str) -> list[Said]:
    said = say_features(features, [model.feature_names[column] for column in columns], to)
    check_definitions(said, to, "template", may=("params", "template_language"))
    return said


def tree_record(tree: PlainTree, names: Mapping[int, str]) -> dict[str, Any]:
    """A tree as XGBoost dumps it, with those fields alone that the strict parser knows."""
    nodes = len(tree.feature)
    made: list[dict[str, Any]] = [{} for _ in range(nodes)]
    made += [
        {"nodeid": nodes + leaf, "leaf": _short(value)}
        for leaf, value in enumerate(tree.leaf_value.tolist())
    ]
    depth, below = [0] * len(made), tree.below.tolist()
    for node in range(nodes):
        yes, no = (
            int(child) if child >= 0 else nodes + ~int(child)
            for child in (tree.left[node], tree.right[node])
        )
        depth[yes] = depth[no] = depth[node] + 1
        made[node] |= {
            "nodeid": node,
            "depth": depth[node],
            "split": names[int(tree.feature[node])],
            "split_condition": below[node],
            "yes": yes,
            "no": no,
            "missing": yes if tree.nan_left[node] else no,
            "children": [made[yes], made[no]],
        }
    return made[0]


def _body(features: FeatureMap | None, said: Sequence[Said], inner: dict[str, Any]) -> bytes:
    name, feature_set = _names(features)
    whole: dict[str, Any] = {"name": name}
    if _has_definitions(said):
        made = [{"name": one.name} | (one.definition or {}) for one in said]
        whole["feature_set"] = {"name": feature_set, "features": made}
    return (json.dumps({"model": whole | {"model": inner}}) + "\n").encode()


def _upload(features: FeatureMap | None, said: Sequence[Said]) -> list[str]:
    """The line that sends the file, with its features or to those that are there."""
    name, feature_set = _names(features)
    if _has_definitions(said):
        return [send(f"http://localhost:9200/_ltr/_model/{quote(name, safe='')}")]
    home = f"http://localhost:9200/_ltr/_featureset/{quote(feature_set, safe='')}"
    return [
        send(f"{home}/_createmodel", "POST"),
        f"the feature set {feature_set!r} must be there and have: "
        + ", ".join(one.name for one in said),
    ]


def _names(features: FeatureMap | None) -> tuple[str, str]:
    return (MODEL, FEATURE_SET) if features is None else (features.model, features.feature_set)


def _has_definitions(said: Sequence[Said]) -> bool:
    return any(one.definition is not None for one in said)


def _short(value: float) -> float:
    """A number in as many digits as a float32 has."""
    return float(str(np.float32(value)))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
