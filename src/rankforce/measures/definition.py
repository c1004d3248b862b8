"""What a metric is: what a label and a rank are worth; and what the registry knows about it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankforce.common.types import Floats
from rankforce.measures.gains import GainLike

# The values of ranks, or of rank distances. Ranks are 1-based, as in the formulas.
RankTable = Callable[[Floats], Floats]

Kind = Literal["sum", "average precision", "reciprocal rank", "cascade", "own"]
Ideal = Literal["none", "best", "size", "k", "relevant", "reachable"]
Ties = Literal["row", "average", "last"]
NoRelevant = Literal[0, 1, "skip"]
# One query: its scores and labels, in the order of rows.
OwnMetric = Callable[[Any, Any], float]


def discount(rank: Floats) -> Floats:
    """d(r) = 1 / log2(1 + r)."""
    return np.asarray(1.0 / np.log2(1.0 + rank))


def inside(cutoff: int) -> RankTable:
    """1 up to `cutoff`, 0 beyond: the value of a rank for P@k, Recall@k and CG@k."""
    return lambda rank: np.where(rank <= cutoff, 1.0, 0.0)


def beyond(cutoff: int) -> RankTable:
    """max(r - k, 0): the value of a rank for ARP and ARPb@k (Adalia et al. 2025, Corollary 5.4)."""
    return lambda rank: (rank - cutoff).clip(0.0)


def persistence(p: float) -> RankTable:
    """(1 - p) p^(r-1): rank-biased precision (Moffat and Zobel 2008)."""
    return lambda rank: np.asarray((1.0 - p) * p ** (rank - 1.0))


@dataclass(frozen=True)
class Parameters:
    """The checked parameters of `rf.metric`; those that an entry does not use stay unset."""

    k: int | None = None
    gain: GainLike | None = None
    p: float = 0.8
    max_label: float | None = None

    @property
    def cutoff(self) -> float:
        """`k`, by default the whole list."""
        return math.inf if self.k is None else self.k

    def whole_k(self) -> int:
        """`k` of a metric or an objective that cannot do without."""
        assert self.k is not None
        return self.k


@dataclass(frozen=True)
class Definition:
    """A metric: what a document is worth, how ranks add that up, and what it is divided by.

    Of a "sum", it is the sum of gain * position; its LambdaRank follows from it. In a "cascade" a
    document is worth the probability to stop there.
    """

    kind: Kind
    gain: GainLike = "binary"
    position: RankTable | None = None  # value of a rank, where `kind` is "sum"
    end: float = math.inf  # ranks beyond it count nothing
    ideal: Ideal = "none"
    max_label: float | None = None  # of a "cascade"; None: the largest label of the data
    rel: float | None = None  # the least label that is relevant; None: all above 0
    ties: Ties = "row"
    is_share: bool = True  # from 0 to 1, so that percent make sense
    single: bool = False  # scores are compared in single precision
    function: OwnMetric | None = None  # where `kind` is "own"


@dataclass(frozen=True)
class Entry:
    """One metric: its name, how to build it, and what to tell about it."""

    name: str
    build: Callable[[Parameters], Definition]
    formula: str
    source: str
    uses: frozenset[str] = frozenset()  # parameters beyond k and no_relevant
    cutoff: Literal["optional", "needed", "none"] = "optional"
    no_relevant: NoRelevant = 0  # by default
    higher_is_better: bool = True
    aliases: tuple[str, ...] = ()
    ties: tuple[Ties, ...] = ("row", "average")
    over: tuple[Ideal, ...] = ()  # what the sum may be divided by, the default first

    @property
    def parameters(self) -> list[str]:
        """The parameters of `rf.metric` that this metric takes."""
        k = [] if self.cutoff == "none" else ["k"]
        over = ["over"] if self.over else []
        return [*k, "no_relevant", *sorted(self.uses), *over, "ties", "score_type"]
