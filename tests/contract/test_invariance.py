"""What must not change the forces, and what every set of forces satisfies."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contract.cases import CASES, OF_LISTS, Case, Data, Floats, assert_close, make_data

NORMS = ("none", "lightgbm", "std")
MIXED = make_data([5, 40, 17, 1, 33, 2, 90], spread=6.0, seed=20)
SUMMATION = 1e-5  # another order of documents adds float32 numbers in another order


def each_query(data: Data, *arrays: Floats) -> list[tuple[Floats, ...]]:
    return [tuple(array[rows] for array in arrays) for rows in data]


@pytest.mark.parametrize("case", OF_LISTS, ids=str)
def test_lambdas_sum_to_zero_and_hessians_are_not_negative(case: Case) -> None:
    for spread in (1e-6, 1.0, 10.0, 1e3):
        data = make_data([2, 17, 60, 300], spread=spread, seed=21)
        for norm in NORMS:
            lam, hess = case.objective().gradients(
                data.scores, case.labels(data.labels), group=data.sizes, norm=norm
            )
            assert (hess >= 0).all()
            for (forces,) in each_query(data, lam):
                assert abs(forces.sum()) <= 1e-6 * np.abs(forces).sum()


EXTREMES = {
    "1e300": [1e300, -1e300, 0.0, 1.0, 1e300, -1e-300],
    "denormal": [5e-324, 0.0, -5e-324, 1e-310, 5e-324, -0.0],
    "denormal and huge": [5e-324, 1e300, 0.0, -1e300, 1.0, 1e-300],
    "equal": [7.0] * 6,
    "equal and huge": [-1e300] * 6,
    "neighbours": [1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 0.0), 1.0, 1.0, 1.0],
    "limits of float64": [1.7e308, -1.7e308, 1.7e308, 0.0, 1.7e308, -1.7e308],
    "around the limit of float32": [88.0, -88.0, 104.0, -104.0, 0.0, 3.4e38],
    "around the limit of exp": [709.0, -709.0, 745.0, -746.0, 0.0, 710.0],
}


@pytest.mark.parametrize("scores", EXTREMES.values(), ids=EXTREMES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_finite_scores_give_finite_forces(case: Case, scores: list[float]) -> None:
    labels = case.labels([0, 2, 1, 0, 4, 1])
    for how in filter(case.takes, ({}, {"cost": "sigmoid"})):
        for norm in NORMS:
            lam, hess = case.objective(**how).gradients(scores, labels, norm=norm)
            assert np.isfinite(lam).all()
            assert np.isfinite(hess).all()
            assert (hess >= 0).all()
    assert np.isfinite(case.objective().pairs(scores, labels).weight).all()


@pytest.mark.parametrize("constant", [1.0, -64.0, 2.0**20])
@pytest.mark.parametrize("case", OF_LISTS, ids=str)
def test_a_constant_added_to_all_scores_changes_nothing(case: Case, constant: float) -> None:
    """Exactly nothing: scores in 1/64 and these constants add without rounding."""
    scores = np.round(MIXED.scores * 64.0) / 64.0
    how = {"group": MIXED.sizes, "norm": "lightgbm"}
    expected = case.objective().gradients(scores, case.labels(MIXED.labels), **how)
    got = case.objective().gradients(scores + constant, case.labels(MIXED.labels), **how)
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("case", [case for case in CASES if not case.is_random], ids=str)
def test_order_of_rows_within_a_query_does_not_matter(case: Case) -> None:
    rng = np.random.default_rng(22)
    row = np.concatenate([rows.start + rng.permutation(rows.stop - rows.start) for rows in MIXED])
    assert all(len(set(scores)) == len(scores) for (scores,) in each_query(MIXED, MIXED.scores))
    for norm in NORMS:
        how = {"group": MIXED.sizes, "norm": norm}
        expected = case.objective().gradients(MIXED.scores, case.labels(MIXED.labels), **how)
        got = case.objective().gradients(MIXED.scores[row], case.labels(MIXED.labels[row]), **how)
        for some, others in zip(got, expected, strict=True):
            for part, other in each_query(MIXED, some, others[row]):
                assert_close(part, other, f"norm {norm}", SUMMATION)


def query_ids(data: Data) -> np.ndarray:
    """Ids that are not in order and not from 0."""
    return np.repeat([70, 3, 12, 900, 5, 41, 8][: len(data.sizes)], data.sizes)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_order_of_queries_does_not_matter(case: Case) -> None:
    """Random draws belong to the query's id, so they travel with it."""
    queries = list(MIXED)
    row = np.concatenate([np.arange(queries[q].start, queries[q].stop) for q in (4, 0, 6, 2, 5, 1)])
    row = np.concatenate([row, np.arange(queries[3].start, queries[3].stop)])
    qid, objective = query_ids(MIXED), case.objective(seed=3)
    expected = objective.gradients(MIXED.scores, case.labels(MIXED.labels), qid=qid, iteration=2)
    got = objective.gradients(
        MIXED.scores[row], case.labels(MIXED.labels[row]), qid=qid[row], iteration=2
    )
    assert np.array_equal(got, np.array(expected)[:, row])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_group_and_qid_agree(case: Case) -> None:
    """Ids 0, 1, 2, ... are the keys that queries without ids have."""
    qid = np.repeat(np.arange(len(MIXED.sizes)), MIXED.sizes)
    by_group = case.objective().gradients(
        MIXED.scores, case.labels(MIXED.labels), group=MIXED.sizes
    )
    by_qid = case.objective().gradients(MIXED.scores, case.labels(MIXED.labels), qid=qid)
    assert np.array_equal(by_qid, by_group)


@pytest.mark.parametrize("ids", ["numbers", "texts"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_interleaved_queries_come_back_in_the_callers_order(case: Case, ids: str) -> None:
    qid = query_ids(MIXED) if ids == "numbers" else query_ids(MIXED).astype(str)
    # Rows of a query stay in order, so that even the sums are the same.
    row = np.argsort(np.random.default_rng(23).uniform(size=len(qid)), kind="stable")
    for q in set(qid):
        row[qid[row] == q] = np.sort(row[qid[row] == q])
    assert (np.diff(row) < 0).sum() > 20
    expected = case.objective().gradients(
        MIXED.scores, case.labels(MIXED.labels), qid=qid, norm="lightgbm"
    )
    got = case.objective().gradients(
        MIXED.scores[row], case.labels(MIXED.labels[row]), qid=qid[row], norm="lightgbm"
    )
    assert np.array_equal(got, np.array(expected)[:, row])
    counts = case.objective().effective_pairs(MIXED.scores, case.labels(MIXED.labels), qid=qid)
    shuffled = case.objective().effective_pairs(
        MIXED.scores[row], case.labels(MIXED.labels[row]), qid=qid[row]
    )
    first_seen = list(dict.fromkeys(qid[row]))
    by_id = dict(zip(dict.fromkeys(qid), counts, strict=True))
    assert shuffled.tolist() == [by_id[q] for q in first_seen]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_pairs_of_interleaved_queries_name_the_callers_rows(case: Case) -> None:
    qid = np.arange(len(MIXED.scores)) % 3
    ready = case.objective().prepare(case.labels(MIXED.labels), qid=qid)
    for query in range(3):
        rows = np.flatnonzero(qid == query)
        hi, lo, weight = ready.pairs(MIXED.scores, query=query)
        alone = case.objective().prepare(
            case.labels(MIXED.labels[rows]), qid=np.full(len(rows), query)
        )
        if "(err)" not in case.name or "max_label" in case.values:
            expected = alone.pairs(MIXED.scores[rows])
            assert np.array_equal(hi, rows[expected.hi])
            assert np.array_equal(lo, rows[expected.lo])
            assert weight == pytest.approx(expected.weight, rel=1e-13)
        assert set(qid[hi]) | set(qid[lo]) <= {query}


THREADED = make_data(
    [*np.random.default_rng(24).integers(2, 120, 40), 0, 1, 0, 1, 1, *range(0, 30, 2), 700],
    spread=12.0,
    seed=25,
)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_number_of_threads_changes_no_bit(case: Case) -> None:
    assert len(THREADED.sizes) > 60
    ready = case.objective(seed=1).prepare(case.labels(THREADED.labels), group=THREADED.sizes)
    for scores in (THREADED.scores, THREADED.scores * 5.0):
        for norm in NORMS:
            one = ready.gradients(scores, norm=norm, iteration=1, threads=1)
            for threads in (2, 7):
                many = ready.gradients(scores, norm=norm, iteration=1, threads=threads)
                assert np.array_equal(one, many)
        one_count = ready.effective_pairs(scores, threads=1)
        assert np.array_equal(one_count, ready.effective_pairs(scores, threads=7))


BESIDE = {"short": [90, 3, 40, 64, 17, 2], "long": [12_000, 3, 2, 17, 64]}


@pytest.mark.parametrize("sizes", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_query_has_the_same_forces_alone(case: Case, sizes: list[int]) -> None:
    """Whatever the scratch arrays hold from queries before it, and however long those are."""
    if "(err)" in case.name:
        case = Case(case.name, tuple((case.values | {"max_label": 4.0}).items()))
    data = make_data(sizes, spread=6.0, seed=26)
    labels = case.labels(data.labels).copy()
    labels[100:11_900] = 0.0  # few pairs: the long query is only there to be long
    for spread in (1.0, 20.0):
        scores = data.scores * spread
        together = case.objective().gradients(scores, labels, group=sizes)
        for query, rows in enumerate(data):
            qid = np.full(rows.stop - rows.start, query)
            alone = case.objective().gradients(scores[rows], labels[rows], qid=qid)
            for some, other in zip(together, alone, strict=True):
                assert_close(some[rows], other, f"{len(qid)} documents")
