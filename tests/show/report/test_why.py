"""Why one document of a report stands above another: the data, and bars in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.binned import make_bins
from rankforce.show.report.contributions import DOCUMENTS, FEATURES, contribution_records
from rankforce.show.report.gather import gather
from rankforce.show.report.runs import ShownModel
from tests.show.report.browser import set_width
from tests.show.report.explorer_page import heard, select
from tests.show.report.made_runs import EVIL, make_data, train
from tests.show.report.report_pages import visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

Table = dict[str, Any]


@pytest.fixture(scope="module")
def table(rankers: dict[str, rf.Ranker], test_data: rf.RankingData) -> Table:
    return gather(rankers, test_data, queries=4, objectives=["ranknet"])


def test_parts_are_the_contributions_of_the_documents(
    table: Table, rankers: dict[str, rf.Ranker], test_data: rf.RankingData
) -> None:
    for query in table["queries"]:
        rows = test_data.index.rows_of(query["number"])
        for name, ranker in rankers.items():
            found = query["contributions"][name]
            all_parts = ranker.contributions(test_data)[rows]
            scores = ranker.predict(test_data)[rows]
            assert found["documents"] == np.argsort(-scores, kind="stable").tolist()
            columns = [test_data.feature_names.index(one) for one in found["features"]]
            own = all_parts[found["documents"]]
            assert np.array(found["parts"]) == pytest.approx(own[:, columns], rel=1e-3, abs=1e-9)
            summed = np.array(found["parts"]).sum(axis=1) + found["rest"]
            assert summed == pytest.approx(scores[found["documents"]], abs=2e-3)
            values = test_data.features[rows][found["documents"]][:, columns]
            assert np.array(found["values"]) == pytest.approx(values, rel=1e-3)
            spread = own[:, :-1].std(axis=0)
            assert spread[columns].min() >= np.delete(spread, columns).max(initial=0.0)


def test_only_some_features_and_documents_are_told() -> None:
    data = rf.make_data("mslr", queries=6, seed=1)
    ranker = train("lambdarank-ndcg", data, n_estimators=30, num_leaves=15)
    queries = gather(ranker, data, queries=2, objectives=["ranknet"])["queries"]
    assert max(len(one["documents"]) for one in queries) > DOCUMENTS
    for one in queries:
        found = one["contributions"]["run"]
        assert len(found["features"]) == FEATURES
        assert len(found["documents"]) == min(DOCUMENTS, len(one["documents"]))
        assert {len(row) for row in found["parts"]} == {FEATURES}


def test_a_model_without_contributions_has_none(test_data: rf.RankingData) -> None:
    pytest.importorskip("torch")
    given: dict[str, Any] = {"epochs": 1, "progress": False, "threads": 1}
    network = rf.Ranker(model="mlp", hidden=[4], **given).fit(test_data)
    linear = rf.Ranker(model="linear", **given).fit(test_data)
    lists = [test_data.index.rows_of(2)]
    scores = network.predict(test_data)
    notes: list[str] = []
    runs = [ShownModel("net", network, None), ShownModel("line", linear, None)]
    found = [contribution_records(run, test_data, scores, lists, notes) for run in runs]
    assert found[0] is None
    assert found[1] is not None
    assert len(found[1][0]["documents"]) == len(lists[0])
    assert notes == []


def test_why_there_are_no_contributions_is_noted(
    test_data: rf.RankingData,
) -> None:
    values = make_bins(test_data.features)
    binned = rf.RankingData(values, test_data.labels, qid=test_data.qid)
    ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False, threads=1).fit(binned)
    table = gather(ranker, binned, queries=2, objectives=["ranknet"])
    assert [query["contributions"] for query in table["queries"]] == [{}, {}]
    assert [n for n in table["notes"] if n.startswith("No contributions of features in run: ")]


def bars(page: Page) -> list[tuple[str, float]]:
    """Features and what they do, as the page shows them."""
    lines = page.locator(".ex-why li")
    names = lines.locator(".ex-feature").all_inner_texts()
    found = lines.evaluate_all("(all) => all.map((one) => Number(one.dataset.difference))")
    return list(zip(names, found, strict=True))


def expected(query: Table, run: str, first: int, second: int) -> dict[str, float]:
    found = query["contributions"][run]
    a, b = found["documents"].index(first), found["documents"].index(second)
    both = zip(found["features"], found["parts"][a], found["parts"][b], strict=True)
    return {name: x - y for name, x, y in both}


def assert_bars(page: Page, query: Table, run: str, first: int, second: int) -> None:
    shown = bars(page)
    wanted = expected(query, run, first, second)
    features = dict(shown[:-2])
    assert features == pytest.approx({name: wanted[name] for name in features}, abs=1e-12)
    sizes = [abs(size) for _, size in shown[:-2]]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= max((abs(v) for n, v in wanted.items() if n not in features), default=0.0)
    scores = query["scores"][run]
    assert [name for name, _ in shown[-2:]] == ["All else", "Difference of the scores"]
    assert shown[-1][1] == pytest.approx(scores[first] - scores[second])
    assert sum(size for _, size in shown[:-1]) == pytest.approx(shown[-1][1], abs=4e-3)


def open_list(page: Page, file: Path) -> tuple[Table, list[int]]:
    """The first query of a report, and its documents by rank."""
    data = visit(page, file)
    query = data["queries"][0]
    run = data["runs"][0]["name"]
    order = np.argsort(-np.array(query["scores"][run]), kind="stable").tolist()
    return query, order


def test_a_document_is_compared_with_its_neighbour_and_with_others(
    page: Page, reports: dict[str, Path]
) -> None:
    query, order = open_list(page, reports["three"])
    page.locator(f'.ex-item[data-document="{order[3]}"]').click()
    assert_bars(page, query, "old", order[3], order[2])
    choose = page.get_by_role("combobox", name="Compared with")
    assert choose.locator("option").count() == len(order) - 1
    choose.select_option(str(order[7]))
    assert_bars(page, query, "old", order[3], order[7])
    assert heard(page) == f"Compared with {query['documents'][order[7]]}."
    select(page, "Scores of", "new")
    assert_bars(page, query, "new", order[3], order[7])
    page.locator(f'.ex-item[data-document="{order[7]}"]').click()
    assert choose.input_value() != str(order[7])


def test_the_best_document_is_compared_with_the_next(page: Page, reports: dict[str, Path]) -> None:
    query, order = open_list(page, reports["one"])
    page.locator(f'.ex-item[data-document="{order[0]}"]').focus()
    page.keyboard.press("Enter")
    assert_bars(page, query, "run", order[0], order[1])
    values = query["contributions"]["run"]
    text = page.locator(".ex-why li").first.inner_text()
    name = bars(page)[0][0]
    column = values["features"].index(name)
    told = [values["values"][place][column] for place in (0, 1)]
    shown = [f"{value:.4g}".replace("-", "\u2212") for value in told]
    assert f"{name} {shown[0]} against {shown[1]}" in " ".join(text.split())


def test_bars_go_where_a_feature_pushes(page: Page, reports: dict[str, Path]) -> None:
    _, order = open_list(page, reports["three"])
    page.locator(f'.ex-item[data-document="{order[4]}"]').click()
    middle = page.locator(".ex-why .ex-bar").first.bounding_box()
    assert middle is not None
    centre = middle["x"] + middle["width"] / 2
    sides = set()
    for line, (_, size) in zip(page.locator(".ex-why li").all(), bars(page), strict=True):
        if not size:
            continue
        box = line.locator(".ex-bar i").bounding_box()
        assert box is not None
        is_right = box["x"] + box["width"] / 2 > centre
        assert is_right == (size > 0)
        sides.add(is_right)
    assert sides == {True, False}


@pytest.mark.parametrize("width", [1400, 400])
def test_bars_are_no_wider_than_their_place(
    page: Page, reports: dict[str, Path], width: int
) -> None:
    open_list(page, reports["evil"])
    set_width(page, width)
    page.locator(".ex-item").first.click()
    wide, room = page.locator(".ex-detail").evaluate("(one) => [one.scrollWidth, one.clientWidth]")
    assert wide <= room
    assert page.locator(".ex-why li").first.is_visible()


def test_names_of_features_stay_text(page: Page, reports: dict[str, Path]) -> None:
    data = visit(page, reports["evil"])
    page.locator(".ex-item").first.click()
    names = {name for name, _ in bars(page)}
    known = {
        f for q in data["queries"] for one in q["contributions"].values() for f in one["features"]
    }
    assert names - {"All else", "Difference of the scores"} <= known
    assert known & set(EVIL)
    assert page.locator(".ex-why script, .ex-why img").count() == 0


def test_documents_far_down_have_no_bars(page: Page, tmp_path: Path) -> None:
    data = rf.make_data("mslr", queries=4, seed=1)
    ranker = train("lambdarank-ndcg", data)
    file = rf.write_report(ranker, data, out=tmp_path / "long.html", objectives=["ranknet"])
    query, order = open_list(page, file)
    assert len(order) > DOCUMENTS
    page.get_by_role("button", name="Show all").click()
    page.locator(f'.ex-item[data-document="{order[-1]}"]').click()
    assert page.locator(".ex-why li").count() == 0
    assert f"the first {DOCUMENTS} documents" in page.locator(".ex-why").inner_text()
    page.locator(f'.ex-item[data-document="{order[1]}"]').click()
    assert_bars(page, query, "run", order[1], order[0])


def test_a_page_without_contributions_says_nothing_of_them(page: Page, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    data = make_data(1)
    network = rf.Ranker(model="mlp", hidden=[4], epochs=1, progress=False, threads=1).fit(data)
    visit(page, rf.write_report(network, data, out=tmp_path / "mlp.html", objectives=["ranknet"]))
    page.locator(".ex-item").first.click()
    assert page.locator(".ex-detail h4").count() == 1
    assert page.locator(".ex-why").count() == 0
