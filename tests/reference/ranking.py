"""Ranks, labels, gains and discounts: what every other reference file is made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

Gain = str | Callable[[float], float]
Matrix = list[list[float]]


def order(scores: Sequence[float]) -> list[int]:
    """Rows, best score first; ties keep the order of the rows."""
    return sorted(range(len(scores)), key=lambda row: (-float(scores[row]), row))


def ranks(scores: Sequence[float]) -> list[int]:
    """The 0-based rank of each row."""
    rank = [0] * len(scores)
    for position, row in enumerate(order(scores)):
        rank[row] = position
    return rank


def binary(labels: Sequence[float]) -> list[float]:
    """b = 1 if y > 0 else 0."""
    return [1.0 if label > 0 else 0.0 for label in labels]


def gain_of(label: float, gain: Gain) -> float:
    """G(y): 2^y - 1, y, b, or what a user's function says."""
    if callable(gain):
        return float(gain(label))
    if gain == "2^y-1":
        return float(2.0**label) - 1.0
    if gain == "y":
        return float(label)
    if gain == "binary":
        return 1.0 if label > 0 else 0.0
    raise ValueError(f"unknown gain {gain!r}; choose '2^y-1', 'y', 'binary' or a function")


def discount(rank: int) -> float:
    """d(r) = 1 / log2(1 + r), r 1-based."""
    return 1.0 / math.log2(1.0 + rank)


def cutoff(k: float | None) -> float:
    """None means that nothing is cut off."""
    return math.inf if k is None else k


def ideal_dcg(labels: Sequence[float], k: float | None, gain: Gain) -> float:
    """DCG@k of the best order."""
    gains = sorted((gain_of(label, gain) for label in labels), reverse=True)
    total = 0.0
    for rank, value in enumerate(gains, start=1):
        if rank <= cutoff(k):
            total += value * discount(rank)
    return total


def zeros(n: int) -> Matrix:
    """An n x n matrix of weights in which no pair is in the pair set."""
    return [[0.0] * n for _ in range(n)]


def pairs(labels: Sequence[float]) -> list[tuple[int, int]]:
    """All (hi, lo) rows with y_hi > y_lo."""
    n = len(labels)
    return [(hi, lo) for hi in range(n) for lo in range(n) if labels[hi] > labels[lo]]
