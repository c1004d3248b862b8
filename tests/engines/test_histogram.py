"""Our own trees: as the slow way grows them, at any number of threads, on bags and some columns."""

from __future__ import annotations

from typing import Any

import lightgbm as lgb
import numpy as np
import pytest

import rankforce as rf
from rankforce.data.binned import make_bins
from rankforce.data.edges import find_edges
from rankforce.engines.histogram import growth
from tests.engines.cases import RULES, check_slow_way, make_case, open_own

BAGS = {
    "subsample": 0.7,
    "subsample_by": "query",
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
}


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_trees_are_those_of_the_slow_way(seed: int, rules: dict[str, Any], missing: float) -> None:
    features, lam, hess, keys = make_case(seed, missing=missing)
    bag = np.sort(np.random.default_rng(seed).choice(60, 45, replace=False)).astype(np.int32)
    bag = np.union1d(bag, [0]).astype(np.int32)
    grown = open_own(features, **rules).grow(lam, hess, 0, keys, bag)
    check_slow_way(grown, features, lam, hess, bag, rules)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.slow
def test_the_tree_is_the_same_at_any_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rf.make_data("mslr", queries=60)
    rng = np.random.default_rng(0)
    lam, hess = rng.normal(size=data.rows) + data.labels, rng.exponential(size=data.rows)
    keys = rng.integers(2**63, size=data.rows).astype(np.uint64)
    bag = np.flatnonzero(rng.random(data.rows) < 0.7).astype(np.int32)
    alone = open_own(data.features, colsample_bytree=0.6).grow(lam, hess, 3, keys, bag)
    monkeypatch.setattr(growth, "SMALL", 0)
    monkeypatch.setattr(growth, "PARTED", 10)
    among = open_own(data.features, colsample_bytree=0.6, threads=threads)
    tree, leaf = among.grow(lam, hess, 3, keys, bag)
    for name in ("feature", "threshold", "left", "right", "leaf_value"):
        assert (getattr(tree, name) == getattr(alone.tree, name)).all()
    assert (leaf == alone.leaf).all()


def test_many_rows_in_one_bin_do_not_overflow() -> None:
    rows = 5000
    features = np.repeat([[0.0], [1.0]], rows, axis=0).astype(np.float32)
    lam = np.repeat([32.0, -32.0], rows)
    hess = np.full(2 * rows, 64.0)
    keys = np.arange(2 * rows).astype(np.uint64)
    tree, _ = open_own(features).grow(lam, hess, 0, keys, None)
    assert tree.leaf_value.tolist() == [0.5, -0.5]
    assert tree.details["leaf_weight"].tolist() == [64.0 * rows] * 2


def test_columns_are_drawn_by_seed_and_tree() -> None:
    features, lam, hess, keys = make_case(0, rows=400, columns=12)

    def used(seed: int, iteration: int) -> list[int]:
        own = open_own(features, seed=seed, colsample_bytree=0.25, num_leaves=31)
        return sorted({*own.grow(lam, hess, iteration, keys, None).tree.feature.tolist()})

    assert used(0, 1) == used(0, 1)
    assert len({tuple(used(seed, tree)) for seed in range(3) for tree in range(3)}) > 5
    assert all(len(used(0, tree)) <= 3 for tree in range(9))


def test_models_are_lightgbms() -> None:
    data = rf.make_data("yahoo", queries=40)
    features = data.features.copy()
    features[::7, 3] = np.nan
    data = rf.RankingData(features, data.labels, group=data.group)
    ranker = rf.Ranker(n_estimators=10, engine="histogram", progress=False, **BAGS).fit(data)
    other = features.copy()
    other[::5, 0] = np.nan  # where none was missing before
    other[::3, 2] = 1e9
    theirs = lgb.Booster(model_str=ranker.model_.scorer.text(10, {}, {})).predict(other)
    assert (ranker.predict(other) == theirs).all()


def test_sampled_trees_are_ours() -> None:
    data = rf.make_data("yahoo", queries=40)
    own, by_name, theirs = (
        rf.Ranker(n_estimators=5, seed=3, progress=False, engine=engine, **BAGS).fit(data)
        for engine in (None, "histogram", "lightgbm")
    )
    assert (own.predict(data) == by_name.predict(data)).all()
    assert (own.predict(data) != theirs.predict(data)).any()


def test_whole_trees_are_ours_on_little_data_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rf.make_data("yahoo", queries=40)

    def scores(engine: str | None) -> Any:
        return rf.Ranker(n_estimators=5, progress=False, engine=engine).fit(data).predict(data)

    assert (scores(None) == scores("histogram")).all()
    monkeypatch.setattr("rankforce.engines.base.FEW", 1)
    assert (scores(None) == scores("lightgbm")).all()
    assert (scores(None) != scores("histogram")).any()


def test_a_run_goes_on_as_if_it_had_not_stopped(tmp_path: Any) -> None:
    data = rf.make_data("yahoo", queries=40)
    usual = {"seed": 3, "progress": False, **BAGS}
    whole = rf.Ranker(n_estimators=12, **usual).fit(data)
    place = tmp_path / "run"
    rf.Ranker(n_estimators=7, checkpoint=place, **usual).fit(data)
    resumed = rf.Ranker(n_estimators=12, checkpoint=place, **usual).fit(data)
    assert (resumed.predict(data) == whole.predict(data)).all()


def test_what_it_lacks_is_said() -> None:
    data = rf.make_data("yahoo", queries=20)
    with pytest.raises(rf.RankforceError, match="'histogram' does not go with colsample_bynode"):
        rf.Ranker(engine="histogram", colsample_bynode=0.5, progress=False).fit(data)
    with pytest.raises(rf.RankforceError, match="does not go with quantised=False"):
        rf.Ranker(engine="histogram", quantised=False, progress=False).fit(data)
    constant = rf.RankingData(np.ones((10, 2)), np.arange(10) % 2, group=[10])
    with pytest.raises(rf.RankforceError, match="no feature can tell documents apart"):
        rf.Ranker(engine="histogram", progress=False).fit(constant)


def test_more_rows_than_sums_hold_go_to_lightgbm(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rf.make_data("yahoo", queries=20)
    monkeypatch.setattr("rankforce.engines.histogram.engine.MOST_SUM", 32 * data.rows)
    usual = {"n_estimators": 3, "num_leaves": 4, "progress": False}
    with pytest.raises(rf.RankforceError, match=r"'histogram' takes \d+ rows, not \d+: choose 'li"):
        rf.Ranker(engine="histogram", **usual).fit(data)
    found = [rf.Ranker(engine=name, **usual).fit(data).predict(data) for name in (None, "lightgbm")]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("most", [2, 7, 127, 255])
def test_bins_are_few_and_in_order(most: int) -> None:
    rng = np.random.default_rng(most)
    normal = rng.normal(size=4000)
    columns = [normal, np.where(normal < 0.5, 0.0, normal), rng.integers(0, 5, 4000), normal**9]
    features = np.column_stack(columns).astype(np.float32)
    bins = make_bins(features, most=most, sample=3000, seed=0, threads=2)
    assert bins.many.max() <= most
    for column in range(features.shape[1]):
        edges = bins.edges.of(column)[:-1]
        assert (np.diff(edges) > 0).all()
        found = (features[:, [column]] > edges).sum(axis=1)
        assert (bins.codes(slice(None))[:, column] == found).all()
    if most == 127:  # what is left of a column with many zeros has nearly all bins
        assert bins.many[1] > 110


def test_a_frequent_value_has_a_bin_by_itself() -> None:
    values, counts = np.arange(1000.0), np.ones(1000, int)
    counts[500] = 5000
    edges = find_edges(values, counts, 20)
    assert {499.5, 500.5} <= {*edges.tolist()}
    assert len(edges) < 20
