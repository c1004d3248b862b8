"""Which pairs push and how hard, what the norm makes of it, and from which labels forces come."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.types import Floats
from rankforce.diagnostics.view import Now, View, make_view
from rankforce.forces.base import AnyObjective, PairForces
from rankforce.kernels.notes import BY_SIZE, DOWN, UP


class EffectivePairs(NamedTuple):
    """Pairs with a weight, in each query."""

    counts: NDArray[np.int64]
    possible: NDArray[np.int64]  # n(n-1)/2

    @property
    def relative(self) -> Floats:
        """Share of all pairs of documents, for each query; 0 for one with a single document."""
        return np.asarray(self.counts / np.maximum(self.possible, 1))

    @property
    def without_force(self) -> NDArray[np.bool_]:
        """Queries that no pair pushes."""
        return np.asarray(self.counts == 0)


class Contributions(NamedTuple):
    """Where the force on highly relevant documents comes from."""

    labels: list[str]
    shares: Floats  # one for each label; they add up to 1, or all are 0
    documents: int  # highly relevant ones that any pair pushes


class NormFactors(NamedTuple):
    """What the norm multiplies the forces of each query by; 0 for a query without pairs."""

    factors: Floats

    @property
    def quantiles(self) -> tuple[float, float, float]:
        """A tenth, half and nine tenths of the queries with pairs lie below; 0 if there is none."""
        known = self.factors[self.factors > 0]
        if not len(known):
            return 0.0, 0.0, 0.0
        low, median, high = np.quantile(known, [0.1, 0.5, 0.9]).tolist()
        return low, median, high


def effective_pairs(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    iteration: int = 0,
    threads: int = 1,
) -> EffectivePairs:
    """Number of pairs with a weight, for each query (Adalia et al. 2025, Figures 5 and A1).

    >>> import rankforce as rf
    >>> found = effective_pairs(rf.objective("ranknet"), [3, 2, 1, 0], [1, 0, 0, 0])
    >>> found.counts.tolist(), found.relative.tolist()
    ([3], [0.5])
    """
    ready = objective.prepare(labels, group=group, qid=qid)
    counts = ready.effective_pairs(scores, iteration=iteration, threads=threads)
    return EffectivePairs(counts, possible_pairs(ready.index.sizes))


def pair_forces(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    query: int = 0,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    norm: str = "none",
    iteration: int = 0,
) -> PairForces:
    """Pairs that have a weight, and the force of each; summed, they are `objective.gradients`.

    `query` is the number of the query. A pair that several parts of a mix have stands there once
    for each. Forces of a listwise objective are in no pair.

    >>> import rankforce as rf
    >>> found = pair_forces(rf.objective("lambdarank-ndcg", k=1), [0.02, 0.01], [0, 1])
    >>> found.hi.tolist(), found.lo.tolist(), found.force.round(4).tolist()
    ([1], [0], [0.1855])
    """
    ready = objective.prepare(labels, group=group, qid=qid)
    return ready.pair_forces(scores, query=query, norm=norm, iteration=iteration)


def contributions(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    high: float | None = None,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    iteration: int = 0,
    threads: int = 1,
) -> Contributions:
    """Share of the force on highly relevant documents by the label of the other document.

    With f_jk the force of document k on document j, above 0 where it pushes j up, before any norm:
    share(v) = sum over j with a label of `high` or more of sum over k with label v of f_jk, over
    the same sum for all k. By default `high` is above half of the largest label. A share is below
    0 where documents of its label push down. Svore et al. 2011, Figure 3a; their equation 11 is
    the mean over j of such ratios, which is unstable: forces up and down may leave a document
    with a sum near 0, and it then decides the mean.

    >>> import rankforce as rf
    >>> found = contributions(rf.objective("ranknet"), [0, 0, 0, 0], [4, 3, 1, 0])
    >>> dict(zip(found.labels, found.shares.tolist()))
    {'0': 0.5, '1': 0.5, '3': 0.25, '4': -0.25}
    """
    now = Now(iteration=iteration, threads=threads)
    view = make_view(objective, scores, labels, now, group=group, qid=qid, high=high)
    return find_contributions(view)


def contributions_by_size(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    high: float | None = None,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    norm: str = "none",
    iteration: int = 0,
    threads: int = 1,
) -> Contributions:
    """The same by the magnitudes of forces, which cannot cancel, under a norm.

    Of each document with a label of `high` or more, the magnitudes of its pairs' forces are shared
    out by label; this is the mean over documents, each of which counts alike.

    >>> import rankforce as rf
    >>> found = contributions_by_size(rf.objective("ranknet"), [0, 0, 0, 0], [4, 1, 0, 0], high=4)
    >>> found.shares.tolist()
    [0.6666666666666666, 0.3333333333333333, 0.0]
    """
    now = Now(norm, iteration, threads)
    view = make_view(objective, scores, labels, now, group=group, qid=qid, high=high)
    return find_contributions_by_size(view)


def norm_factors(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    norm: str = "lightgbm",
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    iteration: int = 0,
    threads: int = 1,
) -> NormFactors:
    """What the norm multiplies the forces of each query by.

    For "lightgbm" that is log2(1 + S) / S with S the sum of all magnitudes (behind its division of
    every pair by 0.01 + the distance of scores), for "std" one over their standard deviation. Of a
    mix, those of the sum if it has a norm, else those of its first part.

    >>> import rankforce as rf
    >>> found = norm_factors(rf.objective("ranknet"), [0, 0, 0], [1, 0, 0])
    >>> found.factors.tolist() == [np.log2(1 + 2.0) / 2.0]  # two pairs, 2 * 0.5 each
    True
    """
    now = Now(norm, iteration, threads)
    view = make_view(objective, scores, labels, now, group=group, qid=qid)
    return NormFactors(view.trace.factors)


def possible_pairs(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """n(n-1)/2 of each query."""
    return np.asarray(sizes * (sizes - 1) // 2)


def find_contributions(view: View) -> Contributions:
    """The contributions of a view."""
    sources = view.trace.sources[:, [UP, DOWN]]
    up, down = sources.sum(axis=0)
    shares = up - down
    total = shares.sum()
    # Between two highly relevant documents forces cancel, but for rounding.
    is_pushed = abs(total) > 1e-9 * (up + down).sum()
    shares = shares / total if is_pushed else np.zeros_like(shares)
    documents = int(np.count_nonzero(sources.any(axis=(1, 2))))
    return Contributions(view.scene.grades.names, shares, documents)


def find_contributions_by_size(view: View) -> Contributions:
    """The contributions of a view by size."""
    sources = view.trace.sources[:, BY_SIZE]
    total = sources.sum(axis=1)
    pushed = total > 0
    names = view.scene.grades.names
    shares = np.zeros(len(names))
    if pushed.any():
        shares = np.mean(sources[pushed] / total[pushed, None], axis=0)
    return Contributions(names, shares, int(np.count_nonzero(pushed)))
