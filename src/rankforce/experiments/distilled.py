"""What came of a distillation: the small ranker, and what was lost."""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.types import Floats, plain
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import as_source
from rankforce.evaluation.compare import compare
from rankforce.evaluation.comparison import Comparison
from rankforce.evaluation.show import STARS, describe_test, is_worse, show_p
from rankforce.measures.metric import Metric
from rankforce.models.model import Model
from rankforce.show.tables import Cell, Table, render
from rankforce.training.ranker import Ranker

LARGE, SMALL = "committee", "small"
TIMED = 2000  # documents that the time of scoring is measured on
REPEATS = 3  # of which the fastest counts


class Loss(NamedTuple):
    """How the small ranker does on one data set, beside the committee."""

    queries: int
    comparisons: list[Comparison]  # by each metric; none where there are no labels
    tau: float  # mean over queries of Kendall's tau between the two rankings, ties in both counted
    r2: float  # share of the variance of scores within queries that both have in common


class Size(NamedTuple):
    """How large a model is, and how fast."""

    trees: int
    leaves: int
    seconds: float  # to score a thousand documents on one thread, on this machine


class Distilled(NamedTuple):
    """A small ranker in place of a committee; prints what was lost."""

    ranker: Ranker
    lost: dict[str, Loss]  # by data set: "training", and "valid" if there was one
    sizes: dict[str, Size]  # of the committee and of the small ranker

    def records(self) -> list[dict[str, Any]]:
        """Every line of the table for programs: `pandas.DataFrame(found.records())`."""
        found = [
            {"set": name, **line} for name, loss in self.lost.items() for line in _measured(loss)
        ]
        sizes = {key: getattr(self.sizes[LARGE], key) for key in Size._fields}
        for key, value in sizes.items():
            small = getattr(self.sizes[SMALL], key)
            found.append({"set": "", "measure": key, LARGE: value, SMALL: small})
        return [{key: plain(value) for key, value in line.items()} for line in found]

    def table(self, format: str = "text") -> str:
        """Metrics of both and how well they agree on each data set, their sizes and their times.

        As "text", "markdown", "latex", "html", "csv" or "json".
        """
        rows: list[list[Cell] | str] = []
        for name, loss in self.lost.items():
            seen = ", which it was fitted to" if name == "training" else ""
            rows.append(f"{name}: {loss.queries:,} queries{seen}")
            rows += [_compared(one) for one in loss.comparisons]
            rows.append(_line("Kendall's tau of rankings", "", f"{loss.tau:.4f}"))
            rows.append(_line("R2 of scores within queries", "", f"{loss.r2:.4f}"))
        large, small = self.sizes[LARGE], self.sizes[SMALL]
        rows.append("size")
        rows.append(_line("trees", f"{large.trees:,}", f"{small.trees:,}"))
        rows.append(_line("leaves", f"{large.leaves:,}", f"{small.leaves:,}"))
        times = (f"{one.seconds * 1e3:.3g}" for one in (large, small))
        rows.append(_line("ms for 1,000 documents, one thread", *times))
        compared = [one for loss in self.lost.values() for one in loss.comparisons]
        notes = [f"{describe_test(compared[0])}; {STARS}"] if compared else []
        columns: list[tuple[str, ...]] = [(name,) for name in ("", LARGE, SMALL, "difference", "p")]
        return render(Table(columns, rows, notes), format)

    def __repr__(self) -> str:
        return self.table()


def is_judged(data: RankingData) -> bool:
    """Whether there is anything by which a metric can judge rankings."""
    return data.has_labels or bool(data.sources)


def measure_loss(
    data: RankingData, large: Floats, small: Floats, metrics: list[Metric], *, threads: int
) -> Loss:
    """Compare the scores of the committee with those of the small ranker."""
    scores = {LARGE: large, SMALL: small}
    compared = []
    if is_judged(data):
        compared = [compare(scores, data, metric=one, threads=threads) for one in metrics]
    index = data.index
    ordered = index.places(large), index.places(small)
    return Loss(
        len(index.sizes), compared, mean_tau(*ordered, index), shared_variance(large, small, index)
    )


def mean_tau(first: Floats, second: Floats, index: QueryIndex) -> float:
    """Mean of Kendall's tau-b over queries; NaN without a query that both rank.

    >>> from rankforce.data.queries import index_queries
    >>> mean_tau(np.array([1.0, 2, 3, 7]), np.array([1.0, 3, 2, 9]), index_queries(4, group=[3, 1]))
    0.333...
    """
    from scipy.stats import kendalltau

    ends = zip(index.pointer[:-1].tolist(), index.pointer[1:].tolist(), strict=True)
    parts = [slice(*end) for end in ends if end[1] - end[0] > 1]
    found = np.array([kendalltau(first[one], second[one]).statistic for one in parts])
    known = found[~np.isnan(found)]  # not where one of them ties all documents
    return float(known.mean()) if known.size else math.nan


def shared_variance(first: Floats, second: Floats, index: QueryIndex) -> float:
    """The squared correlation of scores within queries: R2 of the best line between them.

    >>> from rankforce.data.queries import index_queries
    >>> scores = np.array([1.0, 2, 3, 7, 9])
    >>> shared_variance(scores, [0, 0, 0, 5, 5] - 2 * scores, index_queries(5, group=[3, 2]))
    1.0
    """
    own, other, both = _moments(first, second, index)
    return both**2 / (own * other) if own * other > 0.0 else math.nan


def best_slope(first: Floats, second: Floats, index: QueryIndex) -> float:
    """What the first scores, times it, are nearest to the second with; a query's constant is free.

    It is 1 if nothing above 0 is.

    >>> from rankforce.data.queries import index_queries
    >>> best_slope(np.array([1.0, 2, 3]), np.array([7.0, 9, 11]), index_queries(3))
    2.0
    """
    own, _, both = _moments(first, second, index)
    return both / own if own > 0.0 and both > 0.0 else 1.0


def _moments(first: Floats, second: Floats, index: QueryIndex) -> tuple[float, float, float]:
    """Sums of squares of the first, of the second, and of their product, within queries."""
    own, other = (_within(one, index) for one in (first, second))
    return float(np.sum(own**2)), float(np.sum(other**2)), float(np.sum(own * other))


def _within(values: Floats, index: QueryIndex) -> Floats:
    """Values, one for each row, less the mean of their query."""
    query = index.of_rows()
    means = np.bincount(query, values, len(index.sizes)) / np.maximum(index.sizes, 1)
    centred: Floats = values - means[query]
    return centred


def measure_size(model: Model, features: Any) -> Size:
    """Trees, leaves and speed of a model."""
    sample = as_source(features).take(slice(0, TIMED))
    times = []
    for _ in range(REPEATS):
        begun = perf_counter()
        model.scores(sample)
        times.append(perf_counter() - begun)
    seconds = min(times) * 1000 / max(sample.shape[0], 1)
    return Size(model.used, count_leaves(model), seconds)


def count_leaves(model: Model) -> int:
    """Leaves of the trees that make the scores."""
    return sum(tree.leaves for tree in model.trees[: model.used])


def _measured(loss: Loss) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for one in loss.comparisons:
        contrast = one.contrasts[SMALL]
        line = {"measure": one.metric.name, LARGE: one.means[LARGE], SMALL: one.means[SMALL]}
        lines.append(line | {"difference": contrast.difference, "p": contrast.p_value})
    lines.append({"measure": "tau", SMALL: loss.tau})
    return [*lines, {"measure": "r2", SMALL: loss.r2}]


def _compared(found: Comparison) -> list[Cell]:
    contrast = found.contrasts[SMALL]
    return [
        Cell(found.metric.name),
        Cell(f"{found.means[LARGE]:.4f}"),
        Cell(f"{found.means[SMALL]:.4f}"),
        Cell(f"{contrast.difference:+.4f}", stars=contrast.stars, worse=is_worse(contrast)),
        Cell(show_p(contrast.p_value)),
    ]


def _line(title: str, large: str, small: str) -> list[Cell]:
    return [Cell(title), Cell(large), Cell(small), Cell(""), Cell("")]
