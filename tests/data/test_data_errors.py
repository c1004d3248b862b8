"""Scores, labels, groups and ids that are wrong: a ValueError that names the row and the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf

NDCG = rf.objective("lambdarank-ndcg", k=3)
NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("row", [0, 3, 6])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("how", [{"group": [2, 0, 1, 4]}, {"qid": [1, 2, 1, 2, 3, 3, 1]}, {}])
def test_score_that_is_not_finite(
    how: dict[str, Any], threads: int, row: int, value: float
) -> None:
    """In every call, for every objective, with one label and with one document too."""
    scores = np.arange(7.0)
    scores[row] = value
    message = f"score of row {row} is {value}: scores must be finite"
    for objective in (NDCG, rf.objective("ranknet"), rf.objective("lambdarank(map)")):
        for labels in ([1, 0, 2, 0, 1, 0, 0], [1] * 7):
            ready = objective.prepare(labels, **how)
            with pytest.raises(ValueError, match=message):
                ready.gradients(scores, threads=threads)
            with pytest.raises(ValueError, match=message):
                ready.effective_pairs(scores, threads=threads)


def test_first_of_several_bad_scores_is_named() -> None:
    with pytest.raises(ValueError, match="score of row 1 is inf"):
        NDCG.gradients([0.0, INF, NAN], [1, 0, 2])


def test_bad_score_in_pairs() -> None:
    with pytest.raises(ValueError, match="score of row 2 is nan"):
        NDCG.pairs([0.0, 1.0, NAN], [1, 0, 2])


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_label_that_is_not_finite(value: float) -> None:
    with pytest.raises(ValueError, match=f"label of row 1 is {value}: labels must be finite"):
        rf.objective("ranknet").gradients([0.0, 1.0], [0, value])


@pytest.mark.parametrize(
    "name",
    ["lambdarank-ndcg", "lambdarank(dcg)", "lambdaloss-arp1", "lambdarank(err)", "ndcg-loss1"],
)
def test_negative_label_where_the_gain_forbids_it(name: str) -> None:
    with pytest.raises(ValueError, match=r"row 3: label -2 is negative: .* needs labels from 0 up"):
        rf.objective(name).gradients([0.0, 1.0, 2.0, 3.0], [0, 1, 4, -2])


@pytest.mark.parametrize("name", ["ranknet", "lambdaloss-arp2", "binranknet", "lambdarank(map)"])
def test_negative_label_where_it_makes_sense(name: str) -> None:
    """Differences and signs of labels need no zero."""
    scores = [0.3, 0.1, 0.2]
    lam, _ = rf.objective(name).gradients(scores, [-2, -1, 1])
    expected, _ = rf.objective(name).gradients(scores, [-2, -1, 1 + 0])
    assert np.isfinite(lam).all()
    assert lam[2] > 0
    assert np.array_equal(lam, expected)
    if name in ("ranknet", "lambdaloss-arp2"):
        shifted, _ = rf.objective(name).gradients(scores, [8, 9, 11])
        assert lam == pytest.approx(shifted, rel=1e-6)


def test_gain_table_that_is_too_short() -> None:
    message = "row 2.*label 3 is not in the gain table: it has labels 0 to 2"
    with pytest.raises(ValueError, match=message):
        rf.objective("lambdarank-ndcg", gain=[0, 1, 3]).gradients([0, 1, 2], [0, 1, 3])


@pytest.mark.parametrize(
    ("gain", "labels", "message"),
    [
        ([0, 1, 3], [0, 0.5], "label 0.5 is not in the gain table"),
        ([0, 1, 3], [0, -1], "label -1 is not in the gain table"),
        ({0: 0.0, 2: 3.0}, [0, 1], r"label 1 is not in the gain table \[0, 2\]"),
        ([0, 3, 1], [0, 1, 2], "gain of label 2 is below that of 1: gains must not fall"),
        (lambda y: -y, [0, 1], "gain of label 1 is -1, which is negative"),
        (lambda y: 1.0 / (3.0 - y), [0, 2, 4], "gain of label 4 is -1"),
        (lambda y: float("nan"), [0, 1], "gain of label 0 is nan: gains must be finite"),
        ("2^y-1", [0, 2000], "gain of label 2000 is inf: gains must be finite"),
    ],
)
def test_gains_that_are_no_gains(gain: Any, labels: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.objective("lambdarank-ndcg", gain=gain).prepare(labels)


def test_label_above_the_top_grade_of_err() -> None:
    with pytest.raises(ValueError, match="label 5 is above max_label=4"):
        rf.objective("lambdarank(err)", max_label=4).prepare([0, 5])


GROUPS: list[tuple[Any, str]] = [
    ([2, 3], "group sizes add up to 5, but there are 4 rows"),
    ([3], "group sizes add up to 3, but there are 4 rows"),
    ([], "group sizes add up to 0, but there are 4 rows"),
    ([5, -1], r"group\[1\] is -1: sizes are integers from 0 up"),
    ([1.5, 2.5], r"group\[0\] is 1.5: sizes are integers"),
    ([[2, 2]], "group must be a list of query sizes"),
    (["2", "2"], "group must be a list of query sizes"),
    ([4, NAN], r"group\[1\] is nan"),
    ([4, INF], r"group\[1\] is inf"),
]


@pytest.mark.parametrize(("group", "message"), GROUPS)
def test_group_sizes_that_are_wrong(group: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NDCG.prepare([1, 0, 1, 0], group=group)


def test_group_sizes_may_be_whole_floats() -> None:
    ready = NDCG.prepare([1, 0, 1, 0], group=[1.0, 3.0])
    assert ready.sizes.tolist() == [1, 3]


def test_group_and_qid_together() -> None:
    with pytest.raises(ValueError, match=r"group= .* or qid= .* not both"):
        NDCG.prepare([1, 0], group=[2], qid=[1, 1])


@pytest.mark.parametrize(
    ("qid", "message"),
    [
        ([1, 1, 2], r"one id for each of the 2 rows, got shape \(3,\)"),
        ([[1], [1]], r"one id for each of the 2 rows, got shape \(2, 1\)"),
        ([1.0, NAN], "qid of row 1 is nan: every row needs a query id"),
        ([INF, 1.0], "qid of row 0 is inf"),
    ],
)
def test_query_ids_that_are_wrong(qid: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NDCG.prepare([1, 0], qid=qid)


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1.0, 2.0, 3.0], [1, 0], r"scores have shape \(3,\), but there are 2 labels"),
        ([1.0], [1, 0], r"scores have shape \(1,\), but there are 2 labels"),
        ([[1.0, 2.0]], [1, 0], r"scores have shape \(1, 2\)"),
        ([1.0, 2.0], [[1, 0]], r"labels must be one number per row, got shape \(1, 2\)"),
    ],
)
def test_lengths_that_differ(scores: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NDCG.gradients(scores, labels)


@pytest.mark.parametrize("name", ["weight", "query_weight"])
def test_weights_beyond_what_single_precision_holds(name: str) -> None:
    """Sums of such forces overflow: it used to end in 'no split is worth it'."""
    X, y = np.arange(4.0).reshape(-1, 1), [0, 1, 0, 1]
    weights = [1.0, 1e300, 1.0, 1.0] if name == "weight" else [1.0, 1e300]
    with pytest.raises(ValueError, match=rf"{name}\[1\] is 1e\+300: weights go up to 1e\+15"):
        rf.RankingData(X, y, group=[2, 2], **{name: weights})
    largest = {"weight": [1e15] * 4, "query_weight": [1e15] * 2}
    data = rf.RankingData(X, y, group=[2, 2], **largest)
    how = {"n_estimators": 2, "min_child_samples": 1, "progress": False, "threads": 1}
    scores = rf.Ranker("ranknet", **how).fit(data).predict(data)
    assert np.isfinite(scores).all()
    assert len(set(scores)) > 1
