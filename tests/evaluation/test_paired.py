"""Tests on paired differences: p-values, intervals, effect sizes, the random bits behind them."""

from __future__ import annotations

from math import inf, nan, sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce.evaluation.paired import ALTERNATIVES, TESTS, effect_size, paired_test
from rankforce.kernels import resampling as kernel
from tests.reference import statistics as ref

approx = pytest.approx
Floats = NDArray[np.float64]
FLIPS = ("fisher", "permutation")
RESAMPLED = ("fisher", "permutation", "bootstrap")


def made_differences(n: int, seed: int = 0, mean: float = 0.3) -> Floats:
    """With a mean from 0 up, as the references want them."""
    d = np.random.default_rng(seed).normal(mean, 1.0, n)
    return d if d.sum() >= 0 else -d


def signed_sums(magnitudes: Any, resamples: int, seed: int = 0) -> Floats:
    out = np.full(resamples, nan)
    chunks = -(-resamples // kernel.CHUNK)
    kernel.add_signed(0, chunks, np.asarray(magnitudes, np.float64), np.uint64(seed), out)
    return out


def drawn_sums(values: Any, resamples: int, seed: int = 0) -> Floats:
    out = np.full(resamples, nan)
    kernel.add_drawn(0, resamples, np.asarray(values, np.float64), np.uint64(seed), out)
    return out


# Randomisation tests


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 13])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_all_signs_equal_the_reference(n: int, alternative: str) -> None:
    for d in (made_differences(n), -made_differences(n, 1)):
        outcome = paired_test(d, alternative=alternative)
        assert outcome.p_value == ref.exact_p(d.tolist(), alternative)
        assert outcome.is_exact


@pytest.mark.parametrize("n", [14, 63, 64, 65, 127, 130])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sampled_signs_equal_the_reference(n: int, alternative: str) -> None:
    d = made_differences(n, mean=0.1)
    outcome = paired_test(d, alternative=alternative, resamples=150, seed=5)
    assert outcome.p_value == ref.sampled_p(d.tolist(), alternative, 5, 150)
    assert not outcome.is_exact


@pytest.mark.parametrize("test", FLIPS)
def test_a_sample_is_near_the_exact_p(test: str) -> None:
    for seed in range(5):
        d = made_differences(12, seed)
        exact = paired_test(d, test=test)
        sampled = paired_test(d, test=test, resamples=4095, seed=seed)
        assert exact.is_exact
        assert not sampled.is_exact
        allowed = 4 * sqrt(exact.p_value * (1 - exact.p_value) / 4095) + 1 / 4096
        assert abs(sampled.p_value - exact.p_value) <= allowed


def test_defaults_of_the_two_randomisation_tests() -> None:
    d = made_differences(11)
    assert paired_test(d) == paired_test(d, test="permutation", alternative="two-sided")
    assert paired_test(d, test="permutation") == paired_test(d, alternative="better")


@pytest.mark.parametrize("n", [9, 90])
def test_zeros_change_no_p_value(n: int) -> None:
    d = made_differences(n)
    expected, outcome = paired_test(d), paired_test(np.concatenate([np.zeros(100), d]))
    assert outcome.p_value == expected.p_value
    assert outcome.is_exact == expected.is_exact == (n == 9)


@pytest.mark.parametrize(("m", "resamples"), [(13, 2**13), (7, 128)])
def test_all_signs_where_there_are_no_more_than_resamples(m: int, resamples: int) -> None:
    assert paired_test(np.ones(m), resamples=resamples) == (2 / 2**m, 1.0, 1.0, True)
    assert not paired_test(np.ones(m), resamples=resamples - 1).is_exact


def test_ties_count_in_spite_of_rounding() -> None:
    """0.2 and 0.6 - 0.4 differ by rounding: T* ties with T for all signs of those two."""
    noisy = [0.6 - 0.4, 0.2, 0.8 - 1.0, 0.4 - 0.2, 0.2, -(1.0 - 0.8), 0.2]
    assert len({abs(d) for d in noisy}) > 1
    for alternative in ALTERNATIVES:
        expected = ref.exact_p([round(d * 5) for d in noisy], alternative)
        assert paired_test(noisy, alternative=alternative).p_value == expected


@pytest.mark.parametrize("test", RESAMPLED)
def test_rounding_of_many_differences_of_precision(test: str) -> None:
    rng = np.random.default_rng(3)
    whole = rng.integers(-3, 4, 999).astype(float)
    hits = rng.integers(0, 3, 999) / 5
    noisy = (hits + whole / 5) - hits
    assert (noisy != whole / 5).any()
    for alternative in ALTERNATIVES:
        expected = paired_test(whole, test=test, alternative=alternative, seed=1)
        got = paired_test(noisy, test=test, alternative=alternative, seed=1)
        assert got.p_value == approx(expected.p_value, abs=2e-3)  # noisy zeros shift the bits
        assert 5 * np.array([got.low, got.high]) == approx(
            np.array([expected.low, expected.high]), abs=0.03
        )


def test_weights_act_on_the_flipped_differences() -> None:
    d, w = made_differences(10), np.linspace(0.1, 3, 10)
    assert paired_test(d, weights=w).p_value == paired_test(d * w).p_value
    d, w = made_differences(50), np.linspace(0.1, 3, 50)
    assert paired_test(d, weights=w).p_value == paired_test(d * w).p_value


# Edges of all tests


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 20])
def test_no_difference_at_all(test: str, alternative: str, n: int) -> None:
    outcome = paired_test(np.zeros(n), test=test, alternative=alternative)
    assert outcome == (1.0, 0.0, 0.0, test != "bootstrap")


@pytest.mark.parametrize("test", RESAMPLED)
def test_one_query(test: str) -> None:
    outcome = paired_test([-0.3], test=test, alternative="two-sided")
    assert outcome.p_value == (1 / 10_001 if test == "bootstrap" else 1.0)
    assert (outcome.low, outcome.high) == (-0.3, -0.3)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("value", [0.1, -0.7, 1e-300, -1e300])
def test_equal_differences_have_an_interval_of_one_value(test: str, value: float) -> None:
    outcome = paired_test(np.full(23, value), test=test, alternative="two-sided")
    assert (outcome.low, outcome.high) == approx((value, value), rel=1e-15)
    assert outcome.p_value <= 2 / 10_001


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("scale", [2.0**-1060, 1e-300, 1e-3, 1000.0, 1e300])
def test_scale(test: str, scale: float) -> None:
    d = made_differences(40, mean=0.2)
    if scale == 2.0**-1060:
        d = np.round(d * 128)  # few bits, so that the smallest numbers there are can hold them
    expected, got = paired_test(d, test=test), paired_test(d * scale, test=test)
    assert got.p_value == approx(expected.p_value, rel=1e-12)
    assert (got.low, got.high) == approx((expected.low * scale, expected.high * scale), rel=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_scale_of_weights(test: str) -> None:
    d, w = made_differences(40), np.linspace(1, 2, 40)
    expected = paired_test(d, weights=w, test=test)
    for scale in (2.0**-1000, 4.0, 2.0**1000):
        assert paired_test(d, weights=w * scale, test=test) == expected
    assert paired_test(d, weights=np.full(40, 7.0), test=test) == paired_test(d, test=test)


@pytest.mark.parametrize("test", TESTS)
def test_huge_and_tiny_differences_together(test: str) -> None:
    """The tiny ones are 0 beside the others, and do not become NaN."""
    d = np.concatenate([np.full(20, 1e300), np.full(20, 1e-300), np.full(20, -1e-300)])
    outcome = paired_test(d, test=test)
    assert outcome.p_value < 0.01
    assert 0.0 < outcome.low < 1e300 / 3 < outcome.high < 1e300


@pytest.mark.parametrize("test", TESTS)
def test_huge_and_tiny_weights_together(test: str) -> None:
    d, w = np.array([1e-200, 1.0, -2e-200]), np.array([1.0, 1e-200, 1.0])
    outcome = paired_test(d, weights=w, test=test, alternative="two-sided")
    assert outcome.p_value > 0.9  # w d are 1, 1 and -2
    assert outcome.low <= 0.0 <= outcome.high
    assert abs(effect_size(d, weights=w)) < 1e-10
    assert paired_test(d + 1.0, weights=w, test=test).p_value < 1.0
    # Mean 1, and the one that differs has next to no weight.
    assert effect_size([1.0, 1.0 - 1e-11], weights=[1.0, 1e-300]) > 1e150


def test_an_interval_may_end_at_infinity() -> None:
    outcome = paired_test([1e308, -0.5e308], test="t", confidence=0.999)
    assert (outcome.low, outcome.high) == (-inf, inf)
    assert 0.0 < outcome.p_value < 1.0


@pytest.mark.parametrize("test", TESTS)
def test_a_query_of_weight_0_does_not_count(test: str) -> None:
    d, w = made_differences(30), np.linspace(0, 2, 30)
    assert paired_test(d, weights=w, test=test) == paired_test(d[1:], weights=w[1:], test=test)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("n", [13, 130])
def test_order_of_queries(test: str, is_weighted: bool, n: int) -> None:
    rng = np.random.default_rng(1)
    d = np.round(rng.normal(0.1, 1.0, n), 1)  # with ties, zeros and -0.0
    w = rng.integers(1, 4, n) * 0.1 if is_weighted else np.ones(n)
    expected = paired_test(d, weights=w, test=test)
    for _ in range(3):
        order = rng.permutation(n)
        assert paired_test(d[order], weights=w[order], test=test) == expected


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n", [12, 100])
def test_swapped_systems(test: str, n: int) -> None:
    d = made_differences(n)
    for alternative, swapped in ALTERNATIVES.items():
        one = paired_test(d, test=test, alternative=alternative)
        other = paired_test(-d, test=test, alternative=swapped)
        assert one == (other.p_value, -other.high, -other.low, other.is_exact)


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("resamples", [100, 1023, 1024, 1025, 10_000])
def test_threads(test: str, is_weighted: bool, resamples: int) -> None:
    d = made_differences(3001, mean=0.01)
    weights = np.linspace(1, 3, 3001) if is_weighted else None
    expected = paired_test(d, weights=weights, test=test, resamples=resamples)
    for threads in (2, 3, 5):
        got = paired_test(d, weights=weights, test=test, resamples=resamples, threads=threads)
        assert got == expected


@pytest.mark.parametrize("test", RESAMPLED)
def test_seeds(test: str) -> None:
    d = made_differences(200, mean=0.05)
    seeds = [0, 1, 2, 2**64 - 1, 10**30]
    outcomes = [paired_test(d, test=test, seed=seed) for seed in seeds]
    assert len({outcome.p_value for outcome in outcomes}) == len(seeds)
    assert len({outcome.low for outcome in outcomes}) == len(seeds)
    assert paired_test(d, test=test, seed=10**30) == outcomes[-1]


# t-test and bootstrap


def test_t_by_hand() -> None:
    """Of two queries: t has one degree of freedom, the Cauchy distribution."""
    outcome = paired_test([1.0, 3.0], test="t", confidence=0.5)
    mean, error = 2.0, sqrt(2.0) / sqrt(2.0)
    p_value = 1 - 2 * np.arctan(mean / error) / np.pi
    assert outcome == (approx(p_value), approx(mean - error), approx(mean + error), True)
    better = paired_test([1.0, 3.0], test="t", alternative="better")
    worse = paired_test([1.0, 3.0], test="t", alternative="worse")
    assert (better.p_value, worse.p_value) == approx((p_value / 2, 1 - p_value / 2))


@pytest.mark.parametrize(
    ("value", "p_values"), [(0.2, (0, 0, 1)), (-0.2, (0, 1, 0)), (0.0, (1, 1, 1))]
)
def test_t_without_variance(value: float, p_values: tuple[int, int, int]) -> None:
    for alternative, p_value in zip(ALTERNATIVES, p_values, strict=True):
        outcome = paired_test([value] * 6, test="t", alternative=alternative)
        assert outcome == (p_value, approx(value), approx(value), True)


def test_t_with_weights() -> None:
    d, w = made_differences(20), np.linspace(0.5, 2, 20)
    expected = paired_test(d * w / w.mean(), test="t")
    assert paired_test(d, weights=w, test="t") == approx(expected)


def test_t_needs_two_queries() -> None:
    with pytest.raises(ValueError, match=r"^1 query counts: a t-test needs at least two"):
        paired_test([0.1], test="t")
    with pytest.raises(ValueError, match=r"at least two with a weight above 0$"):
        paired_test([0.1, 0.2], weights=[0, 1], test="t")


@pytest.mark.parametrize("n", [2, 9, 30])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_bootstrap_equals_the_reference(n: int, is_weighted: bool) -> None:
    d = made_differences(n)
    weights = [0.5 + q % 3 for q in range(n)] if is_weighted else [1.0] * n
    observed = float(np.average(d, weights=weights))
    assert observed >= 0
    means = ref.drawn_means(d.tolist(), weights, 4, 120)
    interval = (ref.quantile(means, 0.05), ref.quantile(means, 0.95))
    for alternative in ALTERNATIVES:
        outcome = paired_test(
            d,
            weights=weights,
            test="bootstrap",
            alternative=alternative,
            resamples=120,
            confidence=0.9,
            seed=4,
        )
        assert outcome.p_value == ref.bootstrap_p(means, observed, alternative)
        assert (outcome.low, outcome.high) == approx(interval, rel=1e-12)


@pytest.mark.parametrize("test", FLIPS)
def test_interval_of_a_randomisation_test_is_that_of_the_bootstrap(test: str) -> None:
    for n in (8, 50):
        d = made_differences(n)
        assert paired_test(d, test=test)[1:3] == paired_test(d, test="bootstrap")[1:3]


def test_tests_agree_on_normal_differences() -> None:
    for seed in range(6):
        d = made_differences(300, seed, mean=0.08)
        p_value = paired_test(d, test="t").p_value
        allowed = 4 * sqrt(p_value * (1 - p_value) / 20_000) + 0.01
        for test in RESAMPLED:
            got = paired_test(d, test=test, alternative="two-sided", resamples=20_000)
            assert abs(got.p_value - p_value) < allowed


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_wider_interval_for_more_confidence(test: str, is_weighted: bool) -> None:
    d = made_differences(60)
    weights = np.linspace(1, 2, 60) if is_weighted else None
    mean = np.average(d, weights=weights)
    low, high = mean, mean
    for confidence in (0.5, 0.8, 0.95, 0.99):
        outcome = paired_test(d, weights=weights, test=test, confidence=confidence)
        assert outcome.low < low <= high < outcome.high
        low, high = outcome.low, outcome.high


# What chance does


@pytest.mark.parametrize("test", TESTS)
def test_p_values_without_a_difference_are_uniform(test: str) -> None:
    rng = np.random.default_rng(7)
    p_values = []
    for seed in range(200):
        d = rng.normal(0.0, 1.0, 40)
        p_values.append(paired_test(d, test=test, resamples=999, seed=seed).p_value)
    shares = np.arange(1, 201) / 200
    gap = np.abs(np.sort(p_values) - shares + 0.0025).max()
    assert gap < 1.95 / sqrt(200)  # exceeded in 1 of 1000 samples


@pytest.mark.parametrize("test", ["t", "bootstrap"])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_intervals_cover_the_mean(test: str, is_weighted: bool) -> None:
    rng = np.random.default_rng(8)
    hits = 0
    for seed in range(300):
        weights = rng.uniform(0.5, 1.5, 60) if is_weighted else None
        d = rng.exponential(1.0, 60) - 0.7
        outcome = paired_test(d, weights=weights, test=test, resamples=500, seed=seed)
        hits += outcome.low <= 0.3 <= outcome.high
    assert 0.95 - 0.06 <= hits / 300 <= 0.95 + 0.045


# The random bits


def test_signed_sums_equal_the_reference() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 7, 8, 9, 63, 64, 65, 200):
        magnitudes = rng.uniform(0, 1, m)
        expected = ref.signed_sums(magnitudes.tolist(), 9, 130)
        assert signed_sums(magnitudes, 130, 9) == approx(np.array(expected), abs=1e-12)


def test_drawn_sums_equal_the_reference() -> None:
    for n in (1, 2, 3, 4, 5, 8, 9, 100, 101):
        values = np.sqrt(np.arange(n))
        got = drawn_sums(values, 50, 9)
        for resample in range(50):
            drawn = ref.drawn_queries(n, 9, resample)
            assert got[resample] == approx(values[drawn].sum(), abs=1e-12)


def test_chunks_are_the_same_in_any_calls() -> None:
    magnitudes = np.random.default_rng(0).uniform(0, 1, 77)
    expected = signed_sums(magnitudes, 3000)
    out = np.full(3000, nan)
    for chunk in (2, 0, 1):
        kernel.add_signed(chunk, chunk + 1, magnitudes, np.uint64(0), out)
    assert np.array_equal(out, expected)
    assert np.array_equal(signed_sums(magnitudes, 2048), expected[:2048])


def sign_matrix(queries: int, resamples: int, seed: int = 0) -> Floats:
    """The sign of each query (column) in each resample (row), read off sums of one query each."""
    return np.array([signed_sums(row, resamples, seed) for row in np.eye(queries)]).T


def test_signs_are_fair_and_independent() -> None:
    resamples, queries = 4000, 130
    signs = sign_matrix(queries, resamples)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    error = 1 / sqrt(resamples)
    assert np.abs(signs.mean(axis=0)).max() < 4.5 * error  # each query
    assert np.abs(signs.mean(axis=1)).max() < 4.5 / sqrt(queries)  # each resample
    correlation = signs.T @ signs / resamples - np.eye(queries)
    assert np.abs(correlation).max() < 5.5 * error  # of 8385 pairs of queries
    for lag in (1, 2, 64, 1024):
        shared = (signs[lag:] * signs[:-lag]).mean(axis=0)
        assert np.abs(shared).max() < 4.5 / sqrt(resamples - lag)  # pairs of resamples


def test_seeds_have_signs_of_their_own() -> None:
    one, other, far = (sign_matrix(64, 500, seed) for seed in (0, 1, 2**63))
    for a, b in ((one, other), (one, far), (other, far)):
        assert abs((a * b).mean()) < 4.5 / sqrt(64 * 500)


def test_draws_are_fair_and_unlike_the_signs() -> None:
    """Counts of each query over all samples: Pearson's statistic is near its mean, n - 1."""
    n, resamples = 101, 2000
    counts = np.array([drawn_sums(row, resamples) for row in np.eye(n)])
    assert (counts.sum(axis=0) == n).all()
    pearson = ((counts.sum(axis=1) - resamples) ** 2 / resamples).sum()
    assert abs(pearson - (n - 1)) < 4.5 * sqrt(2 * (n - 1))
    assert counts.var() == approx(1 - 1 / n, rel=0.02)  # of a binomial with n draws
    signs = sign_matrix(n, resamples).T
    assert np.abs(np.corrcoef(counts, signs)[:n, n:]).max() < 5.5 / sqrt(resamples)


# Effect sizes


@pytest.mark.parametrize("is_weighted", [False, True])
def test_effect_size_equals_the_reference(is_weighted: bool) -> None:
    for n in (2, 3, 50):
        d = made_differences(n)
        weights = np.arange(n) % 3 + (n == 2) if is_weighted else np.ones(n)
        expected = ref.effect_size(d.tolist(), weights.tolist())
        given = weights if is_weighted else None
        assert effect_size(d, given) == approx(expected, rel=1e-12)
        assert effect_size(-d, given) == -effect_size(d, given)
        assert effect_size(d * 1e300, given) == approx(expected, rel=1e-9)
        assert effect_size(d * 1e-300, given) == approx(expected, rel=1e-9)


def test_effect_size_by_hand() -> None:
    assert effect_size([1.0, 3.0]) == approx(2 / sqrt(2))
    assert effect_size([1.0, -1.0]) == 0.0
    # Mean 2/3, n / (n - 1) = 2, squares (2 (1 - 2/3)^2 + (0 - 2/3)^2) / 3.
    assert effect_size([1.0, 0.0], weights=[2, 1]) == approx((2 / 3) / sqrt(2 * (2 / 9)))


def test_effect_size_without_variance() -> None:
    assert effect_size([0.0, 0.0]) == 0.0
    assert effect_size([0.0]) == 0.0
    assert effect_size([0.1, 0.1, 0.1]) == inf
    assert effect_size([-0.2, 0.4 - 0.6, -0.2], weights=[1, 2, 3]) == -inf
    assert effect_size([0.1, 5.0], weights=[1, 0]) == inf


# Mistakes


@pytest.mark.parametrize(
    ("differences", "message"),
    [
        ([], r"differences must be one number per query, got shape \(0,\)"),
        ([[1.0]], r"differences must be one number per query, got shape \(1, 1\)"),
        (1.0, r"differences must be one number per query, got shape \(\)"),
        ([0.1, nan, inf], "difference of query 1 is nan: differences are finite numbers"),
        ([0.1, 0.2, -inf], "difference of query 2 is -inf: differences are finite numbers"),
    ],
)
def test_mistakes_in_differences(differences: Any, message: str) -> None:
    for function in (paired_test, effect_size):
        with pytest.raises(ValueError, match=f"^{message}$"):
            function(differences)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"weights have shape \(2,\), but there are 3 queries"),
        ([1, -1, 2], "weight of query 1 is -1.0: weights are finite numbers from 0 up"),
        ([1, 1, nan], "weight of query 2 is nan: weights are finite numbers from 0 up"),
        ([0, 0, 0], "all weights are 0: at least one query must count"),
    ],
)
def test_mistakes_in_weights(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        paired_test([0.1, 0.2, 0.3], weights=weights)
    with pytest.raises(ValueError, match=f"^{message}$"):
        effect_size([0.1, 0.2, 0.3], weights)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"test": "wilcoxon"},
            "test is 'wilcoxon': choose 'fisher'.* 'permutation'.* 't'.* 'bootstrap'",
        ),
        ({"test": ["t"]}, r"test is \['t'\]: choose 'fisher'.*"),
        (
            {"alternative": "greater"},
            "alternative is 'greater': choose 'two-sided'.* 'better'.* 'worse'",
        ),
        ({"resamples": 99}, "resamples is 99: it must be an integer from 100 up"),
        ({"resamples": 1e4}, "resamples is 10000.0: it must be an integer from 100 up"),
        ({"confidence": 1.0}, "confidence is 1.0: it must be a number between 0 and 1, .*"),
        ({"confidence": 95}, "confidence is 95: it must be a number between 0 and 1, .*"),
        ({"confidence": nan}, "confidence is nan: it must be a number between 0 and 1, .*"),
        ({"confidence": "0.9"}, "confidence is '0.9': it must be a number between 0 and 1, .*"),
        ({"seed": -1}, "seed is -1: it must be an integer from 0 up"),
        ({"threads": 0}, "threads is 0: it must be an integer from 1 up"),
    ],
)
def test_mistakes_in_parameters(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        paired_test([0.1, 0.2], **wrong)
