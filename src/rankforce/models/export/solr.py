"""Export to Solr: MultipleAdditiveTreesModel, or LinearModel, for its model store.

Sources: MultipleAdditiveTreesModel, LinearModel and StandardNormalizer of apache/solr. A row goes
left where its value is at most float32(threshold + 1e-6f); all is float32. Missing values have a
way of their own from Solr 9.2 on, where features have the default NaN.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.models.export.features import (
    FEATURE_SET,
    MODEL,
    FeatureMap,
    Said,
    check_definitions,
    say_features,
    send,
)
from rankforce.models.export.linear import is_linear, linear_terms, missing_notes
from rankforce.models.export.plain import (
    PlainTree,
    first_missing,
    plain_trees,
    used_features,
)
from rankforce.models.export.registry import Exported
from rankforce.models.model import Model

NAME = "solr"
SLACK = np.float32(1e-6)  # what Solr adds to thresholds
LEAST, MOST = 4e-6, 1e38  # where features are moved to by a power of 2, for the slack to be small
STORE = "http://localhost:8983/solr/COLLECTION/schema"


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The model for the model store; its features must be in the feature store."""
    if is_linear(model):
        return _linear(model, features)
    trees = plain_trees(model, NAME)
    columns = used_features(trees) or [0]
    said = _said(model, features, columns)
    has_missing = bool(first_missing(trees, model.feature_names))
    powers = _powers(trees, columns, model)
    names = {column: one.name for column, one in zip(columns, said, strict=True)}
    made = [{"weight": "1", "root": _root(tree, names, powers, has_missing)} for tree in trees]
    params: dict[str, Any] = {"trees": made}
    if has_missing:
        params = {"isNullSameAsZero": False} | params
    norms = {names[column]: (0.0, 2.0**-power) for column, power in powers.items() if power}
    told = _upload(features, said, nan=has_missing)
    if has_missing:
        told.append(
            "missing values go their own way: Solr 9.2 or later, and features with the parameter "
            '"defaultValue": "NaN"'
        )
    return Exported(_body("MultipleAdditiveTreesModel", features, said, norms, params), told)


def _linear(model: Model, features: FeatureMap | None) -> Exported:
    terms = linear_terms(model, NAME)
    said = _said(model, features, [term.column for term in terms])
    both = list(zip(said, terms, strict=True))
    norms = {one.name: (term.mean, term.spread) for one, term in both if term.is_scaled}
    params = {"weights": {one.name: float(_text(term.weight)) for one, term in both}}
    told = _upload(features, said, nan=False) + missing_notes(terms, model.feature_names)
    return Exported(_body("LinearModel", features, said, norms, params), told)


def _said(model: Model, features: FeatureMap | None, columns: Sequence[int]) -> list[Said]:
    said = say_features(features, [model.feature_names[column] for column in columns], NAME)
    check_definitions(said, NAME, "class", may=("params", "store"))
    return said


def _body(
    kind: str,
    features: FeatureMap | None,
    said: Sequence[Said],
    norms: Mapping[str, tuple[float, float]],
    params: dict[str, Any],
) -> bytes:
    listed = [{"name": one.name} | _norm(norms.get(one.name)) for one in said]
    whole = {
        "store": FEATURE_SET if features is None else features.feature_set,
        "name": MODEL if features is None else features.model,
        "class": f"org.apache.solr.ltr.model.{kind}",
        "features": listed,
        "params": params,
    }
    return (json.dumps(whole) + "\n").encode()


def _norm(given: tuple[float, float] | None) -> dict[str, Any]:
    if given is None:
        return {}
    params = {"avg": _text(given[0]), "std": _text(given[1])}
    return {"norm": {"class": "org.apache.solr.ltr.norm.StandardNormalizer", "params": params}}


def _upload(features: FeatureMap | None, said: Sequence[Said], *, nan: bool) -> list[str]:
    model = send(f"{STORE}/model-store")
    store = FEATURE_SET if features is None else features.feature_set
    if not any(one.definition for one in said):
        names = ", ".join(one.name for one in said)
        return [model, f"the feature store {store!r} must have: {names}"]
    made = [_feature(one, store, nan=nan) for one in said]
    text = json.dumps(made).replace("'", "\\u0027")
    return [send(f"{STORE}/feature-store", content=text), model]


def _feature(one: Said, store: str, *, nan: bool) -> dict[str, Any]:
    given = one.definition or {}
    whole = {"store": store, "name": one.name} | given
    if nan:
        whole["params"] = {"defaultValue": "NaN"} | given.get("params", {})
    return whole


def _root(
    tree: PlainTree, names: Mapping[int, str], powers: Mapping[int, int], has_missing: bool
) -> dict[str, Any]:
    nodes = len(tree.feature)
    made: list[dict[str, Any]] = [{} for _ in range(nodes)]
    leaves = [{"value": _text(value)} for value in tree.leaf_value.tolist()]
    power = np.array([powers[column] for column in tree.feature.tolist()], np.int32)
    thresholds = find_written(np.ldexp(tree.most, power))
    for node in range(nodes):
        column = int(tree.feature[node])
        left, right = (
            made[child] if child >= 0 else leaves[~child]
            for child in (tree.left[node], tree.right[node])
        )
        own = made[node]
        own["feature"] = names[column]
        own["threshold"] = _text(thresholds[node])
        if has_missing:
            own["missing"] = "left" if tree.nan_left[node] else "right"
        own |= {"left": left, "right": right}
    return made[0] if nodes else leaves[0]


def _powers(trees: Sequence[PlainTree], columns: Sequence[int], model: Model) -> dict[int, int]:
    """Powers of 2 that features are multiplied by, so that Solr's slack moves no threshold."""
    feature = np.concatenate([tree.feature for tree in trees])
    most = np.concatenate([tree.most for tree in trees])
    return {
        column: _power(np.unique(most[feature == column]), model.feature_names[column])
        for column in columns
    }


def _power(thresholds: NDArray[np.float32], feature: str) -> int:
    if _are_writable(thresholds):
        return 0
    # Near 0 the slack swallows thresholds, and elsewhere some at the ends of powers of 2.
    sizes = np.abs(thresholds[np.isfinite(thresholds) & (thresholds != 0)]).astype(np.float64)
    low, high = float(sizes.min()), float(sizes.max())
    first, last = math.ceil(math.log2(LEAST / low)), math.floor(math.log2(MOST / high))
    for power in range(max(first, 1), last + 1):
        if _are_writable(np.ldexp(thresholds, power)):
            return power
    raise RankforceError(
        f"to is {NAME!r}: thresholds of feature {feature!r} go from {low:g} to {high:g}, and Solr "
        f"moves each by {SLACK:g}, so that it cannot tell them all: 'elasticsearch' or 'vespa' can"
    )


def _are_writable(thresholds: NDArray[np.float32]) -> bool:
    return not bool(np.isnan(find_written(thresholds)).any())


def find_written(most: NDArray[np.float32]) -> NDArray[np.float32]:
    """The float32 that is each of `most` once Solr has added its slack; NaN if there is none.

    >>> bool(find_written(np.float32([0.5]))[0] + SLACK == np.float32(0.5))
    True
    """
    found = np.full(len(most), np.nan, np.float32)
    with np.errstate(over="ignore"):
        near = most - SLACK
        for end in (near, np.float32(-np.inf), np.float32(np.inf)):
            written = np.nextafter(near, end)
            found = np.where(np.isnan(found) & (written + SLACK == most), written, found)
    return found


def _text(value: float | np.float32) -> str:
    """A float32 in as many digits as tell it from others; Solr reads numbers from text."""
    return str(np.float32(value)).replace("inf", "Infinity")
