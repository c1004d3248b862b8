"""Objectives for precision at k: LambdaRank-P@k, LambdaRank-ARPbk, LambdaGap and their hybrids."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

from rankforce.common.errors import RankforceError
from rankforce.forces.description import (
    Description,
    Entry,
    PairSet,
    Parameters,
    gap_at_least,
    gap_exactly,
)
from rankforce.forces.metrics import build_swap, for_metric


def build_gap(params: Parameters, *, exactly: bool, base: str | None) -> Description:
    """Pairs k ranks apart (S) or at least k apart (X), alone or added to LambdaRank for `base`."""
    k = params.whole_k()
    mu = 1.0 if base is None else params.mu
    first = Description(gain="binary", binary=True)
    return dataclasses.replace(
        first if base is None else build_swap(params, metric=base),
        distance=gap_exactly(mu, k) if exactly else gap_at_least(mu, k),
        pair_set=PairSet(),
    )


def build_at_tau(params: Parameters, *, build: Callable[[Parameters], Description]) -> Description:
    """What `build` makes, with `tau` in place of `k`, which stays that of the metric."""
    if params.truncation == math.inf:
        raise RankforceError("tau is inf: for precision it must be an integer, as no pair is left")
    return build(dataclasses.replace(params, k=int(params.truncation)))


_SOURCE = "Adalia et al. 2025"
_BASES: dict[str, tuple[str | None, str]] = {
    "": (None, ""),
    "+": ("P", "[i <= tau < j] + mu * "),
    "++": ("ARPb", "max(j-tau, 0) - max(i-tau, 0) + mu * "),
}


def _gap(letter: str, suffix: str) -> Entry:
    base, first = _BASES[suffix]
    gap = "[j - i = tau]" if letter == "S" else "[j - i >= tau]"
    return Entry(
        name=f"LambdaGap-{letter}{suffix}",
        build=functools.partial(build_gap, exactly=letter == "S", base=base),
        formula=f"(b_hi - b_lo) * ({first}{gap}), ranks i < j",
        source=f"{_SOURCE}, sections 5.1 and 5.4" if suffix else f"{_SOURCE}, section 5.1",
        cost={"S": "O(n log n)", "S+": "O(tau n)"}.get(letter + suffix, "O(n^2)"),
        uses=frozenset({"mu"}) if suffix else frozenset(),
        needs_k=True,
        metric="P",
    )


_AT_K = [
    for_metric(
        "P",
        "(b_hi - b_lo) * [i <= tau < j], ranks i < j",
        f"{_SOURCE}, section 2.1",
        "O(tau n), no sort",
        name="LambdaRank-P@k",
        aliases=("lambdarank(p)", "lambdarank(precision)", "lambdarank-p"),
    ),
    for_metric(
        "ARPb",
        "(b_hi - b_lo) * (max(j-tau, 0) - max(i-tau, 0)), ranks i < j",
        f"{_SOURCE}, section 5.2",
        "O(n^2)",
        name="LambdaRank-ARPbk",
        aliases=("lambdarank(arpb)", "lambdarank-arpb@k", "lambdarank-arpb"),
        metric="P",  # which it bounds
    ),
    *(_gap(letter, suffix) for suffix in _BASES for letter in "SX"),
]

# Adalia et al. 2025, section 6: the truncation level is what these weights have for k.
ENTRIES = [
    dataclasses.replace(
        entry,
        build=functools.partial(build_at_tau, build=entry.build),
        uses=entry.uses | {"tau"},
    )
    for entry in _AT_K
]
