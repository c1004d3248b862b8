"""From documents to an answer: pure functions of a model and a request."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.common.types import Floats, Ints
from rankforce.serving.bodies import Ranked, Ranking
from rankforce.serving.requests import Request


def best_rows(scores: Floats, top: int | None) -> Ints:
    """Rows by score, best first, `top` of them; ties go by row.

    >>> best_rows(np.array([1.0, 3.0, 3.0]), 2).tolist()
    [1, 2]
    """
    order: Ints = np.argsort(-scores, kind="stable")
    return order if top is None else order[:top]


def rank(request: Request) -> Ranking:
    """The answer of /rank."""
    name, served, given, body = request
    scores = served.scores(given.rows)
    best = best_rows(scores, body.top)
    ranking = [Ranked(*one) for one in listing(best, scores, given.ids)]
    return Ranking(name, served.version, ranking, given.notes)


def listing(best: Ints, scores: Floats, ids: Any) -> list[tuple[Any, int, int, float]]:
    """Id, row, rank and score of some rows.

    >>> listing(np.array([1, 0]), np.array([0.5, 2.0]), ["a", "b"])
    [('b', 1, 1, 2.0), ('a', 0, 2, 0.5)]
    """
    rows = best.tolist()
    names = [None] * len(rows) if ids is None else [ids[row] for row in rows]
    return list(zip(names, rows, range(1, len(rows) + 1), scores[best].tolist(), strict=True))
