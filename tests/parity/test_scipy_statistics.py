"""The same numbers as scipy.stats, to the last digits or within the errors of both samples."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from rankforce.evaluation.paired import adjust, effect_size, paired_test

approx = pytest.approx
NAMES = {"two-sided": "two-sided", "better": "greater", "worse": "less"}
Floats = NDArray[np.float64]


def made_differences(n: int, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(0.15, 1.0, n)


def scipy_permutation(d: Floats, alternative: str, resamples: float = np.inf) -> float:
    test = stats.permutation_test(
        (d, np.zeros_like(d)),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        alternative=NAMES[alternative],
        batch=1000,
        rng=np.random.default_rng(0),
    )
    return float(test.pvalue)


@pytest.mark.parametrize("alternative", NAMES)
@pytest.mark.parametrize("n", [2, 5, 8, 11])
def test_all_signs(n: int, alternative: str) -> None:
    for seed in range(3):
        d = made_differences(n, seed)
        outcome = paired_test(d, alternative=alternative)
        assert outcome.is_exact
        assert outcome.p_value == approx(scipy_permutation(d, alternative), rel=1e-12)


@pytest.mark.parametrize("alternative", NAMES)
@pytest.mark.parametrize("n", [30, 200])
def test_sampled_signs(n: int, alternative: str) -> None:
    for seed in range(3):
        d = made_differences(n, seed)
        expected = scipy_permutation(d, alternative, 5000)
        got = paired_test(d, alternative=alternative, resamples=20_000).p_value
        # scipy doubles the smaller side, which doubles its error too.
        error = sqrt(expected * (1 - expected) * (2 / 5000 + 1 / 20_000))
        assert abs(got - expected) <= 4 * error + 1e-3


@pytest.mark.parametrize("alternative", NAMES)
@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_paired_t(n: int, alternative: str) -> None:
    for seed in range(5):
        d = made_differences(n, seed)
        baseline = np.random.default_rng(1).uniform(size=n)
        got = paired_test(d, test="t", alternative=alternative, confidence=0.9)
        for expected in (
            stats.ttest_rel(baseline + d, baseline, alternative=NAMES[alternative]),
            stats.ttest_1samp(d, 0.0, alternative=NAMES[alternative]),
        ):
            assert got.p_value == approx(expected.pvalue, rel=1e-8)
        interval = stats.ttest_1samp(d, 0.0).confidence_interval(0.9)
        assert (got.low, got.high) == approx((interval.low, interval.high), rel=1e-8)
        t = stats.ttest_1samp(d, 0.0).statistic
        assert effect_size(d) * sqrt(n) == approx(t, rel=1e-9)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("is_weighted", [False, True])
def test_bootstrap_interval(confidence: float, is_weighted: bool) -> None:
    def weighted_mean(x: Any, w: Any, axis: int = -1) -> Any:
        return (x * w).sum(axis=axis) / w.sum(axis=axis)

    for seed in range(3):
        d = made_differences(80, seed)
        w = np.linspace(1, 3, 80) if is_weighted else np.ones(80)
        expected = stats.bootstrap(
            (d, w),
            weighted_mean,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=10_000,
            confidence_level=confidence,
            rng=np.random.default_rng(seed),
        )
        got = paired_test(
            d, weights=w, test="bootstrap", resamples=10_000, confidence=confidence, seed=seed
        )
        # The error of a quantile q of a normal sample: sqrt(q (1 - q) / n) over the density there.
        q = (1 - confidence) / 2
        density = stats.norm.pdf(stats.norm.ppf(q)) / expected.standard_error
        allowed = 4 * sqrt(2 * q * (1 - q) / 10_000) / density
        assert got.low == approx(expected.confidence_interval.low, abs=allowed)
        assert got.high == approx(expected.confidence_interval.high, abs=allowed)


def test_benjamini_hochberg() -> None:
    rng = np.random.default_rng(0)
    for m in (1, 2, 7, 100):
        p = rng.uniform(size=m) ** 2
        assert adjust(p, "bh") == approx(stats.false_discovery_control(p), rel=1e-12)


@pytest.mark.parametrize("test", ["fisher", "t", "bootstrap"])
def test_p_values_are_uniform_by_kolmogorov_and_smirnov(test: str) -> None:
    rng = np.random.default_rng(11)
    p_values = [
        paired_test(rng.laplace(size=50), test=test, resamples=999, seed=seed).p_value
        for seed in range(200)
    ]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001
