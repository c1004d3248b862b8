"""The time that there is, and what it is kept for."""

from __future__ import annotations

import math
import threading
from time import monotonic
from typing import Any


class Clock:
    """Counts from `begun` (of `time.monotonic`); without a budget there is all the time.

    >>> Clock(None).left, Clock(60.0, begun=monotonic() - 20.0).left < 41.0
    (inf, True)
    """

    def __init__(self, budget: float | None, *, begun: float | None = None) -> None:
        self.begun = monotonic() if begun is None else begun
        self.budget = math.inf if budget is None else budget
        self.end = self.begun + self.budget

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return monotonic() - self.begun

    @property
    def left(self) -> float:
        """Seconds until the end."""
        return self.end - monotonic()

    def share(self, part: float) -> float:
        """Seconds that are a part of those left.

        >>> Clock(None).share(0.5)
        inf
        """
        return max(part * self.left, 0.0)


class Stop:
    """A callback that ends training when the time is over, or when nobody waits for it."""

    def __init__(self, until: float, is_over: threading.Event | None = None) -> None:
        self._until, self._is_over = until, is_over
        self._first: float | None = None
        self.was_late = False
        self.seconds = 0.0  # since the first tree

    def __call__(self, moment: Any) -> bool:
        """After each tree."""
        now = monotonic()
        self._first = now if self._first is None else self._first
        self.seconds = now - self._first
        self.was_late = now > self._until or (self._is_over is not None and self._is_over.is_set())
        return self.was_late
