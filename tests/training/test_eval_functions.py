"""Evaluation functions of LightGBM and XGBoost: who is called with what, and what decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

TRAIN = rf.make_data("mslr", queries=12, seed=1)
VALID = rf.make_data("mslr", queries=8, seed=2)
XV, YV, GV = VALID.features, VALID.labels, VALID.group
PARAMS: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 6,
    "learning_rate": 0.3,
    "min_child_samples": 5,
    "seed": 1,
    "threads": 1,
    "progress": False,
}


def fit(eval_set: Any = VALID, **given: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS).fit(TRAIN, eval_set=[eval_set], **given)


def steps(ranker: rf.Ranker) -> list[Any]:
    return [ranker.predict(XV, num_iteration=n) for n in range(1, len(ranker.model_.trees) + 1)]


def correlation(y_true: Any, y_pred: Any) -> tuple[str, float, bool]:
    assert len(y_true) == len(y_pred)
    value = 0.0 if np.ptp(y_pred) == 0 else float(np.corrcoef(y_true, y_pred)[0, 1])
    return "Correlation", value, True


def weighted(y_true: Any, y_pred: Any, weight: Any) -> list[tuple[str, float, bool]]:
    error = (y_true - y_pred) ** 2
    value = np.average(error, weights=weight)
    return [("error", float(value), False), ("least", float(error.min()), False)]


def first_of_group(y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
    ends = np.cumsum(group)
    assert ends[-1] == len(y_true)
    best = [
        y_true[e - n : e][np.argmax(y_pred[e - n : e])] for n, e in zip(group, ends, strict=True)
    ]
    return "top", float(np.mean(best)), True


def test_two_arguments() -> None:
    ranker = fit(eval_metric=correlation)
    expected = [correlation(YV, scores)[1] for scores in steps(ranker)]
    assert ranker.evals_result_ == {"valid_0": {"Correlation": pytest.approx(expected)}}


def test_three_arguments_and_a_list() -> None:
    weight = np.repeat(np.linspace(0.5, 2.0, len(GV)), GV)
    data = rf.RankingData(XV, YV, group=GV, weight=weight)
    ranker = fit(data, eval_metric=["ndcg@5", weighted, "mrr"])
    history = ranker.evals_result_["valid_0"]
    assert list(history) == ["ndcg@5", "error", "least", "mrr"]
    expected = [weighted(YV, scores, weight) for scores in steps(ranker)]
    assert history["error"] == pytest.approx([found[0][1] for found in expected])
    assert history["least"] == pytest.approx([found[1][1] for found in expected])
    assert fit(eval_metric="ndcg@5").evals_result_["valid_0"]["ndcg@5"] != history["ndcg@5"]


def test_three_arguments_without_weights() -> None:
    seen: list[Any] = []

    def mine(y_true: Any, y_pred: Any, weight: Any) -> tuple[str, float, bool]:
        seen.append(weight)
        return "mine", 0.0, True

    fit(eval_metric=mine)
    assert set(seen) == {None}


def test_four_arguments() -> None:
    ranker = fit(eval_metric=first_of_group)
    expected = [first_of_group(YV, scores, None, GV)[1] for scores in steps(ranker)]
    assert ranker.evals_result_ == {"valid_0": {"top": pytest.approx(expected)}}


def test_queries_in_any_order_come_one_behind_the_other() -> None:
    order = np.random.default_rng(0).permutation(VALID.rows)
    mixed = rf.RankingData(XV[order], YV[order], qid=VALID.qid[order])

    def spread(y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        ends = np.cumsum(group)
        products = [y_true[e - n : e] @ y_pred[e - n : e] for n, e in zip(group, ends, strict=True)]
        return "spread", float(np.std(products)), True

    got = fit(mixed, eval_metric=spread).evals_result_["valid_0"]["spread"]
    assert got == pytest.approx(fit(eval_metric=spread).evals_result_["valid_0"]["spread"])


@pytest.mark.parametrize("rounds", [1, 3])
@pytest.mark.parametrize(("function", "higher"), [(correlation, True), (weighted, False)])
def test_it_decides(function: Any, higher: bool, rounds: int) -> None:
    values = next(iter(fit(eval_metric=function).evals_result_["valid_0"].values()))
    signed = values if higher else [-value for value in values]
    best, end = 1, 1
    for end in range(2, len(values) + 1):
        best = end if signed[end - 1] > signed[best - 1] else best
        if end - best >= rounds:
            break
    ranker = fit(eval_metric=[function, "ndcg@5"], early_stopping_rounds=rounds)
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)


def top_grade(y_true: Any, y_score: Any) -> float:
    return float(y_true[np.argmax(y_score)])


def over_queries(function: Any, scores: Any) -> list[float]:
    ends = np.cumsum(GV)
    return [
        1.0 if n == 1 else function(YV[e - n : e], scores[e - n : e])
        for n, e in zip(GV, ends, strict=True)
    ]


def test_a_number_is_of_one_query_and_a_cost() -> None:
    ranker = fit(eval_metric=top_grade)
    values = ranker.evals_result_["valid_0"]["top_grade"]
    expected = [np.mean(over_queries(top_grade, scores)) for scores in steps(ranker)]
    assert values == pytest.approx(expected)
    assert ranker.best_iteration_ == 1 + int(np.argmin(values))


def test_xgboost_calls_it_with_the_same_queries() -> None:
    """But it weighs a query by the number of its documents (3.2)."""
    theirs = xgb.XGBRanker(eval_metric=top_grade, n_estimators=2, n_jobs=1)
    theirs.fit(
        TRAIN.features, TRAIN.labels, group=TRAIN.group, eval_set=[(XV, YV)], eval_group=[GV]
    )
    scores = theirs.predict(XV).astype(float)
    expected = theirs.evals_result()["validation_0"]["top_grade"][-1]
    weighed = np.average(over_queries(top_grade, scores), weights=GV)
    assert weighed == pytest.approx(expected, rel=1e-5)


def test_a_cost_that_decides_is_told() -> None:
    with pytest.warns(Note, match="top_grade decides when to stop and is a cost"):
        fit(eval_metric=top_grade, early_stopping_rounds=2)


@pytest.mark.parametrize("maximize", [True, False])
def test_xgboosts_callback_says_the_direction(maximize: bool) -> None:
    values = fit(eval_metric=top_grade).evals_result_["valid_0"]["top_grade"]
    stop = xgb.callback.EarlyStopping(rounds=50, maximize=maximize)
    ranker = fit(eval_metric=top_grade, callbacks=[stop])
    assert ranker.best_iteration_ == 1 + int((np.argmax if maximize else np.argmin)(values))


def test_functions_of_ones_own_are_as_before() -> None:
    def mine(scores: Any, labels: Any) -> float:
        return top_grade(labels, scores)

    values = fit(eval_metric=mine).evals_result_["valid_0"]["mine"]
    assert values == fit(eval_metric=top_grade).evals_result_["valid_0"]["top_grade"]


def broken(y_true: Any, y_pred: Any) -> Any:
    return "broken", "high", True


def too_much(y_true: Any, y_pred: Any, weight: Any) -> Any:
    return 0.5


def ndcg(y_true: Any, y_pred: Any) -> Any:
    return "ndcg@5", 0.5, True


MISTAKES: list[tuple[Any, str]] = [
    (broken, "broken returned .*: expected .name, value, is_higher_better."),
    (too_much, "too_much returned 0.5: expected"),
    (["ndcg@5", ndcg], "the metric NDCG@5 is asked for twice"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES, ids=[m for _, m in MISTAKES])
def test_mistakes(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(eval_metric=given)


def test_where_every_query_needs_a_value() -> None:
    ranker = fit()
    for call in (
        lambda: ranker.score(VALID, metric=correlation),
        lambda: rf.cv(PARAMS, TRAIN, folds=2, metrics=[correlation]),
        lambda: rf.Ranker(**PARAMS).fit(TRAIN, callbacks=[rf.Recorder(metrics=[correlation])]),
    ):
        with pytest.raises(ValueError, match="correlation takes labels first"):
            call()


def test_nothing_to_measure_on() -> None:
    ranker = rf.Ranker(**PARAMS).fit(TRAIN, eval_metric=correlation)
    assert np.array_equal(ranker.predict(VALID), fit().predict(VALID))
