"""Cross-validation: whole queries, rows in the caller's order, means that can be recomputed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf
from rankforce.data.queries import query_folds

DATA = rf.make_data("mslr", queries=23, seed=1)
MIXED = np.random.default_rng(0).permutation(DATA.rows)
X, Y, QID = DATA.features[MIXED], DATA.labels[MIXED], DATA.qid[MIXED]
PARAMS: dict[str, Any] = {
    "n_estimators": 3,
    "num_leaves": 5,
    "min_child_samples": 5,
    "seed": 1,
    "threads": 1,
    "progress": False,
}
METRICS = ["ndcg@5", "arpb@5"]


def query_ids(qid: Any) -> list[Any]:
    """In order of first appearance."""
    return list(dict.fromkeys(qid.tolist()))


@pytest.fixture(scope="module")
def result() -> Any:
    return rf.cv(PARAMS, X, Y, qid=QID, folds=4, seed=3, metrics=METRICS)


def test_every_query_is_in_one_fold(result: Any) -> None:
    sizes = np.bincount(result.fold)
    assert (len(result.fold), len(sizes)) == (23, 4)
    assert sizes.max() - sizes.min() <= 1
    assert len(result.rankers) == 4


def test_no_query_is_trained_on_and_scored() -> None:
    trained: list[set[Any]] = []

    def spy(moment: Any) -> None:
        if moment.iteration == 0:
            trained.append({*moment.data.qid.tolist()})

    result = rf.cv(PARAMS, X, Y, qid=QID, folds=4, seed=3, callbacks=[spy])
    ids = np.array(query_ids(QID))
    assert len(trained) == 4
    for number, inside in enumerate(trained):
        outside = {*ids[result.fold == number].tolist()}
        assert not inside & outside
        assert inside | outside == {*ids.tolist()}


def test_rows_are_scored_in_the_callers_order(result: Any) -> None:
    fold_of = dict(zip(query_ids(QID), result.fold, strict=True))
    fold_of_row = np.array([fold_of[one] for one in QID.tolist()])
    for number, ranker in enumerate(result.rankers):
        rows = fold_of_row == number
        assert np.array_equal(result.scores[rows], ranker.predict(X[rows]))


@pytest.mark.parametrize("number", [0, 3])
def test_rankers_are_those_of_the_other_folds(result: Any, number: int) -> None:
    ids = np.array(query_ids(QID))
    inside = ids[result.fold != number]
    rows = np.concatenate([np.flatnonzero(one == QID) for one in inside])
    expected = rf.Ranker(**PARAMS).fit(X[rows], Y[rows], qid=QID[rows])
    assert result.rankers[number].model_.text() == expected.model_.text()


@pytest.mark.parametrize("metric", METRICS)
def test_means_can_be_recomputed(result: Any, metric: str) -> None:
    values = rf.metric(metric)(result.scores, Y, qid=QID)
    assert np.array_equal(result.values[metric], values)
    assert result.means[metric] == pytest.approx(values.mean(), rel=1e-12)
    expected = [values[result.fold == number].mean() for number in range(4)]
    assert result.fold_means[metric] == pytest.approx(expected, rel=1e-12)
    line = f"{metric}  {values.mean():.4f}  (folds {np.mean(expected):.4f} ± {np.std(expected):.4f}"
    assert line in str(result)


def test_ways_to_give_data_and_ranker(result: Any) -> None:
    data = rf.RankingData(X, Y, qid=QID)
    ranker = rf.Ranker(**PARAMS)
    other = rf.cv(ranker, data, folds=4, seed=3, metrics=METRICS)
    assert np.array_equal(other.scores, result.scores)
    assert not hasattr(ranker, "model_")
    grouped = rf.cv(PARAMS, DATA.features, DATA.labels, group=DATA.group, folds=4, seed=3)
    assert np.isfinite(grouped.scores).all()


def test_the_seed_decides_the_folds(result: Any) -> None:
    again, other = (rf.cv(PARAMS, X, Y, qid=QID, folds=4, seed=seed) for seed in (3, 4))
    assert np.array_equal(again.fold, result.fold)
    assert not np.array_equal(other.fold, result.fold)


@pytest.mark.parametrize(
    ("objective", "k", "metric"), [("lambdarank-ndcg", 3, "ndcg@3"), ("lambdagap-x+", 4, "p@4")]
)
def test_the_metric_of_the_objective(objective: str, k: int, metric: str) -> None:
    result = rf.cv(PARAMS | {"objective": objective, "k": k}, X, Y, qid=QID, folds=2)
    assert list(result.means) == [metric]


def test_the_scored_fold_never_decides_when_to_stop() -> None:
    seen: list[tuple[set[Any], int]] = []

    def spy(moment: Any) -> None:
        if moment.iteration == 0:
            seen.append(({*moment.data.qid.tolist()}, len(moment.evaluation_result_list)))

    result = rf.cv(
        PARAMS | {"n_estimators": 15, "learning_rate": 0.5},
        X,
        Y,
        qid=QID,
        folds=3,
        metrics=METRICS,
        early_stopping_rounds=2,
        callbacks=[spy],
    )
    ids = np.array(query_ids(QID))
    for number, (inside, measured) in enumerate(seen):
        outside = {*ids[result.fold == number].tolist()}
        held = {*ids.tolist()} - outside - inside
        assert not inside & outside
        assert len(held) == -(-(23 - len(outside)) // 5)  # a fifth, rounded up
        assert measured == len(METRICS)
        history = result.rankers[number].evals_result_["valid_0"]["ndcg@5"]
        rows = np.isin(QID, list(held))
        value = rf.metric("ndcg@5")(
            result.rankers[number].predict(X[rows]), Y[rows], qid=QID[rows]
        ).mean()
        assert max(history) == pytest.approx(value, rel=1e-12)


def test_query_weights_count_in_every_mean() -> None:
    weights = np.random.default_rng(2).uniform(0.1, 5.0, 23)
    data = rf.RankingData(X, Y, qid=QID, query_weight=weights)
    result = rf.cv(PARAMS, data, folds=3, metrics=["ndcg@5"])
    values = result.values["ndcg@5"]
    folds = [
        np.average(values[result.fold == n], weights=weights[result.fold == n]) for n in range(3)
    ]
    assert result.fold_means["ndcg@5"] == pytest.approx(folds)
    assert result.means["ndcg@5"] == pytest.approx(np.average(values, weights=weights))


def test_queries_without_documents_and_weights() -> None:
    sizes = np.insert(DATA.group, 4, 0)
    data = rf.RankingData(
        DATA.features, DATA.labels, group=sizes, query_weight=np.arange(1.0, len(sizes) + 1.0)
    )
    result = rf.cv(PARAMS, data, folds=3, metrics=["ndcg@5"])
    assert np.isfinite(result.scores).all()
    assert np.flatnonzero(np.isnan(result.values["ndcg@5"])).tolist() == [4]


def test_rankers_know_the_categories() -> None:
    letters = np.random.default_rng(6).choice([*"abcd"], DATA.rows)
    frame = pd.DataFrame(DATA.features[:, :4]).rename(columns=str)
    labels = np.clip(DATA.labels + 2 * np.isin(letters, ["b"]), 0, 4)
    frame["c"] = pd.Categorical(letters, categories=[*"abcd"])
    other = frame.assign(c=pd.Categorical(letters, categories=[*"dcba"]))
    params = PARAMS | {"min_data_per_group": 5, "cat_smooth": 1.0}
    result = rf.cv(params, frame, labels, group=DATA.group, folds=2)
    fold_of_row = np.repeat(result.fold, DATA.group)
    for number, ranker in enumerate(result.rankers):
        assert "cat_threshold" in ranker.model_.text()
        rows = fold_of_row == number
        assert np.array_equal(ranker.predict(frame)[rows], result.scores[rows])
        assert np.array_equal(ranker.predict(other)[rows], result.scores[rows])


def test_an_interrupt_ends_it() -> None:
    def interrupt(moment: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rf.cv(PARAMS, X, Y, qid=QID, folds=2, callbacks=[interrupt])


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "one fold": ({"folds": 1}, "folds is 1: it must be an integer from 2 up"),
    "half a fold": ({"folds": 2.5}, r"folds is 2\.5: it must be an integer from 2 up"),
    "too many": ({"folds": 24}, "24 folds need at least 24 queries, but there are 23"),
    "no queries": ({"qid": None}, "rankers need queries"),
    "unknown parameter": ({"ranker": {"num_leafs": 3}}, "unknown parameter 'num_leafs'"),
    "unknown metric": ({"metrics": ["mdcg@3"]}, "mdcg"),
    "no labels": ({"y": None}, "labels"),
}


@pytest.mark.parametrize(("given", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.cv(**{"ranker": PARAMS, "X": X, "y": Y, "qid": QID} | given)


@pytest.mark.parametrize(("queries", "folds"), [(2, 2), (5, 2), (10, 3), (23, 23)])
def test_folds_share_the_queries(queries: int, folds: int) -> None:
    parts = query_folds(queries, folds, seed=1)
    assert sorted(np.concatenate(parts).tolist()) == list(range(queries))
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    assert all(np.array_equal(part, np.sort(part)) for part in parts)


@pytest.mark.parametrize("rounds", [None, 2])
def test_the_metrics_say_what_auto_is(rounds: int | None, caplog: pytest.LogCaptureFixture) -> None:
    """Once for all folds, whether or not a metric decides when to stop."""
    more: dict[str, Any] = {"folds": 2, "metrics": "p@5, ndcg", "early_stopping_rounds": rounds}
    loud = {**PARAMS, "objective": "auto", "progress": None}
    with caplog.at_level("INFO", logger="rankforce"):
        auto = rf.cv(loud, DATA, **more)
    said = [line for line in caplog.messages if line.startswith("auto: LambdaGap-S++@5 for P@5")]
    assert len(said) == 2
    assert [*auto.means] == ["p@5", "ndcg"]
    named = rf.cv({**PARAMS, "objective": "lambdagap-s++", "k": 5}, DATA, **more)
    assert np.array_equal(auto.scores, named.scores)
    assert {one.objective_.name for one in auto.rankers} == {"LambdaGap-S++"}


def test_auto_without_metrics_is_for_ndcg() -> None:
    auto = rf.cv({**PARAMS, "objective": "auto"}, DATA, folds=2, early_stopping_rounds=2)
    assert {one.objective_.name for one in auto.rankers} == {"LambdaRank-NDCG"}


def test_networks_that_see_lists_get_those_of_their_fold() -> None:
    params = {"model": "attention", "hidden": [4], "layers": 1, "heads": 2, "epochs": 2}
    found = rf.cv(params | {"progress": False}, X, Y, qid=QID, folds=2, seed=3, metrics="ndcg@5")
    ids = np.array(query_ids(QID))
    for number, ranker in enumerate(found.rankers):
        own = np.flatnonzero(np.isin(QID, ids[found.fold == number]))
        again = ranker.predict(X[own], qid=QID[own])
        assert found.scores[own] == pytest.approx(again, abs=1e-6)
