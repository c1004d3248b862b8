"""Any differences and p-values: what tests and corrections keep."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce.evaluation.paired import (
    ALTERNATIVES,
    METHODS,
    TESTS,
    adjust,
    effect_size,
    paired_test,
)
from tests.reference import statistics as ref

USUAL = settings(max_examples=60, deadline=None, derandomize=True)

# Differences of P@5, of which many are 0 or tie, or any numbers of a usual size.
FIFTHS = st.integers(-5, 5).map(lambda hits: hits / 5)
ANY = st.floats(-1.0, 1.0).map(lambda d: round(d, 6))
ROUGH = st.floats(-1e300, 1e300)
WEIGHT = st.integers(1, 5).map(float)


def lists(values: Any, least: int = 2, most: int = 40) -> Any:
    return st.lists(values, min_size=least, max_size=most)


DIFFERENCES = st.one_of(lists(FIFTHS), lists(ANY))


@st.composite
def weighted(draw: Any) -> tuple[list[float], list[float]]:
    d = draw(DIFFERENCES)
    return d, draw(lists(WEIGHT, len(d), len(d)))


@USUAL
@given(lists(FIFTHS, 1, 10), st.sampled_from(list(ALTERNATIVES)))
def test_all_signs_equal_the_reference(d: list[float], alternative: str) -> None:
    outcome = paired_test(d, alternative=alternative, resamples=1024)
    assert outcome.p_value == ref.exact_p(d, alternative)
    assert outcome.is_exact


@USUAL
@given(st.lists(ROUGH, min_size=2, max_size=40), st.sampled_from(list(TESTS)))
def test_any_size_of_numbers(d: list[float], test: str) -> None:
    outcome = paired_test(d, test=test, resamples=100)
    assert 0.0 <= outcome.p_value <= 1.0
    assert outcome.low <= outcome.high
    if test != "t":
        allowed = 1e-12 * max(map(abs, d))
        assert min(d) - allowed <= outcome.low <= outcome.high <= max(d) + allowed
    assert not np.isnan(effect_size(d))


@USUAL
@given(weighted(), st.sampled_from(list(TESTS)), st.randoms(use_true_random=False))
def test_order_of_queries(query: Any, test: str, random: Any) -> None:
    d, w = query
    order = random.sample(range(len(d)), len(d))
    shuffled = [d[q] for q in order], [w[q] for q in order]
    expected = paired_test(d, weights=w, test=test, resamples=200)
    assert paired_test(shuffled[0], weights=shuffled[1], test=test, resamples=200) == expected
    assert effect_size(*shuffled) == pytest.approx(effect_size(d, w), rel=1e-12)


@USUAL
@given(weighted(), st.sampled_from(list(TESTS)))
def test_swapped_systems(query: Any, test: str) -> None:
    d, w = query
    swapped = [-value for value in d]
    for alternative, other in ALTERNATIVES.items():
        one = paired_test(d, weights=w, test=test, alternative=alternative, resamples=200)
        two = paired_test(swapped, weights=w, test=test, alternative=other, resamples=200)
        if fsum(np.multiply(d, w)) != 0.0:  # of a mean of 0, neither is the better one
            assert one.p_value == two.p_value
            assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-12)
    assert effect_size(swapped, w) == -effect_size(d, w)


@USUAL
@given(weighted(), st.sampled_from(list(TESTS)))
def test_sides(query: Any, test: str) -> None:
    """Every value is on one side or on both: the sum of one-sided p-values is 1 or more."""
    d, w = query
    p = {
        side: paired_test(d, weights=w, test=test, alternative=side, resamples=200).p_value
        for side in ALTERNATIVES
    }
    allowed = 1e-12
    assert p["better"] + p["worse"] >= 1.0 - allowed
    assert p["two-sided"] >= min(p["better"], p["worse"]) - allowed
    assert all(0.0 <= value <= 1.0 for value in p.values())


@USUAL
@given(DIFFERENCES, st.sampled_from(list(TESTS)), st.integers(-1000, 1000))
def test_scale(d: list[float], test: str, exponent: int) -> None:
    expected = paired_test(d, test=test, resamples=200)
    scaled = paired_test(np.ldexp(d, exponent), test=test, resamples=200)
    assert scaled.p_value == expected.p_value
    low, high = np.ldexp([expected.low, expected.high], exponent)
    assert (scaled.low, scaled.high) == (low, high)


@USUAL
@given(DIFFERENCES, st.integers(1, 40))
def test_a_better_system_has_a_smaller_p(d: list[float], gain: int) -> None:
    """One-sided, with the same magnitudes: signs from - to + only."""
    improved = [abs(value) if q % gain == 0 else value for q, value in enumerate(d)]
    before = paired_test(d, alternative="better", resamples=2**12)
    after = paired_test(improved, alternative="better", resamples=2**12)
    if before.is_exact or sum(d) >= 0:  # else the signs of the sample are those of the swap
        assert after.p_value <= before.p_value


@USUAL
@given(st.lists(st.floats(0.0, 1.0), max_size=20))
def test_corrections_equal_the_reference(p: list[float]) -> None:
    np.testing.assert_allclose(adjust(p, "holm"), ref.holm(p), rtol=1e-12)
    np.testing.assert_allclose(adjust(p, "bh"), ref.benjamini_hochberg(p), rtol=1e-12)
    assert adjust(p, "none").tolist() == p


@USUAL
@given(lists(st.floats(0.0, 1.0), 1), st.sampled_from(list(METHODS)))
def test_corrections_keep_the_order(p: list[float], method: str) -> None:
    adjusted = adjust(p, method)
    assert (adjusted >= p).all()
    assert (adjusted <= 1.0).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert (adjust(p, "holm") >= adjust(p, "bh") * (1 - 1e-15)).all()
    assert adjust(p[::-1], method).tolist() == adjusted[::-1].tolist()
