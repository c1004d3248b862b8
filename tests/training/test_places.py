"""Places where nothing can be written: found before training, and no trained model is lost."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.experiments.train import NotSavedError

pytestmark = pytest.mark.slow  # CI runs it

ROOT = Path(__file__).parents[2]
TRAIN = rf.make_data("yahoo", queries=20, seed=1)
SMALL: dict[str, Any] = {"n_estimators": 6, "num_leaves": 7, "threads": 1, "progress": False}
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Folders that cannot be: a file, one below a file, one of the system's, one that is closed."""
    (tmp_path / "file").write_text("mine")
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    found = {"file": tmp_path / "file", "below": tmp_path / "file" / "a" / "b"}
    found |= {"system": Path("/proc/rankforce/run")} if Path("/proc/self").exists() else {}
    return found if IS_ROOT else found | {"closed": closed / "run"}


def refused(error: Any) -> str:
    text = str(error.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("key", ["out", "checkpoint"])
def test_found_before_training(key: str, places: dict[str, Path]) -> None:
    for place in places.values():
        seen: list[int] = []
        with pytest.raises(ValueError, match=re.escape(str(place))) as error:
            rf.train(
                {"train": TRAIN, key: place, **SMALL},
                callbacks=[lambda moment, seen=seen: seen.append(moment.iteration)],
            )
        assert seen == []
        assert any(word in refused(error) for word in ("folder", "cannot be written to"))
    assert places["file"].read_text() == "mine"


def test_found_before_a_file_is_read(tmp_path: Path, places: dict[str, Path]) -> None:
    with pytest.raises(ValueError, match="out is"):
        rf.train({"train": tmp_path / "not there.txt", "out": places["below"]})


def test_a_place_that_can_be_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"not there\.txt"):
        rf.train({"train": tmp_path / "not there.txt", "out": tmp_path / "deep" / "run"})
    assert [*tmp_path.iterdir()] == []


def test_saving_says_it_in_one_sentence(places: dict[str, Path]) -> None:
    ranker = rf.Ranker(**SMALL).fit(TRAIN)
    for place in places.values():
        with pytest.raises(ValueError, match=re.escape(str(place))) as error:
            ranker.save(place)
        refused(error)


def test_a_place_that_is_lost_while_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model goes to a temporary folder, and the message says which."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    out = tmp_path / "runs" / "one"

    def take(moment: Any) -> None:
        if moment.iteration == 3:
            (tmp_path / "runs").write_text("a file now")

    with pytest.raises(NotSavedError, match="the model is trained, and saved in ") as error:
        rf.train({"train": TRAIN, "out": out, **SMALL}, callbacks=[take])
    place = Path(refused(error).rpartition(" ")[2])
    assert place.parent == tmp_path
    expected = error.value.ranker.predict(TRAIN)
    assert np.array_equal(rf.load(place).predict(TRAIN), expected)


# Files that may have so many bytes, and no more: a full disk for those who write.
LIMITED = """
import resource, sys, warnings
import rankforce as rf
from tests.training import test_places as tests

what, place, limit = sys.argv[1:]
warnings.simplefilter("always")

def limited(moment):
    if moment.iteration == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))

try:
    ranker = rf.train({"train": tests.TRAIN, what: place, **tests.SMALL, "checkpoint_every": 1},
                      callbacks=[limited])
    print("trees", len(ranker.model_.trees))
except ValueError as error:
    print("error", error, len(error.ranker.model_.trees))
"""


def limited(what: str, place: Path, limit: int) -> tuple[str, str]:
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), what, str(place), str(limit)]
    environment = os.environ | {"TMPDIR": str(place.parent)}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_full_disk_for_checkpoints(tmp_path: Path) -> None:
    """One note, all trees, and the last checkpoint that there was room for."""
    out, errors = limited("checkpoint", tmp_path / "run", 4000)
    assert out == "trees 6\n"
    assert errors.count("no checkpoint: ") == 1
    assert "File too large; training goes on" in errors
    assert len(rf.load(tmp_path / "run").model_.trees) == 2
    assert {file.name for file in (tmp_path / "run").iterdir()} == {"model.txt", "manifest.json"}
    ranker = rf.Ranker(**SMALL, checkpoint=tmp_path / "run").fit(TRAIN)
    assert len(ranker.model_.trees) == 6


def test_a_full_disk_for_the_model(tmp_path: Path) -> None:
    """Here the temporary folder is full as well: the ranker is still in the error."""
    out, _ = limited("out", tmp_path / "run", 4000)
    assert out.count("\n") == 1
    assert "File too large, nor elsewhere: " in out
    assert out.endswith(" 6\n")
    assert [*tmp_path.iterdir()] == [tmp_path / "run"]
    assert [*(tmp_path / "run").iterdir()] == []


def test_a_note_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    def fill(moment: Any) -> None:
        if moment.iteration == 1:
            monkeypatch.setattr(os, "fsync", full)

    ranker = rf.Ranker(**SMALL, checkpoint=tmp_path / "run", checkpoint_every=1)
    with pytest.warns(Note, match="No space left on device; training goes on") as said:
        ranker.fit(TRAIN, callbacks=[fill])
    assert len(said) == 1
    assert len(ranker.model_.trees) == 6


# A folder that holds a model already.


def test_out_with_a_model_is_refused_before_training(tmp_path: Path) -> None:
    out, seen = tmp_path / "run", []
    rf.train({"train": TRAIN, "out": out, **SMALL})
    before = (out / "manifest.json").read_bytes()
    other = {"train": TRAIN, "out": out, **SMALL, "n_estimators": 3}
    with pytest.raises(ValueError, match="run', which holds a model already: give another folder"):
        rf.train(other, callbacks=[lambda moment: seen.append(moment.iteration)])
    assert seen == []
    assert (out / "manifest.json").read_bytes() == before
    rf.train(other | {"overwrite": True})
    assert json.loads((out / "manifest.json").read_text())["trees"] == 3
    rf.Ranker(**SMALL).fit(TRAIN).save(out)  # from Python it is the user's own decision
    assert json.loads((out / "manifest.json").read_text())["trees"] == 6


def test_the_checkpoint_of_the_same_run_is_no_other_model(tmp_path: Path) -> None:
    out = tmp_path / "run"
    config = {"train": TRAIN, "out": out, "checkpoint": tmp_path / "." / "run", **SMALL}
    rf.train(config | {"n_estimators": 2})
    assert len(rf.train(config).model_.trees) == 6
    with pytest.raises(ValueError, match="belongs to another run: seed was 0, now 5"):
        rf.train(config | {"seed": 5})


def test_what_an_interrupted_run_left_is_no_other_model(tmp_path: Path) -> None:
    """The same command again goes on from the checkpoint, and may replace its own model."""

    def interrupt(moment: Any) -> None:
        if moment.iteration == 2:
            raise KeyboardInterrupt

    config = {"train": TRAIN, "out": tmp_path / "run", "checkpoint": tmp_path / "part", **SMALL}
    assert not rf.train(config, callbacks=[interrupt]).model_.finished
    assert len(rf.load(tmp_path / "run").model_.trees) == 3
    assert len(rf.train(config).model_.trees) == 6
    rf.Ranker(**SMALL, subsample=0.5).fit(TRAIN).save(tmp_path / "run")
    with pytest.raises(ValueError, match="holds a model already"):
        rf.train(config)
    with pytest.raises(ValueError, match="overwrite is 'no': choose true or false"):
        rf.train(config | {"overwrite": "no"})


def test_other_files_in_out_do_not_matter(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    rf.train({"train": TRAIN, "out": tmp_path, **SMALL})
    assert (tmp_path / "notes.txt").read_text() == "mine"
