"""XGBoost's JSON of a model: read into trees, and written from them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.data.schema import kind_of, usual_names
from rankforce.models.forest.lightgbm_text import feature_names, make_head
from rankforce.models.forest.tree import Tree
from rankforce.models.forest.xgboost_tree import OURS, parse_tree, tree_text

VERSION = [2, 1, 0]  # of XGBoost, whose form of a model later versions read too
# Objectives whose predictions are sums of leaves and nothing else.
SUMS = ("rank:", "reg:squarederror", "reg:pseudohubererror", "reg:absoluteerror", "reg:quantile")


def model_text(head: str, trees: Sequence[Tree]) -> str:
    """The whole text of a model; `head` is what stands before the trees in LightGBM's form."""
    names = feature_names(head)
    several = []
    for number, tree in enumerate(trees):
        mark = json.dumps({"num_feature": str(len(names))})[1:-1]
        text = tree_text(tree).replace('"tree_param":{', '"tree_param":{' + mark + ",", 1)
        several.append(f'{{"id":{number},{text[1:]}')
    is_named = kind_of(names) == "name"
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(len(trees) + 1)),
        "tree_info": [0] * len(trees),
        "trees": [],
    }
    whole = {
        "learner": {
            "attributes": {OURS: head},
            "feature_names": [_plain(name) for name in names] if is_named else [],
            "feature_types": _types(trees, len(names)) if is_named else [],
            "gradient_booster": {"model": model, "name": "gbtree"},
            "learner_model_param": {
                "base_score": "0E0",
                "boost_from_average": "0",
                "num_class": "0",
                "num_feature": str(len(names)),
                "num_target": "1",
            },
            "objective": {"name": "reg:squarederror", "reg_loss_param": {"scale_pos_weight": "1"}},
        },
        "version": VERSION,
    }
    text = json.dumps(whole, separators=(",", ":"))
    return text.replace('"trees":[]', '"trees":[\n' + ",\n".join(several) + "]", 1) + "\n"


def _plain(name: str) -> str:
    """A name that XGBoost takes."""
    return name.translate(str.maketrans("[]<", "___"))


def _types(trees: Sequence[Tree], columns: int) -> list[str]:
    found = ["float"] * columns
    for tree in trees:
        for column in tree.feature[tree.is_categorical].tolist():
            found[column] = "c"
    return found


def parse_model(text: str) -> tuple[str, list[Tree]]:
    """The head, in LightGBM's form, and the trees of a model that is their sum."""
    try:
        learner = json.loads(text)["learner"]
        booster = learner["gradient_booster"]
        if booster["name"] != "gbtree":
            raise RankforceError(f"a model of XGBoost's {booster['name']!r} is no sum of trees")
        _check_sum(learner)
        head = learner.get("attributes", {}).get(OURS) or _their_head(learner)
        codes = _known_codes(booster["model"])
        trees = [parse_tree(one, codes) for one in booster["model"]["trees"]]
        base = float(np.float32(_base_score(learner)))
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise RankforceError(f"this is no model of XGBoost's in JSON: {error!r}") from None
    except (json.JSONDecodeError, RecursionError) as error:
        raise RankforceError(f"this is no JSON, or it is cut off: {error}") from None
    if base and trees:  # a constant that XGBoost adds to all scores
        trees[0] = trees[0].with_values(trees[0].leaf_value + base, trees[0].shrinkage)
    return head, trees


def _base_score(learner: Mapping[str, Any]) -> float:
    given = str(learner["learner_model_param"]["base_score"])
    return float(given.strip("[]"))


def _check_sum(learner: Mapping[str, Any]) -> None:
    aim, shape = learner["objective"]["name"], learner["learner_model_param"]
    if not aim.startswith(SUMS):
        raise RankforceError(f"a model of XGBoost's for {aim!r} gives no scores: expected a ranker")
    if int(shape.get("num_class", "0")) > 1 or int(shape.get("num_target", "1")) > 1:
        raise RankforceError("a model with several classes or targets does not rank")


def _their_head(learner: Mapping[str, Any]) -> str:
    """The head of a model that XGBoost wrote; what its features were like is not known."""
    columns = int(learner["learner_model_param"]["num_feature"])
    names = learner.get("feature_names") or usual_names(columns)
    return make_head(names, ["none"] * columns, {})


def _known_codes(model: Mapping[str, Any]) -> dict[int, int]:
    """How many categories each feature has, where the model keeps their values."""
    cats = model.get("cats") or {}
    bounds = cats.get("feature_segments") or []
    counts = np.diff(np.array(bounds, np.int64)).tolist()
    return {column: many for column, many in enumerate(counts) if many}
