"""Which labels metrics read where there are several sources of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.forces.sources import LABEL, PREFERENCES, label_column
from rankforce.measures.metric import Metric


class LabelColumn(NamedTuple):
    """The labels of one source, one per row."""

    name: str
    labels: Floats  # 0 where they are missing
    missing: int  # how many are


def read_columns(
    labels: Any, metrics: Iterable[Metric], rows: int
) -> dict[str | None, LabelColumn]:
    """What the metrics read, by source: `labels` are as in `label_column`.

    >>> from rankforce.measures.make import metric
    >>> labels = {"grade": [2, 0], "click": [0.5, float("nan")]}
    >>> read_columns(labels, [metric("cndcg", source="click")], rows=2)
    {'click': LabelColumn(name='click', labels=array([0.5, 0. ]), missing=1)}
    """
    found: dict[str | None, LabelColumn] = {}
    for metric in metrics:
        source = metric.source
        if source in found:
            continue
        if isinstance(labels, RankingData):
            _check_data(labels, metric)
        values = label_column(labels, source, metric.name, rows)
        is_missing = np.isnan(values)
        count = int(np.count_nonzero(is_missing))
        known = np.where(is_missing, 0.0, values) if count else values
        found[source] = LabelColumn(source or _first(labels), known, count)
    return found


def _first(labels: Any) -> str:
    """Name of the labels that are read without a source."""
    names = labels if isinstance(labels, Mapping) else ()
    return next((name for name in names if name != PREFERENCES), LABEL)


def _check_data(data: RankingData, metric: Metric) -> None:
    if metric.source in data.sources:
        return
    if not data.has_labels:
        raise RankforceError("the data has no labels, so nothing can be judged")
    if metric.source not in (None, LABEL, data.label_name):
        has = ", ".join(map(repr, data.label_names))
        raise RankforceError(
            f"{metric.name} reads the labels {metric.source!r}, but those of the data are {has}"
        )
