"""A ranker bound for production: one query's documents in, the best of them out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats, Ints
from rankforce.data.frames import to_matrix
from rankforce.data.queries import best_rows, index_queries
from rankforce.data.sources import to_dense
from rankforce.models.base import FORESTS
from rankforce.models.forest.early_exit import make_stages, score_best
from rankforce.models.model import Model
from rankforce.models.outside import outside_scores


class Top(NamedTuple):
    """The best documents of a query, best first; ties go by row."""

    row: Ints
    score: Floats


class QueryScorer:
    """Scores the documents of one query at a time; several threads may call it at once.

    What can be done once is done when it is made: which trees, in which order columns come, how
    many threads. Scores are those of :meth:`Ranker.predict`, to the bit. What it leaves out are
    checks: an infinite value is not refused, it is above every threshold.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False).fit(data)
    >>> scorer = ranker.scorer(top=3)
    >>> documents = data.features[: data.sizes[0]]
    >>> best = scorer(documents)
    >>> bool((best.score == ranker.predict(documents)[best.row]).all()), len(best.row)
    (True, 3)
    """

    def __init__(
        self,
        model: Model,
        *,
        top: int | None = None,
        threads: int | None = 1,
        early_exit: bool = False,
    ) -> None:
        self.top = None if top is None else check_whole("top", top, least=1)
        self._model, self._schema = model, model.schema
        self._threads = count_threads(threads)
        self._missing = model.parameters.get("missing")
        self._names = model.feature_names
        self._is_plain = not model.categories and not self._schema.renumbered
        self._order: tuple[list[Any], list[int] | None] | None = None  # of the last frame
        is_forest = model.scorer.kind in FORESTS
        self._scoring = model.scorer.scoring(range(model.used)) if is_forest else None
        self._stages = None
        if early_exit:
            if self.top is None or not is_forest or model.base is not None:
                raise RankforceError("early_exit is for the best documents of trees: give top=")
            self._stages = make_stages(model.trees[: model.used])

    def __call__(self, X: Any) -> Top:
        """The best documents; `X` has those of one query, as an array or a frame."""
        if self._stages is not None and self.top is not None:
            rows, scores = score_best(self._stages, self.matrix(X), self.top, threads=self._threads)
            best = best_rows(scores, self.top)
            return Top(rows[best], scores[best])
        scores = self.scores(X)
        best = best_rows(scores, self.top)
        return Top(best, scores[best])

    def scores(self, X: Any) -> Floats:
        """One score for each document, in the order of rows."""
        rows = self.matrix(X)
        if self._scoring is not None and self._model.base is None:
            scores = np.zeros(len(rows))
            self._scoring.add_block(rows, scores, self._threads)
            return scores
        index = index_queries(len(rows))
        scores = self._model.scores(rows, threads=self._threads, index=index)
        if self._model.base is not None:
            scores += outside_scores(self._model.base, rows, index)
        return scores

    def matrix(self, X: Any) -> NDArray[np.float32]:
        """The features as the trees read them: rows of float32 in the order of training."""
        rows = X if type(X) is np.ndarray else self._from_frame(X)
        if rows is None or rows.dtype.kind not in "fiu" or self._schema.renumbered:
            rows = to_dense(to_matrix(X, like=self._schema).values)
        if rows.ndim != 2 or rows.shape[1] != len(self._names):
            raise RankforceError(
                f"the documents have shape {rows.shape}: the model has {len(self._names)} features"
            )
        rows = np.ascontiguousarray(rows, np.float32)
        if self._missing is None:
            return rows
        return np.where(rows == np.float32(self._missing), np.float32(np.nan), rows)

    def _from_frame(self, X: Any) -> NDArray[Any] | None:
        """A frame of numbers of pandas or polars, at once; None for all else."""
        if not self._is_plain or type(X).__module__.partition(".")[0] not in ("pandas", "polars"):
            return None
        columns = X.columns
        columns = columns if isinstance(columns, list) else columns.tolist()
        known = self._order  # looked at once: another thread may replace it
        if known is None or known[0] != columns:
            self._order = known = columns, self._find(columns)
        if known[1] is None:
            return None
        values: NDArray[Any] = X.to_numpy()
        if values.dtype.kind == "O":  # other columns may hold anything
            values = X[self._names].to_numpy()
            return values
        return values[:, known[1]] if known[1] else values

    def _find(self, columns: list[Any]) -> list[int] | None:
        """Where the features are among some columns: nothing if there is nothing to change.

        None where that is not plain.
        """
        place = {name: number for number, name in enumerate(columns)}
        if len(place) < len(columns) or any(name not in place for name in self._names):
            return None
        return [] if list(place) == self._names else [place[name] for name in self._names]
