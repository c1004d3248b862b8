"""What the registry knows about an objective, and the parameters that build its description."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rankforce.forces.description import Description
from rankforce.forces.gains import GainLike


@dataclass(frozen=True)
class Parameters:
    """The checked parameters of `rf.objective`; those that an entry does not use stay unset."""

    k: int | None = None
    tau: float | None = None
    mu: float = 1.0
    gain: GainLike | None = None
    delta_offset: int = 0
    p: float = 0.8
    max_label: float | None = None

    @property
    def truncation(self) -> float:
        """`tau`, by default `k`, by default no truncation."""
        if self.tau is not None:
            return self.tau
        return math.inf if self.k is None else self.k

    @property
    def cutoff(self) -> float:
        """`k`, by default the whole list."""
        return math.inf if self.k is None else self.k

    def whole_k(self) -> int:
        """`k` of an objective that cannot do without."""
        assert self.k is not None
        return self.k


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
    aliases: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[str]:
        """The parameters of `rf.objective` that this objective takes."""
        of_pairs = {"sigma", "cost", "center"} if self.listwise else set()
        every = ["k", *sorted(self.uses), "sigma", "seed", "cost", "center", "source", "norm"]
        return [name for name in every if name not in of_pairs]
