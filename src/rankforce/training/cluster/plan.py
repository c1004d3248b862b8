"""Who gets what: whole queries, in pieces that stand one behind the other, about as many rows each.

Pure functions of numbers of rows and of the ids of queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


def share_out(rows: Sequence[int], workers: int) -> list[range]:
    """The pieces of each worker, by their numbers of rows; every worker has one or more.

    The worker with the most rows has as few as can be. With fewer pieces than workers there are as
    many entries as pieces.

    >>> share_out([4, 1, 1, 1, 3], 2)
    [range(0, 2), range(2, 5)]
    >>> share_out([5, 5], 3)
    [range(0, 1), range(1, 2)]
    """
    count = min(workers, len(rows))
    if not count:
        return []
    total = np.cumsum([0, *rows])
    low, high = max(rows), int(total[-1])
    while low < high:
        middle = (low + high) // 2
        if _fill(total, middle, count)[-1] == len(rows):
            high = middle
        else:
            low = middle + 1
    ends = _fill(total, low, count)
    return [range(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]


def _fill(total: NDArray[np.int64], most: int, workers: int) -> list[int]:
    """Where each worker's pieces end if it takes `most` rows, and leaves one for each other."""
    ends, begin = [], 0
    for left in reversed(range(workers)):
        end = int(np.searchsorted(total, total[begin] + most, side="right")) - 1
        begin = min(max(end, begin + 1), len(total) - 1 - left)
        ends.append(begin)
    return ends


class Move(NamedTuple):
    """Rows of some queries that stand in another piece than the first of them."""

    source: int
    target: int
    queries: NDArray[Any]


def find_moves(queries: Sequence[NDArray[Any]]) -> list[Move]:
    """What has to move so that each query is in one piece, the first that has it.

    `queries` are the ids that each piece has, each once.

    >>> find_moves([np.array([7, 8]), np.array([8, 9]), np.array([9])])
    [Move(source=1, target=0, queries=array([8])), Move(source=2, target=1, queries=array([9]))]
    """
    piece = np.repeat(np.arange(len(queries)), [len(own) for own in queries])
    if not len(piece):
        return []
    ids, number = np.unique(np.concatenate(queries), return_inverse=True)
    first = np.full(len(ids), len(queries))
    np.minimum.at(first, number, piece)
    owner = first[number]
    moves = []
    for source, target in np.unique(np.stack([piece, owner])[:, piece != owner], axis=1).T.tolist():
        is_moved = (piece == source) & (owner == target)
        moves.append(Move(source, target, ids[number[is_moved]]))
    return moves
