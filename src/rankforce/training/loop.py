"""Boosting: forces, a tree, the values of its leaves, and again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.engines.base import Engine, Grown, open_engine
from rankforce.kernels import trees as kernels
from rankforce.models.forest.score import Scoring
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk import route
from rankforce.models.model import Model
from rankforce.models.outside import fingerprint_of
from rankforce.training.base import NOTHING, Base
from rankforce.training.binning import bin_sets
from rankforce.training.callbacks.base import Callback, InMemory, Seconds, State
from rankforce.training.callbacks.theirs import NO_WISH, Wish
from rankforce.training.forces import leaf_steps, sum_leaves
from rankforce.training.machine import check_machine
from rankforce.training.networks import TREES
from rankforce.training.run import Job, Run, ScoredSet, carry_out
from rankforce.training.settings import Settings


def fit(
    settings: Settings,
    train: ScoredSet,
    valid: Sequence[ScoredSet] = (),
    *,
    callbacks: Sequence[Callback] = (),
    wish: Wish = NO_WISH,
    base: Base = NOTHING,
    team: Team = ALONE,
) -> Model:
    """Train a model; `wish` is what callbacks say about the decision to stop.

    Each worker of a `team` calls it with its own queries, consecutive ones in the order of ranks,
    and gets the same model. Callbacks and checkpoints are worker 0's.
    """
    try:
        return _fit(Job(settings, train, valid, callbacks, wish, base, team))
    except BaseException as error:
        team.fail(str(error) or type(error).__name__)
        raise


def _fit(job: Job) -> Model:
    kind: Callable[..., Run] = Boosting
    settings = job.settings
    if job.team.size > 1 and settings.kind != TREES:
        raise RankforceError(
            f"model={settings.kind!r} does not train over several workers: choose 'trees'"
        )
    check_machine(settings)
    if settings.kind != TREES:
        from rankforce.training.network.descent import Descent

        kind = Descent
    elif settings.device == "cuda":
        from rankforce.training.on_gpu import GpuBoosting, Turn

        with Turn() as turn:
            return carry_out(GpuBoosting(job, turn))
    return carry_out(kind(job))


class Boosting(Run):
    """A run whose steps are trees."""

    step = "tree"

    def __init__(self, job: Job) -> None:
        settings, train, base = job.settings, job.train, job.base
        self.is_least_squares = settings.split == "least-squares"
        fitted = settings.base_estimators if settings.base == "regressor" else 0
        self.first = len(base.trees)
        if settings.checkpoint:
            _check_resumable(settings)
        super().__init__(job, base_steps=self.first or fitted, steps=settings.n_estimators)
        self.before = self.scores[0]
        self._say_start()
        # What new trees are grown on and walked on: those of a base take the features themselves.
        data = [one.data for one in self.sets]
        self.features = bin_sets(data, settings, self.progress, self.team)
        self.engine = self._open_engine(train.data)
        self.model = self._make_model(train.data)

    def _open_engine(self, data: RankingData) -> Engine:
        settings = self.settings
        engine = open_engine(
            settings.engine,
            self.features[0],
            feature_names=data.feature_names,
            categorical=data.categorical,
            parameters=settings.engine_parameters(),
            seed=settings.seed,
            threads=self.threads,
            team=self.team,
        )
        self.progress.say(engine.how)
        for name, value in (("step", "exact-newton"), ("split", "least-squares")):
            if engine.leaf_rules and getattr(settings, name) == value:
                rules = ", ".join(engine.leaf_rules)
                raise RankforceError(f"{name}={value!r} does not go with {rules}")
        return engine

    def _make_model(self, data: RankingData) -> Model:
        """An empty model, or the trees that a checkpoint has."""
        base = self.base
        ranges = base.widen(self.engine.ranges)
        form = self.settings.engine_kind.forest
        forest = form.on(data.feature_names, ranges, self.engine.about, base.trees)
        model = self._new_model(forest, base)
        found = self._find_earlier(model)
        if found is not None:
            found.scorer.keep(self.total)
            model.scorer = found.scorer
        elif base.outside is not None:
            model.base_mark = fingerprint_of(base.outside, forest.ranges)
        if found is None or self.watch.sees_queries:
            self._replay(model.trees)
            return model
        self.watch.take(found.history, model.steps)
        self._score(model.trees[: self.first], is_own=False)
        self._score(model.trees[self.first : -1])
        self.before = self.scores[0].copy()
        self._score(model.trees[max(self.first, model.steps - 1) :])
        return model

    def _score(self, trees: Sequence[Tree], *, is_own: bool = True) -> None:
        """Add trees that are there to all scores; those of a base are not the run's own."""
        scoring = Scoring(trees)
        for one, own, scores in zip(self.sets, self.features, self.scores, strict=True):
            features = own if is_own else one.data.features
            scoring.add(features, scores, threads=self.threads)

    def _replay(self, trees: Sequence[Tree]) -> None:
        """Measure trees that are there: those of a base, or for tests that look at queries."""
        for number, tree in enumerate(trees, start=1):
            if number == len(trees):
                self.before = self.scores[0].copy()
            self._score([tree], is_own=number > self.first)
            self.watch.look(self.scores[1:])

    def go(self) -> None:
        """Grow the trees that are missing."""
        begin = self.model.steps
        is_over = self._tell_start(begin)
        for iteration in range(begin, self.total):
            if is_over:
                break
            made = self._make(iteration)
            if made is None:
                self.progress.say(f"no further split is worth it after {iteration} trees")
                break
            is_over = self._tell_step(iteration, begin, *made)
        self.end(None)

    def _make(self, iteration: int) -> tuple[State, Seconds] | None:
        """Add a tree: what callbacks see, and how long it took; None if none is worth it."""
        begun = perf_counter()
        lam, hess = self._forces(iteration)
        pushed = perf_counter()
        grown = self._grow(lam, hess, iteration)
        if grown is None:
            return None
        self._add(grown, lam, hess, iteration)
        state = InMemory(self.scores[0], lam, hess)
        return state, Seconds(pushed - begun, perf_counter() - begun)

    def _forces(self, iteration: int) -> tuple[Floats, Floats]:
        if iteration < self.model.base_steps:
            return self.forces.at_labels(self.scores[0], iteration)
        return self.forces.at(self.scores[0], iteration)

    def _grow(self, lam: Floats, hess: Floats, iteration: int) -> Grown | None:
        second = self.forces.unit_hessians(iteration) if self.is_least_squares else hess
        bag = self.forces.bags.at(iteration)
        rows = None if bag is None else bag.rows
        return self.engine.grow(lam, second, iteration, self.forces.keys, rows)

    def _add(self, grown: Grown, lam: Floats, hess: Floats, iteration: int) -> None:
        """Set the values of the leaves and move all scores."""
        tree, leaf = grown
        values = tree.leaf_value
        if not self.engine.leaf_rules:
            values = self._steps(leaf, tree.leaves, lam, hess, iteration)
        rate = self.settings.rate(iteration - self.model.base_steps)
        final = tree.with_values(rate * values, rate)
        self._move(tree, leaf, final.leaf_value)
        self.model.trees.append(final)
        self.model.used = self.model.steps

    def _move(self, tree: Tree, leaf: NDArray[np.int32], values: Floats) -> None:
        """Add the values of leaves to all scores; `leaf` is that of each training row."""
        nodes = stack([tree])
        for number, (features, scores) in enumerate(zip(self.features, self.scores, strict=True)):
            if number:
                leaf = route(tree, nodes, features, threads=self.threads)
            _add_values(leaf, values, scores, self.threads)

    def _steps(
        self, leaf: NDArray[np.int32], leaves: int, lam: Floats, hess: Floats, iteration: int
    ) -> Floats:
        force, second = sum_leaves(leaf, leaves, lam, hess, threads=self.threads, team=self.team)
        if self.settings.step == "exact-newton" and iteration >= self.model.base_steps:
            shared = self.forces.shared_hessians(self.scores[0], leaf, leaves, iteration)
            second = np.maximum(second - shared, 0.0)
        return leaf_steps(force, second, l1=self.settings.reg_alpha, l2=self.settings.reg_lambda)

    def _nothing(self) -> str:
        data = self.sets[0].data
        labels = np.concatenate(self.team.gather(np.unique(data.labels)))
        if len(np.unique(labels)) < 2 and not data.sources and data.preferences is None:
            return "all labels are the same: there is nothing to learn"
        return "no split is worth it: fewer min_child_samples, or more data, may help"


def _check_resumable(settings: Settings) -> None:
    """Refuse parameters of the engine whose effect depends on trees that a resumed run forgot."""
    limits = settings.engine_kind.unresumable & {*settings.passed}
    if limits:
        names = ", ".join(sorted(limits))
        raise RankforceError(f"a run with {names} cannot be resumed: no checkpoint")


def _add_values(leaf: NDArray[np.int32], values: Floats, scores: Floats, threads: int) -> None:
    run_rows(lambda a, b: kernels.add_block(a, b, leaf, values, scores), len(scores), threads)
