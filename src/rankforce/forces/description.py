"""An objective as a table: what a pair weighs, which pairs there are, and what else is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from rankforce.measures import definition
from rankforce.measures.definition import RankTable, discount
from rankforce.measures.gains import GainLike

Strategy = Literal["static", "random", "all", "all-static", "all-random"]
Missed = Literal["deficit", "label"]
Ideal = Literal["none", "discounted", "values", "relevant", "hits"]


class Cost(NamedTuple):
    """How a weight becomes a force: "logistic", or "sigmoid" around `center`."""

    name: str = "logistic"
    sigma: float = 1.0
    center: float = 0.0


@dataclass(frozen=True)
class PairSet:
    """Pairs with at least one document in the top `cutoff`, extended by a Lambda-eX strategy.

    `missed` says which documents the top lacks (Marcuzzi et al. 2023): by "deficit", as in the
    published code, those whose label the ideal top has more often; by "label", as in section 4.1,
    those whose label it has at all.
    """

    cutoff: float = math.inf  # no cutoff: every pair
    extended: Strategy | None = None
    missed: Missed = "deficit"


@dataclass(frozen=True)
class Description:
    """weight = F(y_hi, y_lo) * (constant + |g(rank_hi) - g(rank_lo)| + D(distance)) / ideal.

    `label_term` is F: "difference" of gains, "higher" (gain of hi), or "one".
    `position` is g, `distance` is D, `correction` multiplies D by a value of the lower rank.
    `swaps` names a metric that is no sum over documents; its change replaces the bracket.
    `user` is a user's own weight(y_hi, y_lo, rank_hi, rank_lo); it replaces all of it.
    `listwise` names forces that are no sum over pairs, but of a whole list, or of each document by
    itself: there is no weight then.
    """

    label_term: Literal["difference", "higher", "one"] = "difference"
    gain: GainLike = "2^y-1"
    binary: bool = False  # labels become b = [y > 0] before anything else
    constant: float = 0.0
    position: RankTable | None = None
    position_of_hi_only: bool = False
    flat_beyond: float = math.inf  # the rank from which `position` no longer changes
    distance: RankTable | None = None
    correction: RankTable | None = None
    swaps: Literal["map", "mrr", "err"] | None = None
    swaps_cutoff: float = math.inf
    max_label: float | None = None  # of ERR; the largest label of the data if None
    user: Callable[[float, float, int, int], float] | None = None
    listwise: Literal["xendcg", "squared-error"] | None = None
    ideal: Ideal = "none"
    ideal_cutoff: float = math.inf
    pair_set: PairSet = PairSet()

    @property
    def needs_whole_list(self) -> bool:
        """Whether the labels of all documents of a list decide, not only those of a pair."""
        several = (self.swaps, self.pair_set.extended, self.listwise)
        return any(one is not None for one in several)

    @property
    def weighs_alike(self) -> bool:
        """Whether every pair weighs the same, whatever its labels and ranks."""
        by_rank = (self.position, self.distance, self.swaps, self.user, self.listwise)
        is_whole = self.pair_set == PairSet() and self.ideal == "none"
        return self.label_term == "one" and is_whole and all(one is None for one in by_rank)

    @property
    def is_drawn(self) -> bool:
        """Whether the seed decides anything."""
        return self.listwise == "xendcg" or "random" in (self.pair_set.extended or "")


@dataclass(frozen=True)
class Parameters(definition.Parameters):
    """The checked parameters of `rf.objective`; those that an entry does not use stay unset."""

    tau: float | None = None
    mu: float = 1.0
    delta_offset: int = 0
    missed: Missed = "deficit"

    @property
    def truncation(self) -> float:
        """`tau`, by default `k`, by default no truncation."""
        return self.cutoff if self.tau is None else self.tau


@dataclass(frozen=True)
class Entry:
    """One objective: its name, how to build it, and what to tell about it."""

    name: str
    build: Callable[[Parameters], Description]
    formula: str
    source: str
    cost: str
    uses: frozenset[str] = frozenset()  # parameters beyond k, sigma and seed
    needs_k: bool = False
    has_cutoff: bool = True  # whether k changes anything
    of_clicks: bool = False  # labels are shares of clicks, from 0 to 1, and no grades
    listwise: bool = False  # forces of a whole list: no pair has a weight, nor a cost
    pointwise: bool = False  # listwise, and a force depends on its own document alone
    aliases: tuple[str, ...] = ()
    metric: str = "NDCG"  # that it is for

    @property
    def parameters(self) -> list[str]:
        """The parameters of `rf.objective` that this objective takes."""
        of_pairs = {"sigma", "cost", "center"} if self.listwise else set()
        every = ["k", *sorted(self.uses), "sigma", "seed", "cost", "center", "source", "norm"]
        return [name for name in every if name not in of_pairs]


def delta(mu: float, offset: int) -> RankTable:
    """mu * (d(m) - d(m + 1)) at distance m: LambdaLoss (Wang et al. 2018).

    `offset=1` shifts by one distance, as the published forks of LightGBM do.
    """
    return lambda far: mu * (discount(far + offset) - discount(far + offset + 1.0))


def gap_exactly(mu: float, k: int) -> RankTable:
    """mu where the distance is k: LambdaGap-S."""
    return lambda far: np.where(far == k, mu, 0.0)


def gap_at_least(mu: float, k: int) -> RankTable:
    """mu where the distance is at least k: LambdaGap-X."""
    return lambda far: np.where(far >= k, mu, 0.0)


def top_k_correction(k: int) -> RankTable:
    """1 / (1 - d(r)) beyond rank k (Jagerman et al. 2022)."""
    return lambda rank: np.where(rank > k, 1.0 / (1.0 - discount(np.maximum(rank, 2.0))), 1.0)
