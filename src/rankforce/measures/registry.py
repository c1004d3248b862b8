"""Every metric by name."""

from __future__ import annotations

import functools

from rankforce.measures.definition import (
    Definition,
    Entry,
    Parameters,
    beyond,
    discount,
    inside,
    persistence,
)
from rankforce.measures.gains import CLICKS, GainLike


def build_dcg(
    params: Parameters, *, normalised: bool = True, gain: GainLike = "2^y-1"
) -> Definition:
    """DCG@k, and NDCG@k with the gain, with b, or with clicks."""
    return Definition(
        "sum",
        params.gain or gain,
        position=discount,
        end=params.cutoff,
        ideal="best" if normalised else "none",
        is_share=normalised,
    )


def build_cg(params: Parameters) -> Definition:
    """CG@k."""
    k = params.whole_k()
    return Definition("sum", params.gain or "y", position=inside(k), end=k, is_share=False)


def build_precision(params: Parameters) -> Definition:
    """P@k."""
    k = params.whole_k()
    return Definition("sum", position=inside(k), end=k, ideal="size")


def build_recall(params: Parameters) -> Definition:
    """Recall@k."""
    k = params.whole_k()
    return Definition("sum", position=inside(k), end=k, ideal="relevant")


def build_average_precision(params: Parameters) -> Definition:
    """AP@k."""
    return Definition("average precision", end=params.cutoff, ideal="reachable")


def build_reciprocal_rank(params: Parameters) -> Definition:
    """RR@k."""
    return Definition("reciprocal rank", end=params.cutoff)


def build_err(params: Parameters) -> Definition:
    """ERR@k."""
    return Definition("cascade", end=params.cutoff, max_label=params.max_label)


def build_rbp(params: Parameters) -> Definition:
    """RBP(p)."""
    return Definition("sum", position=persistence(params.p))


def build_arp(params: Parameters) -> Definition:
    """ARP, and ARPb@k where there is a cutoff."""
    gain = params.gain or "binary"
    return Definition("sum", gain, position=beyond(params.k or 0), is_share=False)


_GAIN = frozenset({"gain"})
_REL = frozenset({"rel"})

ENTRIES = [
    Entry(
        "NDCG",
        build_dcg,
        "sum over r <= k of G(y) d(r), over its ideal value",
        "Järvelin and Kekäläinen 2002",
        _GAIN,
        no_relevant=1,
    ),
    Entry(
        "DCG",
        functools.partial(build_dcg, normalised=False),
        "sum over r <= k of G(y) d(r)",
        "Järvelin and Kekäläinen 2002",
        _GAIN,
    ),
    Entry(
        "CG",
        build_cg,
        "sum over r <= k of y; gain='2^y-1': of G(y)",
        "Järvelin and Kekäläinen 2002",
        _GAIN,
        cutoff="needed",  # every order of a whole list has the same
        aliases=("cumulated gain", "cumulative gain"),
    ),
    Entry(
        "BNDCG",
        functools.partial(build_dcg, gain="binary"),
        "NDCG with gain b",
        "Adalia et al. 2025, section 5.3",
        _REL,
        no_relevant=1,
        aliases=("binary ndcg",),
    ),
    Entry(
        "CNDCG",
        functools.partial(build_dcg, gain=CLICKS),
        "NDCG with gain 2^(4c) - 1 of labels c from 0 to 1",
        "Svore et al. 2011, eq. 9",
        no_relevant=1,
    ),
    Entry(
        "MAP",
        build_average_precision,
        "sum over r <= k of b * precision at r, over min(k, relevant)",
        "Buckley and Voorhees 2000",
        _REL,
        aliases=("ap", "average precision", "mean average precision"),
        ties=("row", "average", "last"),
        over=("reachable", "relevant"),
    ),
    Entry(
        "MRR",
        build_reciprocal_rank,
        "1 / rank of the first relevant document, 0 beyond k",
        "Voorhees 1999",
        _REL,
        aliases=("rr", "recip rank", "reciprocal rank", "mean reciprocal rank"),
    ),
    Entry(
        "ERR",
        build_err,
        "sum over r <= k of P(stop at r) / r, stop probability (2^y - 1) / 2^max_label",
        "Chapelle et al. 2009",
        frozenset({"max_label"}),
    ),
    Entry(
        "RBP",
        build_rbp,
        "(1 - p) * sum of b * p^(r - 1)",
        "Moffat and Zobel 2008",
        frozenset({"p", "rel"}),
        cutoff="none",
    ),
    Entry(
        "P",
        build_precision,
        "relevant documents in the top k, over min(k, n)",
        "van Rijsbergen 1979",
        _REL,
        cutoff="needed",
        aliases=("pre", "prec", "precision"),
        over=("size", "k"),
    ),
    Entry(
        "Recall",
        build_recall,
        "relevant documents in the top k, over all relevant ones",
        "van Rijsbergen 1979",
        _REL,
        cutoff="needed",
        aliases=("r", "rec"),
    ),
    Entry(
        "ARP",
        build_arp,
        "sum of b * r; gain='y': sum of y * r",
        "Joachims et al. 2017",
        _GAIN,
        cutoff="none",
        higher_is_better=False,
    ),
    Entry(
        "ARPb",
        build_arp,
        "sum of b * max(r - k, 0)",
        "Adalia et al. 2025, Corollary 5.4",
        _REL,
        cutoff="needed",
        higher_is_better=False,
        aliases=("arpbk",),
    ),
]
