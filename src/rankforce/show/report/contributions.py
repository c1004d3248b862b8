"""What features add to the scores of the documents that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import count_threads
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import in_memory, mark_missing, take_rows, to_dense
from rankforce.diagnostics.why.ranked_list import shown_value
from rankforce.models.base import NETWORK
from rankforce.models.model import Model
from rankforce.models.network.contributions import LINEAR
from rankforce.show.report.runs import ShownModel
from rankforce.training.prediction import find_contributions

FEATURES = 30  # of a query that are told one by one
DOCUMENTS = 40  # of a query, the first by rank: a page has to stay small


def contribution_records(
    run: ShownModel,
    data: RankingData,
    scores: Floats,
    lists: Sequence[NDArray[np.int64]],
    notes: list[str],
) -> list[dict[str, Any]] | None:
    """For each list of rows, which features tell its documents apart.

    None for a network that has no contributions, and where `notes` say why there are none.
    `parts` and `values` have a row for each of `documents`, which are numbers within the list, and
    a column for each of `features`. What all else adds is in `rest`.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker(n_estimators=3, num_leaves=3, progress=False).fit(data)
    >>> run, scores = ShownModel("new", ranker, None), ranker.predict(data)
    >>> [found] = contribution_records(run, data, scores, [data.index.rows_of(3)], [])
    >>> parts = np.array(found["parts"]).sum(axis=1) + found["rest"]
    >>> rows = data.index.rows_of(3)[found["documents"]]
    >>> bool(np.abs(parts - scores[rows]).max() < 1e-3)
    True
    """
    model = run.model
    first = [np.argsort(-scores[rows], kind="stable")[:DOCUMENTS] for rows in lists]
    taken = [rows[places] for rows, places in zip(lists, first, strict=True)]
    if not taken:
        return []
    if model.scorer.kind == NETWORK and model.scorer.shape["model"] != LINEAR:
        return None
    try:
        features = _features(model, data, np.concatenate(taken))
        threads = count_threads(run.ranker.threads)
        parts = find_contributions(model, features, range(model.used), threads=threads)
    except RankforceError as error:
        notes.append(f"No contributions of features in {run.name}: {error}.")
        return None
    ends = np.cumsum([len(rows) for rows in taken])[:-1]
    several = zip(first, taken, np.split(features, ends), np.split(parts, ends), strict=True)
    return [
        {"documents": places.tolist()} | _record(model, own[:, :-1], values, scores[rows])
        for places, rows, values, own in several
    ]


def _features(model: Model, data: RankingData, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    chosen = take_rows(data.like(model.schema).features, rows)
    marked = mark_missing(chosen, model.parameters.get("missing"))
    return np.ascontiguousarray(to_dense(in_memory(marked)), np.float32)


def _record(
    model: Model, parts: Floats, values: NDArray[np.float32], scores: Floats
) -> dict[str, Any]:
    spread = parts.std(axis=0)
    order = np.argsort(-spread, kind="stable")[:FEATURES]
    columns = order[spread[order] > 0.0]
    rest = scores - parts[:, columns].sum(axis=1)
    return {
        "features": [model.feature_names[column] for column in columns],
        "parts": [[_short(part) for part in row] for row in parts[:, columns].tolist()],
        "rest": [_short(one) for one in rest.tolist()],
        "values": [
            [_shown(shown_value(model, int(column), row[column])) for column in columns]
            for row in values
        ],
    }


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _shown(value: Any) -> Any:
    """A value for JSON, numbers in few digits."""
    if isinstance(value, float):
        return _short(value) if abs(value) < 1e6 else value
    return None if value is None else str(value)
