"""The calls of an objective: prepare once, write into given arrays, pickle, print, draw."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import rankforce as rf
from tests.contract.cases import CASES, Case, Floats, make_data

DATA = make_data([17, 1, 60, 5], spread=6.0, seed=40)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_prepared_is_the_same_as_one_call(case: Case) -> None:
    ready = case.objective().prepare(case.labels(DATA.labels), group=DATA.sizes)
    for iteration, scores in enumerate([DATA.scores, DATA.scores * 9, -DATA.scores, DATA.scores]):
        for norm in ("none", "lightgbm", "std"):
            expected = case.objective().gradients(
                scores, case.labels(DATA.labels), group=DATA.sizes, norm=norm, iteration=iteration
            )
            got = ready.gradients(scores, norm=norm, iteration=iteration)
            assert np.array_equal(got, expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_out_is_written_into(case: Case) -> None:
    ready = case.objective().prepare(case.labels(DATA.labels), group=DATA.sizes)
    out = np.full(len(DATA.labels), 7.0), np.full(len(DATA.labels), 8.0)
    lam, hess = ready.gradients(DATA.scores, out=out)
    assert lam is out[0]
    assert hess is out[1]
    assert np.array_equal(out, ready.gradients(DATA.scores))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_arguments_stay_as_they_were(case: Case) -> None:
    scores, labels = DATA.scores.copy(), case.labels(DATA.labels).copy()
    case.objective().gradients(scores, labels, group=DATA.sizes)
    assert np.array_equal(scores, DATA.scores)
    assert np.array_equal(labels, case.labels(DATA.labels))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_numbers_of_any_type_are_taken(case: Case) -> None:
    scores = np.round(DATA.scores * 8.0) / 8.0
    expected = case.objective().gradients(scores, case.labels(DATA.labels), group=DATA.sizes)
    got = case.objective().gradients(
        scores.astype(np.float32), case.labels(DATA.labels.astype(np.int8)), group=list(DATA.sizes)
    )
    assert np.array_equal(got, expected)
    every_second = np.repeat(scores, 2)[::2]
    assert not every_second.flags.c_contiguous
    got = case.objective().gradients(
        every_second, list(case.labels(DATA.labels)), group=np.array(DATA.sizes)
    )
    assert np.array_equal(got, expected)
    assert got[0].dtype == got[1].dtype == np.float64


@pytest.mark.parametrize("how", [{}, {"sigma": 2.0, "seed": 5}, {"cost": "sigmoid", "center": 0.4}])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_pickle_and_print_round_trip(case: Case, how: dict[str, float]) -> None:
    if not case.takes(how):
        with pytest.raises(ValueError, match=f"{case.name!r} has no parameter '[sc]"):
            case.objective(**how)
        return
    objective = case.objective(**how)
    expected = objective.gradients(
        DATA.scores, case.labels(DATA.labels), group=DATA.sizes, iteration=1
    )
    copies = [pickle.loads(pickle.dumps(objective)), eval(repr(objective), {"rf": rf})]
    for copy in copies:
        assert copy == objective
        assert hash(copy) == hash(objective)
        assert repr(copy) == repr(objective)
        got = copy.gradients(DATA.scores, case.labels(DATA.labels), group=DATA.sizes, iteration=1)
        assert np.array_equal(got, expected)
    assert objective != case.objective(seed=6)
    assert objective != "an objective"


def draws(case: Case, *, seed: int = 0, iteration: int = 0) -> Floats:
    """Lambdas where many missed documents of one label compete for a few places."""
    rng = np.random.default_rng(41)
    labels = (rng.uniform(size=400) < 0.5).astype(np.float64)
    scores = rng.normal(size=400) - labels
    lam, _ = case.objective(seed=seed).gradients(
        scores, labels, group=[40] * 10, iteration=iteration
    )
    return lam


@pytest.mark.parametrize("case", CASES, ids=str)
def test_only_random_strategies_draw(case: Case) -> None:
    """Keyed by (seed, iteration, query): the same key, the same draw."""
    first = draws(case, seed=3, iteration=7)
    assert np.array_equal(first, draws(case, seed=3, iteration=7))
    is_other_iteration = not np.array_equal(first, draws(case, seed=3, iteration=8))
    is_other_seed = not np.array_equal(first, draws(case, seed=4, iteration=7))
    assert is_other_iteration == is_other_seed == case.is_random


@pytest.mark.parametrize("case", [case for case in CASES if case.is_random], ids=str)
def test_queries_draw_for_themselves(case: Case) -> None:
    """Ten copies of one query do not all get the same draw; an id decides it, not the place."""
    rng = np.random.default_rng(42)
    labels = (rng.uniform(size=40) < 0.5).astype(np.float64)
    scores, copies = rng.normal(size=40) - labels, 10
    lam, _ = case.objective().gradients(
        np.tile(scores, copies), np.tile(labels, copies), group=[40] * copies
    )
    assert len({tuple(part) for part in lam.reshape(copies, 40)}) > 1
    alone = case.objective().gradients(scores, labels, qid=[6] * 40)
    assert np.array_equal(alone[0], lam.reshape(copies, 40)[6])
