"""Lambdas and hessians of one query from its pair weights."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Any

from .ranking import Matrix

COSTS = ("logistic", "sigmoid")
NORMS = ("none", "lightgbm", "std")


def logistic(u: float) -> float:
    """1 / (1 + exp(u)), written so that exp never overflows."""
    if u > 0:
        return math.exp(-u) / (1.0 + math.exp(-u))
    return 1.0 / (1.0 + math.exp(u))


def bump(u: float) -> float:
    """exp(u) / (1 + exp(u))^2 = logistic(u) * (1 - logistic(u)); even in u."""
    return math.exp(-abs(u)) / (1.0 + math.exp(-abs(u))) ** 2


def forces(
    W: Matrix,
    scores: Sequence[float],
    *,
    sigma: float = 1.0,
    cost: str = "logistic",
    center: float = 0.0,
    norm: str = "none",
) -> tuple[list[float], list[float]]:
    """(lambda, hess) of each row; lambda > 0 pushes the document up."""
    if cost not in COSTS or norm not in NORMS:
        raise ValueError(f"cost {cost!r} is none of {COSTS} or norm {norm!r} none of {NORMS}")
    how = {"sigma": sigma, "cost": cost, "center": center}
    return summed_forces([(1.0, W, how)], scores, norm=norm)


def summed_forces(
    parts: Sequence[tuple[float, Matrix, dict[str, Any]]], scores: Sequence[float], *, norm: str
) -> tuple[list[float], list[float]]:
    """Sums of weight * forces, and then the norm of the sum (Svore et al. 2011, section 5.3)."""
    n = len(scores)
    lam, hess, total, any_pair = [0.0] * n, [0.0] * n, 0.0, False
    for share, W, how in parts:
        lams, hesses, magnitude = push(W, scores, norm=norm, **how)
        lam = [whole + share * part for whole, part in zip(lam, lams, strict=True)]
        hess = [whole + share * part for whole, part in zip(hess, hesses, strict=True)]
        total += share * magnitude
        any_pair = any_pair or any(weight != 0 for row in W for weight in row)
    lam, hess = normalise(lam, hess, total, norm)
    if any(how.get("cost") == "sigmoid" for _, _, how in parts):
        # Its second derivative changes sign: gradient steps only.
        hess = [1.0 if any_pair else 0.0] * n
    return lam, hess


def push(
    W: Matrix,
    scores: Sequence[float],
    *,
    sigma: float = 1.0,
    cost: str = "logistic",
    center: float = 0.0,
    norm: str = "none",
) -> tuple[list[float], list[float], float]:
    """Lambdas and hessians before the norm of the query, and the sum of all magnitudes."""
    n = len(scores)
    s = [float(score) for score in scores]
    lam, hess, total = [0.0] * n, [0.0] * n, 0.0
    for hi in range(n):
        for lo in range(n):
            weight, x = float(W[hi][lo]), s[hi] - s[lo]
            if weight == 0:
                continue
            if norm == "lightgbm" and max(s) != min(s):
                weight = weight / (0.01 + abs(x))
            if cost == "logistic":
                magnitude = sigma * logistic(sigma * x) * weight
            else:
                # Svore et al. 2011, eq. 14
                magnitude = sigma * bump(sigma * x + center) * weight
            lam[hi] += magnitude
            lam[lo] -= magnitude
            hess[hi] += sigma**2 * bump(sigma * x) * weight
            hess[lo] += sigma**2 * bump(sigma * x) * weight
            total += 2.0 * magnitude
    return lam, hess, total


def normalise(
    lam: list[float], hess: list[float], total: float, norm: str
) -> tuple[list[float], list[float]]:
    """lightgbm: times log2(1 + S) / S, S = `total`; std: lambda / std(lambda), hess 1."""
    n = len(lam)
    if norm == "lightgbm" and total > 0:
        factor = math.log1p(total) / math.log(2.0) / total
        return [value * factor for value in lam], [value * factor for value in hess]
    if norm == "std":
        largest = max(map(abs, lam), default=0.0)
        if largest == 0:
            return [0.0] * n, [0.0] * n
        shares = [value / largest for value in lam]  # squares of forces may vanish
        deviation = statistics.pstdev(shares)
        return [value / deviation for value in shares], [1.0] * n
    return lam, hess
