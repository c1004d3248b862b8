"""XGBoost's JSON: the form in which the engine "xgboost" keeps its models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankforce.models.base import FORESTS
from rankforce.models.export.registry import FILE, Exported
from rankforce.models.export.rows import about_rows, check_no_map
from rankforce.models.export.zeros import without_zeros
from rankforce.models.forest.xgboost_json import model_text
from rankforce.models.model import Model

if TYPE_CHECKING:
    from rankforce.models.export.features import FeatureMap


def export(model: Model, features: FeatureMap | None) -> Exported:
    """The file, and how it is loaded."""
    check_no_map(features, "xgboost")
    trees = without_zeros(model, "xgboost")
    forest = model.scorer if model.scorer.kind in FORESTS else model.scorer.forest
    text = model_text(forest.head, trees)
    told = [
        f"load with: xgboost.Booster(model_file='{FILE}')",
        "XGBoost keeps leaves and sums in float32: scores differ in the seventh digit",
        *about_rows(model),
    ]
    if any(tree.is_categorical.any() for tree in trees):
        told.append("rows go into a DMatrix(..., feature_types=['c', 'float', ...])")
    return Exported(text.encode(), told)
