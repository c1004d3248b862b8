"""Listwise objectives: forces of a whole list at once, which are no sum over pairs."""

from __future__ import annotations

from rankforce.forces.description import Description
from rankforce.forces.entry import Entry, Parameters


def build_xendcg(params: Parameters) -> Description:
    """The cross entropy of NDCG: the softmax of scores against gains that are drawn anew."""
    return Description(listwise="xendcg")


ENTRIES = [
    Entry(
        "xendcg",
        build_xendcg,
        "no pairs: t - softmax(s) and its next two orders; t ~ 2^y - gamma, gamma from [0, 1]",
        "Bruch et al. 2021",
        "O(n), no sort",
        has_cutoff=False,
        listwise=True,
        aliases=("rank_xendcg", "xe_ndcg", "xe_ndcg_mart", "xendcg_mart"),
    ),
]
