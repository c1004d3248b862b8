"""Validation sets and what belongs to them, in the forms of LightGBM and XGBoost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.training.resume import fingerprint, same_rows
from rankforce.training.run import ScoredSet

QID = "qid"  # the column of a frame that XGBoost takes for the query of each row


def eval_pairs(eval_set: Any, eval_X: Any, eval_y: Any) -> list[Any]:
    """Validation sets as a list, however they were given: LightGBM has three ways."""
    if eval_X is not None:
        if eval_set is not None:
            raise RankforceError("give eval_set or eval_X, not both")
        several = isinstance(eval_X, (tuple, list))
        return list(zip(eval_X, eval_y, strict=True)) if several else [(eval_X, eval_y)]
    if eval_set is None:
        return []
    if isinstance(eval_set, RankingData):
        return [eval_set]
    is_one = isinstance(eval_set, tuple) and len(eval_set) == 2
    if is_one and not isinstance(eval_set[0], (tuple, RankingData)):
        return [eval_set]
    return list(eval_set)


def make_parts(
    pairs: Sequence[Any],
    train: ScoredSet,
    beside: dict[str, Any],
    *,
    names: Sequence[str] | None,
    given: tuple[Any, Any],
    make_data: Callable[[Any, dict[str, Any]], RankingData],
    start_from: Callable[[RankingData, Any], Floats | None],
) -> list[ScoredSet]:
    """The validation sets; the training set among them starts from the same scores.

    `given` is what the training set was made of, `make_data` makes others, and `start_from` says
    which scores they start from.
    """
    sets, starts = [], []
    for number, (pair, own) in enumerate(zip(pairs, each_own(beside, len(pairs)), strict=True)):
        starts.append(own.pop("init_score"))
        weight = own.pop("sample_weight")
        if is_same_pair(pair, given):
            sets.append(train.data)
            continue
        if not isinstance(pair, RankingData):
            X, own["qid"] = split_qid(pair[0], own["qid"], own["group"])
            pair = X, pair[1]
        try:
            sets.append(make_data(pair, own | weights(weight, own["qid"], own["group"])))
        except ValueError as error:
            raise RankforceError(f"eval_set[{number}]: {error}") from None
    named = name_sets(names, [data is train.data for data in sets])
    return [
        ScoredSet(name, data, train.base)
        if start is None and is_training_set(data, train.data)
        else ScoredSet(name, data, start_from(data, start))
        for name, data, start in zip(named, sets, starts, strict=True)
    ]


def each_own(given: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """For each validation set, what belongs to it."""
    found: list[dict[str, Any]] = [dict.fromkeys(given) for _ in range(count)]
    for name, values in given.items():
        if values is None:
            continue
        if len(values) != count:
            raise RankforceError(
                f"eval_{name} has {len(values)} entries for {count} validation sets"
            )
        for own, value in zip(found, values, strict=True):
            own[name] = value
    return found


def name_sets(given: Sequence[str] | None, is_train: Sequence[bool]) -> list[str]:
    """Names as given, or LightGBM's: "training" for the same object, else "valid_0" and so on."""
    if given is None:
        return ["training" if own else f"valid_{number}" for number, own in enumerate(is_train)]
    if len(given) != len(is_train):
        raise RankforceError(f"eval_names has {len(given)} entries for {len(is_train)} sets")
    return [str(name) for name in given]


def is_same_pair(pair: Any, given: tuple[Any, Any]) -> bool:
    """Whether a validation set is the very object that the training set is, or the same two."""
    if isinstance(pair, RankingData):
        return pair is given[0]
    return len(pair) == 2 and pair[0] is given[0] and (pair[1] is given[1] or pair[1] is None)


def is_training_set(data: RankingData, train: RankingData) -> bool:
    """Whether these are the rows that a model is trained on."""
    if data is train:
        return True
    return data.rows == train.rows and same_rows(fingerprint(data, None), fingerprint(train, None))


def split_qid(X: Any, qid: Any, group: Any) -> tuple[Any, Any]:
    """Features and the query of each row, which XGBoost also takes from a column of a frame.

    >>> import pandas as pd
    >>> X, qid = split_qid(pd.DataFrame({"qid": [7, 7], "age": [1, 2]}), None, None)
    >>> X.columns.tolist(), qid.tolist()
    (['age'], [7, 7])
    """
    if qid is not None or group is not None or QID not in _columns(X):
        return X, qid
    return without_qid(X, ()), np.asarray(X[QID])


def without_qid(X: Any, features: Sequence[str]) -> Any:
    """The frame without its column of queries, unless that is a feature."""
    if QID not in _columns(X) or QID in features:
        return X
    if hasattr(X, "drop_columns"):  # Arrow
        return X.drop_columns([QID])
    return X.drop(columns=[QID]) if hasattr(X, "iloc") else X.drop(QID)


def _columns(X: Any) -> list[Any]:
    if isinstance(X, np.ndarray):
        return []
    if hasattr(X, "column_names"):
        return list(X.column_names)
    return list(X.columns) if hasattr(X, "columns") else []


def weights(given: Any, qid: Any, group: Any) -> dict[str, Any]:
    """Weights of rows as LightGBM has them, or of queries as XGBoost has: their number tells."""
    if given is None:
        return {}
    count = len(np.unique(np.asarray(qid))) if qid is not None else np.size(group)
    return {"query_weight" if len(given) == count else "weight": given}
