"""Boosting: forces, a tree, the values of its leaves, and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.engines.base import Engine, Grown, find_engine, open_engine
from rankforce.forces.base import AnyObjective
from rankforce.kernels import trees as kernels
from rankforce.models.forest.forest import Forest
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk import add_scores, route
from rankforce.models.model import Model
from rankforce.models.outside import fingerprint_of
from rankforce.training.base import NOTHING, Base
from rankforce.training.callbacks.base import (
    FAILED,
    FINISHED,
    KILLED,
    Callback,
    Moment,
    Seconds,
    Start,
    StopTraining,
    tell_end,
    tell_start,
    tell_step,
)
from rankforce.training.callbacks.checkpoint import Checkpoint
from rankforce.training.callbacks.progress import Progress
from rankforce.training.callbacks.stopping import EarlyStopping
from rankforce.training.callbacks.theirs import NO_WISH, Wish, check_wish
from rankforce.training.eval_functions import OfRows
from rankforce.training.forces import Forces, leaf_steps, sum_leaves
from rankforce.training.resume import fingerprint, plain_origin, record, resume, same_rows
from rankforce.training.settings import Settings
from rankforce.training.watch import Watch, deciding_set, make_metrics


class ScoredSet(NamedTuple):
    """A data set that is scored while training."""

    name: str
    data: RankingData
    base: Floats | None = None  # scores to start from


def fit(
    settings: Settings,
    train: ScoredSet,
    valid: Sequence[ScoredSet] = (),
    *,
    callbacks: Sequence[Callback] = (),
    wish: Wish = NO_WISH,
    base: Base = NOTHING,
) -> Model:
    """Train a model; `wish` is what callbacks say about the decision to stop."""
    run = Training(settings, train, valid, callbacks, wish, base)
    status = FAILED
    try:
        run.go()
        status = FINISHED
    except KeyboardInterrupt:
        if not run.done:
            raise
        run.end(f"interrupted: the model has the {run.done} trees so far")
        status = KILLED
    finally:
        tell_end(run.callbacks, status)
    return run.model


class Training:
    """The state of one training run."""

    def __init__(
        self,
        settings: Settings,
        train: ScoredSet,
        valid: Sequence[ScoredSet],
        callbacks: Sequence[Callback],
        wish: Wish,
        base: Base,
    ) -> None:
        self.settings = settings
        self.base = base
        self.is_least_squares = settings.split == "least-squares"
        self.objective = settings.make_objective()
        self.marks = [fingerprint(one.data, one.base) for one in (train, *valid)]
        self.sets = _check_sets([train, *valid], self.marks)
        self.threads = settings.thread_count
        fitted = settings.base_estimators if settings.base == "regressor" else 0
        base_steps = len(base.trees) or fitted
        self.total = base_steps + settings.n_estimators
        self.stopped_at: int | None = None  # number of trees, where a callback decided
        self.progress = Progress(self.total, settings.progress)
        self.watch = make_watch(settings, self.objective, valid, self.marks, wish)
        self.callbacks = self._make_callbacks(callbacks, wish, base_steps)
        self.forces = Forces(self.objective, train.data, settings, base_steps=base_steps)
        self.scores = [start_scores(one) for one in self.sets]
        self.before = self.scores[0]  # a tree earlier
        self.engine = self._open_engine(train.data)
        self.model = self._make_model(train.data, base_steps)

    def _make_callbacks(
        self, given: Sequence[Callback], wish: Wish, base_steps: int
    ) -> list[Callback]:
        """The user's, and those that settings ask for, around them."""
        settings = self.settings
        own: list[Callback] = [self.progress, *given]
        if settings.checkpoint:
            limits = find_engine(settings.engine).unresumable & {*settings.passed}
            if limits:
                names = ", ".join(sorted(limits))
                raise RankforceError(f"a run with {names} cannot be resumed: no checkpoint")
            own.append(Checkpoint(settings.checkpoint, settings.checkpoint_every, self._settle))
        if settings.early_stopping_rounds:
            self._check_stopping(wish)
            own.append(EarlyStopping(self.watch, settings.early_stopping_rounds, base_steps))
        return own

    def _check_stopping(self, wish: Wish) -> None:
        """Say what decides when to stop; an error if nothing can."""
        watch = self.watch
        if not watch.names:
            raise RankforceError("early_stopping_rounds needs a validation set: give eval_set")
        if watch.deciding is None:
            raise RankforceError(
                "early stopping needs another data set than the training set, which never decides: "
                "add one to eval_set"
            )
        check_wish(wish, names=watch.names, deciding=watch.deciding, metrics=watch.metrics)
        if watch.is_guessed and wish.higher is None:
            note(
                f"{watch.metrics[0].name} decides when to stop and is a cost, as in XGBoost: "
                "if higher is better, make rf.metric(f) of a function f(scores, labels)"
            )
        what = watch.metrics[0].key if watch.card is None else repr(watch.card)
        self.progress.say(f"{what} on {watch.deciding} decides when to stop")

    def _open_engine(self, data: RankingData) -> Engine:
        settings = self.settings
        if settings.choice is not None:
            self.progress.say(str(settings.choice))
        self.progress.say(f"{self.objective.name} on {data}")
        engine = open_engine(
            settings.engine,
            data.features,
            feature_names=data.feature_names,
            categorical=data.categorical,
            parameters=settings.engine_parameters(),
            seed=settings.seed,
            threads=self.threads,
        )
        self.progress.say(engine.how)
        for name, value in (("step", "exact-newton"), ("split", "least-squares")):
            if engine.leaf_rules and getattr(settings, name) == value:
                rules = ", ".join(engine.leaf_rules)
                raise RankforceError(f"{name}={value!r} does not go with {rules}")
        return engine

    def _make_model(self, data: RankingData, base_steps: int) -> Model:
        """An empty model, or the trees that a checkpoint has."""
        settings, base = self.settings, self.base
        ranges = base.widen(self.engine.ranges)
        forest = Forest.on(data.feature_names, ranges, self.engine.about, base.trees)
        model = Model(
            forest,
            len(forest),
            record(settings, self.objective, self.watch.metrics, base),
            repr(self.objective),
            self.watch.history,
            categorical=data.categorical,
            categories=data.categories,
            base=base.outside,
            base_steps=base_steps,
            data=self._named_marks(),
            names=data.feature_names,
            files=self._files(),
            renumbered=data.renumbered,
            auto="" if settings.choice is None else str(settings.choice),
        )
        place = settings.checkpoint
        found = resume(place, model.parameters, model.data) if place else None
        if found is not None:
            found.scorer.keep(self.total)
            model.scorer = found.scorer
            model.diagnostics, model.base_mark = found.diagnostics, found.base_mark
            self.progress.say(f"resumed from {place} with {found.steps} trees")
        elif base.outside is not None:
            model.base_mark = fingerprint_of(base.outside, forest.ranges)
        if found is None or self.watch.sees_queries:
            self._replay(model.trees)
            return model
        self.watch.take(found.history, model.steps)
        self._score(model.trees[:-1])
        self.before = self.scores[0].copy()
        self._score(model.trees[-1:])
        return model

    def _named_marks(self) -> dict[str, Any]:
        named = zip([one.name for one in self.sets], self.marks, strict=True)
        return dict(named) | {self.sets[0].name: self.marks[0]}

    def _files(self) -> dict[str, Any]:
        origins = {one.name: plain_origin(one.data) for one in self.sets}
        return {name: origin for name, origin in origins.items() if origin}

    def _score(self, trees: Sequence[Tree]) -> None:
        """Add trees that are there to all scores."""
        nodes = stack(trees)
        for one, scores in zip(self.sets, self.scores, strict=True):
            add_scores(nodes, one.data.features, scores, threads=self.threads)

    def _replay(self, trees: Sequence[Tree]) -> None:
        """Measure trees that are there: those of a base, or for tests that look at queries."""
        for number, tree in enumerate(trees, start=1):
            if number == len(trees):
                self.before = self.scores[0].copy()
            self._score([tree])
            self.watch.look(self.scores[1:])

    def go(self) -> None:
        """Grow the trees that are missing."""
        begin = self.model.steps
        is_over = self._tell_start(begin)
        for iteration in range(begin, self.total):
            if is_over:
                break
            begun = perf_counter()
            lam, hess = self._forces(iteration)
            pushed = perf_counter()
            second = self.forces.unit_hessians(iteration) if self.is_least_squares else hess
            rows = self.forces.bag_rows(iteration)
            grown = self.engine.grow(lam, second, iteration, self.forces.keys, rows)
            if grown is None:
                self.progress.say(f"no further split is worth it after {iteration} trees")
                break
            self._add(grown, lam, hess, iteration)
            seconds = Seconds(pushed - begun, perf_counter() - begun)
            is_over = self._tell_step(iteration, begin, lam, hess, seconds)
        self.end(None)

    def _forces(self, iteration: int) -> tuple[Floats, Floats]:
        if iteration < self.model.base_steps:
            return self.forces.at_labels(self.scores[0], iteration)
        return self.forces.at(self.scores[0], iteration)

    def _add(self, grown: Grown, lam: Floats, hess: Floats, iteration: int) -> None:
        """Set the values of the leaves and move all scores."""
        tree, leaf = grown
        values = tree.leaf_value
        if not self.engine.leaf_rules:
            values = self._steps(leaf, tree.leaves, lam, hess, iteration)
        rate = self.settings.rate(iteration - self.model.base_steps)
        final = tree.with_values(rate * values, rate)
        nodes = stack([tree])
        for number, (one, scores) in enumerate(zip(self.sets, self.scores, strict=True)):
            if number:
                leaf = route(tree, nodes, one.data.features, threads=self.threads)
            _move(leaf, final.leaf_value, scores, self.threads)
        self.model.trees.append(final)
        self.model.used = self.model.steps

    def _steps(
        self, leaf: NDArray[np.int32], leaves: int, lam: Floats, hess: Floats, iteration: int
    ) -> Floats:
        force, second = sum_leaves(leaf, leaves, lam, hess, threads=self.threads)
        if self.settings.step == "exact-newton" and iteration >= self.model.base_steps:
            shared = self.forces.shared_hessians(self.scores[0], leaf, leaves, iteration)
            second = np.maximum(second - shared, 0.0)
        return leaf_steps(force, second, l1=self.settings.reg_alpha, l2=self.settings.reg_lambda)

    def _tell_start(self, begin: int) -> bool:
        start = Start(
            self.model,
            begin,
            self.total,
            len(self.base.trees),
            self.scores[0],
            self.before,
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
        )
        del self.before
        return tell_start(self.callbacks, start)

    def _tell_step(
        self, iteration: int, begin: int, lam: Floats, hess: Floats, seconds: Seconds
    ) -> bool:
        """Measure the new tree and tell the callbacks; True if one of them wants to stop."""
        moment = Moment(
            self.model,
            self.model.parameters,
            iteration,
            begin,
            self.total,
            self.watch.look(self.scores[1:]),
            self.scores[0],
            lam,
            hess,
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
            self.watch.best,
            seconds,
        )
        try:
            return tell_step(self.callbacks, moment)
        except StopTraining as stop:
            self.stopped_at = stop.trees
            return True

    def _settle(self, done: int, finished: bool) -> None:
        """Decide how many of the trees make the scores."""
        model = self.model
        model.best_iteration = self.stopped_at or self.watch.best or done
        picks_best = self.settings.early_stopping_rounds or self.stopped_at
        model.used = min(model.best_iteration, done) if picks_best else done
        model.finished = finished

    @property
    def done(self) -> int:
        """Number of trees that are there and measured."""
        return min([self.model.steps, *self.watch.measured])

    def end(self, why: str | None) -> None:
        """Leave a usable model: the trees that were measured, where there is something to."""
        done = self.done
        self.model.scorer.keep(done)
        if not done:
            raise RankforceError(_no_tree(self.sets[0].data))
        if why:
            self.progress.say(why)
        self.watch.keep(done)
        if self.model.diagnostics is not None:
            self.model.diagnostics.keep(done)
        self._settle(done, why is None)


def make_watch(
    settings: Settings,
    objective: AnyObjective,
    valid: Sequence[ScoredSet],
    marks: Sequence[Mapping[str, Any]],
    wish: Wish,
) -> Watch:
    """What follows the metrics; `marks` are those of the training set, and of all others."""
    metrics = make_metrics(
        settings.eval_metric, objective, k=settings.k, cutoffs=settings.eval_at or ()
    )
    if isinstance(metrics[0], OfRows):
        metrics[0].higher = wish.higher
    own, *others = marks
    is_training = {one.name: same_rows(mark, own) for one, mark in zip(valid, others, strict=True)}
    return Watch(
        metrics,
        [(one.name, one.data) for one in valid],
        deciding=deciding_set(is_training, is_training.__getitem__),
        rounds=settings.early_stopping_rounds,
        min_delta=settings.min_delta,
        threads=settings.thread_count,
    )


def _check_sets(sets: list[ScoredSet], marks: Sequence[Mapping[str, Any]]) -> list[ScoredSet]:
    """The data sets, if they can be scored by one model; only the training set may come twice."""
    columns = sets[0].data.features.shape[1]
    if not sets[0].data.rows or not columns:
        rows = sets[0].data.rows
        raise RankforceError(f"there is nothing to train on: {rows} rows, {columns} features")
    seen: set[str] = set()
    for number, (name, data, _) in enumerate(sets):
        is_other = not same_rows(marks[0], marks[number])
        if name in seen or (name == sets[0].name and is_other):
            raise RankforceError(f"two data sets are called {name!r}: names must differ")
        if number:
            seen.add(name)
        if not (data.has_labels or data.sources or data.preferences is not None):
            raise RankforceError(f"{name} has no labels")
        width = data.features.shape[1]
        if width != columns:
            raise RankforceError(f"{name} has {width} features, the training set has {columns}")
    return sets


def start_scores(one: ScoredSet) -> Floats:
    """The scores of a data set before the first tree."""
    scores = np.zeros(one.data.rows) if one.base is None else one.base.astype(np.float64)
    if scores.shape != (one.data.rows,) or not np.isfinite(scores).all():
        raise RankforceError(f"base scores of {one.name} must be one finite number for each row")
    return scores


def _move(leaf: NDArray[np.int32], values: Floats, scores: Floats, threads: int) -> None:
    run_rows(lambda a, b: kernels.add_block(a, b, leaf, values, scores), len(scores), threads)


def _no_tree(data: RankingData) -> str:
    if len(np.unique(data.labels)) < 2 and not data.sources and data.preferences is None:
        return "all labels are the same: there is nothing to learn"
    return "no split is worth it: fewer min_child_samples, or more data, may help"
