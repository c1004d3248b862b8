"""Workers that see each other by a network alone: each in a network namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import rankforce as rf
from tests.training.cluster.small import check_same, fit_alone, make_frame, write_folder
from tests.training.cluster.test_lost import LONG, trees_in, wait_until

pytest.importorskip("distributed")
WHY = (
    "only Linux has network namespaces"
    if sys.platform != "linux"
    else "ip (of iproute2) is not there"
    if shutil.which("ip") is None
    else "only root makes network namespaces"
    if os.geteuid() != 0
    else ""
)
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(WHY), reason=WHY)]

TRAIN, VALID = make_frame(60, seed=1), make_frame(20, seed=2, first=1000)
NET, SCHEDULER = "10.177.0", "tcp://10.177.0.1:8786"
SCRIPT = """
import json, sys
import rankforce as rf

if __name__ == "__main__":
    settings, train, valid, out = json.loads(sys.argv[1])
    ranker = rf.Ranker(**settings).fit(train, eval_set=[valid], eval_metric="ndcg@5")
    ranker.save(out)
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True, timeout=10)


class Network:
    """A bridge in a namespace with the scheduler and the client, and a namespace a worker."""

    def __init__(self, workers: int) -> None:
        self.home = f"rf{os.getpid()}"
        self.others = [f"{self.home}w{number}" for number in range(workers)]

    def make(self) -> None:
        ip("netns", "add", self.home)
        ip("-n", self.home, "link", "set", "lo", "up")  # for its own address
        ip("-n", self.home, "link", "add", "br0", "type", "bridge")
        ip("-n", self.home, "addr", "add", f"{NET}.1/24", "dev", "br0")
        ip("-n", self.home, "link", "set", "br0", "up")
        for number, other in enumerate(self.others):
            ip("netns", "add", other)
            link = f"to{number}"
            ip("-n", self.home, "link", "add", link, "type", "veth", "peer", "eth0", "netns", other)
            ip("-n", self.home, "link", "set", link, "master", "br0", "up")
            ip("-n", other, "addr", "add", f"{NET}.{number + 11}/24", "dev", "eth0")
            ip("-n", other, "link", "set", "eth0", "up")
            ip("-n", other, "link", "set", "lo", "up")

    def remove(self) -> None:
        for name in (self.home, *self.others):
            subprocess.run(["ip", "netns", "del", name], check=False, timeout=10)


@contextmanager
def running(where: str, *command: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a namespace, which does not outlive the block."""
    with open(log, "wb") as out:
        process = subprocess.Popen(
            ["ip", "netns", "exec", where, sys.executable, *command], stdout=out, stderr=out
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(15.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.fixture(params=[2, 4])
def network(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Network]:
    """A scheduler and workers, as one starts them by hand."""
    made = Network(request.param)
    with ExitStack() as stack:
        stack.callback(made.remove)
        made.make()
        start = ["-m", "dask", "scheduler", "--host", f"{NET}.1", "--port", "8786"]
        start += ["--no-dashboard", "--scheduler-file", str(tmp_path / "scheduler.json")]
        stack.enter_context(running(made.home, *start, log=tmp_path / "scheduler.log"))
        for number, other in enumerate(made.others):
            work = ["-m", "dask", "worker", SCHEDULER, "--host", f"{NET}.{number + 11}"]
            work += ["--nthreads", "1", "--no-dashboard", "--memory-limit", "0"]
            work += ["--local-directory", str(tmp_path / f"worker{number}")]
            stack.enter_context(running(other, *work, log=tmp_path / f"worker{number}.log"))
        logs = [tmp_path / f"worker{number}.log" for number in range(request.param)]
        wait_until(lambda: all(map(_has_begun, logs)))
        yield made


def _has_begun(log: Path) -> bool:
    return log.exists() and "Starting established connection" in log.read_text()


def fit_command(settings: object, train: Path, out: Path, valid: Path) -> list[str]:
    return ["-c", SCRIPT, json.dumps([settings, str(train), str(valid), str(out)])]


def test_workers_on_their_own_machines(network: Network, tmp_path: Path) -> None:
    train = write_folder(TRAIN, tmp_path / "train", 6)
    valid = write_folder(VALID, tmp_path / "valid", 3)
    settings = {"n_estimators": 8, "num_leaves": 7, "learning_rate": 0.2, "k": 5}
    settings |= {"min_child_samples": 5, "cluster": str(tmp_path / "scheduler.json")}
    command = fit_command(settings, train, tmp_path / "run", valid)
    with running(network.home, *command, log=tmp_path / "client.log") as client:
        assert client.wait(120.0) == 0, (tmp_path / "client.log").read_text()
    check_same(rf.load(tmp_path / "run"), fit_alone(TRAIN, VALID))


def test_a_network_that_goes_down(network: Network, tmp_path: Path) -> None:
    """A worker that is cut off is a clear error within a minute, and a rerun goes on."""
    train = write_folder(TRAIN, tmp_path / "train", 6)
    valid = write_folder(VALID, tmp_path / "valid", 3)
    place = tmp_path / "part"
    settings = LONG | {"checkpoint": str(place), "cluster": SCHEDULER}
    command = fit_command(settings, train, tmp_path / "run", valid)
    with running(network.home, *command, log=tmp_path / "client.log") as client:
        wait_until(lambda: trees_in(place) >= 3 or client.poll() is not None, 120.0)
        ip("-n", network.home, "link", "set", "to1", "down")
        cut = time.monotonic()
        assert client.wait(70.0) == 1
    assert time.monotonic() - cut < 60.0
    said = (tmp_path / "client.log").read_text()
    assert "RankforceError: " in said
    assert "has not been heard of" in said or "is gone" in said or "is lost" in said
    done = trees_in(place)
    again = LONG | {"checkpoint": place, "n_estimators": done + 2}
    ranker = rf.Ranker(**again).fit(rf.read(train), eval_set=[rf.read(valid)], eval_metric="ndcg@5")
    assert len(ranker.model_.trees) == done + 2
    check_same(ranker, fit_alone(TRAIN, VALID, **LONG | {"n_estimators": done + 2}))
