"""Which labels an objective or a metric reads, where there are several sources of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.measures.metric import Metric

LABEL = "label"  # what the labels are called where they have no name
PREFERENCES = "preferences"  # under this name a dictionary of labels holds explicit pairs


def check_labels(labels: object, *, missing: bool = False) -> Floats:
    """Labels as float64; a label that is no finite number is an error that names its row.

    Where labels may be `missing`, NaN is one that is.
    """
    values = np.asarray(labels, dtype=np.float64)
    if values.ndim != 1:
        raise RankforceError(f"labels must be one number per row, got shape {values.shape}")
    bad = np.flatnonzero(np.isinf(values) if missing else ~np.isfinite(values))
    if bad.size:
        rest = "finite, or NaN where unknown" if missing else "finite"
        raise RankforceError(f"label of row {bad[0]} is {values[bad[0]]}: labels must be {rest}")
    return values


def label_column(labels: Any, source: str | None, who: str, rows: int) -> Floats:
    """The labels of `source`, one for each of `rows`; NaN where a source does not know one.

    `labels` are one per row, a dictionary of such by name, or a `RankingData`. Without a source,
    the first of a dictionary, or the labels of the data.

    >>> labels = {"grade": [2, 0], "click": [0.5, float("nan")]}
    >>> label_column(labels, "click", "RankNet", 2).tolist()
    [0.5, nan]
    """
    column = _find_column(labels, source, who)
    if len(column) != rows:
        which = "" if source is None else f" {source!r}"
        raise RankforceError(f"there are {len(column)} labels{which} for {rows} rows")
    return column


def _find_column(labels: Any, source: str | None, who: str) -> Floats:
    if isinstance(labels, RankingData):
        return check_labels(labels.column(source), missing=source is not None)
    if isinstance(labels, Mapping):
        names = [name for name in labels if name != PREFERENCES]
        name = names[0] if source is None and names else source
        if name not in names:
            has = ", ".join(map(repr, names)) or "none"
            raise RankforceError(f"{who} reads the labels {name!r}, but those there are {has}")
        return check_labels(labels[name], missing=True)
    if source not in (None, LABEL):
        message = f"give labels by name, as in {{'label': ..., {source!r}: ...}}"
        raise RankforceError(f"{who} reads the labels {source!r}: {message}")
    return check_labels(labels)


def count_rows(labels: Any) -> int:
    """Number of rows that `labels` are for."""
    if isinstance(labels, RankingData):
        return int(labels.rows)
    if isinstance(labels, Mapping):
        columns = [values for name, values in labels.items() if name != PREFERENCES]
        if not columns:
            raise RankforceError("there are no labels by name: give one number per row for each")
        return len(check_labels(columns[0], missing=True))
    return len(np.asarray(labels))


def index_of(labels: Any, *, group: ArrayLike | None, qid: ArrayLike | None) -> QueryIndex:
    """The queries that labels are of: those of a `RankingData`, or of `group` or `qid`."""
    if isinstance(labels, RankingData):
        if group is not None or qid is not None:
            raise RankforceError("group= and qid= are for labels: the data knows its queries")
        index: QueryIndex = labels.index
        return index
    return index_queries(count_rows(labels), group=group, qid=qid)


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
