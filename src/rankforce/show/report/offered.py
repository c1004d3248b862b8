"""The objectives whose forces a page can show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

import rankforce as rf
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.forces.base import USUAL_K, AnyObjective
from rankforce.forces.description import Entry
from rankforce.forces.named import at_cutoff, known_cutoff
from rankforce.measures.metric import Metric
from rankforce.show.report.models import ShownModel
from rankforce.show.report.objective_tables import objective_data


def offered_objectives(
    runs: list[ShownModel],
    data: RankingData,
    metric: Metric,
    wanted: list[AnyObjective],
    rows: NDArray[np.int64],
    longest: int,
    notes: list[str],
) -> dict[str, Any]:
    """The runs' own objectives and those `wanted`, by default all that have a name, as data.

    `rows` are the documents that the page shows, `longest` is the length of their longest list.
    """
    ready = [(run.objective, run.model.used) for run in runs if run.objective is not None]
    first = ready[0][1] if ready else 0
    others = wanted or _registered(data, cutoff_of(runs, metric))
    offered: list[tuple[AnyObjective, int]] = []
    for one, iteration in (*ready, *((other, first) for other in others)):
        if all(one != kept for kept, _ in offered):
            offered.append((one, iteration))
    columns = label_columns(data)
    written = objective_data(
        [one for one, _ in offered],
        labels=columns,
        shown={source: column[rows] for source, column in columns.items()},
        longest=longest,
        iteration=[iteration for _, iteration in offered],
    )
    notes += [f"{note}." for note in written.notes]
    return written.data


def cutoff_of(runs: list[ShownModel], metric: Metric) -> int:
    """That of the first run which has one, else of the metric."""
    found = [known_cutoff(run.objective) for run in runs if run.objective is not None]
    return next((k for k in (*found, metric.k) if k), USUAL_K)


def wanted_objectives(given: Any, k: int) -> list[AnyObjective]:
    """Objectives that somebody asks for; a name without a cutoff gets `k`.

    >>> [one.arguments for one in wanted_objectives(["lambdagap-x", "ranknet"], 5)]
    [{'k': 5}, {}]
    """
    is_one = isinstance(given, (str, AnyObjective, Mapping))
    several = [] if given is None else [given] if is_one else list(given)
    return [at_cutoff(one, k) for one in several]


def label_columns(data: RankingData) -> dict[str | None, Floats]:
    """All label columns by the names that objectives call them; None is the first."""
    columns: dict[str | None, Floats] = {None: data.labels}
    if data.label_name != "label":
        columns[data.label_name] = data.labels
    columns.update(data.sources)
    return columns


def _registered(data: RankingData, k: int) -> list[AnyObjective]:
    made = []
    for entry in rf.objectives():
        source = _clicks(data) if entry.of_clicks else None
        if entry.of_clicks and source is None and not _are_shares(data.labels):
            continue
        made.append(_make(entry, k, source))
    return made


def _make(entry: Entry, k: int, source: str | None) -> AnyObjective:
    cutoff = k if entry.has_cutoff else None
    return rf.objective(entry.name, k=cutoff, source=source)


def _clicks(data: RankingData) -> str | None:
    """The first source that can be shares of clicks."""
    return next((name for name, values in data.sources.items() if _are_shares(values)), None)


def _are_shares(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return bool(known.size) and float(known.min()) >= 0.0 and float(known.max()) <= 1.0
