"""A moment of a ranker: scores, forces, ranking, each found once however many diagnostics ask."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_whole
from rankforce.common.threads import check_threads, run_blocks
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.diagnostics.grades import Grades, default_high, read_grades
from rankforce.forces.base import USUAL_K, AnyObjective
from rankforce.forces.named import known_cutoff
from rankforce.forces.ready import Ready, Trace, check_scores, refuse_scores
from rankforce.kernels import coherence, layout
from rankforce.measures.labels import index_of


class Now(NamedTuple):
    """How forces are computed at one moment."""

    norm: str = "none"
    iteration: int = 0
    threads: int = 1


class Scene:
    """What stays the same while scores change: labels and queries, bound to an objective."""

    def __init__(
        self,
        objective: AnyObjective,
        labels: Any,
        index: QueryIndex,
        *,
        k: int | None = None,
        high: float | None = None,
        missed: str | None = None,
    ) -> None:
        self.objective = objective
        self.labels = labels
        self.index = index
        self.k = check_whole("k", cutoff_of(objective) if k is None else k, least=1)
        self.ready: Ready = objective.bind(labels, index)
        self.grades: Grades = read_grades(objective, labels, index, missed)
        self.high = default_high(self.grades.labels) if high is None else float(high)

    @cached_property
    def slot(self) -> NDArray[np.int32]:
        """Numbers the highly relevant documents; -1 for the others."""
        is_high = self.grades.labels >= self.high
        slot = np.full(len(is_high), -1, np.int32)
        slot[is_high] = np.arange(np.count_nonzero(is_high), dtype=np.int32)
        return slot

    def view(self, scores: ArrayLike, now: Now, *, before: Floats | None = None) -> View:
        """The scene at some scores."""
        return View(self, scores, now, before=before)


class View:
    """A scene at some scores; `before` are those of one tree earlier."""

    def __init__(
        self, scene: Scene, scores: ArrayLike, now: Now, *, before: Floats | None = None
    ) -> None:
        self.scene = scene
        self.scores = check_scores(scores, scene.ready.rows)
        self.before = before
        self.now = now
        self.threads = check_threads(now.threads)

    def forces_of(self, ready: Ready) -> Floats:
        """Forces of any objective that is bound to these labels, one for each row."""
        norm, iteration, threads = self.now
        return ready.gradients(self.scores, norm=norm, iteration=iteration, threads=threads)[0]

    @cached_property
    def forces(self) -> Floats:
        """Of each row."""
        return self.forces_of(self.scene.ready)

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """Rows by query and rank."""
        return rank_rows(self.scores, self.scene.index, self.threads)

    @cached_property
    def trace(self) -> Trace:
        """Pairs, factors of the norm, and where forces on highly relevant documents come from."""
        scene = self.scene
        return scene.ready.trace(
            self.scores,
            slot=scene.slot,
            code=scene.grades.group,
            codes=len(scene.grades.names),
            norm=self.now.norm,
            iteration=self.now.iteration,
            threads=self.threads,
        )


def make_view(
    objective: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    now: Now,
    *,
    group: ArrayLike | None,
    qid: ArrayLike | None,
    k: int | None = None,
    high: float | None = None,
    missed: str | None = None,
) -> View:
    """A view from the arguments of a diagnostic."""
    index = index_of(labels, group=group, qid=qid)
    return Scene(objective, labels, index, k=k, high=high, missed=missed).view(scores, now)


def cutoff_of(objective: AnyObjective) -> int:
    """The cutoff that an objective is for; of a mix, the first that has one; else 10.

    >>> import rankforce as rf
    >>> cutoff_of(rf.objective("lambdarank-ndcg", k=5)), cutoff_of(rf.objective("ranknet"))
    (5, 10)
    """
    return known_cutoff(objective) or USUAL_K


def rank_rows(scores: Floats, index: QueryIndex, threads: int = 1) -> NDArray[np.int64]:
    """Rows by query and rank, ties in the order of places."""
    ranked = np.empty(len(scores), np.int64)
    queries = layout.Queries(*index)

    def work(first: int, last: int) -> int:
        return int(coherence.rank_block(first, last, scores, queries, ranked))

    refuse_scores(run_blocks(work, 40.0 * index.sizes.astype(np.float64), threads), scores)
    return ranked
