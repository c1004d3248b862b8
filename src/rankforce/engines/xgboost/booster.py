"""Models of XGBoost's own, as the trees of ours."""

from __future__ import annotations

import math
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.models.forest.xgboost_json import parse_model


def adopt(given: Any) -> str | None:
    """The JSON of a model of XGBoost's that predicts the sum of its trees; None for anything else.

    A model whose scores our trees cannot give, such as one that was told another number for missing
    values, is none of them.
    """
    if not any(kind.__module__.partition(".")[0] == "xgboost" for kind in type(given).__mro__):
        return None
    booster = given
    if hasattr(given, "get_booster"):
        if not hasattr(given, "_Booster") or given._Booster is None:
            raise RankforceError(
                f"base is a {type(given).__name__} that is not trained yet: call fit first"
            )
        missing = getattr(given, "missing", None)
        if missing is not None and not math.isnan(missing):
            return None
        booster = given.get_booster()
        best = getattr(booster, "best_iteration", None) if _stopped(given) else None
        booster = booster if best is None else booster[: best + 1]
    if not hasattr(booster, "save_raw"):
        return None
    text = bytes(booster.save_raw("json")).decode()
    try:
        parse_model(text)
    except RankforceError:
        return None
    return text


def _stopped(ranker: Any) -> bool:
    """Whether a ranker predicts with its best trees alone."""
    return getattr(ranker, "early_stopping_rounds", None) is not None
