"""How two goals pull against each other: one ranker for each weight, judged by both metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.checks import check_choice, check_number
from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.evaluation.compare import compare
from rankforce.evaluation.comparison import Comparison
from rankforce.evaluation.paired import TESTS
from rankforce.evaluation.results import results
from rankforce.forces.base import AnyObjective
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric
from rankforce.measures.scoreboard import Scoreboard
from rankforce.training.ranker import Ranker

WEIGHTS = (0.0, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5)  # as Svore et al. 2011, section 6.1, and 0


class TradeOff(NamedTuple):
    """Rankers for several weights of a second goal, compared with the first weight."""

    weights: list[float]
    comparisons: tuple[Comparison, Comparison]  # by the first and by the second metric

    @property
    def points(self) -> list[tuple[float, float]]:
        """Means of the two metrics for each weight."""
        first, second = (list(found.means.values()) for found in self.comparisons)
        return list(zip(first, second, strict=True))

    @property
    def front(self) -> list[float]:
        """The weights that no other beats in one metric without losing in the other."""
        signs = [1.0 if found.metric.higher_is_better else -1.0 for found in self.comparisons]
        points = np.array(self.points) * signs
        kept = []
        for weight, point in zip(self.weights, points, strict=True):
            is_beaten = (points >= point).all(axis=1) & (points > point).any(axis=1)
            if not is_beaten.any():
                kept.append(weight)
        return kept

    def table(self, format: str = "text", *, digits: int = 4) -> str:
        """Both metrics for each weight, with stars where one is better than the first weight's."""
        found = {one.metric.name: one for one in self.comparisons}
        return results(found, format, percent=False, digits=digits)

    def plot(self, path: str | Path) -> Path:
        """Draw one metric against the other, a point for each weight, the front as a line.

        The format is that of the name: .png, .svg or .pdf. Needs matplotlib.
        """
        from rankforce.show import plots

        return plots.save(plots.trade_off(self), path)


def trade_off(
    objective: Callable[[float], AnyObjective],
    train: RankingData,
    test: RankingData,
    *,
    metrics: tuple[str | Metric, str | Metric],
    weights: Sequence[float] = WEIGHTS,
    significance: str = "t",
    **parameters: Any,
) -> TradeOff:
    """Train a ranker with `objective(w)` for each weight w, and judge all of them by two metrics.

    The first weight is the baseline of the comparisons, by the test `significance`;
    `parameters` are those of `rf.Ranker`.

    >>> import rankforce as rf
    >>> train, test = (rf.make_data("yahoo", queries=30, seed=seed) for seed in (0, 1))
    >>> clicks = rf.objective("lambdarank(cndcg)", source="clicks")
    >>> found = trade_off(
    ...     lambda w: rf.graded(["lambdarank-ndcg", clicks], weights=[1 - w, w]),
    ...     train, test, metrics=("ndcg@3", "cndcg@3(source=clicks)"),
    ...     weights=[0, 0.5], n_estimators=3, progress=False)
    >>> found.weights
    [0.0, 0.5]
    """
    # Mistakes show before the first tree: training takes its time.
    names = _name_weights(weights)
    judges = _two_metrics(metrics)
    Scoreboard(judges, test)
    check_choice("significance", significance, TESTS)
    objectives = {name: objective(weight) for name, weight in names.items()}
    scores = {
        name: Ranker(one, **parameters).fit(train).predict(test) for name, one in objectives.items()
    }
    first, second = (compare(scores, test, metric=metric, test=significance) for metric in judges)
    return TradeOff(list(names.values()), (first, second))


def _name_weights(weights: Any) -> dict[str, float]:
    if isinstance(weights, str) or not isinstance(weights, Iterable):
        raise RankforceError(f"weights is {weights!r}: it must be a list of numbers")
    known = [check_number("weight", weight, least=-math.inf) for weight in weights]
    if len(known) < 2:
        raise RankforceError(f"a trade-off needs two weights or more, got {known}")
    names: dict[str, float] = {}
    for weight in known:
        name = f"w = {weight:.15g}"
        if name in names:
            raise RankforceError(f"the weight {weight!r} is given twice")
        names[name] = weight
    return names


def _two_metrics(metrics: Any) -> list[Metric]:
    if isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable):
        raise RankforceError(f"metrics is {metrics!r}: a trade-off is between two metrics")
    made = [make_metric(metric) for metric in metrics]
    if len(made) != 2:
        names = ", ".join(metric.name for metric in made) or "none"
        raise RankforceError(f"metrics are {names}: a trade-off is between two metrics")
    if made[0].name == made[1].name:
        raise RankforceError(f"both metrics are {made[0].name}: a trade-off is between two metrics")
    return made
