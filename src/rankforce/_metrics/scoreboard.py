"""Metrics bound to labels: the hot path of early stopping. Each query is ranked once for all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce._metrics.baselines import random_values
from rankforce._metrics.make import metric as make_metric
from rankforce._metrics.metric import Metric
from rankforce._metrics.prepare import divisors, make_plan
from rankforce._objectives.prepare import check_labels
from rankforce._objectives.tables import Floats
from rankforce.kernels import layout
from rankforce.kernels import metrics as kernel
from rankforce.kernels.compile import announce_compilation
from rankforce.queries import QueryIndex, index_queries
from rankforce.threads import check_threads, run_blocks


class Scoreboard:
    """Many metrics over the same queries; `values` takes scores only.

    `group` has the sizes of the queries, `qid` one query id per row, `index` queries that are
    indexed already.

    >>> board = Scoreboard(["ndcg@10", "mrr"], [0, 1, 0, 2], group=[2, 2])
    >>> board.names
    ['NDCG@10', 'MRR']
    >>> board.values([2.0, 1.0, 0.0, 1.0]).round(4).tolist()
    [[0.6309, 1.0], [0.5, 1.0]]
    """

    def __init__(
        self,
        metrics: Iterable[Metric | str] | Metric | str,
        labels: ArrayLike,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        index: QueryIndex | None = None,
    ) -> None:
        announce_compilation()
        self.metrics = [make_metric(what) for what in _several(metrics)]
        self._labels = check_labels(labels)
        self.rows = len(self._labels)
        self.index = _check_index(self.rows, group, qid, index)
        self.sizes = self.index.sizes
        self._compiled = [i for i, m in enumerate(self.metrics) if m.definition.kind != "own"]
        self._plan = make_plan([self.metrics[i] for i in self._compiled], self._labels, self.index)
        self._queries = layout.Queries(*self.index)
        self._cost = self.sizes.astype(np.float64) + 10.0
        query = np.repeat(np.arange(len(self.sizes)), self.sizes)
        is_relevant = self.index.places(self._labels) > 0
        relevant = np.asarray(np.bincount(query, is_relevant, len(self.sizes)), np.float64)
        self._settle(relevant)

    @property
    def names(self) -> list[str]:
        """Names of the metrics, in the order of the rows of `values`."""
        return [metric.name for metric in self.metrics]

    def values(self, scores: ArrayLike, *, threads: int = 1) -> Floats:
        """One row per metric, one column per query; NaN is a query that does not count."""
        given = np.ascontiguousarray(scores, dtype=np.float64)
        if given.shape != (self.rows,):
            raise ValueError(f"scores have shape {given.shape}, but there are {self.rows} labels")
        compiled = self._sums(given, check_threads(threads))
        compiled /= self._divisors
        np.minimum(compiled, self._largest, out=compiled)  # rounding must not exceed the ideal
        found = np.empty((len(self.metrics), len(self.sizes)))
        for row, i in enumerate(self._compiled):
            found[i] = compiled[row]
        return self._finish(found, given)

    def perfect(self) -> Floats:
        """The values of the ideal ranking: `values` cannot be better.

        >>> Scoreboard(["dcg@1"], [0, 2, 1]).perfect().tolist()
        [[3.0]]
        """
        return self.values(self._labels)

    def random(self) -> Floats:
        """The expected values of a ranking drawn at random, all orders alike.

        >>> Scoreboard(["p@2"], [1, 0, 0, 0]).random().tolist()
        [[0.25]]
        """
        found = np.empty((len(self.metrics), len(self.sizes)))
        for metric in self.metrics:
            if metric.definition.kind == "own":
                message = "only metrics with a name know what a random ranking is worth"
                raise ValueError(f"{metric.name!r} is a function of one's own: {message}")
        random_values(self._plan, self.index, found)
        found /= self._divisors
        return self._finish(found, None)

    def _settle(self, relevant: Floats) -> None:
        """Divisors, and the queries whose value no ranking changes."""
        best = self._sums(self._labels, 1)
        divisor = np.ones_like(best)
        self._largest = np.full((len(best), 1), np.inf)
        is_empty = self.sizes == 0
        self._fixed: list[tuple[int, NDArray[np.intp], float]] = []
        for i, metric in enumerate(self.metrics):
            is_without = (relevant == 0) & ~is_empty
            if i in self._compiled:
                row = self._compiled.index(i)
                found = divisors(metric, best[row], relevant, self.sizes)
                is_without |= (found == 0) & ~is_empty
                divisor[row] = np.where(found > 0, found, 1.0)
                if metric.definition.ideal == "best":
                    self._largest[row] = 1.0
            if metric.no_relevant is not None:
                value = np.nan if metric.no_relevant == "skip" else float(metric.no_relevant)
                self._fixed.append((i, np.flatnonzero(is_without), value))
        self._empty = np.flatnonzero(is_empty)
        self._divisors = divisor

    def _sums(self, scores: Floats, threads: int) -> Floats:
        """What the kernel adds up, one row per compiled metric; nothing is divided yet."""
        sums = np.zeros((len(self._compiled), len(self.sizes)))

        def measure(first: int, last: int) -> int:
            return int(kernel.measure_block(first, last, scores, self._queries, *self._plan, sums))

        if max(run_blocks(measure, self._cost, threads)) >= 0:
            row = int(np.flatnonzero(~np.isfinite(scores))[0])
            raise ValueError(f"score of row {row} is {scores[row]}: scores must be finite")
        return sums

    def _finish(self, found: Floats, scores: Floats | None) -> Floats:
        for i, queries, value in self._fixed:
            found[i, queries] = value
        for i, metric in enumerate(self.metrics):
            if metric.definition.kind == "own" and scores is not None:
                self._call(i, metric, scores, found)
        found[:, self._empty] = np.nan
        return found

    def _call(self, i: int, metric: Metric, scores: Floats, found: Floats) -> None:
        """A user's function, query by query; it sees copies in the order of rows."""
        function = metric.definition.function
        assert function is not None
        settled = {int(q) for j, queries, _ in self._fixed if j == i for q in queries}
        in_places, labels = self.index.places(scores), self.index.places(self._labels)
        for query in range(len(self.sizes)):
            here = slice(self.index.pointer[query], self.index.pointer[query + 1])
            if query in settled or here.start == here.stop:
                continue
            value = function(in_places[here].copy(), labels[here].copy())
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = np.inf
            if np.isinf(number):
                raise ValueError(
                    f"{metric.name!r} of query {query} is {value!r}: "
                    "it must be a finite number, or NaN for a query that does not count"
                )
            found[i, query] = number


class PreparedMetric:
    """One metric bound to labels; `values` takes scores only."""

    def __init__(
        self,
        metric: Metric,
        labels: ArrayLike,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
    ) -> None:
        self.metric = metric
        self._board = Scoreboard([metric], labels, group=group, qid=qid)
        self.index = self._board.index

    def values(self, scores: ArrayLike, *, threads: int = 1) -> Floats:
        """One value per query; NaN is a query that does not count."""
        return np.asarray(self._board.values(scores, threads=threads)[0])

    def perfect(self) -> Floats:
        """The value of the ideal ranking, for each query."""
        return np.asarray(self._board.perfect()[0])

    def random(self) -> Floats:
        """The expected value of a ranking drawn at random, for each query."""
        return np.asarray(self._board.random()[0])


def _several(metrics: Iterable[Metric | str] | Metric | str) -> Iterable[Metric | str]:
    return [metrics] if isinstance(metrics, (Metric, str)) else metrics


def _check_index(
    rows: int, group: ArrayLike | None, qid: ArrayLike | None, index: QueryIndex | None
) -> QueryIndex:
    if index is None:
        return index_queries(rows, group=group, qid=qid)
    if group is not None or qid is not None:
        raise ValueError("give index= or group= or qid=, not two of them")
    if index.pointer[-1] != rows:
        raise ValueError(f"index= has {index.pointer[-1]} rows, but there are {rows} labels")
    return index
