"""LambdaRank for a metric M: the weight is |M after swapping the pair - M before|."""

from __future__ import annotations

import functools
from typing import Literal

from rankforce.forces.description import Description, PairSet
from rankforce.forces.entry import Entry, Parameters
from rankforce.forces.tables import beyond, discount_until, inside, persistence


def build_dcg(
    params: Parameters, *, normalised: bool, binary: bool = False, gain: str = "2^y-1"
) -> Description:
    """DCG and NDCG whose discounts end at k (not the truncated pair set of LambdaRank-NDCG)."""
    return Description(
        gain="binary" if binary else params.gain or gain,
        binary=binary,
        position=discount_until(params.cutoff),
        flat_beyond=params.cutoff,
        ideal="discounted" if normalised else "none",
        ideal_cutoff=params.cutoff,
        pair_set=PairSet(params.cutoff),
    )


def build_swaps(params: Parameters, *, metric: Literal["map", "mrr", "err"]) -> Description:
    """Metrics that are no sum over documents."""
    return Description(
        label_term="difference" if metric == "err" else "one",
        binary=metric != "err",
        swaps=metric,
        swaps_cutoff=params.cutoff,
        max_label=params.max_label,
        ideal="hits" if metric == "map" else "none",
    )


def build_rbp(params: Parameters) -> Description:
    """Rank-biased precision."""
    return Description(gain="binary", binary=True, position=persistence(params.p))


def build_recall(params: Parameters) -> Description:
    """Relevant documents in the top k, over all relevant ones."""
    k = params.whole_k()
    return Description(
        gain="binary",
        binary=True,
        position=inside(k),
        flat_beyond=k,
        ideal="relevant",
        pair_set=PairSet(k),
    )


def build_arp(params: Parameters) -> Description:
    """Average relevance position: sum of b * r, or of y * r with gain='y'."""
    gain = params.gain or "binary"
    return Description(gain=gain, binary=gain == "binary", position=beyond(0))


_GAIN = frozenset({"gain"})


def _entry(metric: str, build: functools.partial[Description], formula: str, source: str) -> Entry:
    cost = "O(k n)" if metric in ("dcg", "ndcg", "bndcg", "cndcg") else "O(n^2)"
    uses = {"dcg": _GAIN, "ndcg": _GAIN, "err": frozenset({"max_label"})}.get(metric, frozenset())
    of_clicks = metric == "cndcg"
    return Entry(f"lambdarank({metric})", build, formula, source, cost, uses, of_clicks=of_clicks)


_GAINS_END = "(G_hi - G_lo) * |d_k(rank_hi) - d_k(rank_lo)|, d_k ends at k"

ENTRIES = [
    _entry("dcg", functools.partial(build_dcg, normalised=False), _GAINS_END, "Burges et al. 2006"),
    _entry(
        "ndcg",
        functools.partial(build_dcg, normalised=True),
        f"{_GAINS_END}; / IDCG@k",
        "Svore et al. 2011, eq. 16",
    ),
    _entry(
        "bndcg",
        functools.partial(build_dcg, normalised=True, binary=True),
        "(b_hi - b_lo) * |d_k(rank_hi) - d_k(rank_lo)| / IBDCG@k",
        "Adalia et al. 2025, section 5.3",
    ),
    _entry(
        "cndcg",
        functools.partial(build_dcg, normalised=True, gain="2^(4c)-1"),
        f"{_GAINS_END}; / IDCG@k; gain 2^(4c) - 1 of labels c from 0 to 1",
        "Svore et al. 2011, eq. 9",
    ),
    _entry(
        "map",
        functools.partial(build_swaps, metric="map"),
        "|change of AP@k|, AP@k over min(k, relevant)",
        "Donmez et al. 2009",
    ),
    _entry(
        "mrr",
        functools.partial(build_swaps, metric="mrr"),
        "|change of RR@k|",
        "Donmez et al. 2009",
    ),
    _entry(
        "err",
        functools.partial(build_swaps, metric="err"),
        "|change of ERR@k|, stop probability (2^y - 1) / 2^max_label",
        "Chapelle et al. 2009",
    ),
    Entry(
        "lambdarank(rbp)",
        build_rbp,
        "(b_hi - b_lo) * (1 - p) * |p^(rank_hi - 1) - p^(rank_lo - 1)|",
        "Moffat and Zobel 2008",
        "O(n^2)",
        frozenset({"p"}),
        has_cutoff=False,
    ),
    Entry(
        "lambdarank(recall)",
        build_recall,
        "(b_hi - b_lo) * [i <= k < j] / relevant, ranks i < j",
        "Adalia et al. 2025, section 2.1",
        "O(k n), no sort",
        needs_k=True,
    ),
    Entry(
        "lambdarank(arp)",
        build_arp,
        "(b_hi - b_lo) * |rank_hi - rank_lo|",
        "Joachims et al. 2017",
        "O(n^2)",
        _GAIN,
        has_cutoff=False,
    ),
]
