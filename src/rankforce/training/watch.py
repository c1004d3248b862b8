"""Metrics while training: their history, the best iteration, when to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce._metrics.average import mean
from rankforce._metrics.make import asked_for
from rankforce._metrics.make import metric as make_metric
from rankforce._metrics.metric import Metric
from rankforce._metrics.names import parse_name
from rankforce._metrics.scoreboard import Scoreboard
from rankforce._objectives.base import AnyObjective
from rankforce._objectives.mixed import parts_of
from rankforce._objectives.tables import Floats
from rankforce.checks import check_whole
from rankforce.comparison.scorecard import Scorecard
from rankforce.data.ranking_data import RankingData

History = dict[str, dict[str, list[float]]]


class Watched(list[Metric]):
    """Metrics to follow. The first decides, or together those of `card`, which come first."""

    card: Scorecard | None = None


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
    given: Any, objective: AnyObjective | None, *, k: int | None, cutoffs: Sequence[int] = ()
) -> Watched:
    """Metrics from names, metrics, functions or a scorecard, which comes first and decides.

    By default the metric that the objective is for. A name without a cutoff gets those of
    `cutoffs`, as LightGBM's `eval_at` does, or else `k`.

    >>> make_metrics("ndcg, mrr@1(source=Click)", None, k=5)
    [rf.metric('NDCG@5'), rf.metric('MRR@1(source=Click)')]
    """
    if isinstance(given, Watched):
        return given
    chosen = _check_cutoffs(cutoffs) or ([k] if k else [])
    if given is None:
        assert objective is not None
        source = getattr(objective, "source", None)
        names = [default_metric(objective, cutoff) for cutoff in chosen]
        names = names or [default_metric(objective, objective.arguments.get("k"))]
        given = [make_metric(name, source=source) for name in names]
    entries = [given] if isinstance(given, Scorecard) else asked_for(given)
    metrics = Watched()
    for number, entry in enumerate(entries):
        if isinstance(entry, Scorecard):
            if number:
                raise ValueError(f"{entry!r} comes after a metric: it decides, so put it first")
            metrics.card = entry
        metrics += _make_one(entry, chosen)
    keys = [metric.key for metric in metrics]
    twice = next((metric.name for metric in metrics if keys.count(metric.key) > 1), None)
    if twice is not None:
        raise ValueError(f"the metric {twice} is asked for twice")
    return metrics


def _check_cutoffs(cutoffs: Any) -> list[int]:
    several = [cutoffs] if isinstance(cutoffs, (int, np.integer)) else list(cutoffs or ())
    return [check_whole("eval_at", cutoff, least=1) for cutoff in several]


def watched_metrics(
    names: Sequence[str], objective: AnyObjective | None, *, k: int | None
) -> list[Metric]:
    """The metrics that a run watched, by the names that its model kept.

    A function of the user's own has a name, but no metric by that name: then the metric that the
    objective is for; none if that is not known either.
    """
    usual = [] if objective is None else make_metrics(None, objective, k=k)
    if not names:
        return usual
    try:
        return make_metrics(list(names), objective, k=k)
    except ValueError:
        return usual


def _make_one(what: Any, cutoffs: Sequence[int]) -> list[Metric]:
    if isinstance(what, Scorecard):
        return what.metrics
    if isinstance(what, Metric):
        return [what]
    if not isinstance(what, str):
        return [make_metric(what)]
    entry, named = parse_name(what.strip())
    if entry.cutoff == "none" or "k" in named or not cutoffs:
        return [make_metric(what.strip())]
    return [make_metric(what.strip(), k=cutoff) for cutoff in cutoffs]


def default_metric(objective: AnyObjective, k: int | None) -> str:
    """The metric that an objective is for.

    >>> import rankforce as rf
    >>> default_metric(rf.objective("lambdagap-x+", k=5), 5)
    'p@5'
    """
    name = parts_of(objective)[0].objective.name.lower()
    at = f"@{k}" if k else "@10"
    for metric in ("map", "mrr", "err", "recall", "cndcg"):
        if name.startswith(f"lambdarank({metric}"):
            return metric + at
    is_precision = name.startswith(("lambdagap", "lambdarank-p", "lambdarank-arpb", "binranknet"))
    return ("p" if is_precision else "ndcg") + at


class Trail:
    """The best number of trees by a scorecard, after each tree.

    The first is the best until the verdict on another, against the best so far, is better: each
    time the upper tiers may have fallen by their tolerance. A tree whose means are not all known is
    never the best.
    """

    def __init__(self, card: Scorecard, weights: Floats | None) -> None:
        self.card = card
        self._weights = weights if card.has_levels else None
        self._bests: list[int | None] = []
        self._values: Floats | None = None  # of the best

    def __len__(self) -> int:
        return len(self._bests)

    def add(self, values: Floats) -> None:
        """Look at one more tree: metrics x queries where the card has levels, else x one mean."""
        best = self._bests[-1] if self._bests else None
        is_known = not np.isnan([mean(row, self._weights) for row in values]).any()
        if is_known and (
            self._values is None
            or self.card.verdict(self._values, values, weights=self._weights).better
        ):
            best, self._values = len(self._bests) + 1, values
        self._bests.append(best)

    def best(self, trees: int) -> int | None:
        """The best of the first `trees`."""
        return self._bests[trees - 1] if trees else None


class Watch:
    """Follows the metrics of several data sets.

    The first metric on the first set decides, or there the scorecard that the metrics are of.
    """

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
        self._boards = [_make_board(metrics, name, data) for name, data in sets]
        self._weights = [data.metric_weight for _, data in sets]
        self._trail = _make_trail(metrics, self._weights, min_delta)
        self.history: History = {
            name: {metric.key: [] for metric in metrics} for name in self.names
        }

    def look(self, scores: Sequence[Floats]) -> list[Evaluation]:
        """Evaluate every set at its scores, and remember."""
        found = []
        for name, board, weights, values in zip(
            self.names, self._boards, self._weights, scores, strict=True
        ):
            per_query = board.values(values, threads=self._threads)
            if self._trail is not None and self.sees_queries and name == self.names[0]:
                self._trail.add(per_query[: len(self._trail.card)])
            for metric, one in zip(self.metrics, per_query, strict=True):
                value = mean(one, weights)
                self.history[name][metric.key].append(value)
                found.append(Evaluation(name, metric.key, value, metric.higher_is_better))
        return found

    @property
    def measured(self) -> list[int]:
        """How many trees each metric on each set has been measured for."""
        return [len(values) for own in self.history.values() for values in own.values()]

    @property
    def best(self) -> int | None:
        """Number of trees with the best value of the deciding metric; None without a set."""
        if self._trail is not None:
            return self._best_by_card(self._trail)
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
    def sees_queries(self) -> bool:
        """Whether a scorecard with tests decides: a history does not have what it looks at."""
        return self._trail is not None and self._trail.card.has_levels

    def _best_by_card(self, trail: Trail) -> int | None:
        own = self.history[self.names[0]]
        tiers = [own[metric.key] for metric in trail.card]
        trees = min(map(len, tiers))
        assert not self.sees_queries or len(trail) >= trees  # a resumed run measures anew
        for number in range(len(trail), trees):
            trail.add(np.array([[values[number]] for values in tiers]))
        return trail.best(trees)

    @property
    def _deciding(self) -> list[float]:
        if not self.names:
            return []
        return self.history[self.names[0]][self.metrics[0].key]

    @property
    def _higher(self) -> bool:
        return self.metrics[0].higher_is_better if self.metrics else True


def _make_board(metrics: Sequence[Metric], name: str, data: RankingData) -> Scoreboard:
    try:
        return Scoreboard(metrics, data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _make_trail(
    metrics: Sequence[Metric], weights: Sequence[Floats | None], min_delta: float
) -> Trail | None:
    card = metrics.card if isinstance(metrics, Watched) else None
    if card is None or not weights:
        return None
    if min_delta:
        raise ValueError(f"min_delta is {min_delta:g}: a scorecard has its own tolerance=")
    return Trail(card, weights[0])


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
