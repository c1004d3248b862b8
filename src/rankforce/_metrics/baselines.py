"""What a ranking drawn at random is worth on average, all orders of a query being alike."""

from __future__ import annotations

import numpy as np

from rankforce._metrics.prepare import Plan
from rankforce._objectives.tables import Floats
from rankforce.kernels import metrics as kernel
from rankforce.queries import QueryIndex


def random_values(plan: Plan, index: QueryIndex, out: Floats) -> None:
    """Expected sums of the plan's metrics (Adalia et al. 2025, 6.2.1), before any division."""
    for m, kind in enumerate(plan.kind_of):
        table = np.concatenate([np.zeros(1), np.cumsum(plan.tables[m])])
        column = plan.columns[plan.column_of[m]]
        for query, n in enumerate(index.sizes):
            values = column[index.pointer[query] : index.pointer[query + 1]]
            end = min(int(n), int(plan.end_of[m]))
            if n == 0:
                out[m, query] = 0.0
            elif kind == kernel.SUM:
                # Every document is as likely as any other to have a given rank.
                out[m, query] = values.mean() * table[end]
            elif kind == kernel.CASCADE:
                out[m, query] = random_cascade(values, end)
            elif kind == kernel.RECIPROCAL_RANK:
                out[m, query] = random_reciprocal_rank(int(np.count_nonzero(values)), int(n), end)
            else:
                out[m, query] = random_precision_sum(int(np.count_nonzero(values)), int(n), end)


def random_precision_sum(relevant: int, n: int, end: int) -> float:
    """E[sum of b * precision]: P(b at r) times 1 + E[relevant before r], over r.

    >>> random_precision_sum(1, 2, 2)
    0.75
    """
    rank = np.arange(1.0, end + 1.0)
    before = (rank - 1.0) * (relevant - 1.0) / max(n - 1.0, 1.0)
    return float(np.sum(relevant / n * (1.0 + before) / rank))


def random_reciprocal_rank(relevant: int, n: int, end: int) -> float:
    """E[1/r of the first relevant document]: none of the draws before it is relevant.

    >>> random_reciprocal_rank(1, 2, 2)
    0.75
    """
    before = np.arange(0.0, end)
    here = np.minimum(relevant / (n - before), 1.0)
    none_before = np.concatenate([np.ones(1), np.cumprod(1.0 - here)[:-1]])
    return float(np.sum(none_before * here / (before + 1.0)))


def random_cascade(stop: Floats, end: int) -> float:
    """E[ERR]: with E_m the mean product of 1 - stop over m documents, sum of (E_{r-1} - E_r) / r.

    >>> random_cascade(np.array([0.5, 0.0]), 2)
    0.375
    """
    # Means over all choices of m documents, document by document: numbers stay within 0 and 1.
    mean = np.zeros(end + 1)
    mean[0] = 1.0
    chosen = np.arange(1.0, end + 1.0)
    for seen, value in enumerate(1.0 - stop, start=1):
        share = np.minimum(chosen / seen, 1.0)
        mean[1:] = (1.0 - share) * mean[1:] + share * value * mean[:-1]
    return float(np.sum((mean[:-1] - mean[1:]) / chosen))
