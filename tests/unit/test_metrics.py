"""Names, parameters, averages and users' own metrics; other tools' values."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce._metrics.average import mean
from rankforce._metrics.make import metric
from rankforce._metrics.scoreboard import Scoreboard
from rankforce.queries import index_queries

SPELLINGS = [
    ("nDCG@10", "NDCG@10"),
    ("ndcg", "NDCG"),
    ("NDCG @ 10", "NDCG@10"),
    ("ndcg_cut_10", "NDCG@10"),
    ("ndcg_cut.10", "NDCG@10"),
    ("dcg@5", "DCG@5"),
    ("BNDCG@5", "BNDCG@5"),
    ("cndcg@5", "CNDCG@5"),
    ("P@5", "P@5"),
    ("P_5", "P@5"),
    ("P.5", "P@5"),
    ("pre@5", "P@5"),
    ("precision@5", "P@5"),
    ("map", "MAP"),
    ("AP", "MAP"),
    ("MAP@10", "MAP@10"),
    ("map_cut_10", "MAP@10"),
    ("mean_average_precision", "MAP"),
    ("recip_rank", "MRR"),
    ("RR", "MRR"),
    ("RR@10", "MRR@10"),
    ("MRR", "MRR"),
    ("Recall@5", "Recall@5"),
    ("recall_5", "Recall@5"),
    ("R@5", "Recall@5"),
    ("ERR@20", "ERR@20"),
    ("rbp", "RBP(0.8)"),
    ("RBP(0.95)", "RBP(0.95)"),
    ("rbp(p=0.5)", "RBP(0.5)"),
    ("rbp(.5)", "RBP(0.5)"),
    ("arp", "ARP"),
    ("arpb@3", "ARPb@3"),
    ("ARPbk@3", "ARPb@3"),
]


@pytest.mark.parametrize(("spelling", "name"), SPELLINGS)
def test_spellings_of_other_tools(spelling: str, name: str) -> None:
    made = metric(spelling)
    assert made.name == name
    assert repr(made) == f"rf.metric('{name}')"
    assert made == metric(name)


def test_parameters_may_stand_beside_the_name() -> None:
    assert metric("ndcg", k=10) == metric("ndcg@10") == metric("ndcg@10", k=10)
    assert metric("arpb@k", k=3) == metric("arpb@3")
    assert metric("rbp", p=0.5) == metric("rbp(0.5)")
    assert metric("ndcg", gain="exp2") == metric("ndcg")
    assert metric("arp", gain="b") == metric("arp")
    assert metric("ndcg", gain="linear") == metric("ndcg", gain="y") != metric("ndcg")
    assert repr(metric("ndcg@3", gain=[0, 1, 3])) == "rf.metric('NDCG@3', gain=(0.0, 1.0, 3.0))"
    assert metric("rbp", p=1e-7) == metric("rbp(1e-07)")


@pytest.mark.parametrize("name", ["ndcg-", "ndcg@10-", "NDCG@10 -", "map-", "ndcg_cut_10-"])
def test_the_minus_of_xgboost(name: str) -> None:
    made = metric(name)
    assert made.no_relevant == 0
    assert made == metric(made.name, no_relevant=0)
    assert made([1.0, 2.0], [0, 0]).tolist() == [0.0]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("nccg@10", {}, r"unknown metric 'nccg@10': did you mean 'NDCG'.*Choose one of NDCG, DCG,"),
    ("ndgc", {}, "did you mean 'NDCG'"),
    ("presicion@5", {}, "did you mean 'P'"),
    ("Rprec", {}, "unknown metric 'Rprec'"),
    ("", {}, "unknown metric ''"),
    ("@5", {}, "unknown metric '@5'"),
    ("ndcg@", {}, "unknown metric 'ndcg@'"),
    ("ndcg@-1", {}, "unknown metric 'ndcg@-1'"),
    ("ndcg@1,3", {}, "unknown metric 'ndcg@1,3'"),
    ("ndcg@2.5", {}, "unknown metric 'ndcg@2.5'"),
    ("rbp@3", {}, "RBP has no cutoff, so @3 means nothing"),
    ("rbp@0.8", {}, r"unknown metric 'rbp@0.8'.*'RBP\(0.8\)'"),
    ("arp@3", {}, "ARP has no cutoff, so @3 means nothing"),
    ("arp", {"k": 3}, "'ARP' has no parameter 'k': it has no_relevant, gain"),
    ("p", {}, "'P' needs k"),
    ("recall@k", {}, "'Recall' needs k"),
    ("arpb", {}, "'ARPb' needs k"),
    ("ndcg@0", {}, "k is 0: it must be a whole number from 1 up"),
    ("ndcg", {"k": -1}, "k is -1"),
    ("ndcg", {"k": 2.5}, "k is 2.5"),
    ("ndcg", {"k": True}, "k is True"),
    ("ndcg@5", {"k": 10}, "'ndcg@5' says k=5, but k=10 was given"),
    ("rbp(0.5)", {"p": 0.8}, "says p=0.5, but p=0.8 was given"),
    ("ndcg-", {"no_relevant": 1}, "says no_relevant=0, but no_relevant=1 was given"),
    ("ndcg", {"p": 0.5}, "'NDCG' has no parameter 'p': it has k, no_relevant, gain"),
    ("ndcg(0.5)", {}, "'NDCG' has no parameter 'p'"),
    ("map", {"gain": "y"}, "'MAP' has no parameter 'gain'"),
    ("bndcg", {"gain": "y"}, "'BNDCG' has no parameter 'gain'"),
    ("ndcg", {"max_label": 4}, "'NDCG' has no parameter 'max_label'"),
    ("ndcg", {"gain": "cubic"}, "unknown gain 'cubic': choose"),
    ("ndcg", {"no_relevant": 2}, "no_relevant is 2: choose 1, 0 or 'skip'"),
    ("ndcg", {"no_relevant": True}, "no_relevant is True"),
    ("ndcg", {"no_relevant": "nan"}, "no_relevant is 'nan'"),
    ("rbp", {"p": 1.0}, "p is 1.0: it must lie between 0 and 1"),
    ("rbp(0)", {}, "p is 0.0: it must lie between 0 and 1"),
    ("err", {"max_label": -1}, "max_label is -1: it must be a finite number from 0 up"),
    ("err", {"max_label": math.inf}, "max_label is inf"),
    ("ndcg", {"name": "mine"}, "name is for a function of one's own: 'ndcg' has its own"),
    ("ndcg", {"higher_is_better": True}, "higher_is_better is for a function"),
]


@pytest.mark.parametrize(("name", "parameters", "message"), WRONG)
def test_wrong_names_and_parameters(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric(name, **parameters)


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
    (metric("map"), "relevant is y > 0, query without relevant document counts 0, ties by row"),
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
    with pytest.raises(ValueError, match="ERR, row 0: label 5 is above max_label=4"):
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


def test_scikit_learn_agrees_where_nothing_ties() -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(5)
    labels = rng.choice([0.0, 0.0, 1.0, 2.0, 3.0], (30, 25))
    labels[:, 0] = 1.0
    scores = rng.permuted(np.tile(np.arange(25.0), (30, 1)), axis=1)
    flat = {"labels": labels.ravel(), "group": [25] * 30}
    for k in (1, 5, 25, None):
        for score, ours in ((sklearn.ndcg_score, "ndcg"), (sklearn.dcg_score, "dcg")):
            expected = score(labels, scores, k=k)
            got = mean(metric(ours, k=k, gain="y")(scores.ravel(), **flat))
            assert got == pytest.approx(expected, rel=1e-12)
    expected = [
        sklearn.average_precision_score(y > 0, s) for y, s in zip(labels, scores, strict=True)
    ]
    np.testing.assert_allclose(metric("map")(scores.ravel(), **flat), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_lightgbm_agrees(name: str) -> None:
    """LightGBM's own metric of scores given as `init_score`, with a tree that learns nothing."""
    lgb = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(6)
    sizes = [3, 40, 1, 25, 12]
    n = sum(sizes)
    labels = rng.choice([0, 0, 0, 1, 2, 3, 4], n).astype(np.float64)
    labels[-12:] = 0.0  # counts 1 in LightGBM, for MAP as well
    scores = rng.permutation(n) / 8.0
    data = lgb.Dataset(np.zeros((n, 1)), labels, group=sizes, init_score=scores)
    cutoffs = [1, 3, 10, 50]
    parameters = {"objective": "lambdarank", "metric": name, "eval_at": cutoffs, "verbosity": -1}
    parameters |= {"num_threads": 1, "feature_pre_filter": False}
    booster = lgb.Booster(parameters, data)
    found = {key: value for _, key, value, _ in booster.eval_train()}
    for k in cutoffs:
        got = mean(metric(name, k=k, no_relevant=1)(scores, labels, group=sizes))
        assert got == pytest.approx(found[f"{name}@{k}"], rel=1e-9)
