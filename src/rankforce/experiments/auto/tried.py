"""What came of a candidate, fold by fold."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic
from typing import NamedTuple

import numpy as np

from rankforce.common.types import Floats
from rankforce.experiments.auto.candidates import Candidate
from rankforce.experiments.auto.folds import Folds
from rankforce.experiments.tune import mean_curve
from rankforce.training.committee import share_threads
from rankforce.training.ranker import Ranker
from rankforce.training.watch import best_iteration

SAFETY = 1.3  # how much longer than in folds something may take


class Run(NamedTuple):
    """A ranker that was trained without a fold."""

    ranker: Ranker | None  # None when nobody will ask for its scores
    curve: Sequence[float]  # the metric of the fold after each tree
    seconds: float


class Tried:
    """A candidate, and its runs so far by the folds that they were trained without.

    The number of trees is the one with the best mean over folds. Where a fold judges, it has no say
    in it: there the others decide, as far as there are others.
    """

    def __init__(self, candidate: Candidate, folds: Folds) -> None:
        self.candidate, self.folds = candidate, folds
        self.runs: dict[int, Run] = {}
        self.judged_by: frozenset[int] = frozenset()  # folds because of which it was gone on with
        self.error: str | None = None
        self.value: float | None = None  # of the metric, over the queries that have judged
        self._scores: dict[tuple[int, int], Floats] = {}  # by fold and number of trees
        self._scoring: list[tuple[float, int]] = []  # seconds, and trees x documents

    def add(self, fold: int, run: Run) -> None:
        """One more run."""
        self.runs = dict(sorted({**self.runs, fold: run}.items()))
        scores = {fold: self.scores(fold) for fold in self.runs}
        worth = self.folds.worth(scores)
        self.value = worth if self.folds.metric.higher_is_better else -worth

    def trees(self, *, judge: int | None = None, hidden: int | None = None) -> int:
        """The best number of trees by all folds but one that judges, and one that is hidden.

        Where no fold is left, the one that judges decides.
        """
        seen = {fold: run for fold, run in self.runs.items() if fold != hidden} or self.runs
        others = [run.curve for fold, run in seen.items() if fold != judge]
        curves = others or [run.curve for run in seen.values()]
        known = [one for one in curves if not np.isnan(one).all()]
        means = mean_curve(known).tolist() if known else []
        best = best_iteration(means, self.folds.metric.higher_is_better) or 1
        return best if judge is None else min(best, len(self.runs[judge].curve))

    def scores(self, fold: int, *, hidden: int | None = None) -> Floats:
        """The scores of a fold by the ranker that has not seen it, with the deviation 1.

        It has as many trees as folds other than these two say.
        """
        trees = self.trees(judge=fold, hidden=hidden)
        if (fold, trees) not in self._scores:
            ranker = self.runs[fold].ranker
            assert ranker is not None
            begun = monotonic()
            found = ranker.predict(self.folds.judge(fold), num_iteration=trees)
            self._scoring.append((monotonic() - begun, trees * len(found)))
            scale = float(np.std(found))
            self._scores[fold, trees] = found / scale if scale > 0.0 else found
        return self._scores[fold, trees]

    def drop(self) -> None:
        """Nobody goes on with it: what it came to is all that stays."""
        self.runs = {fold: run._replace(ranker=None) for fold, run in self.runs.items()}
        self._scores.clear()

    @property
    def is_alive(self) -> bool:
        """Whether there are scores to choose by."""
        return self.error is None and any(run.ranker is not None for run in self.runs.values())

    @property
    def seconds(self) -> float:
        """How long the runs took."""
        return sum(run.seconds for run in self.runs.values())

    @property
    def cost(self) -> Cost:
        """What a member on all queries will take, by what the runs took."""
        trees = self.trees()
        grown = sum(len(run.curve) for run in self.runs.values())
        more = len(self.folds) / (len(self.folds) - 1)  # queries than without a fold
        seconds, walks = np.sum(self._scoring, axis=0)
        return Cost(
            self.seconds / grown * trees * more, seconds / walks * trees * self.folds.data.rows
        )


class Cost(NamedTuple):
    """Seconds that a committee takes: members grow at a time, then they are scored one by one."""

    growing: float
    scoring: float

    @classmethod
    def of(cls, members: Sequence[Tried], threads: int) -> Cost:
        """That of some members."""
        jobs, _ = share_threads(len(members), threads)
        costs = [one.cost for one in members]
        growing = sum(one.growing for one in costs) / jobs
        return cls(SAFETY * growing, SAFETY * sum(one.scoring for one in costs))

    @property
    def all(self) -> float:
        """Both."""
        return self.growing + self.scoring
