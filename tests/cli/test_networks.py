"""Networks on the command line, from training to the report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import Answer, run_inside
from tests.training.network.made import make_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, two networks and trees, all made by the command line."""
    place = tmp_path_factory.mktemp("networks")
    for name, seed in (("train", 0), ("vali", 1)):
        data = make_data(seed)
        features = np.nan_to_num(data.features)
        write(rf.RankingData(features, data.labels, qid=data.qid), place / f"{name}.txt")
    lines = (place / "vali.txt").read_text().splitlines()
    apart = [" ".join(part for part in line.split() if "qid" not in part) for line in lines]
    (place / "apart.txt").write_text("\n".join(apart) + "\n")
    common = ["train", "--train", "train.txt", "--valid", "vali.txt", "--metric", "ndcg@5"]
    small = ["--epochs", "5", "--set", "hidden=[6]", "--quiet"]
    more = {
        "mlp": ["--model", "mlp", *small, "--diagnose", "2", "--log-to", "tensorboard:log"],
        "lists": ["--model", "attention", *small, "--set", "layers=1", "--set", "heads=2"],
        "trees": ["--trees", "4", "--quiet"],
    }
    for name, options in more.items():
        answer = run_inside(*common, *options, "--out", name, cwd=place)
        assert answer.returncode == 0, answer.stderr
    return place


def ask(folder: Path, text: str, *more: str) -> Answer:
    return run_inside(*text.split(), *more, cwd=folder)


def test_training_tells_epochs(folder: Path) -> None:
    command = "train --train train.txt --model linear --epochs 2 --quiet --out x --overwrite"
    assert ask(folder, command).stdout == "x: 2 of 2 epochs\n"
    found = json.loads(ask(folder, command, "--json").stdout)
    assert (found["epochs"], found["used"]) == (2, 2)


@pytest.mark.parametrize("name", ["mlp", "lists"])
def test_scores_ranks_and_values_are_those_of_the_ranker(folder: Path, name: str) -> None:
    ranker = rf.load(folder / name)
    data = rf.read(folder / "vali.txt", like=ranker)
    scores = [
        float(line)
        for line in ask(folder, f"predict --model {name} --data vali.txt").stdout.split()
    ]
    assert scores == ranker.predict(data).tolist()
    ranked = json.loads(ask(folder, f"rank --model {name} --data vali.txt --top 1 --json").stdout)
    assert [one["document"] for one in ranked] == ranker.rank(data, top=1).row.tolist()
    judged = ask(folder, f"evaluate --model {name} --data vali.txt --metric ndcg@5 --json")
    expected = rf.evaluate(ranker, data, "ndcg@5").record()
    assert json.loads(judged.stdout) == json.loads(json.dumps(expected))


def test_a_file_without_queries_is_refused_where_lists_count(folder: Path) -> None:
    answer = ask(folder, "predict --model lists --data apart.txt")
    assert answer.returncode == 2
    assert "apart.txt has no qid" in answer.stderr
    alone = ask(folder, "predict --model mlp --data apart.txt").stdout
    assert alone == ask(folder, "predict --model mlp --data vali.txt").stdout


def test_networks_and_trees_are_compared_and_reported(folder: Path) -> None:
    shown = ask(folder, "compare mlp lists trees --data vali.txt --metric ndcg@5").stdout
    assert [line.split()[0] for line in shown.splitlines()[2:5]] == ["mlp", "lists", "trees"]
    assert ask(folder, "report mlp lists trees --out all.html").returncode == 0
    page = (folder / "all.html").read_text()
    assert '"step":"epoch"' in page
    assert '"step":"tree"' in page


def test_forces_are_diagnosed_and_explained(folder: Path) -> None:
    found = json.loads(ask(folder, "diagnose --model lists --data vali.txt --json").stdout)
    assert (found["trees"], found["about"]["step"]) == ([5], "epoch")
    shown = ask(folder, "diagnose --model lists --data vali.txt").stdout
    assert shown.splitlines()[2].split() == ["epochs", "5"]
    answer = ask(folder, "diagnose --model lists --data vali.txt --what rank_changes")
    assert answer.returncode == 2
    assert "keeps its last one alone" in answer.stderr
    told = ask(folder, "explain --model lists --data vali.txt").stdout
    assert "iteration 5" in told
    assert rf.load(folder / "mlp").model_.diagnostics.steps == [1, 3, 5]


def test_values_are_logged_by_epoch(folder: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder / "log")).Reload()
    assert [one.step for one in events.Scalars("valid_0/ndcg@5")] == [1, 2, 3, 4, 5]
    assert [one.step for one in events.Scalars("incoherence/restricted")] == [1, 3, 5]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("distil mlp train.txt --out d", "distil is for models of trees: this one is a network"),
        (
            "train --train train.txt --model mlp --members 2 --out d",
            "members is a setting of trees, and the model is 'mlp': leave it out",
        ),
        (
            "tune --train train.txt --set model=mlp --out d",
            "tune searches settings of trees: leave model out, or compare networks with rf.cv",
        ),
        (
            "auto train.txt --set model=mlp --out d",
            "model is 'mlp': auto chooses among trees, leave it out",
        ),
    ],
)
def test_what_is_for_trees_says_so_in_a_line(folder: Path, command: str, sentence: str) -> None:
    answer = ask(folder, command)
    assert (answer.returncode, answer.stderr) == (
        2,
        f"rankforce {command.split()[0]}: {sentence}\n",
    )
