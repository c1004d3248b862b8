"""Objectives for NDCG and its binary form: LambdaRank, LambdaLoss, their hybrid, and Lambda-eX."""

from __future__ import annotations

import functools
from typing import Literal, get_args

from rankforce.forces.description import (
    Description,
    Entry,
    PairSet,
    Parameters,
    Strategy,
    delta,
    top_k_correction,
)
from rankforce.measures.definition import discount

Weight = Literal["rank", "distance", "both"]

_BRACKET = {"rank": "rho", "distance": "delta", "both": "(rho + mu * delta)"}
_LOSS = "Wang et al. 2018"
_RANK = "Burges et al. 2006"
_EX = "Marcuzzi et al. 2023, section 4"
_BIN = "Adalia et al. 2025, section 5.3"


def build_ndcg(
    params: Parameters, *, weight: Weight, binary: bool, strategy: Strategy | None = None
) -> Description:
    """The NDCG weights on a truncated or an extended pair set."""
    cutoff = params.truncation if strategy is None else params.cutoff
    mu = params.mu if weight == "both" else 1.0
    return Description(
        gain="binary" if binary else params.gain or "2^y-1",
        binary=binary,
        position=None if weight == "distance" else discount,
        distance=None if weight == "rank" else delta(mu, params.delta_offset),
        ideal="discounted",
        ideal_cutoff=cutoff,
        pair_set=PairSet(cutoff, strategy, params.missed),
    )


def build_loss1(params: Parameters) -> Description:
    """NDCG-Loss1: only hi's gain and rank count."""
    return Description(
        label_term="higher",
        gain=params.gain or "2^y-1",
        position=discount,
        position_of_hi_only=True,
        ideal="discounted",
        ideal_cutoff=params.truncation,
        pair_set=PairSet(params.truncation),
    )


def build_top_k(params: Parameters) -> Description:
    """LambdaLoss-NDCG with the top-k correction of Jagerman et al. 2022."""
    return Description(
        gain=params.gain or "2^y-1",
        distance=delta(1.0, params.delta_offset),
        correction=top_k_correction(params.whole_k()),
        ideal="discounted",
        ideal_cutoff=params.whole_k(),
        pair_set=PairSet(params.whole_k()),
    )


def _uses(weight: Weight, *, binary: bool, extended: bool) -> frozenset[str]:
    used = set() if binary else {"gain"}
    used.add("missed" if extended else "tau")
    if weight != "rank":
        used.add("delta_offset")
    if weight == "both":
        used.add("mu")
    return frozenset(used)


def _formula(weight: Weight, *, binary: bool, cutoff: str) -> str:
    gain = "(b_hi - b_lo)" if binary else "(G_hi - G_lo)"
    ideal = "IBDCG" if binary else "IDCG"
    return f"{gain} * {_BRACKET[weight]} / {ideal}@{cutoff}"


def _truncated(name: str, weight: Weight, binary: bool, *aliases: str) -> Entry:
    source = _RANK if weight == "rank" else _LOSS
    return Entry(
        name=name,
        build=functools.partial(build_ndcg, weight=weight, binary=binary),
        formula=_formula(weight, binary=binary, cutoff="tau"),
        source=f"{source}; {_BIN}" if binary else source,
        cost="O(tau n)",
        uses=_uses(weight, binary=binary, extended=False),
        aliases=aliases,
        metric="BNDCG" if binary else "NDCG",
    )


def _extended(base: str, weight: Weight, strategy: Strategy, binary: bool) -> Entry:
    return Entry(
        name=f"{base} {strategy} bin" if binary else f"{base} {strategy}",
        build=functools.partial(build_ndcg, weight=weight, binary=binary, strategy=strategy),
        formula=_formula(weight, binary=binary, cutoff="k")
        + f", one of the pair in X ({strategy})",
        source=f"{_EX}; {_BIN}" if binary else _EX,
        cost="O(k n)" if strategy in ("static", "random") else "O((k + n+) n)",
        uses=_uses(weight, binary=binary, extended=True),
        needs_k=True,
        # With binary labels the hybrid strategies always fall back to static and random.
        aliases=(f"{base} all-{strategy} bin",) if binary and strategy != "all" else (),
        metric="BNDCG" if binary else "NDCG",
    )


_EXTENDED: dict[str, Weight] = {
    "LambdaMART-eX": "rank",
    "LambdaLoss-eX": "distance",
    "LambdaLoss-eX++": "both",
}

ENTRIES = [
    _truncated("LambdaRank-NDCG", "rank", False, "lambdarank", "lambdamart", "lambdamart-ndcg"),
    _truncated("LambdaLoss-NDCG", "distance", False, "ndcg-loss2"),
    _truncated("LambdaLoss-NDCG++", "both", False, "ndcg-loss2++", "lambdaloss"),
    _truncated("LambdaRank-BNDCG", "rank", True),
    _truncated("LambdaLoss-BNDCG", "distance", True),
    _truncated("LambdaLoss-BNDCG++", "both", True),
    *(
        _extended(base, weight, strategy, binary)
        for binary in (False, True)
        for base, weight in _EXTENDED.items()
        for strategy in get_args(Strategy)
        if not (binary and strategy.startswith("all-"))
    ),
    Entry(
        name="NDCG-Loss1",
        build=build_loss1,
        formula="G_hi * d(rank_hi) / IDCG@tau",
        source=_LOSS,
        cost="O(tau n)",
        uses=frozenset({"gain", "tau"}),
    ),
    Entry(
        name="LambdaLoss-NDCG top-k",
        build=build_top_k,
        formula="(G_hi - G_lo) * delta / IDCG@k / (1 - d(r)) with r the lower rank, where r > k",
        source="Jagerman et al. 2022",
        cost="O(k n)",
        uses=frozenset({"gain", "delta_offset"}),
        needs_k=True,
        aliases=("lambdaloss-ndcg corrected",),
    ),
]
