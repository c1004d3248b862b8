"""The estimator: the calls that users make, scikit-learn's manners, every kind of input."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import rankforce as rf
from rankforce.models.forest.forest import digest

lgb = pytest.importorskip("lightgbm")

DATA = rf.make_data("mslr", queries=20, seed=1)
VALID = rf.make_data("mslr", queries=10, seed=2)
X, Y, G = DATA.features, DATA.labels, DATA.group
QID = np.repeat(np.arange(len(G)), G)
XV, YV, GV = VALID.features, VALID.labels, VALID.group
SMALL: dict[str, Any] = {
    "n_estimators": 4,
    "num_leaves": 5,
    "min_child_samples": 5,
    "seed": 1,
    "threads": 1,
    "progress": False,
}


def make(*objective: Any, **more: Any) -> rf.Ranker:
    return rf.Ranker(*objective, **SMALL | more)


def ndcg(scores: Any, labels: Any, k: int = 10, **queries: Any) -> float:
    return float(rf.metric("ndcg", k=k)(scores, labels, **queries).mean())


# The calls.


@pytest.fixture(scope="module")
def fitted() -> rf.Ranker:
    ranker = rf.Ranker(
        "lambdarank-ndcg",
        k=10,
        n_estimators=6,
        learning_rate=0.2,
        num_leaves=6,
        seed=1,
        threads=1,
        progress=False,
    )
    return ranker.fit(
        X,
        Y,
        group=G,
        eval_set=[(XV, YV)],
        eval_group=[GV],
        eval_metric="ndcg@10",
        early_stopping_rounds=5,
    )


def test_fit_returns_the_ranker_and_learns(fitted: rf.Ranker) -> None:
    assert isinstance(fitted, rf.Ranker)
    shuffled = np.random.default_rng(0).normal(size=len(Y))
    assert ndcg(fitted.predict(X), Y, group=G) > ndcg(shuffled, Y, group=G) + 0.05


def test_history_best_iteration_and_booster(fitted: rf.Ranker) -> None:
    history = fitted.evals_result_["valid_0"]["ndcg@10"]
    assert fitted.best_iteration_ == 1 + int(np.argmax(history))
    assert ndcg(fitted.predict(XV), YV, group=GV) == max(history)
    booster = fitted.booster_
    assert isinstance(booster, lgb.Booster)
    assert booster.num_trees() == fitted.best_iteration_
    assert np.array_equal(booster.predict(XV), fitted.predict(XV))


@pytest.mark.parametrize("top", [1, 10, None])
def test_rank_is_a_sort_of_each_query(fitted: rf.Ranker, top: int | None) -> None:
    scores, best = fitted.predict(X), fitted.rank(X, group=G, top=top)
    expected = [
        (query, place, row)
        for query in range(len(G))
        for place, row in enumerate(
            sorted(np.flatnonzero(query == QID), key=lambda row: (-scores[row], row))[:top], 1
        )
    ]
    assert list(zip(best.query, best.rank, best.row, strict=True)) == expected
    assert np.array_equal(best.score, scores[best.row])


@pytest.mark.parametrize("top", [0, -1, 2.5])
def test_rank_refuses_a_wrong_top(fitted: rf.Ranker, top: Any) -> None:
    with pytest.raises(ValueError, match=f"top is {top}: it must be an integer from 1 up"):
        fitted.rank(X, group=G, top=top)


@pytest.mark.parametrize("name", ["lambdagap-x@3", "lambdarank(ndcg@3)", "ranknet"])
def test_a_loaded_ranker_knows_the_cutoff_in_the_name(name: str, tmp_path: Path) -> None:
    data = rf.make_data("yahoo", queries=8)
    ranker = rf.Ranker(name, n_estimators=2, progress=False).fit(data)
    ranker.save(tmp_path / "run")
    assert rf.load(tmp_path / "run").objective_ == ranker.objective_ == rf.objective(name)


def test_save_and_load(fitted: rf.Ranker, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model")
    again = rf.load(tmp_path / "model")
    assert np.array_equal(again.predict(X), fitted.predict(X))
    assert again.best_iteration_ == fitted.best_iteration_
    assert again.evals_result_ == fitted.evals_result_
    assert (again.k, again.num_leaves, again.learning_rate) == (10, 6, 0.2)


def test_facts_about_features(fitted: rf.Ranker) -> None:
    assert fitted.n_features_in_ == X.shape[1]
    booster = fitted.booster_
    assert fitted.feature_name_ == booster.feature_name()
    assert np.array_equal(fitted.feature_importances_, booster.feature_importance("split"))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_predict_with_the_first_trees(fitted: rf.Ranker, count: int) -> None:
    expected = fitted.booster_.predict(X, num_iteration=count)
    assert np.array_equal(fitted.predict(X, num_iteration=count), expected)


@pytest.mark.parametrize("count", [0, -1])
def test_predict_with_no_limit_as_in_lightgbm(count: int) -> None:
    ranker = make().fit(X, Y, group=G)
    expected = ranker.booster_.predict(X, num_iteration=count)
    assert np.array_equal(ranker.predict(X, num_iteration=count), expected)


def test_more_trees_than_there_are(fitted: rf.Ranker) -> None:
    every = len(fitted.model_.trees)
    more = fitted.predict(X, num_iteration=1000)
    assert np.array_equal(more, fitted.predict(X, num_iteration=every))


def test_ranking_data_in_place_of_arrays() -> None:
    expected = make().fit(X, Y, group=G, eval_set=[(XV, YV)], eval_group=[GV])
    train, valid = rf.RankingData(X, Y, group=G), rf.RankingData(XV, YV, group=GV)
    got = make().fit(train, eval_set=[valid])
    assert digest(got.model_.trees) == digest(expected.model_.trees)
    assert got.evals_result_ == expected.evals_result_
    assert np.array_equal(got.predict(valid), expected.predict(XV))
    assert got.score(valid) == expected.score(XV, YV, group=GV)


def test_train_from_one_table(tmp_path: Path) -> None:
    config = SMALL | {"train": DATA, "valid": VALID, "out": str(tmp_path / "run"), "k": 5}
    ranker = rf.train(config)
    expected = make(k=5).fit(DATA, eval_set=[VALID])
    assert ranker.model_.text() == expected.model_.text()
    assert ranker.evals_result_ == expected.evals_result_
    assert rf.load(tmp_path / "run").model_.text() == expected.model_.text()


def test_the_seed_decides() -> None:
    texts = [make(seed=seed).fit(DATA).model_.text() for seed in (3, 3, 4)]
    assert texts[0] == texts[1] != texts[2]


# Validation sets, however they are given.

GIVEN: dict[str, dict[str, Any]] = {
    "a list": {"eval_set": [(XV, YV)], "eval_group": [GV]},
    "one pair": {"eval_set": (XV, YV), "eval_group": [GV]},
    "eval_X": {"eval_X": XV, "eval_y": YV, "eval_group": [GV]},
    "eval_X in a tuple": {"eval_X": (XV,), "eval_y": (YV,), "eval_group": [GV]},
    "RankingData": {"eval_set": VALID},
    "query ids": {"eval_set": [(XV, YV)], "eval_qid": [np.repeat(np.arange(len(GV)), GV)]},
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_ways_to_give_a_validation_set(given: dict[str, Any]) -> None:
    ranker = make().fit(X, Y, group=G, eval_metric="ndcg@10", **given)
    expected = [ndcg(ranker.predict(XV, num_iteration=i), YV, group=GV) for i in range(1, 5)]
    assert ranker.evals_result_ == {"valid_0": {"ndcg@10": expected}}


def test_cutoffs_without_a_metric_are_those_of_the_objectives_own() -> None:
    for eval_at, keys in (([3, 7], ["ndcg@3", "ndcg@7"]), (2, ["ndcg@2"])):
        ranker = make().fit(DATA, eval_set=[VALID], eval_at=eval_at)
        assert list(ranker.evals_result_["valid_0"]) == keys


@pytest.mark.parametrize("eval_metric", [None, "ndcg"])
@pytest.mark.parametrize("eval_at", [[0], [5, -1], [2.5], 0, ["5"]])
def test_cutoffs_that_are_wrong(eval_at: Any, eval_metric: Any) -> None:
    with pytest.raises(ValueError, match=r"eval_at is .*: it must be an integer from 1 up"):
        make().fit(DATA, eval_set=[VALID], eval_metric=eval_metric, eval_at=eval_at)


def test_cutoffs_and_names() -> None:
    ranker = make().fit(
        DATA,
        eval_set=[VALID, DATA],
        eval_names=["other", "own"],
        eval_metric="ndcg",
        eval_at=[3, 7],
    )
    expected = {
        name: {
            f"ndcg@{k}": [
                ndcg(ranker.predict(part, num_iteration=i), part.labels, k, group=part.group)
                for i in range(1, 5)
            ]
            for k in (3, 7)
        }
        for name, part in (("other", VALID), ("own", DATA))
    }
    assert ranker.evals_result_ == expected


def weighted(ranker: rf.Ranker, row_weight: Any) -> float:
    """Mean over queries, each with the mean weight of its rows."""
    values = rf.metric("ndcg@10")(ranker.predict(XV), YV, group=GV)
    query = np.repeat(np.arange(len(GV)), GV)
    weights = [row_weight[query == number].mean() for number in range(len(GV))]
    return float(np.average(values, weights=weights))


WEIGHT = np.repeat(np.random.default_rng(3).uniform(0.0, 5.0, len(GV)), GV)


def test_score_weighs_queries_by_their_rows() -> None:
    ranker = make().fit(DATA)
    got = ranker.score(XV, YV, WEIGHT, group=GV, metric="ndcg@10")
    assert got == pytest.approx(weighted(ranker, WEIGHT), rel=1e-12)
    assert got != pytest.approx(ranker.score(XV, YV, group=GV, metric="ndcg@10"), rel=1e-3)


def test_score_weighs_queries_of_ranking_data() -> None:
    ranker = make().fit(DATA)
    data = rf.RankingData(XV, YV, group=GV, weight=WEIGHT)
    assert ranker.score(data, metric="ndcg@10") == pytest.approx(weighted(ranker, WEIGHT))


def test_validation_weighs_queries_by_their_rows() -> None:
    ranker = make().fit(
        X, Y, group=G, eval_set=[(XV, YV)], eval_group=[GV], eval_sample_weight=[WEIGHT]
    )
    got = ranker.evals_result_["valid_0"]["ndcg@10"][-1]
    assert got == pytest.approx(weighted(ranker, WEIGHT))


# Queries in any order.


def interleave(qid: Any, seed: int) -> Any:
    """Rows of queries mixed at random; inside a query they keep their order."""
    slots = np.random.default_rng(seed).permutation(qid)
    order = np.empty(len(qid), np.int64)
    for one in np.unique(qid):
        order[slots == one] = np.flatnonzero(qid == one)
    return order


@pytest.mark.parametrize("quantised", [None, False])
@pytest.mark.parametrize("step", ["newton", "exact-newton"])
def test_rows_of_queries_in_any_order(step: str, quantised: bool | None) -> None:
    order = interleave(QID, seed=5)
    assert not np.array_equal(QID[order], QID)
    kept = make(step=step, quantised=quantised).fit(X, Y, qid=QID).predict(X)
    mixed = make(step=step, quantised=quantised).fit(X[order], Y[order], qid=QID[order])
    assert mixed.predict(X[order]) == pytest.approx(kept[order], rel=1e-9, abs=1e-12)


def test_group_is_the_same_as_numbered_queries() -> None:
    by_group, by_id = make().fit(X, Y, group=G), make().fit(X, Y, qid=QID)
    assert by_group.model_.text() == by_id.model_.text()


# scikit-learn.


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"k": 5},
        {"eta": 0.3},
        {"max_bin": 31, "tau": 7},
        {"objective": "lambdamart-ex all", "k": 5, "missed": "label"},
    ],
)
def test_parameters_and_clone(given: dict[str, Any]) -> None:
    ranker = rf.Ranker(**given)
    params = ranker.get_params()
    assert {name: params[name] for name in given} == given
    assert clone(ranker).get_params() == params
    assert clone(ranker).settings() == ranker.settings()
    assert rf.Ranker(**params).settings() == ranker.settings()
    assert not hasattr(clone(make(**given).fit(DATA)), "model_")


def test_set_params_under_any_name() -> None:
    ranker = rf.Ranker().set_params(num_leaves=7, eta=0.5, lambdarank_truncation_level=9)
    settings = ranker.settings()
    assert (settings.num_leaves, settings.learning_rate, settings.tau) == (7, 0.5, 9)
    assert ranker.set_params(eta=0.25).settings().learning_rate == 0.25
    with pytest.raises(ValueError, match="unknown parameter 'num_leafs': did you mean"):
        rf.Ranker().set_params(num_leafs=3).settings()


@pytest.mark.parametrize(
    "given",
    [{"eta": 0.3}, {"lambdarank_norm": False}, {"lambdarank_target": "bndcg"}, {"n_iter": 7}],
)
def test_pickled_rankers_have_the_same_settings(given: dict[str, Any]) -> None:
    ranker = rf.Ranker(**given)
    again = pickle.loads(pickle.dumps(ranker))
    assert again.get_params() == ranker.get_params()
    assert again.settings() == ranker.settings()


def test_pickled_rankers_score_the_same() -> None:
    ranker = make(k=5).fit(DATA, eval_set=[VALID])
    again = pickle.loads(pickle.dumps(ranker))
    assert np.array_equal(again.predict(X), ranker.predict(X))
    assert again.evals_result_ == ranker.evals_result_


def test_pipeline() -> None:
    pipeline = Pipeline([("scale", StandardScaler()), ("ranker", make())])
    pipeline.fit(X, Y, ranker__qid=QID)
    scaled = StandardScaler().fit_transform(X)
    expected = make().fit(scaled, Y, qid=QID)
    assert np.array_equal(pipeline.predict(X), expected.predict(scaled))


def test_grid_search_keeps_queries_whole() -> None:
    grid = {"num_leaves": [2, 6], "eta": [0.1, 0.5]}
    folds = GroupKFold(2)
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = make().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(ranker, grid, cv=folds, error_score="raise")
        search.fit(X, Y, groups=QID, qid=QID)
        for number, (inside, outside) in enumerate(folds.split(X, Y, QID)):
            assert not {*QID[inside]} & {*QID[outside]}
            for params, got in zip(
                search.cv_results_["params"],
                search.cv_results_[f"split{number}_test_score"],
                strict=True,
            ):
                one = make(**params).fit(X[inside], Y[inside], qid=QID[inside])
                assert got == ndcg(one.predict(X[outside]), Y[outside], qid=QID[outside])
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert len(search.best_estimator_.predict(X)) == len(X)


@pytest.mark.parametrize(
    ("objective", "k", "metric", "sign"),
    [
        ("lambdarank-ndcg", 3, "ndcg@3", 1),
        ("lambdagap-x+", 4, "p@4", 1),
        ("lambdarank(map)", None, "map@10", 1),
        ("lambdarank-ndcg", 5, "arpb@5", -1),
    ],
)
def test_score_is_the_mean_of_a_metric(objective: str, k: Any, metric: str, sign: int) -> None:
    ranker = make(objective, k=k).fit(DATA)
    given = {"metric": metric} if sign < 0 else {}
    expected = rf.metric(metric)(ranker.predict(XV), YV, group=GV).mean()
    assert ranker.score(XV, YV, group=GV, **given) == pytest.approx(sign * expected, rel=1e-12)


def test_score_needs_queries() -> None:
    with pytest.raises(ValueError, match="score needs queries: give qid= or group="):
        make().fit(DATA).score(XV, YV)


def test_score_needs_labels() -> None:
    with pytest.raises(ValueError, match="label"):
        make().fit(DATA).score(XV, group=GV)


CALLS: dict[str, Callable[[rf.Ranker], Any]] = {
    "predict": lambda ranker: ranker.predict(X),
    "rank": lambda ranker: ranker.rank(X, group=G),
    "score": lambda ranker: ranker.score(X, Y, group=G),
    "score of RankingData": lambda ranker: ranker.score(DATA),
    "save": lambda ranker: ranker.save("never"),
    "best_iteration_": lambda ranker: ranker.best_iteration_,
    "evals_result_": lambda ranker: ranker.evals_result_,
    "booster_": lambda ranker: ranker.booster_,
    "feature_importances_": lambda ranker: ranker.feature_importances_,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_before_fit(call: Callable[[rf.Ranker], Any]) -> None:
    with pytest.raises(NotFittedError):
        call(rf.Ranker())


# LightGBM's callbacks.


def test_callback_that_records() -> None:
    seen: dict[str, Any] = {}
    ranker = make().fit(
        DATA,
        eval_set=[VALID],
        eval_metric=["ndcg@5", "p@5"],
        callbacks=[lgb.record_evaluation(seen)],
    )
    assert {name: dict(values) for name, values in seen.items()} == ranker.evals_result_


def test_callback_that_logs(capsys: pytest.CaptureFixture[str]) -> None:
    ranker = make().fit(DATA, eval_set=[VALID], callbacks=[lgb.log_evaluation(2)])
    history = ranker.evals_result_["valid_0"]["ndcg@10"]
    lines = [f"[{tree}]\tvalid_0's ndcg@10: {history[tree - 1]:g}" for tree in (2, 4)]
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize("metric", ["ndcg@5", "arpb@5"])
@pytest.mark.parametrize("rounds", [1, 2, 50])
def test_callback_that_stops_early(rounds: int, metric: str) -> None:
    given: dict[str, Any] = {"eval_set": [VALID], "eval_metric": metric}
    stop = lgb.early_stopping(rounds, verbose=False)
    ranker = make(n_estimators=12).fit(DATA, **given, callbacks=[stop])
    expected = make(n_estimators=12).fit(DATA, **given, early_stopping_rounds=rounds)
    assert ranker.best_iteration_ == expected.best_iteration_
    assert np.array_equal(ranker.predict(XV), expected.predict(XV))
    assert len(ranker.model_.trees) <= 12


def test_callback_that_says_stop() -> None:
    ranker = make().fit(DATA, callbacks=[lambda moment: moment.iteration == 1])
    assert digest(ranker.model_.trees) == digest(make().fit(DATA).model_.trees[:2])


def test_callback_that_scores() -> None:
    found: list[Any] = []
    ranker = make().fit(
        DATA, callbacks=[lambda m: found.append(m.model.scores(XV, steps=range(m.iteration + 1)))]
    )
    for number, scores in enumerate(found, start=1):
        assert np.array_equal(scores, ranker.predict(XV, num_iteration=number))


def test_callback_that_runs_before_a_tree() -> None:
    def early(moment: Any) -> None:
        raise AssertionError

    early.before_iteration = True  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="callback early wants to run before a tree"):
        make().fit(DATA, callbacks=[early])


def test_callback_that_fails_is_heard() -> None:
    def fail(moment: Any) -> None:
        raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        make().fit(DATA, callbacks=[fail])


# Ctrl-C.


@pytest.mark.parametrize("done", [1, 3])
def test_interrupt_leaves_the_trees_so_far(done: int, tmp_path: Path) -> None:
    def interrupt(moment: Any) -> None:
        if moment.iteration == done - 1:
            raise KeyboardInterrupt

    ranker = make().fit(DATA, eval_set=[VALID], callbacks=[interrupt])
    whole = make().fit(DATA, eval_set=[VALID])
    assert np.array_equal(ranker.predict(X), whole.predict(X, num_iteration=done))
    assert len(ranker.model_.trees) == len(ranker.evals_result_["valid_0"]["ndcg@10"]) == done
    assert not ranker.model_.finished
    ranker.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(X), ranker.predict(X))


def test_interrupt_before_the_first_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankforce.engines.histogram.engine.Histogram.grow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        make().fit(DATA)


def test_interrupt_before_the_first_tree_is_measured() -> None:
    def interrupt(scores: Any, labels: Any) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make().fit(DATA, eval_set=[VALID], eval_metric=rf.metric(interrupt, name="mine"))
