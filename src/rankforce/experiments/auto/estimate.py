"""What is to be expected on new queries, by queries that had no say in what they judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankforce.common.types import Floats
from rankforce.evaluation.paired import paired_test
from rankforce.experiments.auto.choose import choose
from rankforce.experiments.auto.tried import Tried
from rankforce.measures.metric import mean


class Estimate(NamedTuple):
    """A mean over queries, its 95 % interval by Student's t, and the number of queries."""

    mean: float
    low: float
    high: float
    queries: int

    def __str__(self) -> str:
        return f"{self.mean:.4f} ({self.low:.4f} to {self.high:.4f})"


def nested_values(pool: Sequence[Tried], judges: Sequence[int]) -> Floats:
    """The metric of each query, by a committee that was chosen without the query's fold.

    The other folds choose it, and say how many trees its members have. A candidate that was gone on
    with because of the fold has no place in it.
    """
    folds, found = pool[0].folds, []
    for fold in judges:
        others = [other for other in judges if other != fold]
        able = [one for one in pool if fold not in one.judged_by]
        members = choose(able, others, hidden=fold)
        total = np.sum([one.scores(fold, hidden=fold) for one in members], axis=0)
        found.append(folds.values(fold, total))
    return np.concatenate(found)


def estimate(values: Floats, weights: Floats | None = None) -> Estimate:
    """The mean of the queries that count, and how sure it is; NaN does not count.

    >>> print(estimate(np.array([0.2, 0.4, np.nan, 0.6])))
    0.4000 (-0.0968 to 0.8968)
    """
    counts = ~np.isnan(values)
    kept = None if weights is None else weights[counts]
    if counts.sum() < 2:
        return Estimate(mean(values, weights), -np.inf, np.inf, int(counts.sum()))
    found = paired_test(values[counts], weights=kept, test="t")
    return Estimate(mean(values, weights), found.low, found.high, int(counts.sum()))
