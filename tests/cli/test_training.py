"""train, predict, rank and evaluate as a user runs them: real files, real processes to train."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.formats.write import write
from tests.cli.inside import run_inside
from tests.ctrl_c import LONG, started

TREES = ("--trees", "5", "--num-leaves", "6")


def run(*arguments: str | Path, **more) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rankforce", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder with two files and a trained model."""
    place = tmp_path_factory.mktemp("cli")
    for name, seed in (("train.txt", 0), ("valid.txt", 1)):
        write(rf.make_data("yahoo", queries=60, seed=seed), place / name)
    arguments = ("--objective", "lambdagap-x+", "-k", "10", *TREES, "--out", place / "run")
    answer = run(
        "train", "--train", place / "train.txt", "--valid", place / "valid.txt", *arguments
    )
    assert answer.returncode == 0, answer.stderr
    assert "p@10" in answer.stdout
    return place


def test_the_command_line_trains_what_python_trains(folder):
    ranker = rf.Ranker("lambdagap-x+", k=10, n_estimators=5, num_leaves=6, progress=False)
    ranker.fit(rf.read(folder / "train.txt"), eval_set=[rf.read(folder / "valid.txt")])
    assert (folder / "run" / "model.txt").read_text() == ranker.model_.text()


@pytest.mark.slow
def test_logs_get_plain_lines_and_quiet_is_quiet(folder, tmp_path):
    arguments = ("train", "--train", folder / "train.txt", *TREES, "--out", tmp_path / "run")
    loud = run(*arguments)
    assert "tree 5/5" in loud.stderr
    assert "quantised" in loud.stderr
    assert "\r" not in loud.stderr
    assert run(*arguments, "--quiet", "--overwrite").stderr == ""


@pytest.mark.slow
def test_auto_says_what_it_takes_and_why(folder, tmp_path):
    arguments = ("train", "--train", folder / "train.txt", *TREES, "--metric", "p@10")
    answer = run(*arguments, "--objective", "auto", "--out", tmp_path / "auto")
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr.startswith("auto: LambdaGap-S++@10 for P@10, as pairs below rank k")
    named = run(*arguments, "--objective", "lambdagap-s++", "-k", "10", "--out", tmp_path / "named")
    assert "auto" not in named.stderr
    texts = [(tmp_path / name / "model.txt").read_text() for name in ("auto", "named")]
    assert texts[0] == texts[1]


def test_a_config_file_says_the_same(folder, tmp_path):
    (folder / "run.toml").write_text(
        'train = "train.txt"\nvalid = "valid.txt"\nobjective = "lambdagap-x+"\nk = 10\n'
        f"n_estimators = 7\nnum_leaves = 6\nout = {json.dumps(str(tmp_path / 'run'))}\n"
    )
    answer = run_inside("train", "--config", folder / "run.toml", "--trees", "5", "--json")
    assert json.loads(answer.stdout)["trees"] == 5, answer.stderr
    assert (tmp_path / "run/model.txt").read_text() == (folder / "run/model.txt").read_text()


@pytest.mark.parametrize(("said", "tau"), [("3", 3), ("inf", float("inf"))])
def test_a_truncation_level_is_an_integer_or_none(folder, tmp_path, said, tau):
    arguments = ("--train", folder / "train.txt", *TREES, "--tau", said, "--out", tmp_path)
    answer = run_inside("train", *arguments, "--quiet")
    assert answer.returncode == 0, answer.stderr
    assert rf.load(tmp_path).get_params()["tau"] == tau


def test_predict_writes_a_score_for_every_row(folder, tmp_path):
    expected = rf.load(folder / "run").predict(rf.read(folder / "valid.txt"))
    arguments = ("predict", "--model", folder / "run", "--data", folder / "valid.txt")
    printed = run_inside(*arguments).stdout.split()
    assert [float(score) for score in printed] == expected.tolist()
    assert run_inside(*arguments, "--out", tmp_path / "scores.txt").stdout == ""
    assert (tmp_path / "scores.txt").read_text().split() == printed


def test_rank_prints_the_best_first(folder):
    data = rf.read(folder / "valid.txt")
    scores = rf.load(folder / "run").predict(data)
    arguments = ("rank", "--model", folder / "run", "--data", folder / "valid.txt", "--top", "2")
    rows = [line.split("\t") for line in run_inside(*arguments).stdout.splitlines()]
    for query in np.unique(data.qid):
        mine = [row for row in rows if row[0] == str(query)]
        best = np.sort(scores[data.qid == query])[::-1][:2]
        assert [float(row[3]) for row in mine] == best.tolist()
        assert [int(row[1]) for row in mine] == list(range(1, len(best) + 1))
    as_json = json.loads(run_inside(*arguments, "--json").stdout)
    assert [[str(entry["query"]), str(entry["rank"])] for entry in as_json] == [r[:2] for r in rows]
    trec = run_inside(*arguments, "--format", "trec").stdout.splitlines()
    assert len(trec) == len(rows)
    assert trec[0].split()[1] == "Q0"


def with_ids(folder, path, change):
    """The validation data with ids of documents, one of them changed."""
    data = rf.read(folder / "valid.txt")
    ids = [f"d{row}" for row in range(data.rows)]
    ids[0] = change
    write(rf.RankingData(data.features, data.labels, qid=data.qid, doc_ids=ids), path)
    return ("rank", "--model", folder / "run", "--data", path, "--format", "trec")


def test_rank_writes_a_run(folder, tmp_path):
    arguments = with_ids(folder, tmp_path / "good.parquet", "first")
    run_inside(*arguments, "--out", tmp_path / "good.run")
    data = rf.read(tmp_path / "good.parquet")
    scores = rf.load(folder / "run").predict(data)
    found = rf.read_run(tmp_path / "good.run")
    for query, document, score in zip(data.qid, data.doc_ids, scores, strict=True):
        assert found[str(query)][document] == score
    assert run_inside(*arguments).stdout == (tmp_path / "good.run").read_text()


@pytest.mark.parametrize("wrong", ["two words", "two\nlines", "tab\tbed", "", "no\u2003break"])
def test_rank_refuses_ids_that_break_a_run(folder, tmp_path, wrong):
    """By the rule and in the words of `write_run`, and nothing is written."""
    arguments = with_ids(folder, tmp_path / "bad.parquet", wrong)
    answer = run_inside(*arguments, "--out", tmp_path / "bad.run")
    assert answer.returncode != 0
    assert not (tmp_path / "bad.run").exists()
    query = str(rf.read(tmp_path / "bad.parquet").qid[0])
    with pytest.raises(ValueError, match="expected text without whitespace") as caught:
        rf.write_run({query: {wrong: 1.0}}, tmp_path / "bad.run")
    assert str(caught.value) in answer.stderr
    printed = run_inside(*arguments)
    assert printed.stdout == ""
    assert f"the document id is {wrong!r}: expected text without whitespace" in printed.stderr


def test_rank_refuses_an_id_that_stands_twice(folder, tmp_path):
    arguments = with_ids(folder, tmp_path / "twice.parquet", "d1")
    assert "document 'd1' of query" in run_inside(*arguments).stderr
    assert "stands twice" in run_inside(*arguments).stderr


def test_evaluate_agrees_with_the_library(folder, tmp_path):
    data = rf.read(folder / "valid.txt")
    scores = rf.load(folder / "run").predict(data)
    expected = rf.metric("ndcg@5")(scores, data.labels, qid=data.qid)
    arguments = ("evaluate", "--data", folder / "valid.txt", "--metric", "ndcg@5,p@3")
    by_model = run_inside(*arguments, "--model", folder / "run", "--json")
    assert json.loads(by_model.stdout)["means"]["NDCG@5"] == pytest.approx(expected.mean())
    (tmp_path / "s.txt").write_text("".join(f"{score!r}\n" for score in scores.tolist()))
    by_scores = run_inside(*arguments, "--scores", tmp_path / "s.txt", "--json")
    assert by_scores.stdout == by_model.stdout
    lines = run_inside(*arguments, "--model", folder / "run", "--per-query").stdout.splitlines()
    assert lines[0].split("\t") == ["query", "NDCG@5", "P@3"]
    assert [float(line.split("\t")[1]) for line in lines[1:]] == pytest.approx(expected, abs=1e-6)
    table = run_inside(*arguments, "--model", folder / "run").stdout
    assert "without relevant document counts 1" in table


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "--out", "x"], ["nothing to train on"]),
        (["train", "--train", "nowhere.txt", "--out", "x"], ["nowhere.txt", "no such file"]),
        (["train", "--train", "train.txt"], ["--out"]),
        (["train", "--train", "bad.txt", "--out", "x"], ["bad.txt, line 2", "1:oops"]),
        (["train", "--train", "train.txt", "--out", "x", "--objective", "lambdrank"], ["did you"]),
        (["train", "--train", "train.txt", "--out", "x", "--set", "num_leavs=3"], ["num_leaves"]),
        (["train", "--train", "train.txt", "--out", "x", "--metric", "nndcg"], ["nndcg"]),
        (["train", "--train", "train.txt", "--out", "x", "--early-stopping", "5"], ["validation"]),
        (["train", "--config", "bad.toml", "--out", "x"], ["bad.toml"]),
        (["train", "--train", "train.txt", "--out", "train.txt"], ["is a file"]),
        (["predict", "--model", "nowhere", "--data", "train.txt"], ["nowhere"]),
        (["predict", "--model", "train.txt", "--data", "train.txt"], ["no LightGBM model"]),
        (["evaluate", "--data", "train.txt"], ["--model or --scores"]),
        (["evaluate", "--data", "train.txt", "--scores", "bad.txt"], ["bad.txt, line 1"]),
        (["train", "--trane", "a.txt"], ["--trane", "--help"]),
        (["train", "--trees", "many"], ["--trees", "many"]),
        (["rank", "--model", "run", "--data", "train.txt", "--top", "0"], ["top is 0"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(folder, arguments, words):
    (folder / "bad.txt").write_text("1 qid:1 1:2\n0 qid:1 1:oops\n")
    (folder / "bad.toml").write_text("k = = 3\n")
    answer = run_inside(*arguments, cwd=folder)
    assert answer.returncode == 2, answer.stderr
    assert answer.stderr.count("\n") == 1, answer.stderr
    for word in words:
        assert word in answer.stderr
    assert not (folder / "x").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_a_usable_model(folder, tmp_path):
    command = [sys.executable, "-m", "rankforce", "train", "--train", str(folder / "train.txt")]
    command += ["--trees", "100000", "--num-leaves", "4", "--out", str(tmp_path / "run")]
    command += ["--checkpoint", str(tmp_path / "part")]
    with started(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as it:
        deadline = time.monotonic() + 120
        while not (tmp_path / "part/manifest.json").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(it.pid, signal.SIGINT)
        out, err = it.communicate(timeout=LONG)
    assert it.returncode == 130, err
    assert "interrupted" in err
    trees = int(out.split(" of ")[1].split()[0])
    assert trees >= 10
    data = rf.read(folder / "train.txt")
    assert len(rf.load(tmp_path / "run").model_.trees) == trees
    assert np.isfinite(rf.load(tmp_path / "run").predict(data)).all()


def test_the_live_line_of_a_terminal(folder, tmp_path):
    """A real terminal: a pseudo-terminal for standard error."""
    pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "rankforce", "train", "--train", str(folder / "train.txt")]
    command += [*TREES, "--out", str(tmp_path / "run")]
    subprocess.run(command, stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    seen = os.read(ours, 100_000).decode()
    os.close(ours)
    assert "\rtree 1/5" in seen
    assert "\rtree 5/5" in seen
    assert "trees/s" in seen
