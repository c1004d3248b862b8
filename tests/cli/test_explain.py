"""explain as a user runs it: real files, and a real process where one matters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.formats.write import write
from tests.cli.inside import run_inside


def run(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rankforce", "explain", *map(str, arguments)]
    plain = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    variables = plain | {"PYTHONIOENCODING": "utf-8"} | environment
    return subprocess.run(command, capture_output=True, check=False, env=variables)


def shown(*arguments: str | Path, **environment: str) -> str:
    answer = run_inside("explain", *arguments, **{"COLUMNS": "80"} | environment)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    return answer.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data file, a model, its scores, and LightGBM's text of it."""
    place = tmp_path_factory.mktemp("explain")
    write(rf.make_data("mslr", queries=8, seed=2), place / "vali.txt")
    data = rf.read(place / "vali.txt")
    ranker = rf.Ranker("lambdarank-ndcg", k=3, n_estimators=3, num_leaves=5, progress=False)
    ranker.fit(data).save(place / "run")
    scores = ranker.predict(data)
    (place / "scores.txt").write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    (place / "plain.txt").write_text(ranker.model_.text())
    return place


def model(folder: Path) -> tuple[str | Path, ...]:
    return "--model", folder / "run", "--data", folder / "vali.txt"


def test_the_worst_query_of_the_model_by_default(folder: Path) -> None:
    text = shown(*model(folder))
    data, ranker = rf.read(folder / "vali.txt"), rf.load(folder / "run")
    found = rf.explain(None, ranker, data)
    assert text == found.table(80, encoding="utf-8") + "\n"
    assert text.startswith(f"query {found.query}: ")
    assert "\nit has the lowest NDCG@3 of 8 queries\n" in text
    assert "\nLambdaRank-NDCG@3, norm lightgbm, iteration 3: " in text


@pytest.mark.parametrize("columns", [80, 120])
def test_it_fits_the_terminal(folder: Path, columns: int) -> None:
    text = shown(*model(folder), "--query", "4", COLUMNS=str(columns))
    longest = max(map(len, text.splitlines()))
    assert columns - 3 <= longest <= columns


def test_options_reach_the_library(folder: Path) -> None:
    options = ("--query", "4", "-k", "5", "--norm", "none", "--top", "6", "--pairs", "2")
    text = shown(*model(folder), *options, "--objective", "ranknet")
    data, ranker = rf.read(folder / "vali.txt"), rf.load(folder / "run")
    found = rf.explain("ranknet", ranker, data, query=4, k=5, norm="none")
    assert text == found.table(80, top=6, pairs=2, encoding="utf-8") + "\n"
    assert "RankNet" in text


def test_several_objectives_stand_side_by_side(folder: Path) -> None:
    names = ("--objective", "lambdarank-ndcg", "--objective", "lambdagap-x+")
    text = shown(*model(folder), "--query", "4", *names, COLUMNS="120")
    assert "A LambdaRank-NDCG@3" in text
    assert "B LambdaGap-X+@3" in text
    records = json.loads(shown(*model(folder), "--query", "4", *names, "--json"))
    assert [one["objective"] for one in records] == ["LambdaRank-NDCG@3", "LambdaGap-X+@3"]


def test_json_for_programs(folder: Path) -> None:
    record = json.loads(shown(*model(folder), "--query", "4", "--pairs", "4", "--json"))
    data, ranker = rf.read(folder / "vali.txt"), rf.load(folder / "run")
    found = rf.explain(None, ranker, data, query=4)
    assert record == json.loads(json.dumps(found.record(pairs=4)))
    assert len(record["pairs"]) == 4
    assert record["norm"] == "lightgbm"


def test_scores_in_place_of_a_model(folder: Path) -> None:
    scores = ("--scores", folder / "scores.txt", "--data", folder / "vali.txt", "--query", "4")
    options = ("--objective", "lambdarank-ndcg", "-k", "3", "--json")
    record = json.loads(shown(*scores, *options, "--norm", "lightgbm"))
    same = json.loads(shown(*model(folder), "--query", "4", "--json"))
    assert record["documents"] == same["documents"]
    assert json.loads(shown(*scores, *options))["norm"] == "none"


def test_a_terminal_without_unicode_gets_plain_bars(folder: Path) -> None:
    answer = run(*model(folder), "--query", "4", PYTHONIOENCODING="ascii")
    assert answer.returncode == 0
    assert "down|up" in answer.stdout.decode("ascii")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--model", "run", "--query", "33"], "no query '33' among 8: the closest are 3"),
        (["--model", "run", "--query", "x"], "no query 'x' among 8: there are such as 1, 2, 3"),
        (["--model", "run", "--scores", "scores.txt"], "give --model or --scores, one of the two"),
        ([], "give --model or --scores, one of the two"),
        (["--scores", "scores.txt"], "neither an objective nor a model that says its own"),
        (["--model", "plain.txt"], "neither an objective nor a model that says its own"),
        (["--model", "run", "--norm", "l2"], "unknown norm 'l2'"),
        (["--model", "run", "--objective", "ranknett"], "did you mean 'RankNet'"),
        (["--model", "run", "--top", "0"], "top is 0: it must be an integer from 1 up"),
        (["--model", "nowhere"], "cannot read a model"),
    ],
)
def test_a_mistake_is_one_line(
    folder: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {"run", "scores.txt", "plain.txt", "nowhere"}
    given = [str(folder / one) if one in files else one for one in options]
    assert main(["explain", *given, "--data", str(folder / "vali.txt")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("rankforce explain: ")
    assert error.count("\n") == 1
