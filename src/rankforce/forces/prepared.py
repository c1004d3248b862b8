"""An objective bound to labels: the hot path of training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads, run_blocks, run_parts
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.forces.base import Ready, Trace
from rankforce.forces.objective import Objective, Pairs
from rankforce.forces.prepare import check_labels, label_order, make_rules
from rankforce.kernels import exact, forces, layout, tracing

NORMS = {"none": layout.NO_NORM, "lightgbm": layout.LIGHTGBM_NORM, "std": layout.STD_NORM}
PARTS = 64  # of the queries, whatever the number of threads, so that sums stay the same
_NO_INTEGERS = np.empty(0, np.int64)
_NO_FLOATS = np.empty(0)


class Prepared:
    """Everything that labels alone decide, done once; `gradients` takes scores only."""

    def __init__(
        self,
        objective: Objective,
        labels: ArrayLike,
        *,
        group: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        index: QueryIndex | None = None,
        tier: NDArray[np.int64] | None = None,
    ) -> None:
        values = check_labels(labels, missing=tier is not None)
        self.objective = objective
        self.rows = len(values)
        self.index = index_queries(self.rows, group=group, qid=qid) if index is None else index
        self.sizes = self.index.sizes
        what = objective.description
        largest = int(self.sizes.max(initial=1))
        ruled = make_rules(what, largest, objective.cost, is_tiered=tier is not None)
        by_label = label_order(values, self.index, what, tier)
        self._labels = by_label._replace(scale=by_label.scale * ruled.scale)
        self._rules = ruled
        self._data = (layout.Queries(*self.index), self._labels, ruled.tables)
        # Sorting and loading cost about 40 pairs' worth per document.
        reach = np.minimum(what.pair_set.cutoff * (2 if what.pair_set.extended else 1), self.sizes)
        self._cost = self.sizes * (40.0 + reach)

    def gradients(
        self,
        scores: ArrayLike,
        *,
        norm: str = "none",
        iteration: int = 0,
        threads: int = 1,
        out: tuple[Floats, Floats] | None = None,
    ) -> tuple[Floats, Floats]:
        """Forces and hessians at `scores`, one per row; `out` takes two arrays to write into.

        >>> import numpy as np
        >>> import rankforce as rf
        >>> ready = rf.objective("lambdarank-ndcg", k=3).prepare([2, 0, 1])
        >>> out = np.empty(3), np.empty(3)
        >>> ready.gradients([0.1, 0.3, 0.2], norm="lightgbm", out=out)[0] is out[0]
        True
        """
        values = check_scores(scores, self.rows)
        lam, hess = check_out(out, self.rows)
        code = check_norm(self.objective.norm or norm)
        draw = draw_of(self.objective, iteration)

        def push(first: int, last: int) -> int:
            return int(
                forces.push_block(
                    first,
                    last,
                    values,
                    *self._data,
                    self._rules.exact,
                    self._rules.fast,
                    code,
                    *draw,
                    lam,
                    hess,
                )
            )

        refuse_scores(run_blocks(push, self._cost, check_threads(threads)), values)
        if self.objective.description.user is not None and not np.isfinite(lam).all():
            raise RankforceError(self._bad_weight(values, iteration))
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
        draw = draw_of(self.objective, iteration)

        def share(part: int, first: int, last: int) -> None:
            exact.share_block(
                first,
                last,
                scores,
                *self._data,
                self._rules.exact,
                NORMS[self.objective.norm or norm],
                *draw,
                leaf,
                weight,
                sums[part],
            )

        run_parts(share, self._cost, PARTS, threads)
        return np.asarray(sums.sum(axis=0))

    def effective_pairs(
        self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1
    ) -> NDArray[np.int64]:
        """Number of pairs whose weight is not 0, for each query."""
        values = check_scores(scores, self.rows)
        counts = np.zeros(len(self.sizes), np.int64)

        def count(first: int, last: int) -> int:
            return self._list(first, last, values, iteration, counts, _NO_INTEGERS, _NO_FLOATS)[0]

        refuse_scores(run_blocks(count, self._cost, check_threads(threads)), values)
        return counts

    def pairs(self, scores: ArrayLike, *, query: int = 0, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight; `hi` and `lo` are rows."""
        values = check_scores(scores, self.rows)
        found = self._pairs(values, query, iteration)
        if not np.isfinite(found.weight).all():
            raise RankforceError(self._bad_weight(values, iteration))
        return found

    def parts(self, iteration: int) -> list[tuple[float, Ready]]:
        """The objectives that this one is a weighted sum of: itself."""
        return [(1.0, self)]

    def trace(self, scores: Floats, trace: Trace) -> None:
        """Count pairs, find factors of the norm, and add up where forces come from."""
        values = check_scores(scores, self.rows)
        number = check_norm(self.objective.norm or trace.norm)
        rules = (*self._data, self._rules.exact, number, *draw_of(self.objective, trace.iteration))
        found = (trace.slot, trace.code, trace.share, trace.counts, trace.factors, trace.sources)

        def work(first: int, last: int) -> int:
            return int(tracing.trace_block(first, last, values, *rules, *found))

        refuse_scores(run_blocks(work, self._cost, check_threads(trace.threads)), values)

    def _pairs(self, values: Floats, query: int, iteration: int) -> Pairs:
        check_query(query, len(self.sizes))
        if not len(self.sizes):
            return Pairs(_NO_INTEGERS, _NO_INTEGERS, _NO_FLOATS)
        counts = np.zeros(len(self.sizes), np.int64)
        one = (query, query + 1, values, iteration, counts)
        refuse_scores([self._list(*one, _NO_INTEGERS, _NO_FLOATS)[0]], values)
        weight = np.empty(counts[query])
        _, hi, lo = self._list(*one, np.empty(counts[query], np.int64), weight)
        start, end = self.index.pointer[query], self.index.pointer[query + 1]
        row = np.empty(end - start, np.int64)
        row[self._labels.position[start:end]] = self.index.rows_of(query)
        return Pairs(row[hi], row[lo], weight * self._labels.scale[query])

    def _list(
        self,
        first: int,
        last: int,
        values: Floats,
        iteration: int,
        counts: NDArray[np.int64],
        room: NDArray[np.int64],
        weight: Floats,
    ) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        hi, lo = room, room.copy()
        bad = exact.list_block(
            first,
            last,
            values,
            *self._data,
            self._rules.exact,
            *draw_of(self.objective, iteration),
            counts,
            hi,
            lo,
            weight,
        )
        return int(bad), hi, lo

    def _bad_weight(self, values: Floats, iteration: int) -> str:
        for query in range(len(self.sizes)):
            hi, lo, weight = self._pairs(values, query, iteration)
            bad = np.flatnonzero(~np.isfinite(weight))
            if bad.size:
                return (
                    f"the pair weight of rows {hi[bad[0]]} (hi) and {lo[bad[0]]} (lo) is negative "
                    "or not finite: weights are numbers from 0 up"
                )
        return "the pair weights are so large that their sum is not finite"


def draw_of(objective: Objective, iteration: int) -> tuple[np.uint64, np.uint64]:
    """Seed and iteration of random draws, as kernels take them."""
    mask = 2**64 - 1
    whole = check_whole("iteration", iteration)
    return np.uint64(objective.seed & mask), np.uint64(whole & mask)


def check_query(query: int, queries: int) -> None:
    """The number of a query; 0 where there is none."""
    if not 0 <= query < max(queries, 1):
        raise RankforceError(f"query is {query}: there are {queries} queries")


def refuse_scores(bad: list[int], values: Floats) -> None:
    """Kernels answer with the query whose scores are not finite, or -1."""
    if max(bad) < 0:
        return
    row = int(np.flatnonzero(~np.isfinite(values))[0])
    raise RankforceError(f"score of row {row} is {values[row]}: scores must be finite")


def check_scores(scores: ArrayLike, rows: int) -> Floats:
    """One float64 number for each row."""
    values = np.ascontiguousarray(scores, dtype=np.float64)
    if values.shape != (rows,):
        raise RankforceError(f"scores have shape {values.shape}, but there are {rows} labels")
    return values


def check_out(out: tuple[Floats, Floats] | None, rows: int) -> tuple[Floats, Floats]:
    """Two arrays to write into, new ones if there are none."""
    if out is None:
        return np.empty(rows), np.empty(rows)
    for array in out:
        is_float = isinstance(array, np.ndarray) and array.dtype == np.float64
        if not is_float or array.shape != (rows,) or not array.flags.c_contiguous:
            raise RankforceError(f"out must be two float64 arrays of {rows} numbers")
    return out


def check_norm(norm: str) -> int:
    """The kernels' number of a norm."""
    if norm not in NORMS:
        raise RankforceError(f"unknown norm {norm!r}: choose 'none', 'lightgbm' or 'std'")
    return NORMS[norm]
