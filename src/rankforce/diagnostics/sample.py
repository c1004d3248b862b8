"""Some of a data set's queries, without their features."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import hash_keys
from rankforce.common.types import Floats
from rankforce.data.preferences import take_preferences
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.measures.labels import PREFERENCES


class Sample(NamedTuple):
    """Queries, each with all of its rows, in the order that decides ties."""

    rows: NDArray[np.int64]  # in the data
    labels: dict[str, Any]  # by source, the label first; and preferences
    queries: QueryIndex
    weights: Floats | None  # of queries, in means of metrics


def sample_queries(data: RankingData, index: QueryIndex, most: int | None) -> Sample:
    """At most `most` queries, chosen by their keys: the same ones in every order of queries.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> len(sample_queries(data, data.index, 5).queries.sizes)
    5
    """
    count = len(index.sizes)
    chosen = np.arange(count)
    if most is not None and most < count:
        chosen = np.sort(np.argsort(hash_keys(index.key), kind="stable")[:most])
    rows = index.rows_of(chosen)
    columns = {data.label_name: data.labels} | data.sources
    labels: dict[str, Any] = {name: values[rows] for name, values in columns.items()}
    if data.preferences is not None:
        labels[PREFERENCES] = take_preferences(data.preferences, index, chosen)
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(index.sizes[chosen])])
    weights = data.metric_weight
    return Sample(
        rows,
        labels,
        QueryIndex(pointer, np.empty(0, np.int64), index.key[chosen]),
        None if weights is None else weights[chosen],
    )
