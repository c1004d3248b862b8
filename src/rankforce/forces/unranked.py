"""Objectives that need no sorting: no rank decides what RankNet and the ARP losses weigh, nor the
forces of a whole list at once, or of each document by itself, which are no sum over pairs."""

from __future__ import annotations

from rankforce.forces.description import Description, Entry, Parameters


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


def build_xendcg(params: Parameters) -> Description:
    """The cross entropy of NDCG: the softmax of scores against gains that are drawn anew."""
    return Description(listwise="xendcg")


def build_squared_error(params: Parameters) -> Description:
    """Least squares: each score is pulled towards its label."""
    return Description(gain="label difference", listwise="squared-error")


_LOSS = "Wang et al. 2018"
_COST = "O(n^2), no sort"

PAIRWISE = [
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
        metric="P",
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

LISTWISE = [
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
    Entry(
        "squared-error",
        build_squared_error,
        "no pairs: y - s",
        "Adalia et al. 2025, section 2.1",
        "O(n), no sort",
        has_cutoff=False,
        listwise=True,
        pointwise=True,
        aliases=("regression", "regression_l2", "mean_squared_error", "mse", "l2", "pointwise"),
    ),
]
