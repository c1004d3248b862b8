"""The cost of a query as a value: by hand, equal labels, sums, explicit pairs, mistakes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.contract.cases import Floats, draw_scores
from tests.reference import tiers
from tests.reference.costs import softplus

NAN = float("nan")
SIZES = (1, 30, 2, 17)
ROWS = sum(SIZES)
RNG = np.random.default_rng(0)
SCORES = np.concatenate([draw_scores(RNG, n, 6.0) for n in SIZES])
LABELS: dict[str, Floats] = {
    "grade": RNG.integers(0, 4, ROWS).astype(np.float64),
    "click": RNG.choice([0.0, 0.125, 0.25, 1.0, NAN], ROWS),
}
QUERIES = [slice(end - size, end) for size, end in zip(SIZES, np.cumsum(SIZES), strict=True)]
RANKNET = rf.objective("ranknet")
NDCG = rf.objective("lambdarank-ndcg", k=3)


def loss(one: Any, **more: Any) -> Floats:
    return np.asarray(one.loss(SCORES, LABELS, group=SIZES, **more))


# By hand


def test_lambdarank_of_three_documents() -> None:
    """Adalia et al. 2025, eq. 1: labels 0, 2, 1 at ranks 1, 2, 3."""
    scores, labels = [2.0, 1.0, -0.5], [0, 2, 1]
    d = [1.0, 1.0 / math.log2(3.0), 0.5]
    ideal = 3.0 * d[0] + 1.0 * d[1]
    expected = (
        3.0 * (d[0] - d[1]) * math.log(1.0 + math.exp(1.0))
        + 1.0 * (d[0] - d[2]) * math.log(1.0 + math.exp(2.5))
        + 2.0 * (d[1] - d[2]) * math.log(1.0 + math.exp(-1.5))
    ) / ideal
    got = rf.objective("lambdarank-ndcg").loss(scores, labels)
    assert got == pytest.approx([expected], rel=1e-12)


def test_sigmoid_cost_of_two_documents() -> None:
    one = rf.objective("ranknet", cost="sigmoid", center=0.4, sigma=2.0)
    expected = 1.0 / (1.0 + math.exp(2.0 * -1.5 + 0.4))
    assert one.loss([0.5, 2.0], [1, 0]) == pytest.approx([expected], rel=1e-12)


def test_no_norm_has_a_say() -> None:
    for norm in ("none", "lightgbm", "std"):
        with_norm = rf.objective("lambdarank-ndcg", k=3, norm=norm)
        assert np.array_equal(loss(with_norm), loss(NDCG))
        assert np.array_equal(loss(rf.mix([(1.0, NDCG)], norm=norm)), loss(NDCG))


# Equal labels


@pytest.mark.parametrize("sigma", [1.0, 0.5, 3.0])
def test_equal_labels_of_ranknet(sigma: float) -> None:
    """With them and without, C of Burges 2010."""
    for equal in (True, False):
        got = loss(rf.objective("ranknet", sigma=sigma), equal_labels=equal)
        expected = [
            ref.ranknet_cost(SCORES[rows], LABELS["grade"][rows], sigma=sigma, equal=equal)
            for rows in QUERIES
        ]
        assert got == pytest.approx(expected, rel=1e-11)


def test_equal_labels_of_relevance() -> None:
    got = loss(rf.objective("binranknet"), equal_labels=True)
    relevant = (LABELS["grade"] > 0).astype(np.float64)
    expected = [ref.ranknet_cost(SCORES[rows], relevant[rows], equal=True) for rows in QUERIES]
    assert got == pytest.approx(expected, rel=1e-11)


def test_a_missing_label_equals_no_other() -> None:
    one = rf.objective("ranknet", source="click")
    expected = []
    for rows in QUERIES:
        known = ~np.isnan(LABELS["click"][rows])
        given = SCORES[rows][known], LABELS["click"][rows][known]
        expected.append(ref.ranknet_cost(*given, equal=True))
    assert loss(one, equal_labels=True) == pytest.approx(expected, rel=1e-11)


def test_two_equal_labels_by_hand() -> None:
    """Symmetric, least at equal scores: log 2."""
    for scores in ([0.3, -1.2], [-1.2, 0.3]):
        expected = 0.5 * 1.5 + math.log(1.0 + math.exp(-1.5))
        got = RANKNET.loss(scores, [1, 1], equal_labels=True)
        assert got == pytest.approx([expected], rel=1e-12)
    assert RANKNET.loss([7, 7], [1, 1], equal_labels=True) == pytest.approx([math.log(2.0)])


def test_derivative_of_equal_labels() -> None:
    """Burges 2010: dC/ds_i = sigma (1/2 (1 - S_ij) - 1 / (1 + exp(sigma (s_i - s_j))))."""
    sigma, labels = 1.5, [1, 1, 0, 1, 0]
    scores = np.array([0.2, 1.4, 0.9, -0.6, 2.0])
    one, step = rf.objective("ranknet", sigma=sigma), 1e-4
    for i in range(5):
        expected = 0.0
        for j in range(5):
            S = (labels[i] > labels[j]) - (labels[i] < labels[j])
            p = 1.0 / (1.0 + math.exp(sigma * (scores[i] - scores[j])))
            expected += sigma * (0.5 * (1 - S) - p) if i != j else 0.0
        move = step * (np.arange(5) == i)
        up, down = (one.loss(scores + m, labels, equal_labels=True)[0] for m in (move, -move))
        assert (up - down) / (2.0 * step) == pytest.approx(expected, abs=1e-7)


def test_huge_scores_of_equal_labels() -> None:
    got = RANKNET.loss([1.7e308, -1.7e308, 0.0], [1, 1, 1], equal_labels=True)
    assert np.isfinite(got).all()
    got = RANKNET.loss([1e4, -1e4], [1, 1], equal_labels=True)
    assert got == pytest.approx([1e4])


def all_alike(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return 1.0


@pytest.mark.parametrize(
    "one",
    [
        *[rf.objective(entry.name, k=3) for entry in rf.objectives() if "Net" not in entry.name],
        rf.objective("ranknet", cost="sigmoid"),
        2.0 * RANKNET,
        rf.objective(all_alike),
    ],
    ids=lambda one: one.name,
)
def test_equal_labels_weigh_nothing_elsewhere(one: Any) -> None:
    with pytest.raises(rf.RankforceError, match=r"for RankNet and BinRankNet .*, got") as caught:
        one.loss([2.0, 1.0, 0.0], [0.5, 0.5, 0.0], equal_labels=True)
    assert repr(one) in str(caught.value)
    assert "\n" not in str(caught.value)


# Sums


def test_a_mix_costs_the_weighted_sum() -> None:
    parts = [NDCG, rf.objective("ranknet", source="click"), rf.objective("xendcg", seed=3)]
    whole = rf.mix(zip((0.5, 2.0, 0.3), parts, strict=True))
    for iteration in (0, 5):
        each = [loss(part, iteration=iteration) for part in parts]
        expected = 0.5 * each[0] + 2.0 * each[1] + 0.3 * each[2]
        assert loss(whole, iteration=iteration) == pytest.approx(expected, rel=1e-12)


def test_a_schedule_moves_the_cost() -> None:
    whole = rf.scheduled(RANKNET, NDCG, schedule="linear", start=0.25, rate=0.25)
    for iteration, w in ((0, 0.25), (2, 0.75), (9, 1.0)):
        expected = (1.0 - w) * loss(RANKNET) + w * loss(NDCG)
        assert loss(whole, iteration=iteration) == pytest.approx(expected, rel=1e-12)


def test_tiers_cost_what_their_pairs_cost() -> None:
    names = ("grade", "click")
    whole = rf.graded([rf.objective("lambdaloss-ndcg", source=name) for name in names])
    expected = []
    for rows in QUERIES:
        scores = SCORES[rows].tolist()
        sources = [LABELS[name][rows].tolist() for name in names]
        each = [
            ref.pair_costs(tiers.tier_weights("LambdaLoss-NDCG", scores, tier, sources), scores)
            for tier in range(2)
        ]
        expected.append(0.5 * sum(each))
    assert loss(whole) == pytest.approx(expected, rel=1e-11)
    assert expected[1] > 0.0


def test_draws_go_by_the_iteration() -> None:
    one = rf.objective("lambdamart-ex random", k=3)
    found = [loss(one, iteration=m) for m in range(6)]
    assert np.array_equal(found[0], loss(one))
    assert any(not np.array_equal(other, found[0]) for other in found)
    assert not np.array_equal(
        loss(rf.objective("xendcg"), iteration=1), loss(rf.objective("xendcg"))
    )


# Explicit pairs


def test_preferences_cost_their_weights() -> None:
    pairs = [0, 2, 0, 4], [1, 1, 1, 3], [2.0, 0.5, 1.0, 0.0]
    labels = {"grade": np.zeros(5), "preferences": pairs}
    scores = np.array([0.3, 1.1, -0.4, 2.0, -1e300])
    got = rf.objective("preferences", sigma=2.0).loss(scores, labels, group=[3, 2])
    expected = [3.0 * softplus(2.0 * 0.8) + 0.5 * softplus(2.0 * 1.5), 0.0]
    assert got == pytest.approx(expected, rel=1e-12)


def test_derivative_of_preferences() -> None:
    one = rf.objective("preferences", sigma=2.0)
    labels = {"grade": np.zeros(3), "preferences": ([0, 2, 1], [1, 1, 0], [2.0, 0.5, 1.0])}
    scores, step = np.array([0.3, 1.1, -0.4]), 1e-4
    lam, _ = one.gradients(scores, labels)
    for row in range(3):
        move = step * (np.arange(3) == row)
        up, down = (one.loss(scores + m, labels)[0] for m in (move, -move))
        assert (down - up) / (2.0 * step) == pytest.approx(lam[row], abs=1e-7)


# Mistakes


@pytest.mark.parametrize(
    "name", ["ranknet", "lambdarank-ndcg", "xendcg", "squared-error", "preferences"]
)
def test_bad_scores_are_named(name: str) -> None:
    one, labels = rf.objective(name), {"grade": [1, 0, 2], "preferences": [[0, 1]]}
    for bad in (NAN, math.inf):
        with pytest.raises(rf.RankforceError, match=f"score of row 1 is {bad}: scores must be"):
            one.loss([0.0, bad, 1.0], labels)
    with pytest.raises(rf.RankforceError, match=r"scores have shape \(2,\), but there are 3"):
        one.loss([0.0, 1.0], labels)
    with pytest.raises(rf.RankforceError, match="score of row 1 is nan"):
        RANKNET.loss([0.0, NAN], [1, 1], equal_labels=True)


def below_zero(y_hi: float, y_lo: float, rank_hi: int, rank_lo: int) -> float:
    return y_lo - y_hi


def test_a_weight_that_is_no_number_is_named() -> None:
    one = rf.objective(below_zero)
    with pytest.raises(rf.RankforceError, match=r"pair weight of rows 1 \(hi\) and 0 \(lo\)"):
        one.loss([0.0, 1.0], [0, 1])
