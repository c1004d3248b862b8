"""Blocks of queries for threads, and which rows belong to which query."""

from __future__ import annotations

import itertools
import zlib

import numpy as np
import pytest

from rankforce.queries import index_queries
from rankforce.threads import balanced_blocks, check_threads, run_blocks

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


# Rows and queries.


def test_sizes() -> None:
    index = index_queries(6, group=[2, 0, 3, 1])
    assert index.pointer.tolist() == [0, 2, 2, 5, 6]
    assert index.sizes.tolist() == [2, 0, 3, 1]
    assert index.key.tolist() == [0, 1, 2, 3]
    assert len(index.row) == 0


def test_neither_means_one_query() -> None:
    assert index_queries(6).pointer.tolist() == [0, 6]
    assert index_queries(0).sizes.tolist() == [0]


def test_ids_in_order_keep_rows_where_they_are() -> None:
    index = index_queries(5, qid=[7, 7, 3, 3, 3])
    assert index.pointer.tolist() == [0, 2, 5]
    assert len(index.row) == 0
    assert index.key.tolist() == [7, 3]


def test_ids_that_come_back() -> None:
    """Queries in order of first appearance, rows of a query in the caller's order."""
    qid = ["b", "a", "b", "c", "a", "b"]
    index = index_queries(6, qid=qid)
    assert index.pointer.tolist() == [0, 3, 5, 6]
    assert index.row.tolist() == [0, 2, 5, 1, 4, 3]
    values = np.array([10, 11, 12, 13, 14, 15])
    assert index.places(values).tolist() == [10, 12, 15, 11, 14, 13]


@pytest.mark.parametrize(
    "qid",
    [
        np.array([5, 5, -1, -1], np.int8),
        np.array([2**63 + 1, 2**63 + 1, 3, 3], np.uint64),
        np.array([True, True, False, False]),
        np.array([0.5, 0.5, 1.5, 1.5]),
        np.array(["x", "x", "y", "y"]),
        np.array(["x", "x", "y", "y"], dtype=object),
        [10**6, 10**6, 7, 7],
    ],
    ids=lambda qid: str(getattr(qid, "dtype", "list")),
)
def test_ids_of_any_type(qid: object) -> None:
    index = index_queries(4, qid=qid)  # type: ignore[arg-type]
    assert index.pointer.tolist() == [0, 2, 4]
    assert index.key.dtype == np.uint64
    assert len(set(index.key.tolist())) == 2


def test_whole_ids_are_their_own_keys() -> None:
    """So that a query draws the same wherever it stands, and in any integer type."""
    for dtype in (np.int16, np.int64, np.uint32):
        assert index_queries(3, qid=np.array([9, 9, 4], dtype)).key.tolist() == [9, 4]


def test_texts_have_the_same_key_in_every_process() -> None:
    first = index_queries(2, qid=["q1", "q2"]).key
    assert first.tolist() == index_queries(2, qid=["q1", "q2"]).key.tolist()
    assert index_queries(3, qid=["q0", "q1", "q2"]).key[1:].tolist() == first.tolist()
    assert first.tolist() == [zlib.crc32(b"q1"), zlib.crc32(b"q2")]
