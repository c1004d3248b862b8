"""A report of networks, alone and beside trees: it says what each run has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rankforce as rf
from rankforce.show.report.gather import gather
from rankforce.show.report.verdict import run_sentence
from tests.show.report.made_runs import train
from tests.show.report.report_pages import chart, visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

SMALL = {"hidden": [6], "epochs": 4, "learning_rate": 0.03}


@pytest.fixture(scope="module")
def runs(train_data: rf.RankingData, test_data: rf.RankingData) -> dict[str, rf.Ranker]:
    def learn(model: str, **more: object) -> rf.Ranker:
        callbacks = more.pop("callbacks", ())
        ranker = rf.Ranker(model=model, k=5, progress=False, **SMALL | more)
        return ranker.fit(
            train_data, eval_set=[test_data], eval_metric=["ndcg@5"], callbacks=callbacks
        )

    return {
        "trees": train("lambdarank-ndcg", train_data, test_data),
        "mlp": learn("mlp", callbacks=[rf.Recorder(every=1)]),
        "lists": learn("attention", layers=1, heads=2),
    }


def test_runs_tell_their_epochs(runs: dict[str, rf.Ranker], test_data: rf.RankingData) -> None:
    table = gather(runs, test_data, objectives=[])
    trees, mlp, lists = table["runs"]
    assert [(run["step"], run["steps"]) for run in (trees, mlp, lists)] == [
        ("tree", 12),
        ("epoch", 4),
        ("epoch", 4),
    ]
    assert mlp["objective"] == "LambdaRank-NDCG@5, for an mlp"
    assert run_sentence(mlp).startswith("mlp: LambdaRank-NDCG@5, for an mlp, 4 epochs; at the end ")
    assert mlp["diagnostics"]["trees"] == [1, 2, 3, 4]
    assert lists["diagnostics"]["trees"] == [4]
    assert "rank_changes" not in lists["diagnostics"]["series"]
    means = dict(zip(table["metrics"]["columns"], table["metrics"]["rows"][2], strict=True))
    own = rf.evaluate(runs["lists"], test_data, "ndcg@5").means["NDCG@5"]
    assert means["NDCG@5"] == pytest.approx(own, abs=1e-6)


def test_features_of_a_network_have_their_influence(
    runs: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    table = gather(runs, test_data, objectives=[])
    found = table["runs"][1]["importance"]
    order = np.argsort(-runs["mlp"].importance(), kind="stable")
    assert [one["feature"] for one in found] == [test_data.feature_names[f] for f in order]
    assert found[0]["influence"] == pytest.approx(runs["mlp"].importance().max(), rel=1e-5)


def test_epochs_that_the_data_chose_flatter(
    train_data: rf.RankingData, test_data: rf.RankingData
) -> None:
    settings = SMALL | {"epochs": 30, "learning_rate": 0.3, "early_stopping_rounds": 3}
    ranker = rf.Ranker(model="mlp", k=5, progress=False, **settings)
    ranker.fit(train_data, eval_set=[test_data])
    assert ranker.model_.used < ranker.model_.steps
    table = gather({"a": ranker}, test_data, objectives=[])
    assert table["cautions"] == [
        "a chose its number of epochs on this very data, which flatters it a little."
    ]


def test_a_linear_ranker_on_trees_has_no_features_of_its_own(
    runs: dict[str, rf.Ranker], train_data: rf.RankingData, test_data: rf.RankingData
) -> None:
    ranker = rf.Ranker(model="linear", base=runs["trees"], epochs=2, progress=False)
    table = gather({"a": ranker.fit(train_data)}, test_data, objectives=[])
    assert table["runs"][0]["importance"] == []


def test_the_page_says_what_its_runs_have(
    page: Page, runs: dict[str, rf.Ranker], test_data: rf.RankingData, tmp_path: Path
) -> None:
    rf.write_report(runs, test_data, out=tmp_path / "all.html", objectives=[])
    visit(page, tmp_path / "all.html")
    page.wait_for_selector("figure.chart svg .line")
    figure = chart(page, "NDCG@5")
    assert "number of steps" in (figure.locator(".plot").text_content() or "")
    figure.locator(".plot").press("Home")
    assert figure.locator(".at").inner_text() == "with 1 step"
    lists = page.locator("#diagnostics figure", has=page.get_by_role("heading", name="lists"))
    assert "number of epochs" in (lists.first.locator(".plot").text_content() or "")
    # One look is a column of a stack.
    assert lists.nth(1).locator("rect.solid:visible").count() >= 5
    section = page.locator("#features")
    assert section.locator("th[scope=col]").all_text_contents()[-1] == "gain"
    section.locator("select").select_option("mlp")
    assert section.locator("th[scope=col]").all_text_contents()[-1] == "influence"
    assert "moves with each feature" in section.inner_text()
    assert section.get_by_role("button", name="splits").count() == 0
    rows = page.locator("#settings tbody th").all_text_contents()
    assert [row for row in rows if "made" in row or "used" in row] == [
        "trees madediffers",
        "trees useddiffers",
        "epochs madediffers",
        "epochs useddiffers",
    ]


def test_a_page_of_networks_has_no_trees(
    page: Page, runs: dict[str, rf.Ranker], test_data: rf.RankingData, tmp_path: Path
) -> None:
    known = {name: run for name, run in runs.items() if name != "trees"}
    rf.write_report(known, test_data, out=tmp_path / "nets.html", objectives=[])
    visit(page, tmp_path / "nets.html")
    page.wait_for_selector("figure.chart svg .line")
    figure = chart(page, "NDCG@5")
    assert figure.locator(".at").inner_text() == "at the end, 4 epochs"
    assert "tree" not in page.locator("body").inner_text()
