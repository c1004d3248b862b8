"""Which candidates become members of the committee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankforce.common.types import Floats
from rankforce.experiments.auto.tried import Tried

POOL = 16  # beside those that are known, so many that are best by themselves
MOST = 12  # members
FULL = 8  # members: fewer are repeated, as bags of their own
ERRORS = 1.0  # standard errors by which a gain must be above 0


def choose(pool: Sequence[Tried], judges: Sequence[int]) -> list[Tried]:
    """Start with those that are known to be good together, then change what is surely a gain.

    One candidate comes or goes at a time, the one with the surest gain on the queries of `judges`,
    which are folds that no ranker had seen: its mean over queries less its standard error (the
    rule of one standard error, Breiman et al. 1984). So few queries leave what is known as it is,
    and many choose freely. One that comes twice is two members, of different bags. The best by
    themselves are first.
    """
    folds = pool[0].folds
    ranked = sorted(pool, key=lambda one: -folds.worth({f: one.scores(f) for f in judges}))
    able = [one for number, one in enumerate(ranked) if one.candidate.is_known or number < POOL]
    members = [one for one in able if one.candidate.is_known] or able[:1]
    committee = Committee(members, judges)
    while (change := committee.surest(able)) is not None:
        committee = change
    members = sorted(committee.members, key=ranked.index)
    return [members[number % len(members)] for number in range(max(len(members), FULL))]


class Committee:
    """Some members, and what their scores together are worth for each query."""

    def __init__(self, members: Sequence[Tried], judges: Sequence[int]) -> None:
        self.members, self._judges = list(members), judges
        self._folds = members[0].folds
        sums = [np.sum([one.scores(fold) for one in members], axis=0) for fold in judges]
        found = [self._folds.values(fold, own) for fold, own in zip(judges, sums, strict=True)]
        self.values: Floats = np.concatenate(found)

    def surest(self, able: Sequence[Tried]) -> Committee | None:
        """The same with one member more or less, as is the surest gain; None if nothing is sure."""
        more = [[*self.members, one] for one in able] if len(self.members) < MOST else []
        less = [
            [other for place, other in enumerate(self.members) if place != gone]
            for gone in range(len(self.members))
            if len(self.members) > 1
        ]
        changes = [Committee(members, self._judges) for members in (*more, *less)]
        gains = [self._sure_gain(one) for one in changes]
        best = int(np.argmax(gains)) if gains else 0
        return changes[best] if gains and gains[best] > 0.0 else None

    def _sure_gain(self, other: Committee) -> float:
        """The mean gain of another one over the queries that count, less its standard error."""
        sign = 1.0 if self._folds.metric.higher_is_better else -1.0
        weights = self._folds.weights(self._judges)
        return sure_gain(sign * (other.values - self.values), weights)


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
    return float(scaled.mean() - ERRORS * scaled.std(ddof=1) / np.sqrt(len(scaled)))
