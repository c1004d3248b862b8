"""What a run says while it goes: one live line in a terminal, plain lines in logs."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Sequence
from typing import TextIO

from rankforce.live_line import LiveLine, clock
from rankforce.training.watch import Evaluation

LOGGER = logging.getLogger("rankforce")
# Seconds between two lines in a log, and between two redraws of a terminal's line.
LOG_EVERY = 10.0
DRAW_EVERY = 0.1


class Progress:
    """Shows iterations as they pass.

    `wish` is None (a live line in a terminal, else lines to the logger "rankforce"), True (lines on
    standard error whatever it is) or False (silence).
    """

    def __init__(self, total: int, wish: bool | None, *, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_live = wish is not False and self._stream.isatty()
        self._is_plain = wish is True and not self._is_live
        self._is_logged = wish is None and not self._is_live
        self._total = total
        self._start = self._shown = time.monotonic()
        self._first: int | None = None
        self._line = LiveLine(self._stream)

    def say(self, text: str) -> None:
        """One line that stays."""
        if self._is_live or self._is_plain:
            self._line.clear()
            print(text, file=self._stream, flush=True)
        elif self._is_logged:
            LOGGER.info(text)

    def update(
        self, done: int, found: Sequence[Evaluation], best: int | None, seen: str = ""
    ) -> None:
        """`done` trees are there; `seen` is what a recorder saw of them."""
        now = time.monotonic()
        if self._first is None:
            self._first = done - 1
        is_end = done == self._total
        wait = DRAW_EVERY if self._is_live else LOG_EVERY
        if done > self._first + 1 and not is_end and now - self._shown < wait:
            return
        self._shown = now
        seconds, fresh = now - self._start, done - self._first
        text = describe(done, self._total, found, best, seconds, fresh, seen)
        if not self._is_live:
            self.say(text)
            return
        self._line.draw(text)

    def close(self) -> None:
        """Leave the live line standing."""
        self._line.keep()


def describe(
    done: int,
    total: int,
    found: Sequence[Evaluation],
    best: int | None,
    seconds: float,
    fresh: int,
    seen: str = "",
) -> str:
    """One line: iteration, metrics, diagnostics, speed, time left.

    >>> found = [Evaluation("valid_0", "ndcg@10", 0.4512, True)]
    >>> describe(50, 200, found, 48, seconds=10.0, fresh=50)
    'tree 50/200  valid_0 ndcg@10 0.4512  best 48  5.0 trees/s  0:30 left'
    """
    speed = fresh / max(seconds, 1e-9)
    left = int((total - done) / speed) if done < total else 0
    parts = [f"tree {done}/{total}"]
    parts += [f"{one.dataset_name} {one.metric_name} {one.metric_value:.4f}" for one in found]
    parts += [f"best {best}"] if best is not None else []
    parts += [seen] if seen else []
    parts.append(f"{speed:.1f} trees/s" if speed >= 0.1 else f"{1 / speed:.0f} s/tree")
    parts.append(f"{clock(left)} left" if done < total else f"{clock(round(seconds))} in all")
    return "  ".join(parts)
