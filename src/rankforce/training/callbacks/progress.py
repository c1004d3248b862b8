"""What a run says while it goes: one live line in a terminal, plain lines in logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TextIO

from rankforce.common.live_line import Voice, clock
from rankforce.training.watch import Evaluation


class Progress:
    """A callback that shows steps as they come.

    `wish` and `stream` are those of a `Voice`; `wish` may be one, too.
    """

    def __init__(
        self,
        total: int,
        wish: bool | Voice | None,
        *,
        step: str = "tree",
        stream: TextIO | None = None,
    ) -> None:
        self._voice = wish if isinstance(wish, Voice) else Voice(wish, stream=stream)
        self._total, self._step = total, step
        # The first tree of this run, and when it was there: set-up is in its time.
        self._first: tuple[int, float] | None = None

    def say(self, text: str) -> None:
        """One line that stays."""
        self._voice.say(text)

    def for_now(self, text: str) -> None:
        """A live line, or in a log a line from time to time."""
        self._voice.for_now(text)

    def __call__(self, moment: Any) -> None:
        """After each tree."""
        curves = moment.model.diagnostics
        seen = "" if curves is None else curves.short()
        self.update(moment.iteration + 1, moment.evaluation_result_list, moment.best, seen)

    def see_end(self, status: str) -> None:
        """Leave the live line standing."""
        self._voice.end()

    def update(
        self, done: int, found: Sequence[Evaluation], best: int | None, seen: str = ""
    ) -> None:
        """`done` trees are there; `seen` is what a recorder saw of them."""
        seconds = self._voice.seconds
        is_end, is_first = done == self._total, self._first is None
        self._first = self._first or (done, seconds)
        fresh, since = done - self._first[0], seconds - self._first[1]
        speed = fresh / max(since, 1e-9) if fresh else None
        text = describe(
            done,
            self._total,
            found,
            best,
            speed=speed,
            seconds=seconds,
            seen=seen,
            step=self._step,
        )
        self._voice.for_now(text, always=is_first or is_end)


def describe(
    done: int,
    total: int,
    found: Sequence[Evaluation],
    best: int | None,
    *,
    speed: float | None,
    seconds: float,
    seen: str = "",
    step: str = "tree",
) -> str:
    """One line: iteration, metrics, diagnostics, steps a second if known, and the time.

    >>> found = [Evaluation("valid_0", "ndcg@10", 0.4512, True)]
    >>> describe(50, 200, found, 48, speed=5.0, seconds=11.0)
    'tree 50/200  valid_0 ndcg@10 0.4512  best 48  5.0 trees/s  0:30 left'
    >>> describe(1, 200, found, 1, speed=None, seconds=60.0)
    'tree 1/200  valid_0 ndcg@10 0.4512  best 1'
    >>> describe(200, 200, [], None, speed=5.0, seconds=41.0)
    'tree 200/200  5.0 trees/s  0:41 in all'
    """
    parts = [f"{step} {done}/{total}"]
    parts += [f"{one.dataset_name} {one.metric_name} {one.metric_value:.4f}" for one in found]
    parts += [f"best {best}"] if best is not None else []
    parts += [seen] if seen else []
    if speed is not None:
        parts.append(f"{speed:.1f} {step}s/s" if speed >= 0.1 else f"{1 / speed:.0f} s/{step}")
    if done == total:
        parts.append(f"{clock(round(seconds))} in all")
    elif speed is not None:
        parts.append(f"{clock(round((total - done) / speed))} left")
    return "  ".join(parts)
