"""What a report holds, and how it is written: no browser needed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.write import write
from rankforce.report.gather import gather
from rankforce.report.importance import importance
from rankforce.report.write import SCRIPTS, STYLES, page, write_report
from tests.report.made_runs import ALERT, EVIL, QUERIES, SIZE, make_data, train

Table = dict[str, Any]


@pytest.fixture(scope="module")
def train_data() -> rf.RankingData:
    return make_data(0)


@pytest.fixture(scope="module")
def test_data() -> rf.RankingData:
    return make_data(1)


@pytest.fixture(scope="module")
def rankers(train_data: rf.RankingData, test_data: rf.RankingData) -> dict[str, rf.Ranker]:
    recorder = rf.Recorder(every=4, metrics="ndcg@5")
    return {
        "old": train("lambdarank-ndcg", train_data, test_data, callbacks=[recorder]),
        "new": train("lambdamart-ex static", train_data, test_data, learning_rate=0.3, seed=3),
    }


@pytest.fixture(scope="module")
def table(rankers: dict[str, rf.Ranker], test_data: rf.RankingData) -> Table:
    return gather(rankers, test_data)


def data_of(text: str) -> Any:
    """The data of a page, as a browser reads it."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_runs_have_settings_history_and_story(table: Table, rankers: dict[str, rf.Ranker]) -> None:
    old, new = table["runs"]
    assert [old["objective"], new["objective"]] == ["LambdaRank-NDCG@5", "LambdaMART-eX static@5"]
    assert (old["trees"], old["used"], old["finished"]) == (12, 12, True)
    assert new["settings"]["learning_rate"] == 0.3
    assert new["settings"]["eval_metric"] == "NDCG@5, P@5"
    history = rankers["old"].evals_result_["valid_0"]["ndcg@5"]
    np.testing.assert_allclose(old["history"]["valid_0"]["ndcg@5"], history, rtol=1e-5)
    assert old["best"] == int(np.argmax(history)) + 1


def test_recorded_diagnostics_are_kept_and_others_are_computed(
    table: Table, rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    old, new = (run["diagnostics"] for run in table["runs"])
    assert old["trees"] == [1, 5, 9, 12]
    assert old["about"]["data"].startswith("training")
    again = rf.diagnose(rankers["new"], test_data)
    assert new["trees"] == again.trees
    # The data is the validation set of the run, whose history has its metrics already.
    assert again.series.pop("metrics")
    assert {*new["series"]} == {*again.series}
    elsewhere = gather(rankers["new"], make_data(7))["runs"][0]["diagnostics"]
    assert "NDCG@5" in elsewhere["series"]["metrics"]
    for kind, several in again.series.items():
        for name, values in several.items():
            np.testing.assert_allclose(new["series"][kind][name], values, rtol=1e-5, atol=1e-12)


def test_comparison_is_that_of_compare(
    table: Table, rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    found = rf.compare(rankers, test_data, metric="ndcg@5")
    told = found.contrasts["new"]
    base, row = table["comparison"]["rows"]
    assert base == ["old", found.means["old"], *[None] * 7]
    assert row[:3] == ["new", found.means["new"], told.difference]
    assert row[3:5] == [[told.low, told.high], told.adjusted]
    assert row[6:] == [told.wins, told.ties, told.losses]
    np.testing.assert_allclose(
        table["scores"]["per_query"]["new"], found.values["new"], rtol=1e-5, atol=1e-12
    )
    assert table["scores"]["query_ids"] == [f"q{query}" for query in range(QUERIES)]


def test_table_of_metrics_has_random_and_ideal(
    table: Table, rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    found = table["metrics"]
    evaluated = rf.evaluate(rankers["new"], test_data, found["columns"][1:])
    assert found["rows"][1] == ["new", *evaluated.means.values()]
    random, ideal = found["rows"][2:]
    assert random[0] == "a random ranking"
    assert ideal[1] == 1.0
    assert random[1] < found["rows"][0][1] < 1.0


def test_worst_and_best_queries(table: Table) -> None:
    values = table["scores"]["per_query"]["old"]
    worst, best = (
        [
            q["values"]["old"]
            for q in table["queries"]
            if re.search(f"{kind} of (old|new, old)", q["why"])
        ]
        for kind in ("worst", "best")
    )
    assert min(worst) == pytest.approx(min(values), rel=1e-5)
    assert max(best) == pytest.approx(max(values), rel=1e-5)
    assert max(worst) < min(best)
    change = np.subtract(table["scores"]["per_query"]["new"], values)
    gained = [q["number"] for q in table["queries"] if "largest gain of new" in q["why"]]
    assert max(change[gained]) == max(change) > 0
    assert len({query["id"] for query in table["queries"]}) == 12


def test_a_query_is_whole(
    table: Table, rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    query = table["queries"][0]
    rows = np.arange(query["number"] * SIZE, (query["number"] + 1) * SIZE)
    assert query["id"] == f"q{query['number']}"
    assert query["documents"] == [f"d{row}" for row in rows]
    assert query["labels"] == test_data.labels[rows].tolist()
    assert query["scores"]["new"] == rankers["new"].predict(test_data)[rows].tolist()
    assert query["key"] == str(test_data.index.key[query["number"]])


def test_rows_of_a_query_need_not_stand_together(rankers: dict[str, rf.Ranker]) -> None:
    data = make_data(1)
    order = np.random.default_rng(0).permutation(data.rows)
    mixed = rf.RankingData(
        data.features[order],
        data.labels[order],
        qid=data.qid[order],
        doc_ids=data.doc_ids[order],
        sources={"click": np.where(data.labels[order] > 2, np.nan, 0.5)},
        preferences=([0], [int(np.flatnonzero(data.qid[order] == data.qid[order][0])[1])]),
    )
    query = gather(rankers, mixed, queries=QUERIES)["queries"][0]
    labels = dict(zip((f"d{row}" for row in range(data.rows)), data.labels, strict=True))
    assert [labels[name] for name in query["documents"]] == query["labels"]
    assert query["sources"]["click"] == [None if y > 2 else 0.5 for y in query["labels"]]


def test_preferences_have_numbers_within_the_query(rankers: dict[str, rf.Ranker]) -> None:
    data = make_data(1).with_preferences(([SIZE + 2, 1], [SIZE, 0], [2.0, 1.0]))
    queries = gather(rankers, data, queries=QUERIES)["queries"]
    pairs = {query["number"]: query["preferences"] for query in queries}
    assert pairs[0] == [[1, 0, 1.0]]
    assert pairs[1] == [[2, 0, 2.0]]
    assert pairs[2] == []


def test_queries_that_every_ranking_suits_are_not_shown(rankers: dict[str, rf.Ranker]) -> None:
    data = make_data(1)
    labels = data.labels.copy()
    labels[: 5 * SIZE] = 0.0
    flat = rf.RankingData(data.features, labels, qid=data.qid)
    shown = gather(rankers, flat, queries=QUERIES)["queries"]
    assert {query["number"] for query in shown} == set(range(5, QUERIES))


def test_objectives_are_the_runs_own_and_all_with_a_name(table: Table) -> None:
    names = [one["name"] for one in table["objectives"]["list"]]
    assert names[:2] == ["LambdaRank-NDCG@5", "LambdaMART-eX static@5"]
    assert len(set(names)) == len(names)
    grades = [entry for entry in rf.objectives() if not entry.of_clicks]
    assert len(names) == len(grades)


def test_objectives_that_are_asked_for(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    wanted = ["lambdagap-x", "ranknet", rf.objective("lambdarank-p@k", k=3)]
    found = gather(rankers["old"], test_data, objectives=wanted)
    names = [one["name"] for one in found["objectives"]["list"]]
    assert names == ["LambdaRank-NDCG@5", "LambdaGap-X@5", "RankNet", "LambdaRank-P@3"]


def test_importance_is_that_of_lightgbm(rankers: dict[str, rf.Ranker]) -> None:
    ranker = rankers["new"]
    found = {one["feature"]: one for one in importance(ranker.model_)}
    gains = ranker.booster_.feature_importance("gain")
    splits = ranker.booster_.feature_importance("split")
    for name, gain, count in zip(ranker.feature_name_, gains, splits, strict=True):
        assert (name in found) == (count > 0)
        if count:
            assert found[name]["splits"] == count
            assert found[name]["gain"] == pytest.approx(gain, rel=1e-4)
    assert [one["gain"] for one in found.values()] == sorted(
        (one["gain"] for one in found.values()), reverse=True
    )


def test_summary_does_not_call_chance_a_win(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    same = gather({"a": rankers["old"], "b": rankers["old"]}, test_data)["summary"]
    assert same[0].startswith("a and b share the best NDCG@5")
    assert "b has the same mean as a; better on 0, worse on 0 of 30 queries." in same
    data = make_data(0)
    poor = train("ranknet", rf.RankingData(data.features, 4 - data.labels, qid=data.qid), k=None)
    told = gather({"poor": poor, "old": rankers["old"]}, test_data)["summary"]
    assert told[0].startswith("old has the best NDCG@5 on the data")
    assert "old is better than poor" in told[1]
    assert "more than chance" in told[1]
    turned = gather({"old": rankers["old"], "poor": poor}, test_data)["summary"]
    assert turned[0].startswith("No run is better than the baseline old: NDCG@5")
    alone = gather(rankers["old"], test_data)["summary"]
    assert re.match(r"run has NDCG@5 0\.\d{4} on the data, where a random ranking has", alone[0])


def test_trees_chosen_on_the_data_flatter(train_data: rf.RankingData) -> None:
    valid = make_data(1)
    stopped = train("ranknet", train_data, valid, k=None, n_estimators=60, early_stopping_rounds=2)
    assert stopped.model_.used < len(stopped.model_.trees)
    assert gather({"a": stopped}, valid)["cautions"] == [
        "a chose its number of trees on this very data, which flatters it a little."
    ]
    assert gather({"a": stopped}, make_data(8))["cautions"] == []


def test_small_differences_can_be_chance(test_data: rf.RankingData) -> None:
    data = make_data(0)
    runs = {str(seed): train("ranknet", data, k=None, subsample=0.7, seed=seed) for seed in (1, 2)}
    table = gather(runs, test_data, metric="ndcg@5")
    assert table["comparison"]["rows"][1][4] > 0.05
    assert "can be chance" in table["summary"][1]


def test_queries_that_do_not_count_are_null(rankers: dict[str, rf.Ranker]) -> None:
    data = make_data(1)
    labels = data.labels.copy()
    labels[:SIZE] = 0.0
    flat = rf.RankingData(data.features, labels, qid=data.qid)
    found = gather(rankers, flat, metric=rf.metric("ndcg@5", no_relevant="skip"))
    assert found["scores"]["per_query"]["old"][0] is None
    assert data_of(page(found)) == found


def test_a_metric_that_is_better_when_lower(
    rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    found = gather(rankers["old"], test_data, metric="arp", queries=1)
    values = found["scores"]["per_query"]["run"]
    assert not found["scores"]["higher_is_better"]
    assert found["queries"][0]["values"]["run"] == pytest.approx(max(values), rel=1e-5)


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
    import rankforce.report.write as module

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
