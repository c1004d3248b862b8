"""Boosting on a GPU: features, forces and scores stay there, what comes back is a tree.

Everything of a tree is launched at once: its forces, its growth, the values of its leaves, all
scores and metrics. While the GPU works on it, the processor does what is left of the tree before.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.engines.base import Engine, GpuEngine
from rankforce.forces.cuda import Shared, bring, choose_all
from rankforce.kernels.cuda.device import find_device
from rankforce.measures.on_gpu import GpuBoard
from rankforce.models.forest.tree import Tree
from rankforce.training.callbacks.base import Seconds, State
from rankforce.training.forces import Forces
from rankforce.training.loop import Boosting
from rankforce.training.run import Job
from rankforce.training.sown import Sown
from rankforce.training.watch import Evaluation

# Bytes of the next tree's forces beside those of one that may not be done yet. Where they take
# more, a tree takes so long that nobody sees the GPU wait for a moment.
MOST_AHEAD = 50e6


class GpuForces:
    """As `Forces`, of scores in the GPU's memory."""

    def __init__(self, device: Any, forces: Forces) -> None:
        self._device, self._forces = device, forces
        self.ready = bring(device, forces.ready, choose_all(device, forces.index))
        self._labels: Any = None
        self._ones: Any = None
        self._weights: Any = None  # of rows
        self._bag: Any = None  # the one whose rows are there
        self._both: Any = None

    def at(self, scores: Any, iteration: int) -> tuple[Any, Any]:
        """Forces at `scores`."""
        forces = self._forces
        lam, hess = self.ready.gradients(
            scores, norm=forces.settings.norm, iteration=forces.behind_base(iteration)
        )
        if forces.settings.step == "gradient":
            hess[:] = 1.0
        self._weigh(iteration, lam, hess)
        return lam, hess

    def at_labels(self, scores: Any, iteration: int) -> tuple[Any, Any]:
        """Forces of a regression to the labels: least squares."""
        if self._labels is None:
            self._labels = self._device.upload(self._forces.labels.astype(np.float32))
        lam = self._labels - scores
        hess = self.unit_hessians(iteration)
        self._weigh(iteration, lam)
        return lam, hess

    def unit_hessians(self, iteration: int) -> Any:
        """Hessians with which a tree is grown by least squares: 1, weighted."""
        if self._ones is None:
            self._ones = self._device.upload(np.ones(self.ready.rows, np.float32))
        ones = self._ones.copy()
        self._weigh(iteration, ones)
        return ones

    def shared_hessians(self, scores: Any, leaf: Any, leaves: int, iteration: int) -> Shared:
        """Second derivatives of pairs within one leaf."""
        forces = self._forces
        is_plain = forces.row_weight is None and forces.bags.at(iteration) is None
        return self.ready.shared_hessians(
            scores,
            leaf,
            leaves,
            norm=forces.settings.norm,
            iteration=forces.behind_base(iteration),
            row_weight=None if is_plain else self.unit_hessians(iteration),
        )

    def bag(self, iteration: int) -> tuple[Any, Any] | None:
        """The rows of an iteration's bag and all others, on the GPU; None if all are in."""
        bag = self._forces.bags.at(iteration)
        if bag is not None and bag is not self._bag:
            self._bag, self._both = bag, tuple(map(self._device.upload, (bag.rows, bag.rest)))
        return None if bag is None else self._both

    def _weigh(self, iteration: int, *values: Any) -> None:
        row, bag = self._forces.row_weight, self.bag(iteration)
        if row is not None and self._weights is None:
            self._weights = self._device.upload(row.astype(np.float32))
        for one in values:
            if row is not None:
                one *= self._weights
            if bag is not None:
                one[bag[1]] = 0.0


class Pushed(NamedTuple):
    """Forces that were launched, and how many seconds that took."""

    lam: Any
    hess: Any
    seconds: float


class OnGpu:
    """The state behind a tree, copied from the GPU where somebody looks at it."""

    def __init__(self, device: Any, scores: Any, pushed: Pushed | None) -> None:
        self._device, self._scores, self._pushed = device, scores, pushed

    @cached_property
    def scores(self) -> Floats:
        """Of the training set."""
        found: Floats = self._device.download(self._scores)
        return found

    @cached_property
    def lam(self) -> Floats:
        """Forces."""
        return self._copy("lam")

    @cached_property
    def hess(self) -> Floats:
        """Their second derivatives."""
        return self._copy("hess")

    def _copy(self, name: str) -> Floats:
        if self._pushed is None:
            raise RankforceError(
                f"{name} of a tree that a GPU grew is there while callbacks are told of it: copy "
                "it there"
            )
        found: Floats = self._device.download(getattr(self._pushed, name)).astype(np.float64)
        return found

    def drop_forces(self) -> None:
        """Those that nobody has looked at: they take the GPU's memory."""
        self._pushed = None


class Step:
    """A tree on its way: what was launched, and what comes of it."""

    def __init__(self, iteration: int, planted: Any, pushed: Pushed) -> None:
        self.iteration, self.planted = iteration, planted
        self.is_whole = False  # whether all that comes behind its growth was launched
        self.pushed: Any = pushed
        self.seconds = pushed.seconds
        self.following: Pushed | None = None  # forces of the next tree, launched behind this one
        self.values: Any = None  # of leaves, as they come
        self.measured: list[Any] = []  # metrics of every other set, as they come


class Turn:
    """The turn of one run to have the GPU's memory; inside, other threads prepare theirs."""

    _of_all = threading.RLock()  # a callback may train as well

    def __init__(self) -> None:
        self._has_it = False

    def take(self) -> None:
        """Wait for it."""
        self._of_all.acquire()
        self._has_it = True

    def __enter__(self) -> Turn:
        return self

    def __exit__(self, *_: object) -> None:
        if self._has_it:
            self._of_all.release()


class GpuBoosting(Boosting):
    """Boosting whose training set, and all others, are on a GPU."""

    engine: GpuEngine

    def __init__(self, job: Job, turn: Turn) -> None:
        self._device = find_device()
        self._turn = turn
        self._checkpoint = job.settings.checkpoint
        self._is_seen = bool(job.callbacks)  # somebody may look at forces and scores
        self._ahead: Step | None = None
        self._measured: list[Floats] = []
        self._last = perf_counter()
        with self._plain_errors():
            super().__init__(job)
            self._rows = [self.engine.rows, *map(self._rows_of, range(1, len(self.sets)))]
            for rows, scores in zip(self._rows, self.scores, strict=True):
                rows.set_scores(scores)
            self._there = GpuForces(self._device, self.forces)
            self._boards = [GpuBoard(self._device, board) for board in self.watch.boards]
        needs_scores = any(map(self._needs_scores, self._boards))
        is_small = 8 * self.engine.rows.rows <= MOST_AHEAD
        # An engine that plants a tree goes on to the next by itself. Where callbacks may look at
        # forces, there are those of two trees.
        self._runs_ahead = not needs_scores and hasattr(self.engine, "plant")
        self._runs_ahead = self._runs_ahead and (is_small or not self._is_seen)
        self._pushes_ahead = self._runs_ahead and is_small

    def _open_engine(self, data: RankingData) -> Engine:
        self._turn.take()
        return super()._open_engine(data)

    def _rows_of(self, number: int) -> Any:
        """The rows of a set; the training set among the others is there already."""
        is_same = self.features[number] is self.features[0]
        if is_same and np.array_equal(self.scores[number], self.scores[0]):
            return self.engine.rows
        return self.engine.open_rows(self.features[number])

    def go(self) -> None:
        """Grow the trees that are missing."""
        with self._plain_errors():
            super().go()

    def _make(self, iteration: int) -> tuple[State, Seconds] | None:
        """Add the tree that was begun, and begin the next."""
        if self._ahead is None:
            self._last = perf_counter()
        step = self._ahead or self._launch(iteration, self._push(iteration))
        if not step.is_whole:
            self._launch_rest(step)
        while step.planted.is_to_go_on():
            self._launch_rest(step)
        if not step.planted.is_there:
            return None
        self._ahead = None
        if self._runs_ahead and iteration + 1 < self.total:
            following, step.following = step.following, None
            if not self._is_seen:
                step.pushed = None  # memory for others
            self._ahead = self._launch(iteration + 1, following or self._push(iteration + 1))
            if not self._is_seen:  # callbacks see scores as they are before it moves them
                self._launch_rest(self._ahead)
        return self._finish(step)

    def _push(self, iteration: int) -> Pushed:
        """Forces at the scores as they are by then."""
        begun, scores = perf_counter(), self._rows[0].rounded
        is_base = iteration < self.model.base_steps
        at = self._there.at_labels if is_base else self._there.at
        return Pushed(*at(scores, iteration), perf_counter() - begun)

    def _launch(self, iteration: int, pushed: Pushed) -> Step:
        """The growth of a tree."""
        second = self._there.unit_hessians(iteration) if self.is_least_squares else pushed.hess
        planted = self._plant(pushed.lam, second, iteration)
        return Step(iteration, planted, pushed)

    def _plant(self, lam: Any, second: Any, iteration: int) -> Any:
        plant = getattr(self.engine, "plant", None)
        if plant is not None:
            return plant(lam, second, iteration, self.forces.keys, self._there.bag(iteration))
        settings, bag = self.settings, self.forces.bags.at(iteration)
        rows = None if bag is None else bag.rows
        grown = self.engine.grow(lam, second, iteration, self.forces.keys, rows)
        return Sown(self.engine, grown, self._device, l1=settings.reg_alpha, l2=settings.reg_lambda)

    def _launch_rest(self, step: Step) -> None:
        """What comes behind the growth of a tree; nothing, as long as it is not done.

        The forces of the next tree are launched before it is known whether this one is done: else
        the GPU would wait while the processor hears of it, and launches them.
        """
        step.is_whole = True
        iteration, planted, pushed = step.iteration, step.planted, step.pushed
        step.following = None  # of a tree that was not done
        is_exact = self.settings.step == "exact-newton" and iteration >= self.model.base_steps

        def share(leaf: Any, leaves: int) -> Shared:
            scores = self._rows[0].rounded
            return self._there.shared_hessians(scores, leaf, leaves, iteration)

        rate = self.settings.rate(iteration - self.model.base_steps)
        values = planted.set_values(
            pushed.lam, pushed.hess, rate=rate, share=share if is_exact else None
        )
        if values is None:
            return
        self._rows[0].move(planted.leaf, values)
        for rows in self._rows[1:]:
            if rows is not self._rows[0]:
                rows.move(planted.route(rows), values)
        fetch = self._device.fetch
        step.values = fetch(values)
        others = zip(self._boards, self._rows[1:], strict=True)
        step.measured = [fetch(board.measure(rows.scores)) for board, rows in others]
        if self._pushes_ahead and iteration + 1 < self.total:
            step.following = self._push(iteration + 1)

    def _finish(self, step: Step) -> tuple[State, Seconds]:
        """Keep a tree, and copy what functions look at."""
        tree: Tree = step.planted.tree()
        rate = self.settings.rate(step.iteration - self.model.base_steps)
        values = step.values.get()[: tree.leaves].copy()
        self.model.trees.append(tree.with_values(values, rate))
        self.model.used = self.model.steps
        needed = zip(self._rows[1:], self.scores[1:], self._boards, strict=True)
        for rows, scores, board in needed:
            if self._needs_scores(board):
                rows.get_scores(scores)
        self._measured = [one.get() for one in step.measured]
        before, self._last = self._last, perf_counter()
        state = OnGpu(self._device, self._rows[0].scores, step.pushed)
        return state, Seconds(step.seconds, self._last - before)

    def _tell_step(self, iteration: int, begin: int, state: Any, seconds: Seconds) -> bool:
        try:
            return super()._tell_step(iteration, begin, state, seconds)
        finally:
            state.drop_forces()

    def _needs_scores(self, board: GpuBoard) -> bool:
        """Whether a metric is a function that the processor calls."""
        return self.watch.needs_scores or not board.is_whole

    def _look(self) -> list[Evaluation]:
        every = zip(self._boards, self._measured, self.scores[1:], strict=True)
        found = [board.finish(raw, scores) for board, raw, scores in every]
        return self.watch.look(self.scores[1:], found)

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """What a GPU raises, in a sentence that says how to go on."""
        try:
            yield
        except self._device.full as error:
            raise RankforceError(
                f"the GPU has no room for what training needs beside the features ({error}): leave "
                "device out, or give fewer rows"
            ) from None
        except self._device.failures as error:
            place = self._checkpoint
            way = f"a run with checkpoint={str(place)!r}" if place else "a run with a checkpoint"
            raise RankforceError(
                f"the GPU failed ({' '.join(str(error).split())}): {way} goes on from there, also "
                "with device='cpu'"
            ) from error
