"""Models on the command line: replaced, gone on from, and standing on others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import Answer, run_inside

SMALL = ("--trees", "3", "--num-leaves", "5", "--quiet")


class Wrapped:
    """A model of another kind, as far as the toolkit can tell."""

    def __init__(self, ranker: rf.Ranker) -> None:
        self.ranker = ranker

    def predict(self, features: Any) -> Any:
        return self.ranker.predict(features)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, a model, one upon it, and one upon it as version 0.1 wrote it."""
    place = tmp_path_factory.mktemp("models")
    for number, name in enumerate(("train.txt", "vali.txt")):
        write(rf.make_data("yahoo", queries=25, seed=number), place / name)
    data = rf.read(place / "train.txt")
    params: dict[str, Any] = {"n_estimators": 3, "num_leaves": 5, "k": 5, "progress": False}
    first = rf.Ranker(**params).fit(data)
    first.save(place / "first")
    rf.Ranker(**params, seed=3, subsample=0.5).fit(data).save(place / "other")
    rf.Ranker(**params, base=Wrapped(first)).fit(data).save(place / "upon")
    rf.Ranker(**params, base=Wrapped(first)).fit(data).save(place / "old")
    record = json.loads((place / "old" / "manifest.json").read_text())
    del record["base_mark"]
    (place / "old" / "manifest.json").write_text(json.dumps(record))
    return place


def told(answer: Answer) -> str:
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    return answer.stderr


def test_out_with_a_model_needs_overwrite(home: Path, tmp_path: Path) -> None:
    command = ("train", "--train", home / "train.txt", *SMALL, "--out", tmp_path / "run")
    assert run_inside(*command).returncode == 0
    before = (tmp_path / "run" / "model.txt").read_bytes()
    other = (*command, "--set", "seed=4", "--set", "subsample=0.5")
    assert "which holds a model already: give another folder, or overwrite" in told(
        run_inside(*other)
    )
    assert (tmp_path / "run" / "model.txt").read_bytes() == before
    assert run_inside(*other, "--overwrite").returncode == 0
    assert (tmp_path / "run" / "model.txt").read_bytes() != before
    (tmp_path / "run.toml").write_text('out = "run"\noverwrite = true\n')
    config = ("--config", tmp_path / "run.toml", "--train", home / "train.txt")
    assert run_inside("train", *config, *SMALL).returncode == 0
    assert (tmp_path / "run" / "model.txt").read_bytes() == before


def test_train_goes_on_from_a_saved_model(home: Path, tmp_path: Path) -> None:
    command = ("train", "--train", home / "train.txt", *SMALL, "-k", "5", "--base")
    answer = run_inside(*command, home / "first", "--out", tmp_path / "more")
    assert answer.stdout.startswith(f"{tmp_path / 'more'}: 6 of 6 trees")
    whole = rf.Ranker(n_estimators=6, num_leaves=5, k=5, progress=False)
    expected = whole.fit(rf.read(home / "train.txt")).model_.text()
    assert (tmp_path / "more" / "model.txt").read_text() == expected
    # In a file of settings it stands beside that file.
    (home / "run.toml").write_text('base = "first"\ntrain = "train.txt"\n')
    again = run_inside(
        "train", "--config", home / "run.toml", *SMALL, "-k", "5", "--out", tmp_path / "again"
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "model.txt").read_text() == expected
    answer = run_inside(*command, "regressor", "--out", tmp_path / "regressor")
    assert answer.stdout.startswith(f"{tmp_path / 'regressor'}: 13 of 13 trees")
    assert "base is 'nowhere': choose" in told(
        run_inside(*command, "nowhere", "--out", tmp_path / "x")
    )


def verbs(home: Path, model: str) -> dict[str, tuple[Any, ...]]:
    data = ("--data", home / "vali.txt")
    one = ("--model", home / model, *data)
    return {
        "predict": one,
        "rank": (*one, "--top", "1"),
        "evaluate": (*one, "--metric", "ndcg@5"),
        "compare": (home / model, home / "other", *data, "--resamples", "100"),
        "diagnose": (*one, "--what", "pairs"),
        "explain": one,
        "report": (home / model, *data, "--objective", "ranknet", "--out", home / "report.html"),
    }


@pytest.mark.parametrize(
    "verb", ["predict", "rank", "evaluate", "compare", "diagnose", "explain", "report"]
)
def test_every_verb_takes_the_base_of_a_model(verb: str, home: Path) -> None:
    command = (verb, *verbs(home, "upon")[verb])
    assert "stands on another one: give it as base= (--base FOLDER)" in told(run_inside(*command))
    good = run_inside(*command, "--base", home / "first")
    assert (good.returncode, good.stderr) == (0, "")
    wrong = told(run_inside(*command, "--base", home / "other"))
    assert "with other scores than the Wrapped that the model was trained upon" in wrong
    earlier = run_inside(verb, *verbs(home, "old")[verb], "--base", home / "first")
    assert earlier.returncode == 0
    assert earlier.stderr.startswith(f"rankforce {verb}: the model is of a version that did not")
    assert earlier.stderr.count("\n") == 1
    if verb == "predict":
        expected = rf.load(home / "upon", base=home / "first").predict(rf.read(home / "vali.txt"))
        assert np.array_equal(np.array(good.stdout.split(), float), expected)
        assert earlier.stdout == good.stdout


@pytest.mark.slow
def test_a_trained_model_without_a_place(home: Path, tmp_path: Path) -> None:
    """A folder that is taken away while training; the exit code is not 0."""
    script = """
    import sys
    from rankforce.cli import main
    from rankforce.training import run
    from pathlib import Path

    out, end = Path(sys.argv[1]), run.Run.end
    def taken(self, why):
        out.parent.write_text("a file now")
        end(self, why)
    run.Run.end = taken
    sys.exit(main(["train", "--train", sys.argv[2], "--trees", "3", "--quiet", "--out", str(out)]))
    """
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            textwrap.dedent(script),
            str(tmp_path / "a" / "run"),
            str(home / "train.txt"),
        ],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    place = Path(done.stderr.strip().rpartition(" saved in ")[2])
    assert place.parent == tmp_path
    assert len(rf.load(place).model_.trees) == 3


@pytest.mark.parametrize("verb", ["predict", "rank"])
def test_no_place_for_results_is_one_sentence(verb: str, home: Path, tmp_path: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no folder that nobody can write to")
    command = (verb, "--model", home / "first", "--data", home / "vali.txt")
    assert "/proc/scores.txt cannot be written" in told(
        run_inside(*command, "--out", "/proc/scores.txt")
    )
