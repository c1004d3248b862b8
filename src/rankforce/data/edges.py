"""Where bins of features end: found from a look at all rows, and from values of some of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import draw_share, hash_keys, hash_numbers
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import get_pool, run_rows
from rankforce.common.types import Floats, Ints
from rankforce.data.queries import QueryIndex, row_keys
from rankforce.data.sources import Rows, as_source
from rankforce.kernels import bins as kernels

BINS = 127  # of a column, half of LightGBM's: as good, and a tree takes an eighth less time
SAMPLE = 100_000  # rows that bins are found from
MOST_BINS = 255  # that a byte tells apart, beside the one of NaN
BEYOND = 1e300  # above all values
WIDER = 1.1  # by how much bins grow while there are too many
NO_COLUMNS = np.empty(0, np.int64)


class Edges(NamedTuple):
    """Where the bins of every column end, and what was seen of it."""

    ends: Floats  # the largest value of each bin, column after column
    starts: NDArray[np.int64]  # the first bin of each column in `ends`
    many: NDArray[np.int64]  # how many bins the values of each column have
    has_nan: NDArray[np.int64]  # whether a column has a bin for NaN, behind the others
    low: Floats
    high: Floats
    # Columns of categories, ascending: a bin has one code, which is its end, and that of NaN has
    # all others as well, those below 0 among them.
    coded: NDArray[np.int64] = NO_COLUMNS

    @property
    def usable(self) -> NDArray[np.int64]:
        """The columns that can tell rows apart."""
        return np.flatnonzero(self.many + self.has_nan > 1)

    @property
    def kinds(self) -> NDArray[np.int64]:
        """What bins columns have: bits of `kernels.bins`."""
        found = self.has_nan * kernels.HAS_NAN
        found[self.coded] |= kernels.IS_CODED
        return found

    @property
    def ranges(self) -> list[str]:
        """Least and largest values, or codes, as a model's text has them."""
        both = zip(self.low.tolist(), self.high.tolist(), strict=True)
        found = [f"[{a:.17g}:{b:.17g}]" if a < b else "none" for a, b in both]
        for column in self.coded.tolist():
            codes = self.of(column).astype(np.int64).tolist()
            found[column] = ":".join(map(str, codes)) if len(codes) > 1 else "none"
        return found

    def of(self, column: int) -> Floats:
        """The ends of the bins of one column."""
        return self.ends[self.starts[column] : self.starts[column] + self.many[column]]

    def same(self, other: Edges) -> bool:
        """Whether bins are the same."""
        return all(np.array_equal(a, b) for a, b in zip(self[:4], other[:4], strict=True))


class Survey(NamedTuple):
    """What edges are found from: the range of each column, whether values miss, some rows."""

    low: Floats
    high: Floats
    has_nan: NDArray[np.int64]
    some: Rows


def chosen_rows(rows: int, sample: int, seed: int) -> NDArray[np.int64]:
    """The numbers of the rows that edges are found from, ascending.

    >>> chosen_rows(4, 9, seed=0).tolist(), len(chosen_rows(1000, 10, seed=0))
    ([0, 1, 2, 3], 10)
    """
    if rows <= sample:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, sample, replace=False))


def chosen_documents(
    index: QueryIndex, sample: int, seed: int, team: Team = ALONE
) -> NDArray[np.int64]:
    """The same for rows of queries: those of a team's worker out of the sample of all.

    They depend on ids of queries and places within them, not on where a query stands.
    """
    rows = int(index.pointer[-1])
    total = sum(team.gather(rows))
    if total <= sample:
        return np.arange(rows)
    draws = hash_keys(row_keys(index, rows) ^ hash_numbers(seed))
    return np.flatnonzero(draw_share(draws, sample / total, team))


def survey(features: Any, chosen: Ints, *, threads: int = 1) -> Survey:
    """Look at all rows once, and keep those with these ascending numbers.

    >>> survey(np.array([[0.0], [4.0], [np.nan]], np.float32), np.array([1]))
    Survey(low=array([0.]), high=array([4.]), has_nan=array([1]), some=array([[4.]], dtype=float32))
    """
    source = as_source(features)
    width = source.shape[1]
    low, high = np.full(width, np.inf), np.full(width, -np.inf)
    missing = np.zeros(width, np.int64)
    some = np.empty((len(chosen), width), np.float32)
    for first, block in source.blocks():
        values = block.reshape(-1)

        def look(begin: int, end: int, values: Any = values) -> tuple[Floats, Floats, Any]:
            least, most = np.full(width, np.inf), np.full(width, -np.inf)
            count = np.zeros(width, np.int64)
            kernels.look_block(begin, end, width, values, least, most, count)
            return least, most, count

        for least, most, count in run_rows(look, len(block), threads):
            np.minimum(low, least, out=low)
            np.maximum(high, most, out=high)
            missing += count
        a, b = np.searchsorted(chosen, [first, first + len(block)])
        some[a:b] = block[chosen[a:b] - first]
    return Survey(low, high, (missing > 0).astype(np.int64), some)


def join_surveys(parts: Sequence[Survey]) -> Survey:
    """The survey of parts that stand one behind the other."""
    low, high, has_nan, some = zip(*parts, strict=True)
    return Survey(
        np.minimum.reduce(low),
        np.maximum.reduce(high),
        np.maximum.reduce(has_nan),
        np.concatenate(some),
    )


def find_team_edges(
    features: Any,
    index: QueryIndex,
    *,
    most: int = BINS,
    sample: int = SAMPLE,
    seed: int = 0,
    threads: int = 1,
    team: Team = ALONE,
) -> Edges:
    """Edges from documents of all workers, the same at each, however they share them out."""
    chosen = chosen_documents(index, sample, seed, team)
    own = survey(features, chosen, threads=threads)
    seen = join_surveys([Survey(**one) for one in team.gather(own._asdict())])
    return find_all_edges(seen, most=min(most, MOST_BINS), threads=threads)


def find_all_edges(
    seen: Survey, *, most: int = BINS, threads: int = 1, categorical: Collection[int] = ()
) -> Edges:
    """Bins of every column: `most` at most, the one of NaN included.

    >>> rows = np.array([[0.0], [4.0], [1.0], [np.nan]], np.float32)
    >>> find_all_edges(survey(rows, np.arange(4)), most=3).ends.tolist()
    [0.5, 1e+300]
    """

    coded = np.array(sorted(categorical), np.int64)
    has_nan = seen.has_nan.copy()
    has_nan[coded] = (seen.has_nan[coded] > 0) | (seen.low[coded] < seen.high[coded])

    def find(column: int) -> Floats:
        values = seen.some[:, column]
        if column in categorical:
            return find_codes(values, most - 1)
        known = values[~np.isnan(values)] if seen.has_nan[column] else values
        found, counts = np.unique(known, return_counts=True)
        edges = find_edges(found.astype(np.float64), counts, most - seen.has_nan[column])
        return np.append(edges, BEYOND)

    found = get_pool(threads).map(find, range(seen.some.shape[1]))
    many = np.array([len(one) for one in found], np.int64)
    starts = np.cumsum(many) - many
    ends = np.concatenate([*found, np.empty(0)])
    return Edges(ends, starts, many, has_nan, seen.low, seen.high, coded)


def find_codes(values: Rows, most: int) -> Floats:
    """The most frequent codes of categories, ascending; of as frequent ones the smallest.

    >>> find_codes(np.array([7.0, 2, 2, np.nan, 0, -1], np.float32), 2).tolist()
    [0.0, 2.0]
    """
    found, counts = np.unique(np.trunc(values[values >= 0.0]), return_counts=True)
    kept = np.argsort(-counts, kind="stable")[:most]
    return np.sort(found[kept].astype(np.float64))


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
