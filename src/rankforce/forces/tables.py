"""Values of a rank and of a rank distance, as tables. Ranks are 1-based, as in the formulas."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankforce.common.types import Floats

RankTable = Callable[[Floats], Floats]


def discount(rank: Floats) -> Floats:
    """d(r) = 1 / log2(1 + r)."""
    return np.asarray(1.0 / np.log2(1.0 + rank))


def discount_until(cutoff: float) -> RankTable:
    """d(r) up to `cutoff`, 0 beyond (Svore et al. 2011, eq. 16)."""
    return lambda rank: np.where(rank <= cutoff, discount(rank), 0.0)


def inside(cutoff: int) -> RankTable:
    """1 up to `cutoff`, 0 beyond: the value of a rank for P@k and Recall@k."""
    return lambda rank: np.where(rank <= cutoff, 1.0, 0.0)


def beyond(cutoff: int) -> RankTable:
    """-max(r - k, 0): the value of a rank for ARPb@k (Adalia et al. 2025, Corollary 5.4)."""
    return lambda rank: -np.maximum(rank - cutoff, 0.0)


def persistence(p: float) -> RankTable:
    """(1 - p) p^(r-1): rank-biased precision (Moffat and Zobel 2008)."""
    return lambda rank: np.asarray((1.0 - p) * p ** (rank - 1.0))


def delta(mu: float, offset: int) -> RankTable:
    """mu * (d(m) - d(m + 1)) at distance m: LambdaLoss (Wang et al. 2018).

    `offset=1` shifts by one distance, as the published forks of LightGBM do.
    """
    return lambda far: mu * (discount(far + offset) - discount(far + offset + 1.0))


def gap_exactly(mu: float, k: int) -> RankTable:
    """mu where the distance is k: LambdaGap-S."""
    return lambda far: np.where(far == k, mu, 0.0)


def gap_at_least(mu: float, k: int) -> RankTable:
    """mu where the distance is at least k: LambdaGap-X."""
    return lambda far: np.where(far >= k, mu, 0.0)


def top_k_correction(k: int) -> RankTable:
    """1 / (1 - d(r)) beyond rank k (Jagerman et al. 2022)."""
    return lambda rank: np.where(rank > k, 1.0 / (1.0 - discount(np.maximum(rank, 2.0))), 1.0)
