"""Numbers and theorems of the papers, from the package itself.

Marcuzzi et al. 2023 (coherence), Adalia et al. 2025 (LambdaGap), Svore et al. 2011.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

import rankforce as rf


def discount(rank: float) -> float:
    return 1.0 / math.log2(1.0 + rank)


def logistic(x: float) -> float:
    return 1.0 / (1.0 + math.exp(x))


def test_lambdas_of_marcuzzi_table_1() -> None:
    scores = [0.04, 0.03, 0.02, 0.01, 0.00]
    labels = [1, 2, 0, 0, 0]
    ideal = 3.0 * discount(1)  # DCG@1 of a document with gain 2^2 - 1
    star_triangle = logistic(-0.01) * 2.0 * (discount(1) - discount(2)) / ideal
    star = [logistic(0.01 * r) * (discount(1) - discount(1 + r)) / ideal for r in (2, 3, 4)]
    expected = [sum(star) - star_triangle, star_triangle, *(-x for x in star)]
    lam, _ = rf.objective("lambdarank-ndcg", k=1).gradients(scores, labels)
    np.testing.assert_allclose(lam, expected, atol=1e-6)
    printed = [0.15247, 0.12364, -0.08250, -0.09346, -0.10015]
    np.testing.assert_allclose(lam, printed, atol=6e-6)
    assert lam[0] > lam[1]  # incoherent: the best document gets less push


def test_lambdas_of_marcuzzi_table_2() -> None:
    scores = [0.02, 0.01, 0.00]
    labels = [4, 0, 1]
    ideal = 15.0 * discount(1) + 1.0 * discount(2)
    first = logistic(0.01) * 15.0 * (discount(1) - discount(2)) / ideal
    second = logistic(0.02) * 14.0 * (discount(1) - discount(3)) / ideal
    third = logistic(-0.01) * 1.0 * (discount(2) - discount(3)) / ideal
    expected = [first + second, -first - third, third - second]
    lam, _ = rf.objective("lambdarank-ndcg").gradients(scores, labels)
    np.testing.assert_allclose(lam, expected, atol=1e-6)
    np.testing.assert_allclose(lam, [0.39788, -0.18041, -0.21747], atol=6e-6)
    assert lam[2] < lam[1]  # incoherent without any truncation


def test_weights_of_svore_section_5_1() -> None:
    """Grade 4 at rank 1 against grade 0 at ranks 4 and 50, with natural logarithms."""
    natural = rf.additive(lambda y: 2.0**y - 1.0, lambda rank: 1.0 / math.log(1.0 + rank))
    scores = -np.arange(50.0)
    labels = np.zeros(50)
    labels[0] = 4
    pairs = natural.pairs(scores, labels)
    weight = dict(zip(pairs.lo.tolist(), pairs.weight.tolist(), strict=True))
    assert round(weight[3], 1) == 12.3
    assert round(weight[49], 1) == 17.8


@pytest.mark.parametrize("k", range(1, 11))
def test_candidate_pairs_of_adalia_section_5_5(k: int) -> None:
    n = 10
    expected = {
        "BinRankNet": n * (n - 1) // 2,
        "LambdaRank-ARPbk": n * (n - 1) // 2 - k * (k - 1) // 2,
        "LambdaGap-X": (n - k) * (n - k + 1) // 2,
        "LambdaRank-P@k": k * (n - k),
        "LambdaGap-S": n - k,
    }
    for name, count in expected.items():
        assert rf.objective(name, k=k).candidate_pairs(n) == count, name


class Ranking:
    """A random ranking, best first, and the sums of the proofs in Adalia et al. 2025, section 5."""

    def __init__(self, seed: int, grades: int) -> None:
        rng = np.random.default_rng(seed)
        self.n = int(rng.integers(8, 25))
        self.labels = rng.integers(0, grades, self.n)
        self.scores = -np.arange(float(self.n))
        self.b = (self.labels > 0).astype(float)
        self.rank = np.arange(1, self.n + 1)

    def bounded(self, objective: rf.Objective, f: NDArray[np.float64]) -> float:
        """Weight of the misranked pairs + C2 + C3: what the loss bounds from above."""
        delta = objective.rank_weights(self.n)
        hi, lo, weight = objective.pairs(self.scores, self.labels)
        misranked = float(weight[self.scores[hi] < self.scores[lo]].sum())
        same = f[:, None] == f[None, :]
        higher = f[:, None] > f[None, :]
        c2 = 0.5 * float((delta * same * f[None, :]).sum())
        c3 = float((delta * higher * f[None, :]).sum())
        return misranked + c2 + c3


SEEDS = range(8)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_1_lambdaloss_bounds_ndcg(seed: int) -> None:
    ranking = Ranking(seed, grades=5)
    gain = 2.0**ranking.labels - 1.0
    d = np.array([discount(r) for r in ranking.rank])
    f = gain / float(np.sort(gain)[::-1] @ d)
    ndcg = discount(1) * f.sum() - ranking.bounded(rf.objective("lambdaloss-ndcg"), f)
    assert ndcg == pytest.approx(float(f @ d))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_corollary_5_3_lambdagap_s_bounds_precision(seed: int, k: int) -> None:
    ranking = Ranking(seed, grades=3)
    outside = ranking.bounded(rf.objective("lambdagap-s", k=k), ranking.b)
    precision = (ranking.b.sum() - outside) / k
    assert precision == pytest.approx(ranking.b[:k].sum() / k)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 5])
def test_corollary_5_4_lambdagap_x_bounds_arp_beyond_k(seed: int, k: int) -> None:
    ranking = Ranking(seed, grades=3)
    arp = float(ranking.b @ np.maximum(ranking.rank - k, 0))
    bounded = ranking.bounded(rf.objective("lambdagap-x", k=k), ranking.b)
    assert bounded == pytest.approx(arp)


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_5_2_any_gap_function(seed: int) -> None:
    """LambdaGap's metric is P@k + (1/k) sum over i > k of b_i (1 - sum of f(k..i-1)); here for
    the two functions that the package has, mixed: f = [far = k] + 2 [far >= k]."""
    ranking = Ranking(seed, grades=2)
    k = 3
    parts = [(1.0, "lambdagap-s"), (2.0, "lambdagap-x")]
    bounded = sum(w * ranking.bounded(rf.objective(name, k=k), ranking.b) for w, name in parts)
    value = np.array([1.0 if i <= k else 1.0 - (1.0 + 2.0 * (i - k)) for i in ranking.rank])
    assert ranking.b.sum() - bounded == pytest.approx(float(ranking.b @ value))


@pytest.mark.parametrize("seed", SEEDS)
def test_corollary_5_5_binranknet_bounds_arp(seed: int) -> None:
    ranking = Ranking(seed, grades=4)
    arp = float(ranking.b @ ranking.rank)
    bounded = ranking.bounded(rf.objective("binranknet"), ranking.b)
    assert bounded + ranking.b.sum() == pytest.approx(arp)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_6_lambdarank_on_any_falling_value(seed: int) -> None:
    """M' = sum of f(y_i) * sum over j < i of (g(i) - g(j)), here with g(r) = sqrt(r)."""
    ranking = Ranking(seed, grades=5)
    f = ranking.labels.astype(float)
    g = np.sqrt(ranking.rank)
    objective = rf.additive(lambda y: y, lambda rank: -math.sqrt(rank))
    expected = sum(f[i] * (g[i] - g[:i]).sum() for i in range(ranking.n))
    assert ranking.bounded(objective, f) == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 4])
def test_corollary_5_7_lambdarank_arp_beyond_k(seed: int, k: int) -> None:
    ranking = Ranking(seed, grades=3)
    far = np.maximum(ranking.rank - k, 0)
    expected = float(ranking.b @ far + ranking.b @ (far * (far - 1)) / (2 * k))
    bounded = ranking.bounded(rf.objective("lambdarank-arpbk", k=k), ranking.b)
    assert bounded / k == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 4])
def test_corollary_5_8_lambdarank_precision(seed: int, k: int) -> None:
    ranking = Ranking(seed, grades=3)
    bounded = ranking.bounded(rf.objective("lambdarank-p@k", k=k), ranking.b)
    precision = (ranking.b.sum() - bounded / k) / k
    assert precision == pytest.approx(ranking.b[:k].sum() / k)
