"""XGBoost as a grower of trees: forces in, the structure of a tree out.

Forces are rounded to a grid so fine that nothing is lost, and so coarse that sums in double
precision are exact: trees are the same at any number of threads (docs/adr/0038).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.data.edges import BINS, MOST_BINS
from rankforce.engines.base import Grown
from rankforce.engines.constraints import MONOTONE, for_features
from rankforce.engines.shared_bins import binned
from rankforce.engines.xgboost.binned import in_values
from rankforce.engines.xgboost.library import THREADS, check_cuda, import_xgboost, plain_errors
from rankforce.engines.xgboost.matrix import Matrix, make_matrix
from rankforce.engines.xgboost.parameters import LEAF_RULES, SAMPLING, translated
from rankforce.kernels import trees as kernels
from rankforce.kernels.cuda.device import find_device
from rankforce.models.forest.on_gpu import GpuRows
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk import route
from rankforce.models.forest.xgboost_tree import parse_tree


def check(parameters: Mapping[str, Any]) -> None:
    """One line about what is missing: XGBoost, or for device="cuda" its CUDA, or a GPU."""
    import_xgboost()
    if parameters.get("device") == "cuda":
        check_cuda()
        find_device()


class XGBoost:
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
    ) -> None:
        theirs = for_features(translated(parameters), feature_names, categorical)
        self.how = "XGBoost's trees, forces in full precision; min_child_samples does not count"
        self.leaf_rules = sorted(name for name in LEAF_RULES if theirs.get(name))
        directions = theirs.get(MONOTONE, ())
        self.about = {MONOTONE: " ".join(map(str, directions))} if directions else {}
        if directions:
            theirs[MONOTONE] = tuple(directions)
        self.device = parameters.get("device") or "cpu"
        THREADS.note_lost(threads)
        self._features = features
        self.rows: GpuRows | None = None
        if self.device == "cuda":
            self.rows = GpuRows(find_device(), features)
        self._seed, self._threads = seed, threads
        is_binned = isinstance(features, Binned)
        most = MOST_BINS + 1 if is_binned else parameters.get("max_bin", BINS)
        how: dict[str, Any] = {"max_bin": most, "device": self.device}
        how["extmem"] = parameters.get("extmem", False)

        def make(features: Any, categorical: list[int]) -> Matrix:
            return make_matrix(features, categorical, threads=threads, **how)

        kept = how | {"engine": "xgboost", "feature_pre_filter": False}
        self._matrix: Matrix = binned(make, kept, features, categorical)
        self._parameters = theirs | _fixed(how["max_bin"], threads, self.device)
        self._is_drawn = any(theirs.get(name, 1.0) < 1.0 for name in SAMPLING)
        self._booster: Any = None
        self._grown = 0
        rows = features.shape[0]
        self._grad, self._hess = np.empty(rows, np.float32), np.empty(rows, np.float32)

    def open_rows(self, features: Any) -> GpuRows:
        """Rows of another data set on the GPU."""
        return GpuRows(find_device(), features)

    @property
    def ranges(self) -> list[str]:
        """The least and the largest value of each feature, or its codes."""
        return self._matrix.ranges

    def grow(
        self,
        lam: Floats,
        hess: Floats,
        iteration: int,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32] | None,
    ) -> Grown | None:
        """The tree for these forces; None if no split is worth it.

        On a GPU forces are arrays there, and so are the leaves.
        """
        if self.rows is not None:
            tree = self._update(-lam, hess, iteration)
            if tree is None:
                return None
            leaf, counts = self.rows.route(tree)
            return Grown(with_counts(tree, counts), leaf)
        self._round(lam, hess)
        tree = self._update(self._grad, self._hess, iteration)
        if tree is None:
            return None
        leaf = route(tree, stack([tree]), self._features, threads=self._threads)
        return Grown(with_counts(tree, np.bincount(leaf, minlength=tree.leaves)), leaf)

    def _update(self, grad: Any, hess: Any, iteration: int) -> Tree | None:
        """One more tree of the booster; where columns are drawn, the only one of a new booster.

        What a booster draws depends on what it has drawn before.
        """
        with plain_errors():
            if self._booster is None or self._is_drawn:
                seed = int(np.random.default_rng([self._seed, iteration]).integers(2**31 - 1))
                every = self._parameters | {"seed": seed}
                self._booster = import_xgboost().Booster(every, [self._matrix.data])
                self._grown = 0
            self._booster.boost(self._matrix.data, iteration=self._grown, grad=grad, hess=hess)
            newest = self._booster[self._grown : self._grown + 1]
            text = newest.save_raw("json")
        self._grown += 1
        record = json.loads(bytes(text))["learner"]["gradient_booster"]["model"]["trees"][0]
        tree = parse_tree(record, self._matrix.codes)
        if tree.leaves == 1:
            return None
        return in_values(tree, self._features) if isinstance(self._features, Binned) else tree

    def _round(self, lam: Floats, hess: Floats) -> None:
        """What XGBoost minimises, on a grid: sums over any rows in any order are exact."""

        def look(first: int, last: int) -> tuple[float, float]:
            force, second = kernels.largest_block(first, last, lam, hess)
            return float(force), float(second)

        rows, found = len(lam), run_rows(look, len(lam), self._threads)
        grid, grid_hess = (find_grid(max(each), rows) for each in zip(*found, strict=True))

        def work(first: int, last: int) -> None:
            kernels.fix_block(first, last, lam, hess, grid, grid_hess, self._grad, self._hess)

        run_rows(work, rows, self._threads)


def _fixed(max_bin: int, threads: int, device: str) -> dict[str, Any]:
    """What is always so: leaves get their values later."""
    return {
        "objective": "reg:squarederror",
        "base_score": 0.0,
        "learning_rate": 1.0,
        "tree_method": "hist",
        "max_bin": max_bin,
        "nthread": threads,
        "device": device,
        "verbosity": 0,
    }


def find_grid(largest: float, rows: int) -> float:
    """A power of 2, the sum of so many multiples of which double precision holds.

    >>> find_grid(1.0, 1024) == 2.0**-42
    True
    """
    if not largest > 0.0:
        return 1.0
    bits = int(np.ceil(np.log2(largest))) + int(np.ceil(np.log2(max(rows, 2))))
    return float(2.0 ** max(bits - 52, -1000))


def with_counts(tree: Tree, leaf_count: NDArray[np.int64]) -> Tree:
    """The tree with the number of rows of each leaf and node, which XGBoost does not tell."""
    many, count = leaf_count.tolist(), [0] * len(tree.feature)
    both = list(zip(tree.left.tolist(), tree.right.tolist(), strict=True))
    for node in range(len(count) - 1, -1, -1):  # children come behind their parent
        count[node] = sum(many[~child] if child < 0 else count[child] for child in both[node])
    known = {"count": np.array(count), "leaf_count": leaf_count}
    return dataclasses.replace(tree, details={**tree.details, **known})
