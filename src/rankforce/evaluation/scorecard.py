"""Graded measures: metrics in order of trust, of which the first that differs decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.checks import check_choice, check_number
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.evaluation.comparison import SAME, best_names, changes
from rankforce.evaluation.paired import TESTS, paired_test
from rankforce.measures.make import MetricLike, asked_for
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric, mean


class Verdict(NamedTuple):
    """What a scorecard says of a system and a baseline. Neither better nor worse is the same."""

    better: bool
    worse: bool
    tier: int | None  # the one that decided, from 0; None if all are the same
    differences: tuple[float, ...]  # of the means, system minus baseline, for each tier
    p_values: tuple[float | None, ...]  # None where a tier has no level


class Tier(NamedTuple):
    """One metric of a scorecard, and which of its differences count."""

    metric: Metric
    tolerance: float  # the mean must differ by more
    level: float | None  # and its p-value be below, where there is one

    def compare(
        self, baseline: Floats, system: Floats, weights: Floats | None, test: str
    ) -> tuple[float, float | None, int]:
        """Mean difference, p-value, and 1, -1 or 0: better, worse, the same."""
        counts = _counting(baseline, system, weights, self.metric)
        change = changes(baseline[counts], system[counts])
        known = None if weights is None else weights[counts]
        difference = mean(change, known)
        if abs(difference) <= SAME * np.abs(change).max():  # ups and downs that even out
            difference = 0.0
        p_value = None
        if self.level is not None:
            p_value = paired_test(change, weights=known, test=test, alternative="two-sided").p_value
        slack = SAME if self.tolerance else 0.0  # 0.51 - 0.5 is not above 0.01
        is_same = abs(difference) <= self.tolerance + slack
        if self.level is not None and p_value is not None:
            is_same = is_same or p_value >= self.level
        is_up = (difference > 0.0) == self.metric.higher_is_better
        return difference, p_value, 0 if is_same else 1 if is_up else -1


class Scorecard:
    """Metrics in order of trust: a lower one decides where none above it tells systems apart.

    Made by :func:`rankforce.scorecard`. Two scorecards are equal if they were made alike.
    """

    def __init__(self, tiers: Sequence[Tier], *, test: str, recipe: dict[str, Any]) -> None:
        self.tiers = tuple(tiers)
        self.test = test
        self._recipe = recipe

    @property
    def metrics(self) -> list[Metric]:
        """The metrics, the most trusted first."""
        return [tier.metric for tier in self.tiers]

    @property
    def has_levels(self) -> bool:
        """Whether some tier tests for significance, which needs the values of single queries."""
        return any(tier.level is not None for tier in self.tiers)

    @property
    def conventions(self) -> str:
        """Which differences count, in one line.

        >>> scorecard(["ndcg@3", "mrr"], level=[0.05, None]).conventions
        'NDCG@3 if p < 0.05 (t test), then MRR if it differs'
        """
        return ", then ".join(
            f"{tier.metric.name} if {' and '.join(_rule(tier, self.test))}" for tier in self.tiers
        )

    def verdict(self, baseline: Any, system: Any, *, weights: Any = None) -> Verdict:
        """Judge a system against a baseline, by values of metrics x queries.

        Also by what `rf.cv` or `rf.evaluate` return, whose `weights` count if none are given. NaN
        is a query that does not count, for both or for none.

        >>> card = scorecard(["ndcg@3", "mrr"], tolerance=0.01)
        >>> found = card.verdict([[0.50, 0.7], [1.0, 0.5]], [[0.505, 0.7], [0.5, 0.5]])
        >>> found.worse, card.metrics[found.tier].name
        (True, 'MRR')
        """
        known = {"the baseline": baseline, "the system": system}
        values, weight = self._read(known, weights)
        return self._verdict(values["the baseline"], values["the system"], weight)

    def _verdict(self, baseline: Floats, system: Floats, weights: Floats | None) -> Verdict:
        found = [
            tier.compare(one, other, weights, self.test)
            for tier, one, other in zip(self.tiers, baseline, system, strict=True)
        ]
        decided = next((number for number, (_, _, sign) in enumerate(found) if sign), None)
        sign = 0 if decided is None else found[decided][2]
        differences, p_values, _ = zip(*found, strict=True)
        return Verdict(sign > 0, sign < 0, decided, differences, p_values)

    def choose(self, systems: Mapping[str, Any], *, weights: Any = None) -> str:
        """The best system: of those as good as the best in each tier, the best in the last one.

        Values are as in `verdict`. Systems that tie in the last tier are told apart by the means of
        the tiers above it, then by their order.

        >>> card = scorecard(["ndcg@3", "mrr"], tolerance=0.01)
        >>> card.choose({"a": [[0.50], [0.2]], "b": [[0.495], [0.4]], "c": [[0.3], [0.9]]})
        'b'
        """
        if not isinstance(systems, Mapping) or not systems:
            raise RankforceError(
                f"systems is {systems!r}: give a dictionary, {{'name': values, ...}}"
            )
        values, weight = self._read(systems, weights)
        self._check_queries(values, weight)
        kept = list(values)
        last = len(self.tiers) - 1
        for number, tier in enumerate(self.tiers[:last]):
            best = self._best(kept, values, weight, number)[0]
            kept = [
                name
                for name in kept
                if not tier.compare(values[best][number], values[name][number], weight, self.test)[
                    2
                ]
            ]
        for number in (last, *range(last)):
            kept = self._best(kept, values, weight, number)
        return kept[0]

    def _check_queries(self, values: dict[str, Floats], weights: Floats | None) -> None:
        first = next(iter(values.values()))
        for found in values.values():
            for tier, one, other in zip(self.tiers, first, found, strict=True):
                _counting(one, other, weights, tier.metric)

    def _best(
        self, names: list[str], values: dict[str, Floats], weights: Floats | None, tier: int
    ) -> list[str]:
        means = {name: mean(values[name][tier], weights) for name in names}
        return best_names(means, self.tiers[tier].metric.higher_is_better)

    def _read(
        self, systems: Mapping[str, Any], weights: Any
    ) -> tuple[dict[str, Floats], Floats | None]:
        """Values as arrays of one shape, and the weights of the queries."""
        values = {name: self._rows(given, name) for name, given in systems.items()}
        first, queries = next((name, found.shape[1]) for name, found in values.items())
        for name, found in values.items():
            if found.shape[1] != queries:
                raise RankforceError(
                    f"{name} has {found.shape[1]} queries, but {first} has {queries}: "
                    "the values must be of the same queries"
                )
        if weights is None:
            weights = getattr(next(iter(systems.values())), "weights", None)
        known = None if weights is None else np.asarray(weights, dtype=np.float64)
        if known is not None and known.shape != (queries,):
            raise RankforceError(
                f"weights have shape {known.shape}, but there are {queries} queries"
            )
        return values, known

    def _rows(self, given: Any, name: str) -> Floats:
        """One row of values for each tier."""
        if hasattr(given, "metrics") and hasattr(given, "values"):  # rf.evaluate
            measured = [metric.name for metric in given.metrics]
            given = dict(zip(measured, given.values, strict=True))
        elif not isinstance(given, (np.ndarray, Mapping)):
            given = getattr(given, "values", given)  # rf.cv
        if isinstance(given, Mapping):
            given = [_find(given, metric, name) for metric in self.metrics]
        values = np.asarray(given, dtype=np.float64)
        if values.ndim != 2 or len(values) != len(self.tiers):
            names = ", ".join(metric.name for metric in self.metrics)
            raise RankforceError(
                f"values of {name} have shape {values.shape}: expected a row for each of {names}, "
                "and a column for each query"
            )
        return values

    def __iter__(self) -> Iterator[Metric]:
        return iter(self.metrics)

    def __len__(self) -> int:
        return len(self.tiers)

    def __repr__(self) -> str:
        rest = "".join(f", {key}={value!r}" for key, value in self._recipe.items())
        return f"rf.scorecard({self.metrics!r}{rest})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scorecard) and (self.tiers, self.test) == (other.tiers, other.test)

    def __hash__(self) -> int:
        return hash((self.tiers, self.test))

    def __reduce__(self) -> tuple[Any, ...]:
        return _remake, (self.metrics, self._recipe)


def scorecard(
    metrics: MetricLike | Sequence[MetricLike],
    *,
    tolerance: float | Sequence[float] = 0.0,
    level: float | Sequence[float | None] | None = None,
    test: str = "t",
) -> Scorecard:
    """Make a graded measure of metrics in order of trust (Svore et al. 2011, section 4.2).

    Systems are compared metric by metric, and the first tier in which they differ decides. They
    differ if their means do by more than `tolerance` and, where there is a `level`, if the p-value
    of a paired `test` ("t", "fisher", "permutation" or "bootstrap", always two-sided) is below it.
    Both are one number, or one for each tier; one `tolerance` is for all tiers but the last, where
    any difference decides.

    Good for `rf.compare(metric=...)`, for `eval_metric=` of a ranker and `metrics=` of `rf.cv`.

    >>> scorecard(["ndcg@3", "cndcg@3(source=click)"], tolerance=0.001)
    rf.scorecard([rf.metric('NDCG@3'), rf.metric('CNDCG@3(source=click)')], tolerance=0.001)
    """
    made = _make_metrics(metrics)
    slacks = [
        check_number("tolerance", one, least=0.0) for one in _each("tolerance", tolerance, made)
    ]
    levels = [_check_level(one) for one in _each("level", level, made)]
    given = {
        "tolerance": slacks if _are_several(tolerance) else slacks[0],
        "level": levels if _are_several(level) else levels[0],
        "test": check_choice("test", test, TESTS),
    }
    if not _are_several(tolerance):
        slacks[-1] = 0.0
    usual = {"tolerance": 0.0, "level": None, "test": "t"}
    recipe = {key: value for key, value in given.items() if value != usual[key]}
    tiers = map(Tier, made, slacks, levels)
    return Scorecard(list(tiers), test=str(given["test"]), recipe=recipe)


def _remake(metrics: list[Metric], rest: dict[str, Any]) -> Scorecard:
    return scorecard(metrics, **rest)


def _make_metrics(given: Any) -> list[Metric]:
    made = [make_metric(one) for one in asked_for(given)]
    if not made:
        raise RankforceError("a scorecard needs a metric: give one or more, the most trusted first")
    keys = [metric.key for metric in made]
    twice = next((metric.name for metric in made if keys.count(metric.key) > 1), None)
    if twice is not None:
        raise RankforceError(f"two tiers are called {twice}: they must differ in their names")
    return made


def _are_several(given: Any) -> bool:
    return isinstance(given, (list, tuple, np.ndarray))


def _each(key: str, given: Any, metrics: list[Metric]) -> list[Any]:
    """One for each tier."""
    several = list(given) if _are_several(given) else [given] * len(metrics)
    if len(several) != len(metrics):
        names = ", ".join(metric.name for metric in metrics)
        raise RankforceError(f"{key} is {given!r}: give one number, or one for each of {names}")
    return several


def _check_level(level: Any) -> float | None:
    if level is None:
        return None
    found = check_number("level", level, least=0.0)
    if not 0.0 < found < 1.0:
        raise RankforceError(f"level is {level!r}: it must lie between 0 and 1")
    return found


def _rule(tier: Tier, test: str) -> list[str]:
    rules = [f"the difference is above {tier.tolerance:g}"] if tier.tolerance else []
    rules += [f"p < {tier.level:g} ({test} test)"] if tier.level is not None else []
    return rules or ["it differs"]


def _find(values: Mapping[Any, Any], metric: Metric, name: str) -> Any:
    """The values of a metric, by its name or by its key in histories."""
    for key in (metric.name, metric.key):
        if key in values:
            return values[key]
    has = ", ".join(map(str, values))
    raise RankforceError(f"{name} has no values of {metric.name}: it has those of {has}")


def _counting(baseline: Floats, system: Floats, weights: Floats | None, metric: Metric) -> Any:
    """Which queries count; an error if those are not the same for both."""
    is_missing = np.isnan(baseline)
    differ = np.flatnonzero(is_missing != np.isnan(system))
    if differ.size:
        raise RankforceError(
            f"{metric.name} of query {differ[0]} is a number for one system, but not for another: "
            "a query must count for every system or for none"
        )
    counts = ~is_missing if weights is None else ~is_missing & (weights > 0)
    if not counts.any():
        raise RankforceError(f"no query counts for {metric.name}: {metric.conventions}")
    return counts
