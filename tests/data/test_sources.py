"""Features in memory, sparse, or in a file: whatever reads them gets the same numbers."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import rankforce as rf
from rankforce.data.sources import (
    Source,
    as_source,
    entries,
    in_memory,
    mark_missing,
    pieces,
    take_columns,
    take_rows,
    to_dense,
)
from rankforce.data.stored import StoredColumns
from rankforce.formats.write import write
from rankforce.training.resume import fingerprint

DATA = rf.make_data("yahoo", queries=60)
X = np.ascontiguousarray(DATA.features[:, :40])
NAMES = [f"f{column}" for column in range(X.shape[1])]
GROUP = 101  # rows of a group of the file, which ends within queries
RANKER = rf.Ranker(n_estimators=5, num_leaves=6, min_child_samples=5, progress=False, threads=1)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("stored") / "features.parquet"
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    pq.write_table(table, file, row_group_size=GROUP)
    return file


@pytest.fixture(scope="module", params=["dense", "sparse", "mapped", "stored"])
def features(request: pytest.FixtureRequest, path: Path) -> Any:
    if request.param == "sparse":
        return sp.csr_matrix(X)
    if request.param == "mapped":
        np.save(path.with_suffix(".npy"), X)
        return np.load(path.with_suffix(".npy"), mmap_mode="r")
    return X if request.param == "dense" else StoredColumns(path)


@pytest.fixture(scope="module")
def stored(path: Path) -> rf.RankingData:
    return rf.RankingData(StoredColumns(path), DATA.labels, qid=DATA.qid)


@pytest.fixture(scope="module")
def whole() -> rf.RankingData:
    return rf.RankingData(X, DATA.labels, qid=DATA.qid, feature_names=NAMES)


@pytest.fixture(scope="module")
def fitted(whole: rf.RankingData) -> rf.Ranker:
    return RANKER.fit(whole)


# The protocol.


@pytest.mark.parametrize("rows", [None, 1, 37, GROUP, 10**6])
def test_blocks_are_the_rows_in_order(features: Any, rows: int | None) -> None:
    source = as_source(features)
    assert isinstance(source, Source)
    assert tuple(source.shape) == X.shape
    end = 0
    for first, block in source.blocks(rows):
        assert first == end
        assert block.dtype == np.float32
        assert block.flags.c_contiguous
        assert rows is None or len(block) <= rows
        np.testing.assert_array_equal(block, X[first : first + len(block)])
        end += len(block)
    assert end == len(X)


@pytest.mark.parametrize(
    "rows",
    [
        slice(0),
        slice(90, 220),
        slice(None, None, 7),
        np.array([5, 5, 300, 0, 299, 5]),
        np.arange(len(X))[::-1],
        np.empty(0, np.int64),
    ],
    ids=["none", "slice", "steps", "any order", "backwards", "empty"],
)
def test_some_rows(features: Any, rows: Any) -> None:
    found = as_source(features).take(rows)
    np.testing.assert_array_equal(to_dense(found), X[rows])
    assert found.dtype == np.float32


def test_sparse_rows_stay_sparse_and_dense_ones_are_not_copied() -> None:
    assert sp.issparse(as_source(sp.csr_matrix(X)).take(slice(3)))
    assert next(as_source(X).blocks())[1] is X
    assert next(pieces(sp.csr_matrix(X), 5))[1].shape == (5, X.shape[1])
    assert in_memory(X) is X


def test_no_rows_are_one_empty_block(path: Path, tmp_path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 0), tmp_path / "empty.parquet")
    none = take_rows(StoredColumns(path), np.empty(0, np.int64))
    for empty in (X[:0], sp.csr_matrix(X[:0]), StoredColumns(tmp_path / "empty.parquet"), none):
        assert [(first, block.shape) for first, block in as_source(empty).blocks()] == [
            (0, (0, X.shape[1]))
        ]


COLUMNS = np.array([3, -1, 0, 39])


def moved(codes: bool) -> np.ndarray:
    values = X[:, COLUMNS] * [1, 0, 1, 1]
    if codes:
        values[:, 1] = 9.0
    return values.astype(np.float32)


@pytest.mark.parametrize("codes", [False, True])
def test_columns_in_another_order(features: Any, codes: bool) -> None:
    """Column 1 is zero throughout: its code 0 becomes 9."""
    tables = {1: np.array([9.0, np.nan])} if codes else None
    found = take_columns(features, COLUMNS, tables)
    assert found.shape == (len(X), 4)
    np.testing.assert_array_equal(to_dense(in_memory(found)), moved(codes))
    some = take_rows(found, np.array([200, 3]))
    np.testing.assert_array_equal(to_dense(in_memory(some)), moved(codes)[[200, 3]])


def test_views_of_views(path: Path) -> None:
    rows = np.arange(len(X))[::-3]
    value = X[rows[40], 0]
    assert value
    view = take_rows(take_columns(mark_missing(StoredColumns(path), value), COLUMNS), rows)
    view = take_rows(view, np.arange(50, 20, -1))
    expected = moved(False)[rows][50:20:-1]
    expected[expected == value] = np.nan
    np.testing.assert_array_equal(in_memory(view), expected)
    assert [first for first, _ in view.blocks(20)] == [0, 20]


def test_a_value_that_stands_for_missing(features: Any) -> None:
    value = float(X[0, np.flatnonzero(X[0])[0]])
    found = to_dense(in_memory(mark_missing(features, value)))
    np.testing.assert_array_equal(found, np.where(np.float32(value) == X, np.nan, X))
    assert not np.isnan(to_dense(as_source(features).take(slice(1)))).any()


def test_entries_of_rows() -> None:
    values, columns, ends = entries(sp.csr_matrix([[0, 5, 0], [0, 0, 0], [6, 0, 7]])[1:])
    assert [values.tolist(), columns.tolist(), ends.tolist()] == [[6, 7], [0, 2], [0, 0, 2]]
    assert entries(np.zeros((3, 0), np.float32))[2].tolist() == [0, 0, 0, 0]
    assert entries(X[:2])[2].tolist() == [0, 40, 80]


# A file that is larger than what is read of it.


def damaged(path: Path, folder: Path, group: int) -> Path:
    """A copy of the file in which one group of rows cannot be read."""
    facts = pq.read_metadata(path).row_group(group).column(0)
    start = facts.dictionary_page_offset or facts.data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + facts.total_compressed_size] = b"\xff" * facts.total_compressed_size
    copy = folder / "damaged.parquet"
    copy.write_bytes(content)
    return copy


def test_only_groups_with_wanted_rows_are_read(path: Path, tmp_path: Path) -> None:
    source = StoredColumns(damaged(path, tmp_path, 1))
    rows = np.array([2 * GROUP + 3, 0, GROUP - 1, 2 * GROUP])
    np.testing.assert_array_equal(source.take(rows), X[rows])
    assert next(source.blocks(GROUP))[0] == 0
    with pytest.raises(rf.RankforceError, match=r"damaged\.parquet: "):
        source.take([GROUP])


def test_columns_that_are_not_wanted_are_not_read(path: Path, tmp_path: Path) -> None:
    source = StoredColumns(damaged(path, tmp_path, 0), NAMES[1:3])
    np.testing.assert_array_equal(in_memory(source), X[:, 1:3])


def test_a_source_can_go_to_another_process(path: Path) -> None:
    again = pickle.loads(pickle.dumps(StoredColumns(path, NAMES[:2])))
    np.testing.assert_array_equal(again.take(slice(5)), X[:5, :2])


@pytest.mark.parametrize(
    ("table", "names", "message"),
    [
        ({"a": [1.0]}, ["b"], r"t.parquet: no column 'b': it has 'a'$"),
        ({"a": ["x"]}, None, r"t.parquet: column 'a' holds string values: expected numbers"),
        ({"a": [1.0, 1e300]}, None, r"t.parquet: row 1, column 'a' is 1e\+300: expected a number"),
    ],
)
def test_columns_that_are_no_features(tmp_path: Path, table: Any, names: Any, message: str) -> None:
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    with pytest.raises(rf.RankforceError, match=message):
        in_memory(StoredColumns(tmp_path / "t.parquet", names))


def test_categories_and_files_that_are_none(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array(["x"]).dictionary_encode()}), tmp_path / "t.parquet")
    with pytest.raises(rf.RankforceError, match="column 'a' holds categories: expected numbers"):
        StoredColumns(tmp_path / "t.parquet").take([0])
    (tmp_path / "no.parquet").write_text("1 qid:1 1:2\n")
    for name in ("no.parquet", "nowhere.parquet"):
        with pytest.raises(rf.RankforceError, match=f"{name}: .*(No such|Parquet)"):
            StoredColumns(tmp_path / name)


# Data of it.


def test_data_know_their_names(stored: rf.RankingData) -> None:
    assert stored.feature_names == NAMES
    assert repr(stored) == f"RankingData({len(X)} rows, 60 queries, 40 features)"


def test_scores_are_the_same(
    fitted: rf.Ranker, stored: rf.RankingData, whole: rf.RankingData
) -> None:
    expected = fitted.predict(whole)
    assert np.array_equal(fitted.predict(stored), expected)
    assert np.array_equal(fitted.predict(stored.features), expected)
    for how in ({"pred_leaf": True}, {"pred_contrib": True}, {"start_iteration": 2}):
        assert np.array_equal(fitted.predict(stored, **how), fitted.predict(whole, **how))
    assert fitted.score(stored) == fitted.score(whole)


def test_columns_go_by_name(
    fitted: rf.Ranker, whole: rf.RankingData, path: Path, tmp_path: Path
) -> None:
    back = StoredColumns(path, NAMES[::-1])
    assert np.array_equal(fitted.predict(back), fitted.predict(whole))
    assert np.array_equal(
        fitted.predict(rf.RankingData(back, DATA.labels, qid=DATA.qid)), fitted.predict(whole)
    )
    with pytest.raises(rf.RankforceError, match="lacks the feature 'f39'"):
        fitted.predict(StoredColumns(path, NAMES[:39]))


def test_a_file_is_never_read_whole(
    fitted: rf.Ranker, stored: rf.RankingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of blocks that are small, none that is read or made has more rows."""
    monkeypatch.setattr("rankforce.data.sources.BLOCK", 50 * X.shape[1])
    largest = 0
    read = StoredColumns._read

    def watched(self: StoredColumns, *given: Any) -> Any:
        nonlocal largest
        for first, block in read(self, *given):
            largest = max(largest, len(block))
            yield first, block

    monkeypatch.setattr(StoredColumns, "_read", watched)
    some = stored.take_queries(np.arange(0, 60, 2))
    expected = fitted.predict(rf.RankingData(X, DATA.labels, qid=DATA.qid, feature_names=NAMES))
    assert np.array_equal(fitted.predict(stored), expected)
    assert np.array_equal(fitted.predict(some), expected[np.isin(DATA.qid, some.qid)])
    assert largest == 50


def test_folds_evaluation_and_outside_models(
    fitted: rf.Ranker, stored: rf.RankingData, whole: rf.RankingData
) -> None:
    class Plain:
        def predict(self, X: Any) -> Any:
            return np.asarray(X).sum(axis=1)

    for system in (fitted, Plain()):
        assert rf.evaluate(system, stored).means == rf.evaluate(system, whole).means
    how = {"n_estimators": 2, "num_leaves": 4, "progress": False}
    assert np.array_equal(
        rf.cv(how, stored, folds=3).scores,
        rf.cv(how, whole, folds=3).scores,
    )


def test_training_loads_it(stored: rf.RankingData, whole: rf.RankingData) -> None:
    from sklearn.base import clone

    expected = clone(RANKER).fit(whole, eval_set=[whole.take_queries(range(20))])
    got = clone(RANKER).fit(stored, eval_set=[stored.take_queries(range(20))])
    assert got.model_.text() == expected.model_.text()
    assert got.evals_result_ == expected.evals_result_
    assert got.model_.data == expected.model_.data
    missing = {"missing": float(X[0, np.flatnonzero(X[0])[0]])}
    text = [clone(RANKER).set_params(**missing).fit(d).model_.text() for d in (stored, whole)]
    assert text[0] == text[1]
    assert text[0] != got.model_.text()


def test_fingerprints_do_not_tell_how_features_are_kept(
    features: Any, whole: rf.RankingData
) -> None:
    data = rf.RankingData(features, DATA.labels, qid=DATA.qid)
    assert fingerprint(data, None) == fingerprint(whole, None)


@pytest.mark.parametrize("name", ["a.txt", "a.parquet", "a.csv"])
def test_writing_goes_block_by_block(
    stored: rf.RankingData, whole: rf.RankingData, tmp_path: Path, name: str
) -> None:
    (tmp_path / "b").mkdir()
    assert write(stored, tmp_path / name) == write(whole, tmp_path / "b" / name) == len(X)
    found, expected = rf.read(tmp_path / name), rf.read(tmp_path / "b" / name)
    assert np.array_equal(found.features, expected.features)
    assert np.array_equal(found.features, X)
    if name != "a.parquet":  # whose groups of rows are those of the blocks
        assert (tmp_path / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_codes_that_a_model_knows(path: Path) -> None:
    """Categories of a sparse matrix, or a source, change their codes with the schema."""
    codes = np.array([[0.0], [1], [np.nan], [1]], np.float32)
    pq.write_table(pa.table({"c": codes[:, 0]}), path.with_name("codes.parquet"))
    for X in (sp.csr_matrix(codes), StoredColumns(path.with_name("codes.parquet"))):
        data = rf.RankingData(X, [0, 1, 0, 1], group=[4], categories={0: ["red", "blue"]})
        data.feature_names = ["c"]
        other = data.schema._replace(categories={0: ["green", "blue", "red"]})
        found = to_dense(in_memory(data.like(other).features))
        np.testing.assert_array_equal(found[:, 0], [2, 1, np.nan, 1])
