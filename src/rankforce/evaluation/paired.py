"""Whether mean differences of rankers over the same queries are more than chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.checks import check_choice, check_share, check_weights, check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads, run_blocks
from rankforce.common.types import Floats
from rankforce.kernels import resampling as kernel

TESTS = {
    "fisher": "randomisation test, two-sided: signs of the differences flipped at random",
    "permutation": "randomisation test, one-sided: is the system better?",
    "t": "paired t-test, two-sided: the mean difference is nearly normal",
    "bootstrap": "bootstrap test, two-sided: queries drawn with replacement",
}
# What the other one is called when system and baseline change places.
ALTERNATIVES = {"two-sided": "two-sided", "better": "worse", "worse": "better"}
METHODS = {
    "none": "p-values as they are",
    "holm": "a false find in all the tests is rarer than the level (Holm 1979)",
    "bh": "the share of false finds is below the level (Benjamini and Hochberg 1995)",
}
# Sums this close, as a share of the sum of all magnitudes, differ by rounding alone: differences
# of P@5 are multiples of 0.2 with noise, and their ties must count as ties.
TIE = 1e-12
_SEEDS = 0xFFFFFFFFFFFFFFFF


class Outcome(NamedTuple):
    """What a test says about the mean difference."""

    p_value: float
    low: float  # confidence interval of the mean difference
    high: float
    is_exact: bool  # p from all sign assignments (or a closed form), not from a sample of them


class _Differences(NamedTuple):
    """Differences in a form that depends neither on the order of queries nor on that of systems."""

    differences: Floats  # sorted, times 2^-exponent so that the largest is about 1, mean >= 0
    weights: Floats  # all above 0, the largest 1
    mean: float
    exponent: int
    is_swapped: bool  # differences are baseline minus system

    @property
    def products(self) -> Floats:
        return self.weights * self.differences


class PairedTest(NamedTuple):
    """How differences are tested."""

    name: str
    alternative: str
    correction: str
    resamples: int
    confidence: float
    seed: int

    @classmethod
    def make(
        cls,
        test: str,
        alternative: str | None,
        correction: str | None,
        resamples: int,
        confidence: float,
        seed: int,
    ) -> PairedTest:
        """Check the parameters and fill in the test's own side."""
        name = check_choice("test", test, TESTS)
        side = "better" if name == "permutation" else "two-sided"
        return cls(
            name,
            side if alternative is None else check_choice("alternative", alternative, ALTERNATIVES),
            check_choice("correction", "none" if correction is None else correction, METHODS),
            check_whole("resamples", resamples, least=100),
            check_share("confidence", confidence),
            check_whole("seed", seed, least=0),
        )

    def outcome(self, differences: ArrayLike, weights: ArrayLike | None, threads: int) -> Outcome:
        """What the test says about `differences`, as `paired_test` does."""
        sample = _make_sample(differences, weights)
        own = self
        if sample.is_swapped:
            own = self._replace(alternative=ALTERNATIVES[self.alternative])
        return _restore(_RUN[self.name](sample, own, check_threads(threads)), sample)

    @property
    def key(self) -> np.uint64:
        """The seed, as kernels take it."""
        return np.uint64(self.seed & _SEEDS)


def paired_test(
    differences: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    test: str = "fisher",
    alternative: str | None = None,
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int = 1,
) -> Outcome:
    """P-value and confidence interval of the mean of `differences`, system minus baseline.

    One difference per query, above 0 where the system is better; with `weights` the mean is
    sum(w d) / sum(w). `test` (see `TESTS`): "fisher" and "permutation" flip the signs of w d
    (Fisher 1935; Adalia et al. 2025, 6.3), all 2^m ways for m differences other than 0 if these
    are at most `resamples`; "t" takes w d / mean(w) as normal; "bootstrap" draws queries (Efron
    1979). `alternative`: "two-sided", "better" or "worse"; by default "better" for "permutation".
    The interval is two-sided: by t for "t", bootstrap percentiles for the others.

    >>> paired_test([0.2, 0.1, 0.0, 0.3]).p_value  # all three better: 2 of 2^3 as extreme
    0.25
    """
    rules = PairedTest.make(test, alternative, None, resamples, confidence, seed)
    return rules.outcome(differences, weights, threads)


def effect_size(differences: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Mean over standard deviation of the differences (Cohen 1988, d_z).

    The variance is n / (n - 1) sum(w (d - mean)^2) / sum(w). 0 when all differences are 0,
    infinite when they are all the same otherwise.

    >>> effect_size([1.0, 2.0, 3.0])
    2.0
    """
    sample = _make_sample(differences, weights)
    d, w, mean = sample.differences, sample.weights, sample.mean
    if mean == 0.0:
        return 0.0
    size = math.inf
    if not _is_constant(d):
        spread = math.hypot(*np.sqrt(w) * (d - mean))  # tiny weights do not vanish in it
        size = mean / (spread / math.sqrt(math.fsum(w) * (1.0 - 1.0 / len(d))))
    return -size if sample.is_swapped else size


def _flip_signs(sample: _Differences, plan: PairedTest, threads: int) -> Outcome:
    """The randomisation test: T* = sum of s |w d| with signs s at random."""
    products = sample.products
    magnitudes = np.sort(np.abs(products[products != 0.0]))
    is_exact = len(magnitudes) < plan.resamples.bit_length()  # 2^m <= resamples
    sums = _all_signed_sums(magnitudes) if is_exact else _signed_sums(magnitudes, plan, threads)
    slack = TIE * math.fsum(magnitudes)
    found = _count_extreme(sums, math.fsum(products), plan.alternative, slack)
    # The signs that were observed are one of the assignments: all have them, a sample must add it.
    p_value = found / len(sums) if is_exact else (1 + found) / (1 + len(sums))
    return Outcome(p_value, *_percentiles(_drawn_means(sample, plan, threads), plan), is_exact)


def _bootstrap(sample: _Differences, plan: PairedTest, threads: int) -> Outcome:
    """The bootstrap test by the shift method: T* - T is how means vary about 0 by chance."""
    means = _drawn_means(sample, plan, threads)
    slack = TIE * math.fsum(np.abs(sample.products)) / math.fsum(sample.weights)
    found = _count_extreme(means - sample.mean, sample.mean, plan.alternative, slack)
    p_value = (1 + found) / (1 + len(means))
    return Outcome(p_value, *_percentiles(means, plan), is_exact=False)


def _t_test(sample: _Differences, plan: PairedTest, threads: int) -> Outcome:
    """Student's t on w d / mean(w)."""
    from scipy.special import stdtr, stdtrit  # 0.4 s, for this test alone

    n = len(sample.differences)
    if n < 2:
        raise RankforceError(f"{n} query counts: a t-test needs at least two with a weight above 0")
    values = sample.products * (n / math.fsum(sample.weights))
    mean = sample.mean
    if _is_constant(values):
        is_extreme = mean == 0.0 or plan.alternative == "worse"  # the mean is never below 0 here
        return Outcome(float(is_extreme), mean, mean, is_exact=True)
    error = math.hypot(*(values - mean)) / math.sqrt(n * (n - 1))
    t = mean / error
    p_values = {
        "two-sided": 2.0 * stdtr(n - 1, -t),
        "better": stdtr(n - 1, -t),
        "worse": stdtr(n - 1, t),
    }
    reach = error * float(stdtrit(n - 1, (1.0 + plan.confidence) / 2.0))
    return Outcome(float(p_values[plan.alternative]), mean - reach, mean + reach, is_exact=True)


_RUN: dict[str, Callable[[_Differences, PairedTest, int], Outcome]] = {
    "fisher": _flip_signs,
    "permutation": _flip_signs,
    "t": _t_test,
    "bootstrap": _bootstrap,
}


def _all_signed_sums(magnitudes: Floats) -> Floats:
    """All 2^m sums of m magnitudes with signs."""
    sums = np.zeros(1)
    for magnitude in magnitudes:
        sums = np.concatenate([sums - magnitude, sums + magnitude])
    return sums


def _signed_sums(magnitudes: Floats, plan: PairedTest, threads: int) -> Floats:
    """The sum of the magnitudes with signs at random, for each resample."""
    sums = np.empty(plan.resamples)
    chunks = -(-plan.resamples // kernel.CHUNK)
    run_blocks(
        lambda first, last: kernel.add_signed(first, last, magnitudes, plan.key, sums),
        np.full(chunks, kernel.CHUNK * (len(magnitudes) / 8 + 8)),
        threads,
    )
    return sums


def _drawn_means(sample: _Differences, plan: PairedTest, threads: int) -> Floats:
    """The mean of as many queries as there are, drawn with replacement, for each resample."""
    means = _drawn_sums(sample.products, plan, threads)
    if (sample.weights == 1.0).all():
        means /= len(sample.weights)
    else:
        # The same draws again: the seed and the number of queries are the same.
        means /= _drawn_sums(sample.weights, plan, threads)
    # Rounding must not carry a mean of equal differences away from them.
    return np.asarray(np.clip(means, sample.differences[0], sample.differences[-1]))


def _drawn_sums(values: Floats, plan: PairedTest, threads: int) -> Floats:
    sums = np.empty(plan.resamples)
    run_blocks(
        lambda first, last: kernel.add_drawn(first, last, values, plan.key, sums),
        np.full(plan.resamples, float(len(values))),
        threads,
    )
    return sums


def _count_extreme(null: Floats, observed: float, alternative: str, slack: float) -> int:
    """How many of the values under the null hypothesis are at least as extreme as `observed`."""
    if alternative == "better":
        return int(np.count_nonzero(null >= observed - slack))
    if alternative == "worse":
        return int(np.count_nonzero(null <= observed + slack))
    return int(np.count_nonzero(np.abs(null) >= abs(observed) - slack))


def _percentiles(means: Floats, plan: PairedTest) -> tuple[float, float]:
    outside = (1.0 - plan.confidence) / 2.0
    low, high = np.quantile(means, [outside, 1.0 - outside])
    return float(low), float(high)


def _is_constant(values: Floats) -> bool:
    return bool(np.ptp(values) <= TIE * np.abs(values).max())


def _make_sample(differences: ArrayLike, weights: ArrayLike | None) -> _Differences:
    """The queries that count, in an order and a scale of their own."""
    d = _check_differences(differences)
    w = np.ones(len(d)) if weights is None else check_weights(weights, range(len(d)))
    d, w = d[w > 0], w[w > 0]
    # By a power of two, so that nothing is rounded: sums of 1e300 stay finite, of 1e-300 above 0.
    exponent = math.frexp(np.abs(d).max())[1]
    d, w = np.ldexp(d, -exponent), w / w.max()
    total = math.fsum(w * d)  # the same in any order, unlike other sums
    d = -d if total < 0.0 else d
    order = np.lexsort((w, d))
    mean = abs(total) / math.fsum(w)
    return _Differences(d[order], w[order], mean, exponent, is_swapped=total < 0.0)


def _restore(outcome: Outcome, sample: _Differences) -> Outcome:
    """The outcome in the scale of the differences that were given."""
    ends = np.array([outcome.low, outcome.high])
    if sample.is_swapped:
        ends = 0.0 - ends[::-1]  # and not -0.0
    with np.errstate(over="ignore"):  # a wide interval about 1e308 ends at infinity
        low, high = np.ldexp(ends, sample.exponent)
    return outcome._replace(low=float(low), high=float(high))


def _check_differences(differences: ArrayLike) -> Floats:
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or not len(d):
        raise RankforceError(f"differences must be one number per query, got shape {d.shape}")
    bad = np.flatnonzero(~np.isfinite(d))
    if bad.size:
        message = "differences are finite numbers"
        raise RankforceError(f"difference of query {bad[0]} is {d[bad[0]]}: {message}")
    return d


def adjust(p_values: ArrayLike, method: str) -> Floats:
    """P-values to compare with the level of the whole family of m tests, in the order given.

    With p sorted, smallest first: "holm" is max over j <= i of (m - j + 1) p_j (Holm 1979), "bh"
    is min over j >= i of m p_j / j (Benjamini and Hochberg 1995); neither exceeds 1.

    >>> adjust([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> adjust([0.01, 0.04, 0.03], "bh").round(6).tolist()
    [0.03, 0.04, 0.04]
    """
    name = check_choice("method", method, METHODS)
    p = _check_p_values(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(_adjust_sorted(p[order], name), 1.0)
    return adjusted


def _adjust_sorted(p: Floats, method: str) -> Floats:
    rank = np.arange(1, len(p) + 1)
    if method == "holm":
        return np.maximum.accumulate((len(p) - rank + 1) * p)
    if method == "bh":
        # The factor first: it is 1 or more, so that no adjusted p-value is below its own.
        return np.minimum.accumulate((p * (len(p) / rank))[::-1])[::-1]
    return p


def _check_p_values(p_values: ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise RankforceError(f"p-values must be one number per test, got shape {p.shape}")
    bad = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if bad.size:
        raise RankforceError(f"p-value {bad[0]} is {p[bad[0]]}: p-values are numbers from 0 to 1")
    return p
