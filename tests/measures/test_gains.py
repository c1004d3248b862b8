"""Gains: names, tables, functions, large and fractional labels."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref

approx = pytest.approx


def weight(gain: Any, labels: list[float]) -> float:
    """Of the pair of ranks 1 (lo, the second label) and 2 (hi, the first one)."""
    _, _, weights = rf.objective("lambdarank(dcg)", gain=gain).pairs([1.0, 2.0], labels)
    return float(weights[0]) / (1 - 1 / log2(3))


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["2^y-1", "2**y-1", "2 ^ y - 1", "exp2", "Exponential"], 2**3 - 2**1),
        (["y", "label", "linear", "identity", "LINEAR"], 3 - 1),
        (["binary", "b", "Binary"], 0.0),
    ],
)
def test_names_of_gains(names: list[str], expected: float) -> None:
    for name in names:
        if expected:
            assert weight(name, [3, 1]) == approx(expected)
        else:
            assert len(rf.objective("lambdarank(dcg)", gain=name).pairs([1, 2], [3, 1]).hi) == 0
        assert weight(name, [1, 0]) == approx(1.0)


@pytest.mark.parametrize("name", ["2^(4c)-1", "2^4c-1", "2 ^ (4c) - 1", "clicks", "Clicks"])
def test_gain_of_clicks(name: str) -> None:
    """Svore et al. 2011, eq. 9."""
    assert weight(name, [1.0, 0.5]) == approx(2**4 - 2**2)
    assert weight(name, [0.25, 0.0]) == approx(2**1 - 1)


@pytest.mark.parametrize(
    ("share", "message"),
    [(1.01, r"row 1: label 1.01 is no share of clicks"), (-0.1, r"row 1: label -0.1 is negative")],
)
def test_shares_of_clicks_lie_from_0_to_1(share: float, message: str) -> None:
    for objective in (
        rf.objective("lambdarank(cndcg)"),
        rf.objective("lambdarank-ndcg", gain="clicks"),
    ):
        with pytest.raises(ValueError, match=message):
            objective.gradients([1, 2, 3], [0.5, share, 0.0])


def test_cndcg_is_ndcg_with_the_gain_of_clicks() -> None:
    rng = np.random.default_rng(2)
    scores, labels = rng.normal(size=40), rng.uniform(size=40).round(1)
    expected = rf.objective("lambdarank(ndcg)", k=7, gain="clicks").gradients(scores, labels)
    got = rf.objective("lambdarank(cndcg)", k=7).gradients(scores, labels)
    assert np.array_equal(got, expected)
    by_hand = rf.objective("lambdarank(ndcg)", k=7).gradients(scores, 4.0 * labels)
    assert got[0] == approx(by_hand[0], rel=1e-6)


def test_table_of_texts() -> None:
    """JSON and TOML know no other keys."""
    expected = rf.objective("lambdarank-ndcg", gain={0: 0, 1.5: 3})
    assert rf.objective("lambdarank-ndcg", gain={"0": 0, "1.5": 3}) == expected
    with pytest.raises(ValueError, match="gain: 'one' is no label, which is a number"):
        rf.objective("lambdarank-ndcg", gain={"one": 1})


@pytest.mark.parametrize(
    "gain",
    [
        [0, 1, 5, 7],
        (0.0, 1.0, 5.0, 7.0),
        np.array([0.0, 1.0, 5.0, 7.0]),
        {0: 0, 1: 1, 2: 5, 3: 7},
        {3.0: 7.0, 2.0: 5.0, 1.0: 1.0, 0.0: 0.0},
        lambda y: [0, 1, 5, 7][int(y)],
    ],
)
def test_tables_and_functions(gain: Any) -> None:
    assert weight(gain, [3, 1]) == approx(7 - 1)
    assert weight(gain, [2, 0]) == approx(5 - 0)


def test_table_equal_to_a_named_gain() -> None:
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=50), rng.integers(0, 5, 50)
    expected = rf.objective("lambdarank-ndcg", k=5).gradients(scores, labels)
    for gain in ([0, 1, 3, 7, 15], lambda y: 2**y - 1):
        got = rf.objective("lambdarank-ndcg", k=5, gain=gain).gradients(scores, labels)
        assert np.array_equal(got, expected)


def test_gains_may_stand_still() -> None:
    """Labels 1 and 2 of the same gain: a pair without a weight, and without a force."""
    objective = rf.objective("lambdarank-ndcg", gain=[0, 3, 3])
    scores, labels = [0.1, 0.4, 0.3], [2, 1, 0]
    assert objective.effective_pairs(scores, labels).tolist() == [2]
    merged, _ = rf.objective("lambdarank-ndcg", gain=[0, 3]).gradients(scores, [1, 1, 0])
    assert objective.gradients(scores, labels)[0] == approx(merged, rel=1e-6)


GAIN_OF: dict[str, Callable[[float], float]] = {
    "2^y-1": lambda y: 2.0**y - 1.0,
    "y": lambda y: y,
}


@pytest.mark.parametrize("gain", GAIN_OF)
@pytest.mark.parametrize("top", [31, 32, 33, 64, 200, 1000])
def test_labels_beyond_31(top: int, gain: str) -> None:
    """One document of the top label at the bottom: lambda = gd * rho / IDCG * p."""
    G, scores, labels = GAIN_OF[gain], [0.2, 0.1, 0.0], [0, 1, top]
    W = ref.weights("LambdaRank-NDCG", scores, labels, gain=gain)
    expected, _ = ref.forces(W, scores)
    lam, _ = rf.objective("lambdarank-ndcg", gain=gain).gradients(scores, labels)
    assert lam == approx(expected, rel=1e-4)
    ideal = G(top) + G(1) / log2(3)
    _, _, weights = rf.objective("lambdarank-ndcg", gain=gain).pairs(scores, labels)
    assert weights.max() == approx((G(top) - G(0)) * (1 - 1 / log2(4)) / ideal, rel=1e-12)


OF_GRADES = [entry for entry in rf.objectives() if not entry.of_clicks]


@pytest.mark.parametrize("top", [31, 200])
@pytest.mark.parametrize("entry", OF_GRADES, ids=lambda entry: entry.name)
def test_every_objective_takes_labels_beyond_31(entry: Any, top: int) -> None:
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=30), rng.choice([0.0, 1.0, top - 1.0, top], 30)
    lam, hess = rf.objective(entry.name, k=3).gradients(scores, labels, norm="lightgbm")
    assert np.isfinite(lam).all()
    assert np.isfinite(hess).all()
    assert lam.any()


@pytest.mark.parametrize("top", [10, 15, 20, 31, 45, 60, 200])
def test_err_with_a_high_top_grade(top: int) -> None:
    """Stop probabilities next to 1: what comes after them is never read."""
    rng = np.random.default_rng(top)
    scores, labels = rng.normal(size=20), rng.integers(0, top + 1, 20).astype(float)
    labels[[scores.argmax(), scores.argmin()]] = top
    expected, _ = ref.forces(ref.weights("lambdarank(err)", scores, labels), scores)
    lam, _ = rf.objective("lambdarank(err)").gradients(scores, labels)
    assert lam == approx(expected, abs=1e-4 * np.abs(expected).max())


def test_fractional_labels() -> None:
    labels = [0.0, 0.5, 1.25, 2.75]
    for gain, G in GAIN_OF.items():
        W = np.zeros((4, 4))
        hi, lo, weights = rf.objective("lambdarank-ndcg", gain=gain).pairs([4, 3, 2, 1], labels)
        W[hi, lo] = weights
        d = [1 / log2(1 + r) for r in (1, 2, 3, 4)]
        ideal = sum(G(y) * d[r] for r, y in enumerate(sorted(labels, reverse=True)))
        for i in range(4):
            for j in range(i):
                expected = (G(labels[i]) - G(labels[j])) * (d[j] - d[i]) / ideal
                assert W[i, j] == approx(expected, rel=1e-12)


def test_labels_that_differ_little_are_different_labels() -> None:
    labels = [1.0, np.nextafter(1.0, 2.0)]
    assert rf.objective("ranknet").effective_pairs([0, 1], labels).tolist() == [1]
