"""The set X of Lambda-eX (Marcuzzi et al. 2023, section 4.2)."""

from __future__ import annotations

from collections.abc import Sequence

from .ranking import cutoff

STRATEGIES = ("static", "random", "all", "all-static", "all-random")
MASK = 2**64 - 1


def splitmix64(x: int) -> int:
    """One step of SplitMix64 from state x."""
    x = (x + 0x9E3779B97F4A7C15) & MASK
    z = x
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def uniform(seed: int, iteration: int, query: int, rank: int) -> float:
    """The number in [0, 1) that belongs to a 0-based rank of a query in an iteration."""
    key = splitmix64(splitmix64(splitmix64(seed & MASK) ^ iteration) ^ query)
    return (splitmix64(key ^ rank) >> 11) * 2.0**-53


def deficits(ordered_labels: Sequence[float], k: float | None) -> dict[float, int]:
    """deficit[l] = (how many l the ideal top-c has) - (how many the top-c has), c = min(k, n)."""
    c = int(min(cutoff(k), len(ordered_labels)))
    deficit = dict.fromkeys(ordered_labels, 0)
    for label in sorted(ordered_labels, reverse=True)[:c]:
        deficit[label] += 1
    for label in ordered_labels[:c]:
        deficit[label] -= 1
    return deficit


def false_and_missed(
    ordered_labels: Sequence[float], k: float | None, missed: str = "deficit"
) -> tuple[list[int], list[int]]:
    """The 0-based ranks of the false and of the missed top-k documents.

    "label" is the text (section 4.1): which labels occur in the ideal top-k. "deficit" is the
    published code: how often they do. "We call missed top-k a relevant document": label 0 never is.
    """
    n = len(ordered_labels)
    c = int(min(cutoff(k), n))
    occurring = set(sorted(ordered_labels, reverse=True)[:c])
    deficit = deficits(ordered_labels, k)
    false, lacking = [], []
    for rank, label in enumerate(ordered_labels):
        too_few = label in occurring if missed == "label" else deficit[label] > 0
        too_many = label not in occurring if missed == "label" else deficit[label] < 0
        if rank < c and too_many:
            false.append(rank)
        if rank >= c and too_few and label > 0:
            lacking.append(rank)
    return false, lacking


def extended_set(
    strategy: str,
    ordered_labels: Sequence[float],
    k: float | None,
    *,
    missed: str = "deficit",
    seed: int = 0,
    iteration: int = 0,
    query: int = 0,
) -> set[int]:
    """The 0-based ranks in X, from the labels in ranked order."""
    if strategy not in STRATEGIES:
        raise ValueError(f"unknown strategy {strategy!r}; choose one of {', '.join(STRATEGIES)}")
    c = int(min(cutoff(k), len(ordered_labels)))
    if strategy.startswith("all-"):
        rolls_back = _reaches_smallest_label(ordered_labels, c)
        strategy = strategy.removeprefix("all-") if rolls_back else "all"
    false, below = false_and_missed(ordered_labels, k, missed)
    need, labels = deficits(ordered_labels, k), list(ordered_labels)
    if missed == "label":  # as many as there are false ones, whatever their labels
        need, labels = {1.0: len(false)}, [1.0] * len(labels)
    if strategy == "static":
        below = _static(labels, below, need)
    if strategy == "random":
        draws = {rank: uniform(seed, iteration, query, rank) for rank in below}
        below = _random(labels, below, need, draws)
    return set(range(c)) | set(below)


def _reaches_smallest_label(ordered_labels: Sequence[float], c: int) -> bool:
    """Whether the smallest positive label of the query is that of its ideal top-c too."""
    positive = [label for label in ordered_labels if label > 0]
    ideal_top = sorted(ordered_labels, reverse=True)[:c]
    ideal_positive = [label for label in ideal_top if label > 0]
    return bool(ideal_positive) and min(positive) == min(ideal_positive)


def _static(labels: Sequence[float], missed: list[int], need: dict[float, int]) -> list[int]:
    """Going down the list, take a document while its label has deficit."""
    taken = []
    for rank in missed:
        if need[labels[rank]] > 0:
            taken.append(rank)
            need[labels[rank]] -= 1
    return taken


def _random(
    labels: Sequence[float], missed: list[int], need: dict[float, int], draws: dict[int, float]
) -> list[int]:
    """Selection sampling: every subset of size deficit[l] of a label's documents is as likely."""
    left = dict.fromkeys(labels, 0)
    for rank in missed:
        left[labels[rank]] += 1
    taken = []
    for rank in missed:
        label = labels[rank]
        if draws[rank] * left[label] < need[label]:
            taken.append(rank)
            need[label] -= 1
        left[label] -= 1
    return taken
