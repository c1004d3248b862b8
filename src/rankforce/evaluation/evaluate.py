"""Several metrics of one system, as a table: `rf.evaluate`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, plain
from rankforce.evaluation.judge import judge
from rankforce.measures.make import MetricLike, asked_for
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric, mean
from rankforce.measures.scoreboard import Scoreboard

USUAL = "ndcg@5,ndcg@10,p@5,p@10,map,mrr"


class Means(dict[str, float]):
    """Means by the names of metrics; any spelling of a name finds its own, and so does a metric."""

    def __missing__(self, asked: Any) -> float:
        try:
            name = make_metric(asked).name
        except ValueError:
            name = asked
        if name not in self:
            has = ", ".join(self) or "none"
            raise KeyError(f"{asked!r} was not evaluated: the metrics are {has}")
        return self[name]


class Evaluated(NamedTuple):
    """Values of every metric for every query; prints as its table."""

    metrics: list[Metric]
    values: Floats  # metrics x queries; NaN where a query does not count
    query_ids: NDArray[Any]
    weights: Floats | None
    pool: Scoreboard | None  # of all judged documents
    notes: list[str]

    @property
    def means(self) -> Means:
        """Mean of each metric over the queries that count, by its name in any spelling.

        >>> import rankforce as rf
        >>> rf.evaluate([0.2, 0.1], [0, 1], "mrr, p@1").means["mrr"]
        0.5
        """
        return self._means(self.values)

    def _means(self, values: Floats) -> Means:
        names = [metric.name for metric in self.metrics]
        return Means({n: mean(row, self.weights) for n, row in zip(names, values, strict=True)})

    def __repr__(self) -> str:
        return self.table()

    def references(self) -> tuple[Means, Means] | None:
        """Means of a random and of an ideal ranking; None with a function of one's own."""
        if self.pool is None or any(m.definition.kind == "own" for m in self.metrics):
            return None
        return self._means(self.pool.random()), self._means(self.pool.perfect())

    def table(self) -> str:
        """Means, with the conventions they were computed by."""
        wide = max(len(metric.name) for metric in self.metrics)
        references = self.references()
        lines = []
        for metric in self.metrics:
            name = metric.name
            told = ["higher is better"] if metric.higher_is_better else []
            told.append(metric.conventions)
            if references is not None:
                random, perfect = references
                told.append(f"random {random[name]:.4g}, ideal {perfect[name]:.4g}")
            lines.append(f"{name:{wide}}  {self.means[name]:8.4f}  ({'; '.join(told)})")
        skipped = int(np.isnan(self.values).any(axis=0).sum())
        counted = f"{self.values.shape[1]} queries"
        counted += f", {skipped} of them do not count for some metric" if skipped else ""
        lines.append(counted if self.weights is None else f"{counted}, weighted")
        return "\n".join([*lines, *self.notes])

    def per_query(self) -> str:
        """One line for each query, with tabs."""
        lines = ["\t".join(["query", *(metric.name for metric in self.metrics)])]
        for query, column in zip(self.query_ids, self.values.T, strict=True):
            lines.append("\t".join([str(query), *(f"{value:.6f}" for value in column)]))
        return "\n".join(lines)

    def record(self, *, per_query: bool = False) -> dict[str, Any]:
        """The same for programs."""
        found: dict[str, Any] = {
            "queries": int(self.values.shape[1]),
            "means": {name: plain(value) for name, value in self.means.items()},
            "conventions": {metric.name: metric.conventions for metric in self.metrics},
            "notes": self.notes,
        }
        references = self.references()
        if references is not None:
            for key, values in zip(("random", "perfect"), references, strict=True):
                found[key] = {name: plain(value) for name, value in values.items()}
        if per_query:
            names = [metric.name for metric in self.metrics]
            found["per_query"] = [
                {"query": plain(query), **dict(zip(names, map(plain, column), strict=True))}
                for query, column in zip(self.query_ids, self.values.T, strict=True)
            ]
        return found


def evaluate(
    system: Any,
    labels: Any,
    metrics: MetricLike | Iterable[MetricLike] = USUAL,
    *,
    group: Any = None,
    qid: Any = None,
    weights: Any = None,
    missing: str = "error",
    threads: int = 1,
) -> Evaluated:
    """Judge one system by several metrics.

    Scores by labels (or a dictionary of them by source) with `group` or `qid`, a model or scores by
    a `RankingData`, or a run by qrels: what `rf.compare` takes. Metrics in one text have commas
    between them; an `rf.scorecard` stands for its metrics. The result prints as a table.

    >>> import rankforce as rf
    >>> rf.evaluate([0.2, 0.1], [0, 1], "mrr, p@1").means
    {'MRR': 0.5, 'P@1': 0.0}
    """
    found = judge(
        {"system": system},
        labels,
        metrics=_make_metrics(metrics),
        group=group,
        qid=qid,
        weights=weights,
        missing=missing,
        threads=threads,
    )
    return Evaluated(
        found.metrics,
        found.values["system"],
        found.query_ids,
        found.weights,
        found.pool,
        found.notes,
    )


def _make_metrics(given: Any) -> list[Metric]:
    made = [make_metric(one) for one in asked_for(given)]
    if not made:
        raise RankforceError(
            "there is no metric: give one, or several with commas, as in 'ndcg@10,mrr'"
        )
    return made
