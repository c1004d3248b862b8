"""A number that stands for what is missing, as XGBoost's `missing`."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData


def mark_missing(features: Any, value: float | None) -> Any:
    """The float32 features with NaN in place of `value`; the same ones if that is None.

    >>> mark_missing(np.array([[1.0, -1.0]], np.float32), -1.0)
    array([[ 1., nan]], dtype=float32)
    """
    if value is None:
        return features
    if isinstance(features, np.ndarray):
        return np.where(features == np.float32(value), np.float32(np.nan), features)
    if value == 0:
        raise RankforceError(
            "missing is 0: in a sparse matrix that would be all that is not stored; "
            "zero_as_missing=True says so"
        )
    marked = features.copy()
    marked.data[marked.data == np.float32(value)] = np.nan
    return marked


def with_missing(data: RankingData, value: float | None) -> RankingData:
    """The same data with NaN in place of `value`."""
    if value is None:
        return data
    changed = copy.copy(data)
    changed.features = mark_missing(data.features, value)
    return changed
