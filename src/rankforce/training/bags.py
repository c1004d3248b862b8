"""Bags: the rows that a tree is grown on, drawn anew every `subsample_freq` trees."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import FIRST_BITS, draw_share, find_last, hash_keys, hash_numbers
from rankforce.common.team import Team
from rankforce.common.threads import ROWS, run_rows
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.kernels import draws as kernels
from rankforce.training.settings import Settings

_SHIFT = 64 - FIRST_BITS


class Bag:
    """The rows of one draw."""

    def __init__(self, is_in: NDArray[np.bool_], queries: Floats, threads: int) -> None:
        self.is_in = is_in
        self.queries = queries  # 1 or 0 for each; none where rows are drawn
        self._threads = threads

    @cached_property
    def weight(self) -> Floats:
        """1 for the rows that are in, 0 for the others."""
        return self.is_in.astype(np.float64)

    @property
    def rows(self) -> NDArray[np.int32]:
        """The rows that are in, in order."""
        return self._numbers[0]

    @property
    def rest(self) -> NDArray[np.int32]:
        """The others, in order."""
        return self._numbers[1]

    @cached_property
    def _numbers(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        is_in, threads = self.is_in, self._threads

        def count(first: int, last: int) -> int:
            return int(np.count_nonzero(is_in[first:last]))

        counts = run_rows(count, len(is_in), threads)
        before = np.cumsum([0, *counts])
        inside = np.empty(before[-1], np.int32)
        outside = np.empty(len(is_in) - len(inside), np.int32)

        def work(first: int, last: int) -> None:
            kernels.number_rows(first, last, before[first // ROWS], is_in, inside, outside)

        run_rows(work, len(is_in), threads)
        return inside, outside


class Bags:
    """Draws the bags of a run, one after the other."""

    def __init__(
        self, index: QueryIndex, keys: NDArray[np.uint64], settings: Settings, team: Team
    ) -> None:
        self._index, self._keys, self._settings, self._team = index, keys, settings, team
        self._threads = settings.thread_count
        self._number = -1  # of the last one
        self._last: Bag | None = None

    def at(self, iteration: int) -> Bag | None:
        """The bag of an iteration; None if all rows are in."""
        settings = self._settings
        if settings.subsample >= 1.0 or settings.subsample_freq == 0:
            return None
        number = iteration // settings.subsample_freq
        if self._last is None or number != self._number:
            key = hash_numbers(settings.seed, number)
            draw = self._draw_queries if settings.subsample_by == "query" else self._draw_rows
            self._number, self._last = number, draw(key)
        return self._last

    def _draw_queries(self, key: np.uint64) -> Bag:
        index = self._index
        queries = draw_share(hash_keys(index.key ^ key), self._settings.subsample, self._team)
        by_place = np.repeat(queries > 0.0, index.sizes)
        is_in = by_place
        if len(index.row):
            is_in = np.empty(len(self._keys), np.bool_)
            is_in[index.row] = by_place
        return Bag(is_in, queries, self._threads)

    def _draw_rows(self, key: np.uint64) -> Bag:
        """As `draw_share` of hashed keys, in the pace of compiled code."""
        keys, threads = self._keys, self._threads

        def count(first: int, last: int) -> NDArray[np.int64]:
            counts = np.zeros(1 << FIRST_BITS, np.int64)
            kernels.count_draws(first, last, keys, key, _SHIFT, counts)
            return counts

        def keep(begin: int) -> NDArray[np.uint64]:
            def work(first: int, last: int) -> NDArray[np.uint64]:
                found = np.empty(last - first, np.uint64)
                return found[: kernels.keep_draws(first, last, keys, key, _SHIFT, begin, found)]

            return np.concatenate([np.empty(0, np.uint64), *run_rows(work, len(keys), threads)])

        counts = np.zeros(1 << FIRST_BITS, np.int64)
        for part in run_rows(count, len(keys), threads):  # none where a worker has no rows
            counts += part
        largest = find_last(counts, keep, self._settings.subsample, self._team)
        is_in = np.empty(len(keys), np.bool_)

        def mark(first: int, last: int) -> None:
            kernels.mark_draws(first, last, keys, key, largest, is_in)

        run_rows(mark, len(keys), threads)
        return Bag(is_in, np.empty(0), threads)
