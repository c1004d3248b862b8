"""Values of metrics for whatever ranks: scores, models, or runs of TREC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_choice, check_named, check_names, check_weights
from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries, query_ids
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import predicted
from rankforce.formats.run_forms import Qrels, Run, is_run_like
from rankforce.formats.trec import as_qrels, as_run
from rankforce.measures.labels import LABEL
from rankforce.measures.metric import Metric
from rankforce.measures.prepare import is_relevant
from rankforce.measures.scoreboard import Judged, Scoreboard

MISSING = ("error", "zero", "skip")


class Judgement(NamedTuple):
    """Every metric of every system for every query."""

    metrics: list[Metric]
    values: dict[str, Floats]  # by system: metrics x queries; NaN where a query does not count
    query_ids: NDArray[Any]
    weights: Floats | None  # of the queries
    pool: Scoreboard | None  # of all judged documents, where they are known
    notes: list[str]  # what must be known to read the values


def judge(
    systems: Mapping[str, Any],
    labels: Any,
    *,
    metrics: Sequence[Metric],
    group: Any = None,
    qid: Any = None,
    weights: Any = None,
    missing: str = "error",
    threads: int = 1,
) -> Judgement:
    """Judge every system by `labels`.

    These are one label per row, or a dictionary of such by the name of their source (with `group`
    or `qid`), a `RankingData`, or qrels. Accordingly a system is one score per row; a model with
    `predict`, or scores; or a run.

    >>> import rankforce as rf
    >>> found = judge({"a": [0.2, 0.1]}, [0, 1], metrics=[rf.metric("mrr")])
    >>> found.values["a"].tolist()
    [[0.5]]
    """
    check_systems(systems)
    check_choice("missing", missing, MISSING)
    check_threads(threads)
    names = [metric.name for metric in metrics]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RankforceError(f"two metrics are called {twice}: they must differ in their names")
    if not _are_qrels(labels):
        return _judge_rows(
            systems, labels, metrics, group=group, qid=qid, weights=weights, threads=threads
        )
    for key, value in (("group", group), ("qid", qid), ("weights", weights)):
        if value is not None:
            raise RankforceError(f"{key}= is for labels by row: qrels know their queries")
    return _judge_runs(systems, labels, metrics, missing=missing, threads=threads)


def check_systems(systems: Any, key: str = "systems", inside: str = "scores") -> None:
    """A dictionary with texts as names."""
    check_named(key, systems, f"{{'name': {inside}, ...}}")
    check_names(systems, "system")


def _are_qrels(labels: Any) -> bool:
    """Whether labels belong to documents of runs, and not to rows.

    >>> _are_qrels({"q1": {"d1": 2}}), _are_qrels({"grade": [2, 0], "click": [0.5, 0.0]})
    (True, False)
    """
    if isinstance(labels, Mapping):
        return not labels or not all(map(_is_column, labels.values()))
    return isinstance(labels, (str, os.PathLike)) or is_run_like(labels)


def _is_column(values: Any) -> bool:
    """Labels of rows: a dictionary is documents of a query, and a single number is a mistake."""
    return hasattr(values, "__len__") and not isinstance(values, (str, Mapping))


def _judge_rows(
    systems: Mapping[str, Any],
    labels: Any,
    metrics: Sequence[Metric],
    *,
    group: Any,
    qid: Any,
    weights: Any,
    threads: int,
) -> Judgement:
    """Scores, or models where `labels` is a `RankingData`."""
    data = labels if isinstance(labels, RankingData) else None
    board = Scoreboard(metrics, labels, group=group, qid=qid)
    if data is None:
        ids = query_ids(board.index, qid)
    else:
        ids = data.query_ids
        weights = data.metric_weight if weights is None else weights
    values = {}
    for name, system in systems.items():
        scores = _scores(name, system, data, board.rows)
        try:
            values[name] = board.values(scores, threads=threads)
        except ValueError as error:
            raise RankforceError(f"system {name!r}: {error}") from None
    known = None if weights is None else check_weights(weights, ids)
    return Judgement(list(metrics), values, ids, known, board, missing_notes(board))


def missing_notes(board: Scoreboard) -> list[str]:
    """What must be known of the labels."""
    return [
        f"{count:,} of {board.rows:,} labels {source!r} are missing: they count 0"
        for source, count in board.missing.items()
    ]


def model_scores(model: Any, data: RankingData | None, name: str) -> Any:
    """Scores of a model: of data as a whole where it takes that, as a `Ranker`, else of features.

    Errors begin with `name`, which says what the model is.
    """
    if data is None:
        raise RankforceError(f"{name} is a model: give a RankingData in place of labels")
    try:
        if getattr(model, "takes_data", False):
            return model.predict(data)
        return predicted(model, data.features)
    except ValueError as error:
        raise RankforceError(f"{name}: {error}") from None


def _scores(name: str, system: Any, data: RankingData | None, rows: int) -> Floats:
    if hasattr(system, "predict"):
        system = model_scores(system, data, f"system {name!r}")
    elif is_run_like(system):
        raise RankforceError(f"system {name!r} is a run: give qrels in place of labels")
    try:
        scores = np.asarray(system, dtype=np.float64)
    except (TypeError, ValueError):
        kind = type(system).__name__
        raise RankforceError(
            f"system {name!r} is a {kind}: give one score per row or a model with predict(); "
            "runs need qrels in place of labels"
        ) from None
    if scores.shape != (rows,):
        shape = f"{len(scores)} scores" if scores.ndim == 1 else f"scores of shape {scores.shape}"
        raise RankforceError(f"system {name!r} has {shape}, but there are {rows} labels")
    return scores


def _judge_runs(
    systems: Mapping[str, Any],
    labels: Any,
    metrics: Sequence[Metric],
    *,
    missing: str,
    threads: int,
) -> Judgement:
    """Every run by the judged documents of its queries; a query that nobody judged is left out."""
    _check_sources(metrics)
    qrels = as_qrels(labels)
    runs = {name: as_run(system, name=f"run {name!r}") for name, system in systems.items()}
    queries = _choose_queries(runs, qrels, missing)
    pool = _flatten([list(qrels[query].values()) for query in queries])
    values = {}
    for name, run in runs.items():
        for metric in metrics:
            if not metric.higher_is_better:
                _check_all_ranked(name, run, qrels, queries, metric)
        board, scores = _board(metrics, run, qrels, queries, pool)
        try:
            values[name] = board.values(scores, threads=threads)
        except ValueError as error:
            raise RankforceError(f"run {name!r}: {error}") from None
    notes = ["tied documents of a run rank by id, descending, as in trec_eval"]
    notes += _left_out(runs, qrels, queries)
    ids = np.array(queries, dtype=object)
    return Judgement(list(metrics), values, ids, None, None, notes)


def _check_sources(metrics: Sequence[Metric]) -> None:
    for metric in metrics:
        if metric.source not in (None, LABEL):
            raise RankforceError(
                f"{metric.name} reads the labels {metric.source!r}, but qrels know one label of a "
                "document: give a RankingData, or labels of rows by name"
            )


def _choose_queries(runs: dict[str, Run], qrels: Qrels, missing: str) -> list[str]:
    """The judged queries, in the order of the qrels."""
    for name, run in runs.items():
        if not any(run.get(query) for query in qrels):
            raise RankforceError(
                f"no query of run {name!r} is judged: it has {next(iter(run))!r} and so on, the "
                f"qrels have {next(iter(qrels))!r}"
            )
    chosen = []
    for query in qrels:
        lacking = [name for name, run in runs.items() if not run.get(query)]
        if lacking and missing == "error":
            raise RankforceError(
                f"query {query!r} is judged, but run {lacking[0]!r} has no document for it: "
                "missing='zero' counts such a query as an empty list, missing='skip' leaves it out"
            )
        if not lacking or missing == "zero":
            chosen.append(query)
    if not chosen:
        raise RankforceError("no judged query is in every run, so missing='skip' leaves none")
    return chosen


def _left_out(runs: dict[str, Run], qrels: Qrels, queries: list[str]) -> list[str]:
    notes = []
    unjudged = {query for run in runs.values() for query in run if query not in qrels}
    if unjudged:
        notes.append(f"{len(unjudged)} queries of the runs are not judged and left out")
    if len(queries) < len(qrels):
        notes.append(f"{len(qrels) - len(queries)} judged queries are not in every run: left out")
    return notes


def _check_all_ranked(
    name: str, run: Run, qrels: Qrels, queries: list[str], metric: Metric
) -> None:
    """A document that is not ranked has no rank to add up."""
    for query in queries:
        ranked, judged = run.get(query, {}), qrels[query]
        relevant = is_relevant(metric.definition, np.array(list(judged.values())))
        for document, counts in zip(judged, relevant, strict=True):
            if counts and document not in ranked:
                raise RankforceError(
                    f"{metric.name} needs the rank of every relevant document, but run {name!r} "
                    f"does not have document {document!r} of query {query!r}"
                )


def _board(
    metrics: Sequence[Metric],
    run: Run,
    qrels: Qrels,
    queries: list[str],
    pool: tuple[Floats, QueryIndex],
) -> tuple[Scoreboard, Floats]:
    """A scoreboard whose rows are the run's documents, by id descending, and their scores."""
    labels, scores, sizes = [], [], []
    for query in queries:
        ranked, judged = run.get(query, {}), qrels[query]
        documents = sorted(ranked, reverse=True)
        found = [judged.get(document) for document in documents]
        labels.append([0.0 if label is None else label for label in found])
        scores.append([ranked[document] for document in documents])
        sizes.append(len(judged) + found.count(None))
    rows, index = _flatten(labels)
    judgements = Judged(pool[0], pool[1], np.array(sizes, np.int64))
    board = Scoreboard(metrics, rows, index=index, query_ids=queries, judged=judgements)
    return board, _flatten(scores)[0]


def _flatten(lists: list[list[float]]) -> tuple[Floats, QueryIndex]:
    sizes = np.array([len(values) for values in lists], np.int64)
    flat = np.fromiter(
        (value for values in lists for value in values), np.float64, int(sizes.sum())
    )
    return flat, index_queries(len(flat), group=sizes)
