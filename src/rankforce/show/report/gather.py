"""Everything that a report shows, as one table for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import rankforce as rf
from rankforce.common.checks import check_whole
from rankforce.evaluation.comparison import Comparison
from rankforce.evaluation.judge import predicted
from rankforce.forces.base import AnyObjective
from rankforce.measures.metric import Metric
from rankforce.models.curves import Curves
from rankforce.show.report.importance import importance
from rankforce.show.report.judged import Known, cautions, find_data
from rankforce.show.report.models import ShownModel, open_runs
from rankforce.show.report.offered import cutoff_of, offered_objectives, wanted_objectives
from rankforce.show.report.queries import choose_queries, plain, query_record
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
        "version": rf.__version__,
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
        return rf.metric(given)
    for run in runs:
        settings = run.model.parameters
        watched = settings.get("eval_metric", ())
        for metric in watched_metrics(watched, run.objective, k=settings.get("k")):
            return metric
    return rf.metric("ndcg@10")


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
        "trees": len(model.trees),
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
    """Curves recorded while training, else those of the trees on the data of the report."""
    recorded = run.model.diagnostics
    if recorded is not None and recorded.trees:
        return _curves(recorded)
    objective = run.objective or next(iter(wanted), None)
    if known is None or objective is None or not run.model.trees:
        if known is not None and objective is None:
            notes.append(f"No diagnostics of {run.name}: name an objective (--objective NAME).")
        return None
    try:
        found = rf.diagnose(run.ranker, known.data, objective=objective, name=known.name)
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
    scores = {run.name: predicted(run.ranker, data, f"run {run.name!r}") for run in runs}
    found = rf.compare(scores, data, metric=metric, baseline=baseline, seed=seed)
    assert isinstance(found, Comparison)
    chosen = choose_queries(found, data, queries) if queries else []
    longest = [one for one in chosen if data.sizes[one.query] <= LONGEST]
    if len(longest) < len(chosen):
        notes.append(f"Queries with more than {LONGEST:,} documents cannot be opened here.")
    shown = [data.index.rows_of(one.query) for one in longest]
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
        "queries": [query_record(one, data, scores, found.values) for one in longest],
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
