"""Weights of the parts of a mixed objective, which may move with the iteration."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.checks import check_choice, check_number
from rankforce.common.errors import RankforceError

KINDS = ("linear", "exponential")
OwnSchedule = Callable[[int], float]


class Schedule(NamedTuple):
    """A weight that moves from one objective to another (Svore et al. 2011, section 6.2).

    w_0 is `start`; linear: w_m = w_{m-1} + rate; exponential: w_m = w_{m-1} + exp(-rate / m);
    never below 0 nor above 1. Or a function of the iteration.
    """

    kind: str | OwnSchedule
    start: float = 0.0
    rate: float = 0.01

    def at(self, iteration: int) -> float:
        """The weight of the second objective at an iteration, from 0.

        >>> [Schedule("linear", 0.25, 0.5).at(m) for m in range(3)]
        [0.25, 0.75, 1.0]
        """
        if callable(self.kind):
            return _check_weight(self.kind(iteration), iteration)
        if self.kind == "linear":
            grown = self.rate * iteration
        else:
            steps = np.arange(1.0, iteration + 1.0)
            grown = math.fsum(np.exp(-self.rate / steps))
        return min(max(self.start + grown, 0.0), 1.0)


def make_schedule(kind: Any, start: float, rate: float | None) -> Schedule:
    """A schedule from checked parameters."""
    if callable(kind):
        if start != 0.0 or rate is not None:
            raise RankforceError("start and rate do not go with a schedule that is a function")
        return Schedule(kind)
    name = check_choice("schedule", kind, KINDS)
    begin = check_number("start", start, least=0.0)
    if begin > 1.0:
        raise RankforceError(f"start is {start!r}: it must lie from 0 to 1")
    usual = {"linear": 0.01, "exponential": 100.0}[name]
    return Schedule(name, begin, check_number("rate", usual if rate is None else rate, least=0.0))


class Weight(NamedTuple):
    """What the forces of a part are multiplied by: a factor times schedules."""

    factor: float = 1.0
    moving: tuple[tuple[Schedule, bool], ...] = ()  # with w, or with 1 - w

    def at(self, iteration: int) -> float:
        """The weight at an iteration."""
        found = self.factor
        for schedule, is_second in self.moving:
            w = schedule.at(iteration)
            found *= w if is_second else 1.0 - w
        return found

    def times(self, factor: float) -> Weight:
        """The same, multiplied."""
        return self._replace(factor=self.factor * factor)

    def by(self, schedule: Schedule, *, is_second: bool) -> Weight:
        """The same, multiplied by a schedule."""
        return self._replace(moving=(*self.moving, (schedule, is_second)))


def _check_weight(value: Any, iteration: int) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number <= 1.0:
        raise RankforceError(
            f"the schedule's weight at iteration {iteration} is {value!r}: it must lie from 0 to 1"
        )
    return number
