"""Systems that score the rows of a data set."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import query_ids
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import predicted
from rankforce.evaluation.judge import Judgement
from rankforce.formats.run_forms import is_run_like
from rankforce.measures.metric import Metric
from rankforce.measures.scoreboard import Scoreboard


def judge_rows(
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


def _scores(name: str, system: Any, data: RankingData | None, rows: int) -> Floats:
    if hasattr(system, "predict"):
        if data is None:
            raise RankforceError(
                f"system {name!r} is a model: give a RankingData in place of labels"
            )
        from rankforce.training.ranker import Ranker

        try:
            system = (
                system.predict(data)
                if isinstance(system, Ranker)
                else predicted(system, data.features)
            )
        except ValueError as error:
            raise RankforceError(f"system {name!r}: {error}") from None
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


def check_weights(weights: Any, ids: NDArray[Any]) -> Floats:
    """One finite number per query, from 0 up."""
    try:
        found = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise RankforceError(
            f"weights are {reprlib.repr(weights)}: give one number per query"
        ) from None
    if found.shape != ids.shape:
        raise RankforceError(f"weights have shape {found.shape}, but there are {len(ids)} queries")
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if bad.size:
        message = "weights are finite numbers from 0 up"
        raise RankforceError(f"weight of query {ids[bad[0]]} is {found[bad[0]]}: {message}")
    if not found.any():
        raise RankforceError("all weights are 0: at least one query must count")
    return found
