"""A committee that is killed goes on to the same model, byte for byte."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.engines.histogram.engine import Histogram
from rankforce.models.model import Model
from rankforce.training.committee import Committee
from tests.ctrl_c import heard
from tests.training.test_checkpoint import PARAMS, TRAIN, VALID, in_a_process, record_of, text_of

pytestmark = pytest.mark.slow  # CI runs it

MEMBERS: list[Any] = ["ranknet", {"num_leaves": 4}, "lambdarank(map)"]
TREES = PARAMS["n_estimators"]
KILL = """
import importlib, os, signal, sys
from rankforce.training.committee import Committee
tests = importlib.import_module(sys.argv[2])
see, after = Committee._see_tree, tuple(map(int, sys.argv[4].split(",")))

def kill(self, number, moment):
    see(self, number, moment)
    if (number, moment.iteration + 1) == after:
        os.kill(os.getpid(), signal.SIGKILL)

Committee._see_tree = kill
tests.fit(sys.argv[1], threads=int(sys.argv[3]))
"""


def fit(folder: Any = None, **given: Any) -> rf.Ranker:
    told = {"callbacks": given.pop("callbacks", None)}
    params = PARAMS | {"members": MEMBERS, "k": 5, "checkpoint": folder} | given
    return rf.Ranker(**params).fit(TRAIN, eval_set=[VALID], **told)


def files_of(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("whole") / "run"
    fit(place)
    return place


@pytest.mark.parametrize(
    ("threads", "after"),
    [(1, (1, 7)), (2, (0, 7)), (1, (2, TREES))],
    ids=["in a second member", "in the first of two", "before the last checkpoint"],
)
def test_killed_and_resumed(
    threads: int, after: tuple[int, int], whole: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    process = in_a_process(KILL, place, __name__, threads, ",".join(map(str, after)))
    _, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, errors
    assert not (place / "model.txt").exists()
    assert record_of(place / f"member-{after[0] + 1}")["trees"] in (6, 9)
    resumed = fit(place, threads=3 - threads)
    assert files_of(place) == files_of(whole)
    assert np.array_equal(resumed.predict(VALID), rf.load(whole).predict(VALID))
    assert resumed.model_.finished


def test_a_whole_run_is_that_without_checkpoints(whole: Path, tmp_path: Path) -> None:
    fit().save(tmp_path)
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / name).read_bytes() == (whole / name).read_bytes()


def test_members_that_are_there_are_not_trained_again(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, grown = tmp_path / "run", []
    shutil.copytree(whole, place)
    shutil.rmtree(place / "member-2")
    grow = Histogram.grow

    def count(self: Histogram, *given: Any) -> Any:
        grown.append(1)
        return grow(self, *given)

    monkeypatch.setattr(Histogram, "grow", count)
    fit(place)
    assert len(grown) == TREES
    assert files_of(place) == files_of(whole)


OTHERS: list[tuple[dict[str, Any], str]] = [
    ({"members": 3}, "members was"),
    ({"members": None}, "members was"),
    ({"num_leaves": 6}, "num_leaves was 5, now 6"),
    ({"seed": 2}, "seed was 1, now 2"),
    ({"subsample": 0.5}, "subsample was 0.7, now 0.5"),
]


@pytest.mark.parametrize(("other", "message"), OTHERS)
@pytest.mark.parametrize("is_whole", [True, False])
def test_another_run_is_refused(
    other: dict[str, Any], message: str, is_whole: bool, whole: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    shutil.copytree(whole, place)
    if not is_whole:
        (place / "model.txt").unlink()
        (place / "manifest.json").unlink()
    before = files_of(place)
    if not is_whole and "members" in other:
        message = "objective was 'RankNet', now|is no checkpoint"
    elif not is_whole:
        message = f"member 1 of 3: RankNet: .* belongs to another run: (data_random_)?{message}"
    with pytest.raises(rf.RankforceError, match=message):
        fit(place, **other)
    assert files_of(place) == before


def test_a_checkpoint_of_one_ranker_is_refused(tmp_path: Path) -> None:
    fit(tmp_path, members=None)
    before = text_of(tmp_path)
    with pytest.raises(rf.RankforceError, match="belongs to another run: members was None"):
        fit(tmp_path)
    assert text_of(tmp_path) == before


def test_a_folder_that_does_not_matter_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(rf.RankforceError, match="is no checkpoint: choose a folder that is new"):
        fit(tmp_path)
    assert files_of(tmp_path) == {"thesis.tex": b"years of work"}


def interrupting(
    monkeypatch: pytest.MonkeyPatch, number: int, interrupt: Callable[[], Any]
) -> None:
    """Ctrl-C after the fifth tree of a member."""
    see = Committee._see_tree

    def look(self: Committee, which: int, moment: Any) -> None:
        see(self, which, moment)
        if (which, moment.iteration) == (number, 4):
            interrupt()

    monkeypatch.setattr(Committee, "_see_tree", look)


def raise_interrupt() -> None:
    raise KeyboardInterrupt


def test_interrupted_by_the_user(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        interrupting(patch, 1, raise_interrupt)
        found = fit(tmp_path)
    assert [one["objective"] for one in found.members_] == ["RankNet"]
    assert not found.model_.finished
    assert len(found.model_.trees) == TREES
    assert record_of(tmp_path / "member-2")["trees"] == 5
    fit(tmp_path)
    assert files_of(tmp_path) == files_of(whole)


def test_interrupted_before_a_member_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupting(monkeypatch, 0, raise_interrupt)
    found = fit()
    assert [one["trees"] for one in found.members_] == [5]
    assert not found.model_.finished


def test_interrupted_while_two_members_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third member, of many trees, begins when another has ended, and ends when it is told."""

    def press() -> None:
        assert threading.current_thread() is not threading.main_thread()
        os.kill(os.getpid(), signal.SIGINT)

    interrupting(monkeypatch, 2, press)
    with heard():
        found = fit(threads=2, members=[{}, {}, {"n_estimators": 100_000, "learning_rate": 1e-4}])
    assert 1 <= len(found.members_) <= 2
    assert {one["trees"] for one in found.members_} == {TREES}
    assert not found.model_.finished


def test_a_full_disk_is_said_and_training_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Model.save

    def save(self: Model, folder: Any, **more: Any) -> None:
        if self.members:
            raise rf.RankforceError("no space left")
        real(self, folder, **more)

    monkeypatch.setattr(Model, "save", save)
    with pytest.warns(Note, match="no checkpoint: no space left"):
        found = fit(tmp_path)
    assert len(found.members_) == 3
