"""Forces of a training set: the objective's, weighted, in a seeded order of ties, on a bag.

And how far they move the leaves of a tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import hash_keys
from rankforce.common.sums import join_sums
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, row_keys
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import AnyObjective
from rankforce.forces.ready import NO_FLOATS
from rankforce.kernels import trees as kernels
from rankforce.training.bags import Bags
from rankforce.training.settings import Settings


def shuffle_ties(index: QueryIndex, seed: int) -> QueryIndex:
    """The same queries with their documents in a seeded order, which decides ties in scores.

    Before the first tree all scores tie. In the order of the file, which often has the best
    documents first, the forces would know the labels. The order depends on the seed, the query's
    id and the place of a row within its query, not on where the query stands.
    """
    query = np.repeat(np.arange(len(index.sizes)), index.sizes)
    keys = index.places(row_keys(index, len(query)))
    draw = hash_keys(keys ^ hash_keys(np.array([seed], np.uint64)))
    order = order_within(query, draw)
    row = index.row[order] if len(index.row) else order
    return index._replace(row=row.astype(np.int64))


def order_within(query: NDArray[np.int64], draw: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The order by query, which never falls, and then by a draw of 64 bits.

    >>> order_within(np.array([0, 0, 1, 1]), np.array([7, 3, 2, 9], np.uint64)).tolist()
    [1, 0, 2, 3]
    """
    # One sort of what nearly has an order, in place of two that do not see it: a seventh of the
    # time.
    bits = np.uint64(max(int(query.max(initial=0)).bit_length(), 1))
    key = query.astype(np.uint64) << (np.uint64(64) - bits) | draw >> bits
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    if (ordered[1:] == ordered[:-1]).any():  # bits that had no room may tell them apart
        order = np.lexsort((draw, query))
    return order


class Forces:
    """Forces and hessians of a training set at any scores."""

    def __init__(
        self,
        objective: AnyObjective,
        data: RankingData,
        settings: Settings,
        *,
        base_steps: int = 0,
        team: Team = ALONE,
    ) -> None:
        self._data = data
        self.settings = settings
        self.labels = data.labels
        self.keys = row_keys(data.index, data.rows)
        self.index = shuffle_ties(data.index, settings.seed)
        self.ready = objective.bind(data, self.index, team=team)
        self.bags = Bags(data.index, self.keys, settings, team)
        self._out = np.empty(data.rows), np.empty(data.rows)
        self._threads = settings.thread_count
        self._base_steps = base_steps  # schedules begin behind them

    def at(self, scores: Floats, iteration: int) -> tuple[Floats, Floats]:
        """Forces at `scores`; the arrays are used again by the next call."""
        settings, bag = self.settings, self.bags.at(iteration)
        lam, hess = self.ready.gradients(
            scores,
            norm=settings.norm,
            iteration=self.behind_base(iteration),
            threads=self._threads,
            out=self._out,
            bag=NO_FLOATS if bag is None else bag.queries,
        )
        if settings.step == "gradient":
            hess.fill(1.0)
        self._weigh(iteration, lam, hess)
        return lam, hess

    def at_labels(self, scores: Floats, iteration: int) -> tuple[Floats, Floats]:
        """Forces of a regression to the labels: least squares."""
        lam, hess = self._out
        np.subtract(self._data.labels, scores, out=lam)
        hess.fill(1.0)
        self._weigh(iteration, lam, hess)
        return lam, hess

    def unit_hessians(self, iteration: int) -> Floats:
        """Hessians with which a tree is grown by least squares: 1, weighted."""
        hess = np.ones(self._data.rows)
        self._weigh(iteration, hess)
        return hess

    def shared_hessians(
        self, scores: Floats, leaf: NDArray[np.int32], leaves: int, iteration: int
    ) -> Floats:
        """Second derivatives of pairs within one leaf, summed over each leaf of all workers."""
        own, weight = self.weights(iteration)
        if own is not None:
            weight = own if weight is None else weight * own
        return self.ready.shared_hessians(
            scores,
            leaf,
            leaves,
            norm=self.settings.norm,
            iteration=self.behind_base(iteration),
            row_weight=weight,
            threads=self._threads,
        )

    def behind_base(self, iteration: int) -> int:
        """The iteration as schedules count: they begin behind the base."""
        return iteration - self._base_steps

    @property
    def row_weight(self) -> Floats | None:
        """What rows count, where they have weights of their own."""
        return self._data.row_weight

    def weights(self, iteration: int) -> tuple[Floats | None, Floats | None]:
        """What rows count: their own weights, and 1 or 0 by the bag; None where all count 1."""
        bag = self.bags.at(iteration)
        return self._data.row_weight, None if bag is None else bag.weight

    def _weigh(self, iteration: int, *values: Floats) -> None:
        for weight in self.weights(iteration):
            if weight is not None:
                for one in values:
                    one *= weight


def sum_leaves(
    leaf: NDArray[np.int32],
    leaves: int,
    lam: Floats,
    hess: Floats,
    *,
    threads: int,
    team: Team = ALONE,
) -> tuple[Floats, Floats]:
    """Sums of forces and of hessians over each leaf, the same for every number of threads.

    They are added up in twice the precision, so that they do not depend on how rows are shared out
    among workers either, unless a sum lies within 2^-100 of the middle between two numbers.
    """

    def work(first: int, last: int) -> Floats:
        sums = np.zeros((2, 2, leaves))
        kernels.sum_block(first, last, leaf, lam, hess, sums)
        return sums

    shape = 2, 2, leaves
    own = join_sums(run_rows(work, len(leaf), threads), shape)
    total = join_sums(team.gather(own), shape).sum(axis=1)
    return total[0], total[1]


def leaf_steps(force: Floats, hess: Floats, *, l1: float = 0.0, l2: float = 0.0) -> Floats:
    """One Newton step of each leaf: sum of forces over sum of hessians; 0 without a hessian.

    >>> leaf_steps(np.array([2.0, -1.0]), np.array([4.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    shrunk = np.sign(force) * np.maximum(np.abs(force) - l1, 0.0)
    below = hess + l2
    steps = np.zeros_like(shrunk)
    np.divide(shrunk, below, out=steps, where=below > 1e-15)
    return steps
