"""A forest as LightGBM's own booster, and what only that can say."""

from __future__ import annotations

from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.sources import as_source
from rankforce.engines.lightgbm.library import import_lightgbm


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


def add_contributions(text: str, features: Any, trees: range, out: Floats, *, threads: int) -> None:
    """SHAP values of some trees into `out`: one column per feature, and the trees' average.

    They are LightGBM's (Lundberg et al. 2018, "Consistent individualized feature attribution for
    tree ensembles"), from the same trees.
    """
    booster = make_booster(text)
    # Of a sparse matrix LightGBM would return single precision.
    for first, block in as_source(features).blocks():
        out[first : first + len(block)] = booster.predict(
            block,
            pred_contrib=True,
            start_iteration=trees.start,
            num_iteration=len(trees),
            num_threads=threads,
        )
