"""Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; Akiba et al. 2019)."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from rankforce.experiments.space import Dimension, Point, Space


class Optuna:
    """A `Searcher`: ten points anywhere, then more of what was good."""

    def __init__(self, space: Space, start: Point, seed: int) -> None:
        self._space = {name: _distribution(one) for name, one in space.items()}
        self._start, self._seed = start, seed
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # it tells of studies that it makes
        self._study = optuna.create_study(direction="minimize")
        optuna.logging.set_verbosity(level)
        self._asked: dict[int, Any] = {}

    def ask(self, number: int) -> Point:
        """The start, then what Optuna says with a seed of the trial's own."""
        if not number:
            return self._start
        seed = int(np.random.default_rng([self._seed, number]).integers(2**31))
        self._study.sampler = optuna.samplers.TPESampler(seed=seed)
        self._asked[number] = self._study.ask(self._space)
        return {name: self._asked[number].params[name] for name in self._space}

    def tell(self, number: int, point: Point, cost: float | None) -> None:
        """A trial that was asked for ends; another one is added as it was."""
        state = TrialState.FAIL if cost is None else TrialState.COMPLETE
        if number in self._asked:
            self._study.tell(self._asked.pop(number), cost, state)
            return
        self._study.add_trial(
            create_trial(state=state, value=cost, params=point, distributions=self._space)
        )


def _distribution(one: Dimension) -> Any:
    if isinstance(one, list):
        return CategoricalDistribution(one)
    if one.whole:
        return IntDistribution(int(one.low), int(one.high), log=one.log)
    return FloatDistribution(one.low, one.high, log=one.log)
