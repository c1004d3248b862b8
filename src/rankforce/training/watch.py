"""Metrics while training: their history, the best iteration, when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce._metrics.average import mean
from rankforce._metrics.make import metric as make_metric
from rankforce._metrics.metric import Metric
from rankforce._metrics.names import parse_name, split_names
from rankforce._metrics.scoreboard import Scoreboard
from rankforce._objectives.objective import Objective
from rankforce._objectives.tables import Floats
from rankforce.data.ranking_data import RankingData

History = dict[str, dict[str, list[float]]]


class Evaluation(NamedTuple):
    """One metric on one data set; the fields that LightGBM's callbacks read."""

    dataset_name: str
    metric_name: str
    metric_value: float
    maximize: bool
    metric_std_dev: float | None = None

    def is_cv_result(self) -> bool:
        """Never the mean over folds."""
        return False


def make_metrics(
    given: Any, objective: Objective | None, *, k: int | None, cutoffs: Sequence[int] = ()
) -> list[Metric]:
    """Metrics from names, metrics or functions; by default the one that the objective is for.

    A name without a cutoff gets those of `cutoffs`, as LightGBM's `eval_at` does, or else `k`.
    """
    if given is None:
        assert objective is not None
        k = k or objective.arguments.get("k")
        given = default_metric(objective, k)
    entries = [given] if isinstance(given, (str, Metric)) or callable(given) else list(given)
    metrics: list[Metric] = []
    for entry in entries:
        for one in split_names(entry) if isinstance(entry, str) else [entry]:
            metrics += _make_one(one, list(cutoffs) or ([k] if k else []))
    names = [metric.name for metric in metrics]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"the metric {twice} is asked for twice")
    return metrics


def _make_one(what: Any, cutoffs: Sequence[int]) -> list[Metric]:
    if isinstance(what, Metric):
        return [what]
    if not isinstance(what, str):
        return [make_metric(what)]
    entry, named = parse_name(what.strip())
    if entry.cutoff == "none" or "k" in named or not cutoffs:
        return [make_metric(what.strip())]
    return [make_metric(what.strip(), k=cutoff) for cutoff in cutoffs]


def default_metric(objective: Objective, k: int | None) -> str:
    """The metric that an objective is for.

    >>> import rankforce as rf
    >>> default_metric(rf.objective("lambdagap-x+", k=5), 5)
    'p@5'
    """
    name = objective.name.lower()
    at = f"@{k}" if k else "@10"
    for metric in ("map", "mrr", "err", "recall"):
        if name.startswith(f"lambdarank({metric}"):
            return metric + at
    is_precision = name.startswith(("lambdagap", "lambdarank-p", "lambdarank-arpb", "binranknet"))
    return ("p" if is_precision else "ndcg") + at


class Watch:
    """Follows the metrics of several data sets; the first metric of the first set decides."""

    def __init__(
        self,
        metrics: Sequence[Metric],
        sets: Sequence[tuple[str, RankingData]],
        *,
        rounds: int | None,
        min_delta: float,
        threads: int,
    ) -> None:
        self.metrics = list(metrics)
        self.names = [name for name, _ in sets]
        self._rounds = rounds
        self._min_delta = min_delta
        self._threads = threads
        self._counted = 0  # values that `best` has seen
        self._best: int | None = None
        self._boards = [Scoreboard(metrics, data.labels, index=data.index) for _, data in sets]
        self._weights = [data.metric_weight for _, data in sets]
        self.history: History = {
            name: {metric_key(metric): [] for metric in metrics} for name in self.names
        }

    def look(self, scores: Sequence[Floats]) -> list[Evaluation]:
        """Evaluate every set at its scores, and remember."""
        found = []
        for name, board, weights, values in zip(
            self.names, self._boards, self._weights, scores, strict=True
        ):
            per_query = board.values(values, threads=self._threads)
            for metric, one in zip(self.metrics, per_query, strict=True):
                value = mean(one, weights)
                key = metric_key(metric)
                self.history[name][key].append(value)
                found.append(Evaluation(name, key, value, metric.higher_is_better))
        return found

    @property
    def measured(self) -> list[int]:
        """How many trees each metric on each set has been measured for."""
        return [len(values) for own in self.history.values() for values in own.values()]

    @property
    def best(self) -> int | None:
        """Number of trees with the best value of the deciding metric; None without a set."""
        values = self._deciding
        if len(values) < self._counted:
            self._counted, self._best = 0, None
        fresh = values[self._counted :]
        self._best = best_iteration(
            fresh,
            self._higher,
            self._min_delta,
            first=self._counted + 1,
            best=None if self._best is None else (self._best, values[self._best - 1]),
        )
        self._counted = len(values)
        return self._best

    @property
    def should_stop(self) -> bool:
        """No better value for as many rounds as agreed."""
        best = self.best
        if self._rounds is None or best is None:
            return False
        return len(self._deciding) - best >= self._rounds

    @property
    def _deciding(self) -> list[float]:
        if not self.names:
            return []
        return self.history[self.names[0]][metric_key(self.metrics[0])]

    @property
    def _higher(self) -> bool:
        return self.metrics[0].higher_is_better if self.metrics else True


def metric_key(metric: Metric) -> str:
    """Name of a metric in a history, as LightGBM writes it: ndcg@10."""
    return metric.name.lower()


def best_iteration(
    values: Sequence[float],
    higher: bool,
    min_delta: float = 0.0,
    *,
    first: int = 1,
    best: tuple[int, float] | None = None,
) -> int | None:
    """Number of trees at the best value, the first if there are several.

    `values` begin with that of `first` trees; `best` is the number and the value so far.

    >>> best_iteration([0.1, 0.3, 0.3, 0.2], higher=True)
    2
    """
    for number, value in enumerate(values, start=first):
        if np.isnan(value):
            continue
        if best is None or (value - best[1] if higher else best[1] - value) > min_delta:
            best = number, value
    return None if best is None else best[0]
