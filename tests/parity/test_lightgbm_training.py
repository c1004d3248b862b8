"""Whole trees beside LightGBM's own lambdarank, from scores that do not tie."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf

lgb = pytest.importorskip("lightgbm")

LEAVES, RATE, TREES = 8, 0.1, 5
# As LightGBM does by itself.
BINS = {"max_bin": 255, "bin_construct_sample_cnt": 200_000}


@pytest.fixture(scope="module")
def data() -> rf.RankingData:
    return rf.make_data("mslr", queries=30, seed=3)


@pytest.fixture(scope="module")
def start(data: rf.RankingData) -> np.ndarray:
    return np.random.default_rng(0).normal(size=data.rows)


def fit_theirs(data: rf.RankingData, start: np.ndarray, tau: int, trees: int):
    params = {"objective": "lambdarank", "lambdarank_truncation_level": tau, "verbose": -1}
    params |= {"num_leaves": LEAVES, "learning_rate": RATE, "num_threads": 1, **BINS}
    dataset = lgb.Dataset(data.features, data.labels, group=data.group, init_score=start)
    return lgb.train(params, dataset, num_boost_round=trees)


@pytest.mark.parametrize("tau", [5, 30])
def test_the_same_trees(data, start, tau):
    theirs = fit_theirs(data, start, tau, TREES)
    ours = rf.Ranker(
        "lambdarank-ndcg",
        tau=tau,
        n_estimators=TREES,
        num_leaves=LEAVES,
        learning_rate=RATE,
        quantised=False,
        threads=1,
        progress=False,
        **BINS,
    ).fit(data, init_score=start)
    expected = theirs.predict(data.features)
    got = ours.predict(data)
    # LightGBM looks its sigmoid up in a table: the last digits of forces differ.
    close = np.isclose(got, expected, rtol=1e-3, atol=1e-4 * np.abs(expected).max())
    assert close.mean() > 0.98
    used = [tree.feature.tolist() for tree in ours.model_.trees]
    frame = theirs.trees_to_dataframe()
    names = theirs.feature_name()
    first = frame[(frame.tree_index == 0) & frame.split_feature.notna()]
    assert sorted(used[0]) == sorted(names.index(name) for name in first.split_feature)


@pytest.mark.parametrize("quantised", [True, False])
def test_quality_is_that_of_lightgbm(data, quantised):
    """Not the same trees, but rankers of the same kind: far better than chance, alike."""
    test = rf.make_data("mslr", queries=60, seed=4)
    params = {"n_estimators": 40, "num_leaves": LEAVES, "learning_rate": RATE}
    ours = rf.Ranker("lambdarank-ndcg", tau=30, quantised=quantised, progress=False, **params)
    theirs = lgb.LGBMRanker(verbose=-1, n_jobs=1, **params)
    metric = rf.metric("ndcg@10")
    values = {}
    for name, ranker in (("ours", ours), ("theirs", theirs)):
        ranker.fit(data.features, data.labels, group=data.group)
        values[name] = metric(ranker.predict(test.features), test.labels, group=test.group).mean()
    chance = metric.prepare(test.labels, group=test.group).random().mean()
    assert values["ours"] - chance > 0.7 * (values["theirs"] - chance)
    assert values["theirs"] - chance > 0.05
