"""Objectives whose weight no rank decides: RankNet and the ARP losses. They need no sorting."""

from __future__ import annotations

from rankforce.forces.description import Description
from rankforce.forces.entry import Entry, Parameters


def build_ranknet(params: Parameters) -> Description:
    """Every pair with different labels weighs 1."""
    return Description(label_term="one", constant=1.0)


def build_binary_ranknet(params: Parameters) -> Description:
    """Every pair of a relevant and an irrelevant document weighs 1."""
    return Description(label_term="one", binary=True, constant=1.0)


def build_arp1(params: Parameters) -> Description:
    """ARP-Loss1: the label of hi."""
    return Description(label_term="higher", gain="y", constant=1.0)


def build_arp2(params: Parameters) -> Description:
    """ARP-Loss2: the difference of the labels."""
    return Description(gain="label difference", constant=1.0)


_LOSS = "Wang et al. 2018"
_COST = "O(n^2), no sort"

ENTRIES = [
    Entry(
        "RankNet",
        build_ranknet,
        "1",
        "Burges et al. 2005",
        _COST,
        aliases=("rankmart",),
        has_cutoff=False,
    ),
    Entry(
        "BinRankNet",
        build_binary_ranknet,
        "b_hi - b_lo",
        "Adalia et al. 2025, Corollary 5.5",
        _COST,
        has_cutoff=False,
    ),
    Entry(
        "LambdaLoss-ARP1",
        build_arp1,
        "y_hi",
        _LOSS,
        _COST,
        aliases=("arp-loss1",),
        has_cutoff=False,
    ),
    Entry(
        "LambdaLoss-ARP2",
        build_arp2,
        "y_hi - y_lo",
        _LOSS,
        _COST,
        aliases=("arp-loss2",),
        has_cutoff=False,
    ),
]
