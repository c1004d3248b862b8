"""What training has in common, whatever the model: sets, metrics, callbacks, an end that keeps all.

A run makes a model step by step; a step is a tree, or an epoch of a network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import AnyObjective
from rankforce.models.model import Model
from rankforce.training.alike import check_alike, compare
from rankforce.training.base import Base
from rankforce.training.callbacks.base import (
    FAILED,
    FINISHED,
    KILLED,
    Callback,
    Moment,
    Seconds,
    Start,
    State,
    StopTraining,
    tell_end,
    tell_start,
    tell_step,
)
from rankforce.training.callbacks.checkpoint import Checkpoint
from rankforce.training.callbacks.progress import Progress
from rankforce.training.callbacks.stopping import EarlyStopping
from rankforce.training.callbacks.theirs import Wish, check_wish
from rankforce.training.eval_functions import OfRows
from rankforce.training.forces import Forces
from rankforce.training.resume import (
    fingerprint,
    plain_origin,
    record,
    resume,
    same_rows,
    share_model,
)
from rankforce.training.settings import Settings
from rankforce.training.watch import Evaluation, Watch, deciding_set, make_metrics


class ScoredSet(NamedTuple):
    """A data set that is scored while training."""

    name: str
    data: RankingData
    base: Floats | None = None  # scores to start from


class Job(NamedTuple):
    """What is to be trained: `wish` is what callbacks say about the decision to stop."""

    settings: Settings
    train: ScoredSet
    valid: Sequence[ScoredSet]
    callbacks: Sequence[Callback]
    wish: Wish
    base: Base
    team: Team = ALONE


class Run(ABC):
    """The state of one training run."""

    step = "step"  # what one is called
    first = 0  # steps of a base, which the run does not make
    model: Model
    before: Floats  # scores of the training set, a step earlier

    def __init__(self, job: Job, *, base_steps: int, steps: int) -> None:
        settings, train, valid, callbacks, wish, base, team = job
        self.settings = settings
        self.team = team
        self.base = base
        self.base_steps = base_steps
        self.objective = settings.make_objective()
        check_alike([train, *valid], team)
        self.marks = [fingerprint(one.data, one.base, team) for one in (train, *valid)]
        self.sets = _check_sets([train, *valid], self.marks)
        self.threads = settings.thread_count
        self.total = base_steps + steps
        self.stopped_at: int | None = None  # number of steps, where a callback decided
        is_told = False if team.rank else settings.progress
        self.progress = Progress(self.total, is_told, step=self.step)
        self.watch = make_watch(settings, self.objective, valid, self.marks, wish, team)
        compare(record(settings, self.objective, self.watch.metrics, base), team)
        self.callbacks = self._make_callbacks(callbacks, wish)
        self.forces = Forces(self.objective, train.data, settings, base_steps=base_steps, team=team)
        self.scores = [start_scores(one) for one in self.sets]

    def _make_callbacks(self, given: Sequence[Callback], wish: Wish) -> list[Callback]:
        """The user's, and those that settings ask for, around them; all at worker 0."""
        settings = self.settings
        if self.team.rank:
            return []
        own: list[Callback] = [self.progress, *given]
        if settings.checkpoint:
            own.append(Checkpoint(settings.checkpoint, settings.checkpoint_every, self._settle))
        if settings.early_stopping_rounds:
            self._check_stopping(wish)
            own.append(EarlyStopping(self.watch, settings.early_stopping_rounds, self.base_steps))
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

    def _say_start(self) -> None:
        if self.settings.choice is not None:
            self.progress.say(str(self.settings.choice))
        self.progress.say(f"{self.objective.name} on {self.sets[0].data}")

    def _new_model(self, scorer: Any, base: Base) -> Model:
        """A model around what is there before the first step."""
        data, settings = self.sets[0].data, self.settings
        return Model(
            scorer,
            len(scorer),
            record(settings, self.objective, self.watch.metrics, base),
            repr(self.objective),
            self.watch.history,
            categorical=data.categorical,
            categories=data.categories,
            base=base.outside,
            base_steps=self.base_steps,
            data=self._named_marks(),
            names=data.feature_names,
            files=self._files(),
            renumbered=data.renumbered,
            auto="" if settings.choice is None else str(settings.choice),
        )

    def _find_earlier(self, model: Model) -> Model | None:
        """What a checkpoint has of this very run."""
        place = self.settings.checkpoint
        found = None
        if place and not self.team.rank:
            found = resume(place, model.parameters, model.data)
        found = share_model(found, self.team)
        if found is not None:
            model.diagnostics, model.base_mark = found.diagnostics, found.base_mark
            self.progress.say(f"resumed from {place} with {found.steps} {self.step}s")
        return found

    def _named_marks(self) -> dict[str, Any]:
        named = zip([one.name for one in self.sets], self.marks, strict=True)
        return dict(named) | {self.sets[0].name: self.marks[0]}

    def _files(self) -> dict[str, Any]:
        origins = {one.name: plain_origin(one.data) for one in self.sets}
        return {name: origin for name, origin in origins.items() if origin}

    @abstractmethod
    def go(self) -> None:
        """Make the steps that are missing, and `end`."""

    @abstractmethod
    def _nothing(self) -> str:
        """Why there is no step at all, in words."""

    def _tell_start(self, begin: int) -> bool:
        start = Start(
            self.model,
            begin,
            self.total,
            self.first,
            self.scores[0],
            self.before,
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
        )
        del self.before
        is_over: bool = self.team.gather(tell_start(self.callbacks, start))[0]
        return is_over

    def _look(self) -> list[Evaluation]:
        """Measure all sets but the training set."""
        return self.watch.look(self.scores[1:])

    def _tell_step(self, iteration: int, begin: int, state: State, seconds: Seconds) -> bool:
        """Measure a new step and tell the callbacks; True if one of them wants to stop."""
        moment = Moment(
            self.model,
            self.model.parameters,
            iteration,
            begin,
            self.total,
            self._look(),
            state,
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
            self.watch.best,
            seconds,
        )
        is_over: bool
        try:
            is_over = tell_step(self.callbacks, moment)
        except StopTraining as stop:
            self.stopped_at = stop.trees
            is_over = True
        is_over, self.stopped_at = self.team.gather([is_over, self.stopped_at])[0]
        return is_over

    def _settle(self, done: int, finished: bool) -> None:
        """Decide how many of the steps make the scores."""
        model = self.model
        model.best_iteration = self.stopped_at or self.watch.best or done
        picks_best = self.settings.early_stopping_rounds or self.stopped_at
        model.used = min(model.best_iteration, done) if picks_best else done
        model.finished = finished

    @property
    def done(self) -> int:
        """Number of steps that are there and measured."""
        return min([self.model.steps, *self.watch.measured])

    def end(self, why: str | None) -> None:
        """Leave a usable model: the steps that were measured, where there is something to."""
        done = self.done
        self.model.scorer.keep(done)
        if not done:
            raise RankforceError(self._nothing())
        if why:
            self.progress.say(why)
        self.watch.keep(done)
        if self.model.diagnostics is not None:
            self.model.diagnostics.keep(done)
        self._settle(done, why is None)


def carry_out(run: Run) -> Model:
    """Train, and leave a usable model whatever comes between."""
    status = FAILED
    try:
        run.go()
        status = FINISHED
    except KeyboardInterrupt:
        run.team.fail("it was interrupted")
        if not run.done:
            raise
        run.end(f"interrupted: the model has the {run.done} {run.step}s so far")
        status = KILLED
    finally:
        tell_end(run.callbacks, status)
    return run.model


def make_watch(
    settings: Settings,
    objective: AnyObjective,
    valid: Sequence[ScoredSet],
    marks: Sequence[Mapping[str, Any]],
    wish: Wish,
    team: Team = ALONE,
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
        team=team,
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
