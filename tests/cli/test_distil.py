"""`rankforce distil`: a committee and a file in, a small model and what was lost out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import run_inside


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files and a committee."""
    place = tmp_path_factory.mktemp("distil")
    for seed, name in ((0, "a.txt"), (1, "b.txt")):
        write(rf.make_data("yahoo", queries=40, seed=seed), place / name)
    ranker = rf.Ranker(members=2, n_estimators=10, num_leaves=7, progress=False)
    ranker.fit(rf.read(place / "a.txt"), eval_metric="ndcg@5").save(place / "run")
    return place


def test_a_process_says_what_goes_on_and_does_what_python_does(folder: Path) -> None:
    given = ("run", "a.txt", "--valid", "b.txt", "--trees", "8", "--leaves", "6", "--out", "small")
    command = [sys.executable, "-m", "rankforce", "distil", *given]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    assert "a committee of 2 scores" in answer.stderr
    assert "tree 8/8" in answer.stderr
    words = answer.stdout.split()
    assert words[:4] == ["committee", "small", "difference", "p"]
    assert answer.stdout.endswith("small: 8 trees\n")
    train, valid = (rf.read(folder / name) for name in ("a.txt", "b.txt"))
    large = rf.load(folder / "run")
    found = rf.distil(large, train, valid=valid, trees=8, leaves=6, progress=False)
    assert (folder / "small" / "model.txt").read_text() == found.ranker.model_.text()
    assert f"{found.lost['valid'].comparisons[0].means['small']:.4f}" in words


def test_json_and_other_settings(folder: Path) -> None:
    given = ("run", "a.txt", "--trees", "3", "--neighbours", "0", "--set", "min_child_samples=9")
    more = ("--metric", "p@3,mrr", "--quiet", "--json", "--out", "other")
    answer = run_inside("distil", *given, *more, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    told = json.loads(answer.stdout)
    measures = [one["measure"] for one in told["lost"] if one["set"] == "training"]
    assert measures == ["P@3", "MRR", "tau", "r2"]
    small = rf.load(folder / "other")
    assert small.model_.distilled["neighbours"] == 0
    assert small.get_params()["min_child_samples"] == 9
    assert len(small.model_.trees) == 3


def test_mistakes_are_one_line(folder: Path) -> None:
    data = rf.make_data("mslr", queries=3)
    rf.Ranker(n_estimators=2, progress=False).fit(data).save(folder / "named")
    names = ["other", *data.feature_names[1:]]
    other = rf.RankingData(data.features, data.labels, qid=data.qid, feature_names=names)
    write(other, folder / "other.csv")
    for given, words in (
        (("run", "a.txt", "--trees", "0", "--out", "x"), "trees is 0"),
        (("run", "a.txt", "--neighbours", "-1", "--out", "x"), "neighbours is -1"),
        (("named", "other.csv", "--out", "x"), data.feature_names[0]),
        (("nowhere", "a.txt", "--out", "x"), "nowhere"),
        (("run", "a.txt", "--out", "run"), "holds a model already"),
        (("run", "a.txt"), "--out"),
    ):
        answer = run_inside("distil", *given, cwd=folder)
        assert answer.returncode == 2
        assert words in answer.stderr
        assert answer.stderr.count("\n") == 1
    assert not (folder / "x").exists()
