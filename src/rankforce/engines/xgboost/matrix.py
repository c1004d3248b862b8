"""Features as XGBoost's matrix of bins: in memory, on disk, or on a GPU."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.data.sources import Dense, Rows, Source, as_source
from rankforce.engines import shared_bins
from rankforce.engines.xgboost.binned import Codes
from rankforce.engines.xgboost.library import import_xgboost, plain_errors


class Matrix(NamedTuple):
    """Features in XGBoost's bins, and what was seen of them."""

    data: Any
    ranges: list[str]
    codes: dict[int, int]  # of categorical features: how many


def make_matrix(
    features: Any, categorical: list[int], *, max_bin: int, threads: int, extmem: bool, device: str
) -> Matrix:
    """Bins of all features; `extmem` keeps them on disk, in a folder that goes when they do."""
    source = Codes(features) if isinstance(features, Binned) else as_source(features)
    ranges, codes = look(source, categorical)
    if isinstance(features, Binned):
        ranges = features.edges.ranges
    kinds = ["c" if column in categorical else "float" for column in range(source.shape[1])]
    how = {"max_bin": max_bin, "nthread": threads, "enable_categorical": bool(categorical)}
    if extmem:
        return Matrix(_paged(source, categorical, kinds, device, how), ranges, codes)
    xgb = import_xgboost()
    with plain_errors():
        if type(source) is Dense and not categorical:
            given = _to_device(features) if device == "cuda" else features
            data = xgb.QuantileDMatrix(given, feature_types=kinds, **how)
        else:
            data = xgb.QuantileDMatrix(_iterate(source, categorical, kinds, device), **how)
    return Matrix(data, ranges, codes)


def _paged(
    source: Source, categorical: list[int], kinds: list[str], device: str, how: dict[str, Any]
) -> Any:
    """Bins in pages on disk; their folder is removed with them."""
    folder = tempfile.mkdtemp(prefix="rankforce-")
    try:
        blocks = _iterate(source, categorical, kinds, device, str(Path(folder) / "pages"))
        with plain_errors():
            data = import_xgboost().ExtMemQuantileDMatrix(blocks, **how)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(data, shutil.rmtree, folder, ignore_errors=True)
    return data


def _iterate(
    source: Source,
    categorical: list[int],
    kinds: list[str],
    device: str,
    prefix: str | None = None,
) -> Any:
    """Blocks of rows as XGBoost asks for them: again and again from the first."""
    kind: Any = import_xgboost().core.DataIter

    class Blocks(kind):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(cache_prefix=prefix, release_data=True)
            self._left: Iterator[tuple[int, Rows]] = iter(())

        def reset(self) -> None:
            self._left = iter(source.blocks())

        def next(self, input_data: Any) -> bool:
            block = next((block for _, block in self._left if len(block)), None)
            if block is None:
                return False
            block = without_negative(block, categorical)
            given = _to_device(block) if device == "cuda" else block
            input_data(data=given, feature_types=kinds)
            return True

    return Blocks()


def _to_device(block: Any) -> Any:
    import cupy

    return cupy.asarray(block)


def without_negative(block: Rows, categorical: list[int]) -> Rows:
    """The rows with NaN for codes below 0, which are no categories."""
    if not categorical or not (block[:, categorical] < 0).any():
        return block
    changed = block.copy()
    for column in categorical:
        changed[block[:, column] < 0, column] = np.nan
    return changed


def look(source: Source, categorical: list[int]) -> tuple[list[str], dict[int, int]]:
    """What a model's text says of each feature, and how many codes categorical ones have.

    >>> look(Dense(np.array([[1, 2], [3, 0]], np.float32)), [1])
    (['[1:3]', '0:2'], {1: 3})
    """
    low, high = np.full((2, source.shape[1]), np.nan)
    has_nan = np.zeros(source.shape[1], bool)
    seen: dict[int, set[int]] = {column: set() for column in categorical}
    for _, block in source.blocks():
        if not len(block):
            continue
        low, high = np.fmin(low, np.fmin.reduce(block)), np.fmax(high, np.fmax.reduce(block))
        has_nan |= np.isnan(block).any(axis=0)
        for column in categorical:
            values = block[:, column]
            seen[column].update(np.unique(values[values >= 0]).astype(np.int64).tolist())
    if not (has_nan | (low < high)).any():
        raise RankforceError("no feature can tell documents apart: all are constant")
    ranges = [_shown(low, high, column) for column in range(len(low))]
    for column, codes in seen.items():
        ranges[column] = ":".join(map(str, sorted(codes))) if len(codes) > 1 else "none"
    return ranges, {column: max(codes, default=0) + 1 for column, codes in seen.items()}


def _shown(low: Floats, high: Floats, column: int) -> str:
    a, b = low[column], high[column]
    return f"[{a:.17g}:{b:.17g}]" if a < b else "none"


@contextmanager
def share(_seed: int | None = None) -> Iterator[Mapping[str, Any]]:
    """Until the block ends, features are binned once; XGBoost's bins depend on no seed."""
    with shared_bins.share():
        yield {}
