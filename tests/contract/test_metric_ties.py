"""What tied scores mean to every metric, against all orders of the tied documents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from rankforce.measures.make import metric, metrics
from rankforce.measures.scoreboard import Scoreboard
from tests.contract.cases import Data, Floats
from tests.contract.metric_cases import (
    CASES,
    FEWER_SIZES,
    Case,
    every_tied_case,
    some_data,
)
from tests.reference.ties import expected_metric, mean_over_orders, to_single

averaged = pytest.mark.parametrize(
    "case", [case for case in CASES if case.ties == "average"], ids=str
)


def few_documents() -> list[tuple[Floats, Floats]]:
    """Scores and labels of queries of up to 6 documents, with ties of every size."""
    rng = np.random.default_rng(7)
    queries = []
    for n in range(1, 7):
        for levels in (1, 2, 3):
            labels = rng.choice([0.0, 0.0, 1.0, 2.0, 4.0], n)
            labels[0] = 4.0
            queries.append((rng.integers(0, levels, n).astype(np.float64), rng.permutation(labels)))
    return queries


FEW = few_documents()


@averaged
def test_average_is_the_mean_over_all_orders(case: Case) -> None:
    data = Data(
        np.concatenate([scores for scores, _ in FEW]),
        np.concatenate([labels for _, labels in FEW]),
        tuple(len(labels) for _, labels in FEW),
    )
    labels = case.labels(data)
    name, options = case.reference(float(labels.max()))
    for key in ("ties", "score_type"):
        options.pop(key, None)
    expected = [
        mean_over_orders(name, data.scores[rows].tolist(), labels[rows].tolist(), **options)
        for rows in data
    ]
    got = case.make()(data.scores, labels, group=data.sizes)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@pytest.mark.parametrize("name", ["ndcg", "map", "mrr", "err", "rbp", "p", "recall", "arpb"])
def test_the_references_formulas_are_the_mean_over_all_orders(name: str) -> None:
    """So that they may speak for queries with more orders than can be counted."""
    for k in (2, 4) if name != "rbp" else (None,):
        for scores, labels in FEW:
            query = (scores.tolist(), labels.tolist())
            expected = mean_over_orders(name, *query, k=k)
            assert expected_metric(name, *query, k=k) == pytest.approx(expected, rel=1e-14)


@every_tied_case
def test_where_nothing_ties_the_bits_are_those_of_rows(case: Case) -> None:
    data = some_data("untied", seed=5)
    labels = case.labels(data)
    got = case.make()(data.scores, labels, group=data.sizes)
    np.testing.assert_array_equal(got, case.make(ties="row")(data.scores, labels, group=data.sizes))


@every_tied_case
def test_the_order_of_rows_does_not_matter(case: Case) -> None:
    data = some_data("tied", seed=6, sizes=FEWER_SIZES)
    labels = case.labels(data)
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.permutation(np.arange(s.start, s.stop)) for s in data])
    expected = case.make()(data.scores, labels, group=data.sizes)
    got = case.make()(data.scores[rows], labels[rows], group=data.sizes)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


@every_tied_case
def test_ties_do_not_change_the_ideal(case: Case) -> None:
    data = some_data("tied", seed=6)
    labels = case.labels(data)
    ready, by_row = (
        made.prepare(labels, group=data.sizes) for made in (case.make(), case.make(ties="row"))
    )
    np.testing.assert_array_equal(ready.perfect(), by_row.perfect())
    np.testing.assert_array_equal(ready.random(), by_row.random())


@averaged
def test_all_tied_is_the_random_ranking(case: Case) -> None:
    data = some_data("tied", seed=6)
    ready = case.make().prepare(case.labels(data), group=data.sizes)
    np.testing.assert_array_equal(ready.values(np.full(len(data.scores), 2.5)), ready.random())


@averaged
def test_average_lies_between_the_best_and_the_worst_order(case: Case) -> None:
    data = some_data("tied", seed=8)
    labels = case.labels(data)
    by_row = case.make(ties="row", score_type="float64").prepare(labels, group=data.sizes)
    best, worst = (by_row.values(data.scores + sign * 1e-3 * labels) for sign in (1.0, -1.0))
    got = case.make()(data.scores, labels, group=data.sizes)
    low, high = np.minimum(best, worst), np.maximum(best, worst)
    assert ((low - 1e-14 * low <= got) & (got <= high + 1e-14 * high)).all()


def test_last_rank_of_a_tie() -> None:
    """Ranks 1, 3, 3, 4: the tie of one relevant and one irrelevant document ends at rank 3."""
    scores, labels = [4.0, 3.0, 3.0, 1.0], [1, 1, 0, 1]
    last = metric("map", ties="last")
    assert last(scores, labels)[0] == pytest.approx((1 / 1 + 2 / 3 + 3 / 4) / 3, rel=1e-15)
    assert metric("map@2", ties="last")(scores, labels)[0] == (1 / 1) / 2
    assert metric("map@3", ties="last", over="relevant")(scores, labels)[0] == pytest.approx(
        (1 / 1 + 2 / 3) / 3, rel=1e-15
    )
    assert last([0.0, 0.0, 0.0, 0.0], labels)[0] == 3 / 4


def test_ties_among_relevant_documents_alone_change_nothing() -> None:
    scores, labels = [1.0, 3.0, 3.0, 2.0, 2.0, 1.0], [1, 1, 1, 0, 0, 1]
    for name in ("mrr", "map", "bndcg@4", "p@4", "rbp", "recall@3", "arpb@2"):
        by_row = metric(name)(scores, labels)[0]
        assert metric(name, ties="average")(scores, labels)[0] == pytest.approx(by_row, rel=1e-15)
    assert metric("map", ties="last")(scores, labels)[0] == (1 + 1 + 4 / 6 + 4 / 6) / 4


def test_zero_ties_with_minus_zero() -> None:
    for ties, expected in (("row", 0.5), ("average", 0.75)):
        assert metric("mrr", ties=ties)([0.0, -0.0], [0, 1]).tolist() == [expected]
    assert metric("map", ties="last")([0.0, -0.0], [0, 1]).tolist() == [0.5]


@pytest.mark.parametrize("n", [13, 1000, 5000])
def test_long_ties(n: int) -> None:
    """One relevant document anywhere: every rank has the same probability."""
    labels = np.zeros(n)
    labels[n // 3] = 1.0
    expected = math.fsum(1.0 / rank for rank in range(1, n + 1)) / n
    for name in ("mrr", "map", "err"):
        share = 0.5 if name == "err" else 1.0  # of the readers, (2^1 - 1) / 2^1 stop
        got = metric(name, ties="average")(np.zeros(n), labels)[0]
        assert got == pytest.approx(share * expected, rel=1e-12)
    assert metric("recall@7", ties="average")(np.zeros(n), labels)[0] == 7 / n
    assert metric("arp", ties="average")(np.zeros(n), labels)[0] == (n + 1) / 2


@pytest.mark.parametrize("top", [4, 40, 63])
def test_small_stop_probabilities_do_not_vanish(top: int) -> None:
    """ERR of documents at which nearly nobody stops, tied with each other."""
    labels = [1.0, 1.0, 0.0]
    stop = 2.0**-top
    every = [
        math.fsum((1.0 - stop) ** sum(order[:i]) * stop * b / (i + 1) for i, b in enumerate(order))
        for order in set(itertools.permutations([1, 1, 0]))
    ]
    got = metric("err", max_label=top, ties="average")([0.0] * 3, labels)[0]
    assert got == pytest.approx(math.fsum(every) / 3, rel=1e-14, abs=0.0)


def test_metrics_with_different_ties_in_one_pass() -> None:
    """All metrics by row look at the top only; one that averages needs the whole order."""
    rng = np.random.default_rng(3)
    scores, labels = rng.integers(0, 9, 300) / 4.0, rng.integers(0, 3, 300)
    names = [
        f"{entry.name}@2({ties})" if entry.cutoff != "none" else f"{entry.name}({ties})"
        for entry in metrics()
        for ties in [f"ties={choice}" for choice in entry.ties]
        if entry.name != "CNDCG"
    ]
    names += ["MRR@1(score_type=float32)", "MRR@1(ties=average, score_type=float32)"]
    together = Scoreboard(names, labels, group=[100, 200]).values(scores)
    for name, values in zip(names, together, strict=True):
        alone = metric(name)(scores, labels, group=[100, 200])
        np.testing.assert_array_equal(values, alone)


# Single precision.


def test_single_precision_ties_what_it_cannot_tell_apart() -> None:
    near = 1.0 + 2.0**-30
    assert to_single(near) == 1.0
    scores, labels = [1.0, near], [1, 0]
    assert metric("mrr")(scores, labels).tolist() == [0.5]
    assert metric("mrr", score_type="float32")(scores, labels).tolist() == [1.0]
    single = metric("mrr", score_type="float32", ties="average")
    assert single(scores, labels).tolist() == [0.75]


def test_single_precision_of_numbers_near_zero() -> None:
    """What is below the smallest float32 is 0, and ties with it."""
    made = metric("mrr", score_type="float32")
    assert made([0.0, 1e-50], [1, 0]).tolist() == [1.0]
    assert made([0.0, 1e-44], [1, 0]).tolist() == [0.5]


def test_scores_that_single_precision_cannot_hold() -> None:
    scores, labels = [0.0, 1.0, 1e39], [0, 1, 0]
    assert metric("mrr")(scores, labels).tolist() == [0.5]
    with pytest.raises(ValueError, match=r"is 1e\+39: single precision does not hold it"):
        metric("mrr", score_type="float32")(scores, labels)


def test_labels_are_never_in_single_precision() -> None:
    """The ideal ranking tells labels apart that float32 cannot."""
    labels = [1.0, 1.0 + 2.0**-30]
    ideal = labels[1] + labels[0] / math.log2(3.0)
    single = metric("dcg", gain="y", score_type="float32")
    assert single.prepare(labels).perfect()[0] == pytest.approx(ideal, rel=1e-15)
    assert single([0.0, 1.0], labels)[0] == pytest.approx(ideal, rel=1e-15)
