"""A forest as LightGBM's own booster, and what only that can say."""

from __future__ import annotations

from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.sources import as_source
from rankforce.engines.lightgbm.library import import_lightgbm
from rankforce.models.forest.forest import Forest
from rankforce.models.forest.tree import Tree


def make_booster(text: str) -> Any:
    """A plain LightGBM booster from a model's text."""
    return import_lightgbm().Booster(model_str=text)


# Objectives whose predictions are sums of leaves and nothing else.
SUMS = ("lambdarank", "rank_xendcg", "regression", "huber", "fair", "quantile", "mape", "custom")


def adopt(given: Any) -> str | None:
    """The text of a model of LightGBM's that predicts the sum of its trees; a classifier does not.

    None for anything else.
    """
    if not any(kind.__module__.partition(".")[0] == "lightgbm" for kind in type(given).__mro__):
        return None
    booster = given if hasattr(given, "model_to_string") else getattr(given, "booster_", None)
    if booster is None:
        raise RankforceError(
            f"base is a {type(given).__name__} that is not trained yet: call fit first"
        )
    text: str = booster.model_to_string()
    head = text.partition("\nTree=")[0].splitlines()
    aim = next((line.partition("=")[2] for line in head if line.startswith("objective=")), "custom")
    is_sum = aim.startswith(SUMS) and " sqrt" not in aim and "average_output" not in head
    return text if is_sum else None


class _Kept(NamedTuple):
    """A booster for one caller at a time: predicting, LightGBM writes into its trees."""

    trees: tuple[Tree, ...]
    booster: Any
    lock: Lock


# As long as its forest is there, and as long as that has the same trees.
_KEPT: WeakKeyDictionary[Forest, _Kept] = WeakKeyDictionary()


def add_contributions(
    forest: Forest, features: Any, trees: range, out: Floats, *, threads: int
) -> None:
    """SHAP values of some trees into `out`: one column per feature, and the trees' average.

    They are LightGBM's (Lundberg et al. 2018, "Consistent individualized feature attribution for
    tree ensembles"), from the same trees.
    """
    kept = _keep_booster(forest, tuple(forest.trees[trees.start : trees.stop]))
    with kept.lock:
        # Of a sparse matrix LightGBM would return single precision.
        for first, block in as_source(features).blocks():
            out[first : first + len(block)] = kept.booster.predict(
                block, pred_contrib=True, num_threads=threads
            )


def _keep_booster(forest: Forest, trees: tuple[Tree, ...]) -> _Kept:
    """The booster of some trees of a forest: the one of the last time, if they are the same."""
    known = _KEPT.get(forest)
    if known is None or known.trees != trees:
        text = Forest(forest.head, list(trees)).text(len(trees), {}, {})
        known = _KEPT[forest] = _Kept(trees, make_booster(text), Lock())
    return known
