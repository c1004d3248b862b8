"""rankforce report, as a user runs it: real files."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.formats.write import write


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, two saved models, and LightGBM's text of one."""
    place = tmp_path_factory.mktemp("report")
    for number, name in enumerate(("train.txt", "vali.txt")):
        write(rf.make_data("yahoo", queries=25, seed=number), place / name)
    for name, objective in (("old", "lambdarank-ndcg"), ("new", "lambdagap-x+")):
        config: dict[str, Any] = {"objective": objective, "k": 5, "n_estimators": 4}
        files = {"train": str(place / "train.txt"), "valid": str(place / "vali.txt")}
        rf.train(config | files | {"num_leaves": 5, "progress": False, "out": place / name})
    (place / "plain.txt").write_text(rf.load(place / "old").model_.text())
    return place


@pytest.fixture
def inside(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(home)
    return home


def test_one_run_with_its_own_data(inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "old/", "--out", "one.html"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("one.html: ")
    assert len(shown.out.splitlines()) == 1
    assert shown.err == ""
    text = Path("one.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert '"data":{"name":"vali.txt"' in text


def test_several_runs_are_what_the_library_writes(inside: Path) -> None:
    options = ["--data", "vali.txt", "--metric", "p@5", "--baseline", "new/", "--queries", "3"]
    more = ["--objective", "ranknet", "--objective", "lambdagap-x", "--title", "Two"]
    assert main(["report", "first=old/", "new/", *options, *more, "--out", "two.html"]) == 0
    again = rf.write_report(
        {"first": "old/", "new": "new/"},
        "vali.txt",
        out="again.html",
        metric="p@5",
        baseline="new",
        queries=3,
        objectives=["ranknet", "lambdagap-x"],
        title="Two",
    )
    assert Path("two.html").read_bytes() == again.read_bytes()


def test_opens_a_browser_when_asked(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    assert main(["report", "old", "--out", "a.html"]) == 0
    assert opened == []
    assert main(["report", "old", "--out", "a.html", "--open", "yes"]) == 0
    assert opened == [(inside / "a.html").resolve().as_uri()]


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["report", "--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "rankforce report old/ new/ --data test.txt" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["old", "--out", "no/r.html"], "expected the name of a file in a folder that exists"),
        (["old", "--out", "."], "expected the name of a file"),
        (["nowhere", "--out", "r.html"], "cannot read a model from nowhere"),
        (["train.txt", "--out", "r.html"], "this is no LightGBM model text"),
        (["old", "--data", "none.txt", "--out", "r.html"], "there is no such file"),
        (["old", "--data", "plain.txt", "--out", "r.html"], "plain.txt"),
        (["old", "--metric", "ndgc@5", "--out", "r.html"], "unknown metric 'ndgc@5'"),
        (["old", "--objective", "lambda", "--out", "r.html"], "unknown objective 'lambda'"),
        (["old", "old", "--out", "r.html"], "two systems are called 'old'"),
        (["old", "new", "--baseline", "x", "--out", "r.html"], "none of the systems: old, new"),
        (["old", "--queries", "-1", "--out", "r.html"], "queries is -1"),
    ],
)
def test_mistakes_are_one_line(
    inside: Path, options: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *options]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert shown.err.startswith("rankforce report: ")
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""
    assert not Path("r.html").exists()


def test_lightgbm_s_text(inside: Path) -> None:
    assert main(["report", "plain.txt", "--data", "vali.txt", "--out", "plain.html"]) == 0
    assert "does not say what it was trained for" in Path("plain.html").read_text(encoding="utf-8")
