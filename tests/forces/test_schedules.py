"""Weights that move with the iteration (Svore et al. 2011, section 6.2)."""

from __future__ import annotations

import itertools
import pickle
from math import exp, inf, nan
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.forces.schedules import Schedule, Weight, make_schedule

approx = pytest.approx
FIRST, SECOND = rf.objective("ranknet"), rf.objective("lambdarank-ndcg", k=3)


def recursion(kind: str, start: float, rate: float, iterations: int) -> list[float]:
    """w_m = w_{m-1} + eta, or w_{m-1} + exp(-eta / m); at most 1."""
    w = [start]
    for m in range(1, iterations):
        w.append(min(w[-1] + (rate if kind == "linear" else exp(-rate / m)), 1.0))
    return w


# The rates that the paper swept over, and others that reach 1 sooner or never.
CASES = [
    *(("linear", start, rate) for start in (0.1, 0.25, 0.5) for rate in (0.1, 0.01, 0.001)),
    *(("exponential", start, rate) for start in (0.1, 0.25, 0.5) for rate in (100.0, 250.0)),
    ("linear", 0.0, 0.0),
    ("linear", 1.0, 0.1),
    ("linear", 0.0, 3.0),
    ("exponential", 0.0, 0.0),
    ("exponential", 0.0, 1.5),
    ("exponential", 0.0, 1e6),
]


@pytest.mark.parametrize(("kind", "start", "rate"), CASES)
def test_formulas(kind: str, start: float, rate: float) -> None:
    moving = rf.scheduled(FIRST, SECOND, schedule=kind, start=start, rate=rate)
    expected = recursion(kind, start, rate, 300)
    for m, w in enumerate(expected):
        assert moving.weights(m) == approx([1.0 - w, w], abs=1e-12)
        assert 0.0 <= moving.weights(m)[1] <= 1.0


def test_first_iterations_by_hand() -> None:
    linear = Schedule("linear", 0.1, 0.3)
    assert [linear.at(m) for m in range(5)] == approx([0.1, 0.4, 0.7, 1.0, 1.0])
    slow = Schedule("exponential", 0.25, 2.0)
    assert [slow.at(m) for m in range(4)] == approx(
        [0.25, 0.25 + exp(-2), 0.25 + exp(-2) + exp(-1), 1.0]
    )


def test_the_exponential_schedule_starts_slowly() -> None:
    """Figure 6 of the paper: with a rate of 100 nothing moves at first, and 1 is reached."""
    w = [Schedule("exponential", 0.1, 100.0).at(m) for m in range(200)]
    assert w[5] == approx(0.1, abs=1e-7)
    assert all(a <= b for a, b in itertools.pairwise(w))
    assert w[-1] == 1.0


@pytest.mark.parametrize(("kind", "rate"), [("linear", 0.01), ("exponential", 100.0)])
def test_usual_rates(kind: str, rate: float) -> None:
    usual = rf.scheduled(FIRST, SECOND, schedule=kind)
    assert usual == rf.scheduled(FIRST, SECOND, schedule=kind, start=0.0, rate=rate)
    assert usual.weights(0) == [1.0, 0.0]
    assert rf.scheduled(FIRST, SECOND) == rf.scheduled(FIRST, SECOND, schedule="linear")


@pytest.mark.parametrize("kind", ["linear", "exponential"])
def test_there_is_no_state(kind: str) -> None:
    """Iteration 500 first, then back: the same numbers, and the same forces."""
    how: dict[str, Any] = {
        "schedule": kind,
        "start": 0.1,
        "rate": 0.001 if kind == "linear" else 250,
    }
    forward, backward = (rf.scheduled(FIRST, SECOND, **how) for _ in range(2))
    ahead = [forward.weights(m) for m in range(501)]
    assert [backward.weights(m) for m in range(500, -1, -1)] == ahead[::-1]
    ready = forward.prepare([2, 0, 1, 0])
    scores = [0.1, 0.4, 0.3, 0.2]
    late = ready.gradients(scores, iteration=500)
    early = ready.gradients(scores, iteration=3)
    assert np.array_equal(ready.gradients(scores, iteration=500), late)
    assert np.array_equal(backward.gradients(scores, [2, 0, 1, 0], iteration=3), early)
    assert not np.array_equal(early, late)


def test_forces_move() -> None:
    """(1 - w) of the first and w of the second."""
    moving = rf.scheduled(FIRST, SECOND, schedule="linear", start=0.2, rate=0.1)
    scores, labels = [0.1, 0.4, 0.3, 0.2], [2, 0, 1, 0]
    parts = [np.array(one.gradients(scores, labels, norm="lightgbm")) for one in (FIRST, SECOND)]
    for m in range(12):
        w = min(0.2 + 0.1 * m, 1.0)
        got = moving.gradients(scores, labels, norm="lightgbm", iteration=m)
        np.testing.assert_allclose(got, (1 - w) * parts[0] + w * parts[1], rtol=1e-12)
    assert np.array_equal(moving.gradients(scores, labels, norm="lightgbm", iteration=99), parts[1])


def test_from_an_objective_to_itself() -> None:
    """Nothing moves: the shares add up to 1."""
    same = rf.scheduled(FIRST, FIRST, start=0.25)
    assert same.weights(0) == [0.75, 0.25]
    assert same.weights(10) == approx([0.65, 0.35])


# Functions


def slowly(m: int) -> float:
    return 1.0 - 1.0 / (1.0 + m)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (slowly, [0.0, 1 / 2, 2 / 3]),
        (lambda m: min(m / 2, 1), [0.0, 0.5, 1.0]),
        (lambda m: m == 1, [0.0, 1.0, 0.0]),
        (lambda m: np.float32(0.5), [0.5] * 3),
        (lambda m: np.array([0.25])[0], [0.25] * 3),
    ],
)
def test_functions(function: Any, expected: list[float]) -> None:
    moving = rf.scheduled(FIRST, SECOND, schedule=function)
    assert [moving.weights(m)[1] for m in range(3)] == approx(expected)
    assert [moving.weights(m)[0] for m in range(3)] == approx([1 - w for w in expected])


def test_functions_are_told_apart() -> None:
    one = rf.scheduled(FIRST, SECOND, schedule=slowly)
    assert one == rf.scheduled(FIRST, SECOND, schedule=slowly)
    assert one != rf.scheduled(FIRST, SECOND, schedule=lambda m: 0.5)
    assert one != rf.scheduled(FIRST, SECOND)
    again = pickle.loads(pickle.dumps(one))
    assert again == one
    assert again.weights(3) == one.weights(3)


@pytest.mark.parametrize("value", [1.0000001, -0.001, nan, inf, -inf, None, "a", [0.5, 0.5], 1j])
def test_a_function_that_leaves_0_to_1(value: Any) -> None:
    moving = rf.scheduled(FIRST, SECOND, schedule=lambda m: value if m == 7 else 0.5)
    assert moving.weights(6) == [0.5, 0.5]
    with pytest.raises(ValueError, match=r"weight at iteration 7 is .*: it must lie from 0 to 1"):
        moving.weights(7)
    with pytest.raises(ValueError, match="weight at iteration 7"):
        moving.gradients([1, 2], [0, 1], iteration=7)


# Mistakes


@pytest.mark.parametrize("kind", ["cubic", "", 5, None, ("linear",)])
def test_unknown_schedules(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"schedule is .*: choose 'linear' or 'exponential'"):
        rf.scheduled(FIRST, SECOND, schedule=kind)


def test_any_case_will_do() -> None:
    assert rf.scheduled(FIRST, SECOND, schedule="Linear") == rf.scheduled(FIRST, SECOND)


@pytest.mark.parametrize("start", [-0.1, 1.1, nan, inf, "half", None, True])
def test_wrong_starts(start: Any) -> None:
    with pytest.raises(ValueError, match="start is "):
        rf.scheduled(FIRST, SECOND, start=start)


@pytest.mark.parametrize("rate", [-0.1, nan, inf, "fast", True])
@pytest.mark.parametrize("kind", ["linear", "exponential"])
def test_wrong_rates(kind: str, rate: Any) -> None:
    with pytest.raises(ValueError, match=r"rate is .*: it must be a finite number from 0 up"):
        rf.scheduled(FIRST, SECOND, schedule=kind, rate=rate)


@pytest.mark.parametrize("given", [{"start": 0.5}, {"rate": 0.1}])
def test_a_function_takes_no_start_and_no_rate(given: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"start and rate do not go with .* a function"):
        rf.scheduled(FIRST, SECOND, schedule=slowly, **given)


# Weights of parts


def test_weights_multiply() -> None:
    """2 * (1 - v) * w, where v and w move by themselves."""
    v, w = make_schedule("linear", 0.1, 0.2), make_schedule(slowly, 0.0, None)
    weight = Weight().times(2.0).by(v, is_second=False).by(w, is_second=True)
    for m in range(8):
        assert weight.at(m) == approx(2.0 * (1.0 - v.at(m)) * w.at(m), abs=1e-15)
    assert Weight(3.0).at(5) == 3.0


def test_a_schedule_of_schedules() -> None:
    inner = rf.scheduled(FIRST, SECOND, start=0.5, rate=0.1)
    outer = rf.scheduled(inner, FIRST, start=0.2, rate=0.2)
    for m in range(6):
        v, w = min(0.5 + 0.1 * m, 1.0), min(0.2 + 0.2 * m, 1.0)
        assert outer.weights(m) == approx([(1 - w) * (1 - v), (1 - w) * v, w], abs=1e-12)
