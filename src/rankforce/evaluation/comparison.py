"""What a comparison found, and how to read it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, plain
from rankforce.evaluation.paired import PairedTest, effect_size
from rankforce.measures.metric import Metric, mean
from rankforce.measures.scoreboard import Scoreboard

SAME = 1e-12  # values this close are a tie: they differ by rounding
LEVELS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))


def changes(before: Floats, after: Floats) -> Floats:
    """After minus before; rounding is no difference, else it would count as a win and have a sign.

    >>> changes(np.array([0.3, 0.1]), np.array([0.1 + 0.2, 0.2])).tolist()
    [0.0, 0.1]
    """
    change = after - before
    size = np.maximum(np.abs(before), np.abs(after))
    change[np.abs(change) <= SAME * np.maximum(1.0, size)] = 0.0
    return change


def best_names(means: dict[str, float], higher_is_better: bool) -> list[str]:
    """The names with the best mean; several if they tie.

    >>> best_names({"a": 0.3, "b": 0.1 + 0.2, "c": 0.2}, True)
    ['a', 'b']
    """
    top = (max if higher_is_better else min)(means.values())
    return [name for name, value in means.items() if abs(value - top) <= SAME * max(1.0, abs(top))]


class Contrast(NamedTuple):
    """One system against the baseline."""

    difference: float  # of the means, system minus baseline
    low: float  # confidence interval of the difference
    high: float
    p_value: float
    adjusted: float  # p-value after the correction over all systems
    effect: float  # mean over standard deviation of the differences; above 0 is better
    wins: int  # queries where the system is better
    ties: int
    losses: int
    is_better: bool  # the mean
    is_exact: bool  # the p-value is not from a sample

    @property
    def stars(self) -> str:
        """Level of the corrected p-value: * 0.05, ** 0.01, *** 0.001."""
        return next((stars for level, stars in LEVELS if self.adjusted < level), "")


class Moved(NamedTuple):
    """A query whose value changed."""

    query: Any
    baseline: float
    system: float

    @property
    def difference(self) -> float:
        """System minus baseline."""
        return self.system - self.baseline


def contrast(
    rules: PairedTest, better: Floats, weights: Floats | None, sign: float, threads: int
) -> Contrast:
    """Test differences that are above 0 where the system is better."""
    outcome = rules.outcome(better, weights, threads)
    gain = mean(better, weights)
    if abs(gain) <= SAME * np.abs(better).max():  # wins and losses that even out
        gain = 0.0
    low, high = sorted((sign * outcome.low + 0.0, sign * outcome.high + 0.0))  # not -0.0
    return Contrast(
        difference=sign * gain + 0.0,
        low=low,
        high=high,
        p_value=outcome.p_value,
        adjusted=outcome.p_value,
        effect=effect_size(better, weights) if gain else 0.0,
        wins=int(np.count_nonzero(better > 0)),
        ties=int(np.count_nonzero(better == 0)),
        losses=int(np.count_nonzero(better < 0)),
        is_better=gain > 0,
        is_exact=outcome.is_exact,
    )


@dataclass(frozen=True, eq=False)
class Comparison:
    """Systems against a baseline, paired by query. Made by :func:`rankforce.compare`."""

    metric: Metric
    baseline: str
    test: PairedTest
    values: dict[str, Floats]  # one number per query; NaN where it does not count
    query_ids: NDArray[Any]
    weights: Floats | None  # of the queries
    contrasts: dict[str, Contrast]  # by system, without the baseline
    queries: int  # that count
    pool: Scoreboard | None  # of all judged documents, where they are known
    notes: list[str]

    @cached_property
    def means(self) -> dict[str, float]:
        """Mean of the metric, by system."""
        return {name: mean(values, self.weights) for name, values in self.values.items()}

    @cached_property
    def random(self) -> float | None:
        """Mean of a ranking drawn at random, if that is known."""
        board = self._known_pool()
        return None if board is None else mean(board.random()[0], self.weights)

    @cached_property
    def perfect(self) -> float | None:
        """Mean of the ideal ranking, if that is known."""
        board = self._known_pool()
        return None if board is None else mean(board.perfect()[0], self.weights)

    def _known_pool(self) -> Scoreboard | None:
        """Functions of one's own know neither the random nor the ideal ranking."""
        return None if self.metric.definition.kind == "own" else self.pool

    @property
    def p_values(self) -> dict[str, float]:
        """P-value of each system but the baseline, not corrected; see `adjusted`."""
        return {name: contrast.p_value for name, contrast in self.contrasts.items()}

    @property
    def adjusted(self) -> dict[str, float]:
        """P-values corrected over all systems."""
        return {name: contrast.adjusted for name, contrast in self.contrasts.items()}

    @property
    def differences(self) -> dict[str, float]:
        """Mean of each system minus that of the baseline."""
        return {name: contrast.difference for name, contrast in self.contrasts.items()}

    @property
    def best(self) -> list[str]:
        """The systems with the best mean; several if they tie."""
        return best_names(self.means, self.metric.higher_is_better)

    def moved(self, system: str, top: int = 10) -> list[Moved]:
        """The queries whose value changed most against the baseline, largest change first.

        >>> import rankforce as rf
        >>> c = rf.compare({"a": [2, 1], "b": [1, 2]}, [1, 0], metric="mrr")
        >>> c.moved("b")
        [Moved(query=0, baseline=1.0, system=0.5)]
        """
        if system not in self.contrasts:
            others = ", ".join(self.contrasts)
            raise RankforceError(f"{system!r} was not compared with the baseline: {others} were")
        before, after = self.values[self.baseline], self.values[system]
        change = np.nan_to_num(np.abs(changes(before, after)))
        if self.weights is not None:
            change[self.weights == 0] = 0.0  # such a query does not count
        order = np.argsort(-change, kind="stable")[: check_whole("top", top, least=1)]
        return [
            Moved(plain(self.query_ids[q]), float(before[q]), float(after[q]))
            for q in order
            if change[q] > 0
        ]

    def table(self, format: str = "text", *, digits: int = 4, percent: bool = False) -> str:
        """Means, differences, p-values and the rest.

        As "text", "markdown", "latex", "html", "csv" or "json". CSV and JSON have all digits; in
        the others `percent` multiplies the metric by 100.
        """
        from rankforce.evaluation.show import show_comparison

        return show_comparison(self, format, digits=digits, percent=percent)

    def record(self) -> dict[str, Any]:
        """Everything but the values of single queries, for programs."""
        from rankforce.evaluation.show import comparison_record

        return comparison_record(self)

    def __repr__(self) -> str:
        return self.table()
