"""Which labels an objective or a metric reads, and which documents it may pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.forces.prepare import check_labels

LABEL = "label"  # what the labels are called where they have no name


def label_column(labels: Any, source: str | None, who: str, rows: int) -> Floats:
    """The labels of `source`, one for each of `rows`; NaN where a source does not know one.

    `labels` are one per row, a dictionary of such by name, or a `RankingData`. Without a source,
    the first of a dictionary, or the labels of the data.

    >>> labels = {"grade": [2, 0], "click": [0.5, float("nan")]}
    >>> label_column(labels, "click", "RankNet", 2).tolist()
    [0.5, nan]
    """
    column = _find_column(labels, source, who)
    if len(column) != rows:
        which = "" if source is None else f" {source!r}"
        raise RankforceError(f"there are {len(column)} labels{which} for {rows} rows")
    return column


def _find_column(labels: Any, source: str | None, who: str) -> Floats:
    if hasattr(labels, "features"):  # RankingData
        return check_labels(labels.column(source), missing=source is not None)
    if isinstance(labels, Mapping):
        names = [name for name in labels if name != PREFERENCES]
        name = names[0] if source is None and names else source
        if name not in names:
            has = ", ".join(map(repr, names)) or "none"
            raise RankforceError(f"{who} reads the labels {name!r}, but those there are {has}")
        return check_labels(labels[name], missing=True)
    if source not in (None, LABEL):
        message = f"give labels by name, as in {{'label': ..., {source!r}: ...}}"
        raise RankforceError(f"{who} reads the labels {source!r}: {message}")
    return check_labels(labels)


PREFERENCES = "preferences"  # under this name a dictionary of labels holds explicit pairs


def count_rows(labels: Any) -> int:
    """Number of rows that `labels` are for."""
    if hasattr(labels, "features"):
        return int(labels.rows)
    if isinstance(labels, Mapping):
        columns = [values for name, values in labels.items() if name != PREFERENCES]
        if not columns:
            raise RankforceError("there are no labels by name: give one number per row for each")
        return len(check_labels(columns[0], missing=True))
    return len(np.asarray(labels))


def index_of(labels: Any, *, group: ArrayLike | None, qid: ArrayLike | None) -> QueryIndex:
    """The queries that labels are of: those of a `RankingData`, or of `group` or `qid`."""
    if hasattr(labels, "features"):  # RankingData
        if group is not None or qid is not None:
            raise RankforceError("group= and qid= are for labels: the data knows its queries")
        index: QueryIndex = labels.index
        return index
    return index_queries(count_rows(labels), group=group, qid=qid)


def tiers_of(
    labels: Floats, above: Sequence[Floats], *, leave_out_zeros: bool
) -> NDArray[np.int64] | None:
    """The tier of each row: only rows of one tier are paired. None if all are in one.

    Rows of a query are in one tier if no source `above` tells them apart. A row whose label is
    missing here or above, or 0 where zeros are left out, is in a tier of its own, so that it is in
    no pair (Svore et al. 2011, section 4.2).

    >>> tiers_of(np.array([3.0, 0.0, 1.0]), [np.array([2.0, 2.0, 2.0])], leave_out_zeros=True)
    array([1, 2, 1])
    """
    is_out = np.isnan(labels)
    for values in above:
        is_out |= np.isnan(values)
    if leave_out_zeros:
        is_out |= labels == 0.0
    if not above and not is_out.any():
        return None
    tier = np.zeros(len(labels), np.int64)
    for values in above:
        _, number = np.unique(np.where(is_out, 0.0, values), return_inverse=True)
        number = number.reshape(-1)
        _, tier = np.unique(tier * (number.max(initial=0) + 1) + number, return_inverse=True)
        tier = tier.reshape(-1).astype(np.int64)
    tier[is_out] = tier.max(initial=0) + 1 + np.arange(np.count_nonzero(is_out))
    return tier
