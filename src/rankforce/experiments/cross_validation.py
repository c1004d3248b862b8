"""Cross-validation that keeps queries whole."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.queries import query_folds
from rankforce.data.ranking_data import RankingData
from rankforce.measures.metric import mean
from rankforce.measures.scoreboard import Scoreboard
from rankforce.training.eval_functions import of_queries
from rankforce.training.ranker import Ranker
from rankforce.training.watch import Watched, make_metrics


class CrossValidation(NamedTuple):
    """What every query got from a ranker that had not seen it."""

    scores: Floats  # one per row, from the ranker whose training set lacks the row's query
    values: dict[str, Floats]  # metric -> one value per query
    fold: NDArray[np.int64]  # of each query
    fold_means: dict[str, list[float]]
    rankers: list[Ranker]
    weights: Floats | None = None  # of queries

    @property
    def means(self) -> dict[str, float]:
        """Mean of each metric over all queries."""
        return {name: mean(values, self.weights) for name, values in self.values.items()}

    def __str__(self) -> str:
        lines = []
        for name, folds in self.fold_means.items():
            spread = float(np.std(folds))
            lines.append(
                f"{name}  {self.means[name]:.4f}  (folds {np.mean(folds):.4f} ± {spread:.4f})"
            )
        return "\n".join(lines)


def cv(
    ranker: Ranker | dict[str, Any],
    X: Any,
    y: Any = None,
    *,
    qid: Any = None,
    group: Any = None,
    folds: int = 5,
    seed: int = 0,
    metrics: Any = None,
    early_stopping_rounds: int | None = None,
    callbacks: Sequence[Any] = (),
) -> CrossValidation:
    """Train on all queries but a fold, score that fold, for every fold.

    `ranker` is a Ranker or its parameters, `X` features or a RankingData, `metrics` one or more, or
    an `rf.scorecard`, whose `choose` takes the results of several rankers. With
    `early_stopping_rounds`, a fifth of the training queries is held out to decide when to stop:
    the scored fold never decides.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=40)
    >>> params = {"n_estimators": 3, "num_leaves": 3, "progress": False}
    >>> result = rf.cv(params, data, folds=2, metrics=["ndcg@5"])
    >>> sorted(result.means), result.scores.shape == (data.rows,)
    (['ndcg@5'], True)
    """
    data = X if isinstance(X, RankingData) else RankingData(X, y, qid=qid, group=group)
    template = Ranker(**ranker) if isinstance(ranker, dict) else ranker
    settings = template.settings(eval_metric=metrics or None)
    if settings.choice is not None:
        template = Ranker(**template.get_params(deep=False) | {"objective": settings.choice})
    chosen = make_metrics(settings.eval_metric, settings.make_objective(), k=settings.k)
    # Labels that are not there are missed before training.
    board = Scoreboard(of_queries(chosen), data)
    queries = len(data.sizes)
    parts = query_folds(queries, folds, seed=seed)
    scores = np.full(data.rows, np.nan)
    fold = np.empty(queries, np.int64)
    rankers = []
    for number, part in enumerate(parts):
        fold[part] = number
        rest = np.setdiff1d(np.arange(queries), part)
        fitted = _fit(template, data, rest, seed, early_stopping_rounds, callbacks, chosen)
        if not fitted.model_.finished:
            raise KeyboardInterrupt
        scores[data.index.rows_of(part)] = fitted.predict(data.take_queries(part))
        rankers.append(fitted)
    per_query = board.values(scores)
    values = {one.key: row for one, row in zip(chosen, per_query, strict=True)}
    weights = data.metric_weight
    fold_means = {
        name: [mean(row[part], None if weights is None else weights[part]) for part in parts]
        for name, row in values.items()
    }
    return CrossValidation(scores, values, fold, fold_means, rankers, weights)


def _fit(
    template: Ranker,
    data: RankingData,
    queries: NDArray[np.int64],
    seed: int,
    rounds: int | None,
    callbacks: Sequence[Any],
    metrics: Watched,
) -> Ranker:
    ranker = Ranker(**template.get_params(deep=False))
    if rounds is None:
        return ranker.fit(data.take_queries(queries), callbacks=callbacks)
    held = queries[query_folds(len(queries), 5, seed=seed)[0]]
    kept = np.setdiff1d(queries, held)
    return ranker.fit(
        data.take_queries(kept),
        eval_set=[data.take_queries(held)],
        eval_metric=metrics,
        early_stopping_rounds=rounds,
        callbacks=callbacks,
    )
