"""What a callback may see before the first new tree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import AnyObjective
from rankforce.models.model import Model


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


def tell_start(callbacks: Sequence[Callable[[Any], Any]], start: Start) -> None:
    """Tell the callbacks that want to know: those with a method `see_start`."""
    for callback in callbacks:
        see = getattr(callback, "see_start", None)
        if see is not None:
            see(start)
