"""Early stopping: no gain for as many rounds as agreed."""

from __future__ import annotations

from typing import Any

from rankforce.training.callbacks.base import Start
from rankforce.training.watch import Watch


class EarlyStopping:
    """A callback that stops when the metric that decides has not got better for `rounds` trees.

    Trees of a base are not counted.
    """

    def __init__(self, watch: Watch, rounds: int, base_steps: int) -> None:
        self._watch = watch
        self._least = base_steps + rounds

    def see_start(self, start: Start) -> bool:
        """A run that is resumed may be over already."""
        return self._is_over(start.begin_iteration)

    def __call__(self, moment: Any) -> bool:
        """After each tree."""
        return self._is_over(moment.iteration + 1)

    def _is_over(self, done: int) -> bool:
        return self._watch.should_stop and done >= self._least
