"""An objective as a table: what a pair weighs, and which pairs there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankforce.forces.gains import GainLike
from rankforce.forces.tables import RankTable

Strategy = Literal["static", "random", "all", "all-static", "all-random"]
Ideal = Literal["none", "discounted", "values", "relevant", "hits"]


class Cost(NamedTuple):
    """How a weight becomes a force: "logistic", or "sigmoid" around `center`."""

    name: str = "logistic"
    sigma: float = 1.0
    center: float = 0.0


@dataclass(frozen=True)
class PairSet:
    """Pairs with at least one document in the top `cutoff`, extended by a Lambda-eX strategy."""

    cutoff: float = math.inf  # no cutoff: every pair
    extended: Strategy | None = None


@dataclass(frozen=True)
class Description:
    """weight = F(y_hi, y_lo) * (constant + |g(rank_hi) - g(rank_lo)| + D(distance)) / ideal.

    `label_term` is F: "difference" of gains, "higher" (gain of hi), or "one".
    `position` is g, `distance` is D, `correction` multiplies D by a value of the lower rank.
    `swaps` names a metric that is no sum over documents; its change replaces the bracket.
    `user` is a user's own weight(y_hi, y_lo, rank_hi, rank_lo); it replaces all of it.
    `listwise` names forces of a whole list that are no sum over pairs: there is no weight then.
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
    listwise: Literal["xendcg"] | None = None
    ideal: Ideal = "none"
    ideal_cutoff: float = math.inf
    pair_set: PairSet = PairSet()

    @property
    def needs_whole_list(self) -> bool:
        """Whether the labels of all documents of a list decide, not only those of a pair."""
        several = (self.swaps, self.pair_set.extended, self.listwise)
        return any(one is not None for one in several)

    @property
    def is_drawn(self) -> bool:
        """Whether the seed decides anything."""
        return self.listwise is not None or "random" in (self.pair_set.extended or "")
