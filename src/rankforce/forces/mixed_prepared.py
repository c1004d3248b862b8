"""A mixed objective bound to labels: the sum of its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.base import Pairs, Ready, Trace
from rankforce.forces.mixed import Mixed, Part
from rankforce.forces.objective import Objective


class MixedPrepared:
    """Everything that labels alone decide, done once; `gradients` takes scores only."""

    def __init__(self, objective: Mixed, labels: Any, index: QueryIndex) -> None:
        self.objective = objective
        self.index = index
        self.rows = int(index.pointer[-1])
        self._ready = [_bind(part, labels, index) for part in objective.parts]
        self._scratch: tuple[Floats, Floats] | None = None

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
        found = out or (np.empty(self.rows), np.empty(self.rows))
        is_first = True
        for weight, ready in self.parts(iteration):
            into = found if is_first else self._room()
            ready.gradients(scores, norm=norm, iteration=iteration, threads=threads, out=into)
            for total, part in zip(found, into, strict=True):
                if weight != 1.0:
                    part *= weight
                if not is_first:
                    total += part
            is_first = False
        if is_first:
            for total in found:
                total.fill(0.0)
        return found

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
        total = np.zeros(leaves)
        for weight, ready in self.parts(iteration):
            total += weight * ready.shared_hessians(
                scores,
                leaf,
                leaves,
                norm=norm,
                iteration=iteration,
                row_weight=row_weight,
                threads=threads,
            )
        return total

    def effective_pairs(
        self, scores: ArrayLike, *, iteration: int = 0, threads: int = 1
    ) -> NDArray[np.int64]:
        """Number of pairs whose weight is not 0, for each query; one for each part it is in."""
        counts = np.zeros(len(self.index.sizes), np.int64)
        for _, ready in self.parts(iteration):
            counts += ready.effective_pairs(scores, iteration=iteration, threads=threads)
        return counts

    def pairs(self, scores: ArrayLike, *, query: int = 0, iteration: int = 0) -> Pairs:
        """The pairs of one query that have a weight, part by part; `hi` and `lo` are rows."""
        found = [
            (weight, ready.pairs(scores, query=query, iteration=iteration))
            for weight, ready in self.parts(iteration)
        ]
        none = np.empty(0, np.int64)
        return Pairs(
            np.concatenate([none, *(pairs.hi for _, pairs in found)]),
            np.concatenate([none, *(pairs.lo for _, pairs in found)]),
            np.concatenate([np.empty(0), *(weight * pairs.weight for weight, pairs in found)]),
        )

    def parts(self, iteration: int) -> list[tuple[float, Ready]]:
        """The objectives that this one is a weighted sum of: those that count now."""
        weights = self.objective.weights(iteration)
        return [(w, ready) for w, ready in zip(weights, self._ready, strict=True) if w > 0.0]

    def trace(self, scores: Floats, trace: Trace) -> None:
        """Count pairs and add up where forces come from; factors are those of the first part."""
        rest = trace._replace(
            counts=np.zeros_like(trace.counts), factors=np.zeros_like(trace.factors)
        )
        for number, (weight, ready) in enumerate(self.parts(trace.iteration)):
            into = rest if number else trace
            ready.trace(scores, into._replace(share=trace.share * weight))
            if number:
                trace.counts[:] += rest.counts

    def _room(self) -> tuple[Floats, Floats]:
        if self._scratch is None:
            self._scratch = np.empty(self.rows), np.empty(self.rows)
        return self._scratch


def _bind(part: Part, labels: Any, index: QueryIndex) -> Ready:
    if isinstance(part.objective, Objective):
        return part.objective.bind_tier(
            labels, index, above=part.above, leave_out_zeros=part.leave_out_zeros
        )
    return part.objective.bind(labels, index)
