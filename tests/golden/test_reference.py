"""The reference against numbers of the documents, written as formulas that a reader can check."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from typing import Any

import pytest

from tests import reference as ref
from tests.reference.forces import bump, logistic
from tests.reference.ranking import pairs

approx = pytest.approx
log2, ln, exp = math.log2, math.log, math.exp
INF = math.inf


def query_of(seed: int, n: int = 12) -> tuple[list[float], list[float]]:
    """A random query with some tied scores: (scores, labels)."""
    rng = random.Random(seed)
    scores = [round(rng.gauss(0.0, 1.0), 1) for _ in range(n)]
    return scores, [float(rng.choice([0, 0, 0, 1, 2, 3, 4])) for _ in range(n)]


def down(n: int) -> list[float]:
    """Scores with which row r is at rank r."""
    return [float(n - row) for row in range(n)]


def flat(W: list[list[float]]) -> list[float]:
    return [weight for line in W for weight in line]


# Numbers of Marcuzzi et al. 2023


def test_lambdas_of_marcuzzi_table_1() -> None:
    """tau = k = 1; labels 1, 2, 0, 0, 0; ideal DCG@1 = 2^2 - 1 = 3."""
    scores, labels = [0.04, 0.03, 0.02, 0.01, 0.00], [1, 2, 0, 0, 0]
    W = ref.weights("LambdaRank-NDCG", scores, labels, tau=1, k=1)
    lam, _ = ref.forces(W, scores)
    triangle_star = (3 - 1) * (1 - 1 / log2(3)) / 3 / (1 + exp(0.03 - 0.04))
    star_3 = (1 - 0) * (1 - 1 / log2(4)) / 3 / (1 + exp(0.04 - 0.02))
    star_4 = (1 - 0) * (1 - 1 / log2(5)) / 3 / (1 + exp(0.04 - 0.01))
    star_5 = (1 - 0) * (1 - 1 / log2(6)) / 3 / (1 + exp(0.04 - 0.00))
    star = -triangle_star + star_3 + star_4 + star_5
    assert lam == approx([star, triangle_star, -star_3, -star_4, -star_5], rel=1e-13)
    assert lam == approx([0.15247, 0.12364, -0.08250, -0.09346, -0.10015], abs=5e-6)


def test_lambdas_of_marcuzzi_table_2() -> None:
    """tau infinite; labels 4, 0, 1; ideal DCG = 15 + 1 / log2(3)."""
    scores, labels = [0.02, 0.01, 0.00], [4, 0, 1]
    lam, _ = ref.forces(ref.weights("LambdaRank-NDCG", scores, labels), scores)
    ideal = 15 + 1 / log2(3)
    l12 = 15 * (1 - 1 / log2(3)) / ideal / (1 + exp(0.02 - 0.01))
    l13 = (15 - 1) * (1 - 1 / log2(4)) / ideal / (1 + exp(0.02 - 0.00))
    l32 = 1 * (1 / log2(3) - 1 / log2(4)) / ideal / (1 + exp(0.00 - 0.01))
    assert lam == approx([l12 + l13, -l12 - l32, -l13 + l32], rel=1e-13)
    assert lam == approx([0.39788, -0.18041, -0.21747], abs=5e-6)


FIGURE_2 = [1, 3, 0, 2, 0, 2, 2]  # k = 2: the ideal top is 3, 2; one false (1), three missed (2)


def test_sets_of_marcuzzi_figure_2() -> None:
    assert ref.deficits(FIGURE_2, 2) == {1: -1, 3: 0, 0: 0, 2: 1}
    assert ref.extended_set("static", FIGURE_2, 2) == {0, 1, 3}
    assert ref.extended_set("all", FIGURE_2, 2) == {0, 1, 3, 5, 6}
    # The smallest positive label is 1, that of the ideal top-2 is 2: no roll-back.
    assert ref.extended_set("all-static", FIGURE_2, 2) == {0, 1, 3, 5, 6}
    assert ref.extended_set("all-random", FIGURE_2, 2) == {0, 1, 3, 5, 6}
    # Without the 1 the smallest positive labels agree, and `all` rolls back.
    labels = [0, 3, 0, 2, 0, 2, 2]
    assert ref.extended_set("all", labels, 2) == {0, 1, 3, 5, 6}
    assert ref.extended_set("all-static", labels, 2) == {0, 1, 3}
    drawn = {frozenset(ref.extended_set("all-random", labels, 2, iteration=t)) for t in range(100)}
    assert drawn == {frozenset({0, 1, rank}) for rank in (3, 5, 6)}


@pytest.mark.parametrize("strategy", ["static", "all"])
@pytest.mark.parametrize("suffix", ["", " bin"])
def test_pairs_and_weights_of_marcuzzi_figure_2(strategy: str, suffix: str) -> None:
    """Marcuzzi et al. 2023, eq. 5: at least one of the two in X; ideal DCG at k = 2."""
    labels = FIGURE_2 if not suffix else [1 if y else 0 for y in FIGURE_2]
    # On b the top-2 is as good as can be, so X is only that.
    below = set() if suffix else {"static": {3}, "all": {3, 5, 6}}[strategy]
    X = {0, 1} | below
    ideal = 1 + 1 / log2(3) if suffix else 7 + 3 / log2(3)
    W = ref.weights(f"LambdaMART-eX {strategy}{suffix}", down(7), FIGURE_2, k=2)
    for hi, lo in itertools.product(range(7), repeat=2):
        inside = labels[hi] > labels[lo] and (hi in X or lo in X)
        rho = abs(1 / log2(2 + hi) - 1 / log2(2 + lo))
        expected = (2 ** labels[hi] - 2 ** labels[lo]) * rho / ideal if inside else 0.0
        assert W[hi][lo] == approx(expected, rel=1e-13)


# Labels in ranked order, k: false, missed and static by label, and by deficit; ranks from 1.
READINGS = [
    ([3, 2, 2, 2, 0, 0], 2, ([], [3, 4], []), ([], [], [])),
    ([1, 2, 3, 2, 2, 0, 1], 2, ([1], [3, 4, 5], [3]), ([1], [3], [3])),
    ([2, 2, 3, 0, 2], 2, ([], [3, 5], []), ([1, 2], [3], [3])),
    ([0, 0, 1], 2, ([], [3], []), ([1, 2], [3], [3])),
    ([1, 3, 0, 2, 1, 2, 0, 2, 0], 2, ([1], [4, 6, 8], [4]), ([1], [4, 6, 8], [4])),
]


@pytest.mark.parametrize(("labels", "k", "by_label", "by_deficit"), READINGS)
def test_two_readings_of_missed(labels: Any, k: int, by_label: Any, by_deficit: Any) -> None:
    """Labels of the ideal top k (Marcuzzi et al. 2023, section 4.1), or how many it has of each."""
    for missed, (false, lacking, static) in {"label": by_label, "deficit": by_deficit}.items():
        found = ref.false_and_missed(labels, k, missed)
        assert [[rank + 1 for rank in ranks] for ranks in found] == [false, lacking]
        top = set(range(k))
        members = {"all": lacking, "static": static}
        for strategy, below in members.items():
            X = ref.extended_set(strategy, labels, k, missed=missed)
            assert top | {rank - 1 for rank in below} == X
        drawn = ref.extended_set("random", labels, k, missed=missed) - top
        assert len(drawn) == len(static)
        assert drawn <= {rank - 1 for rank in lacking}


def test_static_takes_as_many_of_each_label_as_are_missing() -> None:
    """k = 3: the ideal top is 3, 3, 2, the current one 0, 0, 1."""
    labels = [0, 0, 1, 2, 1, 2, 3, 2, 3]
    assert ref.deficits(labels, 3) == {0: -2, 1: -1, 2: 1, 3: 2}
    assert ref.extended_set("static", labels, 3) == {0, 1, 2, 3, 6, 8}
    assert ref.extended_set("all", labels, 3) == {0, 1, 2, 3, 5, 6, 7, 8}


def test_label_0_is_never_missed() -> None:
    """Below the top-c only relevant documents enter X; the top-c is always in it."""
    for labels in itertools.product([0, 1, 2], repeat=5):
        for k, strategy in itertools.product([1, 2, 4, 5, 9], ref.STRATEGIES):
            X = ref.extended_set(strategy, labels, k)
            assert all(labels[rank] > 0 for rank in X if rank >= k)
            assert set(range(min(k, 5))) <= X


# Random draws


def test_splitmix64_gives_the_published_sequence() -> None:
    """First outputs of Vigna's splitmix64.c from the states 0 and 1234567."""
    step = 0x9E3779B97F4A7C15
    assert ref.splitmix64(0) == 0xE220A8397B1DCDAF
    assert ref.splitmix64(step) == 0x6E789E6AA1B965F4
    assert ref.splitmix64(1234567) == 6457827717110365317
    assert ref.splitmix64(1234567 + step) == 3203168211198807973


def test_random_takes_every_subset_as_often() -> None:
    """k = 3, no relevant one above, five below: 3 of 5, each of the 10 subsets 1 time in 10."""
    labels, draws = [0, 0, 0, 1, 0, 1, 1, 0, 1, 1], 3000
    counts: dict[frozenset[int], int] = {}
    for iteration in range(draws):
        X = ref.extended_set("random", labels, 3, seed=7, iteration=iteration, query=2)
        subset = frozenset(X - {0, 1, 2})
        counts[subset] = counts.get(subset, 0) + 1
    assert set(counts) == {frozenset(s) for s in itertools.combinations([3, 5, 6, 8, 9], 3)}
    four_sigma = 4 * math.sqrt(0.1 * 0.9 / draws)
    assert all(abs(count / draws - 0.1) < four_sigma for count in counts.values())


def test_draws_depend_on_seed_iteration_query_and_rank() -> None:
    keys = [(0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)]
    draws = [ref.uniform(*key) for key in keys]
    assert len(set(draws)) == len(keys)
    assert all(0 <= draw < 1 for draw in draws)
    many = [ref.uniform(3, t, 5, 4) for t in range(4000)]
    assert statistics.mean(many) == approx(1 / 2, abs=4 * math.sqrt(1 / 12 / 4000))


# Numbers of Adalia et al. 2025 and Svore et al. 2011


def test_weights_of_svore_section_5_1() -> None:
    """(2^4 - 2^0) (1/ln 2 - 1/ln(1 + r)) / N: 12.3 / N at r = 4 and 17.8 / N at r = 50."""
    labels = [4] + [0] * 49
    W = ref.weights("LambdaRank-NDCG", down(50), labels)
    ideal = 15  # the only relevant document is first; 1 / ln(1 + r) = d(r) / ln 2
    near, far = W[0][3] * ideal / ln(2), W[0][49] * ideal / ln(2)
    assert near == approx(15 * (1 / ln(2) - 1 / ln(5)), rel=1e-13)
    assert far == approx(15 * (1 / ln(2) - 1 / ln(51)), rel=1e-13)
    assert (round(near, 1), round(far, 1)) == (12.3, 17.8)


def candidates(name: str, n: int, k: int) -> int:
    """Pairs of ranks whose weight is positive when only one of the two is relevant."""
    count = 0
    for i in range(n):
        labels = [1.0 if row == i else 0.0 for row in range(n)]
        W = ref.weights(name, down(n), labels, k=k)
        count += sum(W[i][j] > 0 for j in range(i + 1, n))
    return count


@pytest.mark.parametrize("k", range(1, 11))
def test_number_of_candidate_pairs_of_adalia_section_5_5(k: int) -> None:
    n = 10
    arp_b, p_at_k = n * (n - 1) // 2 - k * (k - 1) // 2, k * (n - k)
    gap_x, gap_s = (n - k) * (n - k + 1) // 2, n - k
    assert candidates("RankNet", n, k) == n * (n - 1) // 2
    assert candidates("BinRankNet", n, k) == n * (n - 1) // 2
    assert candidates("LambdaRank-ARPbk", n, k) == arp_b
    assert candidates("LambdaGap-X", n, k) == gap_x
    assert candidates("LambdaRank-P@k", n, k) == p_at_k
    assert candidates("LambdaGap-S", n, k) == gap_s
    # A gap of k from rank i straddles the cutoff if i <= k; j - i >= k implies j > k.
    top = range(1, min(k, n - k) + 1)
    assert candidates("LambdaGap-S+", n, k) == p_at_k + gap_s - len(top)
    assert candidates("LambdaGap-X+", n, k) == p_at_k + gap_x - sum(n - k - i + 1 for i in top)
    assert candidates("LambdaGap-S++", n, k) == arp_b
    assert candidates("LambdaGap-X++", n, k) == arp_b
    # Marcuzzi et al. 2023, eq. 4, tau = k: all but the pairs with both beyond k.
    assert candidates("LambdaRank-NDCG", n, k) == n * (n - 1) // 2 - (n - k) * (n - k - 1) // 2


def test_table_4_has_42_objectives() -> None:
    beyond_table_4 = {"NDCG-Loss1", "LambdaLoss-NDCG top-k"}
    assert len(set(ref.NAMES) - beyond_table_4) == len(ref.NAMES) - 2 == 42


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", ["LambdaLoss-NDCG", "LambdaGap-S", "LambdaGap-X"])
def test_metric_is_recovered_from_weights(name: str, seed: int) -> None:
    """Adalia et al. 2025, Lemma 5.1: C1 - M = sum of the misranked pairs' weights + C2 + C3."""
    n, k = 12, 3
    _, labels = query_of(seed, n)
    if name == "LambdaLoss-NDCG":
        f = [(2**y - 1) / ref.ideal_dcg(labels, None, "2^y-1") for y in labels]
        g = [1 / log2(1 + r) for r in range(1, n + 2)]
        M = ref.metric("ndcg", labels)
        W = ref.weights(name, down(n), labels)
    else:
        # Cor. 5.3 and 5.4, without the 1/k.
        f = ref.binary(labels)
        g = [-float(r > k) if name.endswith("S") else -max(r - k, 0) for r in range(1, n + 2)]
        hits, total = k * ref.metric("p", labels, k=k), sum(f)
        M = hits - total if name.endswith("S") else -ref.metric("arpb", labels, k=k)
        W = ref.weights(name, down(n), labels, k=k)

    def delta(i: int, j: int) -> float:
        return g[abs(i - j) - 1] - g[abs(i - j)]

    misranked = sum(W[hi][lo] for hi, lo in pairs(f) if hi > lo)
    c1 = g[0] * sum(f)
    equal = [(i, j) for i, j in itertools.combinations(range(n), 2) if f[i] == f[j]]
    c2 = sum(delta(i, j) * f[j] for i, j in equal)
    c3 = sum(delta(hi, lo) * f[lo] for hi, lo in pairs(f))
    assert c1 - M == approx(misranked + c2 + c3, rel=1e-12, abs=1e-12)


# Weights by hand


def test_weights_of_one_pair_at_ranks_2_and_5() -> None:
    """n = 6, label 3 at rank 5, label 1 at rank 2, rest 0; ideal DCG = 7 + 1 / log2(3)."""
    labels, d = [0, 1, 0, 0, 3, 0], ref.discount
    hi, lo, ideal, ideal_at_1, mu = 4, 1, 7 + 1 / log2(3), 7, 0.5
    rho, delta = d(2) - d(5), d(3) - d(4)

    def weight(name: str, **options: object) -> float:
        return ref.weights(name, down(6), labels, **options)[hi][lo]

    assert weight("LambdaRank-NDCG") == approx((7 - 1) * rho / ideal)
    assert weight("LambdaRank-NDCG", gain="y") == approx((3 - 1) * rho / (3 + 1 / log2(3)))
    assert weight("LambdaRank-NDCG", gain="binary") == 0
    assert weight("LambdaRank-NDCG", gain=lambda y: 5 * y) == approx(
        5 * (3 - 1) * rho / (15 + 5 / log2(3))
    )
    assert weight("LambdaRank-NDCG", tau=1) == 0
    assert weight("LambdaRank-NDCG", k=1, tau=2) == approx((7 - 1) * rho / ideal)
    assert weight("LambdaRank-NDCG", k=1, tau=INF) == approx((7 - 1) * rho / ideal)
    assert weight("LambdaLoss-NDCG") == approx((7 - 1) * delta / ideal)
    assert weight("LambdaLoss-NDCG", delta_offset=1) == approx((7 - 1) * (d(4) - d(5)) / ideal)
    assert weight("LambdaLoss-NDCG++", mu=mu) == approx((7 - 1) * (rho + mu * delta) / ideal)
    assert weight("NDCG-Loss1") == approx(7 * d(5) / ideal)
    # Adalia et al. 2025, section 4.2: rank 5 is beyond k = 2, so 1 / (1 - d(5)); not beyond k = 5.
    assert weight("LambdaLoss-NDCG top-k", k=2) == approx((7 - 1) * delta / (1 - d(5)) / ideal)
    assert weight("LambdaLoss-NDCG top-k", k=5) == approx((7 - 1) * delta / ideal)
    assert weight("LambdaLoss-NDCG top-k", k=1) == 0
    # k = 1: the 3 is missed, so X = {rank 1, rank 5}.
    assert weight("LambdaMART-eX static", k=1) == approx((7 - 1) * rho / ideal_at_1)
    assert weight("LambdaLoss-eX all", k=1) == approx((7 - 1) * delta / ideal_at_1)
    assert weight("LambdaLoss-eX++ random", k=1, mu=mu) == approx(
        (7 - 1) * (rho + mu * delta) / ideal_at_1
    )
    assert weight("RankNet") == 1
    assert weight("BinRankNet") == weight("LambdaRank-BNDCG") == weight("LambdaRank-P@k", k=2) == 0
    assert weight("LambdaLoss-ARP1") == 3
    assert weight("LambdaLoss-ARP2") == 3 - 1


def test_delta_at_distance_1() -> None:
    W = ref.weights("LambdaLoss-NDCG", down(2), [1, 0])
    assert W[0][1] == approx(1 - 1 / log2(3)) == approx(0.36907, abs=5e-6)
    W = ref.weights("LambdaLoss-NDCG", down(2), [1, 0], delta_offset=1)
    assert W[0][1] == approx(1 / log2(3) - 1 / log2(4)) == approx(0.13093, abs=5e-6)


def test_position_weights_of_one_relevant_document() -> None:
    """n = 6, k = 2, the relevant document at rank 5."""
    labels, mu = [0, 0, 0, 0, 2, 0], 0.5

    def weights(name: str) -> list[float]:
        return ref.weights(name, down(6), labels, k=2, mu=mu)[4]

    assert weights("LambdaRank-P@k") == [1, 1, 0, 0, 0, 0]
    assert weights("LambdaRank-ARPbk") == [3, 3, 2, 1, 0, 1]
    assert weights("LambdaGap-S") == [0, 0, 1, 0, 0, 0]
    assert weights("LambdaGap-X") == [1, 1, 1, 0, 0, 0]
    assert weights("LambdaGap-S+") == [1, 1, mu, 0, 0, 0]
    assert weights("LambdaGap-X+") == [1 + mu, 1 + mu, mu, 0, 0, 0]
    assert weights("LambdaGap-S++") == [3, 3, 2 + mu, 1, 0, 1]
    assert weights("LambdaGap-X++") == [3 + mu, 3 + mu, 2 + mu, 1, 0, 1]


SAME_WEIGHTS = [
    ("LambdaRank-NDCG", "lambdarank(ndcg)", None),
    ("LambdaRank-BNDCG", "lambdarank(bndcg)", None),
    ("BinRankNet", "LambdaGap-X", 1),
    *[("LambdaRank-ARPbk", f"lambdarank(arpb@{k})", k) for k in (1, 3, 11, 12, 20)],
    *[("LambdaRank-P@k", f"lambdarank(p@{k})", k) for k in (1, 3, 11, 12, 20)],
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("closed", "brute", "k"), SAME_WEIGHTS)
def test_closed_form_is_brute_force(closed: str, brute: str, k: int | None, seed: int) -> None:
    scores, labels = query_of(seed, n=12)
    expected = ref.weights(brute, scores, labels, k=k)
    got = ref.weights(closed, scores, labels, k=k)
    assert flat(got) == approx(flat(expected), rel=1e-11, abs=1e-14)


def test_lambdarank_of_metrics_by_hand() -> None:
    """Labels 0, 1, 0, 2 in ranked order; the pair of rank 4 (hi) and rank 1 (lo)."""
    labels = [0, 1, 0, 2]

    def weight(name: str, **options: object) -> float:
        return ref.weights(name, down(4), labels, **options)[3][0]

    ideal = 3 + 1 / log2(3)
    assert weight("lambdarank(dcg)") == approx(3 * (1 - 1 / log2(5)))
    assert weight("lambdarank(ndcg)") == approx(3 * (1 - 1 / log2(5)) / ideal)
    assert weight("lambdarank(ndcg@2)") == approx(3 / ideal)  # discount 0 beyond 2
    assert weight("lambdarank(ndcg@1)") == approx(3 / 3)
    assert weight("lambdarank(map)") == approx((1 + 2 / 2) / 2 - (1 / 2 + 2 / 4) / 2)
    assert weight("lambdarank(mrr)") == approx(1 - 1 / 2)
    assert weight("lambdarank(rbp)") == approx(0.2 * (1 - 0.8**3))
    assert weight("lambdarank(rbp(0.9))") == approx(0.1 * (1 - 0.9**3))
    assert weight("lambdarank(recall@2)") == approx(1 / 2)
    assert weight("lambdarank(p@2)") == 1
    assert weight("lambdarank(p@4)") == weight("lambdarank(p)") == 0
    assert weight("lambdarank(arp)") == 4 - 1
    assert weight("lambdarank(arp)", gain="y") == 2 * (4 - 1)
    assert weight("lambdarank(arpb@2)") == 2
    before = 1 / 4 / 2 + 3 / 4 * 3 / 4 / 4  # stop: 0, 1/4, 0, 3/4
    after = 3 / 4 + 1 / 4 * 1 / 4 / 2
    assert weight("lambdarank(err)") == approx(after - before)
    before, after = 1 / 16 / 2 + 15 / 16 * 3 / 16 / 4, 3 / 16 + 13 / 16 * 1 / 16 / 2
    assert weight("lambdarank(err)", max_label=4) == approx(after - before)


# Metrics by hand


def test_metrics_of_a_small_query() -> None:
    labels = [0, 2, 1, 0, 1]

    def value(name: str, k: int | None = None, **options: object) -> float:
        return ref.metric(name, labels, k=k, **options)

    assert (value("cg", 2), value("cg"), value("cg", 3, gain="2^y-1")) == (2, 4, 3 + 1)
    dcg = 3 / log2(3) + 1 / log2(4) + 1 / log2(6)
    assert value("dcg") == approx(dcg)
    assert value("dcg", 2) == approx(3 / log2(3))
    assert value("dcg", gain="y") == approx(2 / log2(3) + 1 / log2(4) + 1 / log2(6))
    assert value("ndcg") == approx(dcg / (3 + 1 / log2(3) + 1 / log2(4)))
    assert value("ndcg", 2) == approx(3 / log2(3) / (3 + 1 / log2(3)))
    assert value("bndcg", 3) == approx((1 / log2(3) + 1 / 2) / (1 + 1 / log2(3) + 1 / 2))
    assert value("map") == approx((1 / 2 + 2 / 3 + 3 / 5) / 3)
    assert value("map", 2) == approx((1 / 2) / 2)
    assert value("map", 4) == approx((1 / 2 + 2 / 3) / 3)
    assert (value("mrr"), value("mrr", 2), value("mrr", 1)) == (1 / 2, 1 / 2, 0)
    err = 3 / 4 / 2 + 1 / 4 * 1 / 4 / 3  # stop: 0, 3/4, 1/4, 0, 1/4
    assert value("err", 4) == approx(err)
    assert value("err") == approx(err + 1 / 4 * 3 / 4 * 1 / 4 / 5)
    assert value("err", 2, max_label=4) == approx(3 / 16 / 2)
    assert value("rbp") == approx(0.2 * (0.8 + 0.8**2 + 0.8**4))
    assert value("rbp", p=0.5) == approx(0.5 * (0.5 + 0.5**2 + 0.5**4))
    assert (value("p", 2), value("p", 5), value("p", 9)) == (1 / 2, 3 / 5, 3 / 5)
    assert (value("recall", 2), value("recall")) == (1 / 3, 1)
    assert (value("arp"), value("arp", gain="y")) == (2 + 3 + 5, 2 * 2 + 3 + 5)
    assert (value("arpb", 2), value("arpb", 0), value("arpb", 5)) == (1 + 3, 2 + 3 + 5, 0)


@pytest.mark.parametrize("name", ref.METRICS)
@pytest.mark.parametrize("labels", [[], [0], [0, 0, 0]])
def test_no_relevant_document_is_0(name: str, labels: list[int]) -> None:
    assert ref.metric(name, labels, k=2) == 0


def test_ranks_break_ties_by_row() -> None:
    assert ref.ranks([0.5, 1.0, 0.5, 1.0, -0.0, 0.0]) == [2, 0, 3, 1, 4, 5]


# Forces


def test_forces_of_one_pair_by_hand() -> None:
    weight, sigma, scores = 0.7, 2.0, [0.3, 0.8]
    W = [[0.0, weight], [0.0, 0.0]]
    x = 0.3 - 0.8
    p = 1 / (1 + exp(sigma * x))
    force, curvature = sigma * p * weight, sigma**2 * p * (1 - p) * weight
    lam, hess = ref.forces(W, scores, sigma=sigma)
    assert lam == approx([force, -force])
    assert hess == approx([curvature, curvature])

    divided = 0.01 + abs(x)
    S = 2 * force / divided
    lam, hess = ref.forces(W, scores, sigma=sigma, norm="lightgbm")
    assert lam == approx([log2(1 + S) / 2, -log2(1 + S) / 2])  # f/d * log2(1+S) / (2 f/d)
    assert hess == approx([curvature / divided * log2(1 + S) / S] * 2)

    lam, hess = ref.forces(W, scores, sigma=sigma, norm="std")
    assert lam == approx([1, -1])  # population standard deviation of (f, -f) is f
    assert hess == [1, 1]

    u = sigma * x + 0.4
    force = sigma * weight * exp(u) / (1 + exp(u)) ** 2
    for norm, factor in [("none", 1.0), ("std", 1 / force)]:
        lam, hess = ref.forces(W, scores, sigma=sigma, cost="sigmoid", center=0.4, norm=norm)
        assert lam == approx([force * factor, -force * factor])
        assert hess == [1, 1]
    lam, hess = ref.forces(W, scores, sigma=sigma, cost="sigmoid", center=0.4, norm="lightgbm")
    S = 2 * force / divided
    assert lam == approx([log2(1 + S) / 2, -log2(1 + S) / 2])
    assert hess == [1, 1]


def test_lightgbm_norm_does_not_divide_when_all_scores_tie() -> None:
    W, force = [[0.0, 1.0], [0.0, 0.0]], 1 / 2
    lam, hess = ref.forces(W, [3.0, 3.0], norm="lightgbm")
    factor = log2(1 + 2 * force) / (2 * force)
    assert lam == approx([force * factor, -force * factor])
    assert hess == approx([factor / 4, factor / 4])


@pytest.mark.parametrize("cost", ref.COSTS)
def test_lambda_is_minus_the_slope_of_the_cost(cost: str) -> None:
    """And the hessian of the logistic cost is its second derivative, by finite differences."""
    scores, labels = query_of(1, n=8)
    W, sigma, center, h = ref.weights("LambdaRank-NDCG", scores, labels), 1.3, 0.2, 1e-3

    def total(moved: list[float]) -> float:
        value = 0.0
        for hi, lo in pairs(labels):
            x = moved[hi] - moved[lo]
            if cost == "logistic":
                value += W[hi][lo] * ln(1 + exp(-sigma * x))
            else:
                value += W[hi][lo] / (1 + exp(sigma * x + center))  # Svore et al. 2011, eq. 13
        return value

    lam, hess = ref.forces(W, scores, sigma=sigma, cost=cost, center=center)
    for row in range(8):
        up, same, lower = ([*scores[:row], scores[row] + e, *scores[row + 1 :]] for e in (h, 0, -h))
        slope = (total(up) - total(lower)) / (2 * h)
        curvature = (total(up) - 2 * total(same) + total(lower)) / h**2
        assert lam[row] == approx(-slope, rel=1e-5, abs=1e-7)
        if cost == "logistic":
            assert hess[row] == approx(curvature, rel=1e-4, abs=1e-6)


def test_logistic_is_safe_and_right_far_out() -> None:
    assert (logistic(1e6), logistic(-1e6), bump(1e6), bump(-1e6)) == (0, 1, 0, 0)
    assert logistic(50) == approx(exp(-50), rel=1e-15)
    assert bump(-50) == approx(exp(-50), rel=1e-15)  # 1 - p alone would be 0 here
    for u in (-3.0, 0.0, 0.5, 20.0):
        assert logistic(u) == approx(1 / (1 + exp(u)), rel=1e-14)
        assert bump(u) == approx(exp(u) / (1 + exp(u)) ** 2, rel=1e-14)


def test_lightgbm_norm_of_tiny_forces() -> None:
    """log2(1 + S) / S goes to 1 / ln 2 as S goes to 0."""
    W = [[0.0, 1e-30], [0.0, 0.0]]
    lam, _ = ref.forces(W, [0.0, 0.0], norm="lightgbm")
    assert lam == approx([0.5e-30 / ln(2), -0.5e-30 / ln(2)], rel=1e-14)


# Every objective


BRUTE_NAMES = [f"lambdarank({name})" for name in ref.METRICS]
CUT_NAMES = [f"lambdarank({name}@3)" for name in ref.METRICS]
ALL_NAMES = [*ref.NAMES, *BRUTE_NAMES, *CUT_NAMES, "lambdarank(rbp(0.9))", "lambdarank(rbp(0.9)@5)"]


@pytest.mark.parametrize("name", ALL_NAMES)
def test_forces_balance(name: str) -> None:
    """Lambdas sum to zero, hessians and weights are never negative, only hi above lo."""
    scores, labels = query_of(3)
    W = ref.weights(name, scores, labels, k=3)
    for hi, lo in itertools.product(range(len(labels)), repeat=2):
        assert W[hi][lo] >= 0
        assert W[hi][lo] == 0 or labels[hi] > labels[lo]
    for cost, norm in itertools.product(ref.COSTS, ref.NORMS):
        lam, hess = ref.forces(W, scores, cost=cost, norm=norm)
        assert sum(lam) == approx(0, abs=1e-12)
        assert min(hess) >= 0


@pytest.mark.parametrize("name", ALL_NAMES)
@pytest.mark.parametrize("labels", [[], [2], [0, 0, 0], [1, 1, 1, 1]])
def test_query_without_pairs_is_zero(name: str, labels: list[int]) -> None:
    n = len(labels)
    W = ref.weights(name, down(n), labels, k=2)
    assert flat(W) == [0.0] * n**2
    for cost, norm in itertools.product(ref.COSTS, ref.NORMS):
        assert ref.forces(W, down(n), cost=cost, norm=norm) == ([0.0] * n, [0.0] * n)


# Adalia et al. 2025, section 6.2: with `bin`, all-static and all-random would be static and random.
UNKNOWN = ["LambdaRank-XYZ", "lambdarank(xyz)", "LambdaMART-eX all-static bin"]


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unknown"):
        ref.weights(name, [1.0, 0.0], [1, 0])
