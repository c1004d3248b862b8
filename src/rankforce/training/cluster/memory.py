"""Data in the client's memory, shared out by query and packed for workers."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.training.cluster.crew import Crew
from rankforce.training.cluster.given import Given
from rankforce.training.cluster.messages import Part

PACKED = ".packed"  # ending of files of data that was in memory


class InMemory:
    """Queries of data that the client has."""

    def __init__(self, given: Given) -> None:
        assert isinstance(given.what, RankingData)
        self._name, self._data, self._start = given.name, given.what, given.start
        self.rows: list[int] = given.what.sizes.tolist()

    def send(self, crew: Crew, shares: Sequence[range], folder: str) -> list[Part]:
        """What each worker has, once it is there."""
        waiting = []
        for rank, (worker, share) in enumerate(zip(crew.workers, shares, strict=True)):
            packed = pack(self._data, self._start, share)
            sent = crew.client.scatter(packed, workers=[worker.address], hash=False)
            path = f"{worker.folder}/{folder}/{self._name}{PACKED}"
            waiting.append(crew.submit(rank, put, sent, path))
        return [Part(self._name, [file], {}) for file in crew.gather(waiting)]


def pack(data: RankingData, start: Floats | None, share: range) -> bytes:
    """The data of some queries, with the keys that they have among all, and their first scores."""
    part = data.take_queries(share)
    part.index = part.index._replace(key=data.index.key[share.start : share.stop])
    part.origin = data.origin
    if start is not None:
        start = start[data.index.rows_of(share)]
    packed: bytes = importlib.import_module("cloudpickle").dumps((part, start), protocol=5)
    return packed


def put(content: bytes, path: str) -> str:
    """Write a file of a worker's own."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content)
    return path
