"""What every registered metric must satisfy; a new one brings its tests by itself."""

from __future__ import annotations

import functools
import itertools
import math
import pickle

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce.measures.make import metric
from rankforce.measures.metric import Metric
from rankforce.measures.scoreboard import Scoreboard
from tests.contract.cases import Data, Floats
from tests.contract.metric_cases import (
    CASES,
    FEWER_SIZES,
    SIZES,
    Case,
    every_case,
    reference_values,
    some_data,
)

TOLERANCE = 1e-12


@every_case
@pytest.mark.parametrize("kind", ["untied", "tied", "near"])
def test_equals_the_reference(case: Case, kind: str) -> None:
    data = some_data(kind, sizes=SIZES if case.ties == "row" else FEWER_SIZES)
    got = case.make()(data.scores, case.labels(data), group=data.sizes)
    expected = reference_values(case, data)
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


@functools.cache
def all_together(threads: int) -> Floats:
    """All metrics over one ranking, which is as deep as the deepest needs."""
    data = some_data("tied", seed=1)
    board = Scoreboard(all_made(), data.labels / 4.0, group=data.sizes)
    return board.values(data.scores, threads=threads)


@every_case
def test_the_bits_do_not_depend_on_threads_or_company(case: Case) -> None:
    data = some_data("tied", seed=1)
    ready = case.make().prepare(data.labels / 4.0, group=data.sizes)
    alone = ready.values(data.scores)
    for threads in (1, 2, 5):
        np.testing.assert_array_equal(ready.values(data.scores, threads=threads), alone)
        np.testing.assert_array_equal(all_together(threads)[CASES.index(case)], alone)


@every_case
def test_order_of_queries_and_rows_of_other_queries_do_not_matter(case: Case) -> None:
    data = some_data("tied", seed=2)
    labels = case.labels(data)
    sizes = np.array(data.sizes)
    qid = np.repeat(np.arange(len(sizes)), sizes)
    expected = case.make()(data.scores, labels, group=sizes)
    rng = np.random.default_rng(0)
    # Queries are mixed, but rows of one query keep their order, which decides ties.
    shuffled = rng.permutation(qid)
    rows = np.argsort(qid, kind="stable")[_places_of(shuffled)]
    got = case.make()(data.scores[rows], labels[rows], qid=shuffled)
    _, first = np.unique(shuffled, return_index=True)
    np.testing.assert_array_equal(got, expected[np.argsort(first)])


def _places_of(qid: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each row, its place when rows are sorted by qid."""
    places = np.empty(len(qid), np.int64)
    places[np.argsort(qid, kind="stable")] = np.arange(len(qid))
    return places


@every_case
def test_a_query_without_relevant_document(case: Case) -> None:
    data = Data(np.array([1.0, 2.0, 3.0, 1.0]), np.array([0.0, 0.0, 4.0, 0.0]), (2, 2))
    labels = case.labels(data)
    default = 1.0 if "NDCG" in case.entry.name else 0.0
    assert case.make()(data.scores, labels, group=data.sizes)[0] == default
    others = []
    for choice, expected in ((1, 1.0), (0, 0.0), ("skip", math.nan)):
        got = case.make(no_relevant=choice)(data.scores, labels, group=data.sizes)
        np.testing.assert_equal(got[0], expected)
        others.append(got[1])
    assert len(set(others)) == 1


@every_case
def test_empty_queries_are_nan_and_change_nothing(case: Case) -> None:
    got = case.make()([1.0, 2.0, 3.0], [0, 1, 0], group=[0, 3, 0], threads=2)
    assert np.isnan(got[[0, 2]]).all()
    assert got[1] == case.make()([1.0, 2.0, 3.0], [0, 1, 0])[0]
    assert case.make()([], [], group=[]).shape == (0,)
    assert np.isnan(case.make()([], [])).all()


@every_case
def test_no_ranking_is_better_than_the_perfect_one(case: Case) -> None:
    data = some_data("untied", seed=3)
    labels = case.labels(data)
    ready = case.make().prepare(labels, group=data.sizes)
    perfect = ready.perfect()
    sign = 1.0 if case.entry.higher_is_better else -1.0
    best = sign * perfect
    rounding = 0.0 if case.ties == "row" else 1e-15 * np.abs(perfect)
    tied = some_data("tied", seed=3).scores
    for scores in (data.scores, tied, data.labels, -data.labels, data.labels + 0.7 * data.scores):
        assert (sign * ready.values(scores) <= best + rounding).all()
    assert (sign * ready.values(-data.labels) < best).any()
    assert (sign * ready.random() <= best + 1e-15 * np.abs(perfect)).all()
    # Ranks that nothing ties reach it.
    falling = data.labels - np.arange(len(labels)) * 2.0**-13
    np.testing.assert_allclose(ready.values(falling), perfect, rtol=TOLERANCE)


@every_case
def test_no_share_is_above_one(case: Case) -> None:
    """NDCG, MAP, P and Recall are shares: 1 is reached, and rounding does not exceed it."""
    ideal = case.make().definition.ideal
    if ideal == "none":
        return
    data = some_data("tied", seed=4)
    labels = case.labels(data)
    ready = case.make().prepare(labels, group=data.sizes)
    for values in (ready.values(data.scores), ready.values(0.0 * labels), ready.random()):
        assert ((values >= 0.0) & (values <= 1.0)).all()
    if ideal in ("best", "reachable"):
        has_relevant = [case.has_relevant(labels[rows]) for rows in data]
        assert (ready.perfect()[has_relevant] == 1.0).all()


@every_case
def test_the_random_ranking_is_the_mean_over_all_orders(case: Case) -> None:
    """All orders of 5 documents, each as a query."""
    for labels in ([3.0, 0.0, 1.0, 0.0, 0.0], [0.0, 4.0, 1.0, 2.0, 0.0], [2.0, 1.0, 1.0, 3.0, 2.0]):
        data = Data(np.zeros(5), np.array(labels), (5,))
        orders = np.array(list(itertools.permutations(range(5))), dtype=np.float64)
        every = np.tile(case.labels(data), len(orders))
        values = case.make()(orders.ravel(), every, group=[5] * len(orders))
        random = case.make().prepare(case.labels(data)).random()
        np.testing.assert_allclose(random, [values.mean()], rtol=TOLERANCE)


@every_case
def test_printing_equality_and_pickling(case: Case) -> None:
    made = case.make()
    namespace = {"rf": type("rf", (), {"metric": staticmethod(metric)})}
    again = [case.make(), pickle.loads(pickle.dumps(made)), eval(repr(made), namespace)]
    # The name says everything, in any case and in the order of parameters that one likes.
    again += [metric(made.name), metric(made.name.lower()), metric(backwards(made.name))]
    for other in again:
        assert other == made
        assert hash(other) == hash(made)
        assert (other.name, other.conventions) == (made.name, made.conventions)
        assert other.definition.ties == case.ties
    assert made != case.make(no_relevant="skip")
    assert CASES.index(case) == all_made().index(made)


@functools.cache
def all_made() -> list[Metric]:
    return [case.make() for case in CASES]


def backwards(name: str) -> str:
    """The same name with the parameters in the other order."""
    first, parenthesis, inside = name.removesuffix(")").partition("(")
    return first + (f"({','.join(inside.split(',')[::-1])})" if parenthesis else "")


@every_case
def test_scores_must_be_finite(case: Case) -> None:
    for bad in (math.nan, math.inf, -math.inf):
        message = rf"score of row 2 \(query 1\) is {bad}: scores must be finite"
        with pytest.raises(ValueError, match=message):
            case.make()([0.0, 1.0, bad, 2.0], [0, 1, 0, 1], group=[2, 2])
