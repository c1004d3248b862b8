"""Tests on paired differences and corrections of p-values, one number at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import floor, inf, sqrt

from .extended import MASK, splitmix64

ALTERNATIVES = ("two-sided", "better", "worse")
SIGNS, DRAWS = 0, 1


def word(seed: int, stream: int, resample: int, number: int) -> int:
    """The 64 random bits with a number, of a resample."""
    key = splitmix64(splitmix64(splitmix64(seed & MASK) ^ stream) ^ resample)
    return splitmix64(key ^ number)


def signed_sums(magnitudes: Sequence[float], seed: int, resamples: int) -> list[float]:
    """For each resample, the sum of magnitudes with a sign each: + where its bit is 1."""
    sums = []
    for resample in range(resamples):
        total = 0.0
        for q, magnitude in enumerate(magnitudes):
            bit = word(seed, SIGNS, resample, q // 64) >> (q % 64) & 1
            total += magnitude if bit else -magnitude
        sums.append(total)
    return sums


def drawn_queries(queries: int, seed: int, resample: int) -> list[int]:
    """As many queries as there are, drawn with replacement: two from each word."""
    drawn = []
    for draw in range(queries):
        bits = word(seed, DRAWS, resample, draw // 2)
        half = bits >> 32 if draw % 2 == 0 else bits & 0xFFFFFFFF
        drawn.append(half * queries >> 32)
    return drawn


def drawn_means(
    differences: Sequence[float], weights: Sequence[float], seed: int, resamples: int
) -> list[float]:
    """For each resample, the weighted mean of queries drawn from those given, sorted."""
    pairs = sorted(zip(differences, weights, strict=True))
    means = []
    for resample in range(resamples):
        drawn = [pairs[q] for q in drawn_queries(len(pairs), seed, resample)]
        means.append(sum(w * d for d, w in drawn) / sum(w for _, w in drawn))
    return means


def is_extreme(value: float, observed: float, alternative: str, slack: float) -> bool:
    """Whether a value under the null hypothesis is as extreme as the one observed."""
    if alternative == "better":
        return value >= observed - slack
    if alternative == "worse":
        return value <= observed + slack
    return abs(value) >= abs(observed) - slack


def all_signs(differences: Sequence[float]) -> Iterator[float]:
    """The sum of the differences for every assignment of signs to all, zeros too."""
    for signs in product((-1, 1), repeat=len(differences)):
        yield sum(sign * d for sign, d in zip(signs, differences, strict=True))


def exact_p(differences: Sequence[float], alternative: str) -> float:
    """Share of all sign assignments whose sum is as extreme as that of the differences."""
    slack = 1e-11 * sum(abs(d) for d in differences)
    found = [is_extreme(t, sum(differences), alternative, slack) for t in all_signs(differences)]
    return sum(found) / len(found)


def sampled_p(differences: Sequence[float], alternative: str, seed: int, resamples: int) -> float:
    """The same from signs at random, for differences with a mean from 0 up."""
    magnitudes = sorted(abs(d) for d in differences if d)
    slack = 1e-11 * sum(magnitudes)
    sums = signed_sums(magnitudes, seed, resamples)
    found = sum(is_extreme(t, sum(differences), alternative, slack) for t in sums)
    return (1 + found) / (1 + resamples)


def bootstrap_p(means: Sequence[float], observed: float, alternative: str) -> float:
    """The share of means that are as far from the observed one as that is from 0."""
    slack = 1e-11 * abs(observed)
    found = sum(is_extreme(mean - observed, observed, alternative, slack) for mean in means)
    return (1 + found) / (1 + len(means))


def quantile(values: Sequence[float], share: float) -> float:
    """The value at a share of the way through the sorted ones, between two of them if need be."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = min(floor(place), len(ordered) - 2)
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])


def effect_size(differences: Sequence[float], weights: Sequence[float]) -> float:
    """Weighted mean over weighted standard deviation, with n - 1 for n."""
    counted = [(d, w) for d, w in zip(differences, weights, strict=True) if w > 0]
    n, total = len(counted), sum(w for _, w in counted)
    mean = sum(w * d for d, w in counted) / total
    squares = sum(w * (d - mean) ** 2 for d, w in counted) / total
    if squares == 0.0:
        return 0.0 if mean == 0.0 else inf if mean > 0.0 else -inf
    return mean / sqrt(squares * n / (n - 1))


def holm(p_values: Sequence[float]) -> list[float]:
    """The smallest level at which Holm's steps down reach each test."""
    tests = range(len(p_values))
    adjusted = []
    for i in tests:
        steps = [j for j in tests if p_values[j] <= p_values[i]]
        # Test j is reached after those with smaller p; as many as are left share the level.
        left = [sum(p_values[k] >= p_values[j] for k in tests) for j in steps]
        adjusted.append(min(1.0, max(n * p_values[j] for n, j in zip(left, steps, strict=True))))
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """The smallest level at which Benjamini and Hochberg's steps up reject each test."""
    tests = range(len(p_values))
    adjusted = []
    for i in tests:
        steps = [j for j in tests if p_values[j] >= p_values[i]]
        rank = [sum(p_values[k] <= p_values[j] for k in tests) for j in steps]
        shares = [len(p_values) * p_values[j] / r for r, j in zip(rank, steps, strict=True)]
        adjusted.append(min(1.0, *shares))
    return adjusted
