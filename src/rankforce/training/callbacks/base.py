"""What happens beside training: callbacks are told of its start, of each step, and of its end.

A callback is a function of a `Moment`; True means that it wants to stop. It may also have methods
`see_start(start)`, whose True means that there is nothing to do, and `see_end(status)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import AnyObjective
from rankforce.models.model import Model
from rankforce.training.watch import Evaluation

Callback = Callable[[Any], Any]
FINISHED, KILLED, FAILED = "FINISHED", "KILLED", "FAILED"


class Start(NamedTuple):
    """A run before its first new tree; names as in `Moment`."""

    model: Model
    begin_iteration: int
    end_iteration: int
    first: int  # trees of a base, which the run does not grow
    scores: Floats  # of the training set
    before: Floats  # the same, one tree earlier
    data: RankingData
    objective: AnyObjective
    queries: QueryIndex
    threads: int


class Seconds(NamedTuple):
    """How long a step took."""

    forces: float  # in the objective
    tree: float  # in all, without measuring and callbacks


class State(Protocol):
    """Scores of the training set behind a step, and the forces that made it, while it is told."""

    @property
    def scores(self) -> Floats:
        """Of the training set."""
        ...

    @property
    def lam(self) -> Floats:
        """Forces at the scores before the step."""
        ...

    @property
    def hess(self) -> Floats:
        """Their second derivatives."""
        ...


class InMemory(NamedTuple):
    """A state that is here."""

    scores: Floats
    lam: Floats
    hess: Floats


class Moment(NamedTuple):
    """What callbacks see after each tree. The first six are LightGBM's."""

    model: Model
    params: dict[str, Any]
    iteration: int  # from 0
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[Evaluation]
    state: State
    data: RankingData
    objective: AnyObjective
    queries: QueryIndex  # of the training set, in the order that decides ties
    threads: int
    best: int | None  # number of trees with the best value of the deciding metric so far
    seconds: Seconds

    @property
    def scores(self) -> Floats:
        """Of the training set."""
        return self.state.scores

    @property
    def lam(self) -> Floats:
        """Forces on the training set that made the step."""
        return self.state.lam

    @property
    def hess(self) -> Floats:
        """Their second derivatives."""
        return self.state.hess


class StopTraining(Exception):  # noqa: N818 - it is no error
    """A callback of LightGBM's wants to stop, and says how many trees were best."""

    def __init__(self, trees: int | None) -> None:
        super().__init__()
        self.trees = trees


def tell_start(callbacks: Sequence[Callback], start: Start) -> bool:
    """Tell the callbacks that want to know; True if one of them sees nothing left to do."""
    hooks = [getattr(callback, "see_start", None) for callback in callbacks]
    return True in [see(start) for see in hooks if see is not None]


def tell_step(callbacks: Sequence[Callback], moment: Moment) -> bool:
    """Tell the callbacks of a new tree; True if one of them wants to stop."""
    try:
        return True in [callback(moment) for callback in callbacks]
    except Exception as stop:
        # LightGBM's callbacks stop by an exception of theirs that says which tree was best.
        if not hasattr(stop, "best_iteration"):
            raise
        best = stop.best_iteration
        raise StopTraining(None if best is None else int(best) + 1) from None


def tell_end(callbacks: Sequence[Callback], status: str) -> None:
    """Tell the callbacks that training is over: "FINISHED", "KILLED" (by Ctrl-C) or "FAILED"."""
    for callback in callbacks:
        see = getattr(callback, "see_end", None)
        if see is not None:
            see(status)
