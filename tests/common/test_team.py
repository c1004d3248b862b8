"""Workers that tell each other values, and what becomes of them when one is lost."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from rankforce.common.errors import RankforceError
from rankforce.common.links import open_door
from rankforce.common.messages import decode, encode
from rankforce.common.team import ALONE, Team, add_up, join_team

HOST = "127.0.0.1"


def meet(size: int, work: Callable[[Team], Any], *, timeout: float = 10.0) -> list[Any]:
    """What `work` answers at each of the workers, which are threads here."""
    door = open_door(HOST)
    addresses = [door.getsockname()[:2], *[(HOST, 0)] * (size - 1)]

    def run(rank: int) -> Any:
        own = door if rank == 0 else None
        try:
            with join_team(rank, addresses, token=b"t", timeout=timeout, door=own) as team:
                return work(team)
        except (RankforceError, ZeroDivisionError) as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


@pytest.mark.parametrize(
    "value",
    [
        None,
        0.1 + 0.2,
        float("inf"),
        "Käse",
        {"a": [1, 2.5, "b"], "c": np.arange(6.0).reshape(2, 3)},
        [np.zeros(0, np.uint64), np.array([2**64 - 1], np.uint64), np.array([True])],
    ],
)
def test_values_survive_the_way(value: Any) -> None:
    np.testing.assert_equal(decode(encode(value)), value)


def test_an_array_of_objects_is_not_sent() -> None:
    with pytest.raises(AssertionError):
        encode(np.array([object()]))


def test_alone_nothing_is_sent() -> None:
    value = object()
    assert ALONE.gather(value) == [value]
    assert (ALONE.rank, ALONE.size) == (0, 1)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_all_get_all_in_order_of_rank(size: int) -> None:
    def work(team: Team) -> Any:
        return [team.gather({"rank": team.rank, "round": n}) for n in range(3)]

    expected = [[{"rank": r, "round": n} for r in range(size)] for n in range(3)]
    assert meet(size, work) == [expected] * size


def test_parts_larger_than_any_buffer_reach_their_worker() -> None:
    def work(team: Team) -> Any:
        parts = [np.full(3_000_000, 10 * team.rank + to, np.uint8).data for to in range(3)]
        return [np.unique(np.asarray(one)).tolist() for one in team.exchange(parts)]

    assert meet(3, work) == [[[10 * r + to] for r in range(3)] for to in range(3)]


@pytest.mark.parametrize("count", [1, 5, 100_000])
def test_whole_numbers_are_added_up(count: int) -> None:
    def work(team: Team) -> Any:
        return add_up(team, np.arange(count) + 2**60 * team.rank)

    for found in meet(3, work):
        np.testing.assert_array_equal(found, 3 * np.arange(count) + 3 * 2**60)


def test_a_slow_worker_is_waited_for() -> None:
    def work(team: Team) -> Any:
        time.sleep(1.5 if team.rank else 0.0)
        return team.gather(team.rank)

    assert meet(2, work, timeout=0.5) == [[0, 1], [0, 1]]


def test_an_error_at_one_is_an_error_at_all_with_its_words() -> None:
    def work(team: Team) -> Any:
        if team.rank == 1:
            raise RankforceError("label of row 3 is nan")
        return team.gather(0)

    found = meet(3, work)
    assert str(found[1]) == "label of row 3 is nan"
    for rank in (0, 2):
        assert str(found[rank]).startswith("worker 1 (127.0.0.1:")
        assert str(found[rank]).endswith("): label of row 3 is nan")


def test_a_stranger_is_turned_away_and_the_team_meets() -> None:
    door = open_door(HOST)
    addresses = [door.getsockname()[:2], (HOST, 0)]
    silent = socket.create_connection(addresses[0])
    loud = socket.create_connection(addresses[0])
    loud.sendall(b"GET / HTTP/1.0\r\n\r\n" * 8)
    found: list[Any] = []

    def run(rank: int, token: bytes) -> None:
        own = door if rank == 0 else None
        try:
            with join_team(rank, addresses, token=token, timeout=4.0, door=own) as team:
                found.append(team.gather(rank))
        except RankforceError as error:
            found.append(str(error))

    threads = [threading.Thread(target=run, args=(1, b"another run"))]
    threads[0].start()
    time.sleep(0.2)
    threads += [threading.Thread(target=run, args=(rank, b"t")) for rank in (0, 1)]
    for thread in threads[1:]:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    silent.close()
    loud.close()
    assert found[:2] == [[0, 1], [0, 1]]
    assert "does not let worker 1 in" in found[2]


def test_who_does_not_come_is_named() -> None:
    door = open_door(HOST)
    addresses = [door.getsockname()[:2], (HOST, 0), (HOST, 0)]
    begun = time.monotonic()
    with pytest.raises(RankforceError, match=r"^workers 1, 2 did not come in time$"):
        join_team(0, addresses, token=b"t", timeout=0.3, door=door)
    assert time.monotonic() - begun < 20.0


def wait_in_vain(rank: int, port: int, timeout: float, tell: Any) -> None:
    """A worker that waits for the others for ever, in a process."""
    addresses = [(HOST, port), (HOST, 0), (HOST, 0)]
    with join_team(rank, addresses, token=b"t", timeout=timeout, patience=60.0) as team:
        team.gather(None)
        tell.send("")
        try:
            if rank == 2:
                time.sleep(60.0)
            team.gather(None)
        except RankforceError as error:
            tell.send(str(error))
            raise


def heard(pipe: Any) -> str:
    assert pipe.poll(60.0)
    text: str = pipe.recv()
    return text


@pytest.mark.parametrize(
    ("how", "within", "words"),
    [(signal.SIGKILL, 20.0, "is gone"), (signal.SIGSTOP, 30.0, "has not been heard of for 2 s")],
)
def test_a_lost_worker_is_an_error_at_the_others(how: int, within: float, words: str) -> None:
    context = multiprocessing.get_context("spawn")
    door = open_door(HOST)
    port = door.getsockname()[1]
    door.close()
    # A pipe for each: whoever is killed may hold the lock of a queue that all share.
    pipes = [context.Pipe() for _ in range(3)]
    workers = [
        context.Process(target=wait_in_vain, args=(rank, port, 2.0, there), daemon=True)
        for rank, (_, there) in enumerate(pipes)
    ]
    for worker in workers:
        worker.start()
    try:
        assert [heard(here) for here, _ in pipes] == [""] * 3
        assert workers[2].pid is not None
        os.kill(workers[2].pid, how)
        begun = time.monotonic()
        found = [heard(here) for here, _ in pipes[:2]]
        assert time.monotonic() - begun < within
        for text in found:
            assert text.startswith("worker 2 (127.0.0.1:")
            assert words in text
    finally:
        for worker in workers:
            worker.kill()
            worker.join(10.0)
