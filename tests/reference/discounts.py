"""Weights made of gains and discounts over a set of ranks: the NDCG family."""

from __future__ import annotations

from collections.abc import Sequence

from .ranking import Gain, Matrix, cutoff, discount, gain_of, ideal_dcg, pairs, ranks, zeros


def ndcg_weights(
    form: str,
    scores: Sequence[float],
    labels: Sequence[float],
    members: set[int],
    *,
    level: float | None,
    gain: Gain,
    mu: float,
    offset: int,
) -> Matrix:
    """Pairs with a rank, 0-based, in `members` (Marcuzzi et al. 2023, eq. 4, 5); IDCG at `level`.

    rho: gd * |d(i) - d(j)|; delta: gd * (d(j-i) - d(j-i+1)); loss1: G(y_hi) * d(rank of hi).
    """
    rank, out = ranks(scores), zeros(len(labels))
    ideal = ideal_dcg(labels, level, gain)
    if ideal <= 0:
        return out
    for hi, lo in pairs(labels):
        if rank[hi] not in members and rank[lo] not in members:
            continue
        i, j = sorted((rank[hi] + 1, rank[lo] + 1))
        gd = gain_of(labels[hi], gain) - gain_of(labels[lo], gain)
        rho = abs(discount(i) - discount(j))
        delta = discount(j - i + offset) - discount(j - i + offset + 1)
        if form == "rho":
            weight = gd * rho
        elif form == "delta":
            weight = gd * delta
        elif form == "rho+delta":
            weight = gd * (rho + mu * delta)
        elif form == "loss1":
            weight = gain_of(labels[hi], gain) * discount(rank[hi] + 1)
        else:
            # Jagerman et al. 2022 (Adalia et al. 2025, section 4.2), with 1/D = d and r = j.
            weight = gd * delta / (1.0 - discount(j)) if j > cutoff(level) else gd * delta
        out[hi][lo] = weight / ideal
    return out
