"""Where a report gets its runs and data from, and how it is written: no browser needed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf
from rankforce.formats.write import write
from rankforce.show.report.gather import gather
from rankforce.show.report.write import SCRIPTS, STYLES, page, write_report
from tests.show.report.gathered import data_of
from tests.show.report.made_runs import ALERT, EVIL, QUERIES, make_data, train


def test_the_same_input_gives_the_same_bytes(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData, tmp_path: Path
) -> None:
    for name in ("a.html", "b.html"):
        write_report(rankers, test_data, out=tmp_path / name, queries=4)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_text_of_the_data_stays_inside_it(tmp_path: Path) -> None:
    data = make_data(2, evil=True)
    runs = {text: train("ranknet", data, k=None, n_estimators=2) for text in EVIL}
    place = write_report(runs, data, out=tmp_path / "r.html", title=ALERT, queries=QUERIES)
    text = place.read_text(encoding="utf-8")
    inside = data_of(text)
    assert inside["title"] == ALERT
    assert [run["name"] for run in inside["runs"]] == EVIL
    assert {query["id"] for query in inside["queries"]} >= set(EVIL)
    assert {one["feature"] for one in inside["runs"][0]["importance"]} <= set(data.feature_names)
    start = text.index('id="data">') + len('id="data">')
    raw = text[start : text.index("</script>", start)]
    assert not set(raw) & set("<>&\u2028\u2029")
    assert text.count("<script") == 2
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in text


def test_only_the_page_s_own_script_may_run() -> None:
    text = page({"title": "t"})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe-eval" not in policy[1]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)


@pytest.mark.parametrize("name", [*STYLES, *SCRIPTS])
def test_parts_can_stand_inside_an_element(name: str) -> None:
    import rankforce.show.report.write as module

    part = (Path(module.__file__).parent / "page" / name).read_text(encoding="utf-8")
    assert not re.search(r"</(script|style)|<!--", part, re.IGNORECASE)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", part)


class TestFiles:
    """Runs that name the files they were trained with."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        write(make_data(0), tmp_path / "train.txt")
        write(make_data(1), tmp_path / "valid.txt")
        config = {"n_estimators": 3, "num_leaves": 4, "progress": False, "k": 5}
        names = {"train": str(tmp_path / "train.txt"), "valid": str(tmp_path / "valid.txt")}
        rf.train(config | names | {"out": tmp_path / "run"})
        rf.train(config | {"train": names["train"], "out": tmp_path / "alone"})
        return tmp_path

    def test_the_validation_set_is_read_again(self, home: Path) -> None:
        found = gather(home / "run")
        assert found["data"]["name"] == "valid.txt"
        assert found["comparison"]["metric"] == "NDCG@5"
        assert found["cautions"] == []
        assert found["notes"] == []

    def test_a_training_set_flatters(self, home: Path) -> None:
        found = gather([home / "alone"])
        assert found["data"]["name"] == "train.txt"
        assert found["cautions"][0].startswith("alone was trained on this very data")
        given = gather([home / "run"], home / "train.txt")
        assert given["cautions"][0].startswith("run was trained on this very data")

    def test_changed_data_is_noticed(self, home: Path) -> None:
        write(make_data(5), home / "valid.txt")
        write(make_data(6), home / "train.txt")
        found = gather(home / "run")
        assert found["data"] is None
        assert found["comparison"] is None
        assert found["runs"][0]["history"]["valid_0"]["ndcg@5"]
        assert found["runs"][0]["importance"]
        note = found["notes"][0]
        assert "valid.txt, which has changed since (" in note
        assert "--data FILE" in note

    def test_the_training_set_stands_for_a_lost_validation_set(self, home: Path) -> None:
        (home / "valid.txt").unlink()
        found = gather(home / "run")
        assert found["data"]["name"] == "train.txt"
        assert found["notes"][0].endswith("there is no such file); train.txt stands for it.")
        assert found["cautions"]

    def test_lost_data_is_noticed(self, home: Path) -> None:
        (home / "valid.txt").unlink()
        (home / "train.txt").unlink()
        found = gather({"a": home / "run", "b": home / "alone"})
        assert [note.split(": ")[1].split(" was")[0] for note in found["notes"]] == ["a", "a", "b"]
        assert all("there is no such file" in note for note in found["notes"])


def test_a_model_that_names_no_data(rankers: dict[str, rf.Ranker]) -> None:
    found = gather(rankers)
    assert found["data"] is None
    assert "does not say which data" in found["notes"][0]
    assert "no data to judge them by" in found["summary"][0]
    assert data_of(page(found))["runs"][0]["name"] == "old"


def test_a_run_without_validation_set(
    train_data: rf.RankingData, test_data: rf.RankingData
) -> None:
    found = gather(train("ranknet", train_data, k=None), test_data)
    assert found["runs"][0]["history"] == {}
    assert found["runs"][0]["best"] is None or found["runs"][0]["best"] > 0
    assert found["runs"][0]["diagnostics"]["trees"]


def test_lightgbm_s_text_without_manifest(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData, tmp_path: Path
) -> None:
    place = tmp_path / "model.txt"
    place.write_text(rankers["old"].model_.text())
    found = gather(place, test_data)
    assert found["runs"][0]["name"] == "model"
    assert found["runs"][0]["diagnostics"] is None
    assert any("does not say what it was trained for" in note for note in found["notes"])
    assert any("name an objective (--objective NAME)" in note for note in found["notes"])
    named = gather(place, test_data, objectives="lambdarank-ndcg")
    assert named["runs"][0]["diagnostics"]["about"]["k"] == "10"
    assert [one["name"] for one in named["objectives"]["list"]] == ["LambdaRank-NDCG@10"]


def test_an_objective_of_one_s_own(
    train_data: rf.RankingData, test_data: rf.RankingData, tmp_path: Path
) -> None:
    own = rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: 1.0)
    train(own, train_data, k=None, n_estimators=2).save(tmp_path / "run")
    found = gather(tmp_path / "run", test_data, metric="ndcg@5")
    assert any("cannot be made again" in note for note in found["notes"])
    assert len(found["objectives"]["list"]) > 10
    assert data_of(page(found)) == found


def mistakes(home: Path, ranker: rf.Ranker, data: rf.RankingData) -> dict[str, Any]:
    narrow = rf.RankingData(data.features[:, :3], data.labels, qid=data.qid)
    out = home / "r.html"
    (home / "file.txt").write_text("nonsense")
    (home / "a" / "run").mkdir(parents=True)
    return {
        "expected the name of a file in a folder": (
            [ranker, data],
            {"out": home / "no" / "r.html"},
        ),
        "expected the name of a file in": ([ranker, data], {"out": home}),
        "cannot read .*missing.txt: there is no such file": ([ranker, home / "missing.txt"], {}),
        "file.txt, line 1": ([ranker, home / "file.txt"], {}),
        "this is no LightGBM model text": ([home / "file.txt", data], {}),
        "cannot read a model from": ([home / "nowhere", data], {}),
        "two systems are called 'x'": ([["x=a", "x=b"], data], {}),
        "unknown metric 'ndgc@5'": ([ranker, data], {"metric": "ndgc@5"}),
        "baseline 'c' is none of the systems": ([ranker, data], {"baseline": "c"}),
        "unknown objective 'lambdagab'": ([ranker, data], {"objectives": ["lambdagab"]}),
        "queries is -1": ([ranker, data], {"queries": -1}),
        "run 'run': the data has 3 features": ([ranker, narrow], {}),
        "there is no run": ([[], data], {}),
        "run 'a' is a int": ([{"a": 3}, data], {}),
        "not trained yet": ([{"a": rf.Ranker()}, data], {}),
        "the name of a run is 3": ([{3: ranker}, data], {}),
        "folders and rankers: name them": ([[ranker, str(out)], data], {}),
        "data is a int": ([ranker, 7], {}),
        "has no labels": ([ranker, rf.RankingData(data.features, qid=data.qid)], {}),
    }


def test_mistakes_are_one_sentence(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData, tmp_path: Path
) -> None:
    for message, (given, more) in mistakes(tmp_path, rankers["old"], test_data).items():
        options = {"out": tmp_path / "r.html"} | more
        with pytest.raises(ValueError, match=message) as caught:
            write_report(*given, **options)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "r.html").exists()
