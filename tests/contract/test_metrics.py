"""What every registered metric must satisfy; a new one brings its tests by itself."""

from __future__ import annotations

import functools
import itertools
import math
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from rankforce._metrics.definition import Entry
from rankforce._metrics.make import metric, metrics
from rankforce._metrics.metric import Metric
from rankforce._metrics.scoreboard import Scoreboard
from tests import reference as ref
from tests.contract.cases import Data, Floats, make_data

CUTOFFS = (1, 3, 10, 60)  # the last is beyond every query here
# Every parameter that a metric may have, at a value that is not its default.
OTHER_VALUES: dict[str, Any] = {"gain": "y", "p": 0.95, "max_label": 6.0}
SIZES = [*range(1, 51), 1, 2, 120, 2500]
TOLERANCE = 1e-12


@dataclass(frozen=True)
class Case:
    """A metric with parameters, and the reference that says what it must compute."""

    entry: Entry
    parameters: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return "; ".join([self.entry.name, *(f"{key}={value}" for key, value in self.parameters)])

    def make(self, **more: Any) -> Metric:
        return metric(self.entry.name, **dict(self.parameters), **more)

    def labels(self, data: Data) -> Floats:
        """Labels that the metric takes: CNDCG wants shares of clicks."""
        return data.labels / 4.0 if self.entry.name == "CNDCG" else data.labels

    def expected(self, scores: Floats, labels: Floats, largest: float) -> float:
        """The reference's value of one query, which is 0 without a relevant document."""
        options = dict(self.parameters)
        name = self.entry.name.lower()
        if name == "cndcg":
            name, options["gain"] = "ndcg", lambda c: 2.0 ** (4.0 * c) - 1.0
        if name == "err":
            options.setdefault("max_label", largest)
        ordered = [float(labels[row]) for row in ref.order(list(scores))]
        return ref.metric(name, ordered, **options)


def cases_of(entry: Entry) -> Iterator[Case]:
    others = tuple((key, value) for key, value in OTHER_VALUES.items() if key in entry.uses)
    unknown = set(entry.uses) - set(OTHER_VALUES)
    assert not unknown, f"OTHER_VALUES lacks {unknown}, parameters of {entry.name}"
    cutoffs: list[tuple[tuple[str, Any], ...]] = [(("k", k),) for k in CUTOFFS]
    if entry.cutoff == "none":
        cutoffs = [()]
    elif entry.cutoff == "optional":
        cutoffs.append(())
    for cutoff in cutoffs:
        yield Case(entry, cutoff)
        if others:
            yield Case(entry, cutoff + others)


CASES = [case for entry in metrics() for case in cases_of(entry)]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def some_data(*, tied: bool, seed: int = 0) -> Data:
    """Queries of many sizes, of which some have no relevant document."""
    data = make_data(SIZES, tied=tied, seed=seed)
    labels = np.minimum(data.labels, 4.0)
    for number, rows in enumerate(data):
        if number % 7 == 3:
            labels[rows] = 0.0
    return Data(data.scores, labels, data.sizes)


def reference_values(case: Case, data: Data) -> Floats:
    """The reference, with the metric's own choice for queries without a relevant document."""
    labels = case.labels(data)
    no_relevant = case.make().no_relevant
    assert no_relevant in (0, 1)
    values = [
        case.expected(data.scores[rows], labels[rows], float(labels.max()))
        if (labels[rows] > 0).any()
        else float(no_relevant)
        for rows in data
    ]
    return np.array(values)


@every_case
@pytest.mark.parametrize("tied", [False, True], ids=["untied", "tied"])
def test_equals_the_reference(case: Case, tied: bool) -> None:
    data = some_data(tied=tied)
    got = case.make()(data.scores, case.labels(data), group=data.sizes)
    expected = reference_values(case, data)
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


@functools.cache
def all_together(threads: int) -> Floats:
    """All metrics over one ranking, which is as deep as the deepest needs."""
    data = some_data(tied=True, seed=1)
    made = [case.make() for case in CASES]
    board = Scoreboard(made, data.labels / 4.0, group=data.sizes)
    return board.values(data.scores, threads=threads)


@every_case
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_bits_do_not_depend_on_threads_or_company(case: Case, threads: int) -> None:
    data = some_data(tied=True, seed=1)
    ready = case.make().prepare(data.labels / 4.0, group=data.sizes)
    alone = ready.values(data.scores)
    np.testing.assert_array_equal(ready.values(data.scores, threads=threads), alone)
    np.testing.assert_array_equal(all_together(threads)[CASES.index(case)], alone)


@every_case
def test_order_of_queries_and_rows_of_other_queries_do_not_matter(case: Case) -> None:
    data = some_data(tied=True, seed=2)
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


def _places_of(qid: Floats) -> Floats:
    """For each row, its place when rows are sorted by qid."""
    places = np.empty(len(qid), np.int64)
    places[np.argsort(qid, kind="stable")] = np.arange(len(qid))
    return places


@every_case
def test_a_query_without_relevant_document(case: Case) -> None:
    scores, labels, group = [1.0, 2.0, 3.0, 1.0], [0, 0, 1, 0], [2, 2]
    default = 1.0 if "NDCG" in case.entry.name else 0.0
    assert case.make()(scores, labels, group=group)[0] == default
    others = []
    for choice, expected in ((1, 1.0), (0, 0.0), ("skip", math.nan)):
        got = case.make(no_relevant=choice)(scores, labels, group=group)
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
    data = some_data(tied=False, seed=3)
    ready = case.make().prepare(case.labels(data), group=data.sizes)
    perfect = ready.perfect()
    sign = 1.0 if case.entry.higher_is_better else -1.0
    for scores in (data.scores, -data.labels, data.labels, data.labels + 0.7 * data.scores):
        assert (sign * ready.values(scores) <= sign * perfect).all()
    assert (sign * ready.values(-data.labels) < sign * perfect).any()
    if case.make().definition.ideal in ("best", "hits"):
        has_relevant = [bool((data.labels[rows] > 0).any()) for rows in data]
        assert (perfect[has_relevant] == 1.0).all()


@every_case
def test_the_random_ranking_is_the_mean_over_all_orders(case: Case) -> None:
    """All orders of 5 documents, each as a query."""
    for labels in ([3.0, 0.0, 1.0, 0.0, 0.0], [0.0, 4.0, 1.0, 2.0, 0.0], [2.0, 1.0, 1.0, 3.0, 2.0]):
        data = Data(np.zeros(5), np.array(labels), (5,))
        orders = np.array(list(itertools.permutations(range(5))), dtype=np.float64)
        every = np.tile(case.labels(data), len(orders))
        values = case.make()(orders.ravel(), every, group=[5] * len(orders))
        random = case.make().prepare(case.labels(data)).random()
        np.testing.assert_allclose(random, [values.mean()], rtol=1e-12)


@every_case
def test_printing_equality_and_pickling(case: Case) -> None:
    made = case.make()
    namespace = {"rf": type("rf", (), {"metric": staticmethod(metric)})}
    again = [case.make(), pickle.loads(pickle.dumps(made)), eval(repr(made), namespace)]
    for other in again:
        assert other == made
        assert hash(other) == hash(made)
        assert (other.name, other.conventions) == (made.name, made.conventions)
    assert made != case.make(no_relevant="skip")
    assert metric(made.name.lower()).name == made.name


@every_case
def test_scores_must_be_finite(case: Case) -> None:
    for bad in (math.nan, math.inf, -math.inf):
        with pytest.raises(ValueError, match=f"score of row 2 is {bad}: scores must be finite"):
            case.make()([0.0, 1.0, bad, 2.0], [0, 1, 0, 1], group=[2, 2])
