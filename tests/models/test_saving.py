"""Saving over a model: the folder has the old one or the new one, whatever happens meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.files import name_beside, whole_file

ROOT = Path(__file__).parents[2]
DATA = rf.make_data("yahoo", queries=30, seed=1)
SMALL: dict[str, Any] = {"num_leaves": 15, "min_child_samples": 5, "threads": 1, "progress": False}
KILLS = 40
# Loads both models first: what is killed is a save, not an import.
WRITER = """
import sys
import rankforce as rf
old, new, place = sys.argv[1:]
models = [rf.load(old).model_, rf.load(new).model_]
print("ready", flush=True)
while True:
    for model in models:
        model.save(place)
"""
# For each line "which model, where to, n": a process of its own, killed at its n-th call of
# something that changes a folder; n = 0 counts them.
STOPPER = """
import os, signal, sys
import rankforce as rf
models = {name: rf.load(f"{sys.argv[1]}/{name}").model_ for name in ("old", "new")}

def counted(call):
    def inner(*args, **kwargs):
        global seen
        seen += 1
        if seen == steps:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*args, **kwargs)
    return inner

for line in sys.stdin:
    name, place, steps = line.rstrip().split("|")
    steps, seen = int(steps), 0
    child = os.fork()
    if child == 0:
        for call in ("open", "fsync", "replace", "unlink", "listdir"):
            setattr(os, call, counted(getattr(os, call)))
        models[name].save(place)
        os._exit(seen)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def fit(seed: int, trees: int = 30) -> rf.Ranker:
    return rf.Ranker(n_estimators=trees, seed=seed, subsample=0.5, **SMALL).fit(DATA)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place = tmp_path_factory.mktemp("saved")
    for name, seed in (("old", 1), ("new", 2)):
        fit(seed).save(place / name)
    return {name: place / name for name in ("old", "new")}


@pytest.fixture(scope="module")
def scores(saved: dict[str, Path]) -> dict[str, Any]:
    found = {name: rf.load(place).predict(DATA) for name, place in saved.items()}
    assert not np.array_equal(found["old"], found["new"])
    return found


def which(place: Path, scores: dict[str, Any]) -> str:
    """Which of the two models a folder holds; its manifest is that of the same."""
    ranker = rf.load(place)
    found = [name for name, own in scores.items() if np.array_equal(ranker.predict(DATA), own)]
    assert len(found) == 1
    assert ranker.model_.parameters["seed"] == {"old": 1, "new": 2}[found[0]]
    return found[0]


def start(script: str, *arguments: Any) -> subprocess.Popen[str]:
    # Python 3.12 warns of a fork beside threads, of which the child here uses none.
    quiet = ["-W", "ignore::DeprecationWarning"]
    command = [sys.executable, *quiet, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # no threads that a fork would lose
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True
    )


@pytest.mark.slow
def test_killed_while_saving(saved: dict[str, Path], scores: Any, tmp_path: Path) -> None:
    """Forked, so that each kill costs no start of an interpreter."""
    script = """
    import os, random, signal, sys, time
    import rankforce as rf
    old, new, place, kills = sys.argv[1:]
    models = [rf.load(old).model_, rf.load(new).model_]
    delays = random.Random(7)
    for number in range(int(kills)):
        models[0].save(f"{place}/{number}")
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            # A machine with much to do starts it late: half of the kills wait for a first save.
            if number % 2:
                models[1].save(f"{place}/{number}")
            os.write(told, b"!")
            while True:
                for model in models[:: 1 if number % 2 else -1]:
                    model.save(f"{place}/{number}")
        os.read(heard, 1)
        time.sleep(delays.uniform(0.0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    """
    process = start(script, saved["old"], saved["new"], tmp_path, KILLS)
    assert process.communicate(timeout=120)[1] == ""
    seen = set()
    for number in range(KILLS):
        place = tmp_path / str(number)
        seen.add(which(place, scores))
        rf.load(saved["old"]).save(place)  # the next save finds what was left, and removes it
        assert {file.name for file in place.iterdir()} == {"model.txt", "manifest.json"}
    assert seen == {"old", "new"}


def stop(place: Path, jobs: list[tuple[str, Path, int]]) -> list[int]:
    """Exit codes of saves that are killed at their n-th step."""
    lines = "".join(f"{name}|{target}|{step}\n" for name, target, step in jobs)
    out, errors = start(STOPPER, place).communicate(lines, timeout=120)
    assert errors == ""
    return [int(code) for code in out.split()]


@pytest.mark.slow
def test_killed_between_any_two_steps(saved: dict[str, Path], scores: Any, tmp_path: Path) -> None:
    source = saved["old"].parent
    shutil.copytree(saved["old"], tmp_path / "whole")
    [steps] = stop(source, [("new", tmp_path / "whole", 0)])
    assert steps >= 5  # two files written and moved, and a look for leftovers
    every = range(1, steps + 1)
    for step in every:
        shutil.copytree(saved["old"], tmp_path / f"over {step}")
    over = [("new", tmp_path / f"over {step}", step) for step in every]
    fresh = [("new", tmp_path / f"fresh {step}", step) for step in every]
    codes = stop(source, over + fresh)
    assert codes[:steps] == [-signal.SIGKILL] * steps
    found = [which(place, scores) for _, place, _ in over]
    assert found == sorted(found, reverse=True)  # old, ..., old, new, ..., new
    assert {*found} == {"old", "new"}
    for _, place, _ in fresh:
        if (place / "model.txt").exists():
            assert which(place, scores) == "new"
    # Once more upon what the kill after the commit left, which is nowhere in its place.
    middle = tmp_path / f"over {found.index('new') + 1}"
    again = [("old", tmp_path / f"again {step}", step) for step in every]
    for _, place, _ in again:
        shutil.copytree(middle, place)
    stop(source, again)
    assert {which(place, scores) for _, place, _ in again} == {"old", "new"}


@pytest.mark.slow
def test_a_reader_never_meets_half_a_model(
    saved: dict[str, Path], scores: Any, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    rf.load(saved["old"]).save(place)
    process = start(WRITER, saved["old"], saved["new"], place)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        end, seen = time.monotonic() + 4, []
        while time.monotonic() < end:
            seen.append(which(place, scores))
    finally:
        process.kill()
        process.communicate()
    assert {*seen} == {"old", "new"}
    assert which(place, scores) in seen


def test_two_writers_leave_one_model(saved: dict[str, Path], scores: Any, tmp_path: Path) -> None:
    """Threads stand for processes: the lock is of the folder as each of them opened it."""
    models = [rf.load(place).model_ for place in saved.values()]

    def write(model: Any) -> None:
        for _ in range(25):
            model.save(tmp_path / "run")

    writers = [threading.Thread(target=write, args=(model,)) for model in models]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    which(tmp_path / "run", scores)
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"model.txt", "manifest.json"}


def test_leftovers_of_the_living_and_of_others_stay(saved: dict[str, Path], tmp_path: Path) -> None:
    place = tmp_path / "run"
    shutil.copytree(saved["old"], place)
    own = name_beside(place / "model.txt", "part")  # this process lives
    far = own.with_name(own.name.replace(own.name.split(".")[3], "elsewhere"))
    dead = own.with_name(own.name.replace(f".{os.getpid()}.", f".{_dead_process()}."))
    mine = [own, far, place / "notes.part", place / ".manifest.json.next"]
    for file in (*mine, dead):
        file.write_text("half")
    rf.load(saved["new"]).save(place)
    assert {*place.iterdir()} == {place / "model.txt", place / "manifest.json", *mine}


def test_leftovers_of_any_whole_file_are_removed(tmp_path: Path) -> None:
    own = name_beside(tmp_path / "scores.txt", "part").name
    (tmp_path / own.replace(f".{os.getpid()}.", f".{_dead_process()}.")).write_text("half")
    with whole_file(tmp_path / "scores.txt") as name:
        name.write_text("all")
    assert [file.name for file in tmp_path.iterdir()] == ["scores.txt"]


def _dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_folders_of_version_0_1_load(saved: dict[str, Path], scores: Any, tmp_path: Path) -> None:
    """They have the same two files; one killed between them has more trees than it counts."""
    place = tmp_path / "run"
    shutil.copytree(saved["old"], place)
    (place / ".model.txt.123.part").write_text("half")
    assert which(place, scores) == "old"
    shorter = rf.load(saved["old"])
    shorter.model_.save(place, steps=4)
    (place / "model.txt").write_bytes((saved["old"] / "model.txt").read_bytes())
    assert len(rf.load(place).model_.trees) == 4


def test_a_manifest_of_other_trees_is_still_refused(saved: dict[str, Path], tmp_path: Path) -> None:
    shutil.copytree(saved["old"], tmp_path / "run")
    (tmp_path / "run" / "model.txt").write_bytes((saved["new"] / "model.txt").read_bytes())
    with pytest.raises(ValueError, match=r"manifest.json: it does not belong to the trees"):
        rf.load(tmp_path / "run")


def test_a_checkpoint_killed_between_any_two_steps_goes_on(
    saved: dict[str, Path], tmp_path: Path
) -> None:
    """Of a first checkpoint too, whose manifest is not in its place."""
    run = {"n_estimators": 6, "seed": 3, **SMALL}
    part = rf.Ranker(**run | {"n_estimators": 3}, checkpoint=tmp_path / "part").fit(DATA)
    whole = rf.Ranker(**run, checkpoint=tmp_path / "whole").fit(DATA)
    assert len(part.model_.trees) == 3
    waiting = name_beside(tmp_path / "part" / "manifest.json", "next")
    os.replace(tmp_path / "part" / "manifest.json", waiting)
    seen: list[int] = []
    again = rf.Ranker(**run, checkpoint=tmp_path / "part").fit(
        DATA, callbacks=[lambda moment: seen.append(moment.iteration)]
    )
    assert seen == [3, 4, 5]
    assert again.model_.text() == whole.model_.text()
