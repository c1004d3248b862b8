"""What tests of several engines have in common; it needs none of their libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf
from rankforce.common.team import ALONE, Team
from rankforce.engines.base import open_engine
from rankforce.models.forest.tree import stack
from rankforce.models.forest.walk import route
from tests.reference import growing

LEVELS = 64
USUAL: dict[str, Any] = {
    "num_leaves": 8,
    "max_depth": -1,
    "min_child_samples": 3,
    "min_child_weight": 1e-3,
    "min_split_gain": 0.0,
    "reg_alpha": 0.0,
    "reg_lambda": 0.0,
    "colsample_bytree": 1.0,
    "quantised": None,
    "quantised_levels": LEVELS,
    "in_bag": 1.0,
}


def open_own(
    features: Any,
    *,
    threads: int = 1,
    seed: int = 0,
    categorical: Any = (),
    team: Team = ALONE,
    **more: Any,
) -> Any:
    return open_engine(
        "histogram",
        features,
        feature_names=[str(column) for column in range(features.shape[1])],
        categorical=list(categorical),
        parameters=USUAL | more,
        seed=seed,
        threads=threads,
        team=team,
    )


def make_case(seed: int, rows: int = 60, columns: int = 5, missing: float = 0.0) -> Any:
    """Features with few values, and forces that are whole numbers of steps."""
    rng = np.random.default_rng(seed)
    features = rng.integers(0, 6, (rows, columns)).astype(np.float32)
    features[rng.random(features.shape) < missing] = np.nan
    signal = np.nan_to_num(features[:, 0]) * 4 - features[:, -1] ** 2
    lam = np.clip(np.nan_to_num(signal).round() + rng.integers(-9, 10, rows), -31, 31)
    hess = rng.integers(0, LEVELS, rows).astype(np.float64)
    lam[0], hess[0] = LEVELS // 2, LEVELS  # so that a step is 1
    return features, lam.astype(np.float64), hess, rng.integers(2**63, size=rows).astype(np.uint64)


CODED = (1, 3)  # columns of categories


def make_coded_case(seed: int, rows: int = 90) -> Any:
    """The same with two columns of categories, one of few codes, one of many."""
    features, lam, hess, keys = make_case(seed, rows, missing=0.1)
    rng = np.random.default_rng(seed + 100)
    features[:, 1] = rng.choice([0, 2, 7], rows)
    features[:, 3] = rng.integers(0, 14, rows) * 3
    worth = np.sin(features[:, 3]) * 14 + (features[:, 1] == 2) * 8
    lam[1:] = np.clip(lam[1:] + worth[1:].round(), -31, 31)
    features[rng.random(rows) < 0.1, 3] = np.nan
    features[rng.random(rows) < 0.05, 1] = -1.0
    return features, lam, hess, keys


# Of sets of categories, and what the slow way calls them.
SETS: list[dict[str, Any]] = [
    {"cat_smooth": 1.0, "cat_l2": 0.0, "min_data_per_group": 1},
    {"cat_smooth": 4.0, "cat_l2": 3.0, "min_data_per_group": 8, "reg_lambda": 2.0},
    {"cat_smooth": 0.0, "max_cat_threshold": 2, "min_data_per_group": 3},
    {"max_cat_to_onehot": 20, "reg_lambda": 1.0},
    {"cat_smooth": 2.0, "max_cat_to_onehot": 1, "min_data_per_group": 2, "min_child_weight": 150.0},
]
RULES = [
    {},
    {"reg_lambda": 3.0, "reg_alpha": 2.0},
    {"min_child_weight": 200.0},
    {"min_split_gain": 5.0},
    {"max_depth": 2},
    {"num_leaves": 2, "min_child_samples": 10},
]


def check_slow_way(
    grown: Any,
    features: Any,
    lam: Any,
    hess: Any,
    bag: Any,
    rules: dict[str, Any],
    coded: Any = (),
) -> None:
    """Splits, rows of leaves and counts of a tree whose steps are 1."""
    asked = USUAL | rules
    known = features.copy()
    known[:, coded] = np.where(features[:, coded] < 0, np.nan, features[:, coded])
    rows = [[None if np.isnan(x) else float(x) for x in row] for row in known]
    splits, groups = growing.grow(
        rows,
        lam.astype(int).tolist(),
        hess.astype(int).tolist(),
        bag.tolist(),
        leaves=asked["num_leaves"],
        depth=None if asked["max_depth"] < 0 else asked["max_depth"],
        min_rows=asked["min_child_samples"],
        min_weight=asked["min_child_weight"],
        min_gain=asked["min_split_gain"],
        l1=asked["reg_alpha"],
        l2=asked["reg_lambda"],
        coded=coded,
        alone=asked.get("max_cat_to_onehot", 4),
        codes_l2=asked.get("cat_l2", 10.0),
        smooth=asked.get("cat_smooth", 10.0),
        most=asked.get("max_cat_threshold", 32),
        together=asked.get("min_data_per_group", 100),
    )
    tree, leaf = grown
    ends = [
        codes_of(tree, int(end)) if is_set else end
        for end, is_set in zip(tree.threshold.tolist(), tree.is_categorical, strict=True)
    ]
    found = list(zip(tree.feature.tolist(), ends, strict=True))
    assert found == [split[:2] for split in splits]
    assert [sorted(group) for group in groups] == [
        [row for row in bag.tolist() if leaf[row] == number] for number in range(len(groups))
    ]
    assert leaf.tolist() == route(tree, stack([tree]), features, threads=1).tolist()
    assert tree.details["leaf_count"].tolist() == [len(group) for group in groups]


def codes_of(tree: Any, number: int) -> frozenset[int]:
    """A set of codes of a tree."""
    words = tree.words[tree.sets[number] : tree.sets[number + 1]].tolist()
    return frozenset(
        32 * at + bit for at, word in enumerate(words) for bit in range(32) if word >> bit & 1
    )


def with_holes(data: rf.RankingData, seed: int = 0) -> rf.RankingData:
    values = data.features.copy()
    values[np.random.default_rng(seed).random(values.shape) < 0.2] = np.nan
    return rf.RankingData(values, data.labels, group=data.group)


def make_categories(seed: int, codes: int = 40, queries: int = 60) -> rf.RankingData:
    rng = np.random.default_rng(seed)
    rows = queries * 20
    code = rng.integers(codes, size=rows).astype(np.float32)
    few = rng.integers(3, size=rows).astype(np.float32)
    worth = np.sin(np.arange(codes) * 7.0)
    label = (worth[code.astype(int)] + few + rng.normal(0, 0.3, rows) > 1.2).astype(int)
    code[rng.random(rows) < 0.1] = np.nan
    label[np.isnan(code)] = rng.random(np.isnan(code).sum()) < 0.5
    code[rng.random(rows) < 0.02] = -1.0
    values = np.stack([rng.normal(size=rows), code, few], axis=1).astype(np.float32)
    return rf.RankingData(values, label, group=[20] * queries, categorical=[1, 2])
