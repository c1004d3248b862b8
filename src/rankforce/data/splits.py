"""Splits of a data set by query: the documents of a query stay together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError


def query_folds(queries: int, folds: int, *, seed: int = 0) -> list[NDArray[np.int64]]:
    """The numbers of the queries of each fold, shuffled by `seed`; sizes differ by one at most.

    >>> [fold.tolist() for fold in query_folds(5, 2, seed=1)]
    [[0, 1, 4], [2, 3]]
    """
    if isinstance(folds, bool) or not isinstance(folds, (int, np.integer)) or folds < 2:
        raise RankforceError(f"folds is {folds!r}: it must be an integer from 2 up")
    if queries < folds:
        raise RankforceError(
            f"{folds} folds need at least {folds} queries, but there are {queries}"
        )
    order = np.random.default_rng(seed).permutation(queries)
    return [np.sort(part).astype(np.int64) for part in np.array_split(order, folds)]
