"""Systems that are runs of TREC, judged by qrels. A run may leave judged documents out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.evaluation.judge import Judgement
from rankforce.formats.run_forms import Qrels, Run
from rankforce.formats.trec import as_qrels, as_run
from rankforce.measures.labels import LABEL
from rankforce.measures.metric import Metric
from rankforce.measures.prepare import is_relevant
from rankforce.measures.scoreboard import Judged, Scoreboard


def judge_runs(
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
