"""Which candidates become members of the committee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankforce.common.types import Floats
from rankforce.experiments.auto.folds import Folds, Scores
from rankforce.experiments.auto.tried import Tried

POOL = 16  # beside those that are known, so many that are best by themselves
MOST = 12  # members
FULL = 8  # members: of half as many or fewer, each comes several times, in different bags


def choose(
    pool: Sequence[Tried], judges: Sequence[int], *, hidden: int | None = None
) -> list[Tried]:
    """Start with those that are known to be good together, then change what is surely a gain.

    One candidate comes or goes at a time, the one with the surest gain on the queries of `judges`,
    which are folds that no ranker had seen: its mean over queries less its standard error (the
    rule of one standard error, Breiman et al. 1984). So few queries leave what is known as it is,
    and many choose freely. One that comes twice is two members, of different bags. The best by
    themselves are first. A fold that is `hidden` has no say in anything.
    """
    folds = pool[0].folds
    each = [{fold: one.scores(fold, hidden=hidden) for fold in judges} for one in pool]
    worth = [folds.worth(scores) for scores in each]
    ranked = sorted(range(len(pool)), key=lambda number: -worth[number])
    is_known = [one.candidate.is_known for one in pool]
    able = [number for place, number in enumerate(ranked) if is_known[number] or place < POOL]
    members = [number for number in able if is_known[number]] or able[:1]
    members = sorted(_climb(folds, each, members, able), key=ranked.index)
    return [pool[one] for one in members * max(FULL // len(members), 1)]


def _climb(
    folds: Folds, each: Sequence[Scores], members: list[int], able: Sequence[int]
) -> list[int]:
    """Members with which no single change is a sure gain; all are numbers of `each`."""
    judges = [*each[0]]
    weights = folds.weights(judges)
    total = {fold: np.sum([each[one][fold] for one in members], axis=0) for fold in judges}
    values = folds.signed_values(total)
    while True:
        come = [(one, 1.0) for one in able if len(members) < MOST]
        go = [(one, -1.0) for one in dict.fromkeys(members) if len(members) > 1]
        changes = come + go
        sums = [
            {fold: own + sign * each[one][fold] for fold, own in total.items()}
            for one, sign in changes
        ]
        found = [folds.signed_values(one) for one in sums]
        gains = [sure_gain(one - values, weights) for one in found]
        best = int(np.argmax(gains))
        if not gains[best] > 0.0:
            return members
        (one, sign), total, values = changes[best], sums[best], found[best]
        members = [*members, one] if sign > 0.0 else _without(members, one)


def _without(members: Sequence[int], one: int) -> list[int]:
    left = list(members)
    left.remove(one)
    return left


def sure_gain(gains: Floats, weights: Floats | None) -> float:
    """The weighted mean of gains less its standard error; NaN is a query that does not count.

    >>> round(sure_gain(np.array([0.1, 0.3, np.nan]), None), 3)
    0.1
    """
    counts = ~np.isnan(gains)
    shares = np.ones(len(gains)) if weights is None else weights
    shares = shares[counts]
    if counts.sum() < 2 or not shares.any():
        return -np.inf
    scaled = gains[counts] * shares / shares.mean()
    return float(scaled.mean() - scaled.std(ddof=1) / np.sqrt(len(scaled)))
