"""Our own grower of trees: exact sums of integer forces in bins, on the rows of a bag alone.

LightGBM's integer histograms are not sound with sampled columns, and it cannot be told which rows
are in a bag. Here a tree that sees part of the rows and columns costs that part (docs/adr/0029).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import check_number, check_whole
from rankforce.common.draws import hash_keys, hash_numbers
from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.binned import Binned, cut_columns, make_bins
from rankforce.data.edges import BINS, MOST_BINS, SAMPLE
from rankforce.engines.base import Grown
from rankforce.engines.codes import note_negative
from rankforce.engines.histogram.details import describe
from rankforce.engines.histogram.growth import Frame, Growth, Part
from rankforce.engines.shared_bins import binned
from rankforce.engines.steps import find_steps
from rankforce.kernels import bins as bin_kernels
from rankforce.kernels import growing as kernels
from rankforce.kernels.splits import COUNT, FORCE, HESSIAN, SET
from rankforce.models.forest.tree import Tree

# Settings of trees that it has, and parameters under LightGBM's names.
KNOWN = {
    "num_leaves",
    "max_depth",
    "min_child_samples",
    "min_child_weight",
    "min_split_gain",
    "reg_alpha",
    "reg_lambda",
    "colsample_bytree",
    "quantised",
    "quantised_levels",
    "in_bag",
}
# How bins are made; feature_pre_filter changes nothing here.
BINNING: dict[str, Callable[[Any], Any]] = {
    "max_bin": functools.partial(check_whole, "max_bin", least=2),
    "bin_construct_sample_cnt": functools.partial(check_whole, "bin_construct_sample_cnt", least=1),
    "data_random_seed": functools.partial(check_whole, "data_random_seed", least=0),
    "feature_pre_filter": bool,
}
# How sets of categories are found, and LightGBM's defaults, in the order of `kernels.splits`.
CATEGORIES: dict[str, Callable[[Any], Any]] = {
    "cat_smooth": functools.partial(check_number, "cat_smooth", least=0.0),
    "cat_l2": functools.partial(check_number, "cat_l2", least=0.0),
    "max_cat_threshold": functools.partial(check_whole, "max_cat_threshold", least=1),
    "max_cat_to_onehot": functools.partial(check_whole, "max_cat_to_onehot", least=1),
    "min_data_per_group": functools.partial(check_whole, "min_data_per_group", least=1),
}
USUAL_CATEGORIES = (10.0, 10.0, 32, 4, 100)
OWN = BINNING | CATEGORIES
USUAL = {"colsample_bynode": 1.0}  # what changes nothing
MOST_SUM = 1 << 31  # of forces in steps
DEEPEST = 1 << 30  # without a limit
ATTEMPTS = 5  # few rows, rounded by chance, may all come out as 0: then the dice are thrown again


def most_rows(parameters: Mapping[str, Any]) -> int:
    """How many rows of a force have sums in 32 bits, those of all workers.

    >>> most_rows({"quantised_levels": 32})
    67108863
    """
    return MOST_SUM // int(parameters["quantised_levels"]) - 1


def lacks(parameters: Mapping[str, Any], categorical: Sequence[int]) -> str | None:
    """What is asked and not here, in words.

    >>> lacks({"num_leaves": 31, "path_smooth": 1.0}, []), lacks({"max_bin": 63}, [])
    ('path_smooth', None)
    """
    if parameters.get("quantised") is False:
        return "quantised=False"
    if parameters.get("max_bin", 0) > MOST_BINS:
        return f"max_bin above {MOST_BINS}"
    known = {*KNOWN, *OWN}
    unknown = {name: value for name, value in parameters.items() if name not in known}
    return next((name for name, value in unknown.items() if value != USUAL.get(name)), None)


def few_rows(levels: int) -> int:
    """How many rows have sums of forces and of hessians in 16 bits each.

    >>> few_rows(64)
    992
    """
    return min(32767 // (levels // 2 + 1), 65535 // (levels + 1))


def draw_columns(
    usable: NDArray[np.int64], share: float, seed: int, iteration: int
) -> NDArray[np.int64]:
    """The columns that a tree may split on, by their numbers among the usable ones."""
    count = max(round(share * len(usable)), 1)
    if count == len(usable):
        return np.arange(count)
    draws = hash_keys(usable.astype(np.uint64) ^ hash_numbers(seed, iteration))
    return np.sort(np.argpartition(draws, count - 1)[:count])


class Histogram:
    """An `Engine`: grows trees on one feature matrix."""

    def __init__(
        self,
        features: Any,
        *,
        feature_names: list[str],
        categorical: list[int],
        parameters: dict[str, Any],
        seed: int,
        threads: int,
        team: Team = ALONE,
    ) -> None:
        self.leaf_rules: list[str] = []
        self.about: dict[str, str] = {}
        self._seed, self._threads, self._team = seed, threads, team
        rows = sum(team.gather(features.shape[0]))
        self._share = parameters["colsample_bytree"]
        self._levels = parameters["quantised_levels"]
        names = ("min_child_weight", "min_split_gain", "reg_alpha", "reg_lambda")
        limits = [parameters["min_child_samples"], *map(parameters.get, names)]
        self._rules = np.array([*limits, *category_rules(parameters)], np.float64)
        self.how = f"forces quantised to {self._levels} levels, leaves in full precision"
        if categorical and team.size > 1:
            raise RankforceError(
                f"feature {feature_names[categorical[0]]!r} is categorical, which goes with "
                "LightGBM's trees alone over several workers: choose engine='lightgbm'"
            )
        note_negative(features, feature_names, categorical)
        self._bins = open_bins(features, parameters, categorical, seed=seed, threads=threads)
        edges = self._bins.edges
        most = int((edges.many + edges.has_nan).max(initial=1))
        self._frame = Frame(
            most=min(parameters["num_leaves"], max(rows, 2)),
            deepest=parameters["max_depth"] if parameters["max_depth"] > 0 else DEEPEST,
            shift=max((most - 1).bit_length(), 1),
            chunk=few_rows(self._levels),
        )
        if not len(self._bins.columns):
            raise RankforceError("no feature can tell documents apart: all are constant")
        self._whole: Part | None = None  # all rows and columns
        self._totals = np.empty((0, 0), np.int64)

    @property
    def ranges(self) -> list[str]:
        """The least and the largest value of each feature."""
        return self._bins.edges.ranges

    def grow(
        self,
        lam: Floats,
        hess: Floats,
        iteration: int,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32] | None,
    ) -> Grown | None:
        """The tree for these forces; None if no split is worth it."""
        part = self._take(
            rows, draw_columns(self._bins.columns, self._share, self._seed, iteration)
        )
        shape = self._frame.most, len(part.columns) << self._frame.shift
        if self._totals.shape != shape:
            self._totals = np.empty(shape, np.int64)
        many = self._bins.many[part.columns]
        kind = self._bins.edges.kinds[self._bins.columns[part.columns]]
        growth = Growth(part, self._frame, many, kind, self._totals)
        for attempt in range(ATTEMPTS):
            packed, steps = self._pack(part, lam, hess, keys, [self._seed, iteration, attempt])
            rules = np.concatenate([self._rules, steps])
            if growth.grow(packed, rules, threads=self._threads, team=self._team) > 1:
                tree = self._make_tree(part, growth, rules)
                return Grown(tree, self._find_leaves(part, growth, len(lam)))
        return None

    def _take(self, rows: NDArray[np.int32] | None, columns: NDArray[np.int64]) -> Part:
        bins, is_whole = self._bins, rows is None and len(columns) == len(self._bins.columns)
        if is_whole and self._whole is not None:
            return self._whole
        if rows is None:
            rows = np.arange(bins.shape[0], dtype=np.int32)
        if is_whole:
            self._whole = Part(rows, columns, bins.cut, bins.bins)
            return self._whole
        edge = cut_columns(len(columns))
        out = np.empty(len(rows) * len(columns), np.uint8)

        def work(first: int, last: int) -> None:
            bin_kernels.gather_block(
                first, last, bins.bins, bins.at, bins.step, rows, columns, edge, out
            )

        run_rows(work, len(rows), self._threads)
        return Part(rows, columns, edge, out)

    def _pack(
        self, part: Part, lam: Floats, hess: Floats, keys: NDArray[np.uint64], start: list[int]
    ) -> tuple[NDArray[np.int32], Floats]:
        """Forces as integers, and the steps that these count."""
        step, step_hess = find_steps(
            lam, hess, self._levels, threads=self._threads, team=self._team
        )
        key = hash_numbers(*start)
        packed = np.empty(len(part.rows), np.int32)

        def work(first: int, last: int) -> None:
            kernels.pack_block(
                first, last, part.rows, lam, hess, keys, key, step, step_hess, packed
            )

        run_rows(work, len(packed), self._threads)
        return packed, np.array([step, step_hess])

    def _make_tree(self, part: Part, growth: Growth, rules: Floats) -> Tree:
        nodes = growth.nodes[: growth.count - 1]
        nodes[:, 0] = part.columns[nodes[:, 0]]  # for rows that are not in the bag
        column, last, nan_left, left, right = nodes[:, :SET].T
        return describe(
            self._bins.edges,
            self._bins.columns[column],
            last,
            sets=nodes[:, SET:],
            nan_left=nan_left,
            left=left.copy(),
            right=right.copy(),
            worth=growth.worth[: growth.count - 1],
            ends=growth.leaves[: growth.count, [FORCE, HESSIAN, COUNT]],
            steps=(rules[-2], rules[-1]),
        )

    def _find_leaves(self, part: Part, growth: Growth, rows: int) -> NDArray[np.int32]:
        """The leaf of every row: those of the bag are known, the others go down the tree."""
        leaf = np.full(rows, -1, np.int32)
        kernels.tell_leaves(growth.count, growth.order, part.rows, growth.leaves, leaf)
        if len(part.rows) < rows:
            rest = np.flatnonzero(leaf < 0).astype(np.int32)
            self._bins.walk(growth.nodes[: growth.count - 1], leaf, rest, threads=self._threads)
        return leaf


def category_rules(parameters: Mapping[str, Any]) -> list[float]:
    """How sets of categories are found: as `kernels.splits` has them.

    >>> category_rules({"cat_l2": 1.0})
    [10.0, 1.0, 32, 4, 100]
    """
    every = zip(CATEGORIES.items(), USUAL_CATEGORIES, strict=True)
    return [read(parameters.get(name, usual)) for (name, read), usual in every]


def open_bins(
    features: Any,
    parameters: Mapping[str, Any],
    categorical: Collection[int] = (),
    *,
    seed: int,
    threads: int,
) -> Binned:
    """The features in bins, if they are not; engines on the same features share them."""
    if isinstance(features, Binned):
        return features
    usual = {"max_bin": BINS, "bin_construct_sample_cnt": SAMPLE, "data_random_seed": seed}
    given = {name: BINNING[name](parameters.get(name, value)) for name, value in usual.items()}
    most, sample, bin_seed = given.values()

    def make(features: Any, categorical: Collection[int]) -> Binned:
        how = {"most": most, "sample": sample, "seed": bin_seed, "threads": threads}
        return make_bins(features, **how, categorical=categorical)

    key = given | {"engine": "histogram", "feature_pre_filter": False}
    found: Binned = binned(make, key, features, categorical)
    return found
