"""Objectives for precision at k: LambdaRank-P@k, LambdaRank-ARPbk, LambdaGap and their hybrids."""

from __future__ import annotations

import functools
from typing import Literal

from rankforce.forces.description import Description, PairSet
from rankforce.forces.entry import Entry, Parameters
from rankforce.forces.tables import beyond, gap_at_least, gap_exactly, inside

Base = Literal["none", "precision", "arp"]


def build_precision(params: Parameters) -> Description:
    """1 for a pair with one document in the top k and one below."""
    k = params.whole_k()
    return Description(
        gain="binary", binary=True, position=inside(k), flat_beyond=k, pair_set=PairSet(k)
    )


def build_arp_beyond(params: Parameters) -> Description:
    """Change of the average relevance position beyond k."""
    return Description(gain="binary", binary=True, position=beyond(params.whole_k()))


def build_gap(params: Parameters, *, exactly: bool, base: Base) -> Description:
    """Pairs k ranks apart (S) or at least k apart (X), alone or added to another objective."""
    k = params.whole_k()
    mu = 1.0 if base == "none" else params.mu
    positions = {"none": None, "precision": inside(k), "arp": beyond(k)}
    return Description(
        gain="binary",
        binary=True,
        position=positions[base],
        flat_beyond=k if base == "precision" else float("inf"),
        distance=gap_exactly(mu, k) if exactly else gap_at_least(mu, k),
    )


_SOURCE = "Adalia et al. 2025"
_BASES: dict[str, tuple[Base, str]] = {
    "": ("none", ""),
    "+": ("precision", "[i <= k < j] + mu * "),
    "++": ("arp", "max(j-k, 0) - max(i-k, 0) + mu * "),
}


def _gap(letter: str, suffix: str) -> Entry:
    base, first = _BASES[suffix]
    gap = "[j - i = k]" if letter == "S" else "[j - i >= k]"
    return Entry(
        name=f"LambdaGap-{letter}{suffix}",
        build=functools.partial(build_gap, exactly=letter == "S", base=base),
        formula=f"(b_hi - b_lo) * ({first}{gap}), ranks i < j",
        source=f"{_SOURCE}, sections 5.1 and 5.4" if suffix else f"{_SOURCE}, section 5.1",
        cost={"S": "O(n log n)", "S+": "O(k n)"}.get(letter + suffix, "O(n^2)"),
        uses=frozenset({"mu"}) if suffix else frozenset(),
        needs_k=True,
    )


ENTRIES = [
    Entry(
        "LambdaRank-P@k",
        build_precision,
        "(b_hi - b_lo) * [i <= k < j], ranks i < j",
        f"{_SOURCE}, section 2.1",
        "O(k n), no sort",
        needs_k=True,
        aliases=("lambdarank(p)", "lambdarank(precision)", "lambdarank-p"),
    ),
    Entry(
        "LambdaRank-ARPbk",
        build_arp_beyond,
        "(b_hi - b_lo) * (max(j-k, 0) - max(i-k, 0)), ranks i < j",
        f"{_SOURCE}, section 5.2",
        "O(n^2)",
        needs_k=True,
        aliases=("lambdarank(arpb)", "lambdarank-arpb@k", "lambdarank-arpb"),
    ),
    *(_gap(letter, suffix) for suffix in _BASES for letter in "SX"),
]
