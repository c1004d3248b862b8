"""Categories on our own trees: sets of codes as the slow way finds them, here and on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.common.team import Alone
from rankforce.data.binned import make_bins
from rankforce.engines.histogram import growth
from tests.engines.cases import (
    CODED,
    SETS,
    check_slow_way,
    make_categories,
    make_coded_case,
    open_own,
)
from tests.engines.test_cuda_trees import assert_same, devices, grow_there, make_rows, open_there

pytestmark = pytest.mark.filterwarnings("ignore:categories below 0")


@pytest.mark.parametrize("rules", SETS, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_sets_are_those_of_the_slow_way(seed: int, rules: dict[str, Any]) -> None:
    features, lam, hess, keys = make_coded_case(seed)
    bag = np.sort(np.random.default_rng(seed).choice(90, 75, replace=False)).astype(np.int32)
    bag = np.union1d(bag, [0]).astype(np.int32)
    own = open_own(features, categorical=CODED, **rules)
    grown = own.grow(lam, hess, 0, keys, bag)
    assert grown.tree.is_categorical.any()
    check_slow_way(grown, features, lam, hess, bag, rules, CODED)


def coded_rows(rows: int, columns: int, codes: int) -> Any:
    """Every third column is of categories."""
    features, lam, hess, keys = make_rows(rows, columns, missing=0.05)
    rng = np.random.default_rng(7)
    coded = range(0, columns, 3)
    for column in coded:
        own = rng.integers(0, codes if column else 3, rows)
        features[:, column] = np.where(np.isnan(features[:, column]), np.nan, own)
        lam += np.sin(own * 5.0 + column)
    return features, lam.astype(np.float32).astype(np.float64), hess, keys, coded


WAYS: dict[str, tuple[tuple[int, int, int], dict[str, Any]]] = {
    "usual": ((3000, 10, 30), {"num_leaves": 31, "min_data_per_group": 20}),
    "groups of columns": ((2000, 70, 12), {"num_leaves": 20, "min_data_per_group": 5}),
    "more codes than bins": ((4000, 4, 400), {"max_bin": 255, "cat_smooth": 2.0}),
    "alone": ((2000, 6, 50), {"max_cat_to_onehot": 60, "num_leaves": 31}),
    "drawn": ((2000, 12, 20), {"colsample_bytree": 0.4, "min_data_per_group": 5}),
}


@devices
@pytest.mark.parametrize("way", WAYS)
def test_trees_on_a_gpu_are_those_of_the_processors_engine(
    device: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, more = WAYS[way]
    features, lam, hess, keys, coded = coded_rows(*shape)
    bag = np.flatnonzero(np.random.default_rng(1).random(len(lam)) < 0.8).astype(np.int32)
    here = open_own(features, seed=3, categorical=coded, **more)
    there = open_there(features, device, monkeypatch, seed=3, categorical=coded, **more)
    for iteration in range(2):
        expected = here.grow(lam, hess, iteration, keys, bag)
        assert expected.tree.is_categorical.any()
        found = grow_there(there, lam, hess, iteration, keys, bag)
        assert_same(found, expected)
        assert found.tree.words.tolist() == expected.tree.words.tolist()
        assert found.tree.sets.tolist() == expected.tree.sets.tolist()
    assert there.ranges == here.ranges


def test_the_tree_is_the_same_at_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    features, lam, hess, keys, coded = coded_rows(3000, 70, 30)
    given: dict[str, Any] = {"categorical": coded, "num_leaves": 31, "min_data_per_group": 5}
    bag = np.arange(0, 3000, 2, dtype=np.int32)
    alone = open_own(features, **given).grow(lam, hess, 0, keys, bag)
    monkeypatch.setattr(growth, "SMALL", 0)
    monkeypatch.setattr(growth, "PARTED", 10)
    assert_same(open_own(features, threads=3, **given).grow(lam, hess, 0, keys, bag), alone)


@pytest.mark.parametrize("more", [{}, {"subsample": 0.6, "colsample_bytree": 0.7}], ids=str)
def test_models_are_lightgbms(more: dict[str, Any], tmp_path: Path) -> None:
    lgb = pytest.importorskip("lightgbm")
    train, valid = make_categories(1), make_categories(2)
    values = valid.features.copy()
    values[::7, 1], values[::5, 1], values[::11, 2] = np.nan, 77.0, -3.0  # 77 was never seen
    settings = {"n_estimators": 20, "engine": "histogram", "progress": False, "seed": 1}
    ranker = rf.Ranker(**settings, **more).fit(train, eval_set=[valid])
    assert "cat_threshold" in ranker.model_.text()
    ranker.save(tmp_path)
    theirs = lgb.Booster(model_file=str(tmp_path / "model.txt")).predict(values)
    assert (ranker.predict(values) == theirs).all()
    assert (rf.load(tmp_path).predict(values) == theirs).all()
    other = rf.Ranker(**settings | {"engine": "lightgbm"}, **more).fit(train, eval_set=[valid])
    assert ranker.score(valid) == pytest.approx(other.score(valid), abs=0.02)
    history = ranker.evals_result_["valid_0"]["ndcg@10"][-1]
    assert history == pytest.approx(ranker.score(valid, metric="ndcg@10"), abs=1e-12)


def test_frequent_codes_have_bins_and_all_others_one() -> None:
    rng = np.random.default_rng(0)
    codes = rng.zipf(1.3, 5000).clip(0, 10**6).astype(np.float32)
    missing = rng.random(5000) < 0.1
    features = np.where(missing, np.nan, codes)[:, None].astype(np.float32)
    features[:20] = -2.0
    found, counts = np.unique(features[features >= 0], return_counts=True)
    for most in (16, 255):
        bins = make_bins(features, most=most, sample=10**6, categorical=[0])
        own = bins.edges.of(0)
        assert len(own) == most - 1
        is_own = np.isin(found, own)
        assert counts[is_own].min() >= counts[~is_own].max(initial=0)
        expected = [np.flatnonzero(own == x).tolist() or [np.nan] for x in features[:, 0].tolist()]
        assert np.array_equal(bins.codes(slice(None)), expected, equal_nan=True)


def test_a_column_with_one_code_tells_nothing() -> None:
    features = np.column_stack([np.full(50, 3.0), np.arange(50) % 2]).astype(np.float32)
    bins = make_bins(features, categorical=[0, 1])
    assert bins.columns.tolist() == [1]
    assert bins.edges.ranges == ["none", "0:1"]


class Two(Alone):
    size = 2


def test_what_cannot_be_is_said() -> None:
    features = make_coded_case(0)[0]
    with pytest.raises(RankforceError, match="cat_smooth is -1: it must be a finite number from 0"):
        open_own(features, categorical=CODED, cat_smooth=-1)
    with pytest.raises(RankforceError, match=r"feature '1' is categorical.*engine='lightgbm'"):
        open_own(features, categorical=CODED, team=Two())
