"""Graded tiers: which pairs a label source may push, and the forces of the whole (Svore et al.
2011, section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .forces import forces
from .ranking import Matrix, cutoff, ranks, zeros
from .weights import weights

Labels = Sequence[float]  # NaN where unknown


def is_pair(hi: int, lo: int, tier: int, sources: Sequence[Labels], *, zeros_out: bool) -> bool:
    """Whether a tier, from 0, pushes row `hi` above row `lo`.

    All sources above know both and give them the same label; the tier's own knows both and gives
    `hi` the higher one; below the first tier, a 0 may mean that nobody looked.
    """
    for above in sources[:tier]:
        if math.isnan(above[hi]) or math.isnan(above[lo]) or above[hi] != above[lo]:
            return False
    own = sources[tier]
    if math.isnan(own[hi]) or math.isnan(own[lo]):
        return False
    if zeros_out and tier > 0 and (own[hi] == 0 or own[lo] == 0):
        return False
    return own[hi] > own[lo]


def pair_matrix(
    tier: int, sources: Sequence[ArrayLike], *, zeros_out: bool = True
) -> NDArray[np.bool_]:
    """`is_pair` of all rows at once; NaN is neither equal to, above nor below anything."""
    *above, own = (np.asarray(source, dtype=np.float64) for source in sources[: tier + 1])
    keep = own[:, None] > own[None, :]
    for labels in above:
        keep &= labels[:, None] == labels[None, :]
    if zeros_out and tier > 0:
        keep &= (own != 0)[:, None] & (own != 0)[None, :]
    return keep


def known(labels: Labels) -> list[float]:
    """Labels for ideal values and ranks, which are of the whole list: unknown is worth nothing."""
    return [0.0 if math.isnan(label) else float(label) for label in labels]


def keep_pairs(
    W: Matrix, tier: int, sources: Sequence[Labels], *, zeros_out: bool = True
) -> Matrix:
    """The weights of a tier: those of all pairs, 0 where the tier has no say."""
    n = len(W)
    out = zeros(n)
    for hi in range(n):
        for lo in range(n):
            if is_pair(hi, lo, tier, sources, zeros_out=zeros_out):
                out[hi][lo] = float(W[hi][lo])
    return out


def tier_weights(
    name: str,
    scores: Sequence[float],
    tier: int,
    sources: Sequence[Labels],
    *,
    zeros_out: bool = True,
    **options: Any,
) -> Matrix:
    """Weights of objective `name` as a tier, with the ranks and the ideal value of all rows."""
    W = weights(name, scores, known(sources[tier]), **options)
    return keep_pairs(W, tier, sources, zeros_out=zeros_out)


def own_weights(
    weight: Callable[[float, float, int, int], float],
    scores: Sequence[float],
    labels: Labels,
    tau: float | None = None,
) -> Matrix:
    """A user's weight(y_hi, y_lo, rank_hi, rank_lo), ranks from 1; one of the pair in the top."""
    rank, y = ranks(scores), known(labels)
    out = zeros(len(y))
    for hi in range(len(y)):
        for lo in range(len(y)):
            if y[hi] > y[lo] and min(rank[hi], rank[lo]) < cutoff(tau):
                out[hi][lo] = weight(y[hi], y[lo], rank[hi] + 1, rank[lo] + 1)
    return out


def additive_weights(
    gain: Callable[[float], float],
    value: Callable[[int], float],
    scores: Sequence[float],
    labels: Labels,
    *,
    normalised: bool = False,
) -> Matrix:
    """What a swap changes in the sum of gain(label) * value(rank), over its best value."""
    # A label that is not known has no gain, not the gain of 0.
    gains = [0.0 if math.isnan(label) else gain(float(label)) for label in labels]
    n = len(gains)
    best = sorted(gains, reverse=True)
    values = sorted((value(rank) for rank in range(1, n + 1)), reverse=True)
    ideal = sum(g * v for g, v in zip(best, values, strict=True)) if normalised else 1.0
    rank = ranks(scores)

    def weight(hi: int, lo: int) -> float:
        return (gains[hi] - gains[lo]) * abs(value(rank[hi] + 1) - value(rank[lo] + 1))

    out = zeros(n)
    for hi in range(n):
        for lo in range(n):
            if ideal > 0 and gains[hi] > gains[lo]:
                out[hi][lo] = weight(hi, lo) / ideal
    return out


def mixed_forces(
    parts: Sequence[tuple[float, Matrix]], scores: Sequence[float], **how: Any
) -> tuple[list[float], list[float]]:
    """Sums of weight * forces and of weight * hessians, each part normalised by itself."""
    lam, hess = [0.0] * len(scores), [0.0] * len(scores)
    for share, W in parts:
        for total, part in zip((lam, hess), forces(W, scores, **how), strict=True):
            for row, value in enumerate(part):
                total[row] += share * value
    return lam, hess
