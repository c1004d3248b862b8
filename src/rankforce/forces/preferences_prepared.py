"""Explicit pairs, sorted by query: their forces at any scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads, run_blocks, run_parts
from rankforce.common.types import Floats
from rankforce.data.preferences import check_preferences
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import Pairs, Ready, Trace
from rankforce.forces.preferences import PreferenceObjective
from rankforce.forces.prepared import (
    NORMS,
    PARTS,
    check_norm,
    check_out,
    check_query,
    check_scores,
)
from rankforce.kernels import layout, tracing
from rankforce.kernels import preferences as kernel

_NO_FLOATS = np.empty(0)


class PreparedPreferences:
    """Everything that the pairs alone decide, done once; `gradients` takes scores only."""

    def __init__(self, objective: PreferenceObjective, given: Any, index: QueryIndex) -> None:
        self.objective = objective
        self.index = index
        self.rows = int(index.pointer[-1])
        found = check_preferences(given, index, np.arange(len(index.sizes)))
        query = index.of_rows()[found.hi]
        order = np.argsort(query, kind="stable")
        self._pairs = Pairs(found.hi[order], found.lo[order], found.weight[order])
        counts = np.bincount(query, minlength=len(index.sizes))
        self._pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        self._queries = layout.Queries(*index)
        self._cost = index.sizes + 10.0 * counts

    def gradients(
        self,
        scores: ArrayLike,
        *,
        norm: str = "none",
        iteration: int = 0,
        threads: int = 1,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Forces and hessians at `scores`, one per row; `out` takes two arrays to write into."""
        values = check_scores(scores, self.rows)
        bad = np.flatnonzero(~np.isfinite(values))
        if bad.size:
            raise RankforceError(
                f"score of row {bad[0]} is {values[bad[0]]}: scores must be finite"
            )
        lam, hess = check_out(out, self.rows)
        lam.fill(0.0)
        hess.fill(0.0)
        code = check_norm(self.objective.norm or norm)

        def push(first: int, last: int) -> int:
            kernel.push_preferences(first, last, values, *self._arguments(code), lam, hess)
            return -1

        run_blocks(push, self._cost, check_threads(threads))
        return lam, hess

    def shared_hessians(
        self,
        scores: Floats,
        leaf: NDArray[np.int32],
        leaves: int,
        *,
        norm: str,
        iteration: int,
        row_weight: Floats | None,
        threads: int,
    ) -> Floats:
        """Sum over each leaf of the second derivatives of pairs with both documents in it."""
        sums = np.zeros((PARTS, leaves))
        weight = _NO_FLOATS if row_weight is None else row_weight
        arguments = self._arguments(NORMS[self.objective.norm or norm])

        def share(part: int, first: int, last: int) -> None:
            kernel.share_preferences(first, last, scores, *arguments, leaf, weight, sums[part])

        run_parts(share, self._cost, PARTS, threads)
        return np.asarray(sums.sum(axis=0))

    def effective_pairs(
        self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1
    ) -> NDArray[np.int64]:
        """Number of pairs whose weight is not 0, for each query."""
        has = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._pairs.weight > 0)])
        return np.asarray(np.diff(has[self._pointer]))

    def pairs(self, scores: ArrayLike, *, query: int = 0, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight; `hi` and `lo` are rows."""
        check_query(query, len(self.index.sizes))
        first, last = self._pointer[[query, query + 1]] if len(self.index.sizes) else (0, 0)
        kept = first + np.flatnonzero(self._pairs.weight[first:last] > 0)
        return Pairs(self._pairs.hi[kept], self._pairs.lo[kept], self._pairs.weight[kept])

    def parts(self, iteration: int) -> list[tuple[float, Ready]]:
        """The objectives that this one is a weighted sum of: itself."""
        return [(1.0, self)]

    def trace(self, scores: Floats, trace: Trace) -> None:
        """Count pairs, find factors of the norm, and add up where forces come from."""
        arguments = self._arguments(check_norm(self.objective.norm or trace.norm))
        found = (trace.slot, trace.code, trace.share, trace.counts, trace.factors, trace.sources)

        def work(first: int, last: int) -> int:
            tracing.trace_preferences(first, last, scores, *arguments, *found)
            return -1

        run_blocks(work, self._cost, check_threads(trace.threads))

    def _arguments(self, norm: int) -> tuple[Any, ...]:
        return (self._queries, self._pointer, *self._pairs, self.objective.sigma, norm)
