"""A model of any other kind that trees stand on: how it is known again when it is given again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.data.sources import in_memory, predicted

ROWS = 16
ONE_LIST = index_queries(ROWS)
STEP = (5**0.5 - 1) / 2  # its multiples, less their whole part, are spread evenly between 0 and 1


def outside_scores(base: Any, features: Any, index: QueryIndex | None = None) -> Floats:
    """What a model with `predict` gives, as one number for each row.

    One whose scores depend on the whole list gets the lists of the `index`.
    """
    if getattr(base, "needs_lists", False):
        lists = {} if index is None else {"qid": index.of_rows()}
        given = features if getattr(base, "takes_data", False) else in_memory(features)
        found = base.predict(given, **lists)
    else:
        found = predicted(base, features)
    scores = np.asarray(found, dtype=np.float64)
    if scores.shape != (features.shape[0],):
        rows = features.shape[0]
        raise RankforceError(
            f"base, a {type(base).__name__}, predicts shape {scores.shape} for {rows} rows: "
            "expected one number for each"
        )
    return scores


def fingerprint_of(base: Any, ranges: Sequence[str]) -> dict[str, Any]:
    """Enough of a base to notice another one: its class, and its scores of some synthetic rows."""
    scores = outside_scores(base, probe_rows(ranges), ONE_LIST)
    return {"class": type(base).__name__, "scores": scores.tolist()}


def check_outside(base: Any, known: Any, ranges: Sequence[str]) -> None:
    """Refuse a base that scores synthetic rows in another way than the one that `known` is of."""
    if known is None:
        note(
            "the model is of a version that did not record its base: whether this is the one that "
            "it was trained upon is not checked"
        )
        return
    found = outside_scores(base, probe_rows(ranges), ONE_LIST)
    if not np.allclose(found, np.array(known["scores"], np.float64), rtol=1e-6, atol=1e-9):
        raise RankforceError(
            f"base is a {type(base).__name__} with other scores than the {known['class']} that the "
            "model was trained upon: give that one"
        )


def probe_rows(ranges: Sequence[str]) -> NDArray[np.float32]:
    """Rows within the ranges of features.

    >>> probe_rows(["[0:2]", "none", "3:7"])[:2].tolist()
    [[0.0, 0.0, 3.0], [2.0, 0.0, 3.0]]
    """
    rows = np.zeros((ROWS, len(ranges)), np.float32)
    for column, info in enumerate(ranges):
        share = np.arange(1, ROWS + 1) * (column + 1) * STEP % 1.0
        share[:2] = 0.0, 1.0
        if info.startswith("["):
            low, high = map(float, info[1:-1].split(":"))
            rows[:, column] = low + share * (high - low)
        elif info != "none":
            codes = np.array(sorted(map(float, info.split(":"))))
            rows[:, column] = codes[(share * len(codes)).astype(np.int64) % len(codes)]
    return rows
