"""Workers that are lost, clients that go away, and mistakes: an end, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import rankforce as rf
from tests.ctrl_c import started
from tests.training.cluster.small import (
    SETTINGS,
    as_data,
    check_same,
    fit_alone,
    in_bins,
    make_frame,
)

pytestmark = pytest.mark.slow  # CI runs it

dd = pytest.importorskip("dask.dataframe")

TRAIN, VALID = make_frame(60, seed=1), make_frame(20, seed=2, first=1000)
LONG = SETTINGS | {"n_estimators": 100_000, "learning_rate": 0.001, "checkpoint_every": 1}


def trees_in(checkpoint: Path) -> int:
    """Trees that a checkpoint has so far."""
    try:
        return len(rf.load(checkpoint).model_.trees)
    except ValueError:
        return 0


def wait_until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    latest = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < latest, "it did not come true in time"
        time.sleep(0.05)


def processes_of(client: Any) -> list[psutil.Process]:
    """The processes that train."""
    workers = [psutil.Process(pid) for pid in client.run(os.getpid).values()]
    children = [child for worker in workers for child in worker.children(recursive=True)]
    return [one for one in children if _trains(one)]


def _trains(process: psutil.Process) -> bool:
    try:
        return "rankforce.training.cluster.process" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


@contextmanager
def fitting(client: Any, checkpoint: Path) -> Iterator[list[BaseException]]:
    """A long run in a thread; afterwards it has ended within a minute, with what it raised."""
    raised: list[BaseException] = []

    def fit() -> None:
        try:
            rf.Ranker(**LONG, checkpoint=checkpoint, cluster=client).fit(
                as_data(TRAIN), eval_set=[as_data(VALID)], eval_metric="ndcg@5"
            )
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=fit, daemon=True)
    thread.start()
    wait_until(lambda: trees_in(checkpoint) >= 3)
    yield raised
    thread.join(60.0)
    assert not thread.is_alive()


def kill_process(client: Any) -> None:
    processes_of(client)[-1].kill()


def kill_worker(client: Any) -> None:
    psutil.Process(max(client.run(os.getpid).values())).kill()


@pytest.mark.parametrize("kill", [kill_process, kill_worker])
def test_a_worker_that_is_killed(client: Any, kill: Callable[[Any], None], tmp_path: Path) -> None:
    with fitting(client, tmp_path / "part") as raised:
        kill(client)
    assert isinstance(raised[0], rf.RankforceError), raised
    assert "worker tcp://" in str(raised[0])
    assert "ended by SIGKILL" in str(raised[0]) or "is gone" in str(raised[0])
    client.wait_for_workers(2, timeout=30)
    wait_until(lambda: not processes_of(client))
    done = trees_in(tmp_path / "part")
    more = LONG | {"n_estimators": done + 2, "checkpoint": tmp_path / "part"}
    ranker = rf.Ranker(**more, cluster=client)
    ranker.fit(as_data(TRAIN), eval_set=[as_data(VALID)], eval_metric="ndcg@5")
    alone = fit_alone(TRAIN, VALID, **LONG | {"n_estimators": done + 2})
    check_same(ranker, alone)


SCRIPT = """
import sys
import rankforce as rf
from tests.training.cluster.small import as_data
from tests.training.cluster.test_lost import LONG, TRAIN

if __name__ == "__main__":
    rf.Ranker(**LONG, checkpoint=sys.argv[2], cluster=sys.argv[1]).fit(as_data(TRAIN))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_client_that_goes_away(client: Any, how: signal.Signals, tmp_path: Path) -> None:
    """Ctrl-C, and a client that is killed, end the processes of all workers."""
    place = tmp_path / "part"
    command = [sys.executable, "-c", SCRIPT, client.scheduler.address, str(place)]
    with started(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: trees_in(place) >= 2)
        assert len(processes_of(client)) == 2
        process.send_signal(how)
        errors = process.communicate(timeout=30.0)[1]
    assert (how == signal.SIGKILL) or "KeyboardInterrupt" in errors
    wait_until(lambda: not processes_of(client))
    scratch = [Path(place) for place in client.run(folder_of_worker).values()]
    wait_until(lambda: not any([*place.glob("rankforce-*")] for place in scratch))


def folder_of_worker(dask_worker: Any) -> str:
    return str(dask_worker.local_directory)


def test_two_runs_at_once_do_not_meet(client: Any) -> None:
    frames = [make_frame(40, seed=3), make_frame(40, seed=4)]
    rankers = [rf.Ranker(**SETTINGS, cluster=client, seed=n) for n in range(2)]
    runs = [
        threading.Thread(target=ranker.fit, args=(as_data(frame),), daemon=True)
        for ranker, frame in zip(rankers, frames, strict=True)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join(120.0)
    for number, (ranker, frame) in enumerate(zip(rankers, frames, strict=True)):
        alone = rf.Ranker(**SETTINGS, seed=number).fit(in_bins(frame))
        check_same(ranker, alone)
