"""The forces of one query, pair by pair."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.types import Floats
from rankforce.forces.base import AnyObjective, Pairs, Ready
from rankforce.forces.prepared import check_scores


class PairForces(NamedTuple):
    """Pairs of one query: each force pushes `hi` up and `lo` down."""

    hi: NDArray[np.int64]  # rows
    lo: NDArray[np.int64]
    weight: Floats
    force: Floats


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
    return find_pair_forces(ready, scores, query=query, norm=norm, iteration=iteration)


def find_pair_forces(
    ready: Ready, scores: ArrayLike, *, query: int, norm: str, iteration: int
) -> PairForces:
    """The same of an objective that is bound to labels."""
    values = check_scores(scores, ready.rows)
    found = []
    for share, part in ready.parts(iteration):
        pairs = part.pairs(values, query=query, iteration=iteration)
        found.append((share, pairs, _forces(part, pairs, values, query, norm)))
    none = np.empty(0, np.int64)
    return PairForces(
        np.concatenate([none, *(pairs.hi for _, pairs, _ in found)]),
        np.concatenate([none, *(pairs.lo for _, pairs, _ in found)]),
        np.concatenate([np.empty(0), *(share * pairs.weight for share, pairs, _ in found)]),
        np.concatenate([np.empty(0), *(share * forces for share, _, forces in found)]),
    )


def _forces(ready: Any, pairs: Pairs, scores: Floats, query: int, norm: str) -> Floats:
    """Force of each pair of one objective, with its norm."""
    objective = ready.objective
    norm = objective.norm or norm
    cost = getattr(objective, "cost", None)
    sigma = objective.sigma if cost is None else cost.sigma
    rows = ready.index.rows_of(query) if len(ready.index.sizes) else pairs.hi
    x = scores[pairs.hi] - scores[pairs.lo]
    is_apart = norm == "lightgbm" and np.ptp(scores[rows]) > 0 if len(rows) else False
    weight = pairs.weight / (0.01 + np.abs(x)) if is_apart else pairs.weight
    z = sigma * x + (0.0 if cost is None else cost.center)
    small = np.exp(-np.abs(z))
    p = np.where(z > 0, small, 1.0) / (1.0 + small)
    if cost is not None and cost.name == "sigmoid":
        p = p * (1.0 - p)
    force = sigma * weight * p
    total = 2.0 * force.sum()
    if norm == "lightgbm" and total > 0:
        return np.asarray(force * (np.log1p(total) / (total * np.log(2.0))))
    if norm == "std":
        lam = np.zeros(len(scores))
        np.add.at(lam, pairs.hi, force)
        np.add.at(lam, pairs.lo, -force)
        spread = lam[rows].std()
        return force / spread if spread > 0 else np.zeros(len(force))
    return np.asarray(force)
