"""Evaluation functions as LightGBM and XGBoost take them: labels first, then scores."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric

# First arguments of functions that take labels first; our own take scores first.
LABELS = {"y_true", "y", "y_test", "true", "truth", "label", "labels", "target", "targets"}


class OfRows:
    """A function of labels and scores; calling it says what it measures.

    LightGBM's takes all rows and returns (name, value, is higher better), or a list of such;
    XGBoost's takes one query and returns a number, which is a cost unless `higher` says otherwise.
    """

    source = None

    def __init__(
        self, function: Callable[..., Any], arguments: int, higher: bool | None = None
    ) -> None:
        self.function = function
        self.higher = higher
        self._arguments = arguments

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    key = name

    def settle(self, data: RankingData) -> list[Metric | OfAllRows]:
        """What it measures: it is called once, with scores of 0 for one query."""
        sizes = data.sizes
        query = int(np.argmax(sizes > 1)) if len(sizes) else 0
        found = self._call(data, np.zeros(data.rows), query)
        if isinstance(found, (tuple, list)):
            results = _results(self.name, found)
            return [
                OfAllRows(self, place, name, higher)
                for place, (name, _, higher) in enumerate(results)
            ]
        if self._arguments != 2:
            raise RankforceError(f"{self.name} returned {found!r}: {_EXPECTED}")
        higher = bool(self.higher)
        return [make_metric(_of_query(self.function), name=self.name, higher_is_better=higher)]

    def values(self, data: RankingData, scores: Floats) -> list[float]:
        """Its values for a data set."""
        found = self._call(data, scores, None)
        return [float(value) for _, value, _ in _results(self.name, found)]

    def _call(self, data: RankingData, scores: Floats, query: int | None) -> Any:
        """Call it with a query, or with all of them one behind the other."""
        pointer = data.index.pointer
        here = slice(None) if query is None else slice(pointer[query], pointer[query + 1])
        sizes = data.sizes if query is None else data.sizes[query : query + 1]
        weight = data.row_weight
        given = [
            data.index.places(data.labels)[here].copy(),
            data.index.places(scores)[here].copy(),
            None if weight is None else data.index.places(weight)[here].copy(),
            sizes.copy(),
        ]
        return self.function(*given[: self._arguments])


class OfAllRows(NamedTuple):
    """One of the values that a function of all rows returns."""

    function: OfRows
    place: int
    name: str
    higher_is_better: bool

    @property
    def key(self) -> str:
        """The name in histories."""
        return self.name


_EXPECTED = "expected (name, value, is_higher_better), or a list of such"


def labels_first(function: Any, *, higher: bool | None = None) -> OfRows | None:
    """The function if it takes labels first, by the names and the number of its arguments.

    >>> labels_first(lambda y_true, y_pred, weight, group: ("mine", 0.5, True)).name
    '<lambda>'
    >>> labels_first(lambda scores, labels: 0.5) is None
    True
    """
    try:
        taken = [*inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):  # some functions written in C have none
        return None
    needed = [one for one in taken if one.default is one.empty and one.kind <= 1]
    if len(needed) in (3, 4):
        return OfRows(function, len(needed), higher)
    if len(needed) == 2 and needed[0].name.lower() in LABELS:
        return OfRows(function, 2, higher)
    return None


def of_queries(metrics: Sequence[Any]) -> list[Metric]:
    """The metrics, if each has a value for every query."""
    whole = next((one for one in metrics if isinstance(one, OfRows)), None)
    if whole is not None:
        raise RankforceError(
            f"{whole.name} takes labels first, as in LightGBM and XGBoost: that is for eval_metric "
            "while training; here make rf.metric(f) of a function f(scores, labels) of one query"
        )
    return list(metrics)


def _of_query(function: Callable[..., Any]) -> Callable[[Any, Any], float]:
    def measure(scores: Any, labels: Any) -> float:
        # As XGBoost counts a query with one document.
        return 1.0 if len(labels) == 1 else function(labels, scores)

    return measure


def _results(name: str, found: Any) -> list[tuple[str, float, bool]]:
    entries = [found] if isinstance(found, tuple) else found
    for entry in entries:
        is_whole = isinstance(entry, tuple) and len(entry) == 3 and isinstance(entry[0], str)
        if not is_whole or not isinstance(entry[1], (int, float, np.number)):
            raise RankforceError(f"{name} returned {entry!r}: {_EXPECTED}")
    return [(str(key), float(value), bool(higher)) for key, value, higher in entries]
