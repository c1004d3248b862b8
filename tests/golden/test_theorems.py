"""The theorems of Adalia et al. 2025, section 5: metrics recovered from the package's weights.

Lemma 5.1: with M = sum of f(y_i) g(i) over ranks i and delta(i, j) = g(|i - j|) - g(|i - j| + 1),

    C1 - M = sum over pairs in the wrong order of (f(y_hi) - f(y_lo)) delta + C2 + C3

and Lemma 5.6 the same for M' = sum of f(y_i) (g(i) - g(j)) over ranks j < i, with |g(i) - g(j)| for
delta. The package leaves out the 1/k of the paper's f.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref

N = 15
approx = pytest.approx
Ranks = Callable[[int], float]
RANKING = np.arange(N, 0.0, -1.0)  # scores with which row r is at rank r + 1
SEEDS = range(6)


def random_labels(seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    return rng.choice([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0], N).tolist()


def wrongly_ordered(objective: rf.Objective, labels: list[float]) -> float:
    """Sum of the weights of pairs whose hi stands below lo."""
    hi, lo, weight = objective.pairs(RANKING, labels)
    return float(weight[hi > lo].sum())


def rest(f: list[float], delta: Callable[[int, int], float]) -> float:
    """C2 + C3: what pairs with equal labels, and the lower label of the others, add."""
    total = 0.0
    for i in range(1, N + 1):
        for j in range(1, i):
            total += delta(i, j) * min(f[i - 1], f[j - 1])
    return total


def recovered(objective: rf.Objective, labels: list[float], f: list[float], g: Ranks) -> float:
    """M by Lemma 5.1."""

    def delta(i: int, j: int) -> float:
        return g(abs(i - j)) - g(abs(i - j) + 1)

    return g(1) * sum(f) - wrongly_ordered(objective, labels) - rest(f, delta)


def recovered_by_swaps(
    objective: rf.Objective, labels: list[float], f: list[float], g: Ranks
) -> float:
    """M' by Lemma 5.6."""
    return wrongly_ordered(objective, labels) + rest(f, lambda i, j: abs(g(i) - g(j)))


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_1_for_ndcg(seed: int) -> None:
    """LambdaLoss-NDCG: f = G / IDCG, g = d."""
    labels = random_labels(seed)
    f = [(2**y - 1) / ref.ideal_dcg(labels, None, "2^y-1") for y in labels]
    got = recovered(rf.objective("lambdaloss-ndcg"), labels, f, ref.discount)
    assert got == approx(ref.metric("ndcg", labels), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_lemma_5_1_for_bndcg(seed: int) -> None:
    labels = random_labels(seed)
    f = [b / ref.ideal_dcg(labels, None, "binary") for b in ref.binary(labels)]
    got = recovered(rf.objective("lambdaloss-bndcg"), labels, f, ref.discount)
    assert got == approx(ref.metric("bndcg", labels), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
def test_lemma_5_1_is_a_bound(seed: int, sigma: float) -> None:
    """C1 - M is at most the loss in log2, plus C2 + C3, at any scores of that ranking."""
    labels, g = random_labels(seed), ref.discount
    scores = np.sort(np.random.default_rng(seed).normal(size=N))[::-1]
    f = [(2**y - 1) / ref.ideal_dcg(labels, None, "2^y-1") for y in labels]
    hi, lo, weight = rf.objective("lambdaloss-ndcg").pairs(scores, labels)
    loss = float(weight @ np.log2(1 + np.exp(-sigma * (scores[hi] - scores[lo]))))
    constant = rest(f, lambda i, j: g(abs(i - j)) - g(abs(i - j) + 1))
    assert g(1) * sum(f) - ref.metric("ndcg", labels) <= loss + constant


GAPS: dict[str, Ranks] = {
    "falling": lambda far: 1.0 / far,
    "of a parity": lambda far: float(far % 2),
}


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("gap", GAPS)
def test_proposition_5_2_for_any_gap(gap: str, k: int) -> None:
    """M = P@k + 1/k * sum over i > k of b_i (1 - sum of f(j), j = k..i-1), f as a user's weight."""

    def f(far: int) -> float:
        return GAPS[gap](far) if far >= k else 0.0

    table = np.array([0.0, *(f(far) for far in range(1, N))])
    objective = rf.objective(
        lambda y_hi, y_lo, rank_hi, rank_lo: table[abs(rank_hi - rank_lo)] * (y_lo <= 0.0)
    )
    g = [0.0, *(-sum(f(j) for j in range(1, i)) for i in range(1, N + 2))]
    for seed in SEEDS:
        labels = random_labels(seed)
        b = ref.binary(labels)
        got = recovered(objective, labels, b, lambda rank: g[rank])
        M = k * ref.metric("p", labels, k=k) + sum(
            b[i - 1] * (1 - sum(f(j) for j in range(k, i))) for i in range(k + 1, N + 1)
        )
        assert got == approx(M - sum(b), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 5, 14])
def test_corollary_5_3_lambdagap_s_is_precision(k: int, seed: int) -> None:
    labels = random_labels(seed)
    b = ref.binary(labels)
    got = recovered(rf.objective("lambdagap-s", k=k), labels, b, lambda r: -float(r > k))
    assert (got + sum(b)) / k == approx(ref.metric("p", labels, k=k), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 5, 14])
def test_corollary_5_4_lambdagap_x_is_arp_beyond_k(k: int, seed: int) -> None:
    labels = random_labels(seed)
    b = ref.binary(labels)
    got = recovered(rf.objective("lambdagap-x", k=k), labels, b, lambda r: -max(r - k, 0.0))
    assert -got == approx(ref.metric("arpb", labels, k=k), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_corollary_5_5_binranknet_is_arp(seed: int) -> None:
    labels = random_labels(seed)
    b = ref.binary(labels)
    got = recovered(rf.objective("binranknet"), labels, b, lambda r: -float(r - 1))
    assert sum(b) - got == approx(ref.metric("arp", labels), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_binranknet_is_lambdagap_x_with_k_1(seed: int) -> None:
    """Adalia et al. 2025, before Corollary 5.5."""
    labels = random_labels(seed)
    scores = np.random.default_rng(seed).normal(size=N)
    expected = rf.objective("binranknet").gradients(scores, labels)
    for some, others in zip(
        rf.objective("lambdagap-x", k=1).gradients(scores, labels), expected, strict=True
    ):
        assert some == approx(others, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("metric", ["dcg", "rbp", "arp"])
def test_lemma_5_6_for_any_metric(metric: str, seed: int) -> None:
    """M' = sum of f(y_i) (g(i) - g(j)) over j < i; for a falling g the signs turn around."""
    labels = random_labels(seed)
    f = [2**y - 1 for y in labels] if metric == "dcg" else ref.binary(labels)
    values: dict[str, Ranks] = {
        "dcg": ref.discount,
        "rbp": lambda rank: 0.2 * 0.8 ** (rank - 1),
        "arp": float,
    }
    g = values[metric]
    got = recovered_by_swaps(rf.objective(f"lambdarank({metric})"), labels, f, g)
    M = sum(f[i - 1] * abs(g(i) - g(j)) for i in range(1, N + 1) for j in range(1, i))
    assert got == approx(M, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 5, 14])
def test_corollary_5_7_lambdarank_arpbk(k: int, seed: int) -> None:
    """M'/k = ARPbk + 1/(2k) * sum of b_(i+k) i (i - 1)."""
    labels = random_labels(seed)
    b = ref.binary(labels)
    objective = rf.objective("lambdarank-arpbk", k=k)
    got = recovered_by_swaps(objective, labels, b, lambda r: max(r - k, 0.0)) / k
    quadratic = sum(b[i + k - 1] * i * (i - 1) for i in range(1, N - k + 1)) / (2 * k)
    assert got == approx(ref.metric("arpb", labels, k=k) + quadratic, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 5, 14])
def test_corollary_5_8_lambdarank_precision(k: int, seed: int) -> None:
    """(sum of b - M'/k) / k = P@k."""
    labels = random_labels(seed)
    b = ref.binary(labels)
    objective = rf.objective("lambdarank-p@k", k=k)
    primed = recovered_by_swaps(objective, labels, b, lambda r: float(r > k))
    assert (sum(b) - primed / k) / k == approx(ref.metric("p", labels, k=k), rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(
    ("hybrid", "first", "second"),
    [
        ("lambdagap-s+", "lambdarank-p@k", "lambdagap-s"),
        ("lambdagap-x+", "lambdarank-p@k", "lambdagap-x"),
        ("lambdagap-s++", "lambdarank-arpbk", "lambdagap-s"),
        ("lambdagap-x++", "lambdarank-arpbk", "lambdagap-x"),
    ],
)
def test_hybrids_of_adalia_equation_2(
    hybrid: str, first: str, second: str, mu: float, seed: int
) -> None:
    """The lambdas of a hybrid are those of its parts: lambda_A + mu * lambda_B."""
    labels = random_labels(seed)
    scores = np.random.default_rng(seed).normal(size=N)
    got, _ = rf.objective(hybrid, k=3, mu=mu).gradients(scores, labels)
    A, _ = rf.objective(first, k=3).gradients(scores, labels)
    B, _ = rf.objective(second, k=3).gradients(scores, labels)
    assert got == approx(A + mu * B, rel=1e-5, abs=1e-5)
    if mu == 0.0 and not math.isclose(float(np.abs(B).max()), 0.0):
        assert not np.allclose(got, B)
