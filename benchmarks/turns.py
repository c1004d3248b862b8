"""Contenders take turns: the machine's mood changes, and the best round counts."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_times(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Best time of each call in milliseconds."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            best[name] = min(best[name], 1e3 * (time.perf_counter() - start))
    return best
