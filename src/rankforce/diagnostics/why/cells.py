"""Values of features between which no tree of a forest tells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Ints
from rankforce.kernels.trees import CATEGORICAL, ZERO, ZERO_MISSING
from rankforce.models.forest.tree import MISSING_NAN, MISSING_SHIFT, Tree, stack
from rankforce.models.forest.xgboost_tree import to_codes
from rankforce.models.model import Model

Singles = NDArray[np.float32]
NUMBER, CODE, MISSING = 0, 1, 2  # kinds of cells
INFINITY = np.float32(np.inf)
LARGEST = np.finfo(np.float32).max


class Cells(NamedTuple):
    """Cells of features, those of a feature together: numbers in order, or codes; then missing.

    A forest gives all values of a cell the same score, so one of each says everything.
    """

    column: Ints
    kind: Ints
    low: Singles  # numbers above this
    high: Singles  # up to this; or the code; NaN: missing

    def take(self, which: Any) -> Cells:
        """Some of them: a slice, or one truth value for each."""
        return Cells(self.column[which], self.kind[which], self.low[which], self.high[which])

    def each(self) -> Iterator[tuple[int, slice]]:
        """Each feature with the place of its cells."""
        columns, starts = np.unique(self.column, return_index=True)
        ends = np.append(starts, len(self.column))[1:]
        for column, start, end in zip(columns.tolist(), starts, ends, strict=True):
            yield column, slice(int(start), int(end))

    def nearest(self, row: Singles, missing: float | None = None) -> Singles:
        """In each cell the value next to that of a row, which is not one that counts as missing."""
        own = row[self.column]
        above = np.nextafter(self.low, INFINITY)
        value = np.where(own > self.high, self.high, np.where(own <= self.low, above, own))
        gap = np.isnan(own)
        value = np.where(gap, np.where(np.isfinite(self.high), self.high, above), value)
        is_zero = (np.abs(value) <= ZERO) & (self.low < 0.0) & (self.high >= 0.0)
        value = np.where(is_zero, np.float32(0.0), value)
        if missing is not None:
            away = np.where(value < own, -INFINITY, INFINITY)
            value = np.where(value == np.float32(missing), np.nextafter(value, away), value)
        value = np.clip(value, -LARGEST, LARGEST)
        return np.where(self.kind == NUMBER, value, self.high).astype(np.float32)


def find_cells(model: Model, columns: Sequence[int]) -> Cells:
    """The cells of some features in the trees that make the scores."""
    trees = model.trees[: model.used]
    nodes = stack(trees)
    feature, flags = nodes.nodes[:, 0], nodes.nodes[:, 3]
    gaps = _columns_with_gaps(trees)
    parts = []
    for column in columns:
        own = feature == column
        if not own.any():
            continue
        if (flags[own] & CATEGORICAL).any():
            parts.append(_codes(column, _known_codes(model, trees, column)))
            continue
        edges = nodes.thresholds[own]
        if (flags[own] & ZERO_MISSING).any():
            edges = np.r_[edges, np.nextafter(-ZERO, -INFINITY), ZERO]
        parts.append(_numbers(column, edges, column in gaps))
    parts.append(_codes(0, []).take(slice(0)))
    return Cells(
        np.concatenate([one.column for one in parts]),
        np.concatenate([one.kind for one in parts]),
        np.concatenate([one.low for one in parts]),
        np.concatenate([one.high for one in parts]),
    )


def _columns_with_gaps(trees: Sequence[Tree]) -> set[int]:
    """Features of numbers that trees have a rule for missing values of."""
    found: set[int] = set()
    for tree in trees:
        has_rule = (tree.rule >> MISSING_SHIFT) & 3 == MISSING_NAN
        found |= set(tree.feature[has_rule & ~tree.is_categorical].tolist())
    return found


def _numbers(column: int, edges: Singles, has_gaps: bool) -> Cells:
    known = np.unique(edges[np.isfinite(edges)])
    low, high = np.r_[-INFINITY, known], np.r_[known, INFINITY]
    kind = np.full(len(low), NUMBER)
    if has_gaps:
        low, high, kind = np.r_[low, np.nan], np.r_[high, np.nan], np.r_[kind, MISSING]
    return _cells(column, kind, low, high)


def _codes(column: int, codes: Sequence[int]) -> Cells:
    high = np.r_[np.array(codes, np.float32), np.float32(np.nan)]
    kind = np.r_[np.full(len(codes), CODE), MISSING]
    return _cells(column, kind, np.full(len(high), np.nan), high)


def _cells(column: int, kind: NDArray[np.int64], low: Singles, high: Singles) -> Cells:
    columns = np.full(len(kind), column, np.int64)
    return Cells(columns, kind.astype(np.int64), low.astype(np.float32), high.astype(np.float32))


def _known_codes(model: Model, trees: Sequence[Tree], column: int) -> list[int]:
    """Codes of a categorical feature: of its values, of training data, or those in trees."""
    if column in model.categories:
        return list(range(len(model.categories[column])))
    known = model.scorer.ranges[column]
    if known != "none" and not known.startswith("["):
        return sorted(int(float(code)) for code in known.split(":") if float(code) >= 0)
    found: set[int] = set()
    for tree in trees:
        own = tree.is_categorical & (tree.feature == column)
        for which in tree.threshold[own].astype(np.int64):
            found |= {*to_codes(tree.words[tree.sets[which] : tree.sets[which + 1]])}
    return sorted(found)
