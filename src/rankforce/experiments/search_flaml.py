"""FLAML's cost-frugal optimisation (Wu et al. 2021), the search of Adalia et al. 2025."""

from __future__ import annotations

from typing import Any

import numpy as np
from flaml import CFO
from flaml import tune as flaml

from rankforce.experiments.search import RandomSearch
from rankforce.experiments.space import Dimension, Point, Space

COST = "cost"
ATTEMPTS = 20  # it has no answer when a walk ends, and a new one begins with the next question


class Flaml:
    """A `Searcher`: steps of random direction from the best point, restarts when they end."""

    def __init__(self, space: Space, start: Point, seed: int) -> None:
        self._names = list(space)
        self._other = RandomSearch(space, start, seed)
        # Without costs: seconds would make the search another one each time.
        self._search = CFO(
            metric=COST,
            mode="min",
            space={name: _domain(one) for name, one in space.items()},
            points_to_evaluate=[dict(start)],
            low_cost_partial_config=dict(start),  # where restarts begin
            seed=seed,
            cost_attr=None,
        )
        self._asked: dict[int, bool] = {}

    def ask(self, number: int) -> Point:
        """What FLAML says; a draw where it has no answer, as may be with many trials at a time."""
        found = None
        for _ in range(ATTEMPTS):
            found = found or self._search.suggest(str(number))
        self._asked[number] = bool(found)
        if not (found and number):  # the start as it is: FLAML's has been through a logarithm
            return self._other.ask(number)
        return {name: _plain(found[name]) for name in self._names}

    def tell(self, number: int, point: Point, cost: float | None) -> None:
        """FLAML learns from its own trials alone."""
        if number not in self._asked:
            self.ask(number)
        if not self._asked.pop(number):
            return
        result = None if cost is None else {COST: cost, "config": dict(point)}
        self._search.on_trial_complete(str(number), result, error=cost is None)


def _domain(one: Dimension) -> Any:
    if isinstance(one, list):
        return flaml.choice(one)
    if one.whole:
        kind = flaml.lograndint if one.log else flaml.randint
        return kind(int(one.low), int(one.high) + 1)  # the upper end is left out
    return (flaml.loguniform if one.log else flaml.uniform)(one.low, one.high)


def _plain(value: Any) -> Any:
    """A value of Python's own types; not `types.plain`, which has no place for tau = inf."""
    return value.item() if isinstance(value, np.generic) else value
