"""Features in bins of one byte: what trees grow on, a quarter of the size of its numbers.

A tree whose thresholds are ends of bins sends a bin where it would send each value in it. Whoever
needs the values themselves is told that they are not here.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.threads import run_rows
from rankforce.common.types import Ints
from rankforce.data.edges import (
    BINS,
    MOST_BINS,
    SAMPLE,
    Edges,
    chosen_rows,
    find_all_edges,
    survey,
)
from rankforce.data.precision import floor_float32
from rankforce.data.sources import Blocks, Rows, as_source
from rankforce.kernels import bins as kernels

WIDTH = 36  # columns of a block at most: its histograms stay in the fastest memory
NO_ROWS = np.empty(0, np.int32)


class Binned:
    """Features in bins, those of the `usable` columns; the others cannot tell rows apart.

    >>> binned = make_bins(np.array([[0.0, 7], [4.0, 7], [1.0, 7], [np.nan, 7]]), most=3)
    >>> binned.codes(slice(None)).tolist()
    [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [nan, 0.0]]
    """

    def __init__(
        self,
        bins: NDArray[np.uint8],
        edges: Edges,
        rows: int,
        *,
        names: list[str] | None = None,
        place: str = "the data",
    ) -> None:
        self.bins = bins
        self.edges = edges
        self.names = names
        self.place = place  # for messages
        self.shape = rows, len(edges.many)
        self.columns = edges.usable
        self.cut = cut_columns(len(self.columns))
        self.at, self.step = _places(self.cut, rows)
        self.many = edges.many[self.columns]

    @property
    def limits(self) -> list[NDArray[np.float32]]:
        """The largest number in each bin of each column that is here."""
        return [floor_float32(self.edges.of(column)) for column in self.columns.tolist()]

    def blocks(self, rows: int | None = None) -> Blocks:
        """An error: there are no values."""
        raise RankforceError(
            f"{self.place} has bins of features, and their values are asked for: give the data "
            "that it was made of"
        )

    def take(self, rows: Any) -> Rows:
        """An error: there are no values."""
        return next(self.blocks())[1]

    def marks(self, rows: Ints) -> Rows:
        """What it is known again by: the bins of some rows."""
        return self.codes(rows)

    def pick(self, rows: Ints) -> Binned:
        """Some rows, in the same bins."""
        columns = np.arange(len(self.columns))
        bins = np.empty(len(rows) * len(columns), np.uint8)
        kernels.gather_block(
            0, len(rows), self.bins, self.at, self.step, rows, columns, self.cut, bins
        )
        return Binned(bins, self.edges, len(rows), names=self.names, place=self.place)

    def codes(self, rows: Any) -> Rows:
        """Numbers of bins of some rows, NaN for missing values, 0 in columns that have no bins."""
        is_all = isinstance(rows, slice)
        begin, end, _ = rows.indices(self.shape[0]) if is_all else (0, len(rows), 1)
        chosen = NO_ROWS if is_all else np.arange(self.shape[0])[rows]
        out = np.zeros((max(end - begin, 0), self.shape[1]), np.float32)
        kernels.spread_block(
            begin, max(begin, end), is_all, chosen, self.shape[1], self.columns, self.bins, self.at,
            self.step, self.many, out.reshape(-1),
        )  # fmt: skip
        return out

    def walk(
        self,
        nodes: NDArray[np.int64],
        leaf: NDArray[np.int32],
        rows: NDArray[Any] | None = None,
        *,
        threads: int,
    ) -> None:
        """The leaf of all rows, or of those with these numbers, into `leaf`.

        A node has the number of a column among those that are here, the last bin that goes left,
        whether NaN does, and its children.
        """
        chosen = NO_ROWS if rows is None else rows

        def work(first: int, last: int) -> None:
            kernels.walk_block(
                first, last, rows is None, chosen, self.bins, self.at, self.step, self.many,
                nodes, leaf,
            )  # fmt: skip

        run_rows(work, len(leaf) if rows is None else len(rows), threads)


def cut_columns(columns: int) -> NDArray[np.int64]:
    """The first of the columns of each block, and their number: an even number of blocks.

    >>> cut_columns(5).tolist(), cut_columns(80).tolist()
    ([0, 5], [0, 20, 40, 60, 80])
    """
    blocks = 2 * -(-columns // (2 * WIDTH)) if columns > WIDTH else 1
    return np.linspace(0, columns, blocks + 1).astype(np.int64)


def _places(cut: NDArray[np.int64], rows: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the first row of each column stands, and how far apart its rows are."""
    width = np.diff(cut)
    first = np.repeat(cut[:-1], width)
    return first * rows + np.arange(cut[-1]) - first, np.repeat(width, width)


def bin_source(
    features: Any,
    edges: Edges,
    *,
    threads: int = 1,
    into: NDArray[np.uint8] | None = None,
    place: str = "the data",
) -> Binned:
    """The features in these bins; `into` is where the bins go, new memory by default."""
    source = as_source(features)
    rows, width = source.shape
    if into is None:
        into = np.empty(rows * len(edges.usable), np.uint8)
    binned = Binned(into, edges, rows, names=getattr(source, "names", None), place=place)
    padded = [_padded(limits) for limits in binned.limits]
    starts = np.cumsum([0, *map(len, padded)])
    ends = np.concatenate([*padded, np.empty(0, np.float32)])
    for before, block in source.blocks():
        values = block.reshape(-1)

        def work(first: int, last: int, before: int = before, values: Any = values) -> None:
            kernels.bin_block(
                first, last, before, width, values, binned.columns, ends, starts, binned.many,
                binned.at, binned.step, into,
            )  # fmt: skip

        run_rows(work, len(block), threads)
        for k in np.flatnonzero(np.isin(binned.columns, edges.coded)).tolist():
            begin, far = int(binned.at[k] + before * binned.step[k]), int(binned.step[k])
            found = _bins_of_codes(block[:, binned.columns[k]], binned.limits[k])
            into[begin : begin + (len(found) - 1) * far + 1 : far] = found
    return binned


def _bins_of_codes(values: NDArray[np.float32], codes: NDArray[np.float32]) -> NDArray[np.int64]:
    """The bin of each value of a column of categories; all that are none of these have the last.

    >>> _bins_of_codes(np.array([5.2, 2, 9, np.nan, -1]), np.array([2.0, 5.0])).tolist()
    [1, 0, 2, 2, 2]
    """
    known = np.trunc(np.where(values >= 0.0, values, -1.0))
    found = np.searchsorted(codes, known)
    is_there = np.append(codes, np.nan)[found] == known
    return np.where(is_there, found, len(codes))


def _padded(limits: NDArray[np.float32]) -> NDArray[np.float32]:
    """All but the last, which nothing is above, and infinities up to a power of two less one."""
    count = (1 << max(len(limits) - 1, 1).bit_length()) - 1
    found = np.full(count, np.inf, np.float32)
    found[: len(limits) - 1] = limits[:-1]
    return found


def make_bins(
    features: Any,
    *,
    most: int = BINS,
    sample: int = SAMPLE,
    seed: int = 0,
    threads: int = 1,
    place: str = "the data",
    categorical: Collection[int] = (),
) -> Binned:
    """The features in bins of their own, found from `sample` rows; two passes over them."""
    chosen: Ints = chosen_rows(as_source(features).shape[0], sample, seed)
    seen = survey(features, chosen, threads=threads)
    most = min(most, MOST_BINS)
    edges = find_all_edges(seen, most=most, threads=threads, categorical=categorical)
    return bin_source(features, edges, threads=threads, place=place)
