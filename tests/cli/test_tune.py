"""`rankforce tune`: a folder that `rankforce train` takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import run_inside

QUICK = ("--searcher", "random", "--set", "n_estimators=4", "--set", "threads=1", "--quiet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tune")
    for seed, name in ((0, "a.txt"), (1, "b.txt")):
        write(rf.make_data("yahoo", queries=40, seed=seed), place / name)
    return place


def test_tune_then_train(folder: Path) -> None:
    given = ("--train", "a.txt", "--valid", "b.txt", "--objective", "lambdagap-x+", "-k", "5")
    answer = run_inside("tune", *given, *QUICK, "--trials", "3", "--plot", "--out", "t", cwd=folder)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[0].split()[:2] == ["trial", "P@5"]
    names = {file.name for file in (folder / "t").iterdir()}
    assert names == {"config.toml", "trials.jsonl", "model", "tuning.png"}
    config = folder / "t" / "config.toml"
    trained = run_inside("train", "--config", config, "--out", "run", "--quiet", cwd=folder)
    assert trained.returncode == 0, trained.stderr
    texts = [(folder / place / "model.txt").read_bytes() for place in ("run", "t/model")]
    assert texts[0] == texts[1]
    more = run_inside("tune", *given, *QUICK, "--trials", "4", "--json", "--out", "t", cwd=folder)
    found = json.loads(more.stdout)
    assert len(found["trials"]) == 4
    assert found["metric"] == "P@5"
    assert found["value"] == max(one["value"] for one in found["trials"])


def test_a_config_with_a_space(folder: Path) -> None:
    (folder / "tune.toml").write_text(
        """train = "a.txt"
objective = { mix = [{ name = "lambdarank-ndcg", k = 5 }, { name = "ranknet", weight = 1.0 }] }
eval_metric = "ndcg@5"
[tune]
trials = 9
folds = 2
[tune.space]
objective.mix.1.weight = { low = 0.1, high = 10 }
num_leaves = [3, 7]
"""
    )
    given = ("--config", folder / "tune.toml", "--trials", "2", *QUICK, "--json")
    answer = run_inside("tune", *given, "--out", folder / "c")
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout)
    assert len(found["trials"]) == 2
    assert {"objective.mix.1.weight", "num_leaves"} < {*found["trials"][0]}
    assert "early_stopping_rounds" not in found["settings"]


def test_preferences_are_learnt_and_told(folder: Path) -> None:
    sizes = rf.read(folder / "a.txt").sizes
    firsts = [int(sizes[:query].sum()) for query in range(len(sizes)) if sizes[query] > 1]
    (folder / "pairs.txt").write_text("".join(f"{row + 1} {row}\n" for row in firsts))
    (folder / "pairs.toml").write_text(
        """train = "a.txt"
valid = "b.txt"
preferences = "pairs.txt"
objective = "preferences"
eval_metric = "ndcg@5"
[tune.space]
num_leaves = [3, 7]
"""
    )
    given = ("--config", folder / "pairs.toml", "--trials", "2", *QUICK)
    answer = run_inside("tune", *given, "--out", folder / "p")
    assert answer.returncode == 0, answer.stderr
    config = folder / "p" / "config.toml"
    assert f'preferences = "{folder / "pairs.txt"}"' in config.read_text().splitlines()
    trained = run_inside("train", "--config", config, "--out", folder / "q", "--quiet")
    assert trained.returncode == 0, trained.stderr
    texts = [(folder / place / "model.txt").read_bytes() for place in ("q", "p/model")]
    assert texts[0] == texts[1]
    (folder / "pairs.txt").write_text("".join(f"{row} {row + 1}\n" for row in firsts))
    again = run_inside("tune", *given, "--out", folder / "p")
    assert again.returncode == 2
    assert "is of another study: its data was" in again.stderr


@pytest.mark.parametrize("table", ["tune = 5", "[tune]\ntrails = 5"])
def test_a_table_that_has_something_else(folder: Path, table: str) -> None:
    (folder / "wrong.toml").write_text(table)
    answer = run_inside(
        "tune", "--config", folder / "wrong.toml", "--train", "a.txt", "--out", "x", cwd=folder
    )
    assert answer.returncode == 2
    assert "it may have folds, metric, searcher, trials, time, jobs, space, prune" in answer.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--out", "x"), "give --train FILE and --out FOLDER"),
        (("--train", "a.txt", "--out", "x", "--folds", "1"), "folds is 1: it must be an integer"),
        (("--train", "a.txt", "--out", "x", "--set", "leafs=3"), "unknown parameter 'leafs'"),
        (("--train", "a.txt", "--out", "x", "--time", "soon"), "time is 'soon'"),
        (
            ("--train", "a.txt", "--out", "x", "--set", "valid=['a.txt', 'b.txt']"),
            "valid has 2 data sets: a search has one that judges",
        ),
    ],
)
def test_mistakes(folder: Path, given: tuple[str, ...], words: str) -> None:
    answer = run_inside("tune", *given, *QUICK, cwd=folder)
    assert answer.returncode == 2
    assert answer.stderr.startswith("rankforce tune: ")
    assert words in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
