"""How much each member of a committee counts, chosen by what the whole is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankforce.common.types import Floats
from rankforce.training.run import ScoredSet
from rankforce.training.watch import Watch

Worth = Callable[[Floats], float]  # of a weight for each member: the higher, the better

PICKS = 4  # for each member, of the greedy choice
STEPS = (1.0, 0.5, 0.25, 0.125)  # by which a weight goes up and down
PASSES = 10  # over all members at most, with each step


def choose_weights(kind: str, worth: Worth, members: int) -> Floats:
    """Weights from 0 up with the mean 1: all "equal", or a "greedy" or "linear" choice.

    >>> def worth(weights):
    ...     share = weights / weights.sum()
    ...     return -abs(share[0] - 0.25)
    >>> [choose_weights(kind, worth, 2).tolist() for kind in ("equal", "greedy", "linear")]
    [[1.0, 1.0], [0.5, 1.5], [0.5, 1.5]]
    """
    if kind == "equal":
        return np.ones(members)
    chosen = (_pick if kind == "greedy" else _climb)(worth, members)
    weights: Floats = chosen * (members / chosen.sum())
    return weights


def make_worth(metric: Any, judge: ScoredSet, scores: Floats, *, threads: int) -> Worth:
    """The metric of a weighted sum of `scores`, a row for each member, on the data of `judge`."""
    board = Watch(
        [metric],
        [(judge.name, judge.data)],
        deciding=None,
        rounds=None,
        min_delta=0.0,
        threads=threads,
    )

    def worth(weights: Floats) -> float:
        total = np.zeros(judge.data.rows)
        for weight, own in zip(weights, scores, strict=True):
            total += weight * own
        found = board.look([total])[0]
        value = found.metric_value if found.maximize else -found.metric_value
        return -np.inf if np.isnan(value) else value

    return worth


def _pick(worth: Worth, members: int) -> Floats:
    """Pick members one by one, as often as they help, the one that helps most each time.

    Caruana et al. 2004, "Ensemble selection from libraries of models", with replacement. The picks
    that were worth most count, the fewest of several.
    """
    picked, best = np.zeros(members), (-np.inf, np.zeros(members))
    for _ in range(PICKS * members):
        more = [picked + own for own in np.eye(members)]
        values = [worth(weights) for weights in more]
        first = int(np.argmax(values))
        picked = more[first]
        if values[first] > best[0] or not best[1].any():
            best = values[first], picked
    return best[1]


def _climb(worth: Worth, members: int) -> Floats:
    """Move one weight at a time, as long as it helps, by smaller and smaller steps.

    Coordinate ascent on the metric itself, as Metzler and Croft 2007, "Linear feature-based models
    for information retrieval", have it; no weight goes below 0.
    """
    weights = np.ones(members)
    best = worth(weights)
    for step in STEPS:
        for _ in range(PASSES):
            before = best
            for member in range(members):
                for change in (step, -step):
                    moved = weights.copy()
                    moved[member] = max(moved[member] + change, 0.0)
                    value = worth(moved) if moved.any() else -np.inf
                    if value > best:
                        weights, best = moved, value
            if not best > before:
                break
    return weights
