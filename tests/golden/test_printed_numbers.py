"""Numbers that the documents print, out of the package itself; formulas that a reader can check."""

from __future__ import annotations

import math
from math import exp, log2

import numpy as np
import pytest

import rankforce as rf

approx = pytest.approx


def down(n: int) -> list[float]:
    """Scores with which row r is at rank r."""
    return [float(n - row) for row in range(n)]


def weights(objective: rf.Objective, labels: list[int]) -> np.ndarray:
    """W[hi, lo] of the ranking that has these labels from the top."""
    n = len(labels)
    W = np.zeros((n, n))
    hi, lo, weight = objective.pairs(down(n), labels)
    W[hi, lo] = weight
    return W


@pytest.mark.parametrize("cutoffs", [{"k": 1}, {"tau": 1}, {"k": 5, "tau": 1}])
def test_lambdas_of_marcuzzi_table_1(cutoffs: dict[str, int]) -> None:
    """tau = 1; labels 1, 2, 0, 0, 0; ideal DCG@1 = 2^2 - 1 = 3."""
    s = [0.04, 0.03, 0.02, 0.01, 0.00]
    lam, _ = rf.objective("lambdarank-ndcg", **cutoffs).gradients(s, [1, 2, 0, 0, 0], norm="none")
    up = (3 - 1) * (1 - 1 / log2(3)) / 3 / (1 + exp(s[1] - s[0]))
    down_3, down_4, down_5 = (
        (1 - 0) * (1 - 1 / log2(1 + rank)) / 3 / (1 + exp(s[0] - s[rank - 1])) for rank in (3, 4, 5)
    )
    assert lam == approx([down_3 + down_4 + down_5 - up, up, -down_3, -down_4, -down_5], rel=2e-6)
    assert lam == approx([0.15247, 0.12364, -0.08250, -0.09346, -0.10015], abs=5e-6)


@pytest.mark.parametrize("cutoffs", [{}, {"k": 3}, {"tau": math.inf}, {"k": 1, "tau": math.inf}])
def test_lambdas_of_marcuzzi_table_2(cutoffs: dict[str, float]) -> None:
    """tau infinite; labels 4, 0, 1; ideal DCG = 15 + 1 / log2(3)."""
    s, ideal = [0.02, 0.01, 0.00], 15 + 1 / log2(3)
    lam, _ = rf.objective("lambdarank-ndcg", **cutoffs).gradients(s, [4, 0, 1])
    l12 = 15 * (1 - 1 / log2(3)) / ideal / (1 + exp(s[0] - s[1]))
    l13 = (15 - 1) * (1 - 1 / log2(4)) / ideal / (1 + exp(s[0] - s[2]))
    l32 = 1 * (1 / log2(3) - 1 / log2(4)) / ideal / (1 + exp(s[2] - s[1]))
    assert lam == approx([l12 + l13, -l12 - l32, -l13 + l32], rel=2e-6)
    assert lam == approx([0.39788, -0.18041, -0.21747], abs=5e-6)


def test_weights_of_svore_section_5_1() -> None:
    """DCG with natural logarithms as a metric of one's own: 12.3 at ranks 1, 4; 17.8 at 1, 50."""
    natural = rf.additive(lambda y: 2.0**y - 1.0, lambda rank: 1.0 / math.log(1.0 + rank))
    W = weights(natural, [4] + [0] * 49)
    assert W[0, 3] == approx(15 * (1 / math.log(2) - 1 / math.log(5)), rel=1e-12)
    assert W[0, 49] == approx(15 * (1 / math.log(2) - 1 / math.log(51)), rel=1e-12)
    assert (round(W[0, 3], 1), round(W[0, 49], 1)) == (12.3, 17.8)


def test_ratio_of_svore_section_5_1_has_no_base() -> None:
    """12.3 : 17.8 is also the ratio with log2 and over the ideal value."""
    W = weights(rf.objective("lambdarank-ndcg"), [4] + [0] * 49)
    expected = (1 / math.log(2) - 1 / math.log(5)) / (1 / math.log(2) - 1 / math.log(51))
    assert W[0, 3] / W[0, 49] == approx(expected, rel=1e-12) == approx(12.3 / 17.8, abs=2e-3)


def candidates(name: str, k: int) -> tuple[int, int]:
    """What the objective says, and what it does when just one document is relevant."""
    n, objective = 10, rf.objective(name, k=k)
    seen = 0
    for i in range(n):
        labels = [int(row == i) for row in range(n)]
        seen += np.count_nonzero(weights(objective, labels)[i, i + 1 :])
    return objective.candidate_pairs(n), seen


@pytest.mark.parametrize("k", range(1, 11))
def test_candidate_pairs_of_adalia_section_5_5(k: int) -> None:
    n = 10
    arp_b, p_at_k = n * (n - 1) // 2 - k * (k - 1) // 2, k * (n - k)
    gap_x, gap_s = (n - k) * (n - k + 1) // 2, n - k
    # Gaps of at least k from rank i straddle the cutoff where i <= k.
    straddle = range(1, min(k, n - k) + 1)
    truncated = n * (n - 1) // 2 - (n - k) * (n - k - 1) // 2
    expected = {
        "RankNet": n * (n - 1) // 2,
        "BinRankNet": n * (n - 1) // 2,
        "LambdaRank-ARPbk": arp_b,
        "LambdaGap-X": gap_x,
        "LambdaRank-P@k": p_at_k,
        "LambdaGap-S": gap_s,
        "LambdaGap-S+": p_at_k + gap_s - len(straddle),
        "LambdaGap-X+": p_at_k + gap_x - sum(n - k - i + 1 for i in straddle),
        # ARPbk has a weight wherever the lower rank is beyond k, as has every gap.
        "LambdaGap-S++": arp_b,
        "LambdaGap-X++": arp_b,
        "LambdaRank-NDCG": truncated,
        "LambdaLoss-NDCG": truncated,
        "LambdaLoss-NDCG++": truncated,
        "LambdaLoss-NDCG top-k": truncated,
        "lambdarank(ndcg)": truncated,
        "lambdarank(recall)": p_at_k,
    }
    assert {name: candidates(name, k) for name in expected} == {
        name: (count, count) for name, count in expected.items()
    }


def test_order_of_costs_of_adalia_section_5_5() -> None:
    """LambdaGap-X has more candidate pairs than P@k just where k < (n + 1) / 3."""
    for k in range(1, 11):
        gap, precision = candidates("LambdaGap-X", k)[0], candidates("LambdaRank-P@k", k)[0]
        assert (gap > precision) == (k < (10 + 1) / 3)
        assert candidates("LambdaGap-S", k)[0] <= min(gap, precision)


def test_worst_case_of_adalia_corollary_5_3() -> None:
    """Relevant documents every k ranks: LambdaGap-S is silent, LambdaRank-P@k is not."""
    k = 4
    labels = [int(rank % k == k - 1) for rank in range(1, 25)]
    lam, hess = rf.objective("lambdagap-s", k=k).gradients(down(24), labels)
    assert lam.tolist() == hess.tolist() == [0.0] * 24
    assert rf.objective("lambdarank-p@k", k=k).gradients(down(24), labels)[0].any()
    for hybrid in ("lambdagap-s+", "lambdagap-x"):
        assert rf.objective(hybrid, k=k).gradients(down(24), labels)[0].any()


def test_delta_at_distance_1() -> None:
    """0.36907 in the paper, 0.13093 in both published forks of LightGBM."""
    W = weights(rf.objective("lambdaloss-ndcg"), [1, 0])
    assert W[0, 1] == approx(1 - 1 / log2(3)) == approx(0.36907, abs=5e-6)
    W = weights(rf.objective("lambdaloss-ndcg", delta_offset=1), [1, 0])
    assert W[0, 1] == approx(1 / log2(3) - 1 / log2(4)) == approx(0.13093, abs=5e-6)


FIGURE_2 = [
    1,
    3,
    0,
    2,
    0,
    2,
    2,
]  # Marcuzzi et al. 2023; k = 2: one false top document (1), three missed (2)


@pytest.mark.parametrize(
    ("strategy", "below"), [("static", {3}), ("all", {3, 5, 6}), ("all-static", {3, 5, 6})]
)
def test_sets_of_marcuzzi_figure_2(strategy: str, below: set[int]) -> None:
    """Pairs with at least one document in X = top 2 and the missed ones; ideal DCG@2."""
    X, ideal = {0, 1} | below, 7 + 3 / log2(3)
    W = weights(rf.objective(f"lambdamart-ex {strategy}", k=2), FIGURE_2)
    for hi in range(7):
        for lo in range(7):
            is_pair = FIGURE_2[hi] > FIGURE_2[lo] and bool({hi, lo} & X)
            rho = abs(1 / log2(2 + hi) - 1 / log2(2 + lo))
            expected = (2 ** FIGURE_2[hi] - 2 ** FIGURE_2[lo]) * rho / ideal * is_pair
            assert W[hi, lo] == approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("labels", "missed", "pairs"),
    [
        ([3, 2, 2, 2, 0, 0], "label", 11),
        ([3, 2, 2, 2, 0, 0], "deficit", 7),
        ([1, 2, 3, 2, 2, 0, 1], "label", 16),
        ([1, 2, 3, 2, 2, 0, 1], "deficit", 12),
    ],
)
def test_pairs_of_all_missed_documents(labels: list[int], missed: str, pairs: int) -> None:
    """Which labels the ideal top 2 has (section 4.1), or of which it has more than the top 2."""
    objective = rf.objective("lambdamart-ex all", k=2, missed=missed)
    assert np.count_nonzero(weights(objective, labels)) == pairs


def test_random_draws_by_label_are_of_all_labels_alike() -> None:
    """k = 3: two false ones (1, 0), and of the missed 2, 3, 2 any two are as likely."""
    labels = [1, 0, 3, 2, 3, 2, 0]
    objective, iterations = rf.objective("lambdamart-ex random", k=3, missed="label"), 900
    ready = objective.prepare(labels)
    counts = {frozenset(two): 0 for two in ((3, 4), (3, 5), (4, 5))}
    for iteration in range(iterations):
        hi, lo, _ = ready.pairs(down(7), iteration=iteration)
        # Only a member meets the 0 at row 6, which is none.
        counts[frozenset(int(h) for h, o in zip(hi, lo, strict=True) if o == 6 and h > 2)] += 1
    four_sigma = 4 * math.sqrt(1 / 3 * 2 / 3 / iterations)
    assert all(count / iterations == approx(1 / 3, abs=four_sigma) for count in counts.values())


def test_random_draws_of_marcuzzi_figure_2() -> None:
    """One of the three missed documents, each as often: X is the top 2 and that one."""
    objective, counts = rf.objective("lambdamart-ex random", k=2), {3: 0, 5: 0, 6: 0}
    ready, iterations = objective.prepare(FIGURE_2), 600
    for iteration in range(iterations):
        hi, lo, _ = ready.pairs(down(7), iteration=iteration)
        # Only a member meets the 0s at rows 2 and 4, which are no members.
        (drawn,) = {int(h) for h, o in zip(hi, lo, strict=True) if o in (2, 4) and h > 1}
        counts[drawn] += 1
    four_sigma = 4 * math.sqrt(1 / 3 * 2 / 3 / iterations)
    assert all(count / iterations == approx(1 / 3, abs=four_sigma) for count in counts.values())
