"""Some queries of a bound objective: forces are those of the whole set, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import rankforce as rf
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.forces.ready import Ready
from tests.contract.cases import CASES, Case, Floats, draw_scores

NAN = float("nan")
NORMS = ("none", "lightgbm", "std")
SIZES = (1, 30, 2, 17, 60, 0, 5, 300, 8)
CHOSEN = [4, 1, 8, 0, 5, 6, 7]
ITERATION = 3
RNG = np.random.default_rng(0)
ROWS = sum(SIZES)
SCORES = np.concatenate([draw_scores(RNG, n, 6.0) for n in SIZES])
TIED = np.round(SCORES)
GRADES = RNG.integers(0, 5, ROWS).astype(np.float64)
CLICKS = RNG.choice([0.0, 0.125, 0.25, 1.0, NAN], ROWS)
OF_ROWS = np.repeat(np.arange(len(SIZES)), SIZES)


def judge(of_rows: NDArray[np.int64]) -> tuple[Any, Any, Floats]:
    """Pairs of rows that are of one query."""
    hi, lo = RNG.integers(0, ROWS, (2, 4000))
    kept = (of_rows[hi] == of_rows[lo]) & (hi != lo)
    return hi[kept], lo[kept], RNG.choice([0.0, 0.5, 2.0], kept.sum())


def in_turn() -> QueryIndex:
    """Rows of all queries stand in turn, under ids that are texts."""
    shuffled = np.random.default_rng(1).permutation(OF_ROWS)
    return index_queries(ROWS, qid=[f"q{one}" for one in shuffled])


def tied_by_lot() -> QueryIndex:
    """Rows of a query stand in an order of their own, which decides about tied scores."""
    index = index_queries(ROWS, group=SIZES)
    rng = np.random.default_rng(2)
    row = [rng.permutation(index.rows_of(query)) for query in range(len(SIZES))]
    return index._replace(row=np.concatenate(row))


INDICES = {
    "one behind the other": index_queries(ROWS, group=SIZES),
    "in turn": in_turn(),
    "tied by lot": tied_by_lot(),
}
LABELS = {
    name: {"grade": GRADES, "click": CLICKS, "preferences": judge(index.of_rows())}
    for name, index in INDICES.items()
}
every_order = pytest.mark.parametrize("order", INDICES)


def bind(one: Any, order: str = "one behind the other") -> Ready:
    return one.bind(LABELS[order], INDICES[order])


def assert_taken(whole: Ready) -> None:
    index = whole.index
    chosen = np.array([query for query in CHOSEN if query < len(index.sizes)])
    rows = index.rows_of(chosen)
    part = whole.take(chosen)
    assert not len(part.index.row)
    for scores in (SCORES, TIED):
        for norm in NORMS:
            how = {"norm": norm, "iteration": ITERATION}
            expected = np.array(whole.gradients(scores, **how))[:, rows]
            assert np.array_equal(part.gradients(scores[rows], **how), expected)
        counts = whole.effective_pairs(scores, iteration=ITERATION)[chosen]
        assert np.array_equal(part.effective_pairs(scores[rows], iteration=ITERATION), counts)


@every_order
@pytest.mark.parametrize("case", CASES, ids=str)
def test_forces_are_those_of_the_whole(case: Case, order: str) -> None:
    assert_taken(case.objective(seed=5).bind(case.labels(GRADES), INDICES[order]))


NDCG = rf.objective("lambdarank-ndcg", k=3)
CLICKED = rf.objective("lambdarank(cndcg)", source="click")
PREFER = rf.objective("preferences")
RANDOM = rf.objective("lambdamart-ex random", k=2, seed=4, norm="std")
SIGMOID = rf.objective("lambdaloss-ndcg", cost="sigmoid", center=0.3, tau=5)


def my_weight(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return (y_hi - y_lo) / (rank_hi + 3 * rank_lo)


SUMS = {
    "one with gaps": rf.objective("ranknet", source="click"),
    "a weight of one's own": rf.objective(my_weight),
    "mix": rf.mix([(0.5, NDCG), (2.0, RANDOM), (0.3, SIGMOID), (1.0, "xendcg")]),
    "mix with a norm": rf.mix([(0.5, NDCG), (2.0, CLICKED)], norm="lightgbm"),
    "mix of lists": rf.mix([(0.5, "squared-error"), (2.0, "xendcg")]),
    "mix in a mix": rf.mix([(1.0, rf.mix([(0.5, NDCG), (2.0, CLICKED)], norm="std")), (2, NDCG)]),
    "preferences": PREFER,
    "mix with preferences": 2.0 * PREFER + NDCG,
    "graded": rf.graded([NDCG, CLICKED], weights=[0.8, 0.2]),
    "graded with a cutoff": rf.graded(
        [NDCG, rf.objective("lambdarank-ndcg", k=3, source="click")], leave_out_zeros=False
    ),
    "scheduled": rf.scheduled(NDCG, RANDOM, schedule="linear", start=0.1, rate=0.05),
}


@every_order
@pytest.mark.parametrize("one", SUMS.values(), ids=SUMS)
def test_sums_are_those_of_the_whole(one: Any, order: str) -> None:
    assert_taken(bind(one, order))


def test_what_was_taken_can_be_taken_from() -> None:
    """A query may come twice; pairs name rows of the batch."""
    for one in (PREFER, NDCG, rf.objective("xendcg"), 0.5 * PREFER + NDCG):
        whole = bind(one, "tied by lot")
        part = whole.take(CHOSEN).take([6, 1, 1])
        rows = INDICES["tied by lot"].rows_of([7, 1, 1])
        expected = np.array(whole.gradients(SCORES, norm="lightgbm"))[:, rows]
        assert np.array_equal(part.gradients(SCORES[rows], norm="lightgbm"), expected)
        pairs, same = whole.pairs(SCORES, query=1), part.pairs(SCORES[rows], query=1)
        assert np.array_equal(rows[same.hi], pairs.hi)
        assert np.array_equal(rows[same.lo], pairs.lo)
        assert np.array_equal(same.weight, pairs.weight)


def test_the_whole_stays_as_it_is() -> None:
    for one in (PREFER, NDCG, rf.objective("xendcg"), SUMS["graded"]):
        whole = bind(one)
        before = np.array(whole.gradients(SCORES))
        whole.take([1]).gradients(SCORES[1:31])
        assert np.array_equal(whole.gradients(SCORES), before)


def test_no_query() -> None:
    for one in (PREFER, NDCG, rf.objective("xendcg"), SUMS["graded"]):
        part = bind(one).take([])
        lam, hess = part.gradients([])
        assert len(lam) == len(hess) == 0


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([0, 9], r"queries\[1\] is 9: there are 9 queries"),
        ([-1], r"queries\[0\] is -1: there are 9 queries"),
        ([0.5], "queries must be a list of numbers of queries, got float64"),
        (3, r"queries must be a list of numbers of queries, got int64 of shape \(\)"),
    ],
)
def test_queries_that_are_not_there(queries: Any, message: str) -> None:
    ready = bind(NDCG)
    with pytest.raises(rf.RankforceError, match=message):
        ready.take(queries)


def test_scores_of_a_batch_are_checked() -> None:
    part = bind(NDCG).take([3])
    with pytest.raises(rf.RankforceError, match=r"scores have shape \(3,\), but there are 17"):
        part.gradients([1.0, 2.0, 3.0])
    scores: Floats = np.zeros(17)
    scores[4] = NAN
    with pytest.raises(rf.RankforceError, match="score of row 4 is nan"):
        part.gradients(scores)
