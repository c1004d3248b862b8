"""Export to Vespa, as the JSON that its importer of LightGBM's models reads.

Source: LightGBMParser of vespa-engine/vespa. Where LightGBM means `x <= threshold`, Vespa reads
`x < threshold`, or `!(x >= threshold)` where a missing value (NaN) goes left. Categories are texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.models.export.features import FeatureMap, say_features
from rankforce.models.export.plain import PlainTree, plain_trees, used_features
from rankforce.models.export.registry import FILE, FILE_NAME, Exported
from rankforce.models.model import Model

NAME = "vespa"


def export(model: Model, features: FeatureMap | None) -> Exported:
    """LightGBM's JSON with the fields that Vespa reads; features are its rank features."""
    trees = plain_trees(model, NAME, has_texts=True)
    columns = used_features(trees)
    said = say_features(features, [model.feature_names[column] for column in columns], NAME)
    for one in said:
        if one.definition is not None:
            raise RankforceError(
                f"features: {one.name!r} has a definition: to={NAME!r} takes names, those of rank "
                "features or of functions of the rank profile, as 'bm25(title)'"
            )
    place = {column: number for number, column in enumerate(columns)}
    content = {
        "name": "tree",
        "version": "v4",
        "num_class": 1,
        "objective": "lambdarank",
        "feature_names": [one.name for one in said],
        "tree_info": [
            {"tree_index": number, "tree_structure": _nested(tree, place)}
            for number, tree in enumerate(trees)
        ],
        "pandas_categorical": [model.categories[column] for column in with_sets(trees)],
    }
    return Exported((json.dumps(content) + "\n").encode(), _told([one.name for one in said]))


def with_sets(trees: Sequence[PlainTree]) -> list[int]:
    """The columns that some node asks for categories: Vespa expects values of those, in order."""
    return sorted({int(tree.feature[node]) for tree in trees for node in tree.codes})


def _told(names: list[str]) -> list[str]:
    functions = [name for name in names if name.isidentifier()]
    told = [
        f"put {FILE} into the folder models/ of the application package, and its name into a rank "
        f"profile: second-phase {{ expression: lightgbm('{FILE_NAME}') }}; then: vespa deploy"
    ]
    if functions:
        shown = ", ".join(functions[:5]) + (", ..." if len(functions) > 5 else "")
        told.append(f"the rank profile must have functions of these names: {shown}")
    return told


def _nested(tree: PlainTree, place: Mapping[int, int]) -> dict[str, Any]:
    nodes, below = len(tree.feature), tree.below.tolist()
    made: list[dict[str, Any]] = [{} for _ in range(nodes)]
    leaves = [
        {"leaf_index": leaf, "leaf_value": value}
        for leaf, value in enumerate(tree.leaf_value.tolist())
    ]
    for node in range(nodes):
        left, right = (
            made[child] if child >= 0 else leaves[~child]
            for child in (tree.left[node], tree.right[node])
        )
        codes = tree.codes.get(node)
        made[node] |= {
            "split_index": node,
            "split_feature": place[int(tree.feature[node])],
            "threshold": below[node] if codes is None else "||".join(map(str, codes)),
            "decision_type": "<=" if codes is None else "==",
            "default_left": bool(tree.nan_left[node]),
            "missing_type": "NaN",
            "left_child": left,
            "right_child": right,
        }
    return made[0] if nodes else leaves[0]
