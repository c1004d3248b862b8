"""What a query costs: pairs by their weights, pairs of equal labels, lists, single documents."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .extended import uniform
from .forces import logistic
from .ranking import Matrix


def softplus(u: float) -> float:
    """log(1 + exp(u)), written so that exp never overflows."""
    return max(u, 0.0) + math.log1p(math.exp(-abs(u)))


def pair_costs(
    W: Matrix,
    scores: Sequence[float],
    *,
    sigma: float = 1.0,
    cost: str = "logistic",
    center: float = 0.0,
) -> float:
    """Adalia et al. 2025, eq. 1; the sigmoid cost is what Svore et al. 2011, eq. 14 derives."""
    total = 0.0
    for hi in range(len(scores)):
        for lo in range(len(scores)):
            x = float(scores[hi]) - float(scores[lo])
            if W[hi][lo] == 0:
                continue
            one = softplus(-sigma * x) if cost == "logistic" else logistic(sigma * x + center)
            total += float(W[hi][lo]) * one
    return total


def ranknet_cost(
    scores: Sequence[float], labels: Sequence[float], *, sigma: float = 1.0, equal: bool
) -> float:
    """1/2 (1 - S) sigma (s_i - s_j) + log(1 + exp(-sigma (s_i - s_j))) of each pair once, with S
    -1, 0 or 1 (Burges 2010, section 2); pairs with S = 0 only if `equal`."""
    total = 0.0
    for i in range(len(scores)):
        for j in range(i):
            S = int(labels[i] > labels[j]) - int(labels[i] < labels[j])
            if S != 0 or equal:
                x = sigma * (scores[i] - scores[j])
                total += 0.5 * (1 - S) * x + softplus(-x)
    return total


def squared_error_cost(scores: Sequence[float], labels: Sequence[float]) -> float:
    return sum((float(y) - float(s)) ** 2 / 2.0 for y, s in zip(labels, scores, strict=True))


def xendcg_cost(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    seed: int = 0,
    iteration: int = 0,
    query: int = 0,
) -> float:
    """- sum of phi * log(rho), phi proportional to 2^y - gamma and rho the softmax."""
    n = len(scores)
    if n < 2:
        return 0.0
    worth = [2.0 ** float(labels[i]) - uniform(seed, iteration, query, i) for i in range(n)]
    top = max(scores)
    log_sum = math.log(sum(math.exp(score - top) for score in scores)) + top
    return sum(worth[i] / sum(worth) * (log_sum - scores[i]) for i in range(n))
