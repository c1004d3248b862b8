"""Bins of features: few numbers for many, so that forces can be added up by them."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import get_pool, run_rows
from rankforce.common.types import Floats
from rankforce.data.sources import Source, as_source, to_dense
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


def make_bins(features: Any, *, most: int, sample: int, seed: int, threads: int) -> Bins:
    """Bins of every column, found from `sample` rows: `most` at most, the one of NaN included.

    >>> bins = make_bins(np.array([[0.0], [4.0], [1.0], [np.nan]], np.float32), most=3, sample=9,
    ...                  seed=0, threads=1)
    >>> bins.values.ravel().tolist(), bins.ends.tolist(), bins.ranges
    ([0, 1, 1, 2], [0.5, 1e+300], ['[0:4]'])
    """
    source = as_source(features)
    rows, columns = source.shape
    low, high, has_nan = _look(source)
    some: slice | NDArray[np.int64] = slice(None)
    if rows > sample:
        some = np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))
    seen = to_dense(source.take(some))

    def find(column: int) -> Floats:
        values = seen[:, column]
        known = values[~np.isnan(values)] if has_nan[column] else values
        found, counts = np.unique(known, return_counts=True)
        edges = find_edges(found.astype(np.float64), counts, most - has_nan[column])
        return np.append(edges, BEYOND)

    found = get_pool(threads).map(find, range(columns))
    many = np.array([len(one) for one in found])
    starts = np.cumsum(many) - many
    ends = np.concatenate(found)
    limits = floor_float32(ends)
    out = np.empty((rows, columns), np.uint8)
    for before, block in source.blocks():
        values, into = block.reshape(-1), out[before : before + len(block)]
        work = functools.partial(_bin, columns, values, limits, starts, many, into)
        run_rows(work, len(block), threads)
    both = zip(low.tolist(), high.tolist(), strict=True)
    ranges = [f"[{a:.17g}:{b:.17g}]" if a < b else "none" for a, b in both]
    return Bins(out, ends, starts, many, has_nan, np.flatnonzero(many + has_nan > 1), ranges)


def _bin(
    columns: int, values: Any, limits: Any, starts: Any, many: Any, into: Any, first: int, last: int
) -> None:
    kernels.bin_block(first, last, columns, values, limits, starts, many, into)


def _look(source: Source) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """The least and the largest value of each column, and whether some are missing."""
    found = [
        (np.fmin.reduce(block), np.fmax.reduce(block), np.isnan(block).any(axis=0))
        for _, block in source.blocks()
        if len(block)
    ]
    low, high, missing = (np.array(each) for each in zip(*found, strict=True))
    return np.fmin.reduce(low), np.fmax.reduce(high), np.asarray(missing.any(axis=0), np.int64)


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
