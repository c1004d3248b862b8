"""Blocks of queries for threads."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankforce.common.threads import (
    balanced_blocks,
    check_threads,
    get_pool,
    own_pools,
    run_blocks,
)

COSTS = {
    "equal": np.ones(50),
    "one heavy": np.where(np.arange(50) == 20, 1e6, 1.0),
    "first heavy": np.where(np.arange(50) == 0, 1e6, 1.0),
    "last heavy": np.where(np.arange(50) == 49, 1e6, 1.0),
    "some nothing": np.where(np.arange(50) % 3 == 0, 0.0, 2.0),
    "all nothing": np.zeros(50),
    "nothing at the end": np.where(np.arange(50) > 30, 0.0, 1.0),
    "random": np.random.default_rng(0).exponential(size=50) ** 3,
    "one query": np.ones(1),
}


@pytest.mark.parametrize("blocks", [1, 2, 3, 8, 28, 50, 200])
@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_blocks_cover_every_query_once(cost: np.ndarray, blocks: int) -> None:
    cut = balanced_blocks(cost, blocks)
    assert [q for first, last in cut for q in range(first, last)] == list(range(len(cost)))
    assert 1 <= len(cut) <= blocks
    assert all(first < last for first, last in cut)


def test_no_query_is_one_empty_block() -> None:
    assert balanced_blocks(np.zeros(0), 8) == [(0, 0)]


@pytest.mark.parametrize("blocks", [2, 5, 8])
def test_blocks_cost_about_the_same(blocks: int) -> None:
    cost = np.random.default_rng(1).uniform(1.0, 2.0, 1000)
    sums = [cost[first:last].sum() for first, last in balanced_blocks(cost, blocks)]
    assert len(sums) == blocks
    assert max(sums) - min(sums) <= 2 * cost.max()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_answers_come_in_the_order_of_queries(threads: int) -> None:
    covered = run_blocks(lambda first, last: first * 1000 + last, np.ones(90), threads)
    ends = [(answer // 1000, answer % 1000) for answer in covered]
    assert ends[0][0] == 0
    assert ends[-1][1] == 90
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))


def test_an_error_in_a_thread_reaches_the_caller() -> None:
    def work(first: int, last: int) -> int:
        raise ValueError(f"block {first}")

    with pytest.raises(ValueError, match="block 0"):
        run_blocks(work, np.ones(10), 2)


@pytest.mark.parametrize("threads", [0, -2, 1.0, True, None, "2"])
def test_threads_that_are_wrong(threads: object) -> None:
    with pytest.raises(ValueError, match=f"threads is {threads!r}"):
        check_threads(threads)  # type: ignore[arg-type]


def test_threads_of_numpy() -> None:
    assert check_threads(np.int64(3)) == 3


def test_a_thread_may_have_pools_of_its_own() -> None:
    shared = get_pool(2)
    assert get_pool(2) is shared
    with own_pools():
        own = get_pool(2)
        assert own is get_pool(2) is not shared
        with ThreadPoolExecutor(1) as other:  # which is not inside
            assert other.submit(get_pool, 2).result() is shared
    assert get_pool(2) is shared
    with pytest.raises(RuntimeError, match="has ended"):
        own.submit(int)
