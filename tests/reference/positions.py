"""Weights without gains: of labels alone, and of ranks on b (Adalia et al. 2025, section 5)."""

from __future__ import annotations

from collections.abc import Sequence

from .ranking import Matrix, binary, cutoff, pairs, ranks, zeros

LABEL_NAMES = ("RankNet", "BinRankNet", "LambdaLoss-ARP1", "LambdaLoss-ARP2")
GAP_NAMES = tuple(f"LambdaGap-{kind}{plus}" for plus in ("", "+", "++") for kind in "SX")
POSITION_NAMES = ("LambdaRank-P@k", "LambdaRank-ARPbk", *GAP_NAMES)


def label_weights(name: str, labels: Sequence[float]) -> Matrix:
    """RankNet: 1; BinRankNet: 1 on b; ARP1: y_hi; ARP2: y_hi - y_lo. All pairs."""
    labels = binary(labels) if name == "BinRankNet" else labels
    out = zeros(len(labels))
    for hi, lo in pairs(labels):
        if name == "LambdaLoss-ARP1":
            out[hi][lo] = labels[hi]
        elif name == "LambdaLoss-ARP2":
            out[hi][lo] = labels[hi] - labels[lo]
        else:
            out[hi][lo] = 1.0
    return out


def position_weights(
    name: str, scores: Sequence[float], labels: Sequence[float], *, k: float | None, mu: float
) -> Matrix:
    """P@k, ARPbk, LambdaGap and their sums, on b; nothing if n <= k."""
    rank, labels, c, out = ranks(scores), binary(labels), cutoff(k), zeros(len(labels))
    if len(labels) <= c:
        return out
    for hi, lo in pairs(labels):
        i, j = sorted((rank[hi] + 1, rank[lo] + 1))
        p_at_k = 1.0 if i <= c < j else 0.0
        arp_b = max(j - c, 0.0) - max(i - c, 0.0)
        if name == "LambdaRank-P@k":
            out[hi][lo] = p_at_k
        elif name == "LambdaRank-ARPbk":
            out[hi][lo] = arp_b
        else:
            # Adalia et al. 2025, section 5.1 and eq. 2, without 1/k.
            apart = j - i == c if name.startswith("LambdaGap-S") else j - i >= c
            gap = 1.0 if apart else 0.0
            if name.endswith("++"):
                out[hi][lo] = arp_b + mu * gap
            elif name.endswith("+"):
                out[hi][lo] = p_at_k + mu * gap
            else:
                out[hi][lo] = gap
    return out
