"""A listwise objective bound to labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.threads import check_threads, run_blocks, run_parts
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import Pairs, Ready, Trace
from rankforce.forces.objective import Objective
from rankforce.forces.prepare import place_labels
from rankforce.forces.prepared import (
    PARTS,
    check_norm,
    check_out,
    check_query,
    check_scores,
    draw_of,
    refuse_scores,
)
from rankforce.kernels import layout
from rankforce.kernels import listwise as kernel

_NO_FLOATS = np.empty(0)


class PreparedList:
    """Everything that labels alone decide, done once; `gradients` takes scores only.

    No pair pushes: there is none to count or to list. What is random about a row goes by its number
    within its query, in the caller's order. LightGBM's norm is one of pairs: like LightGBM's own
    rank_xendcg, this has none then.
    """

    def __init__(self, objective: Objective, labels: Floats, index: QueryIndex) -> None:
        self.objective = objective
        self.index = index
        self.rows = int(index.pointer[-1])
        self._queries = layout.Queries(*index)
        _, number, gain = place_labels(labels, index, objective.description)
        self._gain = gain[number]
        self._number = index.number_of_places()
        self._cost = 40.0 * index.sizes.astype(np.float64)  # an exponential costs about 40 pairs

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
        found = check_out(out, self.rows)
        factors = np.empty(len(self.index.sizes))
        self._push(scores, norm, iteration, threads, (*found, factors))
        return found

    def _push(
        self, scores: ArrayLike, norm: str, iteration: int, threads: int, into: tuple[Floats, ...]
    ) -> None:
        values = check_scores(scores, self.rows)
        data = (self._queries, self._gain, self._number)
        how = (check_norm(self.objective.norm or norm), *draw_of(self.objective, iteration))

        def push(first: int, last: int) -> int:
            return int(kernel.push_lists(first, last, values, *data, *how, *into))

        refuse_scores(run_blocks(push, self._cost, check_threads(threads)), values)

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
        """What moving a leaf as a whole takes from the sum of its documents' hessians."""
        sums = np.zeros((PARTS, leaves))
        weight = _NO_FLOATS if row_weight is None else row_weight

        def share(part: int, first: int, last: int) -> None:
            kernel.share_lists(first, last, scores, self._queries, leaf, weight, sums[part])

        run_parts(share, self._cost, PARTS, threads)
        return np.asarray(sums.sum(axis=0))

    def effective_pairs(
        self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1
    ) -> NDArray[np.int64]:
        """None: forces of a list come from no pair."""
        check_scores(scores, self.rows)
        return np.zeros(len(self.index.sizes), np.int64)

    def pairs(self, scores: ArrayLike, *, query: int = 0, iteration: int = 0) -> Pairs:
        """None: forces of a list come from no pair."""
        check_scores(scores, self.rows)
        check_query(query, len(self.index.sizes))
        none = np.empty(0, np.int64)
        return Pairs(none, none, np.empty(0))

    def parts(self, iteration: int) -> list[tuple[float, Ready]]:
        """The objectives that this one is a weighted sum of: itself."""
        return [(1.0, self)]

    def trace(self, scores: Floats, trace: Trace) -> None:
        """Factors of the norm; there is no pair that a force could come from."""
        trace.counts[:] = 0
        into = (np.empty(self.rows), np.empty(self.rows), trace.factors)
        self._push(scores, trace.norm, trace.iteration, trace.threads, into)
