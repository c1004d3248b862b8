"""Everything that a report shows, as one table for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.types import plain
from rankforce.diagnostics.replay import diagnose
from rankforce.evaluation.compare import compare
from rankforce.evaluation.judge import model_scores
from rankforce.forces.base import AnyObjective
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric
from rankforce.models.base import NETWORK
from rankforce.models.curves import Curves
from rankforce.models.importance import INFLUENCE, importance_of
from rankforce.models.model import Model
from rankforce.show.report.contributions import contribution_records
from rankforce.show.report.objective_tables import cutoff_of, offered_objectives, wanted_objectives
from rankforce.show.report.queries import choose_queries, query_record
from rankforce.show.report.runs import Known, ShownModel, cautions, find_data, open_runs
from rankforce.show.report.verdict import comparison_table, metric_table, run_sentence, sentences
from rankforce.training.watch import watched_metrics

UNJUDGED = (
    "How well the runs rank is not said here: there is no data to judge them by (see the notes)."
)
LONGEST = 2000  # documents of a query that the page shows in full


def gather(
    runs: Any,
    data: Any = None,
    *,
    metric: Any = None,
    baseline: str | None = None,
    queries: int = 12,
    objectives: Sequence[Any] | None = None,
    title: str | None = None,
    seed: int = 0,
    columns: Mapping[str, Any] | None = None,
    base: Any = None,
) -> dict[str, Any]:
    """What `rf.write_report` writes into its page; the same input gives the same table.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker("ranknet", n_estimators=2, num_leaves=3, progress=False).fit(data)
    >>> table = gather(ranker, data, metric="ndcg@5", queries=3, objectives=["ranknet"])
    >>> table["runs"][0]["objective"], len(table["queries"])
    ('RankNet', 3)
    """
    check_whole("queries", queries, least=0)
    opened = open_runs(runs, base=base)
    chosen = _choose_metric(opened, metric)
    wanted = wanted_objectives(objectives, cutoff_of(opened, chosen))
    notes = [f"{run.name}: {run.reason}." for run in opened if run.objective is None]
    known = find_data(opened, data, notes, columns)
    records = [_run_record(run, known, wanted, notes) for run in opened]
    table: dict[str, Any] = {
        "title": title or ", ".join(run.name for run in opened),
        "version": version("rankforce"),
        "runs": records,
        "data": None if known is None else _data_record(known),
        "summary": [UNJUDGED],
        "cautions": [] if known is None else cautions(opened, known),
        "comparison": None,
        "metrics": None,
        "scores": None,
        "queries": [],
        "objectives": {"tables": [], "list": []},
        "notes": notes,
    }
    if known is not None:
        table |= _judged(opened, known, chosen, baseline, queries, wanted, seed, notes)
    table["summary"] += map(run_sentence, records)
    return table


def _choose_metric(runs: list[ShownModel], given: Any) -> Metric:
    """The one that is asked for, or that the first run watched, or that its objective is for."""
    if given is not None:
        return make_metric(given)
    for run in runs:
        settings = run.model.parameters
        watched = settings.get("eval_metric", ())
        for metric in watched_metrics(watched, run.objective, k=settings.get("k")):
            return metric
    return make_metric("ndcg@10")


def _data_record(known: Known) -> dict[str, Any]:
    data = known.data
    return {
        "name": known.name,
        "rows": data.rows,
        "queries": len(data.sizes),
        "features": int(data.features.shape[1]),
        "label_name": data.label_name,
    }


def _run_record(
    run: ShownModel, known: Known | None, wanted: list[AnyObjective], notes: list[str]
) -> dict[str, Any]:
    model = run.model
    return {
        "name": run.name,
        "objective": run.aim,
        "settings": {name: _shown(value) for name, value in sorted(model.parameters.items())},
        "step": model.scorer.step,
        "steps": model.steps,
        "used": model.used,
        "best": model.best_iteration,
        "finished": model.finished,
        "log": [str(line) for line in model.log],
        "history": {
            name: {metric: [_short(value) for value in values] for metric, values in own.items()}
            for name, own in model.history.items()
        },
        "diagnostics": _diagnostics(run, known, wanted, notes),
        "importance": importance(model),
    }


def importance(model: Model) -> list[dict[str, Any]]:
    """Features that do something, by the gain of their splits, or their influence on a network.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=30)
    >>> ranker = rf.Ranker(n_estimators=2, num_leaves=4, progress=False).fit(data)
    >>> first = importance(ranker.model_)[0]
    >>> sorted(first), first["gain"] > 0
    (['feature', 'gain', 'splits'], True)
    """
    names = model.feature_names
    if model.scorer.kind == NETWORK:
        if model.scorer.forest is not None:  # which has what features do
            return []
        found = importance_of(model)
        used = sorted(np.flatnonzero(found), key=lambda f: (-found[f], f))
        return [{"feature": names[f], INFLUENCE: _short(found[f])} for f in used]
    splits, gains = importance_of(model, "split"), importance_of(model, "gain")
    used = sorted(np.flatnonzero(splits), key=lambda f: (-gains[f], -splits[f], f))
    return [{"feature": names[f], "gain": _short(gains[f]), "splits": int(splits[f])} for f in used]


def _shown(value: Any) -> Any:
    """A setting as text, number or truth value."""
    if isinstance(value, (bool, int, float, str)) or value is None:
        return value if not isinstance(value, float) or math.isfinite(value) else str(value)
    if isinstance(value, list):
        return ", ".join(str(_shown(entry)) for entry in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(entry)}" for key, entry in value.items())
    return str(value)


def _short(value: Any) -> float | None:
    number = plain(value)
    return None if number is None else float(f"{number:.6g}")


def _diagnostics(
    run: ShownModel, known: Known | None, wanted: list[AnyObjective], notes: list[str]
) -> dict[str, Any] | None:
    """Curves recorded while training, else those of the model on the data of the report."""
    recorded = run.model.diagnostics
    if recorded is not None and recorded.steps:
        return _curves(recorded)
    objective = run.objective or next(iter(wanted), None)
    if known is None or objective is None or not run.model.steps:
        if known is not None and objective is None:
            notes.append(f"No diagnostics of {run.name}: name an objective (--objective NAME).")
        return None
    try:
        found = diagnose(run.ranker, known.data, objective=objective, name=known.name)
    except ValueError as error:
        notes.append(f"No diagnostics of {run.name}: {error}.")
        return None
    if any(name in run.model.history for name in known.parts_of(run)):
        found.series.pop("metrics", None)  # the history of the run has them
    return _curves(found)


def _curves(found: Curves) -> dict[str, Any]:
    series = {
        kind: {name: [_short(value) for value in values] for name, values in several.items()}
        for kind, several in found.series.items()
    }
    return found.record() | {"series": series}


def _judged(
    runs: list[ShownModel],
    known: Known,
    metric: Metric,
    baseline: str | None,
    queries: int,
    wanted: list[AnyObjective],
    seed: int,
    notes: list[str],
) -> dict[str, Any]:
    """What needs rankings: comparison, values by query, the queries themselves, objectives."""
    data = known.data
    scores = {run.name: model_scores(run.ranker, data, f"run {run.name!r}") for run in runs}
    found = compare(scores, data, metric=metric, baseline=baseline, seed=seed)
    chosen = choose_queries(found, data, queries) if queries else []
    longest = [one for one in chosen if data.sizes[one.query] <= LONGEST]
    if len(longest) < len(chosen):
        notes.append(f"Queries with more than {LONGEST:,} documents cannot be opened here.")
    shown = [data.index.rows_of(one.query) for one in longest]
    parts = {
        run.name: contribution_records(run, data, scores[run.name], shown, notes) for run in runs
    }
    return {
        "summary": sentences(found, known.name),
        "comparison": comparison_table(found),
        "metrics": metric_table(metric, scores, data, notes),
        "scores": {
            "metric": metric.name,
            "higher_is_better": metric.higher_is_better,
            "per_query": {n: [_short(v) for v in values] for n, values in found.values.items()},
            "query_ids": [str(one) for one in found.query_ids],
        },
        "queries": [
            query_record(one, data, scores, found.values)
            | {"contributions": {n: own[at] for n, own in parts.items() if own is not None}}
            for at, one in enumerate(longest)
        ],
        "objectives": offered_objectives(
            runs,
            data,
            metric,
            wanted,
            np.concatenate([*shown, np.empty(0, np.int64)]),
            max(map(len, shown), default=1),
            notes,
        ),
    }
