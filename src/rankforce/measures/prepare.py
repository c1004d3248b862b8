"""Turns labels and metrics into the arrays that the kernel reads, once per data set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.kernels import metrics as kernel
from rankforce.measures.definition import Definition, Ties
from rankforce.measures.gains import (
    CLICKS,
    GainError,
    NoShareError,
    gain_values,
    stop_probabilities,
)
from rankforce.measures.metric import Metric

_NO_END = 2**31 - 1
_FEW = 64  # grades
_KINDS = {
    "sum": kernel.SUM,
    "average precision": kernel.AVERAGE_PRECISION,
    "reciprocal rank": kernel.RECIPROCAL_RANK,
    "cascade": kernel.CASCADE,
}


_TIES = {"row": kernel.ROW, "average": kernel.AVERAGE, "last": kernel.LAST}


class Plan(NamedTuple):
    """Metrics as numbers, in the order of the kernel's arguments."""

    columns: Floats  # value of each document, one row for each kind of value
    column_of: NDArray[np.int64]  # the row of `columns` that a metric reads
    kind_of: NDArray[np.int64]
    end_of: NDArray[np.int64]  # how many ranks a metric reads
    ties_of: NDArray[np.int64]
    tables: Floats  # value of each rank, one row for each metric
    depth: int  # how many ranks any metric reads

    def with_ties(self, ties: Ties) -> Plan:
        """The same metrics, with tied scores that mean something else."""
        changed = np.full_like(self.ties_of, _TIES[ties])
        return self._replace(ties_of=changed, depth=self.depth if ties == "row" else _NO_END)

    def only(self, metrics: Sequence[int]) -> Plan:
        """Some of the metrics, by their numbers."""
        chosen = np.array(metrics, np.int64)
        return self._replace(
            column_of=self.column_of[chosen],
            kind_of=self.kind_of[chosen],
            end_of=self.end_of[chosen],
            ties_of=self.ties_of[chosen],
            tables=self.tables[chosen],
        )


class Source(NamedTuple):
    """Labels that metrics read, without gaps."""

    labels: Floats
    top: float  # the largest of the data, of which `labels` may be a part


def make_plan(
    metrics: list[Metric], sources: Mapping[str | None, Source], index: QueryIndex
) -> Plan:
    """The kernel's view of `metrics`; documents stand in the order of places."""
    definitions = [metric.definition for metric in metrics]
    columns, column_of = _columns(metrics, sources, index)
    ends = [_NO_END if d.end == math.inf else min(int(d.end), _NO_END) for d in definitions]
    is_by_row = all(d.ties == "row" for d in definitions)
    depth = max(ends, default=1) if is_by_row else _NO_END
    ranks = np.arange(1.0, 1.0 + min(max(ends, default=1), int(index.sizes.max(initial=1))))
    tables = np.zeros((len(metrics), len(ranks)))
    for row, definition in enumerate(definitions):
        if definition.position is not None:
            tables[row] = definition.position(ranks)
    return Plan(
        columns,
        column_of,
        np.array([_KINDS[d.kind] for d in definitions], np.int64),
        np.array(ends, np.int64),
        np.array([_TIES[d.ties] for d in definitions], np.int64),
        tables,
        depth,
    )


def _columns(
    metrics: list[Metric], sources: Mapping[str | None, Source], index: QueryIndex
) -> tuple[Floats, NDArray[np.int64]]:
    """What documents are worth, once for all metrics that agree on it, and the row of each."""
    grades: dict[str | None, tuple[Floats, NDArray[np.int64]]] = {}
    keys: list[tuple[Any, ...]] = []
    columns: list[Floats] = []
    for metric in metrics:
        key = metric.source, *_column_key(metric.definition)
        if key in keys:
            continue
        labels, top = sources[metric.source]
        if metric.source not in grades:
            distinct, number = _distinct(labels)
            grades[metric.source] = distinct, index.places(number)
        distinct, number = grades[metric.source]
        try:
            worth = document_values(metric.definition, distinct, top)
        except GainError as error:
            row = int(np.flatnonzero(labels == error.label)[0])
            raise RankforceError(f"{metric.name}, row {row}: {error}") from None
        keys.append(key)
        columns.append(worth[number])
    column_of = [keys.index((m.source, *_column_key(m.definition))) for m in metrics]
    return np.stack(columns), np.array(column_of, np.int64)


def _distinct(labels: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """The distinct labels in ascending order, and which of them each row has."""
    if labels.size and labels.min() >= 0.0 and labels.max() < _FEW:
        whole = labels.astype(np.int64)
        if np.array_equal(whole, labels):  # grades: counting is ten times as fast as sorting
            is_there = np.bincount(whole) > 0
            number = np.cumsum(is_there) - 1
            return np.flatnonzero(is_there).astype(np.float64), number[whole]
    distinct, number = np.unique(labels, return_inverse=True)
    return distinct, number.reshape(-1)


def is_relevant(definition: Definition, labels: Floats) -> NDArray[np.bool_]:
    """Which of the labels count as relevant."""
    return labels > 0 if definition.rel is None else labels >= definition.rel


def _column_key(definition: Definition) -> tuple[Any, ...]:
    if definition.kind == "cascade":
        return definition.kind, definition.max_label
    return definition.gain, definition.rel if definition.gain == "binary" else None


def document_values(definition: Definition, labels: Floats, top: float) -> Floats:
    """What a document is worth, for each of the distinct `labels` in ascending order."""
    if definition.kind == "cascade":
        return stop_probabilities(labels, definition.max_label, top)
    if definition.gain == "binary":
        return is_relevant(definition, labels).astype(np.float64)
    if definition.gain == CLICKS and labels.size and labels[0] < 0.0:
        raise NoShareError(labels[0])
    return gain_values(definition.gain, labels)


def divisors(metric: Metric, best: Floats, relevant: Floats, sizes: NDArray[np.int64]) -> Floats:
    """What the values of each query are divided by; `best` is the sum of the ideal ranking."""
    definition = metric.definition
    if definition.ideal == "best":
        return best
    if definition.ideal == "size":
        return np.minimum(sizes, definition.end).astype(np.float64)
    if definition.ideal == "k":
        return np.full(len(sizes), definition.end)
    if definition.ideal == "relevant":
        return relevant
    if definition.ideal == "reachable":
        return np.minimum(relevant, definition.end)
    return np.ones(len(sizes))
