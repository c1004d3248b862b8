"""Costs are those of the naive reference, and minus their derivatives are the forces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import (
    CASES,
    OF_LISTS,
    PAIRWISE,
    Case,
    Data,
    Floats,
    make_data,
    plain_cases,
    sparse_data,
)

SIZES = (1, 2, 3, 17, 40)
SCORES = {
    "spread 1": make_data(SIZES, spread=1.0, seed=2),
    "spread 30": make_data(SIZES, spread=30.0, seed=4),
    "spread 1e3": make_data(SIZES, spread=1e3, seed=5),
    "ties": make_data(SIZES, tied=True, seed=7),
}
HOW: list[dict[str, Any]] = [
    {},
    {"sigma": 0.5},
    {"cost": "sigmoid", "center": -1.5, "sigma": 2.0},
]
ITERATION = 4
STEP = 1e-4


def reference_costs(case: Case, data: Data, how: dict[str, Any]) -> list[float]:
    found = []
    more = {"max_label": data.labels.max()} if "(err)" in case.name else {}
    more |= {"max_label": case.values["max_label"]} if "max_label" in case.values else {}
    for query, rows in enumerate(data):
        key = {"iteration": ITERATION, "query": query}
        given = data.scores[rows].tolist(), data.labels[rows].tolist()
        if case.is_pointwise:
            found.append(ref.squared_error_cost(*given))
        elif case.is_listwise:
            found.append(ref.xendcg_cost(*given, **key))
        else:
            W = case.weights(*given, **key, **more)
            found.append(ref.pair_costs(W, given[0], **how))
    return found


@pytest.mark.parametrize("data", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_costs_are_those_of_the_reference(case: Case, data: Data) -> None:
    data = case.suited(data)
    for how in filter(case.takes, HOW):
        got = case.objective(**how).loss(
            data.scores, data.labels, group=data.sizes, iteration=ITERATION
        )
        expected = reference_costs(case, data, how)
        assert got == pytest.approx(expected, rel=1e-11, abs=1e-14 * max(expected))


def scores_apart(data: Data, gap: float) -> Floats:
    """Scores of the same order, none of a query nearer to another than `gap`."""
    scores = np.empty(len(data.scores))
    for rows in data:
        scores[rows] = gap * np.argsort(np.argsort(data.scores[rows]))
    return scores + 0.1 * gap * np.random.default_rng(0).uniform(size=len(scores))


def central_differences(one: Any, scores: Floats, labels: Any, data: Data) -> Floats:
    """Minus the derivative of the cost of each row's query, whose ranking stays as it is."""
    ready = one.prepare(labels, group=data.sizes)
    found = np.empty(len(scores))
    for row in range(len(scores)):
        sides = []
        for step in (STEP, -STEP):
            moved = scores.copy()
            moved[row] += step
            sides.append(ready.costs(moved, iteration=ITERATION).sum())
        found[row] = (sides[1] - sides[0]) / (2.0 * STEP)
    return found


SOME = make_data((2, 5, 9), seed=11)


@pytest.mark.parametrize("case", [*PAIRWISE, Case("squared-error")], ids=str)
def test_forces_are_minus_the_derivative(case: Case) -> None:
    """Near scores have forces in float32."""
    labels = case.labels(SOME.labels)
    for gap, tolerance in ((0.3, 1e-5), (4.0, 1e-6)):
        scores = scores_apart(SOME, gap)
        for how in filter(case.takes, HOW):
            one = case.objective(**how)
            lam, _ = one.gradients(scores, labels, group=SOME.sizes, iteration=ITERATION)
            got = central_differences(one, scores, labels, SOME)
            assert np.abs(got - lam).max() <= tolerance * max(np.abs(lam).max(), 1.0)


def test_cross_entropy_has_the_first_order_of_the_forces() -> None:
    """phi - rho: the forces themselves have two further orders, as LightGBM's have."""
    scores = scores_apart(SOME, 0.3)
    got = central_differences(rf.objective("xendcg"), scores, SOME.labels, SOME)
    for query, rows in enumerate(SOME):
        n = rows.stop - rows.start
        gammas = [ref.uniform(0, ITERATION, query, row) for row in range(n)]
        (first, _, _), _ = ref.xendcg_orders(scores[rows], SOME.labels[rows], gammas)
        assert got[rows] == pytest.approx([-float(one) for one in first], abs=1e-8)


@pytest.mark.parametrize("case", [case for case in plain_cases() if not case.is_listwise], ids=str)
def test_long_queries(case: Case) -> None:
    """More documents than a tile has; naive weights would take long, `pairs` has them too."""
    scores, labels = sparse_data(2500)
    labels = case.labels(labels)
    hi, lo, weight = case.objective().pairs(scores, labels)
    expected = (weight * np.logaddexp(0.0, scores[lo] - scores[hi])).sum()
    assert case.objective().loss(scores, labels) == pytest.approx([expected], rel=1e-10)


EXTREMES = {
    "1e300": [1e300, -1e300, 0.0, 1.0, 1e300, -1e-300],
    "equal and huge": [-1e300] * 6,
    "limits of float64": [1.7e308, -1.7e308, 1.7e308, 0.0, 1.7e308, -1.7e308],
    "around the limit of exp": [709.0, -709.0, 745.0, -746.0, 0.0, 710.0],
}


@pytest.mark.parametrize("scores", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("case", OF_LISTS, ids=str)
def test_huge_scores_have_finite_costs(case: Case, scores: list[float]) -> None:
    labels = case.labels([0, 2, 1, 0, 4, 1])
    for how in filter(case.takes, ({}, {"cost": "sigmoid"})):
        cost = case.objective(**how).loss(scores, labels)
        assert np.isfinite(cost).all()
        assert (cost >= 0.0).all()


@pytest.mark.parametrize("case", PAIRWISE, ids=str)
def test_a_query_without_pairs_costs_nothing(case: Case) -> None:
    labels = case.labels([1.0, 1.0, 1.0, 0.0, 0.0, 2.0])
    cost = case.objective().loss([3.0, 1.0, 2.0, 5.0, 4.0, 1.0], labels, group=[3, 2, 0, 1])
    assert cost.tolist() == [0.0] * 4


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_and_threads_do_not_matter(case: Case) -> None:
    """Queries in turn, one taken by itself, and threads: the same bits."""
    data = case.suited(make_data((60, 1, 700, 25), seed=12))
    qid = np.repeat([7, 3, 12, 5], data.sizes)
    ready = case.objective(seed=2).prepare(data.labels, qid=qid)
    expected = ready.costs(data.scores, iteration=ITERATION)
    assert np.array_equal(ready.costs(data.scores, iteration=ITERATION, threads=3), expected)
    part = ready.take([2, 0])
    rows = ready.index.rows_of([2, 0])
    assert np.array_equal(part.costs(data.scores[rows], iteration=ITERATION), expected[[2, 0]])
    row = np.argsort(ready.index.number_of_places(), kind="stable")
    turned = case.objective(seed=2).prepare(data.labels[row], qid=qid[row])
    assert np.array_equal(turned.costs(data.scores[row], iteration=ITERATION), expected)
