"""Ranks of documents, best score first and ties by row, whatever the scores look like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import rankforce as rf

Floats = NDArray[np.float64]
ARP = rf.objective("lambdarank(arp)")


def ranks_of(scores: Floats) -> list[int]:
    """Ranks as the kernels see them.

    Row 0 is made the best and the only relevant document: then ARP's weight |rank_hi - rank_lo| of
    its pair with another document is that document's rank.
    """
    scores = np.array(scores, dtype=np.float64)
    scores[0] = scores.max()
    labels = np.zeros(len(scores))
    labels[0] = 1.0
    hi, lo, weight = ARP.pairs(scores, labels)
    assert not hi.any()
    rank = np.zeros(len(scores))
    rank[lo] = weight
    return rank.round().astype(int).tolist()


def expected_ranks(scores: Floats) -> list[int]:
    scores = np.array(scores, dtype=np.float64)
    scores[0] = scores.max()
    rank = np.empty(len(scores), int)
    rank[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return rank.tolist()


def top_of(scores: Floats, k: int) -> set[int]:
    """What P@k takes for the top k: by selection up to k = 32, by sorting above."""
    labels = np.zeros(len(scores))
    labels[-1] = 1.0
    lo = rf.objective("lambdarank-p@k", k=k).pairs(scores, labels).lo
    everything = set(range(len(scores) - 1))
    is_last_in_top = expected_order(scores).index(len(scores) - 1) < k
    return everything - {*lo.tolist()} if is_last_in_top else {*lo.tolist()}


def expected_order(scores: Floats) -> list[int]:
    return np.argsort(-np.asarray(scores), kind="stable").tolist()


Maker = Callable[[np.random.Generator, int], Floats]
MAKERS: dict[str, Maker] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "few values": lambda rng, n: rng.choice(rng.normal(size=4), n),
    "few tiny values": lambda rng, n: rng.choice(rng.normal(size=3) * 1e-7, n),
    "two values": lambda rng, n: rng.choice([0.1, 0.3], n),
    "all equal": lambda rng, n: np.full(n, 0.1),
    "rising": lambda rng, n: np.arange(n) / 7.0,
    "falling": lambda rng, n: -np.arange(n) / 7.0,
    "one far above": lambda rng, n: np.where(np.arange(n) == n // 2, 1e12, rng.normal(size=n)),
    "one far below": lambda rng, n: np.where(np.arange(n) == n // 2, -1e12, rng.normal(size=n)),
    "far above and tied": lambda rng, n: np.where(
        np.arange(n) == n // 2, 1e9, rng.integers(0, 3, n)
    ),
    "neighbours": lambda rng, n: 1.0 + rng.integers(0, 5, n) * 2.0**-52,
    "denormal": lambda rng, n: rng.integers(-5, 5, n) * 5e-324,
    "huge": lambda rng, n: rng.choice([-1e308, 1e308, 0.0, 1.0], n),
    "zeros of both signs": lambda rng, n: rng.choice([0.0, -0.0], n),
    "powers": lambda rng, n: 10.0 ** rng.integers(-300, 300, n),
    "large offset": lambda rng, n: 1e15 + rng.integers(0, 20, n),
}


@pytest.mark.parametrize("n", [2, 3, 5, 9, 17, 31, 64, 257, 3001])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_ranks(make: Maker, n: int) -> None:
    for seed in range(1 if n > 300 else 20):
        scores = make(np.random.default_rng(seed), n)
        assert ranks_of(scores) == expected_ranks(scores)


@pytest.mark.parametrize("k", [1, 2, 5, 31, 32, 33, 50])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_top(make: Maker, k: int) -> None:
    n = 64
    for seed in range(5):
        scores = make(np.random.default_rng(seed), n)
        assert top_of(scores, k) == set(expected_order(scores)[:k]) - {n - 1}
