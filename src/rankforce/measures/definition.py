"""What the registry knows about a metric, and how parameters become a definition."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rankforce.forces.entry import Parameters
from rankforce.forces.gains import GainLike
from rankforce.forces.tables import RankTable

Kind = Literal["sum", "average precision", "reciprocal rank", "cascade", "own"]
Value = Literal["gain", "binary", "clicks", "stop"]
Ideal = Literal["none", "best", "size", "k", "relevant", "reachable"]
Ties = Literal["row", "average", "last"]
NoRelevant = Literal[0, 1, "skip"]
# One query: its scores and labels, in the order of rows.
OwnMetric = Callable[[Any, Any], float]


@dataclass(frozen=True)
class Definition:
    """A metric: what a document is worth, how ranks add that up, and what it is divided by."""

    kind: Kind
    value: Value = "binary"
    gain: GainLike = "2^y-1"  # where `value` is "gain"
    position: RankTable | None = None  # value of a rank, where `kind` is "sum"
    end: float = math.inf  # ranks beyond it count nothing
    ideal: Ideal = "none"
    max_label: float | None = None  # of "stop"; None: the largest label of the data
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
