"""Columns, files without labels, and standard input, on the command line."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import rankforce as rf
from tests.cli.inside import Answer, run_inside

pd = pytest.importorskip("pandas")

ROWS = 300
RNG = np.random.default_rng(1)
X = RNG.normal(size=(ROWS, 3)).round(4)
GRADE = np.clip(np.round(X[:, 1] + 1), 0, 3).astype(int)
FRAME = pd.DataFrame(X, columns=["bm25", "age", "clicks"]).assign(
    search=np.repeat(np.arange(30), 10), stars=GRADE, shop=RNG.choice(["a", "b"], ROWS)
)


def rankforce(*arguments: object, given: bytes = b"") -> Answer:
    stream = io.TextIOWrapper(io.BytesIO(given))
    with mock.patch.object(sys, "stdin", stream):
        return run_inside(*map(str, arguments))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("columns")
    FRAME.to_csv(place / "train.csv", index=False)
    FRAME[["shop", "stars", "clicks", "search", "bm25", "age"]].to_csv(
        place / "other.csv", index=False
    )
    FRAME.drop(columns="stars").to_csv(place / "bare.csv", index=False)
    FRAME[["age", "bm25", "clicks", "shop"]].to_csv(place / "features.csv", index=False)
    lines = [
        f"{g} qid:{r // 10} 1:{a} 2:{b} 3:{c}\n"
        for r, (g, (a, b, c)) in enumerate(zip(GRADE, X, strict=True))
    ]
    (place / "train.txt").write_text("".join(lines))
    (place / "bare.txt").write_text("".join(line.split(" ", 1)[1] for line in lines))
    for name, more in (
        ("csv", ["--label", "stars", "--query", "search", "--categorical", "shop"]),
        ("txt", []),
    ):
        arguments = ["train", "--train", place / f"train.{name}", "--trees", "5", *more]
        answer = rankforce(*arguments, "--out", place / name, "--quiet")
        assert answer.returncode == 0, answer.stderr
    return place


def predict(folder: Path, model: str, data: object, given: bytes = b"") -> list[float]:
    answer = rankforce("predict", "--model", folder / model, "--data", data, given=given)
    assert answer.returncode == 0, answer.stderr
    return [float(line) for line in answer.stdout.split()]


def test_columns_go_by_name_and_roles_are_remembered(folder: Path) -> None:
    scores = predict(folder, "csv", folder / "train.csv")
    assert predict(folder, "csv", folder / "other.csv") == scores
    ranker = rf.load(folder / "csv")
    assert ranker.model_.feature_names == ["bm25", "age", "clicks", "shop"]
    values = []
    for name in ("train.csv", "other.csv"):
        answer = rankforce(
            *("evaluate", "--model", folder / "csv", "--data", folder / name, "--json")
        )
        assert answer.returncode == 0, answer.stderr
        values.append(json.loads(answer.stdout)["means"])
    assert values[0] == values[1]
    for verb in (["diagnose"], ["explain", "--query", "3"], ["rank", "--top", "2"]):
        answers = [
            rankforce(*verb, "--model", folder / "csv", "--data", folder / name)
            for name in ("train.csv", "other.csv")
        ]
        assert answers[0].returncode == 0, answers[0].stderr
        tables = [one.stdout.replace("train.csv", "other.csv") for one in answers]
        assert tables[0] == tables[1]


def test_files_without_labels(folder: Path) -> None:
    scores = predict(folder, "csv", folder / "train.csv")
    assert predict(folder, "csv", folder / "bare.csv") == scores
    assert predict(folder, "csv", folder / "features.csv") == scores  # and without queries
    assert predict(folder, "txt", folder / "bare.txt") == predict(
        folder, "txt", folder / "train.txt"
    )
    ranked = [
        rankforce("rank", "--model", folder / "csv", "--data", folder / name)
        for name in ("train.csv", "bare.csv")
    ]
    assert ranked[0].stdout == ranked[1].stdout != ""
    answer = rankforce("rank", "--model", folder / "csv", "--data", folder / "features.csv")
    assert answer.returncode == 2
    assert "no column for the qid" in answer.stderr
    answer = rankforce("evaluate", "--model", folder / "csv", "--data", folder / "bare.csv")
    assert answer.returncode == 2
    assert "no column for the label" in answer.stderr
    answer = rankforce("evaluate", "--model", folder / "txt", "--data", folder / "bare.txt")
    assert answer.returncode == 2
    assert "bare.txt, line 1: 'qid:0': no label" in answer.stderr


def test_reading_without_labels(folder: Path) -> None:
    ignored = {"ignore": ["shop"]}
    for path in (folder / "bare.csv", folder / "train.csv"):
        assert not rf.read(path, label=None, query="search", **ignored).has_labels
    for path in (folder / "bare.txt", folder / "train.txt"):
        data = rf.read(path, label=None)
        assert not data.has_labels
        np.testing.assert_allclose(data.features, X, rtol=1e-6)
    with pytest.raises(ValueError, match=r"no column for the label .* or label=None"):
        rf.read(folder / "bare.csv", query="search", **ignored)


def test_a_mistake_in_a_role_is_one_sentence(folder: Path) -> None:
    answer = rankforce(
        "train", "--train", folder / "train.csv", "--out", folder / "no", "--label", "grade"
    )
    assert answer.returncode == 2
    assert answer.stderr.strip().endswith(
        "no column 'grade' (label): it has 'bm25', 'age', 'clicks', 'search', 'stars', 'shop'"
    )


@pytest.mark.parametrize("name", ["train.csv", "train.txt", "train.parquet", "train.txt.gz"])
def test_standard_input(folder: Path, name: str) -> None:
    kind = "txt" if "txt" in name else "csv"
    source = folder / name
    if not source.exists():
        if name.endswith(".gz"):
            source.write_bytes(gzip.compress((folder / "train.txt").read_bytes()))
        else:
            FRAME.to_parquet(source)
    assert predict(folder, kind, "-", source.read_bytes()) == predict(folder, kind, source)


def test_standard_input_of_every_verb_that_reads_a_file(folder: Path, tmp_path: Path) -> None:
    given = (folder / "train.txt").read_bytes()
    model = ("--model", folder / "txt")
    for verb, *more in (
        ["train", "--train", "-", "--trees", "2", "--out", tmp_path / "run", "--quiet"],
        ["rank", *model, "--data", "-"],
        ["evaluate", *model, "--data", "-"],
        ["compare", folder / "txt", f"b={folder / 'txt'}", "--data", "-"],
        ["diagnose", *model, "--data", "-"],
        ["explain", *model, "--data", "-"],
        ["report", folder / "txt", "--data", "-", "--out", tmp_path / "page.html"],
        ["convert", "-", tmp_path / "a.parquet"],
    ):
        answer = rankforce(verb, *more, given=given)
        assert answer.returncode == 0, (verb, answer.stderr)
    assert rf.read(tmp_path / "a.parquet").rows == ROWS
    assert rf.load(tmp_path / "run").model_.files == {}


def test_runs_and_scores_through_standard_input(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    run = b"1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n"
    answer = rankforce(
        *("evaluate", "--run", "-", "--qrels", tmp_path / "qrels", "--metric", "mrr", "--json"),
        given=run,
    )
    assert json.loads(answer.stdout)["means"] == {"MRR": 0.5}
    scores = "\n".join(map(str, range(ROWS))).encode()
    answer = rankforce(
        *("evaluate", "--scores", "-", "--data", folder / "train.txt", "--json"), given=scores
    )
    assert answer.returncode == 0, answer.stderr


def test_a_real_pipe(folder: Path) -> None:
    command = [sys.executable, "-m", "rankforce", "predict", "--model", folder / "txt"]
    given = (folder / "train.txt").read_bytes()
    answer = subprocess.run([*command, "--data", "-"], input=given, capture_output=True, check=True)
    scores = [float(line) for line in answer.stdout.split()]
    assert scores == predict(folder, "txt", folder / "train.txt")


def test_mistakes_with_standard_input(folder: Path) -> None:
    answer = rankforce("predict", "--model", folder / "txt", "--data", "-", given=b"1 qid:1 1:x\n")
    assert answer.returncode == 2
    assert answer.stderr.startswith("rankforce predict: standard input, line 1: '1:x'")
    answer = rankforce(
        "train",
        "--train",
        "-",
        "--valid",
        "-",
        "--out",
        folder / "x",
        given=b"1 qid:1 1:2\n0 qid:1 1:3\n",
    )
    assert answer.returncode == 2
    assert "standard input was read already" in answer.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe(folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    given = (folder / "train.txt").read_bytes()
    writer = threading.Thread(target=lambda: pipe.write_bytes(given))
    writer.start()
    data = rf.read(pipe)
    writer.join()
    assert data.rows == ROWS
