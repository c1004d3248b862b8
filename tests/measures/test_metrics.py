"""Conventions, bad data, averages and users' own metrics."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce.data.queries import index_queries
from rankforce.kernels.metrics import measure_block
from rankforce.measures.make import metric
from rankforce.measures.metric import mean
from rankforce.measures.scoreboard import Scoreboard


@pytest.mark.parametrize("what", [None, 3, b"ndcg"])
def test_neither_name_nor_function(what: Any) -> None:
    with pytest.raises(ValueError, match="by name or from a function"):
        metric(what)


def test_a_metric_is_a_metric_already() -> None:
    made = metric("ndcg@3")
    assert metric(made) is made
    assert Scoreboard(made, [1, 0]).metrics == Scoreboard("ndcg@3", [1, 0]).metrics == [made]
    with pytest.raises(ValueError, match="is made already"):
        metric(made, k=5)


CONVENTIONS = [
    (metric("ndcg@10"), "gain 2^y-1, query without relevant document counts 1, ties by row"),
    (
        metric("ndcg", gain="y", no_relevant="skip"),
        "gain y, query without relevant document is skipped, ties by row",
    ),
    (
        metric("map"),
        "relevant is y > 0, query without relevant document counts 0, over all relevant, "
        "ties by row",
    ),
    (
        metric("map@5", rel=2, ties="average"),
        "relevant is y >= 2, query without relevant document counts 0, over min(k, relevant), "
        "mean over all orders of ties",
    ),
    (
        metric("map@5(over=relevant, ties=last, rel=0.5)"),
        "relevant is y >= 0.5, query without relevant document counts 0, over all relevant, "
        "ties at their last rank",
    ),
    (
        metric("p@5"),
        "relevant is y > 0, query without relevant document counts 0, over min(k, n), ties by row",
    ),
    (
        metric("P@5(trec_eval)"),
        "relevant is y > 0, query without relevant document counts 0, over k, ties by row, "
        "scores in single precision",
    ),
    (
        metric("NDCG@5(xgboost)"),
        "gain 2^y-1, query without relevant document counts 1, ties by row, "
        "scores in single precision",
    ),
    (
        metric("NDCG(sklearn)"),
        "gain y, query without relevant document counts 0, mean over all orders of ties",
    ),
    (
        metric("ndcg", gain=math.sqrt),
        "gain sqrt, query without relevant document counts 1, ties by row",
    ),
    (
        metric("err", max_label=4),
        "stop probability (2^y-1) / 2^max_label, max_label 4, "
        "query without relevant document counts 0, ties by row",
    ),
    (
        metric("arpb@3"),
        "relevant is y > 0, query without relevant document counts 0, ties by row, lower is better",
    ),
    (metric(len, name="mine"), "the user's function"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("made", "expected"), CONVENTIONS)
def test_conventions(made: Any, expected: str) -> None:
    assert made.conventions == expected


LABELS: list[tuple[str, list[float], str]] = [
    ("ndcg", [0, math.nan], "label of row 1 is nan: labels must be finite"),
    ("map", [0, math.inf], "label of row 1 is inf"),
    ("ndcg", [0, -1], "NDCG, row 1: label -1 is negative"),
    ("cndcg", [0, 1.5], "CNDCG, row 1: label 1.5 is no share of clicks: it must lie from 0 to 1"),
    ("cndcg", [-0.5, 1], "CNDCG, row 0: label -0.5 is no share of clicks"),
    ("ndcg", [0, 5000], "NDCG, row 1: gain of label 5000 is inf"),
    ("err", [0, -1], "ERR, row 1: label -1 is negative"),
]


@pytest.mark.parametrize(("name", "labels", "message"), LABELS)
def test_bad_labels(name: str, labels: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric(name).prepare(labels)


def test_labels_outside_of_tables_and_grades() -> None:
    with pytest.raises(
        ValueError, match=r"ERR\(max_label=4\), row 0: label 5 is above max_label=4"
    ):
        metric("err", max_label=4).prepare([5, 1])
    with pytest.raises(ValueError, match="NDCG, row 2: label 2 is not in the gain table"):
        metric("ndcg", gain=[0, 1]).prepare([0, 1, 2])


def test_negative_labels_are_irrelevant_to_binary_metrics() -> None:
    assert metric("mrr")([2.0, 1.0], [-1, 1]).tolist() == [0.5]


def test_shapes() -> None:
    ready = metric("ndcg").prepare([1, 0, 1])
    with pytest.raises(ValueError, match=r"scores have shape \(2,\), but there are 3 labels"):
        ready.values([1.0, 2.0])
    with pytest.raises(ValueError, match="threads is 0"):
        ready.values([1.0, 2.0, 3.0], threads=0)
    with pytest.raises(ValueError, match="index= has 2 rows, but there are 3 labels"):
        Scoreboard(["ndcg"], [1, 0, 1], index=index_queries(2))
    with pytest.raises(ValueError, match="not two of them"):
        Scoreboard(["ndcg"], [1, 0, 1], index=index_queries(3), group=[3])
    assert Scoreboard([], [1, 0], group=[1, 1]).values([1.0, 2.0]).shape == (0, 2)


def test_a_bad_score_is_told_with_its_query() -> None:
    scores, labels = [1.0, 2.0, math.nan, 3.0], [1, 0, 0, 1]
    board = Scoreboard(["ndcg"], labels, qid=["b", "a", "a", "b"])
    with pytest.raises(ValueError, match=r"^score of row 2 \(query a\) is nan: scores must be fin"):
        board.values(scores)
    board = Scoreboard(["ndcg"], labels, group=[1, 0, 3])
    with pytest.raises(ValueError, match=r"score of row 2 \(query 2\) is nan"):
        board.values(scores)
    index = index_queries(4, group=[1, 0, 3])
    board = Scoreboard(["ndcg"], labels, index=index, query_ids=["x", "y", "z"])
    with pytest.raises(ValueError, match=r"score of row 2 \(query z\) is nan"):
        board.values(scores)


def test_read_only_arrays_are_not_compiled_for_anew() -> None:
    """As pandas hands them out."""
    scores, labels = np.array([1.0, 2.0]), np.array([1.0, 0.0])
    assert metric("mrr")(scores, labels).tolist() == [0.5]
    compiled = list(measure_block.signatures)
    for array in (scores, labels):
        array.setflags(write=False)
    assert metric("mrr")(scores, labels).tolist() == [0.5]
    assert measure_block.signatures == compiled


def test_the_least_relevant_label() -> None:
    scores, labels = [4.0, 3.0, 2.0, 1.0], [1, 2, 0, 3]
    assert metric("mrr", rel=2)(scores, labels)[0] == 1 / 2
    assert metric("p@3", rel=1)(scores, labels)[0] == metric("p@3")(scores, labels)[0] == 2 / 3
    assert metric("map", rel=2)(scores, labels)[0] == (1 / 2 + 2 / 4) / 2
    assert metric("recall@2", rel=2.5)(scores, labels)[0] == 0.0
    assert metric("recall@2", rel=0)(scores, labels)[0] == 2 / 4  # a label of 0 is relevant then
    assert math.isnan(metric("mrr", rel=4, no_relevant="skip")(scores, labels)[0])


def test_what_p_and_map_are_divided_by() -> None:
    scores, labels = [3.0, 2.0, 1.0], [1, 0, 1]
    assert metric("p@5")(scores, labels)[0] == 2 / 3
    assert metric("p@5", over="k")(scores, labels)[0] == 2 / 5
    assert metric("map@1")(scores, labels)[0] == 1.0
    assert metric("map@1", over="relevant")(scores, labels)[0] == 1 / 2


def test_cumulated_gain_has_labels_for_gains() -> None:
    scores, labels = [4, 3, 2, 1], [3, 2, 0, 1]
    assert metric("cg@2")(scores, labels).tolist() == [3 + 2]
    assert metric("CG@2", gain="2^y-1")(scores, labels).tolist() == [7 + 3]
    with pytest.raises(ValueError, match="metric 'CG' needs k"):
        metric("cumulative gain")


def test_a_gain_of_zero_is_no_relevant_document() -> None:
    """An ideal value of 0 cannot be divided by, whatever the label."""
    made = metric("ndcg", gain=[0, 0, 1])
    got = made([1.0, 2.0, 1.0, 2.0], [1, 0, 2, 0], group=[2, 2])
    assert got.tolist() == [1.0, pytest.approx(1.0 / math.log2(3.0), rel=1e-15)]


def test_rounding_lifts_no_ranking_above_the_ideal() -> None:
    above = math.nextafter(1 / 3, 1.0)
    gain = [above, above, math.nextafter(above, 1.0)]
    scores, labels = [1.0, 2.0, 0.0], [0, 1, 2]  # the last rank goes to the largest gain
    assert metric("ndcg", gain=gain)(scores, labels)[0] == 1.0
    dcg = metric("dcg", gain=gain)
    assert dcg(scores, labels) > dcg(labels, labels), "rounding no longer does it: find another"


def test_err_takes_the_largest_label_of_the_data_not_of_the_query() -> None:
    got = metric("err")([1.0, 1.0], [1, 3], group=[1, 1])
    assert got.tolist() == [1 / 8, 7 / 8]


def test_float32_scores_and_large_cutoffs() -> None:
    scores = np.array([0.5, 0.25, 0.75], dtype=np.float32)
    labels = np.array([0, 1, 0], dtype=np.int8)
    assert metric("p", k=10**12)(scores, labels).tolist() == [1 / 3]
    assert metric("mrr@3")(scores, labels).tolist() == [1 / 3]


def spread(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
    return float(scores.max() - scores.min() + labels[0])


def test_a_function_of_ones_own() -> None:
    made = metric(spread, name="mine", higher_is_better=False)
    assert (made.name, made.higher_is_better, made.no_relevant) == ("mine", False, None)
    assert metric(spread).name == "spread"
    scores, labels, qid = [1.0, 5.0, 2.0, 8.0], [1, 0, 0, 0], ["a", "b", "a", "b"]
    assert made(scores, labels, qid=qid).tolist() == [2.0, 3.0]
    board = Scoreboard([made, "mrr"], labels, qid=qid)
    assert board.values(scores).tolist() == [[2.0, 3.0], [0.5, 0.0]]
    assert pickle.loads(pickle.dumps(made)) == made != metric(spread)
    skipping = metric(spread, no_relevant="skip")
    np.testing.assert_equal(skipping(scores, labels, qid=qid), [2.0, math.nan])
    np.testing.assert_equal(made([1.0], [2.0], group=[0, 1, 0]), [math.nan, 2.0, math.nan])


def test_a_function_cannot_change_the_data() -> None:
    def spoil(scores: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
        scores[:] = 0.0
        labels[:] = 0.0
        return 1.0

    scores, labels = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    board = Scoreboard([metric(spoil), "mrr"], labels)
    assert board.values(scores).tolist() == board.values(scores).tolist() == [[1.0], [1.0]]
    assert scores.tolist() == [1.0, 2.0]
    assert labels.tolist() == [0.0, 1.0]


def test_wrong_functions_of_ones_own() -> None:
    with pytest.raises(ValueError, match="has no parameter 'k': put it inside"):
        metric(spread, k=3)
    with pytest.raises(ValueError, match="it must be a text"):
        metric(spread, name="")
    endless = metric(lambda scores, labels: math.inf, name="endless")
    with pytest.raises(ValueError, match="'endless' of query 0 is inf: it must be a finite"):
        endless([1.0], [1])
    textual = metric(lambda scores, labels: "x", name="textual")  # type: ignore[arg-type,return-value]
    with pytest.raises(ValueError, match="'textual' of query 0 is 'x'"):
        textual([1.0], [1])
    with pytest.raises(ValueError, match="'endless' is a function of one's own"):
        endless.prepare([1]).random()


def test_mean_skips_what_does_not_count() -> None:
    nan = math.nan
    assert mean([1.0, nan, 0.0]) == 0.5
    assert mean([1.0, nan, 0.0], weights=[1, 100, 3]) == 0.25
    assert math.isnan(mean([nan]))
    assert math.isnan(mean([]))
    assert math.isnan(mean([1.0, nan], weights=[0, 1]))
    assert mean([0.0, 1.0], weights=[1e308, 1e308]) == 0.5


def test_mean_is_never_above_the_largest_value() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 10, 49, 1000):
        for weights in (None, rng.uniform(size=n), np.full(n, 0.1)):
            for value in (0.1, 0.7, 1.0, 1 / 3):
                assert mean(np.full(n, value), weights) == value


def test_wrong_weights() -> None:
    with pytest.raises(ValueError, match=r"weight of query 1 is -1\.0"):
        mean([1.0, 0.0], weights=[1, -1])
    with pytest.raises(ValueError, match="weight of query 0 is nan"):
        mean([1.0, 0.0], weights=[math.nan, 1])
    with pytest.raises(ValueError, match=r"there are 2 queries, but weights have shape \(3,\)"):
        mean([1.0, 0.0], weights=[1, 1, 1])
    with pytest.raises(ValueError, match="one number per query"):
        mean([[1.0, 0.0]])  # type: ignore[list-item]
