"""Whether two objectives push documents the same way (Svore et al. 2011, Figure 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankforce._objectives.base import AnyObjective, Ready
from rankforce._objectives.tables import Floats
from rankforce.checks import check_whole


def agreement(
    first: AnyObjective,
    second: AnyObjective,
    scores: ArrayLike,
    labels: Any,
    *,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    norm: str = "none",
    iteration: int = 0,
) -> float:
    """Share of documents that both push the same way, or the second not at all.

    >>> import rankforce as rf
    >>> grades, clicks = rf.objective("ranknet"), rf.objective("ranknet", source="click")
    >>> labels = {"grade": [1, 0, 0], "click": [0.5, 0.9, 0.1]}
    >>> round(agreement(grades, clicks, [0, 0, 0], labels), 4)
    0.6667
    """
    forces = [
        one.gradients(scores, labels, group=group, qid=qid, norm=norm, iteration=iteration)[0]
        for one in (first, second)
    ]
    return share_agreeing(*forces)


def share_agreeing(first: Floats, second: Floats) -> float:
    """Share of documents whose two forces have the same sign, or whose second is 0."""
    if not len(first):
        return 1.0
    return float(np.mean((np.sign(first) == np.sign(second)) | (second == 0.0)))


class AgreementRecorder:
    """A callback that records the agreement of two objectives while training.

    `every` says at which iterations; `history` has pairs of iteration and share. The objectives
    need not be the one that is trained.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> grades = rf.objective("lambdarank-ndcg")
    >>> recorder = AgreementRecorder(grades, rf.objective("ranknet", source="clicks"), every=2)
    >>> _ = rf.Ranker(grades, n_estimators=3, progress=False).fit(data, callbacks=[recorder])
    >>> [iteration for iteration, _ in recorder.history]
    [0, 2]
    """

    def __init__(self, first: AnyObjective, second: AnyObjective, *, every: int = 1) -> None:
        self.objectives = (first, second)
        self.every = check_whole("every", every, least=1)
        self.history: list[tuple[int, float]] = []
        self._data: Any = None
        self._ready: list[Ready] = []

    def __call__(self, moment: Any) -> None:
        """After each tree."""
        if moment.iteration % self.every:
            return
        if self._data is not moment.data:
            self._data = moment.data
            self._ready = [one.prepare(moment.data) for one in self.objectives]
        forces = [
            ready.gradients(moment.scores, iteration=moment.iteration)[0] for ready in self._ready
        ]
        self.history.append((moment.iteration, share_agreeing(*forces)))
