"""Values of metrics for whatever ranks: scores, models, or runs of TREC."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from numpy.typing import NDArray

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.threads import check_threads
from rankforce.common.types import Floats
from rankforce.formats.run_forms import is_run_like
from rankforce.measures.metric import Metric
from rankforce.measures.scoreboard import Scoreboard

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
    from rankforce.evaluation.row_systems import judge_rows
    from rankforce.evaluation.trec_systems import judge_runs

    check_systems(systems)
    check_choice("missing", missing, MISSING)
    check_threads(threads)
    names = [metric.name for metric in metrics]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RankforceError(f"two metrics are called {twice}: they must differ in their names")
    if not _are_qrels(labels):
        return judge_rows(
            systems, labels, metrics, group=group, qid=qid, weights=weights, threads=threads
        )
    for key, value in (("group", group), ("qid", qid), ("weights", weights)):
        if value is not None:
            raise RankforceError(f"{key}= is for labels by row: qrels know their queries")
    return judge_runs(systems, labels, metrics, missing=missing, threads=threads)


def check_systems(systems: Any, key: str = "systems", inside: str = "scores") -> None:
    """A dictionary with texts as names."""
    if not isinstance(systems, Mapping) or not systems:
        found = "an empty dictionary" if isinstance(systems, Mapping) else type(systems).__name__
        raise RankforceError(f"{key} is {found}: give a dictionary, {{'name': {inside}, ...}}")
    for name in systems:
        if not isinstance(name, str) or not name:
            raise RankforceError(f"the name of a system is {name!r}: it must be a text")


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
