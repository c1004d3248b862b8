"""XGBoost's own rank:ndcg, matched tree by tree where its conventions can be made ours.

Its second derivatives are twice ours, so that its learning rate and least weight of a leaf are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf

xgb = pytest.importorskip("xgboost")

if int(xgb.__version__.partition(".")[0]) < 3:
    pytest.skip("XGBoost 2 always divides by differences of scores", allow_module_level=True)

DATA = rf.make_data("mslr", queries=30, seed=1)
START = np.random.default_rng(0).normal(size=DATA.rows)  # no ties, whose order differs
SHAPE = {"max_depth": 4, "max_bin": 64}


def our_scores(trees: int, **more: Any) -> Any:
    ranker = rf.Ranker(
        "lambdarank-ndcg",
        engine="xgboost",
        norm="none",
        learning_rate=0.05,
        min_child_weight=1e-3,
        n_estimators=trees,
        num_leaves=16,
        progress=False,
        **SHAPE | more,
    )
    ranker.fit(DATA.features, DATA.labels, group=DATA.group, init_score=START)
    return ranker.predict(DATA.features)


def their_scores(trees: int) -> Any:
    data = {"group": DATA.group, "base_margin": START}
    matrix = xgb.QuantileDMatrix(DATA.features, DATA.labels, max_bin=64, **data)
    settings = {
        "objective": "rank:ndcg",
        "lambdarank_pair_method": "topk",
        "lambdarank_num_pair_per_sample": int(DATA.group.max()),
        "lambdarank_normalization": False,
        "lambdarank_score_normalization": False,
        "reg_lambda": 0.0,
        "min_child_weight": 2e-3,
        "learning_rate": 0.1,
    }
    booster = xgb.train(settings | SHAPE, matrix, trees)
    return booster.predict(matrix, output_margin=True) - START


@pytest.mark.parametrize("trees", [1, 8])
def test_the_same_trees(trees: int) -> None:
    expected = their_scores(trees)
    assert np.unique(expected).size > 10
    assert our_scores(trees) == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("wrong", [{"sigma": 1.01}, {"tau": 10}, {"reg_lambda": 0.1}], ids=str)
def test_the_comparison_would_notice(wrong: dict[str, Any]) -> None:
    expected = their_scores(1)
    assert our_scores(1, **wrong) != pytest.approx(expected, abs=1e-5 * np.abs(expected).max())
