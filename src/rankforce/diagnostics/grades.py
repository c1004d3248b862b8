"""What diagnostics read of labels, found once per data set: some of its queries, and grades."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import hash_keys
from rankforce.common.types import Floats
from rankforce.data.preferences import take_preferences
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import AnyObjective
from rankforce.forces.description import Missed
from rankforce.forces.make import check_missed
from rankforce.forces.mixed import parts_of
from rankforce.measures.labels import PREFERENCES, label_column

MOST = 10  # grades that are told apart by name
RANGES = 5  # that more labels than that are put into


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


class Grades(NamedTuple):
    """Grades of documents. Grades are numbered from the lowest label up."""

    labels: Floats  # of each row; -inf where unknown
    code: NDArray[np.int32]  # grade of each row
    ideal: NDArray[np.int32]  # grade of each place, the best of a query first
    missed: Missed  # which documents a top-k misses, as `rf.objective` has it
    missable: int  # the first grade that a top-k can miss: that of the smallest positive label
    names: list[str]  # of the grades, or of ranges where there are many
    group: NDArray[np.int32]  # which of `names` each row has


def read_grades(
    objective: AnyObjective | None, labels: Any, index: QueryIndex, missed: str | None = None
) -> Grades:
    """Grades by the labels that the objective reads (of a mix, its first part).

    Where it only tells relevant documents from others, so do `code`, `ideal` and `missable`.
    `missed` is its own by default.
    """
    first = parts_of(objective)[0].objective if objective is not None else None
    rows = int(index.pointer[-1])
    source = getattr(first, "source", None)
    values = label_column(labels, source, "a diagnostic", rows)
    values = np.where(np.isnan(values), -np.inf, values)
    names, group = _name_grades(values)
    description = getattr(first, "description", None)
    own: Missed = description.pair_set.missed if description else "deficit"
    seen = (values > 0).astype(np.float64) if description and description.binary else values
    distinct, code = _number(seen)
    query = np.repeat(np.arange(len(index.sizes)), index.sizes)
    places = index.places(code)
    ideal = places[np.lexsort((-places, query))]
    missable = int(np.searchsorted(distinct, 0.0, side="right"))
    reading = own if missed is None else check_missed(missed)
    return Grades(values, code, ideal, reading, missable, names, group)


def _number(values: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """The distinct values from the lowest up, and which of them each is."""
    distinct, number = np.unique(values, return_inverse=True)
    return distinct, number.reshape(-1).astype(np.int32)


def _name_grades(values: Floats) -> tuple[list[str], NDArray[np.int32]]:
    distinct, number = _number(values)
    known = distinct[distinct > -np.inf]
    unknown = ["unknown"] * (len(distinct) - len(known))
    if len(known) <= MOST:
        return [*unknown, *(f"{label:g}" for label in known)], number
    edges = np.linspace(known[0], known[-1], RANGES + 1)
    within = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, RANGES - 1)
    group = np.where(values > -np.inf, within + len(unknown), 0)
    names = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(edges)]
    return [*unknown, *names], group.astype(np.int32)


def default_high(labels: Floats) -> float:
    """The label from which on a document is highly relevant: above half of the largest.

    >>> default_high(np.array([0.0, 1.0, 2.0, 3.0, 4.0]))
    3.0
    """
    known = labels[labels > -np.inf]
    if not len(known):
        return 1.0
    above = known[known > known.max() / 2]
    return float(above.min() if len(above) else known.max())
