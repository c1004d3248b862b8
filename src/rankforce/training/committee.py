"""A committee: rankers that differ, each trained by itself, whose trees are one forest.

Scores of a member are divided by their standard deviation on the training set, so that each counts
as much as its weight says. The committee's score is the mean of its members' by these shares, and
that is a sum of trees: every leaf of a member, times its share.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.common.notes import hold_notes, note
from rankforce.common.pool import Task, open_pool
from rankforce.common.threads import own_pools
from rankforce.common.types import Floats
from rankforce.data.queries import query_folds
from rankforce.forces.named import title_of
from rankforce.models.forest.forest import Forest
from rankforce.models.model import Model
from rankforce.training.base import NOTHING, Base
from rankforce.training.callbacks.base import Callback, State
from rankforce.training.callbacks.checkpoint import check_checkpoint
from rankforce.training.callbacks.theirs import NO_WISH, Wish
from rankforce.training.loop import fit
from rankforce.training.member_weights import choose_weights, make_worth
from rankforce.training.members import member_settings
from rankforce.training.regrow import regrow
from rankforce.training.resume import fingerprint, record, resume
from rankforce.training.run import ScoredSet, make_watch, start_scores
from rankforce.training.settings import Settings

# Where a checkpoint keeps a member, and members without a fold: numbers come behind.
MEMBER, FOLD = "member-", "fold-"
FOLDS = 5  # of the training set, where no other set can say how much members count


def fit_members(
    settings: Settings,
    train: ScoredSet,
    valid: Sequence[ScoredSet] = (),
    *,
    callbacks: Sequence[Callback] = (),
    wish: Wish = NO_WISH,
    base: Base = NOTHING,
    until: float = math.inf,
) -> Model:
    """Train a committee, as `fit` trains one ranker.

    Members stop early by themselves; the committee has all trees that they use. Callbacks see its
    trees one by one, when all members are there. A time of `time.monotonic` to go on `until` ends
    it as Ctrl-C does: with the members that are whole by then.
    """
    with settings.engine_kind.share(settings.seed) as needed:
        shared = dataclasses.replace(settings, passed={**needed, **settings.passed})
        committee = Committee(shared, train, valid, wish, base, until)
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
    """Trains the members of a committee, and joins them."""

    def __init__(
        self,
        settings: Settings,
        train: ScoredSet,
        valid: Sequence[ScoredSet],
        wish: Wish,
        base: Base,
        until: float = math.inf,
    ) -> None:
        self.settings = settings
        self._until = until
        self.members = member_settings(settings)
        self.titles = [title_of(one.make_objective()) for one in self.members]
        self.objective = settings.make_objective()
        self.sets = [train, *valid]
        self.wish, self.base = wish, base
        self.threads = settings.thread_count
        marks = [fingerprint(one.data, one.base) for one in self.sets]
        self.watch = make_watch(settings, self.objective, valid, marks, wish)
        self.folds = []
        if settings.member_weights not in (None, "equal") and self.watch.deciding is None:
            self.folds = query_folds(len(train.data.sizes), FOLDS, seed=settings.seed)
        self.parameters = record(settings, self.objective, self.watch.metrics, base)
        self.place = None if settings.checkpoint is None else Path(settings.checkpoint)
        if self.place is not None:
            check_checkpoint(self.place, beside=(MEMBER, FOLD))
            names = [one.name for one in self.sets]
            known = dict(zip(names[::-1], marks[::-1], strict=True))
            resume(self.place, self.parameters, known)  # of another run it is refused
        self._voice = Voice(settings.progress)
        self._lock = threading.Lock()  # of the voice
        self._trees = [0] * len(self.members)  # so far
        self._notes: list[list[str]] = [[] for _ in self.members]
        self._scales = np.zeros(len(self.members))
        self._seen: dict[int, State] = {}  # of the training set, with all trees
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
        if settings.early_stopping_rounds and self.watch.deciding is not None:
            what = self.watch.metrics[0].key if self.watch.card is None else repr(self.watch.card)
            self._voice.say(f"{what} on {self.watch.deciding} decides when each member stops")

    def _train_all(self, jobs: int, threads: int) -> list[Model | None]:
        numbers = range(len(self.members))
        if jobs == 1:
            return [self._train(number, threads) for number in numbers]
        with open_pool(jobs, name="rankforce-member") as pool:
            running: list[Task[Model | None]] = []
            try:
                running.extend(pool.submit(self._train_apart, one, threads) for one in numbers)
                for task in running:
                    task.wait()
            except KeyboardInterrupt:
                self._is_over.set()
            found = [task.result() for task in running]
        for text in dict.fromkeys(itertools.chain(*self._notes)):
            note(text)
        return found

    def _train_apart(self, number: int, threads: int) -> Model | None:
        """One member in a thread of its own, whose notes are for the thread of the user."""
        with own_pools(), hold_notes() as self._notes[number]:
            return self._train(number, threads)

    def _train(self, number: int, threads: int) -> Model | None:
        """One member; None if there is nothing of it when all is over."""
        if self._is_over.is_set():
            return None
        place = None if self.place is None else self.place / f"{MEMBER}{number + 1}"
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
        self._scales[number] = np.std(self._end_scores(number, model, threads))
        with self._lock:
            self._voice.say(f"{self._name(number)}, {model.used} trees{self._shown(model)}")
        return model

    def _see_tree(self, number: int, moment: Any) -> None:
        """A callback of a member: what goes on, and whether to go on."""
        if self._is_over.is_set() or monotonic() > self._until:
            raise KeyboardInterrupt
        self._seen[number] = moment.state
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
        scales = self._scales_of(found)
        weights = self._weigh(found, scales)
        shares = weights / scales / np.sum(weights / scales)
        first = len(self.base.trees)
        trees = [
            tree.with_values(share * tree.leaf_value, share * tree.shrinkage)
            for one, share in zip(found.values(), shares.tolist(), strict=True)
            for tree in one.trees[first : one.used]
            if share
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

    def _weigh(self, found: Mapping[int, Model], scales: Floats) -> Floats:
        """The weights of members, by the committee's metric where they are chosen."""
        kind = self.settings.member_weights or "equal"
        if kind == "equal" or len(found) == 1:
            return np.ones(len(found))
        judge = next((one for one in self.sets[1:] if one.name == self.watch.deciding), None)
        try:
            scores = self._out_of_fold() if judge is None else self._judged(judge, found, scales)
        except KeyboardInterrupt:
            self._voice.say("interrupted: all members count the same")
            self._is_over.set()
            return np.ones(len(found))
        judge = judge or self.sets[0]
        metric = self.watch.metrics[0]
        worth = make_worth(metric, judge, scores, threads=self.threads)
        weights = choose_weights(kind, worth, len(found))
        where = f"{FOLDS} folds of " if judge is self.sets[0] else ""
        shown = ", ".join(f"{weight:.2g}" for weight in weights)
        self._voice.say(f"weights by {metric.key} on {where}{judge.name}: {shown}")
        return weights

    def _judged(self, judge: ScoredSet, found: Mapping[int, Model], scales: Floats) -> Floats:
        """The scores of members, by their scales."""
        scores = [self._scores(judge, one, self.threads) for one in found.values()]
        return np.array(scores) / scales[:, np.newaxis]

    def _out_of_fold(self) -> Floats:
        """The same on the training set, by members that were trained without the query's fold."""
        if self._is_over.is_set():
            raise KeyboardInterrupt
        train, queries = self.sets[0], np.arange(len(self.sets[0].data.sizes))
        scores = np.empty((len(self.members), train.data.rows))
        for number, part in enumerate(self.folds, start=1):
            self._voice.for_now(f"fold {number} of {FOLDS}, for the weights", always=True)
            place = None if self.place is None else self.place / f"{FOLD}{number}"
            settings = dataclasses.replace(
                self.settings, checkpoint=place, progress=False, member_weights=None
            )
            rest = _take(train, np.setdiff1d(queries, part))
            fold = Committee(settings, rest, (), self.wish, self.base)
            models = fold.train()
            if len(models) < len(self.members) or not all(one.finished for one in models.values()):
                raise KeyboardInterrupt
            scales = fold._scales_of(models)
            rows = train.data.index.rows_of(part)
            scores[:, rows] = self._judged(_take(train, part), models, scales)
        return scores

    def _scores(self, one: ScoredSet, model: Model, threads: int) -> Floats:
        return start_scores(one) + model.scores(one.data.features, threads=threads)

    def _end_scores(self, number: int, model: Model, threads: int) -> Floats:
        """The scores of the training set, as training left them where that has the same bits."""
        seen = self._seen.pop(number, None)
        is_whole = model.used == model.steps and self.sets[0].base is None
        if seen is not None and is_whole and not self.base.trees:
            return seen.scores
        return self._scores(self.sets[0], model, threads)

    def _scales_of(self, found: Mapping[int, Model]) -> Floats:
        """The standard deviations of members' scores on the training set."""
        for number in found:
            if not self._scales[number] > 0.0:
                raise RankforceError(
                    f"{self._name(number)}: it gives all documents of the training set one score"
                )
        return self._scales[list(found)]

    def _empty(self, found: Mapping[int, Model]) -> Model:
        """The committee without trees of its own, with all that members know of the data."""
        several = list(found.values())
        base = self.base.trees
        return dataclasses.replace(
            several[0],
            scorer=type(several[0].scorer)(_head([one.scorer for one in several]), list(base)),
            used=len(base),
            parameters=self.parameters,
            objective=repr(self.objective),
            history=self.watch.history,
            base_steps=len(base),
            finished=not self._is_over.is_set(),
            diagnostics=None,
            auto="" if self.settings.choice is None else str(self.settings.choice),
        )

    def _told(self, number: int, model: Model, weight: float, scale: float) -> dict[str, Any]:
        """What a manifest says of a member."""
        own, whole = model.parameters, self.parameters
        names = sorted({*own, *whole} - {"objective", "members", "member_weights", "preset"})
        return {
            "objective": self.titles[number],
            "settings": {n: own.get(n) for n in names if own.get(n) != whole.get(n)},
            "trees": max(model.used - len(self.base.trees), 0) if weight else 0,
            "weight": weight,
            "scale": scale,
            "best": self._value(model),
        }


def _take(one: ScoredSet, queries: NDArray[np.int64]) -> ScoredSet:
    """Some queries of a data set."""
    base = None if one.base is None else one.base[one.data.index.rows_of(queries)]
    return ScoredSet(one.name, one.data.take_queries(queries), base)


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
