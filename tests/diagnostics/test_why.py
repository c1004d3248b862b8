"""Why one document stands above another: against LightGBM, Shapley's formula, and by additivity."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rankforce as rf
from rankforce.data.binned import make_bins
from rankforce.diagnostics.why import Why
from rankforce.show.tables.text import width as text_width
from tests.reference import shapley

lightgbm = pytest.importorskip("lightgbm")

DATA = rf.make_data("mslr", queries=12, seed=3)
PARAMS: dict[str, Any] = {
    "n_estimators": 12,
    "num_leaves": 7,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "threads": 1,
    "progress": False,
}


def make_frame(rows: int = 400) -> tuple[pd.DataFrame, Any, Any]:
    """Numbers with gaps and categories with gaps, labels, and queries of 20 documents."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], rows).astype(object)
    colour[::9] = None
    frame = pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=rows) < 0.2, np.nan, rng.normal(size=rows)),
            "colour": pd.Categorical(colour, categories=["red", "green", "blue"]),
            "b": rng.normal(size=rows),
        }
    )
    raw = frame.a.fillna(1.0) + 2.0 * (frame.colour == "red") + 0.3 * rng.normal(size=rows)
    labels = np.digitize(raw, [0.0, 1.0, 2.0])
    return frame, labels, np.repeat(np.arange(rows // 20), 20)


FRAME, LABELS, QID = make_frame()
MIXED = rf.RankingData(FRAME, LABELS, qid=QID, doc_ids=[f"d{n}" for n in range(len(FRAME))])


@pytest.fixture(scope="module")
def ranker() -> rf.Ranker:
    return rf.Ranker(**PARAMS).fit(DATA)


@pytest.fixture(scope="module")
def mixed() -> rf.Ranker:
    return rf.Ranker(**PARAMS).fit(MIXED)


def total(found: Why) -> float:
    return math.fsum([*(one.difference for one in found.features), found.rest])


def by_feature(found: Why) -> dict[str, float]:
    return {one.feature: one.difference for one in found.features}


def test_differences_are_those_of_lightgbms_own_booster(tmp_path: Path) -> None:
    train = lightgbm.Dataset(DATA.features, DATA.labels, group=DATA.group)
    settings = {"objective": "lambdarank", "num_leaves": 7, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(settings, train, 10)
    booster.save_model(tmp_path / "model.txt")
    found = rf.why(rf.load(tmp_path / "model.txt"), DATA, query=2, pair=("#1", "#7"))
    rows = DATA.features[[found.first.row, found.second.row]]
    first, second = booster.predict(rows, pred_contrib=True)
    expected = dict(zip(booster.feature_name(), (first - second)[:-1], strict=True))
    assert by_feature(found) == pytest.approx(expected, abs=1e-12)
    scores = booster.predict(rows)
    assert found.difference == pytest.approx(scores[0] - scores[1], rel=1e-12)


def test_differences_are_those_of_shapleys_formula(mixed: rf.Ranker) -> None:
    found = rf.why(mixed, MIXED, query=3, pair=("#2", "#15"))
    rows = MIXED.features[[found.first.row, found.second.row]]
    first, second = shapley.contributions(mixed.booster_.dump_model(), 3, rows)
    expected = dict(zip(FRAME.columns, (first - second)[:-1], strict=True))
    assert by_feature(found) == pytest.approx(expected, abs=1e-9)


def linear() -> rf.Ranker:
    pytest.importorskip("torch")
    return rf.Ranker(model="linear", epochs=2, threads=1, progress=False).fit(DATA)


class Outside:
    """A base that is not made of trees."""

    def predict(self, features: Any) -> Any:
        return 0.01 * np.nan_to_num(np.asarray(features)[:, 0])


RUNS = {
    "trees": lambda: rf.Ranker(**PARAMS).fit(DATA),
    "committee": lambda: rf.Ranker(**PARAMS, members=2).fit(DATA),
    "stopped": lambda: rf.Ranker(**PARAMS | {"num_leaves": 63}).fit(
        DATA, eval_set=[rf.make_data("mslr", queries=8, seed=9)], early_stopping_rounds=2
    ),
    "on a base": lambda: rf.Ranker(**PARAMS, base=Outside()).fit(DATA),
    "linear": linear,
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("pair", [("#1", "#2"), ("#20", "#3"), ("#5", "#30")])
def test_features_add_up_to_the_difference_of_the_scores(run: str, pair: Any) -> None:
    ranker = made(run)
    found = rf.why(ranker, DATA, query=4, pair=pair)
    scores = ranker.predict(DATA)
    assert found.difference == scores[found.first.row] - scores[found.second.row]
    bound = max(abs(found.difference), *map(abs, scores[[found.first.row, found.second.row]]))
    # Networks have scores in float32.
    assert abs(total(found) - found.difference) <= (1e-6 if run == "linear" else 1e-9) * bound
    assert (found.rest != 0.0) == (run == "on a base")


_MADE: dict[str, rf.Ranker] = {}


def made(run: str) -> rf.Ranker:
    if run not in _MADE:
        _MADE[run] = RUNS[run]()
    return _MADE[run]


def test_scores_to_start_from_are_the_rest(mixed: rf.Ranker) -> None:
    start = np.linspace(0.0, 3.0, MIXED.rows)
    data = rf.RankingData(FRAME, LABELS, qid=QID, init_score=start)
    found = rf.why(mixed, data, query=0, pair=(0, 19))
    assert found.rest == pytest.approx(start[0] - start[19], rel=1e-9)
    assert total(found) == pytest.approx(found.difference, rel=1e-9)


def test_the_largest_difference_stands_first_with_values_as_users_know_them(
    mixed: rf.Ranker,
) -> None:
    found = rf.why(mixed, MIXED, query=1, pair=("#1", "#20"))
    sizes = [abs(one.difference) for one in found.features]
    assert sizes == sorted(sizes, reverse=True)
    assert {one.feature for one in found.features} == set(FRAME.columns)
    for one in found.features:
        for value, document in ((one.first, found.first), (one.second, found.second)):
            given = FRAME[one.feature].iloc[document.row]
            is_same = value is None if pd.isna(given) else value == given
            assert is_same or np.float32(value) == np.float32(given)
    assert {type(one.first) for one in found.features} <= {str, float, type(None)}


def test_documents_go_by_id_rank_or_row(mixed: rf.Ranker) -> None:
    best = mixed.rank(MIXED.take_queries([2]), top=2).row
    names = [f"d{40 + row}" for row in best]
    found = rf.why(mixed, MIXED, query=2, pair=names)
    assert (found.first.rank, found.second.rank) == (1, 2)
    assert [found.first.row, found.second.row] == (40 + best).tolist()
    assert rf.why(mixed, MIXED, query=2, pair=("#1", names[1])) == found
    bare = rf.RankingData(FRAME, LABELS, qid=QID)
    rows = [int(40 + row) for row in best]
    for pair in (rows, [str(row) for row in rows], [f"row {row}" for row in rows]):
        again = rf.why(mixed, bare, query=2, pair=pair)
        assert by_feature(again) == by_feature(found)
        assert again.first.doc_id is None


def test_one_query_needs_no_id(mixed: rf.Ranker) -> None:
    one = MIXED.take_queries([5])
    assert rf.why(mixed, one, pair=("#1", "#2")).query == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pair": ("d0", "d1")}, "there are 20 queries: give the id of one (0, 1, 2)"),
        ({"query": 77, "pair": ("d0", "d1")}, "no query '77' among 20: the closest are 7"),
        ({"query": 1, "pair": ("d21", "d222")}, "no document 'd222' among the 20 of query 1: "),
        ({"query": 1, "pair": ("d21", "d222")}, "the closest are d22"),
        ({"query": 1, "pair": ("#0", "d21")}, "no document '#0' among the 20 of query 1: "),
        ({"query": 1, "pair": ("#21", "d21")}, "or #1 to #20 by rank"),
        ({"query": 1, "pair": ("d21", "d21")}, "both documents of the pair are d21: give two"),
        ({"query": 1, "pair": "d21"}, "pair is 'd21': give two documents, as in ('d3', 'd9')"),
        ({"query": 1, "pair": ["d21"]}, "give two documents"),
    ],
)
def test_a_mistake_is_told(mixed: rf.Ranker, given: Any, message: str) -> None:
    with pytest.raises(rf.RankforceError) as caught:
        rf.why(mixed, MIXED, **given)
    assert message in str(caught.value)


def test_an_id_that_two_documents_have(mixed: rf.Ranker) -> None:
    data = rf.RankingData(FRAME[:3], LABELS[:3], group=[3], doc_ids=["x", "x", "y"])
    with pytest.raises(rf.RankforceError, match="query 0 has 'x' more than once: say #"):
        rf.why(mixed, data, pair=("x", "y"))


def test_what_is_no_ranker_or_no_data(mixed: rf.Ranker) -> None:
    with pytest.raises(
        rf.RankforceError, match=r"the model is a Booster: give a trained rf\.Ranker"
    ):
        rf.why(mixed.booster_, MIXED, query=1, pair=("#1", "#2"))
    with pytest.raises(rf.RankforceError, match="data is a DataFrame: give a RankingData"):
        rf.why(mixed, FRAME, pair=("#1", "#2"))  # type: ignore[arg-type]


def test_sparse_data_and_bins(ranker: rf.Ranker) -> None:
    dense = rf.why(ranker, DATA, query=4, pair=("#1", "#9"))
    kept = rf.RankingData(sparse.csr_matrix(DATA.features), DATA.labels, qid=DATA.qid)
    again = rf.why(ranker, kept, query=4, pair=("#1", "#9"))
    assert by_feature(again) == pytest.approx(by_feature(dense), abs=1e-12)
    binned = rf.RankingData(make_bins(DATA.features), DATA.labels, qid=DATA.qid)
    with pytest.raises(rf.RankforceError, match="the data has bins of features, and their values"):
        rf.why(ranker, binned, query=4, pair=("#1", "#9"))


def test_networks_that_have_no_contributions() -> None:
    pytest.importorskip("torch")
    network = rf.Ranker(model="mlp", hidden=[4], epochs=1, threads=1, progress=False).fit(DATA)
    with pytest.raises(rf.RankforceError, match="this one is 'mlp', whose scores are no sums"):
        rf.why(network, DATA, query=1, pair=("#1", "#2"))


def test_json_holds_all_of_it(mixed: rf.Ranker) -> None:
    found = rf.why(mixed, MIXED, query=1, pair=("#1", "#20"))
    record = json.loads(json.dumps(found.record(), allow_nan=False))
    assert record["query"] == 1
    assert record["first"]["doc_id"] == found.first.doc_id
    assert record["difference"] == found.difference
    assert [one["feature"] for one in record["features"]] == list(by_feature(found))
    summed = math.fsum(one["difference"] for one in record["features"]) + record["rest"]
    assert summed == pytest.approx(found.difference, rel=1e-9)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("columns", [40, 64, 80, 120])
def test_the_text_fits_the_terminal(ranker: rf.Ranker, columns: int, encoding: str) -> None:
    found = rf.why(ranker, DATA, query=4, pair=("#1", "#20"))
    text = found.table(columns, top=6, encoding=encoding)
    assert max(map(text_width, text.splitlines())) <= columns
    text.encode(encoding)
    used = [one for one in found.features if one.difference]
    lines = text.splitlines()
    shown = [line.split()[0] for line in lines[lines.index("") + 2 :]]
    assert shown == [*(one.feature for one in used[:6]), str(len(used) - 6), "together"]
    assert ("row" in lines[lines.index("") + 1]) or columns == 40


def test_bars_point_to_the_document_that_a_feature_lifts(ranker: rf.Ranker) -> None:
    found = rf.why(ranker, DATA, query=4, pair=("#20", "#1"))
    text = found.table(100, encoding="utf-8")
    assert f"stands {-found.difference:.3f} below" in text
    for line, one in zip(text.split("\n\n")[1].splitlines()[1:], found.features[:20], strict=False):
        left, right = line.split("│")
        assert ("█" in right or "▌" in right or "▏" in right) == (one.difference > 0.0)
        assert left[-1] in "█▐▕" or one.difference > 0.0
