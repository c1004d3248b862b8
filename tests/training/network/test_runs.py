"""Runs of networks: early stopping, callbacks, all forms of data, scikit-learn's manners."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.data.stored import StoredColumns
from tests.training.network.small import (
    KINDS,
    QID,
    SGD,
    TRAIN,
    VALID,
    X,
    Y,
    make_small,
    ranker,
    same_weights,
    weights,
)

OTHER = make_small(15, seed=3)


def measured(one: rf.Ranker, data: rf.RankingData, metric: str = "ndcg@10") -> float:
    values = rf.metric(metric)(one.predict(data), data.labels, qid=data.qid)
    return float(np.mean(values))


class TestEarlyStopping:
    run = SGD | {"epochs": 60, "learning_rate": 0.05, "early_stopping_rounds": 4}

    def test_scores_are_those_of_the_best_epoch(self) -> None:
        """Plain steps do not know how many are to come: a run of as many ends there."""
        one = ranker(**self.run).fit(TRAIN, eval_set=[VALID])
        best = one.best_iteration_
        assert best == one.n_estimators_ == one.model_.steps - 4
        alone = ranker(**SGD | {"epochs": best, "learning_rate": 0.05}).fit(TRAIN)
        assert np.array_equal(one.predict(VALID), alone.predict(VALID))
        last = one.predict(VALID, num_iteration=one.model_.steps)
        assert not np.array_equal(one.predict(VALID), last)

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_history_is_of_those_scores(self, kind: str) -> None:
        one = ranker(kind, epochs=30, early_stopping_rounds=3).fit(TRAIN, eval_set=[VALID])
        history = one.evals_result_["valid_0"]["ndcg@10"]
        assert len(history) == one.model_.steps
        assert int(np.argmax(history)) + 1 == one.best_iteration_
        assert history[one.best_iteration_ - 1] == pytest.approx(measured(one, VALID), abs=1e-9)
        assert one.best_score_ == {"valid_0": {"ndcg@10": max(history)}}

    def test_the_one_of_lightgbm(self) -> None:
        found: dict[str, Any] = {}
        calls = [lgb.early_stopping(4, verbose=False), lgb.record_evaluation(found)]
        run = self.run | {"early_stopping_rounds": None}
        one = ranker(**run).fit(TRAIN, eval_set=[VALID], callbacks=calls)
        other = ranker(**self.run).fit(TRAIN, eval_set=[VALID])
        assert one.best_iteration_ == other.best_iteration_
        assert same_weights(one, other)
        assert found == one.evals_result_

    def test_a_callback_may_name_an_epoch_that_is_gone(self) -> None:
        class Stop(Exception):  # noqa: N818 - as LightGBM's
            best_iteration = 0

        def stop(moment: Any) -> None:
            if moment.iteration == 3:
                raise Stop

        with pytest.warns(Note, match="behind 1 epochs are not kept: those behind 4 are"):
            one = ranker(epochs=9).fit(TRAIN, callbacks=[stop])
        assert (one.n_estimators_, one.model_.steps) == (4, 4)


def test_several_sets() -> None:
    one = ranker("mlp").fit(
        TRAIN,
        eval_set=[TRAIN, VALID, OTHER],
        eval_names=["own", "valid", "other"],
        eval_metric=["ndcg@3", "map"],
    )
    assert [*one.evals_result_] == ["own", "valid", "other"]
    for name, data in (("own", TRAIN), ("valid", VALID), ("other", OTHER)):
        for metric in ("ndcg@3", "map"):
            history = one.evals_result_[name][metric]
            assert len(history) == 4
            assert history[-1] == pytest.approx(measured(one, data, metric), abs=1e-9)


def test_callbacks_see_every_epoch() -> None:
    seen = []

    def look(moment: Any) -> None:
        scores = moment.model.scores(X)
        assert moment.scores == pytest.approx(scores, abs=1e-6)
        ready = moment.objective.bind(moment.data, moment.queries)
        if seen:
            lam, _ = ready.gradients(seen[-1][1], norm="none", iteration=moment.iteration)
            assert np.array_equal(moment.lam, lam)
        seen.append((moment.iteration, moment.scores.copy()))
        assert [one.metric_name for one in moment.evaluation_result_list] == ["ndcg@10"]

    one = ranker("mlp").fit(TRAIN, eval_set=[VALID], callbacks=[look])
    assert [number for number, _ in seen] == [0, 1, 2, 3]
    assert same_weights(one, ranker("mlp").fit(TRAIN, eval_set=[VALID]))


def test_a_recorder() -> None:
    recorder = rf.Recorder(every=2, metrics="ndcg@5")
    one = ranker("attention", k=5).fit(TRAIN, callbacks=[recorder])
    assert recorder.curves.steps == [1, 3, 4]
    series = recorder.curves.series["metrics"]["NDCG@5"]
    assert series[-1] == pytest.approx(measured(one, TRAIN, "ndcg@5"), abs=1e-9)


def test_progress(capfd: pytest.CaptureFixture[str]) -> None:
    constant = X.copy()
    constant[:, 2] = 7.0
    data = rf.RankingData(constant, Y, qid=QID, feature_names=[*"abcdef"])
    one = ranker(progress=True, early_stopping_rounds=9).fit(data, eval_set=[data, VALID])
    lines = capfd.readouterr().err.splitlines()
    assert "1 feature has one value in all of training ('c'): it is left out" in lines
    assert "ndcg@10 on valid_1 decides when to stop" in lines
    assert any(line.startswith("epoch 4/4  ") and " ndcg@10 0." in line for line in lines)
    assert not any("tree" in line for line in lines)
    assert np.isfinite(one.predict(data)).all()
    assert weights(one)["weight.weight"][0, 2] == 0.0


# Forms of data.


def close(one: rf.Ranker, other: rf.Ranker) -> bool:
    """The same up to the rounding of means over blocks of rows."""
    return all(
        np.allclose(values, weights(other)[name], rtol=1e-3, atol=1e-5)
        for name, values in weights(one).items()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_and_stored_features(kind: str, tmp_path: Path) -> None:
    dense = np.where(np.abs(X) < 0.7, np.float32(0), X)
    names = [f"f{column}" for column in range(X.shape[1])]
    expected = ranker(kind).fit(dense, Y, qid=QID)
    sparse = scipy.sparse.csr_matrix(dense)
    frame = pd.DataFrame(dense, columns=names)
    frame.to_parquet(tmp_path / "features.parquet", row_group_size=50)
    stored = StoredColumns(tmp_path / "features.parquet")
    for features in (sparse, stored):
        data = rf.RankingData(features, Y, qid=QID)
        one = ranker(kind).fit(data, eval_set=[data])
        assert close(one, expected)
        assert one.predict(data) == pytest.approx(expected.predict(dense, qid=QID), abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_with_gaps_and_categories(kind: str) -> None:
    """What is missing, and what kind a document is, is all that tells of its grade."""
    rng = np.random.default_rng(8)
    places = rng.choice(["a", "b", "c"], len(Y))
    labels = 2.0 * (places == "b") + (rng.uniform(size=len(Y)) < 0.5)
    gap = np.where(labels % 2 == 1, np.nan, rng.normal(size=len(Y)))
    frame = pd.DataFrame({"noise": X[:, 0], "place": pd.Categorical(places), "gap": gap})
    calm = {} if kind == "linear" else {"dropout": 0.0}
    one = ranker(kind, epochs=60, learning_rate=0.1, **calm).fit(frame, labels, qid=QID)
    scores = one.predict(frame, qid=QID)
    data = rf.RankingData(frame, labels, qid=QID)
    assert measured(one, data, "ndcg") > 0.97
    assert np.isfinite(scores).all()
    turned = frame.assign(place=frame["place"].cat.reorder_categories(["c", "b", "a"]))
    assert np.array_equal(one.predict(turned[["gap", "place", "noise"]], qid=QID), scores)
    strange = frame.assign(place=pd.Categorical(["elsewhere"] * len(Y)), gap=np.nan, noise=np.nan)
    with pytest.warns(Note, match="none of its values is known from training"):
        assert np.isfinite(one.predict(strange, qid=QID)).all()


def test_a_number_for_what_is_missing() -> None:
    holes = np.where(X > 1.5, np.nan, X)
    one = ranker("mlp").fit(holes, Y, qid=QID)
    other = ranker("mlp", missing=-9.0).fit(np.where(X > 1.5, -9.0, X), Y, qid=QID)
    assert same_weights(one, other)
    assert np.array_equal(one.predict(holes), other.predict(np.where(X > 1.5, -9.0, X)))


def test_scores_to_start_from_are_added() -> None:
    start = Y * 3.0
    one = ranker().fit(X, Y, qid=QID, init_score=start)
    assert not same_weights(one, ranker().fit(TRAIN))
    plain = one.predict(X)
    assert one.predict(X, init_score=start) == pytest.approx(plain + start)


def test_queries_without_pairs_do_not_matter_to_plain_steps() -> None:
    """Among others they are fine; their documents have no force."""
    lonely = np.ones((3, X.shape[1]), np.float32)
    given = SGD | {"scaling": "none"}
    more = ranker(**given).fit(
        np.concatenate([X, lonely]),
        np.concatenate([Y, [1, 2, 2]]),
        qid=np.concatenate([QID, [5000, 5001, 5001]]),
    )
    kept = ranker(**given).fit(TRAIN)
    assert np.allclose(weights(more)["weight.weight"], weights(kept)["weight.weight"], atol=1e-7)


# scikit-learn.


def test_clone_and_parameters() -> None:
    one = ranker("mlp", seed=4)
    params = one.get_params()
    assert (params["model"], params["hidden"], params["epochs"]) == ("mlp", [8, 4], 4)
    twin = clone(one.fit(TRAIN))
    assert not hasattr(twin, "model_")
    assert same_weights(twin.fit(TRAIN), one)
    assert not same_weights(clone(one).set_params(seed=5).fit(TRAIN), one)


def test_grid_search() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        one = ranker("attention").set_fit_request(qid=True).set_score_request(qid=True)
        grid = {"learning_rate": [1e-6, 0.1], "hidden": [[4], [8]]}
        search = GridSearchCV(one, grid, cv=GroupKFold(2), error_score="raise")
        search.fit(X, Y, groups=QID, qid=QID)
    assert len(set(search.cv_results_["mean_test_score"])) > 1
    assert search.best_estimator_.predict(X, qid=QID).shape == (len(Y),)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_of_a_fitted_ranker(kind: str, tmp_path: Path) -> None:
    one = ranker(kind).fit(TRAIN, eval_set=[VALID])
    expected = one.predict(VALID)
    joblib.dump(one, tmp_path / "ranker.joblib")
    for twin in (
        copy.deepcopy(one),
        pickle.loads(pickle.dumps(one)),
        joblib.load(tmp_path / "ranker.joblib"),
    ):
        assert np.array_equal(twin.predict(VALID), expected)
        assert twin.evals_result_ == one.evals_result_


# Beside scores.


def test_ranking_and_scoring() -> None:
    one = ranker("attention", objective="lambdarank-ndcg", k=5).fit(TRAIN)
    assert one.score(VALID) == pytest.approx(measured(one, VALID, "ndcg@5"))
    assert one.score(VALID.features, VALID.labels, qid=VALID.qid) == one.score(VALID)
    best = one.rank(VALID, top=1)
    scores = one.predict(VALID)
    for row, qid in zip(best.row, VALID.qid[best.row], strict=True):
        assert scores[row] == scores[VALID.qid == qid].max()


def test_attention_sees_the_list() -> None:
    one = ranker("attention", epochs=8, learning_rate=0.1).fit(TRAIN)
    alone = one.predict(VALID.features, qid=np.arange(VALID.rows))
    assert not np.allclose(one.predict(VALID), alone)
    assert np.allclose(
        ranker("mlp").fit(TRAIN).predict(VALID),
        ranker("mlp").fit(TRAIN).predict(VALID.features, qid=np.arange(VALID.rows)),
    )
