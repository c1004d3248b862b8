"""Graded objectives against naive loops: pairs, weights, norms, costs, sizes, orders, threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import Case, Floats, assert_close, draw_scores
from tests.reference import dense, tiers

NAN = float("nan")
NAMES = ("grade", "click", "third")


@dataclass(frozen=True)
class Data:
    """Queries with three sources of labels, shares from 0 to 1 so that every objective takes them.

    The first has few values, so that the tiers below have something to say.
    """

    scores: Floats
    sources: dict[str, Floats]
    sizes: tuple[int, ...]

    def __iter__(self) -> Iterator[slice]:
        start = 0
        for size in self.sizes:
            yield slice(start, start + size)
            start += size

    def rows(self, rows: Any) -> list[list[float]]:
        return [self.sources[name][rows].tolist() for name in NAMES]

    def taken(self, rows: Any) -> dict[str, Floats]:
        return {name: values[rows] for name, values in self.sources.items()}


def make_data(
    sizes: tuple[int, ...],
    *,
    spread: float = 4.0,
    tied: bool = False,
    gaps: float = 0.15,
    seed: int = 0,
) -> Data:
    rng = np.random.default_rng(seed)
    rows = sum(sizes)
    sources = {
        "grade": rng.choice([0.0, 0.25, 0.5], rows),
        "click": rng.choice([0.0, 0.0, 0.125, 0.5, 1.0], rows),
        "third": rng.choice([0.0, 0.25, 0.5, 0.75, 1.0], rows),
    }
    for values in sources.values():
        values[rng.uniform(size=rows) < gaps] = NAN
    scores = np.concatenate([draw_scores(rng, n, spread) for n in sizes])
    if tied:
        scores = rng.integers(0, 4, rows) / 2.0
    return Data(scores, sources, sizes)


@dataclass(frozen=True)
class Kind:
    """An objective that can be a tier, and the naive weights of all its pairs."""

    title: str
    make: Callable[..., rf.Objective]
    weights: Callable[[list[float], list[float]], Any]

    def __str__(self) -> str:
        return self.title

    def graded(self, *, weights: Any, zeros_out: bool = True, **how: Any) -> rf.Mixed:
        """Three tiers of this kind."""
        three = [self.make(source=name, **how) for name in NAMES]
        return rf.graded(three, weights=weights, leave_out_zeros=zeros_out)

    def tier(self, tier: int, scores: Floats, sources: list[list[float]], zeros_out: bool) -> Any:
        """The naive weights of a tier."""
        W = self.weights(scores.tolist(), sources[tier])
        return tiers.keep_pairs(W, tier, sources, zeros_out=zeros_out)


def named(name: str, **parameters: Any) -> Kind:
    case = Case(name, tuple(parameters.items()))
    return Kind(
        str(case), case.objective, lambda scores, labels: case.weights(scores, tiers.known(labels))
    )


def my_weight(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return (2.0 * y_hi + y_lo + 0.5) / (rank_hi + 3 * rank_lo)


def my_gain(y: float) -> float:
    return 3.0 * y + 1.0


def my_value(rank: int) -> float:
    return 1.0 / rank if rank <= 6 else 0.0


OWN = [
    Kind(
        "a user's weight",
        lambda **how: rf.objective(my_weight, **how),
        lambda scores, labels: tiers.own_weights(my_weight, scores, labels),
    ),
    Kind(
        "a user's weight; tau=4",
        lambda **how: rf.objective(my_weight, tau=4, **how),
        lambda scores, labels: tiers.own_weights(my_weight, scores, labels, tau=4),
    ),
]
ADDITIVE = [
    Kind(
        f"additive; cutoff={cutoff}; normalised={normalised}",
        lambda cutoff=cutoff, normalised=normalised, **how: rf.additive(
            my_gain, my_value, cutoff=cutoff, normalised=normalised, **how
        ),
        lambda scores, labels, normalised=normalised: tiers.additive_weights(
            my_gain, my_value, scores, labels, normalised=normalised
        ),
    )
    for cutoff, normalised in ((None, False), (6, True))
]
KINDS = [
    named("LambdaRank-NDCG"),
    named("LambdaRank-NDCG", k=3),
    named("LambdaRank-NDCG", k=3, tau=5),
    named("LambdaRank-NDCG", tau=12, gain="y"),
    named("LambdaRank-BNDCG", k=3),
    named("lambdarank(cndcg)"),
    named("lambdarank(cndcg)", k=4),
    named("lambdarank(dcg)", k=4),
    named("lambdarank(recall)", k=3),
    named("lambdarank(rbp)", p=0.9),
    named("lambdarank(arp)"),
    named("lambdarank(arp)", gain="y"),
    named("RankNet"),
    named("BinRankNet"),
    named("LambdaLoss-ARP1"),
    named("LambdaLoss-ARP2"),
    named("LambdaLoss-NDCG"),
    named("LambdaLoss-NDCG", k=3),
    named("LambdaLoss-NDCG++", tau=5, mu=0.7, delta_offset=1),
    named("LambdaLoss-NDCG top-k", k=3),
    named("NDCG-Loss1"),
    named("NDCG-Loss1", tau=5),
    named("LambdaRank-P@k", k=3),
    named("LambdaRank-ARPbk", k=3),
    named("LambdaGap-S", k=2),
    named("LambdaGap-X", k=3),
    named("LambdaGap-S+", k=2),
    named("LambdaGap-X+", k=3, mu=0.7),
    named("LambdaGap-X++", k=3),
]
every_kind = pytest.mark.parametrize("kind", [*KINDS, *OWN, *ADDITIVE], ids=str)

SIZES = (1, 2, 3, 17, 40, 5)
SCORES = {
    "spread 4": make_data(SIZES, spread=4.0, seed=1),
    "spread 50": make_data(SIZES, spread=50.0, seed=2),
    "ties": make_data(SIZES, tied=True, seed=3),
}
# (parameters of the cost, norm, whether zeros are left out)
HOW: list[tuple[dict[str, Any], str, bool]] = [
    ({}, "none", True),
    ({}, "none", False),
    ({}, "lightgbm", True),
    ({}, "std", True),
    ({"sigma": 2.0}, "lightgbm", False),
    ({"cost": "sigmoid"}, "lightgbm", True),
    ({"cost": "sigmoid", "center": 0.4, "sigma": 0.5}, "std", False),
]
ALONE = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])


def costs_of(kind: Kind) -> list[tuple[dict[str, Any], str, bool]]:
    """`rf.additive` has the logistic cost only."""
    return [one for one in HOW if "cost" not in one[0] or kind not in ADDITIVE]


@pytest.mark.parametrize("data", SCORES.values(), ids=SCORES)
@every_kind
def test_each_tier_is_the_naive_one(kind: Kind, data: Data) -> None:
    """1e-4 of the query's largest lambda and hessian, for each tier by itself."""
    weights = {
        (query, tier, zeros_out): kind.tier(tier, data.scores[rows], data.rows(rows), zeros_out)
        for query, rows in enumerate(data)
        for tier in range(3)
        for zeros_out in (False, True)
    }
    for how, norm, zeros_out in costs_of(kind):
        for tier, alone in enumerate(ALONE):
            objective = kind.graded(weights=alone, zeros_out=zeros_out, **how)
            lam, hess = objective.gradients(data.scores, data.sources, group=data.sizes, norm=norm)
            for query, rows in enumerate(data):
                W = weights[query, tier, zeros_out]
                expected = ref.forces(W, data.scores[rows].tolist(), norm=norm, **how)
                what = f"tier {tier}, {how}, norm {norm}, zeros out {zeros_out}, {len(W)} documents"
                assert_close(lam[rows], np.array(expected[0]), f"lambda, {what}")
                assert_close(hess[rows], np.array(expected[1]), f"hess, {what}")


@pytest.mark.parametrize("scores", ["spread 4", "ties"])
@every_kind
def test_pairs_of_each_tier_are_the_naive_ones(kind: Kind, scores: str) -> None:
    """Weights to 1e-12, each pair once, and as many as `effective_pairs` says."""
    data = SCORES[scores]
    for zeros_out in (False, True):
        for tier, alone in enumerate(ALONE):
            ready = kind.graded(weights=alone, zeros_out=zeros_out).prepare(
                data.sources, group=data.sizes
            )
            counts = ready.effective_pairs(data.scores)
            for query, rows in enumerate(data):
                W = np.array(kind.tier(tier, data.scores[rows], data.rows(rows), zeros_out))
                hi, lo, weight = ready.pairs(data.scores, query=query)
                got = np.zeros_like(W)
                np.add.at(got, (hi - rows.start, lo - rows.start), weight)
                assert np.abs(got - W).max() <= 1e-12 * W.max(initial=0.0)
                assert counts[query] == len(weight) == len(set(zip(hi, lo, strict=True)))
                assert (weight > 0).all()


def test_the_cases_are_worth_something() -> None:
    """Every tier of every objective has pairs; binary ones have none where zeros are left out."""
    for kind in (*KINDS, *OWN, *ADDITIVE):
        for zeros_out in (False, True):
            objective = kind.graded(weights=[1, 1, 1], zeros_out=zeros_out)
            is_binary = objective.parts[0].objective.description.binary
            for alone in ALONE:
                one = kind.graded(weights=alone, zeros_out=zeros_out)
                count = sum(
                    one.effective_pairs(data.scores, data.sources, group=data.sizes).sum()
                    for data in SCORES.values()
                )
                is_silent = zeros_out and is_binary and alone[0] == 0.0
                assert (count == 0) == is_silent, kind


def test_naive_pairs_by_hand() -> None:
    """Rows 0, 1, 2 share a grade, row 3 has none; row 2 has no click, row 1 nobody saw."""
    grade, click, third = [2, 2, 2, NAN, 1], [0.5, NAN, 0.0, 0.9, 0.2], [1, 3, 2, 0, 1]
    sources = [grade, click, third]

    def found(tier: int, *, zeros_out: bool) -> list[tuple[int, int]]:
        pairs = [(hi, lo) for hi in range(5) for lo in range(5)]
        return [pair for pair in pairs if tiers.is_pair(*pair, tier, sources, zeros_out=zeros_out)]

    assert found(0, zeros_out=True) == [(0, 4), (1, 4), (2, 4)]
    assert found(1, zeros_out=True) == []
    assert found(1, zeros_out=False) == [(0, 2)]
    assert found(2, zeros_out=True) == found(2, zeros_out=False) == []
    sources[1] = [0.5, 0.5, 0.5, 0.5, 0.5]
    assert found(2, zeros_out=True) == [(1, 0), (1, 2), (2, 0)]


@pytest.mark.parametrize("zeros_out", [False, True])
@pytest.mark.parametrize("tier", [0, 1, 2])
def test_dense_pairs_are_the_naive_ones(tier: int, zeros_out: bool) -> None:
    data = make_data((50,), seed=4)
    sources = data.rows(slice(None))
    keep = tiers.pair_matrix(tier, sources, zeros_out=zeros_out)
    for hi in range(50):
        for lo in range(50):
            assert keep[hi, lo] == tiers.is_pair(hi, lo, tier, sources, zeros_out=zeros_out)


def test_the_weights_of_tiers_by_hand() -> None:
    """Two documents of grade 1 and clicks 1 and 1/2 at ranks 3 and 1; another has clicks too."""
    labels = {"grade": [1, 1, 0], "click": [1.0, 0.5, 0.25]}
    both = rf.graded(
        ["lambdarank-ndcg", rf.objective("lambdarank(cndcg)", source="click")], weights=[0, 1]
    )
    hi, lo, weight = both.pairs([1.0, 3.0, 2.0], labels)
    gain = {c: 2 ** (4 * c) - 1 for c in (1.0, 0.5, 0.25)}
    ideal = gain[1.0] + gain[0.5] / np.log2(3) + gain[0.25] / np.log2(4)
    assert (hi.tolist(), lo.tolist()) == ([0], [1])
    assert weight == pytest.approx([(gain[1.0] - gain[0.5]) * (1 - 1 / 2) / ideal])


# Tiers together


SHARES = [0.8, 0.15, 0.4]


@pytest.mark.parametrize("norm", ref.NORMS)
def test_tiers_of_different_kinds_add_up(norm: str) -> None:
    """Grades for LambdaRank, clicks for CNDCG, a third source for RankNet, each with its norm."""
    data = make_data(SIZES, seed=5)
    sources = data.sources | {"grade": 4.0 * data.sources["grade"]}
    objective = rf.graded(
        [
            rf.objective("lambdarank-ndcg", k=4),
            rf.objective("lambdarank(cndcg)", source="click"),
            rf.objective("ranknet", source="third"),
        ],
        weights=SHARES,
    )
    lam, hess = objective.gradients(data.scores, sources, group=data.sizes, norm=norm)
    for rows in data:
        scores = data.scores[rows].tolist()
        three = [sources[name][rows].tolist() for name in NAMES]
        parts = [
            tiers.tier_weights("LambdaRank-NDCG", scores, 0, three, k=4),
            tiers.tier_weights("lambdarank(cndcg)", scores, 1, three),
            tiers.tier_weights("RankNet", scores, 2, three),
        ]
        expected = tiers.mixed_forces(list(zip(SHARES, parts, strict=True)), scores, norm=norm)
        assert_close(lam[rows], np.array(expected[0]), "lambda")
        assert_close(hess[rows], np.array(expected[1]), "hess")


def test_a_norm_of_ones_own() -> None:
    """Tiers that have a norm take no other."""
    data = make_data((40,), seed=6)
    scores, three = data.scores.tolist(), data.rows(slice(None))
    objective = rf.graded(
        [
            rf.objective("ranknet", source="grade", norm="std"),
            rf.objective("ranknet", source="click", norm="none"),
            rf.objective("ranknet", source="third"),
        ],
        weights=[1, 1, 1],
    )
    lam, hess = objective.gradients(data.scores, data.sources, norm="lightgbm")
    expected = np.zeros((2, 40))
    for tier, norm in enumerate(["std", "none", "lightgbm"]):
        W = tiers.tier_weights("RankNet", scores, tier, three)
        expected += np.array(ref.forces(W, scores, norm=norm))
    assert_close(lam, expected[0], "lambda")
    assert_close(hess, expected[1], "hess")


def test_the_first_tier_is_the_objective_by_itself() -> None:
    """Without gaps the first tier has all pairs, and goes the way of an objective alone."""
    data = make_data((30, 60, 2), gaps=0.0, seed=7)
    first = rf.objective("lambdarank-ndcg", k=5, source="grade")
    both = rf.graded([first, rf.objective("ranknet", source="click")], weights=[1, 0])
    how: dict[str, Any] = {"group": data.sizes, "norm": "lightgbm"}
    expected = first.gradients(data.scores, data.sources, **how)
    assert np.array_equal(both.gradients(data.scores, data.sources, **how), expected)


def test_equal_labels_count_not_equal_relevance() -> None:
    """BinRankNet sees no difference between grades 1 and 2, but a tier below does."""
    below = rf.objective("ranknet", source="click")
    both = rf.graded([rf.objective("binranknet"), below], weights=[1, 1])
    labels = {"grade": [2, 1, 1], "click": [0.5, 0.2, 0.4]}
    assert both.effective_pairs([1, 2, 3], labels).tolist() == [1]
    hi, lo, _ = both.pairs([1, 2, 3], labels)
    assert (hi.tolist(), lo.tolist()) == ([2], [1])


# Long queries


LONG: dict[str, list[int | None]] = {
    "LambdaRank-NDCG": [None, 5, 40],
    "LambdaLoss-NDCG": [None, 5],
    "NDCG-Loss1": [None, 5],
    "RankNet": [None],
    "LambdaLoss-ARP1": [None],
    "LambdaRank-P@k": [5],
    "LambdaGap-S": [5],
    "LambdaGap-X": [5],
    "LambdaGap-X+": [5],
    "lambdarank(arp)": [None],
}
LONG_CASES = [(name, k) for name, cutoffs in LONG.items() for k in cutoffs]


def assert_long(name: str, k: int | None, data: Data, norm: str) -> None:
    kind, three = Case(name, () if k is None else (("k", k),)), data.rows(slice(None))
    for tier, alone in enumerate(ALONE):
        objective = rf.graded(
            [kind.objective(source=source) for source in NAMES],
            weights=alone,
            leave_out_zeros=False,
        )
        lam, hess = objective.gradients(data.scores, data.sources, norm=norm)
        keep = tiers.pair_matrix(tier, three, zeros_out=False)
        expected = dense.forces(
            name, data.scores, tiers.known(three[tier]), k=k, norm=norm, keep=keep
        )
        assert np.abs(expected[0]).max() > 0
        assert_close(lam, expected[0], f"lambda, tier {tier}")
        assert_close(hess, expected[1], f"hess, tier {tier}")
        assert abs(lam.sum()) <= 2e-6 * np.abs(lam).sum()


@pytest.mark.parametrize("spread", [4.0, 50.0])
@pytest.mark.parametrize(("name", "k"), LONG_CASES)
def test_300_documents(name: str, k: int | None, spread: float) -> None:
    for norm in ("none", "lightgbm"):
        assert_long(name, k, make_data((300,), spread=spread, seed=8), norm)


@pytest.mark.parametrize(("name", "k"), LONG_CASES)
@pytest.mark.slow
def test_2500_documents(name: str, k: int | None) -> None:
    """A tile has 2,048: tiers begin and end anywhere in the first and the second."""
    assert_long(name, k, make_data((2500,), spread=6.0, seed=9), "lightgbm")


@pytest.mark.parametrize("n", [2047, 2048, 2049, 2064])
@pytest.mark.parametrize("name", ["LambdaRank-NDCG", "LambdaGap-X"])
def test_queries_around_the_end_of_a_tile(name: str, n: int) -> None:
    assert_long(name, 5, make_data((n,), spread=6.0, seed=n), "none")


def test_long_runs_of_one_tier() -> None:
    """All grades are the same, so that a tier has more rows than sums in float32 may have."""
    data = make_data((2500,), seed=10, gaps=0.0)
    data.sources["grade"][:] = 0.5
    lam, hess = rf.graded(
        [rf.objective("ranknet", source=name) for name in NAMES], weights=[0, 1, 0]
    ).gradients(data.scores, data.sources)
    keep = tiers.pair_matrix(1, data.rows(slice(None)))
    expected = dense.forces("RankNet", data.scores, data.sources["click"], keep=keep)
    assert_close(lam, expected[0], "lambda", 1e-5)
    assert_close(hess, expected[1], "hess", 1e-5)


# What must not change the forces


MANY = make_data((*range(2, 60, 3), 700, 1, 1, 350), spread=12.0, seed=11)
SOME = [KINDS[1], KINDS[0], KINDS[6], KINDS[12], KINDS[25], KINDS[27], OWN[0], ADDITIVE[1]]
some_kinds = pytest.mark.parametrize("kind", SOME, ids=str)


@some_kinds
def test_number_of_threads_changes_no_bit(kind: Kind) -> None:
    ready = kind.graded(weights=SHARES).prepare(MANY.sources, group=MANY.sizes)
    for scores in (MANY.scores, MANY.scores * 5.0):
        for norm in ref.NORMS:
            one = ready.gradients(scores, norm=norm, threads=1)
            for threads in (2, 5):
                assert np.array_equal(ready.gradients(scores, norm=norm, threads=threads), one)
        counts = ready.effective_pairs(scores, threads=1)
        assert np.array_equal(ready.effective_pairs(scores, threads=5), counts)


@some_kinds
def test_order_of_queries_changes_no_bit(kind: Kind) -> None:
    """Whole queries move, and rows of several queries stand in turn."""
    qid = np.repeat(np.arange(len(MANY.sizes)), MANY.sizes)
    rng = np.random.default_rng(12)
    moved = np.concatenate([np.flatnonzero(qid == q) for q in rng.permutation(len(MANY.sizes))])
    in_turn = rng.permutation(len(qid))
    for q in range(len(MANY.sizes)):
        in_turn[qid[in_turn] == q] = np.flatnonzero(qid == q)
    objective = kind.graded(weights=SHARES)
    expected = objective.gradients(MANY.scores, MANY.sources, group=MANY.sizes, norm="lightgbm")
    for row in (moved, in_turn):
        got = objective.gradients(
            MANY.scores[row], MANY.taken(row), qid=qid[row], norm="lightgbm", threads=2
        )
        assert np.array_equal(got, np.array(expected)[:, row])


@some_kinds
def test_order_of_rows_within_a_query_does_not_matter(kind: Kind) -> None:
    rng = np.random.default_rng(13)
    row = np.concatenate([rows.start + rng.permutation(rows.stop - rows.start) for rows in MANY])
    objective = kind.graded(weights=SHARES)
    how: dict[str, Any] = {"group": MANY.sizes, "norm": "lightgbm"}
    expected = objective.gradients(MANY.scores, MANY.sources, **how)
    got = objective.gradients(MANY.scores[row], MANY.taken(row), **how)
    for some, others in zip(got, expected, strict=True):
        for rows in MANY:
            assert_close(some[rows], others[row][rows], f"{rows}", 1e-5)


@every_kind
def test_a_query_has_the_same_forces_alone(kind: Kind) -> None:
    """Whatever labels the others have: those of the last query here are all above 0."""
    data = make_data((17, 40, 9), seed=14)
    last = slice(57, 66)
    for values in data.sources.values():
        values[last] = np.where(np.isnan(values[last]), NAN, np.maximum(values[last], 0.25))
    objective = kind.graded(weights=SHARES)
    together = objective.gradients(data.scores, data.sources, group=data.sizes, norm="lightgbm")
    for rows in data:
        alone = objective.gradients(data.scores[rows], data.taken(rows), norm="lightgbm")
        for some, other in zip(together, alone, strict=True):
            assert_close(some[rows], other, f"{rows}", 1e-6)


@every_kind
def test_lambdas_sum_to_zero_and_hessians_are_not_negative(kind: Kind) -> None:
    for spread in (1e-6, 4.0, 50.0, 1e3):
        data = make_data((2, 17, 60, 300), spread=spread, seed=15)
        for alone in (*ALONE, SHARES):
            objective = kind.graded(weights=alone)
            for norm in ref.NORMS:
                lam, hess = objective.gradients(
                    data.scores, data.sources, group=data.sizes, norm=norm
                )
                assert (hess >= 0).all()
                assert np.isfinite(lam).all()
                for rows in data:
                    assert abs(lam[rows].sum()) <= 2e-6 * np.abs(lam[rows]).sum()


# Tiers that have nothing to say


SILENT: dict[str, tuple[list[float], list[float]]] = {
    "no label": ([1, 1, 0, 0], [NAN, NAN, NAN, NAN]),
    "one label": ([1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5]),
    "one label of each grade": ([1, 1, 0, 0], [0.5, 0.5, 0.2, 0.2]),
    "no click": ([1, 1, 0, 0], [0, 0, 0, 0]),
    "one click": ([1, 1, 0, 0], [0.7, 0, 0, 0]),
    "one known": ([1, 1, 0, 0], [0.7, NAN, NAN, NAN]),
    "grades that tell all apart": ([3, 2, 1, 0], [0.1, 0.2, 0.3, 0.4]),
    "no grade": ([NAN, NAN, NAN, NAN], [0.1, 0.2, 0.3, 0.4]),
    "clicks where there is no grade": ([1, 0, NAN, NAN], [0.1, 0.2, 0.3, 0.4]),
    "one document": ([1], [0.3]),
    "no document": ([], []),
}


@pytest.mark.parametrize("cost", ["logistic", "sigmoid"])
@pytest.mark.parametrize(("grade", "click"), SILENT.values(), ids=SILENT)
def test_an_empty_tier_is_exactly_zero(grade: list[float], click: list[float], cost: str) -> None:
    """By itself, and between two queries that have a say."""
    n = len(grade)
    loud = {"grade": [1.0, 1.0, 0.0], "click": [0.5, 0.2, 0.1]}
    among = {"grade": loud["grade"] + grade + loud["grade"]}
    among["click"] = loud["click"] + click + loud["click"]
    scores = [0.3 * i for i in range(n)]
    middle = slice(3, 3 + n)
    for name in (
        "lambdarank-ndcg",
        "lambdarank(cndcg)",
        "ranknet",
        "lambdaloss-ndcg",
        "lambdagap-x",
    ):
        clicks = rf.objective(name, k=1, source="click", cost=cost)
        tier = rf.graded([rf.objective("ranknet", source="grade"), clicks], weights=[0, 1])
        for norm in ref.NORMS:
            got = tier.gradients(scores, {"grade": grade, "click": click}, norm=norm)
            assert np.array_equal(got, np.zeros((2, n)))
            got = tier.gradients([2, 1, 0, *scores, 2, 1, 0], among, group=[3, n, 3], norm=norm)
            assert np.array_equal(np.array(got)[:, middle], np.zeros((2, n)))
            assert name == "lambdagap-x" or got[0][:3].any()
        assert tier.effective_pairs(scores, {"grade": grade, "click": click}).tolist() == [0]


# Labels that are missing


@every_kind
def test_an_objective_on_labels_with_gaps(kind: Kind) -> None:
    """A document without a label has a rank, and no pair."""
    data = make_data(SIZES, gaps=0.3, seed=16)
    for norm in ref.NORMS:
        lam, hess = kind.make(source="third").gradients(
            data.scores, data.sources, group=data.sizes, norm=norm
        )
        for rows in data:
            labels = data.sources["third"][rows].tolist()
            W = kind.weights(data.scores[rows].tolist(), labels)
            W = tiers.keep_pairs(W, 0, [labels])
            expected = ref.forces(W, data.scores[rows].tolist(), norm=norm)
            assert_close(lam[rows], np.array(expected[0]), f"lambda, norm {norm}")
            assert_close(hess[rows], np.array(expected[1]), f"hess, norm {norm}")
            assert not lam[rows][np.isnan(labels)].any()


def test_ranknet_with_gaps_is_ranknet_without_the_rows() -> None:
    data = make_data((60,), gaps=0.3, seed=17)
    has = ~np.isnan(data.sources["third"])
    lam, hess = rf.objective("ranknet", source="third").gradients(data.scores, data.sources)
    expected = rf.objective("ranknet").gradients(data.scores[has], data.sources["third"][has])
    assert_close(lam[has], expected[0], "lambda", 1e-6)
    assert_close(hess[has], expected[1], "hess", 1e-6)
    assert not lam[~has].any()
    assert not hess[~has].any()


@pytest.mark.parametrize("name", ["ranknet", "lambdaloss-arp2"])
def test_labels_below_zero_with_gaps(name: str) -> None:
    """A missing label is neither 0 nor the lowest: it is in no pair."""
    scores, labels = [0.1, 0.4, 0.2, 0.3], {"a": [-3.0, NAN, -1.0, NAN]}
    hi, lo, weight = rf.objective(name).pairs(scores, labels)
    assert (hi.tolist(), lo.tolist()) == ([2], [0])
    assert weight == pytest.approx([1.0 if name == "ranknet" else 2.0])


def test_a_gain_table_is_asked_for_known_labels_only() -> None:
    """Labels 1 and 2 have a gain; 0, which nobody gave, has none."""
    objective = rf.objective("lambdarank-ndcg", gain={1: 1.0, 2: 3.0})
    _, _, weight = objective.pairs([3, 2, 1], {"a": [1, NAN, 2]})
    ideal = 3 + 1 / np.log2(3)
    assert weight == pytest.approx([(3 - 1) * (1 - 1 / 2) / ideal])


def test_no_label_at_all() -> None:
    for name in ("ranknet", "lambdarank-ndcg", "lambdagap-s"):
        got = rf.objective(name, k=1).gradients([1, 2, 3], {"a": [NAN] * 3}, norm="lightgbm")
        assert np.array_equal(got, np.zeros((2, 3)))


# What is refused


SWAPS = ["lambdarank(map)", "lambdarank(mrr)", "lambdarank(err)"]
EXTENDED = ["LambdaMART-eX static", "LambdaLoss-eX++ all-random", "LambdaMART-eX all bin"]


@pytest.mark.parametrize("name", [*SWAPS, *EXTENDED])
def test_objectives_that_need_all_labels(name: str) -> None:
    """As a lower tier or with gaps; not as the first tier, which has all pairs."""
    labels = {"a": [0, 1, 2, 1], "b": [0.5, 0.2, 0.1, 0.4]}
    scores = [1, 2, 3, 4]
    clear = "needs the labels of all documents: it can neither be a lower tier nor read labels"
    below = rf.graded(["ranknet", rf.objective(name, k=2, source="b")])
    with pytest.raises(ValueError, match=clear) as caught:
        below.gradients(scores, labels)
    assert str(caught.value).startswith(below.parts[1].objective.name)
    with pytest.raises(ValueError, match=clear):
        rf.objective(name, k=2).gradients(scores, {"a": [0, NAN, 2, 1]})
    first = rf.graded(
        [rf.objective(name, k=2), rf.objective("ranknet", source="b")], weights=[1, 0]
    )
    expected = rf.objective(name, k=2).gradients(scores, labels["a"])
    assert np.array_equal(first.gradients(scores, labels), expected)


CLICK = rf.objective("ranknet", source="click")
MISTAKES: dict[str, tuple[Callable[[], Any], str]] = {
    "one tier": (lambda: rf.graded(["ranknet"]), "two tiers or more, got 1"),
    "no list": (lambda: rf.graded("ranknet"), "graded is 'ranknet': it must be a list"),
    "one source twice": (lambda: rf.graded([CLICK, "ranknet", CLICK]), "two tiers read .*'click'"),
    "no source twice": (lambda: rf.graded(["ranknet", "binranknet"]), "two tiers read .*'label'"),
    "few weights": (lambda: rf.graded(["ranknet", CLICK], weights=[1]), "1 weights for 2 tiers"),
    "no weights": (lambda: rf.graded(["ranknet", CLICK], weights=5), "weights is 5: .* numbers"),
    "a negative weight": (
        lambda: rf.graded(["ranknet", CLICK], weights=[1, -1]),
        "weight is -1: it must be a finite number from 0 up",
    ),
    "a mix as a tier": (
        lambda: rf.graded(["ranknet", 2.0 * CLICK]),
        "a tier is one objective with one source, got rf.mix",
    ),
    "pairs as a tier": (
        lambda: rf.graded(["ranknet", rf.objective("preferences")]),
        "a tier is one objective with one source",
    ),
    "zeros": (
        lambda: rf.graded(["ranknet", CLICK], leave_out_zeros="yes"),
        "leave_out_zeros is 'yes': it must be True or False",
    ),
    "an unknown tier": (lambda: rf.graded(["ranknet", "rank net 2"]), "unknown objective"),
}


@pytest.mark.parametrize(("make", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


BOTH = rf.graded(["ranknet", CLICK])
WRONG_LABELS: dict[str, tuple[Any, str]] = {
    "no such source": ({"grade": [1, 0]}, "RankNet reads the labels 'click', .* are 'grade'"),
    "a plain list": ([1, 0], "RankNet reads the labels 'click': give labels by name"),
    "no labels": ({}, "there are no labels by name"),
    "too few": ({"grade": [1, 0], "click": [0.5]}, "there are 1 labels 'click' for 2 rows"),
    "too many": ({"grade": [1, 0], "click": [1, 2, 3]}, "there are 3 labels 'click' for 2 rows"),
    "infinite": ({"grade": [1, 0], "click": [1, np.inf]}, "label of row 1 is inf: .* NaN where"),
}


@pytest.mark.parametrize(("labels", "message"), WRONG_LABELS.values(), ids=WRONG_LABELS)
def test_wrong_labels_are_named(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        BOTH.gradients([1.0, 2.0], labels)
    assert "\n" not in str(caught.value)


def test_plain_labels_have_no_gaps() -> None:
    with pytest.raises(ValueError, match="label of row 1 is nan: labels must be finite"):
        rf.objective("ranknet").gradients([1, 2], [0, NAN])


def test_shares_of_clicks_lie_from_0_to_1() -> None:
    below = rf.graded(["ranknet", rf.objective("lambdarank(cndcg)", source="click")])
    for value, message in ((1.5, "is no share of clicks"), (-0.5, "is negative")):
        with pytest.raises(ValueError, match=f"row 2: label {value:g} {message}"):
            below.gradients([1, 2, 3], {"grade": [1, 1, 0], "click": [0.5, NAN, value]})
