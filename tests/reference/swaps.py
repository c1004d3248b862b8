"""LambdaRank for any metric: swap the two documents and look."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .metrics import BINARY_METRICS, metric
from .ranking import Gain, Matrix, binary, cutoff, order, pairs, ranks, zeros

# lambdarank(ndcg@10), lambdarank(rbp(0.9)), lambdarank(rbp(0.9)@20)
SWAP_NAME = re.compile(r"lambdarank\((\w+?)(?:\(([0-9.]+)\))?(?:@(\d+))?\)")


def swap_weights(
    name: str,
    scores: Sequence[float],
    labels: Sequence[float],
    *,
    gain: Gain | None,
    max_label: float | None,
) -> Matrix:
    """lambdarank(M): |M after swapping hi and lo - M before|, by swapping them."""
    found = SWAP_NAME.fullmatch(name)
    assert found is not None
    which, p, k = found[1], float(found[2] or 0.8), int(found[3]) if found[3] else None

    def value(ordered: list[float]) -> float:
        return metric(which, ordered, k=k, p=p, max_label=max_label, gain=gain)

    graded_arp = which == "arp" and gain == "y"
    seen = binary(labels) if which in BINARY_METRICS and not graded_arp else list(labels)
    rank, out = ranks(scores), zeros(len(labels))
    before = [labels[row] for row in order(scores)]
    # No 1/k in the weight of P@k: how the published runs were made.
    scale = min(cutoff(k), len(labels)) if which == "p" else 1.0
    value_before = value(before)
    for hi, lo in pairs(seen):
        after = list(before)
        after[rank[hi]], after[rank[lo]] = before[rank[lo]], before[rank[hi]]
        out[hi][lo] = scale * abs(value(after) - value_before)
    return out
