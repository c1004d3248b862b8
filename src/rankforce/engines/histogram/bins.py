"""Bins of features: few numbers for many, so that forces can be added up by them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import get_pool, run_rows
from rankforce.common.types import Floats
from rankforce.kernels import growing as kernels
from rankforce.models.forest.tree import floor_float32

BEYOND = 1e300  # above all values
WIDER = 1.1  # by how much bins grow while there are too many


class Bins(NamedTuple):
    """Features in bins, row by row, and where bins of a column end."""

    values: NDArray[np.uint8]
    ends: Floats  # the largest value of each bin, column after column
    starts: NDArray[np.int64]  # the first bin of each column in `ends`
    many: NDArray[np.int64]  # how many bins the values of each column have
    has_nan: NDArray[np.int64]  # whether a column has a bin for NaN, behind the others
    usable: NDArray[np.int64]  # the columns that can tell rows apart
    ranges: list[str]  # as a model's text has them


def make_bins(
    features: NDArray[np.float32], *, most: int, sample: int, seed: int, threads: int
) -> Bins:
    """Bins of every column, found from `sample` rows: `most` at most, the one of NaN included.

    >>> bins = make_bins(np.array([[0.0], [4.0], [1.0], [np.nan]], np.float32), most=3, sample=9,
    ...                  seed=0, threads=1)
    >>> bins.values.ravel().tolist(), bins.ends.tolist(), bins.ranges
    ([0, 1, 1, 2], [0.5, 1e+300], ['[0:4]'])
    """
    rows, columns = features.shape
    some: slice | NDArray[np.int64] = slice(None)
    if rows > sample:
        some = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))

    def look(column: int) -> tuple[Floats, bool, str]:
        values = features[:, column]
        is_nan = np.isnan(values)
        has_nan = bool(is_nan.any())
        known = values[some][~is_nan[some]]
        found, counts = np.unique(known, return_counts=True)
        whole = values[~is_nan] if has_nan else values
        low, high = (whole.min(), whole.max()) if len(whole) else (0.0, 0.0)
        shown = f"[{low:.17g}:{high:.17g}]" if low < high else "none"
        return find_edges(found.astype(np.float64), counts, most - has_nan), has_nan, shown

    found = get_pool(threads).map(look, range(columns))
    ends = [np.append(edges, BEYOND) for edges, _, _ in found]
    many = np.array([len(one) for one in ends])
    starts = np.cumsum(many) - many
    flat = np.concatenate(ends)
    limits = floor_float32(flat)
    out = np.empty((rows, columns), np.uint8)
    values = features.reshape(-1)

    def work(first: int, last: int) -> None:
        kernels.bin_block(first, last, columns, values, limits, starts, many, out)

    run_rows(work, rows, threads)
    has_nan = np.array([one for _, one, _ in found], np.int64)
    usable = np.flatnonzero(many + has_nan > 1)
    return Bins(out, flat, starts, many, has_nan, usable, [shown for _, _, shown in found])


def find_edges(values: Floats, counts: NDArray[np.int64], most: int) -> Floats:
    """Where bins end: between two values, so that bins have about as many rows each.

    `values` are distinct and ascending. One that is too frequent for a bin has it by itself.

    >>> find_edges(np.array([0.0, 1.0, 2.0, 3.0]), np.array([9, 1, 1, 1]), 2).tolist()
    [0.5]
    """
    number = np.arange(len(values)) if len(values) <= most else _share(counts, most)
    last = np.flatnonzero(np.diff(number))
    low, high = values[last], values[last + 1]
    return np.asarray(np.minimum(low + (high - low) / 2.0, np.nextafter(high, -np.inf)))


def _share(counts: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The bin of each of many values."""
    is_frequent = np.zeros(len(counts), bool)
    size = counts.sum() / most
    while True:  # frequent values leave less to the others
        more = counts > size
        left = most - more.sum()
        if (more == is_frequent).all() or left < 1:
            break
        is_frequent, size = more, counts[~more].sum() / left
    while True:
        rest = np.where(is_frequent, 0, counts)
        middle = np.cumsum(rest) - rest / 2.0
        # Each stretch between frequent values has bins of its own.
        place = np.floor(middle / size)
        ends = (np.diff(place) > 0) | is_frequent[1:] | is_frequent[:-1]
        number = np.concatenate([[0], np.cumsum(ends)])
        if number[-1] < most:
            return number
        size *= WIDER
        is_frequent &= counts > size
