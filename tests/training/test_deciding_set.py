"""Which data set decides when to stop: one rule, whoever asks for early stopping."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rankforce as rf

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

TRAIN = rf.make_data("mslr", queries=12, seed=1)
VALID = rf.make_data("mslr", queries=8, seed=2)
OTHER = rf.make_data("mslr", queries=6, seed=3)
TREES = 14
PARAMS: dict[str, Any] = {
    "n_estimators": TREES,
    "num_leaves": 6,
    "learning_rate": 0.3,
    "min_child_samples": 5,
    "seed": 1,
    "engine": "lightgbm",  # whose curves the tests below were chosen by
    "threads": 1,
    "progress": False,
}
METRIC = "ndcg@5"


def fit(data: Any = TRAIN, **given: Any) -> rf.Ranker:
    params = {"n_estimators", "min_delta", "checkpoint", "progress"}
    ranker = rf.Ranker(**PARAMS | {n: v for n, v in given.items() if n in params})
    rest = {n: v for n, v in given.items() if n not in params}
    return ranker.fit(data, **{"eval_metric": METRIC} | rest)


def naive(values: list[float], rounds: int, delta: float = 0.0) -> tuple[int, int]:
    """Number of trees at the best value, and of those grown when training stops."""
    best, number = 1, 1
    for number in range(2, len(values) + 1):
        if values[number - 1] - values[best - 1] > delta:
            best = number
        if number - best >= rounds:
            break
    return best, number


def copied(data: rf.RankingData) -> rf.RankingData:
    """The same rows, other objects, other names of queries."""
    return rf.RankingData(
        data.features.copy(), data.labels.copy(), qid=[f"q{query}" for query in data.qid]
    )


WAYS: dict[str, dict[str, Any]] = {
    "parameter": {"early_stopping_rounds": 3},
    "LightGBM's callback": {"callbacks": [lgb.early_stopping(3, verbose=False)]},
    "LightGBM's, first metric": {
        "callbacks": [lgb.early_stopping(3, first_metric_only=True, verbose=False)]
    },
    "XGBoost's callback": {"callbacks": [xgb.callback.EarlyStopping(rounds=3)]},
    "XGBoost's, named": {
        "callbacks": [
            xgb.callback.EarlyStopping(rounds=3, metric_name=METRIC, maximize=True, save_best=True)
        ]
    },
}
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@pytest.fixture(scope="module")
def whole() -> rf.Ranker:
    """All trees, with every history."""
    return fit(eval_set=[TRAIN, VALID, OTHER])


def test_the_sets_do_not_agree(whole: rf.Ranker) -> None:
    """Otherwise the tests below would show little."""
    ends = [naive(history[METRIC], 3) for history in whole.evals_result_.values()]
    assert len({*ends}) == 3
    assert ends[0][1] == TREES > ends[1][1]


SETS: dict[str, list[Any]] = {
    "the same object": [TRAIN, VALID],
    "the same rows": [copied(TRAIN), VALID],
    "sparse": [
        rf.RankingData(sparse.csr_matrix(TRAIN.features), TRAIN.labels, group=TRAIN.group),
        VALID,
    ],
    "behind": [VALID, TRAIN],
    "between": [VALID, TRAIN, OTHER],
    "first": [TRAIN, VALID, OTHER],
}


@every_way
@pytest.mark.parametrize("sets", SETS.values(), ids=SETS)
def test_the_first_other_set_decides(whole: rf.Ranker, sets: list[Any], way: Any) -> None:
    values = whole.evals_result_["valid_1"][METRIC]
    best, end = naive(values, 3)
    ranker = fit(eval_set=sets, **way)
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
    assert np.array_equal(ranker.predict(VALID), whole.predict(VALID, num_iteration=best))
    name = f"valid_{sets.index(VALID)}"
    assert ranker.best_score == values[best - 1] == ranker.best_score_[name][METRIC]
    assert ranker.best_iteration == best - 1
    position = next(number for number, one in enumerate(sets) if one.rows == TRAIN.rows)
    own = "training" if sets[position] is TRAIN else f"valid_{position}"
    assert ranker.evals_result_[own][METRIC] == whole.evals_result_["training"][METRIC][:end]


@every_way
def test_names_do_not_matter(whole: rf.Ranker, way: Any) -> None:
    ranker = fit(eval_set=[TRAIN, VALID], eval_names=["mine", "held out"], **way)
    best = naive(whole.evals_result_["valid_1"][METRIC], 3)[0]
    assert ranker.best_iteration_ == best
    assert ranker.best_score == ranker.evals_result_["held out"][METRIC][best - 1]
    named = fit(eval_set=[TRAIN, VALID], eval_names=["training", "held out"], **way)
    assert named.best_iteration_ == best


def test_arrays_of_the_training_set() -> None:
    X, y, G = TRAIN.features, TRAIN.labels, TRAIN.group
    held = VALID.features, VALID.labels
    given: dict[str, Any] = {"eval_metric": METRIC, "early_stopping_rounds": 3}
    both = rf.Ranker(**PARAMS).fit(
        X, y, group=G, eval_set=[(X, y), held], eval_group=[G, VALID.group], **given
    )
    one = rf.Ranker(**PARAMS).fit(X, y, group=G, eval_set=held, eval_group=[VALID.group], **given)
    assert both.model_.text() == one.model_.text()
    assert list(both.evals_result_) == ["training", "valid_1"]
    assert both.evals_result_["valid_1"] == one.evals_result_["valid_0"]


@every_way
def test_only_the_training_set(way: Any) -> None:
    with pytest.raises(ValueError, match="the training set, which never decides: add one"):
        fit(eval_set=[TRAIN], **way)


def test_only_the_training_set_without_stopping() -> None:
    """It is watched, and all trees are the best that is known."""
    ranker = fit(eval_set=[TRAIN])
    assert ranker.best_iteration_ == TREES
    assert ranker.best_score is None
    assert len(ranker.evals_result_["training"][METRIC]) == TREES


@every_way
def test_no_set(way: Any) -> None:
    with pytest.raises(ValueError, match="early_stopping_rounds needs a validation set"):
        fit(**way)


def test_the_same_rows_with_other_labels_decide(whole: rf.Ranker) -> None:
    labels = np.roll(TRAIN.labels, 1)
    other = rf.RankingData(TRAIN.features, labels, group=TRAIN.group)
    ranker = fit(eval_set=[TRAIN, other], early_stopping_rounds=3)
    assert ranker.best_score == ranker.evals_result_["valid_1"][METRIC][ranker.best_iteration]


def test_the_training_set_starts_from_its_own_scores() -> None:
    start = np.random.default_rng(0).normal(size=TRAIN.rows)
    ranker = fit(eval_set=[TRAIN], init_score=start, n_estimators=1)
    scores = ranker.predict(TRAIN, init_score=start)
    expected = rf.metric(METRIC)(scores, TRAIN.labels, group=TRAIN.group).mean()
    assert ranker.evals_result_["training"][METRIC] == [pytest.approx(expected, rel=1e-12)]


def test_other_sets_have_other_names() -> None:
    with pytest.raises(ValueError, match="two data sets are called 'training'"):
        fit(eval_set=[VALID], eval_names=["training"])
    with pytest.raises(ValueError, match="two data sets are called 'training'"):
        fit(eval_set=[TRAIN, TRAIN])


@pytest.mark.parametrize("delta", [0.01, [0.01]])
def test_least_improvement(whole: rf.Ranker, delta: Any) -> None:
    stop = lgb.early_stopping(3, verbose=False, min_delta=delta)
    values = whole.evals_result_["valid_1"][METRIC]
    best, end = naive(values, 3, 0.01)
    assert (best, end) != naive(values, 3)
    ranker = fit(eval_set=[TRAIN, VALID], callbacks=[stop])
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
    same = fit(
        eval_set=[TRAIN, VALID], callbacks=[xgb.callback.EarlyStopping(rounds=3, min_delta=0.01)]
    )
    assert (same.best_iteration_, len(same.model_.trees)) == (best, end)


def test_the_first_of_several_metrics_decides(whole: rf.Ranker) -> None:
    stop = lgb.early_stopping(3, verbose=False, min_delta=[0.0, 5.0])
    ranker = fit(eval_set=[TRAIN, VALID], eval_metric=[METRIC, "mrr"], callbacks=[stop])
    assert ranker.best_iteration_ == naive(whole.evals_result_["valid_1"][METRIC], 3)[0]


def test_a_scorecard_follows_the_same_set() -> None:
    card = rf.scorecard([METRIC, "mrr"], tolerance=0.01)
    expected = fit(eval_set=[VALID], eval_metric=card, early_stopping_rounds=3)
    ranker = fit(eval_set=[TRAIN, VALID], eval_metric=card, early_stopping_rounds=3)
    assert ranker.best_iteration_ == expected.best_iteration_
    assert ranker.n_estimators_ == ranker.n_iter_ == ranker.best_iteration_
    tests = rf.scorecard([METRIC, "mrr"], level=0.2)
    expected = fit(eval_set=[VALID], eval_metric=tests, early_stopping_rounds=3)
    ranker = fit(eval_set=[TRAIN, VALID], eval_metric=tests, early_stopping_rounds=3)
    assert ranker.best_iteration_ == expected.best_iteration_


def test_a_run_that_goes_on_keeps_the_rule(whole: rf.Ranker, tmp_path: Path) -> None:
    stop = [lgb.early_stopping(3, verbose=False)]
    fit(eval_set=[TRAIN, VALID], callbacks=stop, checkpoint=tmp_path, n_estimators=2)
    ranker = fit(eval_set=[TRAIN, VALID], callbacks=stop, checkpoint=tmp_path)
    best, end = naive(whole.evals_result_["valid_1"][METRIC], 3)
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
    assert rf.load(tmp_path).best_score == ranker.best_score


def test_the_rule_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="rankforce"):
        fit(eval_set=[TRAIN, VALID], early_stopping_rounds=3, progress=None)
    assert f"{METRIC} on valid_1 decides when to stop" in caplog.messages


def test_a_callback_that_does_not_stop() -> None:
    stop = lgb.early_stopping(0, verbose=False)
    assert len(fit(eval_set=[TRAIN, VALID], callbacks=[stop]).model_.trees) == TREES


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"callbacks": [xgb.callback.EarlyStopping(rounds=3, data_name="validation_0")]},
        "data_name='validation_0', but valid_1 decides",
    ),
    (
        {"callbacks": [xgb.callback.EarlyStopping(rounds=3, metric_name="map")]},
        "metric_name='map', but the first metric decides, ndcg@5",
    ),
    (
        {"callbacks": [xgb.callback.EarlyStopping(rounds=3, maximize=False)]},
        "maximize=False, but ndcg@5 is better when higher",
    ),
    (
        {"callbacks": [lgb.early_stopping(3, verbose=False)], "early_stopping_rounds": 4},
        "early_stopping_rounds is 4, but the callback _EarlyStoppingCallback says 3",
    ),
    (
        {"callbacks": [lgb.early_stopping(3, verbose=False, min_delta=[0.1, 0.1, 0.1])]},
        "3 values of min_delta for 1 metrics",
    ),
    ({"callbacks": [xgb.callback.TrainingCheckPoint("x")]}, "checkpoint= writes while training"),
    ({"callbacks": [3]}, "callback 3 cannot be called"),
    (
        {"callbacks": [lgb.reset_parameter(num_leaves=[3] * TREES)]},
        "changes num_leaves: only learning_rate can change while training",
    ),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_cannot_be_followed(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(eval_set=[TRAIN, VALID], **given)


def test_two_wishes_must_agree() -> None:
    stop = xgb.callback.EarlyStopping(rounds=3, min_delta=0.01)
    ranker = rf.Ranker(**PARAMS, early_stopping_rounds=3, min_delta=0.01)
    ranker.fit(TRAIN, eval_set=[VALID], callbacks=[stop])
    for given in ({"early_stopping_rounds": 4}, {"min_delta": 0.5}):
        with pytest.raises(ValueError, match=f"{next(iter(given))} is .*, but the callback"):
            rf.Ranker(**PARAMS, **given).fit(TRAIN, eval_set=[VALID], callbacks=[stop])


def test_named_by_xgboost() -> None:
    stop = xgb.callback.EarlyStopping(rounds=3, data_name="validation_1")
    ranker = fit(eval_set=[TRAIN, VALID], callbacks=[stop])
    expected = fit(eval_set=[VALID], early_stopping_rounds=3)
    assert ranker.best_iteration_ == expected.best_iteration_
