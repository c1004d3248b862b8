"""An objective bound to labels: what it can be asked, checked once; and a sum of several."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import PairForces, Pairs
from rankforce.forces.batch import Batch, take_queries
from rankforce.kernels import forces, layout
from rankforce.kernels.notes import BY_SIZE

NORMS = {"none": layout.NO_NORM, "lightgbm": layout.LIGHTGBM_NORM, "std": layout.STD_NORM}
NO_INTEGERS = np.empty(0, np.int64)
NO_FLOATS = np.empty(0)
NO_PAIRS = PairForces(NO_INTEGERS, NO_INTEGERS, NO_FLOATS, NO_FLOATS)


class Moment(NamedTuple):
    """Scores, and how forces are found there."""

    scores: Floats
    norm: str
    iteration: int
    threads: int
    # Of each query, takes the sum of magnitudes of pairs, once for each document; whoever gives
    # room for them gives the forces the rest of LightGBM's norm.
    totals: Floats = NO_FLOATS
    bag: Floats = NO_FLOATS  # 0 for each query whose forces nobody wants, 1 for the others


class Trace(NamedTuple):
    """Where forces come from: what to look at, and the arrays that take what was found."""

    slot: NDArray[np.int32]  # of each row that is traced, its own; -1 for the others
    code: NDArray[np.int32]  # of each row's label
    counts: NDArray[np.int64]  # pairs of each query
    factors: Floats  # what the norm multiplies the forces of each query by
    sources: Floats  # slots x 3 x codes: sums of magnitudes, and without any norm up and down
    share: float = 1.0  # that is added


class Ready(ABC):
    """Everything that labels alone decide, done once; the calls take scores only."""

    is_step = False  # there are no second derivatives: a step is one along the forces

    def __init__(self, index: QueryIndex) -> None:
        self.index = index
        self.sizes = index.sizes
        self.rows = int(index.pointer[-1])

    def gradients(
        self,
        scores: ArrayLike,
        *,
        norm: str = "none",
        iteration: int = 0,
        threads: int = 1,
        out: tuple[Floats, Floats] | None = None,
        bag: Floats = NO_FLOATS,
    ) -> tuple[Floats, Floats]:
        """Forces and hessians at `scores`, one per row; `out` takes two arrays to write into.

        A `bag` has 0 for each query whose forces nobody wants, which saves their time.

        >>> import numpy as np
        >>> import rankforce as rf
        >>> ready = rf.objective("lambdarank-ndcg", k=3).prepare([2, 0, 1])
        >>> out = np.empty(3), np.empty(3)
        >>> ready.gradients([0.1, 0.3, 0.2], norm="lightgbm", out=out)[0] is out[0]
        True
        """
        found = check_out(out, self.rows)
        self.push(self._moment(scores, norm, iteration, threads)._replace(bag=bag), *found)
        return found

    def costs(self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1) -> Floats:
        """What each query costs at `scores`: see :meth:`AnyObjective.loss`.

        >>> import rankforce as rf
        >>> ready = rf.objective("ranknet").prepare([1, 0, 0, 0], group=[2, 2])
        >>> ready.costs([0.0, 0.0, 1.0, 2.0]).round(4).tolist()
        [0.6931, 0.0]
        """
        return self.find_costs(self._moment(scores, "none", iteration, threads))

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
        """What moving a leaf as a whole takes from the sum of its documents' hessians.

        For pairs: the sum over each leaf of the second derivatives of those with both documents in
        it.
        """
        weight = NO_FLOATS if row_weight is None else row_weight
        return self.share(self._moment(scores, norm, iteration, threads), leaf, weight, leaves)

    def effective_pairs(
        self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1
    ) -> NDArray[np.int64]:
        """Number of pairs whose weight is not 0, for each query; in a mix, one for each part."""
        return self.count(self._moment(scores, "none", iteration, threads))

    def pairs(self, scores: ArrayLike, *, query: int = 0, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight, part by part; `hi` and `lo` are rows."""
        found = self.pair_forces(scores, query=query, norm="none", iteration=iteration)
        return Pairs(found.hi, found.lo, found.weight)

    def pair_forces(
        self, scores: ArrayLike, *, query: int, norm: str, iteration: int
    ) -> PairForces:
        """The same with the force of each; forces of a list are in no pair."""
        moment = self._moment(scores, norm, iteration, 1)
        if not 0 <= query < max(len(self.sizes), 1):
            raise RankforceError(f"query is {query}: there are {len(self.sizes)} queries")
        return self.find_pairs(moment, query) if len(self.sizes) else NO_PAIRS

    def trace(
        self,
        scores: ArrayLike,
        *,
        slot: NDArray[np.int32],
        code: NDArray[np.int32],
        codes: int,
        norm: str,
        iteration: int,
        threads: int,
    ) -> Trace:
        """Count pairs, find factors of the norm (of a mix, those of the sum if it has a norm, else
        those of its first part), and add up where forces on documents that have a slot come from,
        by the other document's code: their magnitudes under the norm, and without any norm those
        that push up and those that push down.
        """
        found = Trace(
            slot,
            code,
            counts=np.zeros(len(self.sizes), np.int64),
            factors=np.zeros(len(self.sizes)),
            sources=np.zeros((int(slot.max(initial=-1)) + 1, 3, codes)),
        )
        self.find_sources(self._moment(scores, norm, iteration, threads), found)
        return found

    def take(self, queries: ArrayLike) -> Ready:
        """The same objective bound to some queries, by their numbers, in the order given.

        Its rows are the documents of these queries, one query behind the other: of a query q, row
        `t` is row `index.rows_of(q)[t]` of the whole. Draws, tiers, pairs and weights that move are
        those of the whole, and so are forces, bit for bit. Takes no longer for a large whole.

        >>> import rankforce as rf
        >>> ready = rf.objective("ranknet").prepare([1, 0, 2, 0, 1], group=[2, 3])
        >>> ready.gradients([0.0, 0.0, 0.0, 0.0, 0.0])[0].tolist()
        [0.5, -0.5, 1.0, -1.0, 0.0]
        >>> ready.take([1]).gradients([0.0, 0.0, 0.0])[0].tolist()
        [1.0, -1.0, 0.0]
        """
        return self.take_batch(take_queries(self.index, queries))

    def take_batch(self, batch: Batch) -> Ready:
        """The same for a batch that is known."""
        found = copy.copy(self)
        found.index = batch.index
        found.sizes = batch.index.sizes
        found.rows = int(batch.index.pointer[-1])
        found.gather(batch)
        return found

    def _moment(self, scores: ArrayLike, norm: str, iteration: int, threads: int) -> Moment:
        return Moment(check_scores(scores, self.rows), norm, iteration, check_threads(threads))

    @abstractmethod
    def gather(self, batch: Batch) -> None:
        """Keep of a copy, whose index is that of the batch, what it holds for these queries."""

    @abstractmethod
    def push(self, moment: Moment, lam: Floats, hess: Floats) -> None:
        """Write `gradients`."""

    @abstractmethod
    def find_costs(self, moment: Moment) -> Floats:
        """Find `costs`."""

    @abstractmethod
    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """Find `shared_hessians`; without weights of rows, all are 1."""

    @abstractmethod
    def count(self, moment: Moment) -> NDArray[np.int64]:
        """Find `effective_pairs`."""

    @abstractmethod
    def find_pairs(self, moment: Moment, query: int) -> PairForces:
        """Find `pair_forces` of a query that is there."""

    @abstractmethod
    def find_sources(self, moment: Moment, trace: Trace) -> None:
        """Fill a trace."""


class MixedPrepared(Ready):
    """The sum of several objectives, each with a weight that may move.

    A `norm` is that of the sum, and the parts have none then.
    """

    def __init__(
        self,
        ready: Sequence[Ready],
        weights: Callable[[int], Sequence[float]],
        index: QueryIndex,
        norm: str | None = None,
    ) -> None:
        super().__init__(index)
        self._norm = norm
        self._ready = ready
        self._weights = weights
        self._scratch: tuple[Floats, Floats] | None = None

    def gather(self, batch: Batch) -> None:
        """Those of the parts."""
        self._ready = [ready.take_batch(batch) for ready in self._ready]
        self._scratch = None

    def _parts(self, moment: Moment) -> list[tuple[float, Ready]]:
        """The objectives that count now, and how much."""
        weights = self._weights(moment.iteration)
        return [(w, ready) for w, ready in zip(weights, self._ready, strict=True) if w > 0.0]

    def _each(self, moment: Moment) -> Moment:
        """How the forces of each part are found: without the norm of the sum."""
        if self._norm is None:
            return moment
        norm = "none" if self._norm == "std" else self._norm
        return moment._replace(norm=norm, totals=np.zeros(len(self.sizes)))

    def push(self, moment: Moment, lam: Floats, hess: Floats) -> None:
        """Add up the forces of the parts."""
        self._push(moment, lam, hess)

    def _push(self, moment: Moment, lam: Floats, hess: Floats) -> Floats:
        """The same; returns what the norm of the sum multiplies the forces of each query by."""
        found = lam, hess
        parts, each = self._parts(moment), self._each(moment)
        sums = np.zeros(len(each.totals))
        for number, (weight, ready) in enumerate(parts):
            into = self._room() if number else found
            each.totals.fill(0.0)
            ready.push(each, *into)
            sums += weight * each.totals
            for total, part in zip(found, into, strict=True):
                if weight != 1.0:
                    part *= weight
                if number:
                    total += part
        if not parts:
            lam.fill(0.0)
            hess.fill(0.0)
        if self._norm is not None:
            is_step = self._norm == "std" or any(ready.is_step for _, ready in parts)
            norm, queries = NORMS[self._norm], layout.Queries(*self.index)
            forces.norm_sums(queries, sums, norm, is_step, lam, hess, each.totals)
        return each.totals

    def find_costs(self, moment: Moment) -> Floats:
        """Add up those of the parts."""
        total = np.zeros(len(self.sizes))
        for weight, ready in self._parts(moment):
            total += weight * ready.find_costs(moment)
        return total

    def _factors(self, moment: Moment) -> Floats:
        return self._push(moment, np.empty(self.rows), np.empty(self.rows))

    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """Add up those of the parts."""
        if self._norm == "lightgbm":
            factors = self._factors(moment)[self.index.of_rows()]
            row_weight = factors * row_weight if len(row_weight) else factors
        total, each = np.zeros(leaves), self._each(moment)
        for weight, ready in self._parts(moment):
            total += weight * ready.share(each, leaf, row_weight, leaves)
        return total

    def count(self, moment: Moment) -> NDArray[np.int64]:
        """Add up those of the parts."""
        counts = np.zeros(len(self.sizes), np.int64)
        for _, ready in self._parts(moment):
            counts += ready.count(moment)
        return counts

    def find_pairs(self, moment: Moment, query: int) -> PairForces:
        """Those of the first part, then those of the others."""
        found, each = [NO_PAIRS], self._each(moment)
        factor = 1.0 if self._norm is None else self._factors(moment)[query]
        for share, ready in self._parts(moment):
            hi, lo, weight, force = ready.find_pairs(each, query)
            found.append(PairForces(hi, lo, share * weight, share * factor * force))
        return PairForces(*map(np.concatenate, zip(*found, strict=True)))

    def find_sources(self, moment: Moment, trace: Trace) -> None:
        """Add up those of the parts; factors are those of the sum, or else of the first."""
        each = self._each(moment)
        found = trace._replace(
            counts=np.zeros_like(trace.counts),
            factors=np.zeros_like(trace.factors),
            sources=np.zeros_like(trace.sources),
        )
        trace.counts.fill(0)
        trace.factors.fill(0.0)
        for number, (weight, ready) in enumerate(self._parts(moment)):
            ready.find_sources(each, found._replace(share=trace.share * weight))
            trace.counts[:] += found.counts
            if number == 0:
                trace.factors[:] = found.factors
        if self._norm is not None:
            trace.factors[:] = self._factors(moment)
            rows = np.flatnonzero(trace.slot >= 0)
            factors = trace.factors[self.index.of_rows()[rows]]
            found.sources[trace.slot[rows], BY_SIZE] *= factors[:, None]
        trace.sources[:] += found.sources

    def _room(self) -> tuple[Floats, Floats]:
        if self._scratch is None:
            self._scratch = np.empty(self.rows), np.empty(self.rows)
        return self._scratch


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


def norm_and_draw(objective: Any, moment: Moment) -> tuple[int, np.uint64, np.uint64]:
    """Norm, and seed and iteration of random draws, as kernels take them."""
    norm = objective.norm or moment.norm
    if norm not in NORMS:
        raise RankforceError(f"unknown norm {norm!r}: choose 'none', 'lightgbm' or 'std'")
    mask = 2**64 - 1
    whole = check_whole("iteration", moment.iteration)
    code = NORMS[norm]
    if code == layout.LIGHTGBM_NORM and len(moment.totals):
        code = layout.APART_NORM
    return code, np.uint64(objective.seed & mask), np.uint64(whole & mask)
