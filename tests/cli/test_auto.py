"""`rankforce auto`: a folder that other verbs take, and a real Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import run_inside

QUICK = ("--trials", "2", "--folds", "2", "--set", "n_estimators=4", "--threads", "1")
# Where tests run in the background, the shell has processes ignore Ctrl-C.
PROGRAM = """import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from rankforce.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("auto")
    for seed, name in ((0, "a.txt"), (1, "b.txt")):
        write(rf.make_data("yahoo", queries=40, seed=seed), place / name)
    return place


def test_auto_then_evaluate(folder: Path) -> None:
    given = ("auto", "a.txt", "--valid", "b.txt", "--metric", "ndcg@5", "--out", "found")
    answer = run_inside(*given, *QUICK, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    head = "time  no. folds    NDCG@5 trees  objective"
    assert answer.stderr.splitlines()[2].strip() == head
    assert re.search(r"a committee of \d", answer.stdout)
    names = {file.name for file in (folder / "found").iterdir()}
    assert names == {"model", "auto.html", "auto.md", "auto.json"}
    record = json.loads((folder / "found" / "auto.json").read_text())
    judged = run_inside(
        *("evaluate", "--model", "found/model", "--data", "b.txt", "--metric", "ndcg@5", "--json"),
        cwd=folder,
    )
    means = json.loads(judged.stdout)["means"]
    assert means["NDCG@5"] == pytest.approx(record["valid"]["mean"])
    again = run_inside(*given, *QUICK, cwd=folder)
    assert again.returncode == 2
    assert "holds a model already" in again.stderr
    more = run_inside(*given, *QUICK, "--overwrite", "--json", "--quiet", cwd=folder)
    assert json.loads(more.stdout)["estimate"] == record["estimate"]
    assert more.stderr == ""


def test_ctrl_c_gives_a_model(folder: Path) -> None:
    command = ("auto", "a.txt", "--budget", "1h", "--out", "stopped", "--threads", "2", *QUICK[4:6])
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if " 3/5 " in line:
                break
        assert rf.load(folder / "stopped" / "model").model_.used == 30  # the first ranker
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert "stopped: what was found is trained" in err
    assert "to be expected on new queries" in out
    assert rf.load(folder / "stopped" / "model").members_
    assert "it was stopped by Ctrl-C" in (folder / "stopped" / "auto.md").read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--budget", "soon"), "budget is 'soon': it must be seconds"),
        (("--metric", "ndgc"), "ndgc"),
        (("--set", "members=3"), "members is not for auto"),
    ],
)
def test_mistakes(folder: Path, given: tuple[str, ...], words: str) -> None:
    answer = run_inside("auto", "a.txt", "--out", "x", *given, cwd=folder)
    assert answer.returncode == 2
    assert answer.stderr.startswith("rankforce auto: ")
    assert words in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
