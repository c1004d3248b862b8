"""Flat batches of whole queries: no list is cut, sampled or padded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rankforce.common.draws import hash_keys, hash_numbers
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, list_parts
from rankforce.data.sources import Dense, as_source
from rankforce.models.network.network import ROWS, take_dense
from rankforce.models.network.scoring import few_on_one_thread

Numbers = NDArray[np.int64]
USUAL = 2048  # documents of a batch, where that makes as many batches an epoch as these
LEAST_BATCHES, MOST_BATCHES = 8, 128
HELD = 1 << 33  # bytes of encoded rows that are kept


def draw_order(index: QueryIndex, seed: int, epoch: int) -> Numbers:
    """All queries that have documents, in an order that seed, epoch and their ids decide.

    Where a query stands in the file does not matter, nor what was drawn before.
    """
    draws = hash_keys(index.key ^ hash_numbers(seed, epoch))
    order = np.argsort(draws, kind="stable")
    return order[index.sizes[order] > 0]


def usual_size(documents: int) -> int:
    """Documents of a batch where nobody says: small sets want steps, large ones have enough.

    >>> [usual_size(documents) for documents in (800, 9_000, 100_000, 2_000_000)]
    [100, 1125, 2048, 15625]
    """
    return max(min(USUAL, documents // LEAST_BATCHES), documents // MOST_BATCHES, 1)


def fill_batches(order: Numbers, sizes: Numbers, documents: int | None) -> Iterator[Numbers]:
    """Queries in order, as many at a time as have so many documents; None: one at a time.

    >>> sizes = np.array([2, 2, 3, 9, 1])
    >>> [batch.tolist() for batch in fill_batches(np.arange(5), sizes, 5)]
    [[0, 1], [2], [3], [4]]
    """
    ends = np.cumsum(sizes[order])
    first = 0
    while first < len(order):
        before = ends[first - 1] if first else 0
        last = first + 1
        if documents is not None:
            last = max(last, int(np.searchsorted(ends, before + documents, side="right")))
        yield order[first:last]
        first = last


class Batch(NamedTuple):
    """Documents of some queries, one query behind the other."""

    x: Any  # encoded rows
    sizes: Any  # of the queries
    rows: Numbers  # of the data


class Feed:
    """Encoded rows of a data set: made once if they are few enough, else when they are needed."""

    def __init__(self, features: Any, index: QueryIndex, encode: Any, device: str) -> None:
        self._features, self._index = features, index
        self._encode, self._device = encode, device
        self._whole: Any = None
        source = as_source(features)
        if type(source) is Dense and source.shape[0] * encode.width * 4 <= HELD:
            blocks = [self._encoded(rows) for _, rows in source.blocks(ROWS)]
            self._whole = torch.cat(blocks)

    def _encoded(self, rows: Any) -> Any:
        with torch.no_grad():
            given = torch.from_numpy(np.ascontiguousarray(rows, np.float32))
            return self._encode(given.to(self._device))

    def scores(self, body: Any) -> Floats:
        """Scores of all documents by a network as it is."""
        found = np.zeros(self._index.pointer[-1])
        body.train(False)
        with torch.inference_mode():
            for first, last in list_parts(self._index, ROWS):
                x, sizes, rows = self.batch(np.arange(first, last))
                with few_on_one_thread(len(rows)):
                    found[rows] = body(x, sizes).double().cpu().numpy()
        return found

    def batch(self, queries: Numbers) -> Batch:
        """The documents of some queries, in the order that decides ties."""
        rows = self._index.rows_of(queries)
        if self._whole is None:
            x = self._encoded(take_dense(self._features, rows))
        else:
            x = self._whole[torch.from_numpy(rows).to(self._device)]
        return Batch(x, torch.from_numpy(self._index.sizes[queries].astype(np.int64)), rows)
