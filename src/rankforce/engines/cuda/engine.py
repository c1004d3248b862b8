"""Our own trees on a GPU: bins, forces and scores are there, and what comes back is a tree.

The same trees as those of `engines.histogram`, of the same forces: bins, rounding of forces, sums,
gains and the order of splits are the same to the last bit (docs/adr/0042).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import hash_numbers
from rankforce.common.errors import RankforceError
from rankforce.data.binned import Binned, bin_source
from rankforce.engines.base import Grown
from rankforce.engines.codes import note_negative
from rankforce.engines.cuda import arrays
from rankforce.engines.cuda.arrays import Arrays, launch, make_shape
from rankforce.engines.cuda.bins import group_columns
from rankforce.engines.cuda.planted import Planted
from rankforce.engines.cuda.rounds import Rounds, Sizes
from rankforce.engines.cuda.rows import BinRows
from rankforce.engines.histogram import engine as own
from rankforce.engines.histogram.engine import (
    ATTEMPTS,
    category_rules,
    draw_columns,
    few_rows,
    open_bins,
)
from rankforce.kernels.cuda.device import find_device, told_in_words
from rankforce.kernels.cuda.launch import make_record, set_fields

DEEPEST = 1 << 30  # without a limit


def lacks(parameters: Mapping[str, Any], categorical: Sequence[int]) -> str | None:
    """What is asked and not here, in words.

    >>> lacks({"num_leaves": 31, "device": "cuda"}, []), lacks({"path_smooth": 1.0}, [])
    (None, 'path_smooth')
    """
    here = {name: value for name, value in parameters.items() if name != "device"}
    return own.lacks(here, categorical)


def check(_parameters: Mapping[str, Any]) -> None:
    """One line about what is missing, if there is no GPU to work on."""
    find_device()


class CudaTrees:
    """An engine that grows trees on one feature matrix in the GPU's memory."""

    def __init__(
        self,
        features: Any,
        *,
        feature_names: list[str],
        categorical: list[int],
        parameters: dict[str, Any],
        seed: int,
        threads: int,
    ) -> None:
        self.leaf_rules: list[str] = []
        self.about: dict[str, str] = {}
        self.device = find_device()
        self._seed, self._threads = seed, threads
        self._levels, self._share = parameters["quantised_levels"], parameters["colsample_bytree"]
        self.how = f"forces quantised to {self._levels} levels, on {self.device.name}"
        note_negative(features, feature_names, categorical)
        bins = open_bins(features, parameters, categorical, seed=seed, threads=threads)
        if not len(bins.columns):
            raise RankforceError("no feature can tell documents apart: all are constant")
        self.edges, self.columns = bins.edges, bins.columns
        most = min(parameters["num_leaves"], max(bins.shape[0], 2))
        bits = (int((bins.many + bins.edges.has_nan[self.columns]).max()) - 1).bit_length()
        groups = group_columns(len(self.columns))
        self._check_leaves(most)
        # Columns of categories cost others nothing where there are none.
        coded = bool(np.isin(self.columns, self.edges.coded).any())
        few = few_rows(self._levels)
        self.shape = make_shape(self.device, groups, bits, few, with_codes=coded)
        rows = bins.shape[0]
        needed = rows * (groups.width + arrays.ROW_BYTES) + arrays.MOST_SLOTS
        with told_in_words(self.device, rows, len(self.columns), needed):
            self.rows = BinRows(self.device, bins)
            self.arrays = Arrays(self.device, groups, bits, rows, most, with_codes=coded)
            self._many_there = self.device.upload(bins.many.astype(np.int32))
            self._keys: Any = None
        self._grow = self._grow_record(parameters)
        sizes = Sizes(
            rows,
            most,
            groups.number,
            count_bytes=self.shape.count_bytes + 4 * most,
            split_bytes=arrays.CODES_SHARED if coded else arrays.SPLIT_SHARED,
            plan_bytes=self.arrays.shared,
        )
        self.rounds = Rounds(self.device, self.shape, self._grow, sizes)
        self._drawn: Any = None  # the columns that are in

    def _grow_record(self, parameters: Mapping[str, Any]) -> NDArray[Any]:
        """What kernels are given, as far as it is the same for all trees."""
        names = ("min_child_samples", "min_child_weight", "min_split_gain", "reg_alpha")
        rules = [*map(parameters.get, names), parameters["reg_lambda"]]
        rules += category_rules(parameters)
        depth = parameters["max_depth"]
        return make_record(
            self.device,
            arrays.GROW,
            self.arrays.kept | {"bins": self.rows.bins, "many": self._many_there},
            rows=self.rows.rows,
            columns=len(self.columns),
            most=self.arrays.most,
            deepest=depth if depth > 0 else DEEPEST,
            nodes_at_most=self.arrays.nodes,
            slots_at_most=self.arrays.slots,
            levels=self._levels,
            near=self.arrays.is_near,
            **dict(zip(arrays.RULES, rules, strict=True)),
        )

    @property
    def ranges(self) -> list[str]:
        """The least and the largest value of each feature."""
        return self.edges.ranges

    def _check_leaves(self, most: int) -> None:
        able = self.device.shared // 28  # bytes of a leaf in plan_round, rounded up
        if most > able:
            raise RankforceError(f"num_leaves is {most}: trees on this GPU have {able:,} at most")

    def open_rows(self, features: Any) -> BinRows:
        """Rows of another data set, in the same bins."""
        rows, width = features.shape[0], len(self.columns)
        with told_in_words(self.device, rows, width, rows * (width + 16)):
            if not isinstance(features, Binned):
                features = bin_source(features, self.edges, threads=self._threads)
            return BinRows(self.device, features)

    def plant(
        self,
        lam: Any,
        hess: Any,
        iteration: int,
        keys: NDArray[np.uint64],
        bag: tuple[Any, Any] | None,
        attempt: int = 0,
    ) -> Planted:
        """Begin a tree for these forces; nothing is waited for.

        These are on the GPU, as are the rows in the bag and all others; None if all are in.
        """
        if self._keys is None:
            self._keys = self.device.upload(keys)
        rows = None if bag is None else bag[0]
        self._draw(iteration)
        given = {"bag": rows, "keys": self._keys, "lam": lam, "hess": hess}
        count = self.rows.rows if rows is None else rows.size
        key = hash_numbers(self._seed, iteration, attempt)
        grow = set_fields(self.device, self._grow.copy(), given, count=count, key=key)

        def again() -> Planted | None:
            if attempt + 1 == ATTEMPTS:
                return None
            return self.plant(lam, hess, iteration, keys, bag, attempt + 1)

        planted = Planted(self, grow, (lam, hess), bag, again)
        planted.begin()
        return planted

    def grow(
        self,
        lam: Any,
        hess: Any,
        iteration: int,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32] | None,
    ) -> Grown | None:
        """The tree for these forces, waited for; its leaves are on the GPU."""
        bag = None
        if rows is not None:
            is_out = np.ones(self.rows.rows, np.bool_)
            is_out[rows] = False
            both = rows, np.flatnonzero(is_out).astype(np.int32)
            bag = self.device.upload(both[0]), self.device.upload(both[1])
        planted = self.plant(lam, hess, iteration, keys, bag)
        planted.set_values(lam, hess, rate=1.0)
        while planted.is_to_go_on():
            planted.set_values(lam, hess, rate=1.0)
        return Grown(planted.tree(), planted.leaf) if planted.is_there else None

    def _draw(self, iteration: int) -> None:
        """Tell what is known of columns: whether they have missing values, and are drawn."""
        drawn = draw_columns(self.columns, self._share, self._seed, iteration)
        if self._drawn is None or not np.array_equal(self._drawn, drawn):
            kind = self.edges.kinds[self.columns].astype(np.int32)
            kind[drawn] |= arrays.DRAWN
            self.arrays.kept["kind"][:] = self.device.upload(kind)
            self._drawn = drawn

    def run(self, name: str, blocks: int, *given: NDArray[Any], shared: int = 0) -> None:
        """Launch a kernel of growing."""
        launch(self.device, self.shape, name, blocks, *given, shared=shared)

    def steps(self, head: NDArray[np.int64]) -> tuple[float, float]:
        """What integers count, by the largest force and hessian: as `find_steps`."""
        bits = head[[arrays.LARGEST, arrays.LARGEST_HESSIAN]].astype(np.uint32)
        force, second = bits.view(np.float32).astype(np.float64).tolist()
        return force / (self._levels // 2), second / self._levels
