"""XGBoost: all that the toolkit knows of it beside the JSON of its models."""

from __future__ import annotations

from rankforce.engines.base import EngineKind
from rankforce.engines.xgboost.booster import adopt
from rankforce.engines.xgboost.engine import XGBoost, check
from rankforce.engines.xgboost.matrix import share
from rankforce.engines.xgboost.parameters import OWN, lacks
from rankforce.models.forest.xgboost_forest import XGBoostForest

KIND = EngineKind(
    "xgboost",
    XGBoost,
    OWN,
    adopt=adopt,
    share=share,
    lacks=lacks,
    forest=XGBoostForest,
    on_gpu=True,
    check=check,
)
