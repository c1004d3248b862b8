"""Metrics bound to labels: the hot path of early stopping. Each query is ranked once for all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import check_threads, run_blocks
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.kernels import layout
from rankforce.kernels import metrics as kernel
from rankforce.measures.labels import LABEL, check_labels, count_rows, read_columns
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric
from rankforce.measures.prepare import Plan, Source, divisors, is_relevant, make_plan


class Judged(NamedTuple):
    """All judged documents of each query, where a ranking may leave some of them out."""

    labels: Floats
    queries: QueryIndex
    sizes: NDArray[np.int64]  # documents of each query, ranked or judged


class Part(NamedTuple):
    """Metrics that see the same scores."""

    rows: list[int]  # of the scoreboard
    plan: Plan
    single: bool  # whether scores are in single precision

    def only(self, rows: set[int]) -> Part:
        """Those of the metrics that are among `rows` of the scoreboard."""
        kept = [number for number, row in enumerate(self.rows) if row in rows]
        if len(kept) == len(self.rows):
            return self
        return self._replace(rows=[self.rows[number] for number in kept], plan=self.plan.only(kept))


class Scoreboard:
    """Many metrics over the same queries; `values` takes scores only.

    `labels` are one per row, a dictionary of such by the name of their source, or a `RankingData`,
    which knows its queries. Else `group` has the sizes of the queries, `qid` one query id per row,
    `index` queries that are indexed already, with their `query_ids` for messages. `judged` are the
    documents that an ideal ranking could have, if those are not the rows. The queries may be some
    of a team's.

    >>> board = Scoreboard(["ndcg@10", "mrr"], [0, 1, 0, 2], group=[2, 2])
    >>> board.names
    ['NDCG@10', 'MRR']
    >>> board.values([2.0, 1.0, 0.0, 1.0]).round(4).tolist()
    [[0.6309, 1.0], [0.5, 1.0]]
    >>> labels = {"grade": [0, 1], "click": [1.0, float("nan")]}
    >>> Scoreboard(["mrr(source=grade)", "mrr(source=click)"], labels).values([2.0, 1.0]).tolist()
    [[0.5], [1.0]]
    """

    def __init__(
        self,
        metrics: Iterable[Metric | str] | Metric | str,
        labels: Any,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        index: QueryIndex | None = None,
        query_ids: Sequence[Any] | NDArray[Any] | None = None,
        judged: Judged | None = None,
        team: Team = ALONE,
    ) -> None:
        self.metrics = [make_metric(what) for what in _several(metrics)]
        if isinstance(labels, RankingData):
            if not (group is None and qid is None and index is None):
                raise RankforceError("group= and qid= are for labels: the data knows its queries")
            index, query_ids = labels.index, labels.query_ids
        elif not isinstance(labels, Mapping):
            labels = check_labels(labels)
        self.rows = count_rows(labels)
        self._columns = read_columns(labels, self.metrics, self.rows)
        self._labels = {source: column.labels for source, column in self._columns.items()}
        self.index = _check_index(self.rows, group, qid, index)
        self.sizes = self.index.sizes
        self._qid = None if qid is None else np.asarray(qid)
        self._query_ids = query_ids
        self._judged = judged
        self._queries = layout.Queries(*self.index)
        self._tops = self._find_tops(team)
        self.parts = self._plan(self._labels, self.index)
        self._settle()

    @property
    def names(self) -> list[str]:
        """Names of the metrics, in the order of the rows of `values`."""
        return [metric.name for metric in self.metrics]

    @property
    def missing(self) -> dict[str, int]:
        """How many labels are missing and count 0, by the name of their source."""
        return {column.name: column.missing for column in self._columns.values() if column.missing}

    def values(self, scores: ArrayLike, *, threads: int = 1) -> Floats:
        """One row per metric, one column per query; NaN is a query that does not count."""
        given = np.ascontiguousarray(scores, dtype=np.float64)
        self.check_shape(given.shape)
        return self.finish(self._sums(self.parts, given, check_threads(threads)), given)

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Raise an error unless scores are one per row."""
        if shape != (self.rows,):
            raise RankforceError(f"scores have shape {shape}, but there are {self.rows} labels")

    def finish(self, sums: Floats, scores: Floats | None = None) -> Floats:
        """`values` of what a kernel adds up; metrics of one's own need scores."""
        found = sums / self._divisors
        np.minimum(found, self._largest, out=found)  # rounding must not exceed the ideal
        for i, metric in enumerate(self.metrics):
            if metric.definition.kind == "own":
                assert scores is not None
                self._call(i, metric, scores, found)
        return self._fix(found)

    def perfect(self) -> Floats:
        """The values of the ideal ranking: `values` cannot be better.

        >>> Scoreboard(["dcg@1"], [0, 2, 1]).perfect().tolist()
        [[3.0]]
        """
        found = self._best / self._divisors
        for i, metric in enumerate(self.metrics):
            if metric.definition.kind == "own":
                self._call(i, metric, self._labels[metric.source], found)
        return self._fix(found)

    def random(self) -> Floats:
        """The expected values of a ranking drawn at random: the mean over all orders.

        >>> Scoreboard(["p@2"], [1, 0, 0, 0]).random().tolist()
        [[0.25]]
        """
        for metric in self.metrics:
            if metric.definition.kind == "own":
                message = "only metrics with a name know what a random ranking is worth"
                raise RankforceError(f"{metric.name!r} is a function of one's own: {message}")
        parts = [part._replace(plan=part.plan.with_ties("average")) for part in self.parts]
        return self.finish(self._sums(parts, np.zeros(self.rows), 1))

    def alone(self, row: int) -> Scoreboard:
        """One of the metrics by itself, over the same rows."""
        assert self._judged is None
        metric = self.metrics[row]
        labels = {metric.source or LABEL: self._labels[metric.source]}
        board = Scoreboard([metric], labels, index=self.index, query_ids=self._query_ids)
        board._columns = {metric.source: self._columns[metric.source]}
        return board

    def name_of(self, query: int) -> Any:
        """What messages call a query that has rows: its id, or its number."""
        if self._qid is not None:
            return self._qid[self.index.rows_of(query)[0]]
        return query if self._query_ids is None else self._query_ids[query]

    def _find_tops(self, team: Team) -> dict[str | None, float]:
        """The largest label of each source, of all workers' and of all that are judged."""
        judged = 0.0 if self._judged is None else self._judged.labels.max(initial=0.0)
        own = [max(values.max(initial=0.0), judged) for values in self._labels.values()]
        found = np.max(np.array(team.gather(np.array(own))), axis=0)
        return dict(zip(self._labels, found.tolist(), strict=True))

    def _plan(self, labels: Mapping[str | None, Floats], index: QueryIndex) -> list[Part]:
        sources = {s: Source(values, self._tops[s]) for s, values in labels.items()}
        parts = []
        for single in (False, True):
            rows = [
                i
                for i, metric in enumerate(self.metrics)
                if metric.definition.kind != "own" and metric.definition.single is single
            ]
            if rows:
                plan = make_plan([self.metrics[i] for i in rows], sources, index)
                parts.append(Part(rows, plan, single))
        return parts

    def _settle(self) -> None:
        """Ideal sums, divisors, and the queries whose value no ranking changes."""
        labels, index, sizes, parts = self._labels, self.index, self.sizes, self.parts
        if self._judged is not None:
            labels = dict.fromkeys(labels, self._judged.labels)
            _, index, sizes = self._judged
            parts = self._plan(labels, index)
        self._best = self._ideal_sums(labels, index, parts)
        self._divisors = np.ones_like(self._best)
        self._largest = np.full((len(self.metrics), 1), np.inf)
        is_empty = sizes == 0
        self._fixed: list[tuple[int, NDArray[np.intp], float]] = []
        relevant: dict[tuple[str | None, float | None], Floats] = {}
        for i, metric in enumerate(self.metrics):
            key = metric.source, metric.definition.rel
            if key not in relevant:
                flags = is_relevant(metric.definition, labels[metric.source])
                relevant[key] = _count(flags, index)
            found = divisors(metric, self._best[i], relevant[key], sizes)
            is_without = ((relevant[key] == 0) | (found == 0)) & ~is_empty
            self._divisors[i] = np.where(found > 0, found, 1.0)
            if metric.definition.ideal != "none":
                self._largest[i] = 1.0
            if metric.no_relevant is not None:
                value = np.nan if metric.no_relevant == "skip" else float(metric.no_relevant)
                self._fixed.append((i, np.flatnonzero(is_without), value))
        self._empty = np.flatnonzero(is_empty)

    def _ideal_sums(
        self, labels: Mapping[str | None, Floats], index: QueryIndex, parts: list[Part]
    ) -> Floats:
        """What the kernel adds up where each source ranks by its own labels."""
        by_label = [part._replace(plan=part.plan.with_ties("row"), single=False) for part in parts]
        found = np.zeros((len(self.metrics), len(index.sizes)))
        for source, values in labels.items():
            rows = {i for i, metric in enumerate(self.metrics) if metric.source == source}
            of_source = [one for part in by_label if (one := part.only(rows)).rows]
            found += self._sums(of_source, values, 1, layout.Queries(*index))
        return found

    def _sums(
        self,
        parts: list[Part],
        scores: Floats,
        threads: int,
        queries: layout.Queries | None = None,
    ) -> Floats:
        """What the kernel adds up, one row per metric; nothing is divided yet."""
        queries = queries or self._queries
        scores = np.require(scores, requirements="W")  # or the kernel is compiled once more
        cost = np.diff(queries.pointer).astype(np.float64) + 10.0
        found = np.zeros((len(self.metrics), len(cost)))
        for rows, plan, single in parts:
            seen = _to_single(scores) if single else scores
            sums = found if len(rows) == len(found) else np.zeros((len(rows), len(cost)))

            def measure(first: int, last: int) -> int:
                return int(kernel.measure_block(first, last, seen, queries, *plan, sums))  # noqa: B023

            if max(run_blocks(measure, cost, threads)) >= 0:
                self._complain(seen, scores)
            if sums is not found:
                found[rows] = sums
        return found

    def _complain(self, seen: Floats, scores: Floats) -> NoReturn:
        place = int(np.flatnonzero(~np.isfinite(self.index.places(seen)))[0])
        row = int(self.index.row[place]) if len(self.index.row) else place
        query = self.name_of(int(np.searchsorted(self.index.pointer, place, side="right")) - 1)
        is_large = np.isfinite(scores[row])
        rule = "single precision does not hold it" if is_large else "scores must be finite"
        raise RankforceError(f"score of row {row} (query {query}) is {scores[row]}: {rule}")

    def _fix(self, found: Floats) -> Floats:
        """Values that no ranking changes."""
        for i, queries, value in self._fixed:
            found[i, queries] = value
        found[:, self._empty] = np.nan
        return found

    def _call(self, i: int, metric: Metric, scores: Floats, found: Floats) -> None:
        """A user's function, query by query; it sees copies in the order of rows."""
        function = metric.definition.function
        assert function is not None
        settled = {int(q) for j, queries, _ in self._fixed if j == i for q in queries}
        in_places = self.index.places(scores)
        labels = self.index.places(self._labels[metric.source])
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
                raise RankforceError(
                    f"{metric.name!r} of query {query} is {value!r}: "
                    "it must be a finite number, or NaN for a query that does not count"
                )
            found[i, query] = number


class PreparedMetric:
    """One metric bound to labels; `values` takes scores only."""

    def __init__(
        self,
        metric: Metric,
        labels: Any,
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


def _count(flags: NDArray[np.bool_], index: QueryIndex) -> Floats:
    """How many documents of each query have the flag."""
    total = np.concatenate([np.zeros(1), np.cumsum(index.places(flags))])
    return np.asarray(np.diff(total[index.pointer]))


def _to_single(scores: Floats) -> Floats:
    with np.errstate(over="ignore"):  # what single precision cannot hold is told as infinite
        return scores.astype(np.float32).astype(np.float64)


def _check_index(
    rows: int, group: ArrayLike | None, qid: ArrayLike | None, index: QueryIndex | None
) -> QueryIndex:
    if index is None:
        return index_queries(rows, group=group, qid=qid)
    if group is not None or qid is not None:
        raise RankforceError("give index= or group= or qid=, not two of them")
    if index.pointer[-1] != rows:
        raise RankforceError(f"index= has {index.pointer[-1]} rows, but there are {rows} labels")
    return index
