"""A forest as LightGBM's own booster, and what only that can say."""

from __future__ import annotations

from typing import Any

from rankforce.common.types import Floats
from rankforce.data.matrix import dense_blocks
from rankforce.engines.lightgbm.library import import_lightgbm


def make_booster(text: str) -> Any:
    """A plain LightGBM booster from a model's text."""
    return import_lightgbm().Booster(model_str=text)


def add_contributions(text: str, features: Any, trees: range, out: Floats, *, threads: int) -> None:
    """SHAP values of some trees into `out`: one column per feature, and the trees' average.

    They are LightGBM's (Lundberg et al. 2018, "Consistent individualized feature attribution for
    tree ensembles"), from the same trees.
    """
    booster = make_booster(text)
    # Of a sparse matrix LightGBM would return single precision.
    for first, block in dense_blocks(features):
        out[first : first + len(block)] = booster.predict(
            block,
            pred_contrib=True,
            start_iteration=trees.start,
            num_iteration=len(trees),
            num_threads=threads,
        )
