"""Boosting: forces, a tree, the values of its leaves, and again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.ranking_data import RankingData
from rankforce.engines.lightgbm.grow import Grower, choose_histograms
from rankforce.forces.base import AnyObjective
from rankforce.kernels import trees as kernels
from rankforce.models.forest.lightgbm_text import complete_infos
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk import add_scores, route
from rankforce.models.model import Model
from rankforce.models.outside import fingerprint_of
from rankforce.training.base import NOTHING, Base
from rankforce.training.callbacks import NO_WISH, Callback, Wish, check_wish
from rankforce.training.checkpoint import (
    Saver,
    fingerprint,
    plain_origin,
    record,
    resume,
    same_rows,
)
from rankforce.training.constraints import for_features
from rankforce.training.eval_functions import OfRows
from rankforce.training.forces import Forces
from rankforce.training.progress import Progress
from rankforce.training.settings import Settings
from rankforce.training.start import Start, tell_start
from rankforce.training.steps import leaf_steps, sum_leaves
from rankforce.training.watch import Evaluation, Watch, deciding_set, make_metrics

# LightGBM's parameters that decide values of leaves: then its own values are taken.
LEAF_RULES = {
    "path_smooth",
    "max_delta_step",
    "monotone_constraints",
    "monotone_penalty",
    "cat_l2",
    "cat_smooth",
    "extra_trees",
}


# Parameters whose effect depends on trees before, in ways that a new booster does not know.
STATEFUL = {
    "extra_trees",
    "cegb_penalty_split",
    "cegb_penalty_feature_lazy",
    "cegb_penalty_feature_coupled",
}


class Part(NamedTuple):
    """A data set that is scored while training."""

    name: str
    data: RankingData
    base: Floats | None = None  # scores to start from


class Moment(NamedTuple):
    """What callbacks see after each tree. The first six are LightGBM's."""

    model: Model
    params: dict[str, Any]
    iteration: int  # from 0
    begin_iteration: int
    end_iteration: int
    evaluation_result_list: list[Evaluation]
    scores: Floats  # of the training set
    lam: Floats
    hess: Floats
    data: RankingData
    objective: AnyObjective
    queries: QueryIndex  # of the training set, in the order that decides ties
    threads: int


def fit(
    settings: Settings,
    train: Part,
    valid: Sequence[Part] = (),
    *,
    callbacks: Sequence[Callback] = (),
    wish: Wish = NO_WISH,
    base: Base = NOTHING,
) -> Model:
    """Train a model; `wish` is what callbacks say about the decision to stop."""
    run = Training(settings, train, valid, wish, base)
    try:
        run.go(callbacks)
    except KeyboardInterrupt:
        if not run.done:
            raise
        run.end(f"interrupted: the model has the {run.done} trees so far")
    finally:
        run.progress.close()
    return run.model


class Training:
    """The state of one training run."""

    def __init__(
        self, settings: Settings, train: Part, valid: Sequence[Part], wish: Wish, base: Base
    ) -> None:
        self.settings = settings
        self.base = base
        self.objective = settings.make_objective()
        self.marks = [fingerprint(part.data, part.base) for part in (train, *valid)]
        self.parts = _check_parts([train, *valid], self.marks)
        self.saver = Saver(settings)
        self.threads = settings.thread_count
        fitted = settings.base_estimators if settings.base == "regressor" else 0
        base_trees = len(base.trees) or fitted
        self.total = base_trees + settings.n_estimators
        self.stopped_at: int | None = None  # number of trees, where a callback decided
        self.progress = Progress(self.total, settings.progress)
        if settings.checkpoint and (stateful := sorted(STATEFUL & {*settings.engine})):
            raise RankforceError(
                f"a run with {', '.join(stateful)} cannot be resumed: no checkpoint"
            )
        self.watch = self._make_watch(valid, wish)
        if settings.early_stopping_rounds:
            self._check_stopping(wish)
        self.forces = Forces(self.objective, train.data, settings, base_trees=base_trees)
        self.scores = [_start(part) for part in self.parts]
        self.before = self.scores[0]  # a tree earlier
        self.grower = self._make_grower(train.data)
        self.model = self._make_model(train.data, base_trees)

    def _make_watch(self, valid: Sequence[Part], wish: Wish) -> Watch:
        settings = self.settings
        metrics = make_metrics(
            settings.eval_metric, self.objective, k=settings.k, cutoffs=settings.eval_at or ()
        )
        if isinstance(metrics[0], OfRows):
            metrics[0].higher = wish.higher
        own, *others = self.marks
        is_training = {
            part.name: same_rows(marks, own) for part, marks in zip(valid, others, strict=True)
        }
        return Watch(
            metrics,
            [(part.name, part.data) for part in valid],
            deciding=deciding_set(is_training, is_training.__getitem__),
            rounds=settings.early_stopping_rounds,
            min_delta=settings.min_delta,
            threads=self.threads,
        )

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

    def _make_grower(self, data: RankingData) -> Grower:
        settings = self.settings
        share = settings.subsample if settings.subsample_freq else 1.0
        parameters = for_features(
            settings.engine_parameters(share), data.feature_names, data.categorical
        )
        others = parameters | ({"categorical features": True} if data.categorical else {})
        histograms = choose_histograms(settings.quantised, settings.quantised_levels, others)
        self.progress.say(f"{self.objective.name} on {data}: {histograms.why}")
        self.leaves_by_engine = not histograms.quantised and bool(LEAF_RULES & {*parameters})
        if self.leaves_by_engine and settings.step == "exact-newton":
            names = ", ".join(sorted(LEAF_RULES & {*parameters}))
            raise RankforceError(f"step='exact-newton' does not go with {names}")
        return Grower(
            data.features,
            feature_names=data.feature_names,
            categorical=data.categorical,
            parameters=parameters,
            histograms=histograms,
            seed=settings.seed,
            threads=self.threads,
        )

    def _make_model(self, data: RankingData, base_trees: int) -> Model:
        """An empty model, or the trees that a checkpoint has."""
        settings = self.settings
        parameters = record(settings, self.objective, self.watch.metrics, self.base)
        named = zip([part.name for part in self.parts], self.marks, strict=True)
        marks = dict(named) | {self.parts[0].name: self.marks[0]}
        model = Model("", [], 0, parameters, repr(self.objective), self.watch.history)
        model.base, model.base_trees = self.base.outside, base_trees
        model.categorical, model.categories = data.categorical, data.categories
        model.renumbered = data.renumbered
        model.data, model.names = marks, data.feature_names
        origins = {part.name: plain_origin(part.data) for part in self.parts}
        model.files = {name: origin for name, origin in origins.items() if origin}
        found = resume(settings.checkpoint, parameters, marks) if settings.checkpoint else None
        if found is None:
            model.trees = list(self.base.trees)
            self._replay(model.trees)
            return model
        model.head, model.trees = found.head, found.trees[: self.total]
        model.diagnostics, model.base_mark = found.diagnostics, found.base_mark
        self.progress.say(f"resumed from {settings.checkpoint} with {len(model.trees)} trees")
        if self.watch.sees_queries:
            self._replay(model.trees)
            return model
        for name, values in self.watch.history.items():
            for metric in values:
                kept = found.history.get(name, {}).get(metric, [])
                values[metric] = kept[: len(model.trees)]
        self._score(model.trees[:-1])
        self.before = self.scores[0].copy()
        self._score(model.trees[-1:])
        return model

    def _score(self, trees: list[Tree]) -> None:
        """Add trees that are there to all scores."""
        nodes = stack(trees)
        for part, scores in zip(self.parts, self.scores, strict=True):
            add_scores(nodes, part.data.features, scores, threads=self.threads)

    def _replay(self, trees: list[Tree]) -> None:
        """Measure trees that are there: those of a base, or for tests that look at queries."""
        for number, tree in enumerate(trees, start=1):
            if number == len(trees):
                self.before = self.scores[0].copy()
            self._score([tree])
            self.watch.look(self.scores[1:])

    def _tell_start(self, callbacks: Sequence[Callback], begin: int) -> None:
        start = Start(
            self.model,
            begin,
            self.total,
            len(self.base.trees),
            self.scores[0],
            self.before,
            self.parts[0].data,
            self.objective,
            self.forces.index,
            self.threads,
        )
        tell_start(callbacks, start)
        del self.before

    def _should_stop(self, done: int) -> bool:
        """No gain for as many rounds as agreed, behind the trees of a base."""
        rounds = self.settings.early_stopping_rounds
        return self.watch.should_stop and done - self.model.base_trees >= (rounds or 0)

    def go(self, callbacks: Sequence[Callback]) -> None:
        """Grow the trees that are missing."""
        begin = len(self.model.trees)
        self._tell_start(callbacks, begin)
        for iteration in range(begin, self.total):
            if self._should_stop(iteration):
                break
            lam, hess = self._forces(iteration)
            tree = self.grower.grow(lam, hess, iteration, self.forces.keys)
            if tree is None:
                self.progress.say(f"no further split is worth it after {iteration} trees")
                break
            self._add(tree, lam, hess, iteration)
            found = self.watch.look(self.scores[1:])
            seen = self.model.diagnostics.short() if self.model.diagnostics else ""
            self.progress.update(iteration + 1, found, self.watch.best, seen)
            if self._call(callbacks, iteration, begin, found, lam, hess):
                break
            # Behind the callbacks: what a recorder saw of this tree belongs to it.
            if self.saver.is_due(iteration + 1):
                self._settle(iteration + 1, finished=False)
                self.saver.save(self.model, iteration + 1)
        self.end(None)

    def _forces(self, iteration: int) -> tuple[Floats, Floats]:
        if iteration < self.model.base_trees:
            return self.forces.at_labels(self.scores[0], iteration)
        return self.forces.at(self.scores[0], iteration)

    def _add(self, tree: Tree, lam: Floats, hess: Floats, iteration: int) -> None:
        """Set the values of the leaves and move all scores."""
        nodes = stack([tree])
        leaf = self.grower.find_leaves(tree, self.parts[0].data.features)
        values = tree.leaf_value
        if not self.leaves_by_engine:
            values = self._steps(leaf, tree.leaves, lam, hess, iteration)
        rate = self.settings.rate(iteration - self.model.base_trees)
        final = tree.with_values(rate * values, rate)
        for part, scores in zip(self.parts, self.scores, strict=True):
            if part is not self.parts[0]:
                leaf = route(tree, nodes, part.data.features, threads=self.threads)
            _move(leaf, final.leaf_value, scores, self.threads)
        if not self.model.head:
            self._describe()
        self.model.trees.append(final)
        self.model.used = len(self.model.trees)

    def _describe(self) -> None:
        """Say what the features are, and on which model of another kind the trees stand."""
        model, base = self.model, self.base
        model.head = self.grower.head
        if base.model is not None:
            model.head = complete_infos(model.head, base.model.head)
        if base.outside is not None:
            model.base_mark = fingerprint_of(base.outside, model.head)

    def _steps(
        self, leaf: NDArray[np.int32], leaves: int, lam: Floats, hess: Floats, iteration: int
    ) -> Floats:
        force, second = sum_leaves(leaf, leaves, lam, hess, threads=self.threads)
        if self.settings.step == "exact-newton" and iteration >= self.model.base_trees:
            shared = self.forces.shared_hessians(self.scores[0], leaf, leaves, iteration)
            second = np.maximum(second - shared, 0.0)
        return leaf_steps(force, second, l1=self.settings.reg_alpha, l2=self.settings.reg_lambda)

    def _call(
        self,
        callbacks: Sequence[Callback],
        iteration: int,
        begin: int,
        found: list[Evaluation],
        lam: Floats,
        hess: Floats,
    ) -> bool:
        """Tell the callbacks; True if one of them wants to stop."""
        moment = Moment(
            self.model,
            self.model.parameters,
            iteration,
            begin,
            self.total,
            found,
            self.scores[0],
            lam,
            hess,
            self.parts[0].data,
            self.objective,
            self.forces.index,
            self.threads,
        )
        try:
            answers = [callback(moment) for callback in callbacks]
            return True in answers
        except Exception as stop:
            # LightGBM's callbacks stop by an exception of theirs that says which tree was best.
            if not hasattr(stop, "best_iteration"):
                raise
            if stop.best_iteration is not None:
                self.stopped_at = int(stop.best_iteration) + 1
            return True

    def _settle(self, done: int, *, finished: bool) -> None:
        """Decide how many of the trees make the scores."""
        model = self.model
        model.best_iteration = self.stopped_at or self.watch.best or done
        picks_best = self.settings.early_stopping_rounds or self.stopped_at
        model.used = min(model.best_iteration, done) if picks_best else done
        model.finished = finished

    @property
    def done(self) -> int:
        """Number of trees that are there and measured."""
        return min([len(self.model.trees), *self.watch.measured])

    def end(self, why: str | None) -> None:
        """Leave a usable model: the trees that were measured, where there is something to."""
        done = self.done
        del self.model.trees[done:]
        if not done:
            raise RankforceError(_no_tree(self.parts[0].data))
        if why:
            self.progress.say(why)
        for metrics in self.watch.history.values():
            for values in metrics.values():
                del values[done:]
        if self.model.diagnostics is not None:
            self.model.diagnostics.keep(done)
        if not self.model.head:  # no tree came to those of the base
            self._describe()
        self._settle(done, finished=why is None)
        self.saver.save(self.model, done)


def _check_parts(parts: list[Part], marks: Sequence[Mapping[str, Any]]) -> list[Part]:
    """The data sets, if they can be scored by one model; only the training set may come twice."""
    columns = parts[0].data.features.shape[1]
    if not parts[0].data.rows or not columns:
        rows = parts[0].data.rows
        raise RankforceError(f"there is nothing to train on: {rows} rows, {columns} features")
    seen: set[str] = set()
    for number, part in enumerate(parts):
        is_other = not same_rows(marks[0], marks[number])
        if part.name in seen or (part.name == parts[0].name and is_other):
            raise RankforceError(f"two data sets are called {part.name!r}: names must differ")
        if number:
            seen.add(part.name)
        data = part.data
        if not (data.has_labels or data.sources or data.preferences is not None):
            raise RankforceError(f"{part.name} has no labels")
        if part.data.features.shape[1] != columns:
            width = part.data.features.shape[1]
            raise RankforceError(
                f"{part.name} has {width} features, the training set has {columns}"
            )
    return parts


def _start(part: Part) -> Floats:
    scores = np.zeros(part.data.rows) if part.base is None else part.base.astype(np.float64)
    if scores.shape != (part.data.rows,) or not np.isfinite(scores).all():
        raise RankforceError(f"base scores of {part.name} must be one finite number for each row")
    return scores


def _move(leaf: NDArray[np.int32], values: Floats, scores: Floats, threads: int) -> None:
    run_rows(lambda a, b: kernels.add_block(a, b, leaf, values, scores), len(scores), threads)


def _no_tree(data: RankingData) -> str:
    if len(np.unique(data.labels)) < 2 and not data.sources and data.preferences is None:
        return "all labels are the same: there is nothing to learn"
    return "no split is worth it: fewer min_child_samples, or more data, may help"
