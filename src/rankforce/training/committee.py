"""A committee: rankers that differ, each trained by itself, whose trees are one forest.

Scores of a member are divided by their standard deviation on the training set, so that each counts
as much as its weight says. The committee's score is the mean of its members' by these shares, and
that is a sum of trees: every leaf of a member, times its share.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.common.notes import note
from rankforce.engines.base import find_engine
from rankforce.forces.named import title_of
from rankforce.models.forest.forest import Forest
from rankforce.models.model import Model
from rankforce.training.base import NOTHING, Base
from rankforce.training.callbacks.base import Callback
from rankforce.training.callbacks.checkpoint import check_checkpoint
from rankforce.training.callbacks.theirs import NO_WISH, Wish
from rankforce.training.loop import ScoredSet, fit, make_watch, start_scores
from rankforce.training.members import member_settings
from rankforce.training.regrow import regrow
from rankforce.training.resume import fingerprint, record, resume
from rankforce.training.settings import Settings

FOLDER = "member-"  # and a number: where a checkpoint keeps a member


def fit_members(
    settings: Settings,
    train: ScoredSet,
    valid: Sequence[ScoredSet] = (),
    *,
    callbacks: Sequence[Callback] = (),
    wish: Wish = NO_WISH,
    base: Base = NOTHING,
) -> Model:
    """Train a committee, as `fit` trains one ranker.

    Members stop early by themselves; the committee has all trees that they use. Callbacks see its
    trees one by one, when all members are there.
    """
    with find_engine(settings.engine).share(settings.seed) as needed:
        shared = dataclasses.replace(settings, passed={**needed, **settings.passed})
        committee = Committee(shared, train, valid, wish, base)
        return committee.join(committee.train(), callbacks)


def share_threads(members: int, threads: int) -> tuple[int, int]:
    """How many members to train at a time, and on how many threads each.

    >>> share_threads(8, 2), share_threads(8, 16), share_threads(8, 6), share_threads(8, 1)
    ((2, 1), (8, 2), (4, 1), (1, 1))
    """
    rounds = -(-members // threads)
    jobs = -(-members // rounds)
    return jobs, threads // jobs


class Committee:
    """What is known of a committee before its members are there."""

    def __init__(
        self,
        settings: Settings,
        train: ScoredSet,
        valid: Sequence[ScoredSet],
        wish: Wish,
        base: Base,
    ) -> None:
        self.settings = settings
        self.members = member_settings(settings)
        self.titles = [title_of(one.make_objective()) for one in self.members]
        self.objective = settings.make_objective()
        self.sets = [train, *valid]
        self.wish, self.base = wish, base
        self.threads = settings.thread_count
        marks = [fingerprint(one.data, one.base) for one in self.sets]
        self.watch = make_watch(settings, self.objective, valid, marks, wish)
        self.parameters = record(settings, self.objective, self.watch.metrics, base)
        self.place = None if settings.checkpoint is None else Path(settings.checkpoint)
        if self.place is not None:
            check_checkpoint(self.place, beside=FOLDER)
            names = [one.name for one in self.sets]
            known = dict(zip(names[::-1], marks[::-1], strict=True))
            resume(self.place, self.parameters, known)  # of another run it is refused
        self._voice = Voice(settings.progress)
        self._lock = threading.Lock()  # of the voice
        self._trees = [0] * len(self.members)  # so far
        self._is_over = threading.Event()  # nobody waits for members that still run

    def train(self) -> dict[int, Model]:
        """The members by number; where Ctrl-C came first, those that are whole, if any are."""
        jobs, threads = share_threads(len(self.members), self.threads)
        self._say_start(jobs)
        try:
            models = self._train_all(jobs, threads)
        finally:
            self._voice.end()
        found = {number: one for number, one in enumerate(models) if one is not None}
        if not found:
            raise KeyboardInterrupt
        return {number: one for number, one in found.items() if one.finished} or found

    def _say_start(self, jobs: int) -> None:
        settings = self.settings
        if settings.choice is not None:
            self._voice.say(str(settings.choice))
        self._voice.say(f"{self.objective.name} on {self.sets[0].data}")
        what = "queries" if settings.subsample_by == "query" else "rows"
        share = settings.subsample if settings.subsample_freq else 1.0
        self._voice.say(
            f"a committee of {len(self.members)}, {jobs} at a time: a tree sees {share:.0%} of the "
            f"{what} (subsample) and {settings.colsample_bytree:.0%} of the columns "
            "(colsample_bytree)"
        )
        if {*self.titles} != {title_of(self.objective)}:
            self._voice.say(f"metrics and diagnostics are for {title_of(self.objective)}")

    def _train_all(self, jobs: int, threads: int) -> list[Model | None]:
        numbers = range(len(self.members))
        if jobs == 1:
            return [self._train(number, threads) for number in numbers]
        with ThreadPoolExecutor(jobs, thread_name_prefix="rankforce-member") as pool:
            running = [pool.submit(self._train, number, threads) for number in numbers]
            try:
                wait(running)
            except KeyboardInterrupt:
                self._is_over.set()
            return [one.result() for one in running]

    def _train(self, number: int, threads: int) -> Model | None:
        """One member; None if there is nothing of it when all is over."""
        if self._is_over.is_set():
            return None
        place = None if self.place is None else self.place / f"{FOLDER}{number + 1}"
        own = dataclasses.replace(
            self.members[number], threads=threads, checkpoint=place, progress=False
        )
        train, *valid = self.sets
        try:
            model = fit(
                own,
                train,
                valid,
                callbacks=[functools.partial(self._see_tree, number)],
                wish=self.wish,
                base=self.base,
            )
        except KeyboardInterrupt:  # before the first tree
            self._is_over.set()
            return None
        except RankforceError as error:
            self._is_over.set()
            raise RankforceError(f"{self._name(number)}: {error}") from None
        except BaseException:
            self._is_over.set()
            raise
        if not model.finished:
            self._is_over.set()
        with self._lock:
            self._voice.say(f"{self._name(number)}, {model.used} trees{self._shown(model)}")
        return model

    def _see_tree(self, number: int, moment: Any) -> None:
        """A callback of a member: what goes on, and whether to go on."""
        if self._is_over.is_set():
            raise KeyboardInterrupt
        with self._lock:
            self._trees[number] = moment.iteration + 1
            count = sum(trees > 0 for trees in self._trees)
            self._voice.for_now(f"{count} of {len(self._trees)} members, {sum(self._trees)} trees")

    def _name(self, number: int) -> str:
        return f"member {number + 1} of {len(self.members)}: {self.titles[number]}"

    def _shown(self, model: Model) -> str:
        value = self._value(model)
        return "" if value is None else f", {self.watch.metrics[0].key} {value:.4f}"

    def _value(self, model: Model) -> float | None:
        """The deciding metric of a member."""
        if self.watch.deciding is None:
            return None
        found: float = model.history[self.watch.deciding][self.watch.metrics[0].key][model.used - 1]
        return found

    def join(self, found: Mapping[int, Model], callbacks: Sequence[Callback]) -> Model:
        """The committee: trees of the base, and those of the members by their shares."""
        scales = np.array([self._scale(number, one) for number, one in found.items()])
        weights = np.ones(len(scales))
        shares = weights / scales / np.sum(weights / scales)
        first = len(self.base.trees)
        trees = [
            tree.with_values(share * tree.leaf_value, share * tree.shrinkage)
            for one, share in zip(found.values(), shares.tolist(), strict=True)
            for tree in one.trees[first : one.used]
        ]
        model = self._empty(found)
        told = zip(found.items(), weights.tolist(), scales.tolist(), strict=True)
        model.members = [self._told(number, one, *more) for (number, one), *more in told]
        regrow(
            model,
            trees,
            self.sets,
            watch=self.watch,
            settings=self.settings,
            objective=self.objective,
            callbacks=callbacks,
        )
        if self.place is not None:
            try:
                model.save(self.place)
            except ValueError as error:
                note(f"no checkpoint: {error}")
        return model

    def _scale(self, number: int, model: Model) -> float:
        """The standard deviation of a member's scores on the training set."""
        train = self.sets[0]
        scores = start_scores(train) + model.scores(train.data.features, threads=self.threads)
        scale = float(np.std(scores))
        if not scale > 0.0:
            raise RankforceError(
                f"{self._name(number)}: it gives all documents of the training set one score"
            )
        return scale

    def _empty(self, found: Mapping[int, Model]) -> Model:
        """The committee without trees of its own, with all that members know of the data."""
        several = list(found.values())
        base = self.base.trees
        return dataclasses.replace(
            several[0],
            scorer=Forest(_head([one.scorer for one in several]), list(base)),
            used=len(base),
            parameters=self.parameters,
            objective=repr(self.objective),
            history=self.watch.history,
            base_steps=len(base),
            finished=len(found) == len(self.members) and all(one.finished for one in several),
            diagnostics=None,
            auto="" if self.settings.choice is None else str(self.settings.choice),
        )

    def _told(self, number: int, model: Model, weight: float, scale: float) -> dict[str, Any]:
        """What a manifest says of a member."""
        own, whole = model.parameters, self.parameters
        names = sorted({*own, *whole} - {"objective", "members"})
        return {
            "objective": self.titles[number],
            "settings": {n: own.get(n) for n in names if own.get(n) != whole.get(n)},
            "trees": max(model.used - len(self.base.trees), 0),
            "weight": weight,
            "scale": scale,
            "best": self._value(model),
        }


def _head(several: Sequence[Forest]) -> str:
    """What the text of a committee begins with: what its members' all do, as far as they agree."""
    heads = {
        "\n".join(line for line in one.head.splitlines() if not line.startswith("tree_sizes="))
        for one in several
    }
    if len(heads) == 1:
        return heads.pop()
    ranges = [
        next((known for known in each if known != "none"), "none")
        for each in zip(*(one.ranges for one in several), strict=True)
    ]
    return Forest.on(several[0].names, ranges, {}).head
