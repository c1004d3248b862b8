"""One objective bound to labels, of pairs, of lists or of preferences: the hot path of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.sums import join_sums
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_blocks, run_parts
from rankforce.common.types import Floats
from rankforce.data.preferences import check_preferences
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.forces.base import PairForces
from rankforce.forces.batch import Batch, Numbered, take_labels, take_pairs
from rankforce.forces.objective import Objective, PreferenceObjective
from rankforce.forces.prepare import label_order, make_rules, place_labels
from rankforce.forces.ready import (
    NO_PAIRS,
    Moment,
    Ready,
    Trace,
    norm_and_draw,
    refuse_scores,
)
from rankforce.kernels import exact, forces, layout, listwise, preferences, trees
from rankforce.kernels.notes import BY_SIZE, DOWN, UP, Listed, Shared, Traced, Wanted
from rankforce.measures.labels import check_labels

PARTS = 64  # of the queries, whatever the number of threads, so that sums stay the same


class _One(Ready):
    """One objective, whose kernels work on blocks of queries."""

    _cost: Floats  # of each query
    _team: Team = ALONE  # whose queries these are, some of them

    def gather(self, batch: Batch) -> None:
        """What work on each query costs."""
        self._cost = self._cost[batch.queries]

    def _run(self, work: Callable[[int, int], int], moment: Moment) -> None:
        """Call `work(first, last)` for all queries; it answers with one whose scores are bad."""
        refuse_scores(run_blocks(work, self._cost, moment.threads), moment.scores)

    def _sum(self, work: Callable[[int, int, Floats], Any], leaves: int, moment: Moment) -> Floats:
        """Call `work(first, last, sums)` for all queries; the total of the sums by leaf.

        They come with what rounding lost of them, so that no order of queries decides.
        """
        sums = np.zeros((PARTS, 2, leaves))
        run_parts(
            lambda part, first, last: work(first, last, sums[part]),
            self._cost,
            PARTS,
            moment.threads,
        )
        own = join_sums(sums, (2, leaves))
        return np.asarray(join_sums(self._team.gather(own), (2, leaves)).sum(axis=0))


class Prepared(_One):
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
        team: Team = ALONE,
    ) -> None:
        values = check_labels(labels, missing=tier is not None)
        super().__init__(
            index_queries(len(values), group=group, qid=qid) if index is None else index
        )
        self._team = team
        self.objective = objective
        self.is_step = objective.cost.name == "sigmoid"
        what = objective.description
        own = [int(self.sizes.max(initial=1)), float(np.fmax.reduce(values, initial=0.0))]
        sizes, tops = zip(*team.gather(own), strict=True)
        ruled = make_rules(what, max(sizes), objective.cost, is_tiered=tier is not None)
        by_label = label_order(values, self.index, what, tier, top=max(tops))
        self._labels = by_label._replace(scale=by_label.scale * ruled.scale)
        self._rules = ruled
        self._data = (layout.Queries(*self.index), self._labels, ruled.tables)
        # Sorting and loading cost about 40 pairs' worth per document.
        reach = np.minimum(what.pair_set.cutoff * (2 if what.pair_set.extended else 1), self.sizes)
        self._cost = self.sizes * (40.0 + reach)

    def gather(self, batch: Batch) -> None:
        """What labels decide about these queries."""
        super().gather(batch)
        self._labels = take_labels(self._labels, batch)
        self._data = (layout.Queries(*self.index), self._labels, self._rules.tables)

    def push(self, moment: Moment, lam: Floats, hess: Floats) -> None:
        """Forces of all pairs."""
        rules = self._rules.exact, self._rules.fast
        norm = norm_and_draw(self.objective, moment)
        queries, labels, tables = self._data
        if len(moment.bag):
            labels = labels._replace(scale=labels.scale * moment.bag)
        rest = (queries, labels, tables, *rules, *norm, lam, hess, moment.totals)

        def work(first: int, last: int) -> int:
            return int(forces.push_block(first, last, moment.scores, *rest))

        self._run(work, moment)
        if self.objective.description.user is not None and not np.isfinite(lam).all():
            raise RankforceError(self._bad_weight(moment))

    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """Second derivatives of pairs with both documents in a leaf."""
        wanted = self._wanted()

        def work(first: int, last: int, sums: Floats) -> int:
            shared = Shared(leaf, row_weight, sums)
            return self._walk(moment, wanted._replace(shared=shared))(first, last)

        return self._sum(work, leaves, moment)

    def count(self, moment: Moment) -> NDArray[np.int64]:
        """Pairs with a weight."""
        wanted = self._wanted()
        self._run(self._walk(moment, wanted), moment)
        return wanted.counts

    def find_pairs(self, moment: Moment, query: int) -> PairForces:
        """Pairs with a weight, and their forces."""
        found = self._list(moment, query)
        if not np.isfinite(found.weight).all():
            raise RankforceError(self._bad_weight(moment))
        return found

    def find_sources(self, moment: Moment, trace: Trace) -> None:
        """Where forces come from."""
        traced = Traced(trace.slot, trace.code, trace.share, trace.sources)
        wanted = Wanted(trace.counts, trace.factors, traced=traced)
        self._run(self._walk(moment, wanted), moment)

    def find_costs(self, moment: Moment) -> Floats:
        """Of all pairs."""
        wanted = self._wanted()._replace(costs=np.empty(len(self.sizes)))
        self._run(self._walk(moment, wanted), moment)
        if self.objective.description.user is not None and not np.isfinite(wanted.costs).all():
            raise RankforceError(self._bad_weight(moment))
        return wanted.costs

    def equal_costs(self, scores: ArrayLike, *, threads: int = 1) -> Floats:
        """What pairs of equal labels cost in each query, if every one weighs 1."""
        moment = self._moment(scores, "none", 0, threads)
        queries, labels, _ = self._data
        costs = np.empty(len(self.sizes))
        rest = (moment.scores, queries, labels, self.objective.cost.sigma, costs)
        self._run(lambda first, last: int(exact.equal_block(first, last, *rest)), moment)
        return costs

    def _wanted(self) -> Wanted:
        return Wanted(np.zeros(len(self.sizes), np.int64), np.zeros(len(self.sizes)))

    def _walk(self, moment: Moment, wanted: Wanted) -> Callable[[int, int], int]:
        """The walk over the pairs of a block of queries, at one moment."""
        rest = (*self._data, self._rules.exact, *norm_and_draw(self.objective, moment), wanted)
        return lambda first, last: int(exact.walk_block(first, last, moment.scores, *rest))

    def _list(self, moment: Moment, query: int) -> PairForces:
        wanted = self._wanted()
        refuse_scores([self._walk(moment, wanted)(query, query + 1)], moment.scores)
        hi, lo = np.empty((2, wanted.counts[query]), np.int64)
        weight, force = np.empty((2, wanted.counts[query]))
        wanted = wanted._replace(listed=Listed(hi, lo, weight, force))
        self._walk(moment, wanted)(query, query + 1)
        start, end = self.index.pointer[query], self.index.pointer[query + 1]
        row = np.empty(end - start, np.int64)
        row[self._labels.position[start:end]] = self.index.rows_of(query)
        return PairForces(row[hi], row[lo], weight, force)

    def _bad_weight(self, moment: Moment) -> str:
        for query in range(len(self.sizes)):
            hi, lo, weight, _ = self._list(moment, query)
            bad = np.flatnonzero(~np.isfinite(weight))
            if bad.size:
                return (
                    f"the pair weight of rows {hi[bad[0]]} (hi) and {lo[bad[0]]} (lo) is negative "
                    "or not finite: weights are numbers from 0 up"
                )
        return "the pair weights are so large that their sum is not finite"


class PreparedList(_One):
    """A listwise objective: no pair pushes, there is none to count or to list.

    What is random about a row goes by its number within its query, in the caller's order.
    LightGBM's norm is one of pairs: like LightGBM's own rank_xendcg, this has none then.
    """

    def __init__(
        self, objective: Objective, labels: Floats, index: QueryIndex, team: Team = ALONE
    ) -> None:
        super().__init__(index)
        self._team = team
        self.objective = objective
        self._queries = layout.Queries(*index)
        _, number, gain = place_labels(labels, index, objective.description)
        self._data = (self._queries, gain[number], index.number_of_places())
        self._cost = 40.0 * self.sizes.astype(np.float64)  # an exponential costs about 40 pairs

    def gather(self, batch: Batch) -> None:
        """Gains and numbers of these queries' documents."""
        super().gather(batch)
        _, gain, number = self._data
        self._queries = layout.Queries(*self.index)
        self._data = (self._queries, gain[batch.places], number[batch.places])

    def push(self, moment: Moment, lam: Floats, hess: Floats) -> None:
        """Forces of whole lists."""
        self._push(moment, lam, hess, np.empty(len(self.sizes)))

    def _push(self, moment: Moment, lam: Floats, hess: Floats, factors: Floats) -> None:
        rest = (*self._data, *norm_and_draw(self.objective, moment), lam, hess, factors)

        def work(first: int, last: int) -> int:
            return int(listwise.push_lists(first, last, moment.scores, *rest))

        self._run(work, moment)

    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """What documents of a list that move together take from each other's hessians."""
        rest = (moment.scores, self._queries, leaf, row_weight)
        return self._sum(
            lambda first, last, sums: listwise.share_lists(first, last, *rest, sums), leaves, moment
        )

    def count(self, moment: Moment) -> NDArray[np.int64]:
        """None: forces of a list come from no pair."""
        return np.zeros(len(self.sizes), np.int64)

    def find_pairs(self, moment: Moment, query: int) -> PairForces:
        """None: forces of a list come from no pair."""
        return NO_PAIRS

    def find_costs(self, moment: Moment) -> Floats:
        """Cross entropy of whole lists."""
        _, seed, iteration = norm_and_draw(self.objective, moment)
        costs = np.empty(len(self.sizes))
        rest = (moment.scores, *self._data, seed, iteration, costs)
        self._run(lambda first, last: int(listwise.cost_lists(first, last, *rest)), moment)
        return costs

    def find_sources(self, moment: Moment, trace: Trace) -> None:
        """Factors of the norm; there is no pair that a force could come from."""
        trace.counts[:] = 0
        self._push(moment, np.empty(self.rows), np.empty(self.rows), trace.factors)


class PreparedPoints(PreparedList):
    """Least squares: each document by itself."""

    def _push(self, moment: Moment, lam: Floats, hess: Floats, factors: Floats) -> None:
        norm, *_ = norm_and_draw(self.objective, moment)
        rest = (*self._data[:2], norm, lam, hess, factors)

        def work(first: int, last: int) -> int:
            return int(listwise.push_points(first, last, moment.scores, *rest))

        self._run(work, moment)

    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """Nothing: no document has a part in another's hessian."""
        return np.zeros(leaves)

    def find_costs(self, moment: Moment) -> Floats:
        """Half the square of label - score, summed over the documents."""
        costs = np.empty(len(self.sizes))
        rest = (moment.scores, *self._data[:2], costs)
        self._run(lambda first, last: int(listwise.cost_points(first, last, *rest)), moment)
        return costs


class PreparedPreferences(_One):
    """Explicit pairs, sorted by query."""

    def __init__(
        self, objective: PreferenceObjective, given: Any, index: QueryIndex, team: Team = ALONE
    ) -> None:
        super().__init__(index)
        self._team = team
        self.objective = objective
        found = check_preferences(given, index, np.arange(len(self.sizes)))
        query = index.of_rows()[found.hi]
        order = np.argsort(query, kind="stable")
        counts = np.bincount(query, minlength=len(self.sizes))
        pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        hi, lo, weight = found.hi[order], found.lo[order], found.weight[order]
        self._pairs = preferences.Explicit(pointer, hi, lo, weight)
        number = index.place_of_rows() - index.pointer[index.of_rows()]
        self._numbered = Numbered(pointer, number[hi], number[lo], weight)
        self._cost = self.sizes + 10.0 * counts

    def gather(self, batch: Batch) -> None:
        """The pairs of these queries."""
        super().gather(batch)
        self._numbered, first = take_pairs(self._numbered, batch)
        pointer, hi, lo, weight = self._numbered
        self._pairs = preferences.Explicit(pointer, first + hi, first + lo, weight)

    def push(self, moment: Moment, lam: Floats, hess: Floats) -> None:
        """Forces of the pairs of all queries."""
        force, _, _ = self._walk(moment, lam, hess)
        if len(moment.totals):
            query = np.repeat(np.arange(len(self.sizes)), np.diff(self._pairs.pointer))
            moment.totals[:] = 2.0 * np.bincount(query, force, len(self.sizes))

    def share(
        self, moment: Moment, leaf: NDArray[np.int32], row_weight: Floats, leaves: int
    ) -> Floats:
        """Second derivatives of pairs with both documents in a leaf."""
        _, second, _ = self._walk(moment)
        within = np.flatnonzero(leaf[self._pairs.hi] == leaf[self._pairs.lo])
        hi, lo = self._pairs.hi[within], self._pairs.lo[within]
        both = row_weight[hi] + row_weight[lo] if len(row_weight) else 2.0
        values, sums = second[within] * both, np.zeros((2, 2, leaves))
        trees.sum_block(0, len(hi), leaf[hi], values, values, sums)
        return np.asarray(join_sums(self._team.gather(sums[0]), (2, leaves)).sum(axis=0))

    def count(self, moment: Moment) -> NDArray[np.int64]:
        """Pairs with a weight, whatever the scores."""
        has = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._pairs.weight > 0)])
        return np.asarray(np.diff(has[self._pairs.pointer]))

    def find_pairs(self, moment: Moment, query: int) -> PairForces:
        """Pairs with a weight, and their forces."""
        first, last = self._pairs.pointer[query : query + 2]
        kept = first + np.flatnonzero(self._pairs.weight[first:last] > 0)
        force, _, _ = self._walk(moment)
        _, hi, lo, weight = self._pairs
        return PairForces(hi[kept], lo[kept], weight[kept], force[kept])

    def find_costs(self, moment: Moment) -> Floats:
        """Of the pairs of all queries."""
        refuse_scores([-1 if np.isfinite(moment.scores).all() else 0], moment.scores)
        costs = np.empty(len(self.sizes))
        rest = (moment.scores, self._pairs, self.objective.sigma, costs)

        def work(first: int, last: int) -> int:
            preferences.cost_preferences(first, last, *rest)
            return -1

        self._run(work, moment)
        return costs

    def find_sources(self, moment: Moment, trace: Trace) -> None:
        """Where forces come from."""
        force, _, factors = self._walk(moment)
        bare, _, _ = self._walk(moment, norm=layout.NO_NORM)
        trace.counts[:] = self.count(moment)
        trace.factors[:] = np.where(trace.counts > 0, factors, 0.0)
        _, hi, lo, _ = self._pairs
        for side, here, there in ((UP, hi, lo), (DOWN, lo, hi)):
            has = np.flatnonzero(trace.slot[here] >= 0)
            for kind, found in ((BY_SIZE, force), (side, bare)):
                place = trace.slot[here[has]], np.int64(kind), trace.code[there[has]]
                np.add.at(trace.sources, place, trace.share * found[has])

    def _walk(
        self,
        moment: Moment,
        lam: Floats | None = None,
        hess: Floats | None = None,
        norm: int | None = None,
    ) -> tuple[Floats, Floats, Floats]:
        """Force and second derivative of each pair, and factors of the norm; sums by row."""
        refuse_scores([-1 if np.isfinite(moment.scores).all() else 0], moment.scores)
        lam, hess = (np.empty(self.rows) if one is None else one for one in (lam, hess))
        lam.fill(0.0)
        hess.fill(0.0)
        found = (*np.empty((2, len(self._pairs.hi))), np.empty(len(self.sizes)))
        if norm is None:
            norm, *_ = norm_and_draw(self.objective, moment)
        pairs = layout.Queries(*self.index), self._pairs
        rest = (*pairs, self.objective.sigma, norm, lam, hess, *found)

        def work(first: int, last: int) -> int:
            preferences.walk_preferences(first, last, moment.scores, *rest)
            return -1

        self._run(work, moment)
        return found
