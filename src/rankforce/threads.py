"""Work on blocks of queries in threads. A query belongs to one block: results do not depend on
the number of threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

BLOCKS_PER_THREAD = 4


def check_threads(threads: int) -> int:
    """A number of threads from 1 up."""
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
        raise ValueError(f"threads is {threads!r}: it must be a whole number from 1 up")
    return int(threads)


def balanced_blocks(cost: NDArray[np.float64], blocks: int) -> list[tuple[int, int]]:
    """Cut queries into contiguous blocks of about equal cost.

    >>> balanced_blocks(np.array([1.0, 1.0, 2.0, 4.0]), 2)
    [(0, 3), (3, 4)]
    """
    total = np.cumsum(cost)
    if not len(total) or blocks <= 1:
        return [(0, len(total))]
    targets = total[-1] * np.arange(1, blocks) / blocks
    cuts = np.unique(np.concatenate([[0], np.searchsorted(total, targets) + 1, [len(total)]]))
    cuts = cuts[cuts <= len(total)]
    return [(int(a), int(b)) for a, b in itertools.pairwise(cuts)]


def run_blocks(
    work: Callable[[int, int], int], cost: NDArray[np.float64], threads: int
) -> list[int]:
    """Call `work(first, last)` for blocks that cover all queries; its answers in query order."""
    if threads == 1:
        return [work(0, len(cost))]
    blocks = balanced_blocks(cost, threads * BLOCKS_PER_THREAD)
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda block: work(*block), blocks))
