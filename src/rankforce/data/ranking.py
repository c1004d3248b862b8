"""From scores to ranked lists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.queries import QueryIndex, index_queries


class Ranking(NamedTuple):
    """Documents by query and rank: four arrays of the same length."""

    query: NDArray[Any]  # id of the query
    rank: NDArray[np.int64]  # from 1
    row: NDArray[np.int64]  # of the document in the data
    score: NDArray[np.float64]


def rank_documents(
    scores: ArrayLike,
    *,
    qid: Any = None,
    group: Any = None,
    index: QueryIndex | None = None,
    top: int | None = None,
) -> Ranking:
    """The best `top` documents of each query (all of them by default); ties go by row.

    >>> rank_documents([0.1, 0.9, 0.5, 0.7], qid=["a", "a", "b", "a"], top=2).row
    array([1, 3, 2])
    """
    values = np.asarray(scores, dtype=np.float64)
    if top is not None and (not isinstance(top, (int, np.integer)) or top < 1):
        raise RankforceError(f"top is {top!r}: it must be an integer from 1 up")
    if index is None:
        index = index_queries(len(values), qid=qid, group=group)
    number = np.repeat(np.arange(len(index.sizes)), index.sizes)
    row = index.row if len(index.row) else np.arange(len(values))
    order = np.lexsort((row, -values[row], number))
    rank = np.arange(len(values)) - index.pointer[number] + 1
    kept = rank <= (top or len(values))
    chosen = row[order][kept]
    query = number[kept] if qid is None else np.asarray(qid)[chosen]
    return Ranking(query, rank[kept], chosen, values[chosen])
