"""What a report holds: no browser needed."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.report.gather import gather, importance
from rankforce.show.report.write import page
from tests.show.report.gathered import data_of
from tests.show.report.made_runs import QUERIES, SIZE, make_data, train

Table = dict[str, Any]


@pytest.fixture(scope="module")
def table(rankers: dict[str, rf.Ranker], test_data: rf.RankingData) -> Table:
    return gather(rankers, test_data)


def test_runs_have_settings_history_and_story(table: Table, rankers: dict[str, rf.Ranker]) -> None:
    old, new = table["runs"]
    assert [old["objective"], new["objective"]] == ["LambdaRank-NDCG@5", "LambdaMART-eX static@5"]
    assert (old["step"], old["steps"], old["used"], old["finished"]) == ("tree", 12, 12, True)
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
    runs = {str(seed): train("ranknet", data, k=None, subsample=0.7, seed=seed) for seed in (1, 3)}
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


def test_the_end_is_the_last_tree_that_is_used(
    train_data: rf.RankingData, test_data: rf.RankingData
) -> None:
    """A run that stopped early looked at trees that are not in its model."""
    recorder = rf.Recorder(["incoherence", "pairs"], every=1)
    ranker = train(
        "lambdarank-ndcg",
        train_data,
        test_data,
        n_estimators=60,
        early_stopping_rounds=8,
        callbacks=[recorder],
    )
    used = ranker.model_.used
    assert used < len(ranker.model_.trees)
    share = recorder.curves.series["pairs"]["relative"]
    wrong = recorder.curves.series["incoherence"]["restricted"]
    assert (share[used - 1], wrong[used - 1]) != (share[-1], wrong[-1])
    told = gather(ranker, test_data, objectives=["ranknet"])["summary"][-1]
    assert f"at the end {100 * share[used - 1]:.1f} % of all pairs push" in told
    assert f"and {100 * wrong[used - 1]:.1f} % of the queries are incoherent" in told
