"""Metrics of one query, from its labels in ranked order."""

from __future__ import annotations

from collections.abc import Sequence

from .ranking import Gain, binary, cutoff, discount, gain_of, ideal_dcg

GAINED = ("cg", "dcg", "ndcg", "bndcg", "cndcg")
METRICS = (*GAINED, "map", "mrr", "err", "rbp", "p", "recall", "arp", "arpb")
# Metrics that see b only, so that swapping two relevant documents changes nothing.
BINARY_METRICS = ("bndcg", "map", "mrr", "rbp", "p", "recall", "arp", "arpb")


def metric(
    name: str,
    ordered_labels: Sequence[float],
    *,
    k: float | None = None,
    p: float = 0.8,
    max_label: float | None = None,
    gain: Gain | None = None,
    rel: float | None = None,
    over: str | None = None,
) -> float:
    """The value of metric `name` with cutoff `k` (None: the whole list).

    The gain is 2^y - 1 unless another is given, of "cg" it is y.
    Binary metrics may say which label is the least relevant one, `rel`; `over` is what "p" and
    "map" are divided by, where that is not their usual number.
    """
    labels = [float(label) for label in ordered_labels]
    if name not in METRICS:
        raise ValueError(f"unknown metric {name!r}; choose one of {', '.join(METRICS)}")
    if rel is not None:
        assert name in BINARY_METRICS
        labels = relevance(labels, rel)
    if not any(label > 0 for label in labels):
        return 0.0
    if gain is None:
        gain = "y" if name == "cg" else "2^y-1"
    if name == "cg":
        return cumulated_gain(labels, k, gain)
    if name == "dcg":
        return dcg(labels, k, gain)
    if name == "ndcg":
        return ndcg(labels, k, gain)
    if name == "bndcg":
        return ndcg(labels, k, "binary")
    if name == "cndcg":
        return ndcg(labels, k, click_gain)
    if name == "err":
        return expected_reciprocal_rank(labels, k, max_label)
    if name == "arp":
        return average_relevance_position(labels, k, graded=gain == "y")
    if name == "rbp":
        return rank_biased_precision(labels, k, p)
    if name == "p":
        return precision(labels, k, over)
    if name == "map":
        return average_precision(labels, k, over)
    by_name = {
        "mrr": reciprocal_rank,
        "recall": recall,
        "arpb": arp_beyond,
    }
    return by_name[name](labels, k)


def relevance(labels: Sequence[float], rel: float | None) -> list[float]:
    """b = 1 where y > 0, or where y >= rel."""
    if rel is None:
        return binary(labels)
    return [1.0 if label >= rel else 0.0 for label in labels]


def cumulated_gain(labels: list[float], k: float | None, gain: Gain) -> float:
    """Sum of G(y) over ranks r <= k."""
    return sum(
        gain_of(label, gain) for rank, label in enumerate(labels, start=1) if rank <= cutoff(k)
    )


def dcg(labels: list[float], k: float | None, gain: Gain) -> float:
    """Sum of G(y) d(r) over ranks r <= k."""
    total = 0.0
    for rank, label in enumerate(labels, start=1):
        if rank <= cutoff(k):
            total += gain_of(label, gain) * discount(rank)
    return total


def ndcg(labels: list[float], k: float | None, gain: Gain) -> float:
    """DCG@k over its ideal value; 0 if that is 0."""
    ideal = ideal_dcg(labels, k, gain)
    return dcg(labels, k, gain) / ideal if ideal > 0 else 0.0


def click_gain(c: float) -> float:
    """Of a share of clicks from 0 to 1 (Svore et al. 2011, eq. 9)."""
    return float(2.0 ** (4.0 * c)) - 1.0


def hits(labels: list[float], k: float | None) -> float:
    """Number of relevant documents in the top k."""
    total = 0.0
    for rank, b in enumerate(binary(labels), start=1):
        if rank <= cutoff(k):
            total += b
    return total


def precision(labels: list[float], k: float | None, over: str | None = None) -> float:
    """Relevant documents in the top k, over min(k, n), or over k."""
    return hits(labels, k) / (cutoff(k) if over == "k" else min(cutoff(k), len(labels)))


def recall(labels: list[float], k: float | None) -> float:
    """Relevant documents in the top k, over all relevant ones."""
    return hits(labels, k) / sum(binary(labels))


def average_precision(labels: list[float], k: float | None, over: str | None = None) -> float:
    """MAP@k = sum over r <= k of b_r * precision@r, over min(R, k), or over R ("relevant")."""
    total, relevant_so_far = 0.0, 0.0
    for rank, b in enumerate(binary(labels), start=1):
        relevant_so_far += b
        if rank <= cutoff(k):
            total += b * relevant_so_far / rank
    return total / over_of(labels, k, over)


def over_of(labels: list[float], k: float | None, over: str | None) -> float:
    """What MAP@k is divided by: the relevant documents, of which the top k holds at most k."""
    relevant = sum(binary(labels))
    return relevant if over == "relevant" else min(relevant, cutoff(k))


def reciprocal_rank(labels: list[float], k: float | None) -> float:
    """1 / rank of the first relevant document, 0 if that rank is beyond k."""
    for rank, label in enumerate(labels, start=1):
        if label > 0:
            return 1.0 / rank if rank <= cutoff(k) else 0.0
    return 0.0


def expected_reciprocal_rank(
    labels: list[float], k: float | None, max_label: float | None
) -> float:
    """ERR = sum of 1/r * stop_r * prod over q < r of (1 - stop_q) (Chapelle et al. 2009)."""
    top = max(labels) if max_label is None else max_label
    total, still_reading = 0.0, 1.0
    for rank, label in enumerate(labels, start=1):
        stop = (2.0**label - 1.0) / 2.0**top
        if rank <= cutoff(k):
            total += still_reading * stop / rank
        still_reading *= 1.0 - stop
    return total


def rank_biased_precision(labels: list[float], k: float | None, p: float) -> float:
    """RBP(p) = (1 - p) * sum of b_r p^(r-1)."""
    total = 0.0
    for rank, b in enumerate(binary(labels), start=1):
        if rank <= cutoff(k):
            total += b * p ** (rank - 1)
    return (1.0 - p) * total


def average_relevance_position(labels: list[float], k: float | None, *, graded: bool) -> float:
    """ARP = sum of b_r * r; graded form: sum of y_r * r."""
    total = 0.0
    for rank, value in enumerate(labels if graded else binary(labels), start=1):
        if rank <= cutoff(k):
            total += value * rank
    return total


def arp_beyond(labels: list[float], k: float | None) -> float:
    """ARPb@k = sum of b_r * max(r - k, 0) (Adalia et al. 2025, Corollary 5.4)."""
    total = 0.0
    for rank, b in enumerate(binary(labels), start=1):
        total += b * max(rank - cutoff(k), 0.0)
    return total
