"""Parameters of LightGBM and XGBoost that are not there say why, and what comes nearest."""

from __future__ import annotations

from typing import Any

import pytest

from rankforce.training.settings import make_settings

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"boosting": "dart"}, "dart changes trees that are grown already"),
    ({"boosting_type": "dart"}, "dart changes trees that are grown already"),
    ({"booster": "dart"}, "dart changes trees that are grown already"),
    ({"boosting_type": "rf"}, "a forest does not boost"),
    ({"boosting_type": "goss"}, "subsample_by='query' keeps whole queries"),
    ({"data_sample_strategy": "goss"}, "subsample_by='query' keeps whole queries"),
    ({"sampling_method": "gradient_based"}, "subsample_by='query' keeps whole queries"),
    ({"lambdarank_pair_method": "mean"}, "pairs are not drawn at random"),
    ({"lambdarank_unbiased": True}, "lambdarank_unbiased can be False"),
    ({"lambdarank_normalization": False}, "norm='none' divides neither by the sum"),
    ({"grow_policy": "depthwise"}, "max_depth= bounds the depth"),
    ({"tree_method": "exact"}, "max_bin= says how many"),
    ({"device": "cuda", "engine": "lightgbm"}, "engine 'lightgbm' grows trees on the CPU"),
    ({"device": "cuda", "path_smooth": 1.0}, "path_smooth is a parameter of engine 'lightgbm'"),
    ({"feature_weights": [1, 2]}, "feature_contri scales the gain"),
    ({"num_parallel_tree": 4}, "num_parallel_tree can be 1"),
    ({"base_score": 0.7}, "base_score can be 0"),
    ({"linear_tree": True}, "linear_tree can be False"),
    ({"top_rate": 0.2}, "subsample_by='query' keeps whole queries"),
    ({"missing": "none"}, "missing is 'none'"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED, ids=[str(given) for given, _ in REFUSED])
def test_what_is_not_there_says_why(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make_settings(given)
    assert "\n" not in str(caught.value)


SAME: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"lambdarank_normalization": True, "lambdarank_score_normalization": True}, {}),
    ({"enable_categorical": True}, {}),
    ({"random_state": None, "n_jobs": None, "max_bin": None}, {}),
    ({"min_split_loss": 0.5}, {"min_split_gain": 0.5}),
    ({"importance_type": "gain"}, {"importance_type": "gain"}),
]


@pytest.mark.parametrize(("theirs", "ours"), SAME, ids=str)
def test_same_settings(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    assert make_settings(theirs) == make_settings(ours)
