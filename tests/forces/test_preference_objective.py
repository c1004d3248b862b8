"""Explicit pairs (Tunys 2015): doubled and contradicting ones, weights, against naive loops."""

from __future__ import annotations

import math
import pickle
from typing import Any, NamedTuple

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import NOTHING, Floats, assert_close, draw_scores, largest
from tests.reference.forces import bump, logistic

PREFER = rf.objective("preferences")


class Judged(NamedTuple):
    """Queries of synthetic scores, and pairs that somebody judged."""

    scores: Floats
    hi: Any
    lo: Any
    weight: Floats
    sizes: tuple[int, ...]

    @property
    def labels(self) -> dict[str, Any]:
        return {"grade": np.zeros(len(self.scores)), "preferences": (self.hi, self.lo, self.weight)}

    @property
    def queries(self) -> list[slice]:
        ends = np.cumsum(self.sizes)
        return [slice(end - size, end) for size, end in zip(self.sizes, ends, strict=True)]

    def matrix(self, rows: slice) -> Floats:
        """W[hi][lo]: the weights of a pair that was judged several times add up."""
        n = rows.stop - rows.start
        W = np.zeros((n, n))
        for hi, lo, weight in zip(self.hi, self.lo, self.weight, strict=True):
            if rows.start <= hi < rows.stop:
                W[hi - rows.start][lo - rows.start] += weight
        return W


def judge(
    sizes: tuple[int, ...], *, spread: float = 4.0, tied: bool = False, seed: int = 0
) -> Judged:
    """Three pairs for each document on average: some twice, some both ways, some of weight 0."""
    rng = np.random.default_rng(seed)
    hi, lo, start = [], [], 0
    for size in sizes:
        for _ in range(3 * size if size > 1 else 0):
            one, other = rng.choice(size, 2, replace=False)
            hi.append(start + one)
            lo.append(start + other)
        start += size
    weight = rng.choice([0.0, 0.5, 1.0, 1.0, 3.0], len(hi))
    scores = np.concatenate([draw_scores(rng, n, spread) for n in sizes])
    if tied:
        scores = rng.integers(0, 3, len(scores)) / 2.0
    order = rng.permutation(len(hi))
    return Judged(scores, np.array(hi)[order], np.array(lo)[order], weight[order], sizes)


SIZES = (1, 2, 3, 17, 40)
CASES = {
    "spread 1e-6": judge(SIZES, spread=1e-6, seed=1),
    "spread 4": judge(SIZES, spread=4.0, seed=2),
    "spread 50": judge(SIZES, spread=50.0, seed=3),
    "spread 1e3": judge(SIZES, spread=1e3, seed=4),
    "ties": judge(SIZES, tied=True, seed=5),
    "all equal": judge(SIZES, spread=0.0, seed=6),
}


def test_the_cases_are_worth_something() -> None:
    """Pairs that occur twice, both ways, and with weight 0."""
    case = CASES["spread 4"]
    pairs = list(zip(case.hi.tolist(), case.lo.tolist(), strict=True))
    assert len(set(pairs)) < len(pairs)
    assert any((lo, hi) in pairs for hi, lo in pairs)
    assert (case.weight == 0).any()


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("norm", ref.NORMS)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_forces_are_the_naive_ones(case: Judged, norm: str, sigma: float) -> None:
    objective = rf.objective("preferences", sigma=sigma)
    lam, hess = objective.gradients(case.scores, case.labels, group=case.sizes, norm=norm)
    assert (hess >= 0).all()
    for rows in case.queries:
        W, scores = case.matrix(rows).tolist(), case.scores[rows].tolist()
        expected = ref.forces(W, scores, norm=norm, sigma=sigma)
        if largest(np.array(ref.forces(W, scores, sigma=sigma)[0])) < NOTHING:
            continue  # forces that underflow
        assert_close(lam[rows], np.array(expected[0]), f"lambda, {len(W)} documents", 1e-6)
        assert_close(hess[rows], np.array(expected[1]), f"hess, {len(W)} documents", 1e-6)
        assert abs(lam[rows].sum()) <= 1e-12 * np.abs(lam[rows]).sum()


def test_one_pair_by_hand() -> None:
    scores, x = [0.3, 0.8, 0.1], 0.3 - 0.8
    labels = {"grade": [0, 0, 0], "preferences": ([0], [1], [0.7])}
    p = 1 / (1 + math.exp(2 * x))
    lam, hess = rf.objective("preferences", sigma=2.0).gradients(scores, labels)
    assert lam == pytest.approx([2 * p * 0.7, -2 * p * 0.7, 0])
    assert hess == pytest.approx([4 * p * (1 - p) * 0.7] * 2 + [0])


def test_labels_do_not_matter() -> None:
    case = CASES["spread 4"]
    expected = PREFER.gradients(case.scores, case.labels, group=case.sizes)
    other = case.labels | {"grade": np.arange(len(case.scores)) * np.nan}
    assert np.array_equal(PREFER.gradients(case.scores, other, group=case.sizes), expected)


def test_all_pairs_of_labels_are_ranknet() -> None:
    rng = np.random.default_rng(7)
    labels, scores = rng.integers(0, 4, 30), rng.normal(size=30)
    hi, lo = np.nonzero(labels[:, None] > labels[None, :])
    for norm in ref.NORMS:
        expected = rf.objective("ranknet").gradients(scores, labels, norm=norm)
        got = PREFER.gradients(scores, {"a": labels, "preferences": (hi, lo)}, norm=norm)
        for some, other in zip(got, expected, strict=True):
            assert_close(some, other, norm, 1e-5)


def test_contradicting_pairs() -> None:
    """At equal scores nothing moves, but the pair has a second derivative; apart, they meet."""
    labels = {"a": [0, 0], "preferences": ([0, 1], [1, 0])}
    lam, hess = PREFER.gradients([0.0, 0.0], labels)
    assert lam.tolist() == [0.0, 0.0]
    assert hess.tolist() == [0.5, 0.5]
    lam, _ = PREFER.gradients([1.0, 0.0], labels)
    assert lam[0] == pytest.approx(logistic(1.0) - logistic(-1.0))
    assert lam[0] < 0 < lam[1]
    got = PREFER.gradients([0.0, 0.0], labels, norm="std")
    assert np.array_equal(got, np.zeros((2, 2)))  # nothing to scale
    two_to_one = {"a": [0, 0], "preferences": ([0, 1], [1, 0], [2.0, 1.0])}
    x = math.log(2.0)  # where sigma(x) = 2/3 of the judges
    assert PREFER.gradients([x, 0.0], two_to_one)[0] == pytest.approx([0.0, 0.0], abs=1e-12)


def test_a_pair_twice_is_a_pair_of_twice_the_weight() -> None:
    scores = [0.1, 0.4, 0.2]
    twice = {"a": [0] * 3, "preferences": ([2, 2, 0], [1, 1, 1], [1.0, 0.5, 0.25])}
    once = {"a": [0] * 3, "preferences": ([2, 0], [1, 1], [1.5, 0.25])}
    for norm in ref.NORMS:
        np.testing.assert_allclose(
            PREFER.gradients(scores, twice, norm=norm), PREFER.gradients(scores, once, norm=norm)
        )


def test_pairs_of_weight_0_are_no_pairs() -> None:
    scores = [0.1, 0.4, 0.2]
    labels = {"a": [0] * 3, "preferences": ([2, 0, 1], [1, 1, 0], [0.0, 1.0, 0.0])}
    hi, lo, weight = PREFER.pairs(scores, labels)
    assert (hi.tolist(), lo.tolist(), weight.tolist()) == ([0], [1], [1.0])
    assert PREFER.effective_pairs(scores, labels).tolist() == [1]
    expected = PREFER.gradients(scores, {"a": [0] * 3, "preferences": ([0], [1])}, norm="lightgbm")
    assert np.array_equal(PREFER.gradients(scores, labels, norm="lightgbm"), expected)
    nothing = {"a": [0] * 3, "preferences": ([2, 0], [1, 1], [0.0, 0.0])}
    for norm in ref.NORMS:
        assert np.array_equal(PREFER.gradients(scores, nothing, norm=norm), np.zeros((2, 3)))


def test_queries_without_pairs_are_exactly_zero() -> None:
    labels = {"a": [0] * 7, "preferences": ([0, 5], [1, 6])}
    for norm in ref.NORMS:
        lam, hess = PREFER.gradients(
            [0.1 * i for i in range(7)], labels, group=[2, 3, 2], norm=norm
        )
        assert lam[2:5].tolist() == hess[2:5].tolist() == [0.0] * 3
        assert lam[0] > 0 > lam[1]
        assert lam[5] > 0 > lam[6]
    assert PREFER.effective_pairs(np.zeros(7), labels, group=[2, 3, 2]).tolist() == [1, 0, 1]


def test_no_pairs_and_no_rows() -> None:
    for given in (([], []), [], np.empty((0, 2)), ([], [], [])):
        lam, hess = PREFER.gradients([1.0, 2.0], {"a": [0, 0], "preferences": given})
        assert lam.tolist() == hess.tolist() == [0.0, 0.0]
    ready = PREFER.prepare({"a": [], "preferences": ([], [])}, group=[])
    assert [len(part) for part in ready.gradients([], threads=2)] == [0, 0]
    assert [len(part) for part in ready.pairs([])] == [0, 0, 0]
    assert ready.effective_pairs([]).tolist() == []


# What must not change the forces


MANY = judge((*range(2, 80, 3), 900, 1, 1, 500), spread=12.0, seed=8)


def test_number_of_threads_changes_no_bit() -> None:
    many = judge((*[200] * 30, 2000), spread=12.0, seed=9)
    assert len(many.hi) > 20_000  # enough for threads to be worth it
    ready = PREFER.prepare(many.labels, group=many.sizes)
    leaf = np.arange(len(many.scores), dtype=np.int32) % 7
    for norm in ref.NORMS:
        one = ready.gradients(many.scores, norm=norm)
        for threads in (2, 5):
            assert np.array_equal(ready.gradients(many.scores, norm=norm, threads=threads), one)
    shared = [
        ready.shared_hessians(
            many.scores, leaf, 7, norm="none", iteration=0, row_weight=None, threads=threads
        )
        for threads in (1, 2, 5)
    ]
    assert np.array_equal(shared[0], shared[1])
    assert np.array_equal(shared[0], shared[2])


def test_rows_in_any_order() -> None:
    """Rows of a query need not stand together; pairs name the rows where they are."""
    qid = np.repeat(np.arange(len(MANY.sizes)), MANY.sizes)
    row = np.random.default_rng(10).permutation(len(qid))
    place = np.argsort(row)  # where each row went
    labels = {"a": np.zeros(len(qid)), "preferences": (place[MANY.hi], place[MANY.lo], MANY.weight)}
    for norm in ref.NORMS:
        expected = PREFER.gradients(MANY.scores, MANY.labels, group=MANY.sizes, norm=norm)
        got = PREFER.gradients(MANY.scores[row], labels, qid=qid[row], norm=norm)
        np.testing.assert_allclose(got, np.array(expected)[:, row], rtol=1e-10, atol=1e-14)
    ready = PREFER.prepare(labels, qid=qid[row])
    for query, name in enumerate(dict.fromkeys(qid[row].tolist())):
        hi, lo, _ = ready.pairs(MANY.scores[row], query=query)
        assert set(qid[row][hi]) | set(qid[row][lo]) <= {name}
    counts = PREFER.effective_pairs(MANY.scores, MANY.labels, group=MANY.sizes)
    names = dict.fromkeys(qid[row].tolist())
    by_name = dict(zip(names, ready.effective_pairs(MANY.scores), strict=True))
    assert [by_name[q] for q in range(len(MANY.sizes))] == counts.tolist()


def test_pairs_in_any_order() -> None:
    order = np.random.default_rng(11).permutation(len(MANY.hi))
    other = MANY._replace(hi=MANY.hi[order], lo=MANY.lo[order], weight=MANY.weight[order])
    for norm in ref.NORMS:
        expected = PREFER.gradients(MANY.scores, MANY.labels, group=MANY.sizes, norm=norm)
        got = PREFER.gradients(MANY.scores, other.labels, group=MANY.sizes, norm=norm)
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-14)


def test_finite_scores_give_finite_forces() -> None:
    labels = {"a": [0] * 4, "preferences": ([0, 1, 2, 3], [1, 2, 3, 0])}
    for scores in (
        [1e300, -1e300, 0.0, 1.0],
        [1.7e308, -1.7e308, 1.7e308, 0.0],
        [709.0, -746.0, 0.0, 5e-324],
        [7.0] * 4,
    ):
        for norm in ref.NORMS:
            got = PREFER.gradients(scores, labels, norm=norm)
            assert np.isfinite(got).all()
            assert (got[1] >= 0).all()


# Forms of pairs


def test_forms_of_pairs() -> None:
    case = judge((4, 9), seed=12)
    with_ones = case._replace(weight=np.ones(len(case.hi)))
    expected = PREFER.gradients(case.scores, with_ones.labels, group=case.sizes)
    features, grades = np.zeros((13, 1)), np.zeros(13)
    table = np.stack([case.hi, case.lo], axis=1)
    for given in ((case.hi, case.lo), table, table.tolist(), np.insert(table, 2, 1, axis=1)):
        labels = {"a": grades, "preferences": given}
        assert np.array_equal(PREFER.gradients(case.scores, labels, group=case.sizes), expected)
        data = rf.RankingData(features, grades, group=case.sizes, preferences=given)
        assert np.array_equal(PREFER.gradients(case.scores, data), expected)


def test_data_with_weights_and_interleaved_queries() -> None:
    scores = [0.1, 0.5, 0.3, 0.2]
    data = rf.RankingData(
        np.zeros((4, 1)),
        [0, 0, 0, 0],
        qid=["a", "b", "a", "b"],
        preferences=([2, 3], [0, 1], [0.5, 2.0]),
    )
    lam, _ = PREFER.gradients(scores, data)
    first, second = 0.5 * logistic(0.3 - 0.1), 2.0 * logistic(0.2 - 0.5)
    assert lam == pytest.approx([-first, -second, first, second])


# Mixed with others


@pytest.mark.parametrize("norm", ref.NORMS)
def test_mixed_with_others(norm: str) -> None:
    case, rng = CASES["spread 4"], np.random.default_rng(13)
    labels = case.labels | {"grade": rng.integers(0, 3, len(case.scores))}
    labels["click"] = rng.uniform(size=len(case.scores))
    tiers = rf.graded(["lambdarank-ndcg", rf.objective("ranknet", source="click")])
    steep = rf.objective("preferences", sigma=2.0, norm="none")
    whole = 0.5 * tiers + 2.0 * steep

    def forces(one: Any, norm: str) -> Floats:
        return np.array(one.gradients(case.scores, labels, group=case.sizes, norm=norm))

    expected = 0.5 * forces(tiers, norm) + 2.0 * forces(steep, "none")
    np.testing.assert_allclose(forces(whole, norm), expected, rtol=1e-12, atol=1e-15)
    counts = [
        one.effective_pairs(case.scores, labels, group=case.sizes) for one in (whole, tiers, steep)
    ]
    assert np.array_equal(counts[0], counts[1] + counts[2])


def test_preferences_are_no_labels() -> None:
    """The first labels of a dictionary are the usual source, wherever the pairs stand."""
    labels = {"preferences": ([0], [1]), "grade": [0, 1]}
    assert rf.objective("ranknet").gradients([0, 0], labels)[0].tolist() == [-0.5, 0.5]
    whole = rf.objective("ranknet") + PREFER
    assert whole.gradients([0, 0], labels)[0].tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="there are no labels by name"):
        PREFER.gradients([0, 0], {"preferences": ([0], [1])})


# Second derivatives within leaves


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize("name", ["spread 4", "spread 50", "all equal"])
def test_shared_hessians_are_naive_sums(name: str, norm: str, weighted: bool) -> None:
    """Pairs with both documents in a leaf, once for each document, with the weight of its row."""
    case, sigma, rng = CASES[name], 2.0, np.random.default_rng(14)
    n = len(case.scores)
    leaf, own = rng.integers(0, 4, n).astype(np.int32), rng.uniform(size=n)
    own = own if weighted else np.ones(n)
    expected = np.zeros(4)
    for rows in case.queries:
        total, found = 0.0, np.zeros(4)
        is_apart = norm == "lightgbm" and np.ptp(case.scores[rows]) > 0
        for hi, lo, weight in zip(case.hi, case.lo, case.weight, strict=True):
            if not rows.start <= hi < rows.stop:
                continue
            x = case.scores[hi] - case.scores[lo]
            weight = weight / (0.01 + abs(x)) if is_apart else weight
            total += 2.0 * sigma * logistic(sigma * x) * weight
            if leaf[hi] == leaf[lo]:
                found[leaf[hi]] += sigma**2 * bump(sigma * x) * weight * (own[hi] + own[lo])
        if norm == "lightgbm" and total > 0:
            found *= math.log2(1.0 + total) / total
        expected += found
    got = rf.objective("preferences", sigma=sigma).prepare(case.labels, group=case.sizes)
    shared = got.shared_hessians(
        case.scores,
        leaf,
        4,
        norm=norm,
        iteration=0,
        row_weight=own if weighted else None,
        threads=1,
    )
    np.testing.assert_allclose(shared, expected, rtol=1e-9)


# The objective itself


def test_names() -> None:
    for name in ("preferences", "Preferences", " PREFERENCE ", "rankmart(preferences)"):
        assert rf.objective(name) == PREFER
    assert PREFER.name == "Preferences"
    assert rf.objective("preferences", k=5) == PREFER  # a ranker's k is for its metric
    assert set(PREFER.about) == {"formula", "source", "cost"}


@pytest.mark.parametrize(
    "given", [{}, {"sigma": 2.0}, {"norm": "std"}, {"sigma": 0.5, "norm": "none"}]
)
def test_text_table_and_pickle(given: dict[str, Any]) -> None:
    one = rf.objective("preferences", **given)
    assert one.arguments == given
    assert one.table() == {"name": "Preferences"} | given
    copies = [
        eval(repr(one), {"rf": rf}),
        rf.objective(one.table()),
        pickle.loads(pickle.dumps(one)),
    ]
    for copy in copies:
        assert copy == one
        assert hash(copy) == hash(one)
    assert one != rf.objective("preferences", sigma=3.0)
    assert one != rf.objective("ranknet")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"source": "click"}, "has no parameter 'source': it has sigma, norm"),
        ({"tau": 5}, "has no parameter 'tau'"),
        ({"gain": "y"}, "has no parameter 'gain'"),
        ({"cost": "sigmoid"}, "has no cost 'sigmoid': it is logistic"),
        ({"center": 1.0}, "only cost='sigmoid' has a center"),
        ({"sigma": 0.0}, "sigma is 0.0: it must lie between"),
        ({"norm": "l2"}, "norm is 'l2': choose"),
    ],
)
def test_wrong_parameters(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rf.objective("preferences", **given)


def test_preferences_that_are_missing() -> None:
    """One sentence, which says how to give them."""
    data = rf.RankingData(np.zeros((2, 1)), [0, 1], group=[2])
    for labels in ([0, 1], {"grade": [0, 1]}, data):
        for one in (PREFER, rf.objective("ranknet") + PREFER, 0.0 * PREFER):
            with pytest.raises(
                ValueError, match="Preferences needs explicit pairs: give"
            ) as caught:
                one.gradients([1.0, 2.0], labels)
            assert "\n" not in str(caught.value)


WRONG: dict[str, tuple[Any, str]] = {
    "another query": (([0], [3]), r"preferences\[0\]: row 0 .* row 3 .* expected one query"),
    "no such row": (([0, 1], [1, 9]), r"preferences\[1\]: there is no row 9"),
    "a negative row": (([-1], [1]), "there is no row -1"),
    "itself": (([1], [1]), "row 1 is on both sides"),
    "a negative weight": (([0], [1], [-1.0]), r"preferences\[0\]: weight -1"),
    "no weight": (([0], [1], [math.nan]), r"preferences\[0\]: weight nan"),
    "lengths": (([0, 1], [1]), "one length"),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_wrong_pairs(given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        PREFER.gradients(np.zeros(4), {"a": np.zeros(4), "preferences": given}, group=[2, 2])
    assert "\n" not in str(caught.value)


def test_scores_norms_and_queries_are_checked() -> None:
    labels = {"a": [0, 0], "preferences": ([0], [1])}
    with pytest.raises(ValueError, match="score of row 1 is nan: scores must be finite"):
        PREFER.gradients([1.0, math.nan], labels)
    with pytest.raises(ValueError, match="scores have shape"):
        PREFER.gradients([1.0], labels)
    with pytest.raises(ValueError, match="unknown norm 'l2'"):
        PREFER.gradients([1.0, 2.0], labels, norm="l2")
    with pytest.raises(ValueError, match="query is 1: there are 1 queries"):
        PREFER.prepare(labels).pairs([1.0, 2.0], query=1)
    with pytest.raises(ValueError, match="threads is 0"):
        PREFER.gradients([1.0, 2.0], labels, threads=0)
