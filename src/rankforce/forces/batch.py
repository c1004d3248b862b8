"""Some queries of an objective that is bound to labels: arrays are gathered, nothing is sorted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.queries import QueryIndex, spans
from rankforce.kernels import layout


@dataclass(frozen=True)
class Batch:
    """Queries by their numbers, and where their documents are."""

    queries: NDArray[np.int64]
    places: NDArray[np.int64]  # of the documents, one query behind the other
    index: QueryIndex  # of the batch by itself: its rows are these places, in this order


def take_queries(index: QueryIndex, queries: ArrayLike) -> Batch:
    """Some queries, in the order given; a query may come several times.

    >>> from rankforce.data.queries import index_queries
    >>> take_queries(index_queries(5, group=[2, 3]), [1, 0]).places.tolist()
    [2, 3, 4, 0, 1]
    """
    chosen = _check_queries(queries, len(index.sizes))
    begin, end = index.pointer[chosen], index.pointer[chosen + 1]
    taken = QueryIndex(_pointer(end - begin), np.empty(0, np.int64), index.key[chosen])
    return Batch(chosen, spans(begin, end), taken)


def take_labels(labels: layout.LabelOrder, batch: Batch) -> layout.LabelOrder:
    """What labels decide about the queries of a batch."""
    queries, places = batch.queries, batch.places
    begin, end = labels.class_pointer[queries], labels.class_pointer[queries + 1]
    classes = spans(begin, end)
    return layout.LabelOrder(
        position=labels.position[places],
        u=labels.u[places],
        scale=labels.scale[queries],
        class_pointer=_pointer(end - begin),
        class_start=labels.class_start[classes],
        tier_start=labels.tier_start[classes],
        tier_stop=labels.tier_stop[classes],
        positive=labels.positive[queries],
        strategy=labels.strategy[queries],
    )


class Numbered(NamedTuple):
    """Explicit pairs by query, with the numbers of documents within their query."""

    pointer: NDArray[np.int64]  # query q has the pairs pointer[q]..pointer[q+1]-1
    hi: NDArray[np.int64]
    lo: NDArray[np.int64]
    weight: NDArray[np.float64]


def take_pairs(pairs: Numbered, batch: Batch) -> tuple[Numbered, NDArray[np.int64]]:
    """The pairs of the queries of a batch, and the first row of the query of each."""
    begin, end = pairs.pointer[batch.queries], pairs.pointer[batch.queries + 1]
    chosen = spans(begin, end)
    hi, lo, weight = pairs.hi[chosen], pairs.lo[chosen], pairs.weight[chosen]
    first = np.repeat(batch.index.pointer[:-1], end - begin)
    return Numbered(_pointer(end - begin), hi, lo, weight), first


def _pointer(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _check_queries(queries: ArrayLike, count: int) -> NDArray[np.int64]:
    given = np.asarray(queries)
    if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
        raise RankforceError(
            f"queries must be a list of numbers of queries, got {given.dtype} of shape "
            f"{given.shape}"
        )
    bad = np.flatnonzero((given < 0) | (given >= count))
    if bad.size:
        where = int(bad[0])
        raise RankforceError(f"queries[{where}] is {given[where]}: there are {count} queries")
    return given.astype(np.int64)
