"""A second engine, as small as one can be: trees of one split, found by sorting, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.engines.base import EngineKind, Grown
from rankforce.models.forest.tree import MISSING_NAN, MISSING_SHIFT, Tree


class Stumps:
    """Opened on a dense matrix; every tree splits one feature once."""

    how = "one split a tree, found by sorting"

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
        if categorical:
            raise RankforceError("stumps know no categories: leave categorical_feature out")
        self.leaf_rules: list[str] = []
        self.about: dict[str, str] = {}
        self._features = np.asarray(features, np.float64)
        self._least = parameters["min_child_samples"]
        self._skip = parameters.get("skip", 0)

    @property
    def ranges(self) -> list[str]:
        low, high = self._features.min(0), self._features.max(0)
        both = zip(low, high, strict=True)
        return ["none" if a == b else f"[{a:.17g}:{b:.17g}]" for a, b in both]

    def grow(
        self,
        lam: Floats,
        hess: Floats,
        iteration: int,
        keys: NDArray[np.uint64],
        rows: NDArray[np.int32] | None,
    ) -> Grown | None:
        best: tuple[float, int, float] = (1e-12, -1, 0.0)
        total, weight = lam.sum(), hess.sum()
        for column in range(self._skip, self._features.shape[1]):
            values = self._features[:, column]
            order = np.argsort(values, kind="stable")
            force, second = np.cumsum(lam[order])[:-1], np.cumsum(hess[order])[:-1]
            with np.errstate(divide="ignore", invalid="ignore"):
                gain = force**2 / second + (total - force) ** 2 / (weight - second)
            ordered = values[order]
            gain[ordered[1:] <= ordered[:-1]] = -np.inf
            gain[~np.isfinite(gain)] = -np.inf
            gain[: self._least - 1] = gain[len(gain) - self._least + 1 :] = -np.inf
            at = int(np.argmax(gain))
            if gain[at] > best[0]:
                best = float(gain[at]), column, float((ordered[at] + ordered[at + 1]) / 2)
        gained, column, threshold = best
        if column < 0:
            return None
        leaf = (self._features[:, column] > threshold).astype(np.int32)
        tree = Tree(
            feature=np.array([column]),
            threshold=np.array([threshold]),
            rule=np.array([MISSING_NAN << MISSING_SHIFT]),
            left=~np.array([0]),
            right=~np.array([1]),
            leaf_value=np.zeros(2),
            details={
                "gain": np.array([gained]),
                "count": np.array([len(leaf)]),
                "leaf_count": np.bincount(leaf, minlength=2),
            },
        )
        return Grown(tree, leaf)


def _read_skip(value: Any) -> int:
    if value not in (0, 1):
        raise RankforceError(f"skip is {value!r}: it must be 0 or 1")
    return int(value)


STUMPS = EngineKind("stumps", Stumps, {"skip": _read_skip}, frozenset({"skip"}))
