"""Splits by sets of categories: those of LightGBM, of the same forces."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

from tests.engines.cases import codes_of, open_own

ROWS, CODED = 800, (0, 2)


def make(seed: int, more: dict[str, int]) -> tuple[Any, Any, Any, dict[str, Any]]:
    """Whole forces and hessians whose steps are 1, and rules."""
    rng = np.random.default_rng(seed)
    codes, few = rng.integers(0, 25, ROWS), rng.integers(0, 7, ROWS)
    values = rng.normal(size=ROWS).round(1)
    features = np.column_stack([codes, values, few]).astype(np.float32)
    signal = np.sin(codes * 3) * 20 + values * 4 + np.cos(few) * 9 + rng.normal(0, 6, ROWS)
    lam, hess = np.clip(signal.round(), -31, 31), rng.integers(1, 64, ROWS).astype(float)
    lam[0], hess[0] = 32, 64
    rules = {
        "cat_smooth": int(rng.integers(1, 30)),
        "cat_l2": int(rng.integers(0, 20)),
        "min_data_per_group": int(rng.integers(1, 60)),
        "max_cat_threshold": int(rng.integers(2, 33)),
        "reg_lambda": int(rng.integers(0, 5)),
        "min_child_samples": int(rng.integers(1, 40)),
        "max_bin": 255,
    }
    return features, lam, hess, rules | more


def their_splits(features: Any, lam: Any, hess: Any, rules: dict[str, Any]) -> Any:
    """Features in the order of nodes, and the sets of those that have one."""
    bins = {"max_bin": 255, "min_data_in_bin": 1, "feature_pre_filter": False, "verbose": -1}
    data = lgb.Dataset(features, np.zeros(ROWS), categorical_feature=[*CODED], params=bins)
    usual = {"objective": "none", "num_leaves": 8, "min_sum_hessian_in_leaf": 1e-3, "verbose": -1}
    booster = lgb.Booster(usual | rules, data)
    booster.update(fobj=lambda *_: (-lam, hess))
    nodes = booster.trees_to_dataframe()
    sets = nodes[nodes.decision_type == "=="].threshold
    line = next(x for x in booster.model_to_string().splitlines() if x.startswith("split_feature="))
    features = list(map(int, line.partition("=")[2].split()))
    return features, sorted(sorted(map(int, one.split("||"))) for one in sets)


@pytest.mark.parametrize("more", [{}, {"max_cat_to_onehot": 7}, {"max_cat_to_onehot": 8}], ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_sets_of_codes_are_lightgbms(seed: int, more: dict[str, int]) -> None:
    features, lam, hess, rules = make(seed, more)
    keys = np.arange(ROWS).astype(np.uint64)
    own = open_own(features, categorical=CODED, **rules)
    tree = own.grow(lam, hess, 0, keys, None).tree
    sets = tree.threshold[tree.is_categorical].astype(int).tolist()
    assert (tree.feature.tolist(), sorted(sorted(codes_of(tree, one)) for one in sets)) == (
        their_splits(features, lam, hess, rules)
    )
