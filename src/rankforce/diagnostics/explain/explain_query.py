"""The forces of one query, from scores or from a model: `rf.explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, query_ids
from rankforce.data.ranking_data import RankingData
from rankforce.diagnostics.closest import find_query
from rankforce.diagnostics.explain.explained import FALSE, MISSED, Document, Explained
from rankforce.diagnostics.grades import Grades
from rankforce.diagnostics.view import Now, Scene, View, cutoff_of
from rankforce.evaluation.judge import model_scores
from rankforce.forces.base import AnyObjective, PairForces
from rankforce.forces.description import Missed
from rankforce.forces.mixed import ObjectiveLike, parts_of
from rankforce.forces.named import at_cutoff, known_cutoff, title_of
from rankforce.forces.ready import check_scores
from rankforce.measures.labels import index_of
from rankforce.measures.make import metric as make_metric
from rankforce.measures.scoreboard import Scoreboard


class Subject(NamedTuple):
    """The data set that the query is of."""

    scores: Floats
    labels: Any
    queries: QueryIndex
    ids: NDArray[Any]  # of the queries
    doc_ids: Any


class Choice(NamedTuple):
    """What to explain, where the caller left it open."""

    objectives: list[AnyObjective]
    k: int
    norm: str
    iteration: int


def explain(
    objective: ObjectiveLike | None,
    scores: Any,
    labels: Any,
    *,
    query: Any = None,
    group: Any = None,
    qid: Any = None,
    doc_ids: Any = None,
    norm: str | None = None,
    iteration: int | None = None,
    k: int | None = None,
) -> Explained:
    """The forces of one query: on every document, and of every pair.

    Scores with labels (and `group` or `qid`), or a model with a `RankingData`. `query` is the id of
    the query, with `group` its number; by default the one with the lowest NDCG@k. What is left open
    is that of a :class:`Ranker`: its objective (None), norm, k, and as iteration the number of its
    trees or epochs; without one, norm "none", iteration 0, and the k of the objective or else 10.

    >>> import rankforce as rf
    >>> precision = rf.objective("lambdarank-p@k", k=1)
    >>> found = rf.explain(precision, [3, 2, 1], [0, 0, 1], doc_ids=["a", "b", "c"])
    >>> [(one.rank, one.name, round(one.force, 2), one.kind) for one in found.documents]
    [(1, 'a', -0.88, 'false'), (2, 'b', 0.0, ''), (3, 'c', 0.88, 'missed')]
    """
    return explain_several(
        [objective],
        scores,
        labels,
        query=query,
        group=group,
        qid=qid,
        doc_ids=doc_ids,
        norm=norm,
        iteration=iteration,
        k=k,
    )[0]


def explain_several(
    objectives: Sequence[ObjectiveLike | None],
    scores: Any,
    labels: Any,
    *,
    query: Any = None,
    group: Any = None,
    qid: Any = None,
    doc_ids: Any = None,
    norm: str | None = None,
    iteration: int | None = None,
    k: int | None = None,
) -> list[Explained]:
    """The forces of one query under each of several objectives.

    The first one decides the k, the labels, and the query, where these are left open.

    >>> found = explain_several(["ranknet", "lambdarank-p@k"], [3, 2, 1], [0, 0, 1], k=1)
    >>> [len(one.pairs.force) for one in found]
    [2, 1]
    """
    if not objectives:
        raise RankforceError("there is no objective to explain: give one")
    if k is not None:
        check_whole("k", k, least=1)
    subject = _make_subject(scores, labels, group=group, qid=qid, doc_ids=doc_ids)
    choice = _choose(objectives, scores, k=k, norm=norm, iteration=iteration)
    scenes = [Scene(one, labels, subject.queries, k=choice.k) for one in choice.objectives]
    values = _metric_values(choice.objectives[0], subject, choice.k)
    number, why = _find_query(query, subject, values)
    metrics = {name: float(row[number]) for name, row in values.items()}
    return [
        _explain_one(scene, subject, choice, number, scenes[0].grades)._replace(
            why=why, metrics=metrics
        )
        for scene in scenes
    ]


def _choose(
    objectives: Sequence[ObjectiveLike | None],
    scores: Any,
    *,
    k: int | None,
    norm: str | None,
    iteration: int | None,
) -> Choice:
    model: Any = getattr(scores, "model_", None)
    known = {} if model is None else model.parameters
    own = scores.objective_ if known else None
    fallback = k if own is None or k is not None else known_cutoff(own)
    made = [_make_objective(one, own, fallback) for one in objectives]
    steps = max(model.used - model.base_steps, 0) if known else 0
    return Choice(
        made,
        fallback or cutoff_of(made[0]),
        norm or known.get("norm", "none"),
        steps if iteration is None else iteration,
    )


def _make_objective(
    given: ObjectiveLike | None, own: AnyObjective | None, k: int | None
) -> AnyObjective:
    """An objective, or the model's own; a name without a cutoff gets `k`."""
    if given is None:
        if own is None:
            raise RankforceError(
                "there is neither an objective nor a model that says its own: give an objective"
            )
        return own
    return at_cutoff(given, k)


def _metric_values(objective: AnyObjective, subject: Subject, k: int) -> dict[str, Floats]:
    """NDCG@k, P@k and what the objective is for, of every query; nothing without labels."""
    labels = subject.labels
    source = getattr(parts_of(objective)[0].objective, "source", None)
    if isinstance(labels, RankingData) and not labels.has_labels and source is None:
        return {}
    names = dict.fromkeys([f"ndcg@{k}", f"p@{k}", objective.metric(k).key])
    metrics = [make_metric(name, source=source) for name in names]
    index = None if isinstance(labels, RankingData) else subject.queries
    board = Scoreboard(metrics, labels, index=index)
    values = board.values(subject.scores)
    return {one.name: row for one, row in zip(metrics, values, strict=True)}


def _explain_one(
    scene: Scene, subject: Subject, choice: Choice, number: int, grades: Grades
) -> Explained:
    norm, iteration = choice.norm, choice.iteration
    view = scene.view(subject.scores, Now(norm, iteration))
    found = scene.ready.pair_forces(subject.scores, query=number, norm=norm, iteration=iteration)
    order = np.argsort(-found.force, kind="stable")
    return Explained(
        subject.ids[number],
        "",
        title_of(scene.objective),
        choice.k,
        choice.norm,
        choice.iteration,
        _documents(view, subject, number, grades),
        PairForces(found.hi[order], found.lo[order], found.weight[order], found.force[order]),
        {},
    )


def _documents(view: View, subject: Subject, number: int, grades: Grades) -> list[Document]:
    start, end = subject.queries.pointer[number : number + 2]
    ranked = view.ranked[start:end]
    kinds = _kinds(grades.code[ranked], view.scene.k, grades.missable, grades.missed)
    return [
        Document(
            rank,
            int(row),
            None if subject.doc_ids is None else str(subject.doc_ids[row]),
            float(grades.labels[row]),
            float(subject.scores[row]),
            float(view.forces[row]),
            kind,
        )
        for rank, (row, kind) in enumerate(zip(ranked, kinds, strict=True), start=1)
    ]


def _kinds(
    codes: NDArray[np.int32], k: int, missable: int, missed: Missed = "deficit"
) -> list[str]:
    """False and missed top-k documents, by grades in ranked order.

    A grade is missed if the ideal top k has more of it than the top k, false if it has fewer; or,
    by label, missed if the ideal top k has any of it, else false. Grades below `missable`, those of
    labels up to 0, are never missed.

    >>> _kinds(np.array([1, 3, 2, 2, 0], np.int32), 2, 1)
    ['false', '', 'missed', 'missed', '']
    >>> _kinds(np.array([0, 1], np.int32), 1, 2)
    ['false', '']
    >>> _kinds(np.array([2, 2, 3, 0, 2], np.int32), 2, 1, "label")
    ['', '', 'missed', '', 'missed']
    """
    many = int(codes.max(initial=0)) + 1
    ideal = np.bincount(np.sort(codes)[::-1][:k], minlength=many)
    deficit = (ideal - np.bincount(codes[:k], minlength=many))[codes]
    if missed == "label":
        deficit = np.where(ideal[codes] > 0, 1, -1)
    is_top = np.arange(len(codes)) < k
    is_false = is_top & (deficit < 0)
    is_missed = ~is_top & (deficit > 0) & (codes >= missable)
    return [str(kind) for kind in np.select([is_false, is_missed], [FALSE, MISSED], "")]


def _make_subject(scores: Any, labels: Any, *, group: Any, qid: Any, doc_ids: Any) -> Subject:
    """Scores of rows, or of a model, with the queries and documents that they belong to."""
    data = labels if isinstance(labels, RankingData) else None
    index = index_of(labels, group=group, qid=qid)
    rows = int(index.pointer[-1])
    ids = query_ids(index, qid) if data is None else data.query_ids
    names = data.doc_ids if doc_ids is None and data is not None else doc_ids
    if names is not None and len(names) != rows:
        raise RankforceError(f"doc_ids has {len(names)} entries, but there are {rows} rows")
    if hasattr(scores, "predict"):
        scores = model_scores(scores, data, f"the {type(scores).__name__}")
    return Subject(check_scores(scores, rows), labels, index, ids, names)


def _find_query(query: Any, subject: Subject, values: dict[str, Floats]) -> tuple[int, str]:
    """Number of the query, and why it is this one."""
    ids = subject.ids
    if not len(ids):
        raise RankforceError("there is no query to explain: the data has no rows")
    if query is None:
        name, worth = next(iter(values.items()), ("", np.full(len(ids), np.nan)))
        if np.isnan(worth).all():
            raise RankforceError(
                "which query is the worst is not known without labels: give its id"
            )
        number = int(np.nanargmin(worth))
        return number, f"the lowest {name} of {len(ids):,} queries" if len(ids) > 1 else ""
    return find_query(query, ids), ""
