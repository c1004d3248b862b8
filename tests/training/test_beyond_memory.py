"""Training on features that are not in memory: the same trees as on the same bins in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.binned import Binned, bin_source, make_bins
from rankforce.data.edges import chosen_rows, find_all_edges, join_surveys, survey
from rankforce.data.sources import Dense
from rankforce.training import binning

USUAL: dict[str, Any] = {"n_estimators": 12, "num_leaves": 15, "progress": False, "k": 10}


class Elsewhere:
    """Rows that are read in blocks, as those of a file are; counts how often all are read."""

    def __init__(self, values: Any, step: int = 333) -> None:
        self._values, self._step, self.shape, self.passes = values, step, values.shape, 0

    def blocks(self, rows: int | None = None) -> Any:
        self.passes += 1
        return Dense(self._values).blocks(rows or self._step)

    def take(self, rows: Any) -> Any:
        return self._values[rows]


def make_set(queries: int = 60, seed: int = 0) -> rf.RankingData:
    data = rf.make_data("mslr", queries=queries, seed=seed)
    values = data.features.copy()
    values[np.random.default_rng(seed).random(values.shape) < 0.03] = np.nan
    values[:, 3] = 1.5
    return rf.RankingData(values, data.labels, qid=data.qid)


def elsewhere(data: rf.RankingData) -> rf.RankingData:
    return rf.RankingData(Elsewhere(data.features), data.labels, qid=data.qid)


def same_trees(one: rf.Ranker, other: rf.Ranker) -> bool:
    both = zip(one.model_.trees, other.model_.trees, strict=True)
    names = ("feature", "threshold", "rule", "left", "right", "leaf_value")
    return all((getattr(a, n) == getattr(b, n)).all() for a, b in both for n in names)


@pytest.mark.parametrize("more", [{}, {"subsample": 0.7, "colsample_bytree": 0.5}], ids=str)
def test_the_trees_are_those_of_features_in_memory(more: dict[str, Any]) -> None:
    data, valid = make_set(), make_set(20, seed=1)
    usual = USUAL | more | {"engine": "histogram", "early_stopping_rounds": 5}
    inside = rf.Ranker("lambdarank-ndcg", **usual).fit(data, eval_set=[valid])
    away, valid_away = elsewhere(data), elsewhere(valid)
    outside = rf.Ranker("lambdarank-ndcg", **usual).fit(away, eval_set=[valid_away])
    assert same_trees(inside, outside)
    assert inside.model_.history == outside.model_.history
    assert away.features.passes == 2  # a look, and bins
    assert valid_away.features.passes == 1
    assert (inside.predict(valid) == outside.predict(valid_away)).all()


def test_lightgbm_takes_bins_too() -> None:
    data, valid = make_set(), make_set(20, seed=1)
    ranker = rf.Ranker("lambdarank-ndcg", engine="lightgbm", **USUAL)
    ranker.fit(elsewhere(data), eval_set=[elsewhere(valid)])
    bins = make_bins(data.features, seed=0)
    ends = [set(bins.edges.of(column).tolist()) for column in range(data.features.shape[1])]
    for tree in ranker.model_.trees:
        both = zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True)
        assert all(threshold in ends[feature] for feature, threshold in both)
    inside = rf.RankingData(bins, data.labels, qid=data.qid)
    assert same_trees(ranker, rf.Ranker("lambdarank-ndcg", engine="lightgbm", **USUAL).fit(inside))
    scores = ranker.predict(valid)
    found = float(rf.metric("ndcg@10")(scores, valid.labels, group=valid.group).mean())
    history = ranker.model_.history["valid_0"]["ndcg@10"]
    assert history[-1] == pytest.approx(found, abs=1e-12)


def test_what_only_lightgbm_has_goes_to_lightgbm() -> None:
    data = make_set()
    signs = [1] + [0] * (data.features.shape[1] - 1)
    usual = USUAL | {"monotone_constraints": signs}
    ranker = rf.Ranker("lambdarank-ndcg", **usual).fit(elsewhere(data))
    rows = np.repeat(data.features[:1], 50, axis=0)
    rows[:, 0] = np.linspace(np.nanmin(data.features[:, 0]), np.nanmax(data.features[:, 0]), 50)
    assert (np.diff(ranker.predict(rows)) >= 0).all()


@pytest.mark.slow
def test_a_run_goes_on_from_a_checkpoint_and_a_base(tmp_path: Any) -> None:
    data = make_set()
    whole = rf.Ranker("lambdarank-ndcg", **USUAL).fit(elsewhere(data))
    some = USUAL | {"checkpoint": tmp_path / "run"}
    rf.Ranker("lambdarank-ndcg", **some | {"n_estimators": 5}).fit(elsewhere(data))
    assert same_trees(whole, rf.Ranker("lambdarank-ndcg", **some).fit(elsewhere(data)))
    base = rf.Ranker("lambdarank-ndcg", engine="lightgbm", max_bin=20, **USUAL).fit(data)
    further = [rf.Ranker(base=base, **USUAL).fit(one) for one in (data, elsewhere(data))]
    assert all(len(one.model_.trees) == 24 for one in further)
    assert (further[0].predict(data)[:5] != base.predict(data)[:5]).any()
    with_engine = USUAL | {"engine": "histogram", "base": base}
    found = [rf.Ranker(**with_engine).fit(one).predict(data) for one in (data, elsewhere(data))]
    assert (found[0] == found[1]).all()


def test_a_terminal_shows_how_far_it_is() -> None:
    data = elsewhere(make_set())
    seen: list[str] = []

    class Voiced:
        say = for_now = seen.append

    binning.bin_sets([data], rf.Ranker(**USUAL).settings(), Voiced())  # type: ignore[arg-type]
    assert seen.index("looking at features 100%") < seen.index("putting features into bins 100%")
    assert seen[-1].startswith("features in bins: ")


def test_members_of_a_committee_share_bins() -> None:
    data, valid = make_set(), make_set(20, seed=1)
    away, valid_away = elsewhere(data), elsewhere(valid)
    usual = USUAL | {"engine": "histogram", "members": 3}
    outside = rf.Ranker("lambdarank-ndcg", **usual).fit(away, eval_set=[valid_away])
    assert (away.features.passes, valid_away.features.passes) == (2, 1)
    inside = rf.Ranker("lambdarank-ndcg", **usual).fit(data, eval_set=[valid])
    assert (inside.predict(valid) == outside.predict(valid)).all()


def test_bins_of_other_edges_are_refused() -> None:
    data, valid = make_set(), make_set(20, seed=1)
    train = rf.RankingData(make_bins(data.features), data.labels, qid=data.qid)
    other = rf.RankingData(make_bins(valid.features), valid.labels, qid=valid.qid)
    with pytest.raises(rf.RankforceError, match="has other bins than the training set: make it wi"):
        rf.Ranker(**USUAL).fit(train, eval_set=[other])
    edges = train.features.edges
    same = rf.RankingData(bin_source(valid.features, edges), valid.labels, qid=valid.qid)
    ranker = rf.Ranker(**USUAL).fit(train, eval_set=[same])
    assert (ranker.predict(same) == ranker.predict(valid)).all()
    with pytest.raises(rf.RankforceError, match=r"split at .*, where no bin of the data ends"):
        ranker.predict(other)
    with pytest.raises(rf.RankforceError, match="max_bin is 63, but the data is in bins already"):
        rf.Ranker(max_bin=63, **USUAL).fit(train)


def test_categories_are_refused() -> None:
    data = rf.RankingData(Elsewhere(np.ones((4, 2), np.float32)), [0, 1, 0, 1], group=[4])
    data.categorical = [1]
    with pytest.raises(rf.RankforceError, match="'Column_1' is categorical, which goes with featu"):
        rf.Ranker(**USUAL).fit(data)


def test_too_little_memory_is_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    data = elsewhere(make_set())
    monkeypatch.setattr(binning, "available_memory", lambda: 1000)
    with pytest.raises(rf.RankforceError, match=r"rows of 136 features take 0.0 GB in training, "):
        rf.Ranker(**USUAL).fit(data)
    assert data.features.passes == 0


def test_a_survey_of_parts_is_that_of_the_whole() -> None:
    values = make_set().features
    chosen = chosen_rows(len(values), 500, seed=3)
    whole = survey(values, chosen)
    middle = len(values) // 3
    parts = [
        survey(values[:middle], chosen[chosen < middle], threads=2),
        survey(Elsewhere(values[middle:]), chosen[chosen >= middle] - middle),
    ]
    joined = join_surveys(parts)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(whole, joined, strict=True))
    assert find_all_edges(whole, most=20).same(find_all_edges(joined, most=20, threads=2))


def test_values_are_not_to_be_had_from_bins() -> None:
    data = make_set()
    binned = rf.RankingData(make_bins(data.features), data.labels, qid=data.qid)
    ranker = rf.Ranker(**USUAL).fit(binned)
    with pytest.raises(rf.RankforceError, match="the data has bins of features, and their values"):
        ranker.contributions(binned)
    with pytest.raises(rf.RankforceError, match="has bins of features, and their values"):
        rf.Ranker(model="linear", progress=False).fit(binned)
    with pytest.raises(rf.RankforceError, match="has bins of features, and their values"):
        ranker.predict(binned.with_missing(0.0))


def test_some_queries_of_bins_are_bins() -> None:
    data = make_set()
    binned = rf.RankingData(make_bins(data.features), data.labels, qid=data.qid)
    some = binned.take_queries([5, 3, 40])
    assert isinstance(some.features, Binned)
    rows = data.index.rows_of([5, 3, 40])
    codes = binned.features.codes(slice(None))
    assert np.array_equal(some.features.codes(slice(None)), codes[rows], equal_nan=True)
    usual = USUAL | {"engine": "histogram"}
    found = rf.cv(rf.Ranker(**usual), binned, folds=2, metrics="ndcg@10")
    assert 0.1 < found.means["ndcg@10"] < 1.0
