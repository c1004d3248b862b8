"""The forces of one query: the numbers against the objectives, the text as a terminal shows it."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics.explain import Document, Explained, explain_several, show
from rankforce.show.tables.text import width as text_width
from tests import reference

OBJECTIVES = (
    "lambdarank-ndcg",
    "lambdamart-ex static",
    "lambdamart-ex random",
    "lambdagap-x+",
    "lambdarank(map)",
    "ranknet",
)


@pytest.fixture(scope="module")
def data() -> rf.RankingData:
    return rf.make_data("mslr", queries=12, seed=4)


@pytest.fixture(scope="module")
def scores(data: rf.RankingData) -> Any:
    """So close that a document gets pushed by most of those below it."""
    noise = np.random.default_rng(0).normal(size=data.rows)
    return (0.05 * data.labels + 0.2 * noise).round(3)


def first_of_paper(**more: Any) -> Explained:
    """Five documents, the best one second (Marcuzzi et al. 2023, Table 1)."""
    scores, labels = [0.04, 0.03, 0.02, 0.01, 0.0], [1, 2, 0, 0, 0]
    return rf.explain(rf.objective("lambdarank-ndcg", k=1), scores, labels, **more)


@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_forces_are_those_of_the_objective(data: Any, scores: Any, name: str, norm: str) -> None:
    objective = rf.objective(name, k=5)
    found = rf.explain(objective, scores, data, query=7, norm=norm, iteration=3)
    lam, _ = objective.gradients(scores, data, norm=norm, iteration=3)
    rows = np.flatnonzero(data.qid == 7)
    assert {one.row: one.force for one in found.documents} == dict(
        zip(rows.tolist(), lam[rows].tolist(), strict=True)
    )
    summed = np.zeros(data.rows)
    np.add.at(summed, found.pairs.hi, found.pairs.force)
    np.add.at(summed, found.pairs.lo, -found.pairs.force)
    np.testing.assert_allclose(summed[rows], lam[rows], atol=1e-4 * found.largest)
    assert found.largest > 0


def test_a_mix_is_explained_pair_by_pair(data: Any, scores: Any) -> None:
    mixed = 0.5 * rf.objective("ranknet") + rf.objective("lambdarank-ndcg", k=3)
    found = rf.explain(mixed, scores, data, query=2)
    lam, _ = mixed.gradients(scores, data)
    for one in found.documents:
        assert one.force == lam[one.row]
    assert found.objective == "0.5 RankNet + LambdaRank-NDCG@3"
    assert found.k == 3


def test_documents_stand_by_rank(data: Any, scores: Any) -> None:
    found = rf.explain("ranknet", scores, data, query=5)
    rows = np.flatnonzero(data.qid == 5)
    order = sorted(rows.tolist(), key=lambda row: (-scores[row], row))
    assert [one.row for one in found.documents] == order
    assert [one.rank for one in found.documents] == list(range(1, len(rows) + 1))
    assert [one.label for one in found.documents] == data.labels[order].tolist()
    assert [one.score for one in found.documents] == scores[order].tolist()


@pytest.mark.parametrize("missed", ["deficit", "label"])
@pytest.mark.parametrize("k", [1, 3, 10, 1000])
def test_false_and_missed_are_those_of_the_paper(
    data: Any, scores: Any, k: int, missed: str
) -> None:
    kinds = set()
    objective = rf.objective("lambdamart-ex all", k=k, missed=missed)
    for query in data.query_ids:
        found = rf.explain(objective, scores, data, query=query)
        labels = [one.label for one in found.documents]
        false, lacking = reference.false_and_missed(labels, k, missed)
        for one in found.documents:
            is_false, is_missed = one.rank - 1 in false, one.rank - 1 in lacking
            assert one.kind == ("false" if is_false else "missed" if is_missed else "")
            kinds.add(one.kind)
    assert kinds == ({"", "false", "missed"} if k < 1000 else {""})


@pytest.mark.parametrize("name", OBJECTIVES)
def test_violations_are_those_that_the_diagnostic_counts(data: Any, scores: Any, name: str) -> None:
    objective = rf.objective(name, k=5)
    counted = rf.diagnostics.incoherence(objective, scores, data).violations
    found = [rf.explain(objective, scores, data, query=q) for q in data.query_ids]
    assert [len(one.violations) for one in found] == counted.tolist()


def test_some_forces_are_not_coherent(data: Any, scores: Any) -> None:
    found = [rf.explain("lambdarank-ndcg", scores, data, query=q, k=5) for q in data.query_ids]
    worst = max(found, key=lambda one: len(one.violations))
    sizes = [one.size for one in worst.violations]
    assert len(sizes) > 1
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) > 0


def test_violations_are_said_in_words() -> None:
    found = first_of_paper(doc_ids=["a", "b", "c", "d", "e"])
    assert [(one.false.name, one.missed.name) for one in found.violations] == [("a", "b")]
    assert (
        "1 violation of coherence:\n"
        "- a (label 1, false top-1) is pushed up more than b (label 2, missed):\n"
        "  +0.1525 against +0.1236\n"
    ) in found.table(80)


@pytest.mark.parametrize(
    ("false", "missed", "words"),
    [
        (0.5, 0.25, "F (label 0, false top-1) is pushed up more than M (label 2, missed)"),
        (0.5, 0.0, "F (label 0, false top-1) is pushed up, M (label 2, missed) not at all"),
        (0.5, -0.25, "F (label 0, false top-1) is pushed up, M (label 2, missed) down"),
        (0.0, -0.25, "F (label 0, false top-1) is not pushed, M (label 2, missed) down"),
        (-0.5, -0.75, "F (label 0, false top-1) is pushed down less than M (label 2, missed)"),
        (-0.5, 0.5, "coherent: no false top-1 document is pushed up more than a missed one"),
    ],
)
def test_words_fit_the_forces(false: float, missed: float, words: str) -> None:
    documents = [
        Document(1, 0, "F", 0.0, 2.0, false, "false"),
        Document(2, 1, "M", 2.0, 1.0, missed, "missed"),
    ]
    found = first_of_paper()._replace(documents=documents)
    assert words in " ".join(found.table(200, pairs=0).split())


def test_a_good_ranking_misses_nothing() -> None:
    found = rf.explain("ranknet", [2.0, 1.0, 0.0], [2, 1, 0], k=2)
    assert found.violations == []
    assert "the top 2 are as good as can be: no document is missed" in found.table()


def test_by_label_a_document_can_be_missed_where_none_is_false() -> None:
    objective = rf.objective("lambdamart-ex static", k=2, missed="label")
    found = rf.explain(objective, [3.0, 2.0, 1.0], [2, 2, 3])
    assert [one.kind for one in found.documents] == ["", "", "missed"]
    assert "coherent: the ideal top 2 has every label of the top 2" in found.table()


def test_pairs_come_strongest_first(data: Any, scores: Any) -> None:
    found = rf.explain("lambdarank-ndcg", scores, data, query=3, k=5)
    every = found.strongest()
    forces = [pair.force for pair in every]
    assert forces == sorted(forces, reverse=True)
    assert math.isclose(sum(pair.share for pair in every), 1.0)
    assert all(pair.hi.label > pair.lo.label for pair in every)
    assert found.strongest(4) == every[:4]


def test_without_a_query_it_is_the_worst(data: Any, scores: Any) -> None:
    found = rf.explain("lambdarank-ndcg", scores, data, k=5)
    values = rf.evaluate(scores, data, "ndcg@5,p@5")
    worst = int(values.values[0].argmin())
    assert found.query == values.query_ids[worst]
    assert found.why == "the lowest NDCG@5 of 12 queries"
    assert found.metrics == {"NDCG@5": values.values[0, worst], "P@5": values.values[1, worst]}
    assert "it has the lowest NDCG@5 of 12 queries" in found.table()


def test_the_metric_that_the_objective_is_for_comes_along(data: Any, scores: Any) -> None:
    found = rf.explain(rf.objective("lambdarank(map)", k=4), scores, data, query=1)
    assert list(found.metrics) == ["NDCG@4", "P@4", "MAP@4"]
    for name, value in found.metrics.items():
        assert value == rf.metric(name)(scores, data)[0]


def test_queries_go_by_id_number_or_text() -> None:
    scores, labels = [0.1, 0.2, 0.3, 0.4], [1, 0, 0, 1]
    by_text = rf.explain("ranknet", scores, labels, qid=["b", "a", "b", "a"], query="a")
    assert [one.row for one in by_text.documents] == [3, 1]
    numbers = [7, 3, 7, 3]
    for query in (3, "3", 3.0, np.int64(3)):
        found = rf.explain("ranknet", scores, labels, qid=numbers, query=query)
        assert [one.row for one in found.documents] == [3, 1]
    by_size = rf.explain("ranknet", scores, labels, group=[1, 0, 3], query=2)
    assert [one.row for one in by_size.documents] == [3, 2, 1]
    empty = rf.explain("ranknet", scores, labels, group=[1, 0, 3], query=1)
    assert empty.documents == []
    assert empty.table().startswith("query 1: 0 documents\n")


@pytest.fixture(scope="module")
def ranker(data: Any) -> rf.Ranker:
    made = rf.Ranker("lambdarank-ndcg", k=3, n_estimators=4, norm="std", progress=False)
    return made.fit(data)


def test_a_model_says_what_is_left_open(data: Any, ranker: rf.Ranker) -> None:
    found = rf.explain(None, ranker, data, query=6)
    assert (found.objective, found.k, found.norm) == ("LambdaRank-NDCG@3", 3, "std")
    assert found.iteration == 4
    same = rf.objective("lambdarank-ndcg", k=3)
    scores = ranker.predict(data)
    assert found.documents == rf.explain(same, scores, data, query=6, norm="std").documents
    other = rf.explain("lambdagap-x", ranker, data, query=6, norm="none", iteration=0)
    assert (other.objective, other.k, other.norm) == ("LambdaGap-X@3", 3, "none")


def test_a_name_may_have_its_own_cutoff(data: Any, ranker: rf.Ranker) -> None:
    found = explain_several(["lambdarank(ndcg@7)", None], ranker, data, query=6)
    assert [one.objective for one in found] == ["lambdarank(ndcg@7)", "LambdaRank-NDCG@3"]


def test_any_model_with_predict_will_do(data: Any) -> None:
    class Sum:
        def predict(self, features: Any) -> Any:
            return np.nan_to_num(features).sum(axis=1)

    found = rf.explain("ranknet", Sum(), data, query=1)
    expected = Sum().predict(data.features)
    assert all(one.score == expected[one.row] for one in found.documents)
    with pytest.raises(ValueError, match="neither an objective nor a model that says its own"):
        rf.explain(None, Sum(), data)


def test_labels_that_are_not_known_show_as_such() -> None:
    labels = {"grade": [0, 1, 2], "click": [0.5, math.nan, 0.25]}
    found = rf.explain(rf.objective("ranknet", source="click"), [1, 2, 3], labels)
    assert [one.label for one in found.documents] == [0.25, -math.inf, 0.5]
    assert found.record()["documents"][1]["label"] is None
    assert "   2  row 1         ?  " in found.table()


def test_preferences_need_no_labels() -> None:
    data = rf.RankingData([[0.1], [0.4]], group=[2], preferences=[[1, 0]])
    found = rf.explain("preferences", [0.0, 0.0], data, query=0)
    assert [one.force for one in found.documents] == [-0.5, 0.5]
    assert found.metrics == {}
    with pytest.raises(ValueError, match="is not known without labels: give its id"):
        rf.explain("preferences", [0.0, 0.0], data)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "1"}, "no query '1' among 2: the closest are 10"),
        ({"query": "zebra"}, "no query 'zebra' among 2: there are such as 10, 2"),
        ({"k": 0}, "k is 0: it must be an integer from 1 up"),
        ({"doc_ids": ["a"]}, "doc_ids has 1 entries, but there are 3 rows"),
        ({"norm": "l2"}, "unknown norm 'l2'"),
        ({"scores": [1.0]}, r"scores have shape \(1,\), but there are 3 labels"),
        ({"scores": [1.0, math.nan, 0.0]}, "score of row 1 is nan|scores must be finite"),
        ({"objective": "lambdagap-x"}, "'LambdaGap-X' needs k"),
        ({"objective": "lambdagapx++++"}, "unknown objective"),
        ({"labels": []}, "there is no query to explain|shape"),
    ],
)
def test_a_mistake_says_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"objective": "ranknet", "scores": [3, 2, 1], "labels": [0, 1, 0]}
    given |= {"qid": [10, 10, 2]} | arguments
    if not given["labels"]:
        given |= {"scores": [], "qid": []}
    with pytest.raises(ValueError, match=message):
        rf.explain(**given)


def test_a_model_needs_its_features(ranker: rf.Ranker) -> None:
    with pytest.raises(ValueError, match="give a RankingData in place of labels"):
        rf.explain(None, ranker, [0, 1])


def test_a_record_survives_json(data: Any, scores: Any) -> None:
    found = rf.explain("lambdarank-ndcg", scores, data, query=3, k=5)
    record = json.loads(json.dumps(found.record(pairs=2), allow_nan=False))
    assert record["query"] == 3
    assert record["pair_count"] == len(found.pairs.force) > 2
    assert [pair["force"] for pair in record["pairs"]] == found.pairs.force[:2].tolist()
    assert [one["row"] for one in record["documents"]] == [one.row for one in found.documents]
    assert {two["missed"] for two in record["violations"]} == {
        two.missed.row for two in found.violations
    }


def lines_of(text: str) -> list[str]:
    return text.split("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("width", [48, 60, 80, 120, 200])
@pytest.mark.parametrize("count", [1, 2, 6])
def test_lines_fit_the_terminal(
    data: Any, scores: Any, width: int, encoding: str, count: int
) -> None:
    names = [f"https://example.org/{'順位' * (row % 5)}/{row}" for row in range(data.rows)]
    found = explain_several(OBJECTIVES[:count], scores, data, query=3, k=5, doc_ids=names)
    text = show(found, width=width, encoding=encoding)
    assert max(map(text_width, lines_of(text))) <= width
    text.encode(encoding)
    for one in found:
        assert one.objective in " ".join(text.split())
    assert text.count("── top 5 " if encoding == "utf-8" else "-- top 5 ") >= 1
    assert not any(line != line.rstrip() for line in lines_of(text))


def test_bars_are_as_long_as_forces() -> None:
    found = rf.explain("ranknet", [0.0, 0.0, 0.0], [2, 1, 0])  # forces 1, 0, -1
    assert [one.force for one in found.documents] == [1.0, 0.0, -1.0]
    up, none, down = (
        line
        for line in lines_of(found.table(80, encoding="utf-8"))
        if "│" in line and "row" in line
    )
    half = up.count("█")
    assert half > 10
    assert down.count("█") == half
    assert "█" not in none
    assert up.index("│") == down.index("│") == none.index("│")
    assert up.index("█") > up.index("│")
    assert down.index("█") < down.index("│")


def test_the_missed_document_of_a_violation_is_shown_however_low() -> None:
    labels = np.zeros(200)
    labels[[3, 150, 180]] = [2, 1, 3]
    scores = -np.arange(200.0) / 100
    found = rf.explain("lambdarank-ndcg", scores, labels, k=1)._replace(k=1)
    text = found.table(80, top=8, pairs=0)
    assert sum("row" in line for line in lines_of(text)) == 8
    assert "row 180" in text
    assert "more documents" in text


def test_top_and_pairs_limit_what_is_shown(data: Any, scores: Any) -> None:
    found = rf.explain("ranknet", scores, data, query=3)
    text = found.table(100, top=4, pairs=0)
    assert sum("row " in line for line in lines_of(text)) == 4
    assert "pairs that contribute" not in text
    text = found.table(100, top=1, pairs=3)
    assert "the 3 of " in text
    assert len(lines_of(text.split("of all force\n")[1])) == 1 + 3
    for wrong in ({"top": 0}, {"pairs": -1}, {"width": 0}):
        with pytest.raises(ValueError, match="it must be an integer"):
            found.table(**wrong)
    with pytest.raises(ValueError, match="unknown encoding 'klingon'"):
        found.table(encoding="klingon")


def test_names_from_data_do_not_move_the_cursor() -> None:
    names = ["\x1b[2J\nd", "a\tb", "<script>"]
    text = rf.explain("ranknet", [2, 1, 0], [0, 0, 1], doc_ids=names).table(encoding="utf-8")
    assert "\x1b" not in text
    assert "?[2J?d" in text
    assert "a?b" in text
    assert "<script>" in text


def test_forces_of_zero_draw_nothing() -> None:
    found = rf.explain("ranknet", [1.0, 0.0], [0, 0])
    assert found.largest == 0.0
    assert found.strongest() == []
    text = found.table(80, encoding="utf-8")
    assert "0 pairs" in text
    assert not {"█", "▏", "▕"} & {*text}


def test_objectives_stand_side_by_side(data: Any, scores: Any) -> None:
    found = explain_several(OBJECTIVES[:3], scores, data, query=3, k=5)
    assert [one.documents[0].row for one in found] == [found[0].documents[0].row] * 3
    text = show(found, width=160, pairs=1, encoding="utf-8")
    (header,) = (line for line in lines_of(text) if "A LambdaRank-NDCG@5 " in line)
    assert "B LambdaMART-eX static@5" in header
    assert header.index("C Lambda") > header.index("B Lambda") > header.index("A Lambda")
    first = next(line for line in lines_of(text) if line.startswith("   1  "))
    assert first.count("│") == 3
    for one in found:
        assert f"{one.documents[0].force:+.4f}"[:6] in first
    for letter in "ABC":
        assert f"\n{letter}  the 1 of " in text
    with pytest.raises(ValueError, match="there is no objective to explain"):
        explain_several([], scores, data)
