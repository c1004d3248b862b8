"""Cross-entropy NDCG, a listwise objective (Bruch et al. 2021, "An Alternative Cross Entropy Loss
for Learning-to-Rank"), and least squares, a pointwise one: their forces are no sum over pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext

from .extended import uniform
from .forces import normalise

NAMES = ("xendcg", "squared-error")


def squared_error_forces(
    scores: Sequence[float], labels: Sequence[float], *, norm: str = "none"
) -> tuple[list[float], list[float]]:
    """(lambda, hess) of (y - s)^2 / 2; "std" divides by the root of the mean square."""
    lam = [float(y) - float(s) for y, s in zip(labels, scores, strict=True)]
    if norm != "std":
        return lam, [1.0] * len(lam)
    root = math.hypot(*lam) / math.sqrt(max(len(lam), 1))
    return [one / root if root > 0 else 0.0 for one in lam], [float(root > 0)] * len(lam)


def xendcg_forces(
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    seed: int = 0,
    iteration: int = 0,
    query: int = 0,
    norm: str = "none",
) -> tuple[list[float], list[float]]:
    """(lambda, hess) of each row of a query; row i draws gamma_i. LightGBM's norm has no say."""
    gammas = [uniform(seed, iteration, query, row) for row in range(len(labels))]
    lam, hess = xendcg_at(scores, labels, gammas)
    return normalise(lam, hess, 0.0, norm)


def xendcg_at(
    scores: Sequence[float], labels: Sequence[float], gammas: Sequence[float]
) -> tuple[list[float], list[float]]:
    """The forces at given gammas: minus the sum of the first, second and third order terms.

    With rho the softmax of the scores and phi proportional to 2^y - gamma: l1 = rho - phi,
    l2 = rho_i * sum over j != i of l1_j / (1 - rho_j), l3 the same of l2. hess = rho * (1 - rho).
    """
    n = len(scores)
    if n < 2:
        return [0.0] * n, [0.0] * n
    orders, hess = xendcg_orders(scores, labels, gammas)
    return [-float(sum(one)) for one in zip(*orders, strict=True)], [float(one) for one in hess]


def xendcg_orders(
    scores: Sequence[float], labels: Sequence[float], gammas: Sequence[float]
) -> tuple[list[list[Decimal]], list[Decimal]]:
    """The three orders l1, l2 and l3 of two documents or more, and hess."""
    n = len(scores)
    # Decimal numbers have room for e^(-1e6), and 1 - rho is the sum of the other documents' shares.
    with localcontext(Context(prec=40, Emin=-(10**15), Emax=10**15)):
        top = Decimal(max(scores))
        e = [(Decimal(float(score)) - top).exp() for score in scores]
        rho = [one / sum(e) for one in e]
        rest = [(sum(e[:i]) + sum(e[i + 1 :])) / sum(e) for i in range(n)]
        worth = [Decimal(2.0 ** float(y)) - Decimal(g) for y, g in zip(labels, gammas, strict=True)]
        first = [rho[i] - worth[i] / sum(worth) for i in range(n)]
        second = _next_order(first, rho, rest)
        third = _next_order(second, rho, rest)
        return [first, second, third], [rho[i] * rest[i] for i in range(n)]


def _next_order(terms: list[Decimal], rho: list[Decimal], rest: list[Decimal]) -> list[Decimal]:
    n = len(terms)
    return [rho[i] * sum(terms[j] / rest[j] for j in range(n) if j != i) for i in range(n)]
