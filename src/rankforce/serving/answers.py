"""From a request to its answer: which documents come first, and why."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, Ints, plain
from rankforce.data.queries import best_rows
from rankforce.diagnostics.explain import Explained
from rankforce.diagnostics.explain import explain as explain_forces
from rankforce.forces.named import at_cutoff, known_cutoff
from rankforce.serving.bodies import ExplainBody, Explanation, Ranked, Ranking, Reason
from rankforce.serving.matrix import Given
from rankforce.serving.models import LOG, Models, Served
from rankforce.serving.refusal import Refusal, wrong
from rankforce.serving.requests import Request


def rank(request: Request) -> Ranking:
    """The answer of /rank."""
    name, served, given, body = request
    scores = served.scores(given.rows)
    best = best_rows(scores, body.top)
    ranking = [Ranked(*one) for one in listing(best, scores, given.ids)]
    return Ranking(name, served.version, ranking, given.notes)


def explain(request: Request) -> Explanation:
    """The answer of /explain: contributions of features, and forces where labels are given."""
    name, served, given, body = request
    assert isinstance(body, ExplainBody)
    try:
        scores = served.scores(given.rows)
        parts = served.contributions(given.rows)
        forces = None if body.labels is None else find_forces(served, scores, body)
    except RankforceError as error:
        raise Refusal(422, str(error)) from None
    best = best_rows(scores, body.top)
    reasons = [
        Reason(*one, parts[one[1], :-1].tolist(), float(parts[one[1], -1]))
        for one in listing(best, scores, given.ids)
    ]
    answer = Explanation(name, served.version, reasons, served.columns.names, notes=given.notes)
    return answer if forces is None else _with_forces(answer, forces)


def find_forces(served: Served, scores: Floats, body: ExplainBody) -> Explained:
    """The forces of one query, by the objective of the request, or else the model's."""
    labels = body.labels or []
    if len(labels) != len(scores):
        raise wrong("labels", f"expected {len(scores)}, one for each document, got {len(labels)}")
    model = served.model
    own = served.ranker.objective_ if model.parameters else None
    cutoff = body.k or (None if own is None else known_cutoff(own))
    return explain_forces(
        own if body.objective is None else at_cutoff(body.objective, cutoff),
        scores,
        labels,
        norm=model.parameters.get("norm"),
        iteration=max(model.used - model.base_steps, 0),
        k=cutoff,
    )


def _with_forces(answer: Explanation, forces: Explained) -> Explanation:
    pushed = {one.row: one for one in forces.documents}
    for reason in answer.ranking:
        reason.force, reason.kind = pushed[reason.row].force, pushed[reason.row].kind
    answer.objective, answer.k = forces.objective, forces.k
    answer.metrics = {name: plain(value) for name, value in forces.metrics.items()}
    return answer


def warm(models: Models) -> None:
    """Explain two documents by each model, so that all is compiled before a request needs it."""
    for entry in models.entries.values():
        rows = np.zeros((2, len(entry.served.columns)), np.float32)
        body = ExplainBody(labels=[1.0, 0.0])
        _try(Request(entry.name, entry.served, Given(rows, None, []), body))


def _try(request: Request) -> None:
    try:
        explain(request)
    except Exception as error:  # it may be served nevertheless
        LOG.warning("model %s can rank, but not explain: %s", request.name, error)


def listing(best: Ints, scores: Floats, ids: Any) -> list[tuple[Any, int, int, float]]:
    """Id, row, rank and score of some rows.

    >>> listing(np.array([1, 0]), np.array([0.5, 2.0]), ["a", "b"])
    [('b', 1, 1, 2.0), ('a', 0, 2, 0.5)]
    """
    rows = best.tolist()
    names = [None] * len(rows) if ids is None else [ids[row] for row in rows]
    return list(zip(names, rows, range(1, len(rows) + 1), scores[best].tolist(), strict=True))
