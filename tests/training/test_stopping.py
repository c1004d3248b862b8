"""Histories, the best iteration and early stopping, against a naive reference."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankforce as rf
from rankforce.training.watch import best_iteration

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
    "threads": 1,
    "progress": False,
}
HIGH, LOW = "ndcg@5", "arpb@5"


def fit(**given: Any) -> rf.Ranker:
    fitting = {"eval_set", "eval_metric", "early_stopping_rounds", "eval_names", "callbacks"}
    params = {name: value for name, value in given.items() if name not in fitting}
    return rf.Ranker(**PARAMS | params).fit(
        TRAIN, **{name: value for name, value in given.items() if name in fitting}
    )


def naive(
    values: list[float], higher: bool, rounds: int | None, delta: float = 0.0
) -> tuple[int, int]:
    """Number of trees at the best value, and of those grown when training stops."""
    best, best_value, number = 1, values[0], 1
    for number, value in enumerate(values[1:], start=2):
        gain = value - best_value if higher else best_value - value
        if gain > delta:
            best, best_value = number, value
        if rounds is not None and number - best >= rounds:
            break
    return best, number


def recomputed(ranker: rf.Ranker, data: rf.RankingData, metric: Any) -> list[float]:
    measure = rf.metric(metric).prepare(data.labels, qid=data.qid)
    return [
        float(measure.values(ranker.predict(data, num_iteration=number)).mean())
        for number in range(1, len(ranker.model_.trees) + 1)
    ]


@pytest.fixture(scope="module")
def whole() -> rf.Ranker:
    """All trees, with every history."""
    return fit(eval_set=[VALID, OTHER], eval_metric=[HIGH, LOW, "mrr"])


def test_the_histories_go_up_and_down(whole: rf.Ranker) -> None:
    """Otherwise the tests below would show little."""
    for name, higher in ((HIGH, True), (LOW, False)):
        assert naive(whole.evals_result_["valid_0"][name], higher, 1)[1] < TREES
        assert naive(whole.evals_result_["valid_0"][name], higher, None)[0] > 1
    bests = {
        naive(values, name != LOW, None)[0]
        for part in whole.evals_result_.values()
        for name, values in part.items()
    }
    assert len(bests) >= 2


def test_history_is_the_metric_of_the_first_trees(whole: rf.Ranker) -> None:
    for name, data in (("valid_0", VALID), ("valid_1", OTHER)):
        for metric in (HIGH, LOW, "mrr"):
            assert whole.evals_result_[name][metric] == recomputed(whole, data, metric)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("step", ["newton", "exact-newton", "gradient"])
def test_history_in_other_runs(step: str, threads: int) -> None:
    ranker = fit(eval_set=[VALID], eval_metric=HIGH, step=step, threads=threads, n_estimators=4)
    assert ranker.evals_result_["valid_0"][HIGH] == recomputed(ranker, VALID, HIGH)


@pytest.mark.parametrize(("metric", "higher"), [(HIGH, True), (LOW, False)])
@pytest.mark.parametrize("rounds", [1, 2, 4, 100])
def test_early_stopping(whole: rf.Ranker, metric: str, higher: bool, rounds: int) -> None:
    values = whole.evals_result_["valid_0"][metric]
    best, end = naive(values, higher, rounds)
    ranker = fit(eval_set=[VALID], eval_metric=metric, early_stopping_rounds=rounds)
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
    assert ranker.evals_result_ == {"valid_0": {metric: values[:end]}}
    assert np.array_equal(ranker.predict(VALID), whole.predict(VALID, num_iteration=best))
    assert ranker.booster_.num_trees() == best


@pytest.mark.parametrize(("metric", "higher"), [(HIGH, True), (LOW, False)])
def test_best_iteration_without_stopping(whole: rf.Ranker, metric: str, higher: bool) -> None:
    """It is known, but all trees make the scores."""
    ranker = fit(eval_set=[VALID], eval_metric=metric)
    assert ranker.best_iteration_ == naive(whole.evals_result_["valid_0"][metric], higher, None)[0]
    assert np.array_equal(ranker.predict(VALID), whole.predict(VALID, num_iteration=TREES))


def test_best_iteration_without_validation() -> None:
    ranker = fit(n_estimators=3)
    assert ranker.best_iteration_ == 3
    assert ranker.evals_result_ == {}


@pytest.mark.parametrize("sets", [("valid_0", "valid_1"), ("valid_1", "valid_0")])
@pytest.mark.parametrize("metrics", [(HIGH, LOW), (LOW, "mrr", HIGH)])
def test_the_first_metric_of_the_first_set_decides(
    whole: rf.Ranker, metrics: tuple[str, ...], sets: tuple[str, str]
) -> None:
    data = {"valid_0": VALID, "valid_1": OTHER}
    values = whole.evals_result_[sets[0]][metrics[0]]
    best, end = naive(values, metrics[0] != LOW, 2)
    ranker = fit(
        eval_set=[data[name] for name in sets],
        eval_names=list(sets),
        eval_metric=list(metrics),
        early_stopping_rounds=2,
    )
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)
    assert ranker.evals_result_ == {
        name: {metric: whole.evals_result_[name][metric][:end] for metric in metrics}
        for name in sets
    }


def improvements(values: list[float], higher: bool) -> list[float]:
    """By how much each new best value is better than the one before."""
    bests = list(dict.fromkeys((np.maximum if higher else np.minimum).accumulate(values)))
    return [abs(float(after - before)) for before, after in itertools.pairwise(bests)]


@pytest.mark.parametrize(("metric", "higher"), [(HIGH, True), (LOW, False)])
@pytest.mark.parametrize("rounds", [3, 100])
@pytest.mark.parametrize("large", [False, True])
def test_min_delta(whole: rf.Ranker, metric: str, higher: bool, rounds: int, large: bool) -> None:
    """Half the smallest improvement changes nothing; more than the largest, and the first stays."""
    values = whole.evals_result_["valid_0"][metric]
    steps = improvements(values, higher)
    delta = sum(steps) * 1.01 if large else min(steps) / 2
    best, end = naive(values, higher, rounds, delta)
    assert (best, end) == ((1, min(1 + rounds, TREES)) if large else naive(values, higher, rounds))
    ranker = fit(
        eval_set=[VALID], eval_metric=metric, early_stopping_rounds=rounds, min_delta=delta
    )
    assert (ranker.best_iteration_, len(ranker.model_.trees)) == (best, end)


# A user's function.


def top_label(scores: Any, labels: Any) -> float:
    return float(labels[np.argmax(scores)])


def regret(scores: Any, labels: Any) -> float:
    return float(labels.max() - labels[np.argmax(scores)])


def naive_mean(function: Any, ranker: rf.Ranker, number: int) -> float:
    scores = ranker.predict(VALID, num_iteration=number)
    values = [
        function(scores[query == VALID.qid], VALID.labels[query == VALID.qid])
        for query in np.unique(VALID.qid)
    ]
    return float(np.mean(values))


@pytest.mark.parametrize(
    ("function", "higher"), [(top_label, True), (regret, False)], ids=["high", "low"]
)
def test_a_function_decides(function: Any, higher: bool) -> None:
    metric = rf.metric(function, name="mine", higher_is_better=higher)
    ranker = fit(eval_set=[VALID], eval_metric=[metric, HIGH], early_stopping_rounds=3)
    values = ranker.evals_result_["valid_0"]["mine"]
    assert values == pytest.approx(
        [naive_mean(function, ranker, number) for number in range(1, len(values) + 1)]
    )
    assert (ranker.best_iteration_, len(values)) == naive(values, higher, 3)


def test_a_bare_function() -> None:
    ranker = fit(eval_set=[VALID], eval_metric=top_label, n_estimators=3)
    expected = [naive_mean(top_label, ranker, number) for number in (1, 2, 3)]
    assert ranker.evals_result_["valid_0"]["top_label"] == pytest.approx(expected)


def test_a_function_that_knows_no_value() -> None:
    """NaN is a query that does not count; if none counts, there is nothing to decide by."""
    never = rf.metric(lambda scores, labels: math.nan, name="never")
    ranker = fit(eval_set=[VALID], eval_metric=never, early_stopping_rounds=1, n_estimators=4)
    assert np.isnan(ranker.evals_result_["valid_0"]["never"]).all()
    assert len(ranker.model_.trees) == ranker.best_iteration_ == 4


def test_a_function_that_is_interrupted() -> None:
    """Ctrl-C while a metric is computed: every history has one value for each tree of the model."""
    calls = 0

    def interrupts(scores: Any, labels: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 2 * len(VALID.sizes) + 3:
            raise KeyboardInterrupt
        return 0.5

    metrics = [HIGH, rf.metric(interrupts, name="mine")]
    ranker = fit(eval_set=[VALID], eval_metric=metrics)
    history = ranker.evals_result_["valid_0"]
    assert len(history[HIGH]) == len(history["mine"]) == len(ranker.model_.trees)


values = st.lists(
    st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(-1, 1)), min_size=1, max_size=30
)


@given(values, st.booleans(), st.sampled_from([0.0, 0.25, 0.3]))
@settings(max_examples=200, deadline=None)
def test_best_iteration_is_the_naive_one(history: list[float], higher: bool, delta: float) -> None:
    assert best_iteration(history, higher, delta) == naive(history, higher, None, delta)[0]


@given(values, st.booleans())
@settings(max_examples=100, deadline=None)
def test_without_delta_it_is_the_first_best(history: list[float], higher: bool) -> None:
    wanted = max(history) if higher else min(history)
    assert best_iteration(history, higher) == 1 + history.index(wanted)


def test_nan_is_never_best() -> None:
    assert best_iteration([math.nan, 0.1, math.nan, 0.2], higher=True) == 4
    assert best_iteration([math.nan, 0.1, math.nan, 0.2], higher=False) == 2
    assert best_iteration([math.nan], higher=True) is None
    assert best_iteration([], higher=True) is None
