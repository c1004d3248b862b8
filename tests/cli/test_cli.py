"""The command line as a user meets it: real processes, real output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.cli import VERBS, main, objectives


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankforce", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_help_lists_every_verb() -> None:
    answer = run("--help")
    assert answer.returncode == 0
    for verb in VERBS:
        assert f"\n    {verb}" in answer.stdout
    assert run().stdout == answer.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_help_of_a_verb_has_examples(verb: str) -> None:
    answer = run(verb, "--help")
    assert answer.returncode == 0
    assert f"  rankforce {verb}" in answer.stdout


def test_version() -> None:
    assert run("--version").stdout == f"rankforce {rf.__version__}\n"


def test_objectives_lists_all() -> None:
    answer = run("objectives")
    assert answer.returncode == 0
    for entry in rf.objectives():
        assert f"{entry.name} " in answer.stdout
        assert entry.formula in answer.stdout


def test_objectives_explains_one_by_any_spelling() -> None:
    answer = run("objectives", "LAMBDAGAP x+")
    assert answer.stdout.startswith("LambdaGap-X+\n")
    assert "mu" in answer.stdout
    assert "k is needed" in answer.stdout
    extended = run("objectives", "lambdamart-ex all").stdout
    assert "missed: documents that Lambda-eX adds to the top k" in extended


def test_objectives_explains_what_auto_takes() -> None:
    answer = run("objectives", "Auto")
    assert answer.returncode == 0, answer.stderr
    words = " ".join(answer.stdout.split())
    records = json.loads(run("objectives", "auto", "--json").stdout)
    assert {entry.name for entry in rf.metrics()} == {
        one["metric"].split("@")[0] for one in records
    }
    for one in records:
        assert f"{one['metric']} {one['objective']} " in words
        assert one["reason"] in words


def test_objectives_as_json() -> None:
    records = json.loads(run("objectives", "--json").stdout)
    assert [record["name"] for record in records] == [entry.name for entry in rf.objectives()]
    assert set(records[0]) == {"name", "formula", "source", "cost", "parameters", "aliases"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("objectives", "lambdagapx+++"), "did you mean 'LambdaGap-X++'"),
        (("demo", "--k", "0"), "k is 0: it must be an integer from 1 up"),
    ],
)
def test_a_mistake_is_one_line(arguments: tuple[str, ...], expected: str) -> None:
    answer = run(*arguments)
    assert answer.returncode == 2
    assert expected in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert "Traceback" not in answer.stderr


def test_an_unknown_verb_names_the_choices() -> None:
    answer = run("trane")
    assert answer.returncode == 2
    assert "objectives" in answer.stderr


def test_demo_draws_every_objective() -> None:
    answer = run("demo", "--forces")
    assert answer.returncode == 0
    lines = answer.stdout.splitlines()
    drawn = {line[:26].strip() for line in lines if "|" in line}
    assert drawn == {entry.name for entry in rf.objectives()}
    incoherent = next(line for line in lines if line.startswith("LambdaRank-NDCG "))
    assert incoherent.endswith("incoherent")  # Marcuzzi et al. 2023, Table 1


def test_demo_trains_several_objectives(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    answer = run("demo", "--queries", "20", "--trees", "3", "-k", "3", "--report", str(page))
    assert answer.returncode == 0, answer.stderr
    assert "lambdarank(map@3)" in page.read_text()
    lines = answer.stdout.splitlines()
    header = next(line for line in lines if line.startswith("system"))
    assert header.split("  ")[-1].strip() == "ARPb@3, lower is better"
    assert header.split()[1:5] == ["NDCG@3", "P@3", "MAP", "MRR"]
    trained = [line for line in lines if line.lower().startswith(("lambda", "ranknet"))]
    assert len({line.split()[0] for line in trained}) > 4
    assert len({tuple(line.split()[-5:]) for line in trained}) == len(trained)


def test_demo_stops_quietly_when_its_reader_does() -> None:
    command = f"{sys.executable} -m rankforce objectives | head -n 1"
    answer = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert answer.stderr == ""


def test_help_and_import_load_nothing_heavy() -> None:
    code = (
        "import sys, rankforce, rankforce.cli;"
        "rankforce.cli.build_parser().format_help();"
        "print([m for m in ('numpy', 'numba', 'lightgbm') if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "[]\n"


def test_only_a_users_mistake_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What NumPy says about shapes is a mistake of ours, and is shown whole."""

    def wrong(_options: Any) -> int:
        np.zeros(2) + np.zeros(3)
        return 0

    def refused(_options: Any) -> int:
        raise rf.RankforceError("k is 0: it must be an integer from 1 up")

    monkeypatch.setattr(objectives, "run", wrong)
    with pytest.raises(ValueError, match="could not be broadcast"):
        main(["objectives"])
    monkeypatch.setattr(objectives, "run", refused)
    assert main(["objectives"]) == 2
    assert capsys.readouterr().err == (
        "rankforce objectives: k is 0: it must be an integer from 1 up\n"
    )
