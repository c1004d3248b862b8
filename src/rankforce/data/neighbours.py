"""Made-up documents near those of a data set: some columns of each are another document's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.draws import GOLDEN, hash_keys
from rankforce.common.types import Ints
from rankforce.data.queries import QueryIndex
from rankforce.data.sources import Blocks, Source, Sparse, as_source, block_rows, to_dense

SHARE = 0.3  # of the columns that are another document's
WIDE = 8  # numbers that a draw takes for each feature, in single precision

Keys = NDArray[np.uint64]


def add_neighbours(features: Any, index: QueryIndex, keys: Keys, *, count: int, seed: int) -> Any:
    """All rows of features in memory, and behind them, `count` times, a neighbour of each.

    A neighbour takes about three columns in ten from another document of its query. Which ones
    depends on the row's entry of `keys` and on `seed` alone, not on where its query stands.

    >>> from rankforce.data.queries import index_queries
    >>> rows, keys = np.array([[1, 2, 3], [4, 5, 6]], np.float32), np.array([7, 9], np.uint64)
    >>> add_neighbours(rows, index_queries(2), keys, count=1, seed=0)[2:].tolist()
    [[1.0, 5.0, 3.0], [1.0, 5.0, 6.0]]
    """
    source = as_source(features)
    rows, columns = source.shape
    blocks = _blocks(source, index, keys, count, seed)
    if isinstance(source, Sparse):
        from scipy import sparse

        return sparse.vstack([sparse.csr_matrix(block) for _, block in blocks], "csr")
    whole = np.empty(((1 + count) * rows, columns), np.float32)
    for first, block in blocks:
        whole[first : first + len(block)] = block
    return whole


def _blocks(source: Source, index: QueryIndex, keys: Keys, count: int, seed: int) -> Blocks:
    rows, columns = source.shape
    step = block_rows(WIDE * columns)
    yield from source.blocks(step)
    key = hash_keys(np.array([seed], np.uint64))
    for number in range(1, count + 1):
        draws = hash_keys(keys ^ hash_keys(key + np.uint64(number)))
        others = _others(index, draws)
        for first in range(0, rows, step):
            here = slice(first, first + step)
            own, their = (to_dense(source.take(which)) for which in (here, others[here]))
            yield number * rows + first, np.where(_is_theirs(draws[here], columns), their, own)


def _others(index: QueryIndex, draws: Keys) -> Ints:
    """For each row another one of its query, or itself if it is the only one."""
    query = index.of_rows()
    begin, size = index.pointer[query], index.sizes[query]
    further = 1 + (draws % np.maximum(size - 1, 1).astype(np.uint64)).astype(np.int64)
    place = begin + (index.place_of_rows() - begin + further) % size
    return index.row[place] if len(index.row) else place


def _is_theirs(draws: Keys, columns: int) -> NDArray[np.bool_]:
    """Which columns of each row are the other document's."""
    column = np.arange(columns, dtype=np.uint64) * GOLDEN
    return hash_keys(draws[:, np.newaxis] + column) < np.uint64(int(SHARE * 2**64))
