"""Columns beside the labels travel with the documents, whichever they are."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankforce as rf
from rankforce.data.columns import COLUMNS, Column
from rankforce.formats import convert
from rankforce.formats.write import write
from rankforce.training.eval_sets import is_training_set
from rankforce.training.resume import fingerprint

NAN = float("nan")
QID = ["b", "a", "b", "c", "a", "b"]  # places 0 2 5, 1 4, 3
GIVEN: dict[str, Any] = {
    "weight": [1, 2, 3, 4, 5, 6],
    "query_weight": [0.5, 2, 1],
    "init_score": [-1, 0, 2.5, 1e9, 0, 7],
    "positions": [1, 2, NAN, 1, 1, 10],
    "propensities": [1, 0.5, NAN, 1e-9, 0.25, 0.125],
    "sources": {"clicks": [0, NAN, 1, 2, 3, 4], "age": [9, 8, 7, 6, 5, 4]},
}


def small(**given: Any) -> rf.RankingData:
    return rf.RankingData(np.arange(6.0).reshape(-1, 1), [0, 1, 2, 0, 1, 0], qid=QID, **given)


def leaves(columns: dict[str, Any]) -> dict[str, Any]:
    """Columns, and sources by their own names, as lists."""
    flat = {k: v for k, v in columns.items() if k != "sources"} | columns["sources"]
    return {name: None if v is None else np.asarray(v).tolist() for name, v in flat.items()}


def test_the_example_has_every_column() -> None:
    assert list(GIVEN) == list(COLUMNS)
    assert all(column.what for column in COLUMNS.values())


@pytest.mark.parametrize("form", [list, np.asarray, pd.Series, pl.Series])
def test_columns_are_kept_as_numbers(form: Any) -> None:
    data = small(**{k: v if k == "sources" else form(np.array(v, float)) for k, v in GIVEN.items()})
    np.testing.assert_equal(leaves(data.beside), leaves(GIVEN))
    assert data.positions is not None
    assert data.positions.dtype == np.float64
    assert data.beside["sources"] is data.sources


def test_without_columns_there_are_none() -> None:
    assert small().beside == dict.fromkeys(COLUMNS) | {"sources": {}}


@pytest.mark.parametrize(
    "again",
    [
        copy.copy,
        copy.deepcopy,
        lambda data: pickle.loads(pickle.dumps(data)),
        lambda data: data.with_preferences([[0, 2]]),
        lambda data: data.with_missing(3.0),
        lambda data: data.like(data.schema._replace(names=["x"])),
    ],
    ids=["copy", "deepcopy", "pickle", "preferences", "missing", "like"],
)
def test_every_copy_keeps_them(again: Any) -> None:
    np.testing.assert_equal(leaves(again(small(**GIVEN)).beside), leaves(GIVEN))


@pytest.mark.parametrize(("queries", "rows"), [([1], [1, 4]), ([2, 0], [3, 0, 2, 5]), ([], [])])
def test_taken_queries_have_their_own(queries: list[int], rows: list[int]) -> None:
    taken = small(**GIVEN).take_queries(queries)
    expected = {
        name: [values[i] for i in (queries if name == "query_weight" else rows)]
        for name, values in leaves(GIVEN).items()
    }
    np.testing.assert_equal(leaves(taken.beside), expected)


def test_a_line_in_the_table_is_all_that_another_column_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(COLUMNS, "prices", Column("what a document costs", "prices are finite"))
    data = small(prices=[1, 2, 3, 4, 5, 6])
    assert data.take_queries([2, 1]).beside["prices"].tolist() == [4, 2, 5]
    with pytest.raises(rf.RankforceError, match=r"prices\[1\] is inf: prices are finite"):
        small(prices=[1, np.inf, 3, 4, 5, 6])


WRONG = {
    "short": ({"positions": [1]}, r"positions has shape \(1,\), expected one number for each of 6"),
    "of rows": ({"query_weight": [1] * 6}, r"query_weight has shape \(6,\), .* each of 3"),
    "rank 0": ({"positions": [1, 2, 0, 1, 1, 1]}, r"positions\[2\] is 0.0: positions are integers"),
    "half a rank": ({"positions": [1, 1.5, 1, 1, 1, 1]}, r"positions\[1\] is 1.5: positions are"),
    "no rank": ({"positions": [1, 1, 1, 1, 1, np.inf]}, r"positions\[5\] is inf: positions are"),
    "no chance": ({"propensities": [0] * 6}, r"propensities\[0\] is 0.0: propensities are above 0"),
    "too sure": ({"propensities": [1, 2, 1, 1, 1, 1]}, r"propensities\[1\] is 2.0: propensities"),
    "NaN score": ({"init_score": [NAN] * 6}, r"init_score\[0\] is nan: base scores must be one"),
    "negative weight": ({"weight": [-1] * 6}, r"weight\[0\] is -1.0: weights are numbers from 0"),
    "large weight": ({"query_weight": [1, 1, 1e16]}, r"query_weight\[2\] is 1e\+16: weights go up"),
    "text": ({"positions": [*"123456"]}, "positions holds text, as '1' in row 0: expected numbers"),
    "unknown": (
        {"position": [1] * 6},
        "unknown column 'position' beside the labels: one of",
    ),
}


@pytest.mark.parametrize(("given", "message"), WRONG.values(), ids=WRONG)
def test_columns_that_are_wrong(given: Any, message: str) -> None:
    with pytest.raises(rf.RankforceError, match=message):
        small(**given)


# Files.

OF_FILES = {name: values for name, values in GIVEN.items() if name != "query_weight"}


def test_parquet_keeps_them(tmp_path: Path) -> None:
    write(small(**OF_FILES), tmp_path / "a.parquet")
    data = rf.read(tmp_path / "a.parquet")
    assert data.feature_names == ["Column_0"]
    np.testing.assert_equal(leaves(data.beside), leaves(OF_FILES | {"query_weight": None}))


def test_features_of_the_same_name_stay(tmp_path: Path) -> None:
    data = rf.RankingData([[3.0]], [1], group=[1], feature_names=["positions"], positions=[2])
    write(data, tmp_path / "a.parquet")
    again = rf.read(tmp_path / "a.parquet")
    assert again.feature_names == ["positions"]
    assert again.features.tolist() == [[3.0]]
    assert again.beside["positions"].tolist() == [2.0]


def test_blocks_of_a_file_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankforce.formats.parquet.BATCH_VALUES", 1024)
    data = rf.make_data("yahoo", queries=100)
    ranks = np.arange(data.rows) % 7 + 1.0
    whole = rf.RankingData(
        data.features[:, :1], data.labels, qid=data.qid, positions=ranks, sources=data.sources
    )
    write(whole, tmp_path / "a.parquet")
    convert.convert(tmp_path / "a.parquet", tmp_path / "b.parquet", progress=False)
    again = rf.read(tmp_path / "b.parquet")
    assert again.rows > 1024
    np.testing.assert_equal(leaves(again.beside), leaves(whole.beside))


def test_what_text_has_no_place_for_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(small(**OF_FILES), tmp_path / "a.parquet")
    for name, rest in (("a.csv", ""), ("a.txt", "weights, ")):
        convert.convert(tmp_path / "a.parquet", tmp_path / name)
        said = capsys.readouterr().err
        assert f"has no place for {rest}init score, positions, propensities" in said
    assert rf.read(tmp_path / "a.csv", sources=["clicks", "age"]).feature_names == ["Column_0"]


def test_a_table_names_them(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": QID, "label": 1, "shown": GIVEN["positions"], "f": 2.5})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for data in (
        rf.RankingData.from_frame(frame, positions="shown"),
        rf.read(tmp_path / "a.csv", positions="shown"),
        rf.read(tmp_path / "a.parquet", positions="shown"),
    ):
        assert data.feature_names == ["f"]
        np.testing.assert_equal(data.beside["positions"], GIVEN["positions"])
    assert rf.read(tmp_path / "a.csv", positions=None).feature_names == ["shown", "f"]
    with pytest.raises(rf.RankforceError, match=r"no column 'rank' \(positions\): it has 'qid'"):
        rf.read(tmp_path / "a.csv", positions="rank")


def test_columns_of_rankforces_own_file_may_be_named_anew(tmp_path: Path) -> None:
    data = rf.RankingData([[3.0, 2.0]], [1], group=[1], feature_names=["f", "shown"], positions=[5])
    write(data, tmp_path / "a.parquet")
    again = rf.read(tmp_path / "a.parquet", positions="shown")
    assert again.feature_names == ["f"]
    assert again.beside["positions"].tolist() == [2.0]
    with pytest.raises(rf.RankforceError, match=r"no column 'rank' \(positions\)"):
        rf.read(tmp_path / "a.parquet", positions="rank")


def test_text_has_no_named_columns(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(rf.RankforceError, match="has no named columns: leave out positions"):
        rf.read(tmp_path / "a.txt", positions="shown")


# Training.

DATA = rf.make_data("yahoo", queries=60)
START = np.random.default_rng(0).normal(size=DATA.rows)
BASE = rf.RankingData(
    DATA.features,
    DATA.labels,
    qid=DATA.qid,
    feature_names=DATA.feature_names,
    sources=DATA.sources,
    init_score=START,
)
HOW: dict[str, Any] = {"n_estimators": 3, "num_leaves": 5, "progress": False, "threads": 1}


def test_data_bring_the_scores_to_start_from() -> None:
    valid = BASE.take_queries(np.arange(20))
    got = rf.Ranker(**HOW).fit(BASE, eval_set=[valid])
    expected = rf.Ranker(**HOW).fit(
        DATA,
        init_score=START,
        eval_set=[DATA.take_queries(np.arange(20))],
        eval_init_score=[START[: valid.rows]],
    )
    assert got.model_.text() == expected.model_.text()
    assert got.evals_result_ == expected.evals_result_
    assert got.model_.text() != rf.Ranker(**HOW).fit(DATA).model_.text()
    trees = expected.predict(DATA)
    assert np.array_equal(got.predict(BASE), trees + START)
    assert np.array_equal(got.predict(BASE, init_score=-START), trees - START)
    assert np.array_equal(got.predict(BASE.features), trees)
    later = [got.predict(data, start_iteration=1) for data in (BASE, DATA)]
    assert np.array_equal(*later)
    assert got.score(valid, metric="ndcg@10") == got.evals_result_["valid_0"]["ndcg@10"][-1]


def test_folds_start_where_their_data_say() -> None:
    result = rf.cv(HOW, BASE, folds=2)
    assert not np.array_equal(result.scores, rf.cv(HOW, DATA, folds=2).scores)
    assert np.corrcoef(result.scores, START)[0, 1] > 0.9


def test_diagnostics_start_there_too() -> None:
    ranker = rf.Ranker(**HOW).fit(BASE, callbacks=[recorder := rf.Recorder(k=5, every=1)])
    seen = rf.diagnose(ranker, BASE, k=5, every=1)
    kept = recorder.curves
    assert kept is not None
    assert seen.trees == kept.trees == [1, 2, 3]
    assert seen.series.keys() == kept.series.keys()
    elsewhere = rf.diagnose(ranker, DATA, k=5, every=1)
    for name, own in kept.series.items():
        for key, values in own.items():
            assert seen.series[name][key] == pytest.approx(values, rel=1e-5, nan_ok=True)
    assert elsewhere.series != seen.series


def test_another_column_is_other_data() -> None:
    plain = fingerprint(small(), None)
    marks = [fingerprint(small(positions=[rank] * 6), None) for rank in (1, 2)]
    assert marks[0] != marks[1]
    assert {k: v for k, v in marks[0].items() if k != "positions"} == plain
    assert is_training_set(small(positions=[1] * 6), small())
