"""Queries in folds: each judges, once, rankers that were trained on the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import query_folds
from rankforce.data.ranking_data import RankingData
from rankforce.measures.metric import Metric, mean
from rankforce.measures.scoreboard import Scoreboard

Scores = Mapping[int, Floats]  # of the documents of folds


class Folds:
    """A data set in folds of whole queries, each taken from it when it is first needed.

    >>> import rankforce as rf
    >>> folds = Folds(rf.make_data("yahoo", queries=20), rf.metric("ndcg@5"), 4, seed=0)
    >>> len(folds), len(folds.judge(3).sizes), len(folds.rest(3).sizes)
    (4, 5, 15)
    """

    def __init__(
        self, data: RankingData, metric: Metric, count: int, *, seed: int, threads: int = 1
    ) -> None:
        self.data, self.metric, self.threads = data, metric, threads
        self.parts = query_folds(len(data.sizes), count, seed=seed)
        if np.isnan(Scoreboard([metric], data).values(np.zeros(data.rows))).all():
            raise RankforceError(f"{metric.key} of the data is not a number: no query counts")
        self._rest: dict[int, RankingData] = {}
        self._judges: dict[int, RankingData] = {}
        self._boards: dict[int, Scoreboard] = {}

    def __len__(self) -> int:
        return len(self.parts)

    def take(self, several: Iterable[int]) -> None:
        """Take some folds now: threads that came later would each do it."""
        for fold in several:
            self.rest(fold)
            self.judge(fold)

    def rest(self, fold: int) -> RankingData:
        """What is trained on."""
        if fold not in self._rest:
            queries = np.arange(len(self.data.sizes))
            self._rest[fold] = self.data.take_queries(np.setdiff1d(queries, self.parts[fold]))
        return self._rest[fold]

    def release(self) -> None:
        """Forget what was trained on; it is taken again where it is needed."""
        self._rest.clear()

    def judge(self, fold: int) -> RankingData:
        """What judges."""
        if fold not in self._judges:
            self._judges[fold] = self.data.take_queries(self.parts[fold])
            self._boards[fold] = Scoreboard([self.metric], self._judges[fold])
        return self._judges[fold]

    def values(self, fold: int, scores: Floats) -> Floats:
        """The metric of each query of a fold."""
        self.judge(fold)
        found: Floats = self._boards[fold].values(scores, threads=self.threads)[0]
        return found

    def weights(self, folds: Sequence[int]) -> Floats | None:
        """How much each query of some folds counts."""
        weights = self.data.metric_weight
        if weights is None:
            return None
        return np.concatenate([weights[self.parts[fold]] for fold in folds])

    def signed_values(self, scores: Scores) -> Floats:
        """The metric of each query of some folds: the higher, the better."""
        values = np.concatenate([self.values(fold, own) for fold, own in scores.items()])
        return values if self.metric.higher_is_better else -values

    def worth(self, scores: Scores) -> float:
        """The mean of these; one that is no number is worse than any."""
        found = mean(self.signed_values(scores), self.weights([*scores]))
        return -np.inf if np.isnan(found) else found
