"""Whether two objectives push documents the same way (Svore et al. 2011, Figure 2)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.types import Floats
from rankforce.forces.base import AnyObjective


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
