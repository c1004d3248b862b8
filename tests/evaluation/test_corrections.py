"""Corrections of many p-values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankforce.evaluation.paired import METHODS, adjust
from tests.reference import statistics as ref

approx = pytest.approx
P_VALUES = [0.04, 0.001, 0.2, 0.012, 0.04, 0.9]


def test_holm() -> None:
    # Smallest first: 0.001, 0.012, 0.04, 0.04, 0.2, 0.9 times 6, 5, 4, 3, 2, 1.
    expected = [4 * 0.04, 6 * 0.001, 2 * 0.2, 5 * 0.012, 4 * 0.04, 0.9]
    assert adjust(P_VALUES, "holm") == approx(expected)


def test_benjamini_hochberg() -> None:
    # The two of 0.04 stand at ranks 3 and 4: the larger rank counts.
    expected = [6 * 0.04 / 4, 6 * 0.001, 6 * 0.2 / 5, 6 * 0.012 / 2, 6 * 0.04 / 4, 0.9]
    assert adjust(P_VALUES, "bh") == approx(expected)


def test_holm_carries_larger_values_up() -> None:
    assert adjust([0.02, 0.021, 0.022], "holm") == approx([3 * 0.02] * 3)


def test_bh_carries_smaller_values_down() -> None:
    assert adjust([0.02, 0.021, 0.022], "bh") == approx([0.022] * 3)


def test_none_is_a_copy() -> None:
    given = np.array(P_VALUES)
    found = adjust(given, "none")
    assert found.tolist() == P_VALUES
    found[0] = 0.5
    assert given[0] == P_VALUES[0]


@pytest.mark.parametrize("method", METHODS)
def test_input_is_left_alone(method: str) -> None:
    given = np.array(P_VALUES)
    adjust(given, method)
    assert given.tolist() == P_VALUES


@pytest.mark.parametrize("method", METHODS)
def test_one_test_needs_no_correction(method: str) -> None:
    assert adjust([0.03], method).tolist() == [0.03]
    assert adjust([], method).tolist() == []


@pytest.mark.parametrize("method", METHODS)
def test_ends(method: str) -> None:
    assert adjust([1.0, 0.0, 1.0], method).tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(("method", "naive"), [("holm", ref.holm), ("bh", ref.benjamini_hochberg)])
def test_definitions(method: str, naive: Any) -> None:
    rng = np.random.default_rng(0)
    for m in (1, 2, 3, 10, 41):
        p = np.round(rng.uniform(size=m) ** 3, 2)  # with ties
        assert adjust(p, method) == approx(np.array(naive(p.tolist())), rel=1e-12)


@pytest.mark.parametrize(
    ("p_values", "method", "message"),
    [
        ([0.1], "bonferroni", "method is 'bonferroni': choose 'none'.* 'holm'.* 'bh'"),
        ([[0.1]], "holm", r"p-values must be one number per test, got shape \(1, 1\)"),
        ([0.1, float("nan")], "holm", "p-value 1 is nan: p-values are numbers from 0 to 1"),
        ([0.1, 0.2, -0.5], "bh", "p-value 2 is -0.5: p-values are numbers from 0 to 1"),
        ([1.5], "none", "p-value 0 is 1.5: p-values are numbers from 0 to 1"),
    ],
)
def test_mistakes(p_values: Any, method: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        adjust(p_values, method)
