"""LambdaRank for a metric M: the weight is |M after swapping the pair - M before|.

What M is stands in the registry of metrics: what a label and a rank are worth, and what the sum is
divided by. Metrics that are no such sum have statistics of swaps instead (`kernels.swaps`).
"""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np

from rankforce.common.types import Floats
from rankforce.forces.description import Description, Entry, Ideal, PairSet, Parameters
from rankforce.measures.definition import Definition, RankTable
from rankforce.measures.registry import ENTRIES as METRICS

_METRICS = {entry.name: entry for entry in METRICS}
# P@k is over min(k, n): a scale that the weights of Adalia et al. 2025 do without.
_IDEALS: dict[str, Ideal] = {"best": "values", "relevant": "relevant", "reachable": "hits"}
_SWAPS: dict[str, Literal["map", "mrr", "err"]] = {
    "average precision": "map",
    "reciprocal rank": "mrr",
    "cascade": "err",
}


def build_swap(params: Parameters, *, metric: str) -> Description:
    """The change of a metric of the registry, with those of its parameters that are given."""
    entry = _METRICS[metric]
    aim = entry.build(params)
    # A gain that a user asked for may be 0 for labels that still tell documents apart.
    is_binary = aim.gain == "binary" == entry.build(Parameters(k=params.k)).gain
    ideal = _IDEALS.get(aim.ideal, "none")
    if aim.kind != "sum":
        is_graded = aim.kind == "cascade"
        return Description(
            label_term="difference" if is_graded else "one",
            binary=not is_graded,
            swaps=_SWAPS[aim.kind],
            swaps_cutoff=aim.end,
            max_label=aim.max_label,
            ideal=ideal,
        )
    return Description(
        gain=aim.gain,
        binary=is_binary,
        position=_worth(aim, entry.higher_is_better),
        flat_beyond=aim.end,
        ideal=ideal,
        pair_set=PairSet(aim.end),
    )


def _worth(aim: Definition, higher_is_better: bool) -> RankTable:
    """What a rank is worth, more for a better one, and nothing beyond the metric's end."""
    position = aim.position
    assert position is not None

    def values(ranks: Floats) -> Floats:
        found = np.where(ranks <= aim.end, position(ranks), 0.0)
        return found if higher_is_better else -found

    return values


def for_metric(
    aim: str, formula: str, source: str, cost: str, *, name: str | None = None, **more: Any
) -> Entry:
    """LambdaRank for a metric of the registry: it has the metric's parameters and cutoff."""
    entry = _METRICS[aim]
    return Entry(
        name or f"lambdarank({aim.lower()})",
        functools.partial(build_swap, metric=aim),
        formula,
        source,
        cost,
        entry.uses - {"rel"},
        needs_k=entry.cutoff == "needed",
        has_cutoff=entry.cutoff != "none",
        of_clicks=aim == "CNDCG",
        **{"metric": aim} | more,
    )


_GAINS_END = "(G_hi - G_lo) * |d_k(rank_hi) - d_k(rank_lo)|, d_k ends at k"

ENTRIES = [
    for_metric(
        "CG",
        "(G_hi - G_lo) * [i <= k < j], ranks i < j; G(y) = y",
        "Järvelin and Kekäläinen 2002",
        "O(k n), no sort",
    ),
    for_metric("DCG", _GAINS_END, "Burges et al. 2006", "O(k n)"),
    for_metric("NDCG", f"{_GAINS_END}; / IDCG@k", "Svore et al. 2011, eq. 16", "O(k n)"),
    for_metric(
        "BNDCG",
        "(b_hi - b_lo) * |d_k(rank_hi) - d_k(rank_lo)| / IBDCG@k",
        "Adalia et al. 2025, section 5.3",
        "O(k n)",
    ),
    for_metric(
        "CNDCG",
        f"{_GAINS_END}; / IDCG@k; gain 2^(4c) - 1 of labels c from 0 to 1",
        "Svore et al. 2011, eq. 9",
        "O(k n)",
    ),
    for_metric(
        "MAP", "|change of AP@k|, AP@k over min(k, relevant)", "Donmez et al. 2009", "O(n^2)"
    ),
    for_metric("MRR", "|change of RR@k|", "Donmez et al. 2009", "O(n^2)"),
    for_metric(
        "ERR",
        "|change of ERR@k|, stop probability (2^y - 1) / 2^max_label",
        "Chapelle et al. 2009",
        "O(n^2)",
    ),
    for_metric(
        "RBP",
        "(b_hi - b_lo) * (1 - p) * |p^(rank_hi - 1) - p^(rank_lo - 1)|",
        "Moffat and Zobel 2008",
        "O(n^2)",
    ),
    for_metric(
        "Recall",
        "(b_hi - b_lo) * [i <= k < j] / relevant, ranks i < j",
        "Adalia et al. 2025, section 2.1",
        "O(k n), no sort",
    ),
    for_metric("ARP", "(b_hi - b_lo) * |rank_hi - rank_lo|", "Joachims et al. 2017", "O(n^2)"),
]
