"""The smallest changes of a document after which it scores above another one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.sources import block_rows, mark_missing
from rankforce.diagnostics.why.cells import CODE, MISSING, NUMBER, Cells, Singles
from rankforce.diagnostics.why.entry import Change
from rankforce.diagnostics.why.ranked_list import RankedList, Standing, shown_value

FIRSTS = 5  # features that are tried as the first of a pair
PAIRS = 3  # that are told


class Search:
    """Changes of one document of a list, and what it has to score above."""

    def __init__(self, ranked: RankedList, cells: Cells, document: Standing, bar: float) -> None:
        self._ranked, self._model, self._cells, self._bar = ranked, ranked.model, cells, bar
        self._row = ranked.features[document.rank - 1]
        self._start = ranked.start[document.rank - 1]
        self._missing = ranked.model.parameters.get("missing")

    def singles(self) -> list[Change]:
        """For each feature the nearest value that suffices, or the best one."""
        return list(self._changes(self._row, self._cells))

    def pairs(self, singles: list[Change]) -> list[tuple[Change, Change]]:
        """Pairs of features, greedily: one that goes far at its best, and what is then enough."""
        names = self._model.feature_names
        found: dict[frozenset[str], tuple[Change, Change]] = {}
        for first in sorted(singles, key=lambda one: -one.score)[:FIRSTS]:
            column = names.index(first.feature)
            changed = self._with(self._row, column, first)
            others = self._cells.take(self._cells.column != column)
            enough = [one for one in self._changes(changed, others) if one.suffices]
            if not enough:
                continue
            second = min(enough, key=lambda one: one.size)
            # With the second in its place, the first may not have to go so far.
            beside = self._with(self._row, names.index(second.feature), second)
            [nearer] = self._changes(beside, self._cells.take(self._cells.column == column))
            pair = nearer, second._replace(score=nearer.score)
            found.setdefault(frozenset((first.feature, second.feature)), pair)
        return sorted(found.values(), key=_pair_size)[:PAIRS]

    def _with(self, row: Singles, column: int, change: Change) -> Singles:
        known = self._model.categories.get(column)
        changed = row.copy()
        if change.to is None:
            changed[column] = np.nan
        else:
            changed[column] = change.to if known is None else known.index(change.to)
        return changed

    def _changes(self, row: Singles, cells: Cells) -> Iterator[Change]:
        values = cells.nearest(row, self._missing)
        scores = self._scores(row, cells, values)
        for column, place in cells.each():
            yield self._change(row, column, cells.take(place), values[place], scores[place])

    def _scores(self, row: Singles, cells: Cells, values: Singles) -> Floats:
        """Scores of a row with one value after the other in the place of its own."""
        found = np.empty(len(values))
        step = block_rows(len(row))
        for first in range(0, len(values), step):
            part = slice(first, first + step)
            rows = np.repeat(row[None], len(values[part]), axis=0)
            rows[np.arange(len(rows)), cells.column[part]] = values[part]
            marked = mark_missing(rows, self._missing)
            found[part] = self._model.scores(marked, threads=self._ranked.threads)
        found += self._start
        return found

    def _change(
        self, row: Singles, column: int, cells: Cells, values: Singles, scores: Floats
    ) -> Change:
        """The best cell of a feature: the nearest that suffices, or the one that scores highest."""
        model, own = self._model, row[column]
        enough = scores > self._bar
        far = np.abs(values.astype(np.float64) - own)
        is_number = (cells.kind == NUMBER) & ~np.isnan(own)
        # From a gap, or to another category, no value is nearer than another: the best goes first.
        distance = np.where(is_number, far, np.inf)
        ranked = np.lexsort((distance, -scores, np.where(enough, distance, 0.0), ~enough))
        best = int(ranked[0])
        above, upto = _run(cells, enough if enough[best] else scores == scores[best], best)
        also = [
            shown_value(model, column, values[place])
            for place in ranked[1:].tolist()
            if enough[place] and cells.kind[place] in (CODE, MISSING)
        ]
        return Change(
            model.feature_names[column],
            shown_value(model, column, own),
            shown_value(model, column, values[best]),
            above,
            upto,
            also,
            *self._way(column, own, values[best], bool(is_number[best])),
            float(scores[best]),
            bool(enough[best]),
        )

    def _way(
        self, column: int, own: float, value: float, is_number: bool
    ) -> tuple[int | None, float]:
        """How far a number goes: past how many documents of the list, and how much of its range."""
        if not is_number:
            return None, 1.0
        values = self._ranked.features[:, column]
        past = (values > own) & (values <= value) | (values < own) & (values >= value)
        # A value that all have is the query's, say: whether it is far from another is not known.
        passed = None if (values == own).all() else int(past.sum())
        low, high = self._range(column)
        share = abs(float(value) - float(own)) / (high - low) if high > low else 1.0
        return passed, share

    def _range(self, column: int) -> tuple[float, float]:
        known = self._model.scorer.ranges[column]
        if known.startswith("["):
            low, high = map(float, known[1:-1].split(":"))
            return low, high
        values = self._ranked.features[:, column]
        seen = values[~np.isnan(values)]
        return (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)


def _pair_size(pair: tuple[Change, Change]) -> tuple[float, float]:
    (passed, share), (more, other) = (one.size for one in pair)
    return passed + more, share + other


def _run(cells: Cells, alike: NDArray[np.bool_], place: int) -> tuple[float | None, float | None]:
    """Ends of the run of cells around one that do as well; None: without end, or no numbers."""
    if cells.kind[place] != NUMBER:
        return None, None
    first = last = place
    while first > 0 and alike[first - 1]:
        first -= 1
    while last + 1 < len(alike) and alike[last + 1] and cells.kind[last + 1] == NUMBER:
        last += 1
    ends = cells.low[first], cells.high[last]
    low, high = (float(str(end)) if np.isfinite(end) else None for end in ends)
    return low, high
