"""The server's page in a real browser: documents in, ranking and reasons out."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest

import rankforce as rf
from tests.serving.served_page import (
    NAMES,
    Site,
    cell,
    choose_model,
    lines,
    made_kinds,
    numbers,
    paste,
    ranked,
    ready,
    served,
    table,
    total,
    train_rankers,
    visit,
    warm,
)
from tests.show.report.browser import INSIDE, open_page, set_width

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.slow  # CI runs it

ROWS = [[0.5, 1.0, -1.0, 0.25, 2.0], [3.0, 0.0, 0.0, 1.5, -1.0], [1.0, 2.5, 0.5, -0.5, 0.0]]
LABELS = [0, 2, 1]
EVIL = "<img src=x onerror=alert(1)>"
REFUSALS = "the server responded with a status of "


@pytest.fixture(scope="module")
def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server with three models; none without a browser to look at it."""
    with served(tmp_path_factory.mktemp("models"), train_rankers()) as started:
        warm(started, {"features": ROWS, "labels": LABELS})
        yield started


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The page with its example, which must stay without errors and outside requests."""
    with open_page(browser, inside=(*INSIDE, site.url), refusals=REFUSALS) as opened:
        yield visit(opened, site)


def as_json(**more: Any) -> str:
    documents = [
        {"id": name, "features": dict(zip(NAMES, row, strict=True))}
        for name, row in zip("abc", ROWS, strict=True)
    ]
    return json.dumps({"documents": documents, **more})


def as_table(mark: str) -> str:
    head = mark.join(["doc_id", *NAMES, "label", "comment"])
    rows = [
        mark.join([name, *map(str, row), str(label), '"x"'])
        for name, row, label in zip("abc", ROWS, LABELS, strict=True)
    ]
    return "\n".join([head, *rows, ""])


def as_letor() -> str:
    """What is 0 is left out, and a second query follows."""
    rows = []
    for name, row, label in zip("abc", ROWS, LABELS, strict=True):
        pairs = [f"{number}:{value}" for number, value in enumerate(row, 1) if value]
        rows.append(" ".join([str(label), "qid:7", *pairs, "#", name]))
    return "\n".join(["# a list", *rows, "1 qid:8 1:2.5"])


def assert_ranked(page: Page, ranker: rf.Ranker) -> None:
    """The ranking, scores and forces are those of rankforce for the documents in the table."""
    names, _, features = table(page)
    scores = ranker.predict(features.astype(np.float32))
    order = np.argsort(-scores, kind="stable")
    assert ranked(page) == [names[row] for row in order]
    assert numbers(page, "score") == pytest.approx(scores[order])
    assert_forces(page, ranker)


def assert_forces(page: Page, ranker: rf.Ranker, objective: Any = None, k: int = 5) -> None:
    names, labels, features = table(page)
    data = rf.RankingData(features.astype(np.float32), labels, group=[len(labels)])
    explained = rf.explain(objective, ranker, data, k=k)
    assert numbers(page, "force") == pytest.approx([one.force for one in explained.documents])
    assert ranked(page) == [names[one.row] for one in explained.documents]


def test_it_opens_with_an_example(page: Page, site: Site) -> None:
    assert_ranked(page, site.rankers["few"])
    names, _, features = table(page)
    assert names == [f"d{number}" for number in range(1, 9)]
    ranges = [text.strip("[]").split(":") for text in site.rankers["few"].model_.scorer.ranges]
    low, high = np.array(ranges, dtype=np.float64).T
    assert (features >= low).all()
    assert (features <= high).all()
    assert "few · version" in page.locator("#facts").inner_text()
    assert "20 trees · 5 features" in page.locator("#facts").inner_text()
    assert re.search(r"8 documents · NDCG@5 0\.\d{4} · ", page.locator("#said").inner_text())
    page.get_by_role("button", name="Make an example").click()
    assert not np.array_equal(table(ready(page))[2], features)
    assert_ranked(page, site.rankers["few"])


PASTED = {
    as_json(labels=LABELS): "3 documents read as JSON.",
    as_table(","): "3 documents read as CSV. The model has no feature comment: left out.",
    as_table("\t"): "3 documents read as TSV. The model has no feature comment: left out.",
    as_letor(): "3 documents read as LETOR lines. Of 2 queries the first, 7, is shown.",
    json.dumps({"ids": ["a", "b", "c"], "features": ROWS, "labels": LABELS}): "3 documents read as "
    "JSON.",
}


def test_documents_are_pasted(page: Page, site: Site) -> None:
    for text, said in PASTED.items():
        page.get_by_role("button", name="Make an example").click()
        paste(page, text)
        assert page.locator(".start .notes").inner_text() == said
        names, labels, features = table(page)
        assert (names, labels.tolist(), features.tolist()) == (["a", "b", "c"], LABELS, ROWS), text
        assert_ranked(page, site.rankers["few"])


CANNOT_BE_READ = {
    "": "There is no text to read.",
    '{"documents": [': "This is not JSON: ",
    "[]": 'Expected {"documents": ',
    "[[1, 2]]": "documents[0] has 2 values: the model has 5 features.",
    "bm25,age\n1": "Line 2 has 1 cells: the first line names 2.",
    "bm25,age": "There is a first line with names, and no document below it.",
    "a,b\n1,2": "None of the model's features is there: it has bm25, title_match, ",
    "1 qid:1 1:2\n0 qid:1 6:1": "Line 2: feature 6 is not among the model's 5.",
    "1 qid:1 1:2 x:1": "Line 1: expected number:value, got x:1.",
}


def test_text_that_cannot_be_read(page: Page) -> None:
    before = ranked(page)
    box = page.get_by_label("Documents as text")
    for text, mistake in CANNOT_BE_READ.items():
        paste(page, text)
        assert box.get_attribute("aria-invalid") == "true"
        said = page.locator(f"#{box.get_attribute('aria-describedby')}").inner_text()
        assert said.startswith(mistake)
        assert ranked(page) == before


READ = """async (text) => {
  const { readDocuments } = await import("/page/read.js");
  const features = [{ name: "bm25" }, { name: "age" }];
  const { documents, notes } = readDocuments(text, features);
  return [documents.map(({ id, label, values }) => [id, label, ...values]), notes];
}"""
READ_AS = {
    'url;age;bm25\n"a;""b""";2;1\n;;-': [['a;"b"', "", "1", "2"], ["d2", "", "-", ""]],
    "3 1:1 2:2 #docid = GX-8 inc = 1": [["GX-8", "3", "1", "2"]],
    '[{"id": 7, "grade": 2, "bm25": null, "age": 1e3}]': [["7", "2", "", "1000"]],
    '{"documents": [{"features": [1, 2], "label": 0}]}': [["d1", "0", "1", "2"]],
    "\ufeffbm25\tage\r\n1\t2\r\n": [["d1", "", "1", "2"]],
}


def test_many_ways_to_write_documents(page: Page) -> None:
    for text, expected in READ_AS.items():
        assert page.evaluate(READ, text) == [expected, []], text
    found, notes = page.evaluate(READ, '{"features": [{"bm25": 1, "x": 2}]}')
    assert found == [["d1", "", "1", ""]]
    assert notes == [
        "The model has no feature x: left out.",
        "1 of the model's features are not there: age.",
    ]


def test_pasting_is_enough(page: Page) -> None:
    page.get_by_text("Paste documents").click()
    page.get_by_label("Documents as text").focus()
    page.evaluate(
        """(text) => {
          const box = document.activeElement;
          box.value = text;
          box.dispatchEvent(new ClipboardEvent("paste", { bubbles: true }));
        }""",
        as_json(),
    )
    page.locator("li.rank-row").nth(3).wait_for(state="detached")
    assert ranked(ready(page)) != []
    assert page.locator(".rank-force:visible").count() == 0  # no labels, no forces


def test_an_edit_moves_a_document(page: Page, site: Site) -> None:
    last = ranked(page)[-1]
    count = len(ranked(page))
    for name, value in (("bm25", "6"), ("title_match", "4.5"), ("clicks", "3")):
        cell(page, name, last).fill(value)
        ready(page)
    assert_ranked(page, site.rankers["few"])
    before = ranked(page)
    at = before.index(last)
    assert at < count - 1
    # Keys that follow each other in one cell are one edit.
    box = cell(page, "bm25", last)
    box.fill("-")
    box.fill("-9")
    ready(page)
    after = ranked(page)
    moved = page.locator("li.rank-row .rank-at small").all_inner_texts()
    for name, text in zip(after, moved, strict=True):
        by = before.index(name) - after.index(name)
        assert text == (f"↑{by}" if by > 0 else f"↓{-by}" if by < 0 else "")
    assert after.index(last) > at
    assert box.evaluate("(node) => node === document.activeElement")


def test_only_the_newest_answer_counts(page: Page, site: Site) -> None:
    held: list[Route] = []

    def hold_first(route: Route) -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route("**/rank", hold_first)
    box = cell(page, "bm25", "d1")
    with page.expect_request("**/rank"):
        box.fill("-2.5")
    box.fill("2.5")
    ready(page)
    held[0].abort()
    assert len(held) == 2
    assert_ranked(page, site.rankers["few"])


def test_a_mistake_is_shown_at_its_field(page: Page, site: Site) -> None:
    box = cell(page, "age", "d3")
    box.fill("x")
    ready(page)
    assert box.get_attribute("aria-invalid") == "true"
    said = page.locator(f"#{box.get_attribute('aria-describedby')}").inner_text()
    assert said == "expected a number, got 'x'"
    assert page.locator("#said").inner_text() == f"documents[2].features.age: {said}"
    assert page.locator(".mistake").count() == 1
    box.fill("0.5")
    ready(page)
    assert page.locator(".mistake").count() == 0
    assert_ranked(page, site.rankers["few"])


def test_a_mistake_in_labels_leaves_the_contributions(page: Page, site: Site) -> None:
    cell(page, "Label", "d2").fill("")
    ready(page)
    assert cell(page, "Label", "d2").get_attribute("aria-invalid") == "true"
    assert page.locator("#said").inner_text().startswith("labels[1]: ")
    assert len(lines(page, "#score")) > 0
    cell(page, "Label", "d2").fill("1")
    page.get_by_label("Cutoff k").fill("0")
    ready(page)
    assert page.get_by_label("Cutoff k").get_attribute("aria-invalid") == "true"
    page.get_by_label("Cutoff k").fill("5")
    ready(page)
    assert_ranked(page, site.rankers["few"])


def test_empty_cells_are_missing_where_one_says_so(page: Page, site: Site) -> None:
    box = cell(page, "bm25", "d1")
    box.fill("")
    ready(page)
    assert box.get_attribute("aria-invalid") == "true"
    page.get_by_label("Empty cells are missing values").check()
    ready(page)
    assert page.locator(".mistake").count() == 0
    box.fill("0")
    _, _, features = table(ready(page))
    box.fill("")
    ready(page)
    features[0, 0] = np.nan
    scores = site.rankers["few"].predict(features.astype(np.float32))
    assert numbers(page, "score") == pytest.approx(np.sort(scores)[::-1])


def test_contributions_add_up_to_the_score(page: Page, site: Site) -> None:
    paste(page, as_json(labels=LABELS))
    ranker = site.rankers["few"]
    expected = ranker.contributions(np.array(ROWS, dtype=np.float32))
    scores = ranker.predict(np.array(ROWS, dtype=np.float32))
    for name, row in zip("abc", range(3), strict=True):
        page.get_by_role("button", name=re.compile(rf"^Rank \d, {name},")).click()
        found = lines(page, "#score")
        assert found == pytest.approx(
            {NAMES[i]: value for i, value in enumerate(expected[row, :-1]) if value}
        )
        sizes = [abs(value) for value in found.values()]
        assert sizes == sorted(sizes, reverse=True)
        assert total(page, "#score") == pytest.approx(scores[row])


def test_why_one_document_is_above_another(page: Page, site: Site) -> None:
    """Differences of contributions, in order, that add up to the difference of scores."""
    choose_model(page, "wide")
    ranker = site.rankers["wide"]
    page.locator("li.rank-row .rank-name").nth(2).click()
    page.get_by_role("button", name=re.compile("^Compare with")).last.click()
    hi, lo = (ranked(page)[at] for at in (2, 7))
    assert page.locator("#pair .about").inner_text().startswith(f"{hi} is above {lo}:")
    features = whole_documents(page)
    rows = np.array([features[hi], features[lo]], dtype=np.float32)
    parts = ranker.contributions(rows)
    first = page.locator("#pair .others [data-value]").first.get_attribute("data-value")
    found = lines(page, "#pair")
    difference = (parts[0] - parts[1])[:-1]
    names = ranker.model_.feature_names
    assert found == pytest.approx(
        {names[i]: value for i, value in enumerate(difference) if value}, abs=1e-12
    )
    sizes = [abs(value) for value in found.values()]
    assert sizes == sorted(sizes, reverse=True)
    assert float(first or "") == pytest.approx(sum([*found.values()][10:]))
    above, below = ranker.predict(rows)
    assert total(page, "#pair") == pytest.approx(above - below)
    assert sum(found.values()) == pytest.approx(above - below)


def whole_documents(page: Page) -> dict[str, list[float]]:
    """The values of all features by document, from the link that the address is."""
    said = page.evaluate(
        """async () => {
          const { read } = await import("/page/link.js");
          const { models } = await import("/page/server.js");
          return read(location.hash, await models()).documents;
        }"""
    )
    return {one["id"]: [float(text) for text in one["values"]] for one in said}


@pytest.mark.parametrize(("name", "k"), [("RankNet", None), ("LambdaGap-X+", 2)])
def test_forces_of_any_objective(page: Page, site: Site, name: str, k: int | None) -> None:
    page.get_by_role("combobox", name="Forces of the objective").select_option(name)
    if k is not None:
        page.get_by_label("Cutoff k").fill(str(k))
    ready(page)
    objective = rf.objective(name) if k is None else rf.objective(name, k=k)
    assert_forces(page, site.rankers["few"], objective, k or 5)
    assert page.locator(".is-cut").get_attribute("data-cut") == f"top {k or 5}"


def test_documents_come_and_go(page: Page, site: Site) -> None:
    page.get_by_role("button", name="Add a document").click()
    ready(page)
    assert page.evaluate("document.activeElement.value") == "d9"
    page.keyboard.type("mine")
    cell(page, "Label", "d9").fill("2")
    ready(page)
    page.get_by_role("button", name="Copy d2").click()
    ready(page)
    assert table(page)[0] == ["d1", "d2", "d2 copy", *(f"d{n}" for n in range(3, 9)), "mine"]
    assert page.locator("li.rank-row small", has_text="new").count() == 1
    assert_ranked(page, site.rankers["few"])
    for name in [*table(page)[0]][:-1]:
        page.get_by_role("button", name=f"Remove {name}", exact=True).click()
    ready(page)
    assert ranked(page) == ["mine"]
    assert page.locator("#pair .about").inner_text().startswith("It takes two documents")
    page.locator(".row-buttons button").last.click()
    ready(page)
    assert page.locator("#said").inner_text().startswith("There is no document:")


def test_keys_go_through_the_table_and_the_ranking(page: Page) -> None:
    cell(page, "bm25", "d1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.ariaLabel") == "bm25 of d2"
    page.locator(".rank-name").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    second = ranked(page)[1]
    assert page.locator(".rank-name[aria-pressed='true']").inner_text().endswith(second)
    assert page.locator("#score .about b").inner_text() == second


def test_features_are_found_by_name(page: Page, site: Site) -> None:
    choose_model(page, "wide")
    names = site.rankers["wide"].model_.feature_names
    shown = page.locator(".documents-table thead .name")
    count = shown.count()
    assert shown.all_inner_texts() == names[:count]
    page.get_by_role("button", name="Features after these").click()
    assert shown.all_inner_texts() == names[count : 2 * count]
    page.get_by_label("Find features").fill("_13")
    found = [name for name in names if "_13" in name]
    assert shown.all_inner_texts() == found[:count]
    assert page.locator(".where").inner_text() == f"1–{count} of {len(found)} features"
    page.get_by_label("Find features").fill("nothing like it")
    assert page.locator(".where").inner_text() == "No feature has that name"
    # A feature of a sum leads to its cell.
    name = next(iter(lines(page, "#score")))
    page.locator("#score").get_by_role("button", name=name, exact=True).click()
    focused = page.evaluate("document.activeElement.ariaLabel")
    assert focused == f"{name} of {ranked(page)[0]}"


def test_a_mistake_out_of_sight_comes_into_sight(page: Page, site: Site) -> None:
    choose_model(page, "wide")
    names = site.rankers["wide"].model_.feature_names
    values = [[0.0] * 136, [1.0] * 136]
    body: dict[str, Any] = {"features": values}
    values[1][99] = "y"  # type: ignore[call-overload]
    paste(page, json.dumps(body))
    box = cell(page, names[99], "d2")
    assert box.get_attribute("aria-invalid") == "true"


def test_categories_go_by_their_values(page: Page) -> None:
    choose_model(page, "kinds")
    assert cell(page, "shop", "d1").input_value() in ("books", "7", "toys")
    cell(page, "shop", "d1").fill("7")  # a name, no number
    ready(page)
    assert not page.locator("#said.is-mistake").is_visible()


def test_the_address_holds_the_documents(page: Page, site: Site) -> None:
    paste(page, as_json(labels=LABELS, model="few"))
    page.locator(".rank-name").nth(1).click()
    page.get_by_label("Cutoff k").fill("2")
    ready(page)
    cell(page, "Name", "b").fill(EVIL)
    before = ranked(ready(page))
    assert EVIL in before
    page.reload()
    ready(page)
    assert ranked(page) == before
    assert table(page)[2].tolist() == ROWS
    assert page.get_by_label("Cutoff k").input_value() == "2"
    assert page.locator("#score .about b").inner_text() == before[1]
    assert page.locator("main img").count() == 0
    page.goto(f"{site.url}/#nonsense")
    page.reload()
    assert ranked(ready(page))[0].startswith("d")


def test_a_model_without_contributions_still_ranks(page: Page, site: Site) -> None:
    page.route(
        "**/explain", lambda route: route.fulfill(status=422, json={"error": "networks have none"})
    )
    cell(page, "bm25", "d1").fill("2")
    ready(page)
    assert page.locator("#said").inner_text() == "networks have none"
    assert page.locator(".sum table").count() == 0
    names, _, features = table(page)
    scores = site.rankers["few"].predict(features.astype(np.float32))
    assert ranked(page) == [names[row] for row in np.argsort(-scores, kind="stable")]


def test_a_busy_server_is_asked_again(page: Page, site: Site) -> None:
    calls: list[Route] = []

    def refuse_first(route: Route) -> None:
        calls.append(route)
        if len(calls) == 1:
            route.fulfill(status=503, json={"error": "64 requests are being answered already"})
        else:
            route.continue_()

    page.route("**/rank", refuse_first)
    cell(page, "bm25", "d1").fill("1.25")
    page.wait_for_selector("#said.is-mistake")
    page.wait_for_selector("#said:not(.is-mistake)")
    assert len(calls) == 2
    assert_ranked(page, site.rankers["few"])


@pytest.mark.slow  # the server looks for new models every second
def test_a_new_version_of_the_model_is_told(page: Page, site: Site) -> None:
    choose_model(page, "kinds")
    before = page.locator("#facts").inner_text()
    site.rankers["kinds"].set_params(n_estimators=3).fit(made_kinds()).save(site.folder / "kinds")
    for value in range(20):
        cell(page, "bm25", "d1").fill(str(value))
        ready(page)
        page.wait_for_timeout(250)
        if page.locator("#facts").inner_text() != before:
            break
    assert "3 trees" in page.locator("#facts").inner_text()


def test_it_fits(page: Page) -> None:
    """Nothing is wider than the screen, with a mistake and a long name."""
    cell(page, "Name", "d1").fill("a-very-long-name-of-a-document/" * 4)
    ready(page)
    cell(page, "bm25", "d2").fill("nothing")
    ready(page)
    assert page.locator(".mistake").is_visible()
    schemes: list[Literal["light", "dark"]] = ["light", "dark"]
    for width, scheme in itertools.product((1280, 700, 390), schemes):
        page.emulate_media(color_scheme=scheme)
        set_width(page, width)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    choose_model(page, "wide")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_theme_can_be_turned(page: Page) -> None:
    page.emulate_media(color_scheme="light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Dark theme").click()
    assert page.evaluate(ground) != light
    page.get_by_role("button", name="Light theme").click()
    assert page.evaluate(ground) == light


@pytest.mark.slow  # another server
def test_a_token_is_asked_for(browser: Browser, site: Site, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("open sesame\n")
    few = {"few": site.rankers["few"]}
    more = ("--token-file", str(tmp_path / "token"))
    with (
        served(tmp_path, few, *more) as closed,
        open_page(browser, inside=(*INSIDE, closed.url), refusals="a status of 401") as page,
    ):
        visit(page, closed)
        assert "a token is needed" in page.locator("#facts").inner_text()
        page.get_by_label("Token").fill("open sesame")
        page.get_by_role("button", name="Use it").click()
        page.wait_for_selector("li.rank-row")
        assert_ranked(ready(page), site.rankers["few"])
        assert page.get_by_label("Token").count() == 0
