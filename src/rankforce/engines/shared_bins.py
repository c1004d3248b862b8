"""LightGBM's binned data sets, shared by the engines that are opened on the same features."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

# What of LightGBM's parameters says nothing about bins, once no feature is left out because of
# `min_data_in_leaf`. Any other that differs, known or not, means other bins.
_FREE = {
    "num_leaves",
    "max_depth",
    "min_data_in_leaf",
    "min_sum_hessian_in_leaf",
    "min_gain_to_split",
    "lambda_l1",
    "lambda_l2",
    "feature_fraction",
    "feature_fraction_bynode",
    "num_threads",
}
NEEDED = {"feature_pre_filter": False}
# The seed of the rows that bins are found from, which otherwise follows from `seed`.
BIN_SEED = "data_random_seed"

_lock = threading.RLock()
_binned: dict[Any, Any] = {}
_open = 0


@contextmanager
def share(seed: int | None = None) -> Iterator[Mapping[str, Any]]:
    """Until the block ends, features are binned once; gives the parameters that this needs.

    With a `seed` the bins are of that one, whatever the seeds of the engines are.
    """
    global _open
    with _lock:
        _open += 1
    try:
        yield NEEDED if seed is None else {**NEEDED, BIN_SEED: seed}
    finally:
        with _lock:
            _open -= 1
            if not _open:
                _binned.clear()


def binned(
    make: Callable[..., Any], parameters: Mapping[str, Any], features: Any, *rest: Any
) -> Any:
    """What `make` makes of the features and the rest, or made of the same before."""
    if not _open or parameters.get("feature_pre_filter", True):
        return make(features, *rest)
    free = _FREE | ({"seed"} if BIN_SEED in parameters else set())
    kept = {name: value for name, value in parameters.items() if name not in free}
    key = id(features), repr(sorted(kept.items())), repr(rest)
    with _lock:
        if key not in _binned:
            _binned[key] = make(features, *rest)
            # A number may be that of other features, when these are gone.
            weakref.finalize(features, _binned.pop, key, None).atexit = False
        return _binned[key]
