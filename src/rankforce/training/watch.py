"""Metrics while training: their history, the best iteration, when to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.evaluation.scorecard import Scorecard
from rankforce.forces.base import AnyObjective
from rankforce.measures.make import asked_for
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric, mean
from rankforce.measures.names import parse_name
from rankforce.measures.scoreboard import Scoreboard
from rankforce.training.eval_functions import OfAllRows, OfRows, labels_first

History = dict[str, dict[str, list[float]]]


class Watched(list[Any]):
    """Metrics to follow, each a `Metric` or an `OfRows`.

    The first decides, or together those of `card`, which come first.
    """

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
    chosen = list(cutoffs) or ([k] if k else [])
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
                raise RankforceError(f"{entry!r} comes after a metric: it decides, so put it first")
            metrics.card = entry
        metrics += _make_one(entry, chosen)
    _check_once(metrics)
    return metrics


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
        return make_metrics(list(names), objective, k=None)  # a name has its cutoff, if any
    except ValueError:
        return usual


def _make_one(what: Any, cutoffs: Sequence[int]) -> Sequence[Metric | OfRows]:
    if isinstance(what, Scorecard):
        return what.metrics
    if isinstance(what, (Metric, OfRows)):
        return [what]
    if not isinstance(what, str):
        theirs = labels_first(what) if callable(what) else None
        return [theirs or make_metric(what)]
    entry, named = parse_name(what.strip())
    if entry.cutoff == "none" or "k" in named or not cutoffs:
        return [make_metric(what.strip())]
    return [make_metric(what.strip(), k=cutoff) for cutoff in cutoffs]


def default_metric(objective: AnyObjective, k: int | None) -> str:
    """The metric that an objective is for.

    >>> import rankforce as rf
    >>> default_metric(rf.objective("lambdagap-x+", k=5), 5)
    'p@5'
    >>> default_metric(rf.objective("lambdarank(rbp)", p=0.5), 5)
    'rbp(0.5)'
    """
    return objective.metric(k).key


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
    """Follows the metrics of several data sets, of which each worker of a team has some queries.

    The first metric on the set called `deciding` decides, or there the scorecard that the metrics
    are of. Without such a set nothing is decided.
    """

    def __init__(
        self,
        metrics: Sequence[Any],
        sets: Sequence[tuple[str, RankingData]],
        *,
        deciding: str | None,
        rounds: int | None,
        min_delta: float,
        threads: int,
        team: Team = ALONE,
    ) -> None:
        _check_metrics(metrics, team)
        self.metrics: list[Any] = _settled(metrics, sets[0][1]) if sets else list(metrics)
        self.deciding = deciding
        # A number from a function of others does not say whether it is to be high or low.
        self.is_guessed = isinstance(metrics[0], OfRows) and isinstance(self.metrics[0], Metric)
        self.names = [name for name, _ in sets]
        self._rounds = rounds
        self._min_delta = min_delta
        self._threads = threads
        self._team = team
        self._counted = 0  # values that `best` has seen
        self._best: int | None = None
        self._sets = [data for _, data in sets]
        of_queries = [metric for metric in self.metrics if isinstance(metric, Metric)]
        self.boards = [_make_board(of_queries, name, data, team) for name, data in sets]
        self._weights = [_all_weights(data, team) for _, data in sets]
        weights = dict(zip(self.names, self._weights, strict=True))
        self._trail = None if deciding is None else _make_trail(metrics, weights[deciding])
        if self._trail is not None and min_delta:
            raise RankforceError(f"min_delta is {min_delta:g}: a scorecard has its own tolerance=")
        self.history: History = {
            name: {metric.key: [] for metric in self.metrics} for name in self.names
        }

    @property
    def needs_scores(self) -> bool:
        """Whether a function of all rows is among the metrics."""
        return any(isinstance(one, OfAllRows) for one in self.metrics)

    def look(
        self, scores: Sequence[Floats], known: Sequence[Floats] | None = None
    ) -> list[Evaluation]:
        """Evaluate every set at its scores, and remember; `known` are values of its board."""
        found = []
        for number, (name, values) in enumerate(zip(self.names, scores, strict=True)):
            board = self.boards[number]
            own = known[number] if known else board.values(values, threads=self._threads)
            per_query = np.concatenate(self._team.gather(own), axis=1)
            if self._trail is not None and self.sees_queries and name == self.deciding:
                self._trail.add(per_query[: len(self._trail.card)])
            means = self._means(number, per_query, values)
            for metric, value in zip(self.metrics, means, strict=True):
                self.history[name][metric.key].append(value)
                found.append(Evaluation(name, metric.key, value, metric.higher_is_better))
        return found

    def _means(self, number: int, per_query: Floats, scores: Floats) -> list[float]:
        """Every metric on one data set; those of all rows, a function of them at a time."""
        means = iter([mean(row, self._weights[number]) for row in per_query])
        whole = {one.function for one in self.metrics if isinstance(one, OfAllRows)}
        called = {function: function.values(self._sets[number], scores) for function in whole}
        return [
            called[one.function][one.place] if isinstance(one, OfAllRows) else next(means)
            for one in self.metrics
        ]

    def take(self, history: History, steps: int) -> None:
        """Go on from what an earlier part of the run has measured of its first steps."""
        for name, own in self.history.items():
            for metric in own:
                own[metric] = history.get(name, {}).get(metric, [])[:steps]

    def keep(self, steps: int) -> None:
        """Forget what was measured for more than so many steps."""
        for own in self.history.values():
            for values in own.values():
                del values[steps:]

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
    def card(self) -> Scorecard | None:
        """The scorecard that decides, if one does."""
        return None if self._trail is None else self._trail.card

    @property
    def sees_queries(self) -> bool:
        """Whether a scorecard with tests decides: a history does not have what it looks at."""
        return self._trail is not None and self._trail.card.has_levels

    def _best_by_card(self, trail: Trail) -> int | None:
        assert self.deciding is not None
        own = self.history[self.deciding]
        tiers = [own[metric.key] for metric in trail.card]
        trees = min(map(len, tiers))
        assert not self.sees_queries or len(trail) >= trees  # a resumed run measures anew
        for number in range(len(trail), trees):
            trail.add(np.array([[values[number]] for values in tiers]))
        return trail.best(trees)

    @property
    def _deciding(self) -> list[float]:
        if self.deciding is None:
            return []
        return self.history[self.deciding][self.metrics[0].key]

    @property
    def _higher(self) -> bool:
        # Without a set to decide on, a function has not said yet what it measures.
        return self.deciding is None or self.metrics[0].higher_is_better


def _settled(metrics: Sequence[Metric | OfRows], data: RankingData) -> list[Metric | OfAllRows]:
    """The metrics, with what functions of labels and scores measure in their place."""
    found: list[Metric | OfAllRows] = []
    for one in metrics:
        found += one.settle(data) if isinstance(one, OfRows) else [one]
    _check_once(found)
    return found


def _check_once(metrics: Sequence[Metric | OfAllRows | OfRows]) -> None:
    keys = [metric.key for metric in metrics]
    twice = next((metric.name for metric in metrics if keys.count(metric.key) > 1), None)
    if twice is not None:
        raise RankforceError(f"the metric {twice} is asked for twice")


def _check_metrics(metrics: Sequence[Any], team: Team) -> None:
    whole = next((one for one in metrics if isinstance(one, OfRows)), None)
    if whole is not None and team.size > 1:
        raise RankforceError(
            f"{whole.name} takes labels first, as in LightGBM and XGBoost, and no worker has all "
            "rows: make rf.metric(f) of a function f(scores, labels) of one query"
        )


def _all_weights(data: RankingData, team: Team) -> Floats | None:
    """Weights of all workers' queries."""
    found = team.gather(data.metric_weight)
    return None if found[0] is None else np.concatenate(found)


def _make_board(metrics: Sequence[Metric], name: str, data: RankingData, team: Team) -> Scoreboard:
    try:
        return Scoreboard(metrics, data, team=team)
    except ValueError as error:
        raise RankforceError(f"{name}: {error}") from None


def _make_trail(metrics: Sequence[Metric], weights: Floats | None) -> Trail | None:
    card = metrics.card if isinstance(metrics, Watched) else None
    return None if card is None else Trail(card, weights)


def deciding_set(names: Iterable[str], is_training: Callable[[str], bool]) -> str | None:
    """The data set that decides when to stop: the first that is not the training set.

    >>> deciding_set(["own", "held out", "other"], lambda name: name == "own")
    'held out'
    """
    return next((name for name in names if not is_training(name)), None)


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
