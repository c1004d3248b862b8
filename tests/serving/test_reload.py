"""Models are replaced and workers killed while clients ask: no answer is lost or wrong."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from rankforce.serving.models import version_of
from tests.serving.clients import Crowd, answers_of
from tests.serving.conftest import Known, train
from tests.serving.running import Running, running, until

pytestmark = pytest.mark.slow  # CI runs it


def workers_of(server: Running, count: int) -> set[int]:
    """Processes that answer, once there are so many."""
    seen: set[int] = set()

    def ask() -> set[int]:
        with contextlib.suppress(ConnectionError):  # it was one that is being killed
            seen.add(server.get("/healthz").told["worker"])
        return seen if len(seen) >= count else set()

    until(ask, f"{count} workers")
    return seen


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def workers_in_turn(server: Running, connections: int) -> list[int]:
    """The worker of each of some connections that are open at the same time."""
    held = [server.connect() for _ in range(connections)]
    for one in held:
        one.connect()
    seen = []
    for one in held:
        one.request("GET", "/healthz")
        seen.append(json.loads(one.getresponse().read())["worker"])
        one.close()
    return seen


@pytest.fixture
def crowd_models(first: Known, second: Known, rows: np.ndarray) -> dict[str, list[float]]:
    both = {version_of(one.ranker.model_): one.ranker for one in (first, second)}
    return answers_of(both, rows)


def test_a_model_is_replaced_under_load(
    first: Known, second: Known, rows: np.ndarray, crowd_models: dict, tmp_path: Path
):
    run = tmp_path / "run"
    first.ranker.save(run)
    versions = list(crowd_models)
    with running(tmp_path, run) as server:
        crowd = Crowd(server, rows, crowd_models)
        with crowd.asking(3):
            until(lambda: crowd.seen.get(versions[0]), "the first version")
            for turn, known in enumerate((second, first, second), start=1):
                before = crowd.seen.get(versions[turn % 2], 0)
                known.ranker.save(run)
                if turn == 2:  # one may ask for it
                    told = server.post("/models/run/reload", b"").told
                    assert told == {"model": "run", "version": versions[0]}
                until(lambda: crowd.seen.get(versions[turn % 2], 0) > before, "the new version")  # noqa: B023
        assert (crowd.wrong, crowd.lost, crowd.retried) == ([], [], 0)
        assert crowd.count > 100
        text = server.get("/metrics").content.decode()
        assert 'rankforce_reloads_total{model="run",outcome="served"}' in text


def test_a_broken_model_keeps_the_old_one(
    first: Known, second: Known, rows: np.ndarray, crowd_models: dict, tmp_path: Path
):
    run = tmp_path / "run"
    first.ranker.save(run)
    old, new = crowd_models
    with running(tmp_path, run) as server:
        (run / "model.txt").write_text("tree\nnothing of use")

        def about() -> dict:
            return server.get("/models").told["models"][0]

        until(lambda: "error" in about(), "the server to see it")
        assert about()["version"] == old
        assert "model.txt" in about()["error"]
        assert f"model run: version {old} goes on: " in server.log.read_text()
        answer = server.post("/rank", {"features": rows.tolist()})
        assert [one["score"] for one in answer.told["ranking"]] == crowd_models[old]
        refused = server.post("/models/run/reload", b"")
        assert refused.status == 422
        assert refused.error.startswith(f"version {old} goes on: ")
        second.ranker.save(run)
        until(lambda: about()["version"] == new, "the new version")
        assert "error" not in about()
        assert server.log.read_text().count("goes on") == 2  # not once a second


def test_a_killed_worker_is_started_again(
    first: Known, rows: np.ndarray, crowd_models: dict, tmp_path: Path
):
    with running(tmp_path, first.folder, "--workers", "2") as server:
        before = workers_of(server, 2)
        turns = workers_in_turn(server, 10)
        assert sorted(map(turns.count, before)) == [5, 5]
        crowd = Crowd(server, rows, crowd_models)
        with crowd.asking(3):
            until(lambda: crowd.count > 20, "answers")
            killed = before.pop()
            os.kill(killed, signal.SIGKILL)
            count = crowd.count
            until(lambda: crowd.count > count + 20, "answers of the other one")
            after = workers_of(server, 2)
        assert killed not in after
        assert before < after
        assert (crowd.wrong, crowd.lost) == ([], [])
        assert crowd.retried <= 3  # those whose connection it had
        assert f"worker {killed} ended (SIGKILL): another one starts" in server.log.read_text()
        count = crowd.count
        text = server.get("/metrics").content.decode()
        told = next(line for line in text.splitlines() if 'path="/rank",status="200"' in line)
        # What the killed one had counted is counted still. Of three answers it may have died before
        # they left and were asked for again, or between that and counting.
        assert abs(float(told.split()[-1]) - count) <= 3
        assert server.stop() == 0
        assert not any(is_there(process) for process in after)
        assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
def test_workers_end_with_the_first_process(first: Known, tmp_path: Path):
    with running(tmp_path, first.folder, "--workers", "2") as server:
        workers = workers_of(server, 2)
        server.stop(signal.SIGKILL)
        until(lambda: not any(is_there(one) for one in workers), "the workers to end")


@pytest.mark.slow
def test_a_worker_that_cannot_start_waits_for_good_files(
    first: Known, second: Known, tmp_path: Path
):
    run = tmp_path / "run"
    first.ranker.save(run)
    with running(tmp_path, run, "--workers", "2") as server:
        killed = workers_of(server, 2).pop()
        (run / "model.txt").write_text("tree\nnothing of use")
        os.kill(killed, signal.SIGKILL)
        until(lambda: "ended (exit code 1)" in server.log.read_text(), "one that cannot start")
        assert server.get("/models").told["models"][0]["trees"] == 5
        second.ranker.save(run)
        assert killed not in workers_of(server, 2)
        assert "Traceback" not in server.log.read_text()


@pytest.mark.slow
def test_ctrl_c_stops_all_workers(first: Known, tmp_path: Path):
    with running(tmp_path, first.folder, "--workers", "2") as server:
        workers = workers_of(server, 2)
        for process in workers:
            os.kill(process, signal.SIGINT)  # a terminal tells all of them
        assert server.stop(signal.SIGINT) == 130
        assert not any(is_there(process) for process in workers)
        log = server.log.read_text()
        assert "Traceback" not in log
        assert log.splitlines()[-1] == "rankforce serve: interrupted"


@pytest.mark.slow
def test_twenty_reloads_and_a_killed_worker(rows: np.ndarray, tmp_path: Path):
    """With models that take a while to load."""
    known = [train(tmp_path / name, seed=seed, trees=100) for seed, name in enumerate("ab")]
    run = tmp_path / "run"
    known[0].ranker.save(run)
    versions = [version_of(one.ranker.model_) for one in known]
    rankers = dict(zip(versions, (one.ranker for one in known), strict=True))
    with running(tmp_path, run, "--workers", "2") as server:
        workers = workers_of(server, 2)
        crowd = Crowd(server, rows, answers_of(rankers, rows))
        with crowd.asking(4):
            for turn in range(20):
                if turn == 10:
                    os.kill(workers.pop(), signal.SIGKILL)
                version = versions[(turn + 1) % 2]
                before = crowd.seen.get(version, 0)
                known[(turn + 1) % 2].ranker.save(run)
                until(lambda: crowd.seen.get(version, 0) > before, "the new version")  # noqa: B023
        assert (crowd.wrong, crowd.lost) == ([], [])
        assert crowd.retried <= 4
