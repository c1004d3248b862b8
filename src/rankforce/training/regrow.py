"""Trees that are there already, measured and shown to callbacks as if a model had grown them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rankforce.forces.base import AnyObjective
from rankforce.models.forest.score import Scoring
from rankforce.models.forest.tree import Tree
from rankforce.models.model import Model
from rankforce.training.binning import bin_sets
from rankforce.training.callbacks.base import (
    FAILED,
    FINISHED,
    Callback,
    InMemory,
    Moment,
    Seconds,
    Start,
    StopTraining,
    tell_end,
    tell_start,
    tell_step,
)
from rankforce.training.forces import Forces
from rankforce.training.run import ScoredSet, start_scores
from rankforce.training.settings import Settings
from rankforce.training.watch import Evaluation, Watch


def regrow(
    model: Model,
    trees: Sequence[Tree],
    sets: Sequence[ScoredSet],
    *,
    watch: Watch,
    settings: Settings,
    objective: AnyObjective,
    callbacks: Sequence[Callback],
) -> None:
    """Add trees to a model one by one; a callback that wants to stop ends it.

    `sets` are the training set and those that are watched. The forces that callbacks see are those
    of `objective`, whatever the trees were grown for.
    """
    status = FAILED
    try:
        run = _Regrowth(model, sets, watch, settings, objective, callbacks)
        run.go(trees)
        status = FINISHED
    finally:
        tell_end(callbacks, status)


class _Regrowth:
    def __init__(
        self,
        model: Model,
        sets: Sequence[ScoredSet],
        watch: Watch,
        settings: Settings,
        objective: AnyObjective,
        callbacks: Sequence[Callback],
    ) -> None:
        self.model, self.sets, self.watch = model, sets, watch
        self.threads = settings.thread_count
        self.objective, self.callbacks = objective, callbacks
        self.scores = [start_scores(one) for one in sets]
        self.begin = model.steps
        # Trees of a base take the features themselves, as in `Boosting`.
        self.features = bin_sets([one.data for one in sets], settings)
        self.forces = Forces(objective, sets[0].data, settings, base_steps=self.begin)

    def go(self, trees: Sequence[Tree]) -> None:
        for tree in self.model.trees:
            self._measure(tree, [one.data.features for one in self.sets])
        end = self.begin + len(trees)
        self._tell_start(end)
        for tree in trees:
            if self._add(tree, end):
                break

    def _add(self, tree: Tree, end: int) -> bool:
        """One tree; True if a callback wants to stop."""
        iteration = self.model.steps
        if self.callbacks:
            state = InMemory(self.scores[0], *self.forces.at(self.scores[0], iteration))
        self.model.trees.append(tree)
        self.model.used = self.model.best_iteration = self.model.steps
        found = self._measure(tree, self.features)
        return bool(self.callbacks) and self._tell_step(iteration, end, found, state)

    def _measure(self, tree: Tree, features: Sequence[Any]) -> list[Evaluation]:
        scoring = Scoring([tree])
        first = 0 if self.callbacks else 1  # nobody else looks at scores of the training set
        for own, scores in zip(features[first:], self.scores[first:], strict=True):
            scoring.add(own, scores, threads=self.threads)
        return self.watch.look(self.scores[1:])

    def _tell_start(self, end: int) -> None:
        start = Start(
            self.model,
            self.begin,
            end,
            self.begin,
            self.scores[0],
            self.scores[0].copy(),
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
        )
        tell_start(self.callbacks, start)

    def _tell_step(
        self, iteration: int, end: int, found: list[Evaluation], state: InMemory
    ) -> bool:
        moment = Moment(
            self.model,
            self.model.parameters,
            iteration,
            self.begin,
            end,
            found,
            state,
            self.sets[0].data,
            self.objective,
            self.forces.index,
            self.threads,
            None,
            Seconds(0.0, 0.0),
        )
        try:
            return tell_step(self.callbacks, moment)
        except StopTraining:
            return True
