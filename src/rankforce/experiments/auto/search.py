"""How the time is spent: candidates in rounds, each of which halves them fold by fold."""

from __future__ import annotations

import contextlib
import math
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice, clock
from rankforce.common.notes import hold_notes, note
from rankforce.common.pool import Task, open_pool
from rankforce.common.threads import own_pools
from rankforce.common.types import Floats
from rankforce.experiments.auto.candidates import Candidate
from rankforce.experiments.auto.choose import FULL, choose
from rankforce.experiments.auto.clock import Clock, Stop
from rankforce.experiments.auto.estimate import Estimate, estimate, nested_values
from rankforce.experiments.auto.folds import Folds
from rankforce.experiments.auto.tried import Cost, Run, Tried
from rankforce.training.committee import share_threads
from rankforce.training.ranker import Ranker

ROUND = 9  # candidates that are drawn at a time
KEPT = 3  # one of so many goes on
TREES, PATIENCE = 500, 50  # at most, and without a gain
LEAST = 30  # trees of a run that was cut off, to count where there is no other
SHARE = 0.4  # of the time of the search, that the last training may take
LOOK = 0.03  # of the time, to choose, before it is known how long that takes
END = 0.3  # seconds for what comes after the last training


class Step(NamedTuple):
    """What would be chosen after so many seconds, and what is to be expected of it."""

    seconds: float
    tried: int
    members: list[Tried]
    estimate: Estimate | None  # None while one fold alone has judged
    values: Floats  # the metric of each query that the estimate is of


class Search:
    """Tries candidates until the time or the candidates are over, or somebody stops it."""

    def __init__(
        self,
        folds: Folds,
        clock: Clock,
        *,
        known: Sequence[Candidate],
        drawn: Iterator[Candidate],
        trials: int | None,
        needed: Mapping[str, Any],
        fast: float,
        seed: int,
        voice: Voice,
    ) -> None:
        self.folds, self.clock, self.voice = folds, clock, voice
        self._known = [*known][:trials]
        self._drawn = drawn if trials is None else islice(drawn, trials - len(self._known))
        self._needed = {
            **needed,
            "n_estimators": round(TREES / fast),
            "early_stopping_rounds": round(PATIENCE / fast),
            "progress": False,
        }
        self._seed = seed
        self.tried: list[Tried] = []
        self.steps: list[Step] = []
        self._is_over = threading.Event()  # nobody waits for candidates that still run
        self._most_kept = clock.share(SHARE)  # for the last training
        self._look_seconds = clock.share(LOOK)  # that it takes to choose
        self._until = self._keep(self._most_kept)
        self._said: set[str] = set()

    def go(self) -> bool:
        """Try candidates; False if the time was over before all were tried."""
        try:
            return self._go()
        finally:
            self.tried = [one for one in self.tried if one.runs or one.error is not None]

    def _go(self) -> bool:
        """Try what is known to be good on all folds, then round by round what is drawn."""
        name = self.folds.metric.name
        self.voice.say(f"{'time':>7}{'no.':>5}{'folds':>6}{name:>10}{'trees':>6}  objective")
        entries = [Tried(one, self.folds) for one in self._known]
        self.tried += entries
        for fold in range(len(self.folds)):
            if not self._run(entries, [fold]):
                return False
        self._look()
        while entries := [Tried(one, self.folds) for one in islice(self._drawn, ROUND)]:
            self.tried += entries
            if not self._halve(entries):
                return False
            self._look()
        return True

    def _halve(self, entries: list[Tried]) -> bool:
        """One fold for all, a second for the best third, all others for the best third of these."""
        judges: list[int] = []
        for rung in ([0], [1], [*range(2, len(self.folds))]):
            if not self._run(entries, rung):
                for one in entries:
                    one.drop()
                return False
            judges += rung
            entries = [one for one in entries if one.is_alive]
            if len(judges) < len(self.folds):
                entries = self._keep_best(entries, judges)
        return True

    def _keep_best(self, entries: list[Tried], judges: Sequence[int]) -> list[Tried]:
        sign = -1.0 if self.folds.metric.higher_is_better else 1.0
        ranked = sorted(entries, key=lambda one: (sign * (one.value or 0.0), one.candidate.number))
        count = max(len(ranked) // KEPT, 1)
        for one in ranked[count:]:
            one.drop()
        for one in ranked[:count]:
            one.judged_by = frozenset(judges)
        return ranked[:count]

    def _run(self, entries: Sequence[Tried], folds: Sequence[int]) -> bool:
        """Train without each of some folds; False if the time was over before all were there."""
        self.folds.take(folds)
        tasks = [(one, fold) for fold in folds for one in entries if one.error is None]
        jobs, threads = share_threads(max(len(tasks), 1), self.folds.threads)
        done: list[bool] = []
        ended: queue.SimpleQueue[int] = queue.SimpleQueue()

        def attempt(number: int) -> Run | None:
            one, fold = tasks[number]
            try:
                return self._try(one.candidate, fold, threads)
            finally:
                ended.put(number)

        with open_pool(jobs, name="rankforce-trial") as pool:
            try:
                running = [pool.submit(attempt, number) for number in range(len(tasks))]
                while len(done) < len(tasks):
                    self._show(len(tasks) - len(done))
                    with contextlib.suppress(queue.Empty):
                        number = ended.get(timeout=0.5)
                        done.append(self._see(*tasks[number], running[number]))
            except BaseException:
                self._is_over.set()
                raise
        return all(done)

    def _try(self, candidate: Candidate, fold: int, threads: int) -> Run | None:
        """A ranker without a fold; None where the time was over before it was there."""
        begun = monotonic()
        if self._is_over.is_set() or begun > self._until:
            return None
        stop = Stop(self._until, self._is_over)
        ranker = Ranker(
            **{**self._needed, **candidate.all_settings},
            seed=self._seed + candidate.number,
            threads=threads,
        )
        with own_pools(), hold_notes() as notes:
            ranker.fit(
                self.folds.rest(fold),
                eval_set=[self.folds.judge(fold)],
                eval_metric=self.folds.metric,
                callbacks=[stop],
            )
        for text in {*notes} - self._said:
            self._said.add(text)
        curve = ranker.evals_result_["valid_0"][self.folds.metric.key]
        if stop.was_late and (len(curve) < LEAST or any(one.runs for one in self.tried)):
            return None
        ranker.set_params(threads=self.folds.threads)
        return Run(ranker, curve, monotonic() - begun)

    def _see(self, one: Tried, fold: int, work: Task[Run | None]) -> bool:
        """Take what came of a candidate; False if nothing did."""
        try:
            run = work.result()
        except RankforceError as error:
            if one.candidate.number == 1:  # nothing is to be expected of the others
                raise
            one.error = str(error)
            self.voice.say(f"{one.candidate.number:>4}  failed: {error}")
            return True
        if run is None:
            return False
        one.add(fold, run)
        self._plan()
        self.voice.say(self.row(one))
        return True

    def _show(self, running: int) -> None:
        """The line that changes."""
        end = "" if self.clock.left == math.inf else f" of {clock(round(self.clock.budget))}"
        self.voice.for_now(
            f"{clock(round(self.clock.spent)):>7}{end}  {len(self.tried)} candidates, {running} "
            "trainings to go in this rung"
        )

    def row(self, one: Tried) -> str:
        """A line of the live table."""
        spent = clock(round(self.clock.spent))
        return (
            f"{spent:>7}{one.candidate.number:>5}{len(one.runs):>4}/{len(self.folds)}"
            f"{one.value:>10.4f}{one.trees():>6}  {one.candidate.title}"
        )

    def _plan(self) -> None:
        """Keep as much time as the last training will take, by what runs took so far."""
        begun = [one for one in self.tried if one.runs]
        members = self.steps[-1].members if self.steps else (begun * FULL)[:FULL]
        wanted = Cost.of(members, self.folds.threads).all + self._look_seconds + END
        self._until = self._keep(wanted)

    def _keep(self, seconds: float) -> float:
        """The time at which so many seconds are left for what comes after the search."""
        end = self.clock.end
        return end if end == math.inf else end - min(seconds, self._most_kept)

    def pool(self) -> tuple[list[Tried], list[int]]:
        """The candidates to choose from, and the folds that have judged all of them."""
        alive = [one for one in self.tried if one.is_alive]
        known = [one for one in self.tried[: len(self._known)] if one.error is None]
        least = max(min((len(one.runs) for one in known), default=0), 1)
        able = [one for one in alive if len(one.runs) >= least]
        return able, [*range(least)]

    def _look(self) -> None:
        """Choose members as if this were the end, and see what they are worth."""
        if monotonic() > self._until:
            return
        begun = monotonic()
        self.steps.append(self.step())
        self._look_seconds = monotonic() - begun
        self._plan()
        found = self.steps[-1]
        self.voice.say(
            f"{clock(round(self.clock.spent)):>7}  a committee of "
            f"{len({*found.members})}: {found.estimate} to be expected"
        )

    def step(self) -> Step:
        """What would be chosen now; an estimate needs two folds."""
        able, judges = self.pool()
        values = np.empty(0)
        found = None
        if len(judges) > 1:
            values = nested_values(able, judges)
            found = estimate(values, self.folds.weights(judges))
        return Step(self.clock.spent, len(self.tried), choose(able, judges), found, values)

    def say_notes(self) -> None:
        """Notes of candidates, for the thread of the user."""
        for text in sorted(self._said):
            note(text)
