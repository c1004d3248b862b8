"""Features as a network takes them: scaled, without gaps, with codes of categories at the end.

What is known of the features of training is found by blocks of rows, in constant memory, and kept
as a few arrays: a network is saved with it, and needs the training data no more.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_choice
from rankforce.common.draws import hash_keys
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats, Ints
from rankforce.data.sources import Rows, Source, as_source

SCALINGS = ("log", "standard", "quantile", "both", "none")
# Of scaled values. A document that is unlike all of training would else have a score that nothing
# in training has held back; 8 standard deviations leave what training has seen as it is.
FARTHEST = 8.0
KNOTS = 64  # quantiles of a feature
SPAN = 4.0  # from the lowest to the highest of them, once scaled: from -2 to 2
LARGEST = 1e37  # float32 holds differences of such values
LOGGED, PLACED = ("log", "both"), ("quantile", "both")  # scalings that have logs, and quantiles
MIDDLE = (KNOTS - 1) / 2  # of the places of quantiles
SAMPLE = 50_000  # rows of which quantiles are found
STEP = 1 << 20  # numbers of a block of rows while fitting: 8 MB in float64
_LEAST_SPREAD = 1e-30  # float32 holds its inverse


def signed_log(values: Any) -> Any:
    """sign(x) log(1 + |x|): counts and scores of LETOR over many orders of magnitude, in a few.

    Qin et al. 2021 ("Are Neural Rankers still Outperformed by Gradient Boosted Decision Trees?")
    found no other change to the features to matter as much.

    >>> signed_log(np.array([0.0, np.e - 1, 1 - np.e])).tolist()
    [0.0, 1.0, -1.0]
    """
    return np.copysign(np.log1p(np.abs(values)), values)


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """How rows of features become rows for a network.

    First the columns of numbers, scaled: (t - mean) * scale, where t is the value, its signed log,
    or its place among the quantiles; "both" has the logs of all, then the places of all. A missing
    one is 0; with flags one more column, 1 for missing
    and else 0, follows for each feature that training lacks somewhere. Then come the columns of
    categories as codes 0, 1, ..., c - 1, where c stands for all that training has not seen.

    >>> rows = np.array([[1, 0], [np.nan, 1], [3, 0]], np.float32)
    >>> encoder = Encoder.fit(rows, names=["age", "kind"], categorical=[1], scaling="standard")
    >>> encoder.apply(np.array([[1, 5], [np.nan, 1]], np.float32)).tolist()
    [[-1.0, 0.0, 2.0], [0.0, 1.0, 1.0]]
    """

    names: list[str]
    scaling: str
    flags: bool
    categories: dict[int, int]  # columns of codes, and how many codes each has
    mean: NDArray[np.float32]  # these three: one for each column of numbers
    scale: NDArray[np.float32]  # 0: without variance, left out
    flagged: NDArray[np.bool_]
    knots: NDArray[np.float32]  # of quantiles, a row for each column of numbers: rising values
    places: NDArray[np.float32]  # and where each stands, 0 to KNOTS - 1

    @classmethod
    def fit(
        cls,
        features: Any,
        *,
        names: Sequence[str],
        categorical: Sequence[int] = (),
        scaling: str = "log",
        flags: bool = True,
    ) -> Encoder:
        """Look at all rows once.

        Without `flags` there is one column for each feature, in their order, and codes are scaled
        as numbers are: for a module of one's own that takes features as they come.
        """
        scaling = check_choice("scaling", scaling, SCALINGS)
        source = as_source(features)
        seen = _look(source, scaling)
        known = [c for c in categorical if flags and not seen.is_constant[c] and seen.most[c] >= 0]
        numbers = np.setdiff1d(np.arange(len(names)), known)
        some = seen.of(numbers)
        has_knots = scaling in PLACED
        knots, places = some.quantiles() if has_knots else _no_knots(len(numbers))
        return cls(
            list(names),
            scaling,
            flags,
            {c: int(seen.most[c]) + 1 for c in sorted(known)},
            *_moments(some, scaling),
            some.is_missing & (some.count > 0) if flags else np.zeros(len(numbers), bool),
            knots,
            places,
        )

    @property
    def numbers(self) -> Ints:
        """The columns of features that are numbers; those of codes are `categories`."""
        return np.setdiff1d(np.arange(len(self.names)), list(self.categories)).astype(np.int64)

    @property
    def dense(self) -> int:
        """Number of columns before those of codes: numbers, then flags."""
        return self.scaled + int(self.flagged.sum())

    @property
    def scaled(self) -> int:
        """Number of columns of scaled numbers, which come first."""
        return len(self.mean) * (2 if self.scaling == "both" else 1)

    @property
    def width(self) -> int:
        """Number of columns of an encoded row."""
        return self.dense + len(self.categories)

    @property
    def constant(self) -> list[str]:
        """Names of the features without variance: they are left out, their column is 0."""
        is_left_out = (self.scale == 0) & ~self.flagged
        return [self.names[column] for column in self.numbers[is_left_out]]

    def apply(self, block: Rows) -> Rows:
        """Rows of features, encoded."""
        check_columns(block.shape, len(self.names))
        values = block[:, self.numbers] if self.categories else block
        is_missing = np.isnan(values)
        encoded = np.empty((len(block), self.width), np.float32)
        count = len(self.mean)
        for first, values_there in enumerate(self._transformed(values)):
            scaled = encoded[:, first * count : (first + 1) * count]
            scaled[:] = values_there
            if self.scaling != "none":
                np.clip(scaled, -FARTHEST, FARTHEST, out=scaled)
            scaled[is_missing] = 0.0
        encoded[:, self.scaled : self.dense] = is_missing[:, self.flagged]
        for place, (column, count) in enumerate(self.categories.items(), self.dense):
            codes = block[:, column]
            is_known = (codes >= 0) & (codes < count)
            encoded[:, place] = np.where(is_known, np.floor(codes), count)
        return encoded

    def _transformed(self, values: Rows) -> list[Rows]:
        """The values, scaled: once, or in two ways."""
        found = []
        if self.scaling != "quantile":
            plain = signed_log(values) if self.scaling in LOGGED else values
            found.append((plain - self.mean) * self.scale)
        if self.scaling in PLACED:
            among = np.empty_like(values)
            for column, (knots, places) in enumerate(zip(self.knots, self.places, strict=True)):
                among[:, column] = np.interp(values[:, column], knots, places)
            found.append((among - np.float32(MIDDLE)) * self.stretch)
        return found

    @property
    def stretch(self) -> NDArray[np.float32]:
        """What places among quantiles are multiplied by; 0 for a column without variance."""
        return np.asarray(SPAN / (KNOTS - 1) * (self.scale != 0), np.float32)

    def record(self) -> dict[str, Any]:
        """What is not in arrays, for JSON."""
        return {
            "names": self.names,
            "scaling": self.scaling,
            "flags": self.flags,
            "categories": [[column, count] for column, count in self.categories.items()],
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays by name, to be saved beside the record."""
        return {name: getattr(self, name) for name in _ARRAYS}

    @classmethod
    def restore(cls, record: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Encoder:
        """An encoder from what was saved of it; a damaged one is refused.

        >>> encoder = Encoder.fit(np.eye(2, dtype=np.float32), names=["a", "b"])
        >>> Encoder.restore(encoder.record(), encoder.arrays()).names
        ['a', 'b']
        """
        try:
            names = [str(name) for name in record["names"]]
            scaling = check_choice("scaling", record["scaling"], SCALINGS)
            categories = {int(column): int(count) for column, count in record["categories"]}
            flags = bool(record["flags"])
        except (KeyError, TypeError, ValueError) as error:
            raise RankforceError(f"no record of encoded features: {error!r}") from None
        for column, count in categories.items():
            if not 0 <= column < len(names) or count < 1:
                raise RankforceError(
                    f"encoded features: {count} categories of column {column}, but there are "
                    f"{len(names)} features"
                )
        knots = KNOTS if scaling in PLACED else 0
        found = _check_arrays(arrays, len(names) - len(categories), knots)
        return cls(names, scaling, flags, categories, **found)


# Name -> kind of number, and whether there is one for each knot.
_ARRAYS: dict[str, tuple[type, bool]] = {
    "mean": (np.float32, False),
    "scale": (np.float32, False),
    "flagged": (np.bool_, False),
    "knots": (np.float32, True),
    "places": (np.float32, True),
}


def _check_arrays(
    arrays: Mapping[str, NDArray[Any]], numbers: int, knots: int
) -> dict[str, NDArray[Any]]:
    found = {}
    for name, (kind, is_wide) in _ARRAYS.items():
        shape = (numbers, knots) if is_wide else (numbers,)
        given = arrays.get(name)
        if given is None or given.shape != shape or given.dtype != kind:
            is_there = "is not there" if given is None else f"is {given.dtype} {given.shape}"
            expected = f"expected {np.dtype(kind).name} {shape}"
            raise RankforceError(f"encoded features: {name!r} {is_there}, {expected}")
        if not np.isfinite(given).all() or (name == "knots" and (np.diff(given) < 0).any()):
            raise RankforceError(
                f"encoded features: {name!r} holds numbers that are not finite, or fall"
            )
        found[name] = given
    return found


def check_columns(shape: Sequence[int], features: int) -> None:
    """Refuse what is no rows of so many features."""
    if len(shape) != 2 or shape[1] != features:
        raise RankforceError(
            f"features have shape {tuple(shape)}: expected rows of {features} features"
        )


class _Seen:
    """What is known of each column of the rows so far, missing values aside."""

    def __init__(self, columns: int, change: Callable[[Any], Any]) -> None:
        self.change = change
        self.sample: list[Rows] = []
        self.count, self.mean, self.square = (np.zeros(columns) for _ in range(3))
        self.least, self.most = np.full(columns, np.inf), np.full(columns, -np.inf)
        self.is_missing = np.zeros(columns, bool)

    def add(self, block: Rows) -> None:
        """Some more rows. Means and squares join as in Chan et al. 1979: nothing cancels out."""
        is_there = ~np.isnan(block)
        values: Floats = np.where(is_there, self.change(block.astype(np.float64)), 0.0)
        count = is_there.sum(axis=0)
        mean = values.sum(axis=0) / np.maximum(count, 1)
        square = (np.where(is_there, values - mean, 0.0) ** 2).sum(axis=0)
        both = self.count + count
        apart, share = mean - self.mean, count / np.maximum(both, 1)
        self.square += square + apart**2 * self.count * share
        self.mean += apart * share
        self.count = both
        self.least = np.fmin(self.least, np.fmin.reduce(block, axis=0, initial=np.inf))
        self.most = np.fmax(self.most, np.fmax.reduce(block, axis=0, initial=-np.inf))
        self.is_missing |= ~is_there.all(axis=0)

    @property
    def is_constant(self) -> NDArray[np.bool_]:
        """Columns that are the same in all rows, a missing value being one of its own."""
        return (self.least >= self.most) & ~(self.is_missing & (self.count > 0))

    def of(self, columns: Ints) -> _Seen:
        """The same of some columns."""
        some = _Seen(0, self.change)
        some.sample = [rows[:, columns] for rows in self.sample]
        for name in ("count", "mean", "square", "least", "most", "is_missing"):
            setattr(some, name, getattr(self, name)[columns])
        return some

    def quantiles(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Knots and their places; values that stand at several places have the middle of them."""
        shape = len(self.count), KNOTS
        knots, places = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        sample = np.concatenate(self.sample)
        for column in np.flatnonzero(self.least < self.most):
            values = sample[:, column]
            ends = [self.least[column]], [self.most[column]]
            known = np.sort(np.concatenate([ends[0], values[~np.isnan(values)], ends[1]]))
            chosen = known[np.rint(np.linspace(0, len(known) - 1, KNOTS)).astype(np.int64)]
            own, first, times = np.unique(
                np.clip(chosen, -LARGEST, LARGEST), return_index=True, return_counts=True
            )
            knots[column], places[column, : len(own)] = own[-1], first + (times - 1) / 2
            knots[column, : len(own)] = own
            places[column, len(own) :] = places[column, len(own) - 1]
        return knots, places


def _look(source: Source, scaling: str) -> _Seen:
    """One pass over the rows, and some of them, drawn by what is in them, for quantiles."""
    rows, columns = source.shape
    seen = _Seen(columns, signed_log if scaling in LOGGED else np.asarray)
    for _, block in source.blocks(max(STEP // max(columns, 1), 1)):
        seen.add(block)
        if scaling in PLACED:
            seen.sample.append(block[_draws(block) < SAMPLE / max(rows, 1)])
    return seen


def _draws(block: Rows) -> Floats:
    """A number from 0 to 1 for each row that its values decide, wherever it stands in the file."""
    bits = np.ascontiguousarray(block, np.float32).view(np.uint32).astype(np.uint64)
    odd = hash_keys(np.arange(block.shape[1], dtype=np.uint64)) | np.uint64(1)
    return np.asarray(hash_keys(bits @ odd) / 2.0**64)


def _moments(seen: _Seen, scaling: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """What to take from each column, and what to multiply it by."""
    varies = seen.least < seen.most
    if scaling == "none":
        return np.zeros(len(varies), np.float32), varies.astype(np.float32)
    if scaling == "quantile":
        return np.zeros(len(varies), np.float32), varies.astype(np.float32)
    spread = np.sqrt(seen.square / np.maximum(seen.count, 1))
    scale = np.where(varies, 1.0 / np.maximum(spread, _LEAST_SPREAD), 0.0)
    return np.clip(seen.mean, -LARGEST, LARGEST).astype(np.float32), scale.astype(np.float32)


def _no_knots(columns: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    return np.zeros((columns, 0), np.float32), np.zeros((columns, 0), np.float32)
