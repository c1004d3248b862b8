"""A study run again: folders in, a report out, resumed after an interrupt, one's mistakes told."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.formats.write import write
from rankforce.studies import reproduce as module
from rankforce.studies.account import beside
from rankforce.studies.reproduce import PAPERS, parts_of, reproduce

pytestmark = pytest.mark.slow  # CI runs it

SOME = {
    "000": ["lambdarank*", "*ex all"],
    "001": ["lambdagap-s*", "lambdarank*", "*ex all"],
    "002": ["sigmoid", "graded"],
}
SMALL: dict[str, Any] = {"queries": 10, "trees": 3, "threads": 1}


def run(paper: str, out: Path, data: str = "made:yahoo", **asked: Any) -> Any:
    return reproduce(paper, [data], out, stream=io.StringIO(), **{**SMALL, **asked})


def write_letor(folder: Path) -> Path:
    """Five files as LETOR 4.0 comes."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for number in range(1, 6):
        with open(folder / f"S{number}.txt", "w", encoding="utf-8") as file:
            for query in range(12):
                for _ in range(10):
                    cells = " ".join(f"{one}:{rng.random():.3f}" for one in range(1, 47))
                    label = rng.integers(3)
                    file.write(f"{label} qid:{number}{query:02} {cells} #docid = {_}\n")
    return folder


@pytest.mark.parametrize("paper", PAPERS)
def test_every_part_of_every_study_is_made(paper: str, tmp_path: Path) -> None:
    found = run(
        paper,
        tmp_path,
        cutoffs=[5],
        queries=40,
        algorithms=SOME[paper],
        trials=2,
        searcher="random",
    )
    tables = {name for name, one in parts_of(paper).items() if hasattr(one, "fill")}
    only_of_others = {"table-a2", "table-a3"}
    assert {*found.tables} | only_of_others >= tables
    pictures = {one.name for one in tmp_path.glob("*.png")}
    assert pictures == {*found.drawn}
    assert len(pictures) == len(module.PICTURES[paper])
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    for name in found.tables:
        assert f"## {name.replace('table-', 'Table ')}" in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/png") == len(pictures)
    record = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert {*record["tables"]} == {*found.tables}
    timed = [one for one in record["rankers"] if "seconds_a_tree" in one]
    assert timed
    for one in timed:
        assert one["seconds_a_tree"] > one["seconds_in_objective_a_tree"] > 0.0
        assert all(seconds > 0.0 for seconds in one["seconds_to_best"].values())


def test_a_study_goes_on_where_it_was_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"only": ["table-5"], "cutoffs": [5], "algorithms": ["lambdamart*"]}
    whole = run("000", tmp_path / "whole", **asked)
    trained = []
    plain = module.Study._train

    def stops(self: Any, trial: Any, wanted: Any) -> Any:
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(trial)
        return plain(self, trial, wanted)

    with monkeypatch.context() as patch:
        patch.setattr(module.Study, "_train", stops)
        with pytest.raises(KeyboardInterrupt):
            run("000", tmp_path / "parts", **asked)
    again = run("000", tmp_path / "parts", **asked)
    assert again.study.trained == whole.study.trained - 3
    assert again.tables == whole.tables


def test_folds_of_a_public_folder_are_all_tested(tmp_path: Path) -> None:
    folder = write_letor(tmp_path / "MQ2008")
    asked: dict[str, Any] = {"only": ["table-4"], "cutoffs": [5], "algorithms": ["ranknet"]}
    found = run("001", tmp_path / "all", str(folder), queries=None, **asked)
    assert {one["data"] for one in found.tables["table-4"].records} == {"mq2008"}
    folds = [one.fold for one in found.study.planned]
    assert sorted(folds) == sorted([*range(1, 6)] * 2)
    fewer = run("001", tmp_path / "all", str(folder), queries=None, folds=2, **asked)
    assert fewer.study.trained == 0  # they are there
    assert len(fewer.study.planned) == 4


def test_a_folder_of_ones_own_has_its_own_name(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    for seed, part in enumerate(("train", "valid", "test")):
        write(rf.make_data("yahoo", queries=8, seed=seed), folder / f"{part}.parquet")
    found = run(
        "001", tmp_path / "out", str(folder), only=["table-4"], cutoffs=[5], algorithms=["ranknet"]
    )
    assert {one["data"] for one in found.tables["table-4"].records} == {"shop"}


def test_a_ranker_that_cannot_be_trained_is_named(tmp_path: Path) -> None:
    said = "LambdaMART-eX static@5 on made:yahoo: no split is worth it"
    with pytest.raises(rf.RankforceError, match=said):
        run("000", tmp_path, only=["table-6"], cutoffs=[5], algorithms=["*static"], queries=2)


def test_what_needs_clicks_is_left_out_without_them(tmp_path: Path) -> None:
    folder = write_letor(tmp_path / "MQ2008")
    found = run("002", tmp_path / "out", str(folder), only=["table-1", "figure-2", "figure-5"])
    assert not found.tables
    assert [one.split(" needs")[0] for one in found.left_out] == ["table-1", "svore-2"]
    assert "needs a column of clicks" in (tmp_path / "out" / "report.md").read_text("utf-8")


def test_printed_figures_stand_beside_ours_where_the_set_is_the_papers(tmp_path: Path) -> None:
    found = run("001", tmp_path, only=["table-4"], cutoffs=[5], algorithms=["ranknet"])
    table, remake = found.tables["table-4"], found.remakes["table-4"]
    assert [head[-1] for head in beside(table, remake).columns] == ["algorithm", "k = 5"]
    theirs = table._replace(records=tuple({**one, "data": "yahoo-1"} for one in table.records))
    shown = beside(theirs, remake)
    assert [head[-1] for head in shown.columns] == ["algorithm", "here", "paper"]
    last = shown.rows[-1]
    assert not isinstance(last, str)
    assert last[-1].text == "84.23"  # RankNet in Table 4


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["003", "--data", "made:yahoo"], "the study is '003': choose"),
        (["001", "--data", "made:moon"], "the shape is 'moon': choose"),
        (["001", "--data", "nowhere"], "nowhere is no folder"),
        (["001", "--data", "made:yahoo", "--only", "table-9"], "a part is 'table-9': choose"),
        (["001", "--data", "made:yahoo", "--trees", "1"], "trees"),
        (["001", "--data", "made:yahoo", "--algorithms", "rank,*gap*"], "algorithms has 'rank'"),
        (["001", "--data", "made:yahoo", "--queries", "0"], "queries"),
    ],
)
def test_mistakes_are_told_before_anything_is_trained(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reproduce", *words, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out" / "runs").exists()


def test_the_command_line_prints_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "reproduce marcuzzi --data made:yahoo --only table-6 -k 5 --queries 8 --trees 2"
    assert main([*words.split(), "--set", "num_leaves=7", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().err
    assert re.findall(r"report\.\w+", told) == ["report.md", "report.html", "report.json"]
    assert "num\\_leaves 7" in (tmp_path / "report.md").read_text(encoding="utf-8")
