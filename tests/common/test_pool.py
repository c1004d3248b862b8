"""Threads for tasks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rankforce.common.pool import Pool, Task, open_pool
from tests.ctrl_c import LONG, heard

ROOT = Path(__file__).parents[2]


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_answers_come_in_order(threads: int) -> None:
    def late(number: int) -> int:
        time.sleep(0.01 * (3 - number % 4))
        return number * number

    with open_pool(threads) as pool:
        assert pool.map(late, range(9)) == [number * number for number in range(9)]
        assert pool.map(late, []) == []
        tasks = [pool.submit(late, number) for number in range(9)]
        assert [task.result() for task in tasks] == [number * number for number in range(9)]
        assert tasks[3].result() == 9


def test_threads_are_as_many_as_asked_for_and_end() -> None:
    met = threading.Barrier(3)
    with open_pool(3, name="three") as pool:
        assert not any(name.startswith("three") for name in names())
        pool.map(lambda _: met.wait(LONG), range(9))
        assert {name for name in names() if name.startswith("three")} == {
            "three_0",
            "three_1",
            "three_2",
        }
    until = time.monotonic() + LONG
    while any(name.startswith("three") for name in names()) and time.monotonic() < until:
        time.sleep(0.001)  # a thread has done its last task, and is about to be gone
    assert not any(name.startswith("three") for name in names())


def test_an_error_ends_the_rest() -> None:
    begun, ended = [], []

    def work(number: int) -> None:
        begun.append(number)
        if number == 1:
            raise ValueError("the second")
        time.sleep(0.1)
        ended.append(number)

    with open_pool(2) as pool:
        with pytest.raises(ValueError, match="the second"):
            pool.map(work, range(100))
        assert sorted(begun) == sorted([1, *ended])  # none still runs
        assert len(begun) < 10
        assert pool.map(abs, [-1]) == [1]


def test_what_has_not_begun_at_the_end_is_left_out() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.05)
        done.append(number)

    with open_pool(1) as pool:
        first = pool.submit(work, 0)
        for number in range(1, 50):
            pool.submit(work, number)
        first.wait()
    assert done == list(range(len(done)))
    assert len(done) < 10
    with pytest.raises(RuntimeError, match="the pool of 1 threads has ended"):
        pool.submit(int)


def test_a_task_is_run_once_or_dropped() -> None:
    calls: list[int] = []
    task = Task(lambda: calls.append(1))
    task.run()
    task.run()
    assert not task.drop()
    assert calls == [1]
    other = Task(lambda: calls.append(2))
    assert other.drop()
    other.run()
    assert calls == [1]


def test_a_thread_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    pool = Pool(2)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start"):
            pool.map(abs, [-1])
    assert pool.map(abs, [-1, 2]) == [1, 2]
    pool.end()


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_does_not_wait_for_what_has_not_begun() -> None:
    begun, ended = [], []

    def work(number: int) -> None:
        begun.append(number)
        if number == 3:
            os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.05)
        ended.append(number)

    with heard(), open_pool(2) as pool:
        with pytest.raises(KeyboardInterrupt):
            pool.map(work, range(1000))
        assert sorted(begun) == sorted(ended)
        assert 4 <= len(begun) < 20
        assert pool.map(abs, [-1, 2]) == [1, 2]


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_at_every_step_leaves_nothing_that_hangs() -> None:
    command = [sys.executable, "-m", "tests.common.every_step"]
    with heard():
        answer = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False
        )
    assert answer.returncode == 0, answer.stderr
    assert min(map(int, answer.stdout.split())) > 100
