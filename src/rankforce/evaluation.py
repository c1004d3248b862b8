"""Several metrics of one set of scores, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce._metrics.average import mean
from rankforce._metrics.metric import Metric
from rankforce._metrics.scoreboard import Scoreboard
from rankforce._objectives.tables import Floats
from rankforce.data.ranking_data import RankingData


class Evaluated(NamedTuple):
    """Values of every metric for every query."""

    metrics: list[Metric]
    values: Floats  # metrics x queries; NaN where a query does not count
    query_ids: NDArray[Any]
    weights: Floats | None

    @property
    def means(self) -> dict[str, float]:
        """Mean of each metric over the queries that count."""
        names = [metric.name for metric in self.metrics]
        return {n: mean(row, self.weights) for n, row in zip(names, self.values, strict=True)}

    def table(self) -> str:
        """Means, with the conventions they were computed by."""
        wide = max(len(metric.name) for metric in self.metrics)
        lines = []
        for metric, row in zip(self.metrics, self.values, strict=True):
            arrow = "higher is better" if metric.higher_is_better else "lower is better"
            value = mean(row, self.weights)
            lines.append(f"{metric.name:{wide}}  {value:8.4f}  ({arrow}; {metric.conventions})")
        counted = f"{self.values.shape[1]} queries"
        return "\n".join([*lines, counted if self.weights is None else f"{counted}, weighted"])

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
            "means": {name: _plain(value) for name, value in self.means.items()},
            "conventions": {metric.name: metric.conventions for metric in self.metrics},
        }
        if per_query:
            names = [metric.name for metric in self.metrics]
            found["per_query"] = [
                {"query": _plain(query), **dict(zip(names, map(_plain, column), strict=True))}
                for query, column in zip(self.query_ids, self.values.T, strict=True)
            ]
        return found


def evaluate(data: RankingData, scores: ArrayLike, metrics: Sequence[Metric]) -> Evaluated:
    """Every metric of `scores` on `data`.

    >>> import rankforce as rf
    >>> data = rf.RankingData([[0.0], [1.0]], [0, 1], qid=[7, 7])
    >>> evaluate(data, [0.2, 0.1], [rf.metric("mrr")]).means
    {'MRR': 0.5}
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != (data.rows,):
        raise ValueError(f"there are {values.size} scores for {data.rows} rows")
    board = Scoreboard(metrics, data.labels, index=data.index)
    return Evaluated(list(metrics), board.values(values), data.query_ids, data.metric_weight)


def _plain(value: Any) -> Any:
    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and np.isnan(plain) else plain
