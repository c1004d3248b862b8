"""Who proposes what to try next: a searcher is asked for points, and told what they cost."""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.experiments.space import Point, Space


class Searcher(Protocol):
    """Proposes points of a space.

    It is asked for trials by their numbers, 0 being the start, and told how they went in any order;
    of trials of an earlier session it is told without having been asked. What it proposes depends
    on the seed, the number and what it was told alone.
    """

    def __init__(self, space: Space, start: Point, seed: int) -> None: ...

    def ask(self, number: int) -> Point:
        """The point to try."""
        ...

    def tell(self, number: int, point: Point, cost: float | None) -> None:
        """What came out: the lower the better, None if nothing did."""
        ...


class RandomSearch:
    """Points anywhere, each parameter by itself: needs no further package."""

    def __init__(self, space: Space, start: Point, seed: int) -> None:
        self._space, self._start, self._seed = space, start, seed

    def ask(self, number: int) -> Point:
        """The start, then a draw.

        >>> RandomSearch({"tau": [5]}, {"tau": 5}, 0).ask(1)
        {'tau': 5}
        """
        if not number:
            return self._start
        rng = np.random.default_rng([self._seed, number])
        return {
            name: one[rng.integers(len(one))] if isinstance(one, list) else one.at(rng.random())
            for name, one in self._space.items()
        }

    def tell(self, number: int, point: Point, cost: float | None) -> None:
        """Nothing is learnt from it."""


# The module and the class of each; a module is imported when its searcher is wanted.
SEARCHERS = {
    "optuna": ("rankforce.experiments.search_optuna", "Optuna"),
    "flaml": ("rankforce.experiments.search_flaml", "Flaml"),
    "random": (__name__, "RandomSearch"),
}


def make_searcher(name: str, space: Space, start: Point, seed: int) -> Searcher:
    """The searcher of that name; one whose package is not there is a mistake in one line."""
    module, kind = SEARCHERS[check_choice("searcher", name, SEARCHERS)]
    try:
        found: Any = getattr(importlib.import_module(module), kind)(space, start, seed)
    except ModuleNotFoundError as error:
        raise RankforceError(
            f"searcher {name!r} needs {error.name}: pip install 'rankforce[tune]', or choose "
            "searcher 'random', which needs nothing"
        ) from None
    made: Searcher = found
    return made
