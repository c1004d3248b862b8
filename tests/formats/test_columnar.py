"""Reading Parquet and CSV: which column is what, and where a file is wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from rankforce.common.notes import Note
from rankforce.formats import csv_text, parquet
from rankforce.formats.read import read
from rankforce.formats.roles import Asked

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NAN = float("nan")


def a_csv(tmp_path, text: str, name: str = "d.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_csv_of_any_separator(tmp_path, separator):
    text = "qid,label,f1,f2,doc_id\n1,2,0.5,,a\n1,0,-1e-3,nan,b\n2,1,7,3,c\n"
    data = read(a_csv(tmp_path, text.replace(",", separator)))
    np.testing.assert_array_equal(
        data.features, np.array([[0.5, NAN], [-1e-3, NAN], [7, 3]], np.float32)
    )
    assert data.labels.tolist() == [2, 0, 1]
    assert data.qid.tolist() == [1, 1, 2]
    assert data.feature_names == ["f1", "f2"]
    assert data.doc_ids.tolist() == ["a", "b", "c"]


def test_csv_with_a_byte_order_mark_crlf_quotes_and_blank_lines(tmp_path):
    text = '\ufeff"qid","label","f, 1"\r\n"a",1,"2"\r\n\r\n"b ""c""",0,3\r\n'
    data = read(a_csv(tmp_path, text))
    assert data.qid.tolist() == ["a", 'b "c"']
    assert data.feature_names == ["f, 1"]
    assert data.features.ravel().tolist() == [2, 3]


def test_csv_compressed_whatever_its_name(tmp_path):
    path = tmp_path / "d.csv"
    path.write_bytes(gzip.compress(b"qid,label,f\n1,1,2\n"))
    assert read(path).features.tolist() == [[2]]


@pytest.mark.parametrize("ids", [["7", "08"], ["7", "x"], ["1.5", "2"], ["9" * 30, "1"]])
def test_csv_query_ids_are_text_unless_all_are_whole(tmp_path, ids):
    rows = "".join(f"{qid},0,1\n" for qid in ids)
    assert read(a_csv(tmp_path, "qid,label,f\n" + rows)).qid.tolist() == ids


@pytest.mark.parametrize("block", [1 << 20, 1 << 12])
def test_csv_of_many_blocks(tmp_path, monkeypatch, block):
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", block)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 3)).astype(np.float32)
    lines = [f"{row // 9},{row % 3},{a!r},{b!r},{c!r}" for row, (a, b, c) in enumerate(X.tolist())]
    data = read(a_csv(tmp_path, "\n".join(["qid,label,a,b,c", *lines])))
    np.testing.assert_array_equal(data.features, X)
    np.testing.assert_array_equal(data.qid, np.arange(9000) // 9)


def test_csv_column_of_whole_numbers_may_turn_real(tmp_path):
    rows = "1,0,5\n" * 300_000 + "q,0.5,5.25\n"
    data = read(a_csv(tmp_path, "qid,label,f\n" + rows))
    assert (data.features[-1, 0], data.labels[-1], data.qid[-1]) == (5.25, 0.5, "q")


def test_usual_names_in_order_and_any_case(tmp_path):
    text = "Query_ID,Grade,y,URL,weight,title,yes\n1,2,9,u,0.5,some text,true\n1,0,8,v,1,,false\n"
    data = read(a_csv(tmp_path, text), ignore=["title"])
    assert data.feature_names == ["y", "yes"]
    assert data.features.tolist() == [[9, 1], [8, 0]]
    assert data.weight.tolist() == [0.5, 1]
    assert data.doc_ids.tolist() == ["u", "v"]


def test_names_that_are_given_come_first(tmp_path):
    path = a_csv(tmp_path, "qid,label,session,stars,clicks,f,g\n1,2,a,4,0.5,1,2\n1,0,b,3,,3,4\n")
    data = read(path, label="stars", qid="session", sources=["clicks"], features=["g"])
    assert data.labels.tolist() == [4, 3]
    assert data.qid.tolist() == ["a", "b"]
    np.testing.assert_array_equal(data.sources["clicks"], [0.5, NAN])
    assert data.features.tolist() == [[2], [4]]
    data = read(path, sources=["label"], label="stars", ignore=["session"])
    assert data.feature_names == ["clicks", "f", "g"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("qid,f\n1,2\n", r"no column for the label \(one of label, grade, .* it has 'qid', 'f'$"),
        ("label,f\n1,2\n", r"no column for the qid \(one of qid, .* it has 'label', 'f'$"),
        ("qid,label,f,f\n1,2,3,4\n", "column 'f' occurs twice"),
        ("", "is empty: expected a header line and rows"),
        ("qid,label,f\n", "holds no rows: expected one or more"),
        ("1,2,3\n1,2,3\n", "line 1: '1,2,3': expected names of columns"),
        ("qid,label,f\n1,2\n", "line 2: 2 cells, expected 3 as in the header"),
        ("qid,label,f\n1,2,3\n1,2,3,4\n", "line 3: 4 cells, expected 3 as in the header"),
        ("qid,label,f\n1,2,3\n1,x,3\n", "line 3, column 'label': 'x': expected a number"),
        ("qid,label,f\n1,2,3\n1,,3\n", "line 3, column 'label': '': expected a number"),
        ("qid,label,f\n1,2,3\n,0,3\n", "line 3, column 'qid': '': expected a query id"),
        ("qid,label,f\n1,2,3\n1,0,inf\n", "line 3, column 'f': 'inf': expected a number that fl"),
        ("qid,label,f\n1,2,3\n1,0,1e39\n", "line 3, column 'f': '1e39': expected a number that"),
    ],
)
def test_a_broken_csv_is_named(tmp_path, text, sentence):
    path = a_csv(tmp_path, text)
    with pytest.raises(ValueError, match=sentence) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_wrong_cell_far_down_is_named(tmp_path):
    text = 'qid,label,doc_id,f\n1,2,"two\nlines",3\n' + "1,2,d,3\n" * 400_000 + "1,2,d,x3\n"
    path = a_csv(tmp_path, text)
    with pytest.raises(ValueError, match=r"line 400004, column 'f': 'x3': expected a number$"):
        read(path)


@pytest.mark.parametrize("options", [{"label": "no"}, {"sources": ["no"]}, {"features": ["no"]}])
def test_a_column_that_is_not_there_is_named(tmp_path, options):
    with pytest.raises(ValueError, match=r"no column 'no' \(.*\): it has 'qid', 'label', 'f'$"):
        read(a_csv(tmp_path, "qid,label,f\n1,2,3\n"), **options)


@pytest.mark.parametrize("format", [csv_text, parquet])
def test_a_file_that_goes_away_is_named(tmp_path, format):
    with pytest.raises(ValueError, match=r"none.file: .*No such file"):
        format.read(tmp_path / "none.file", Asked())


def test_a_cut_off_gzip_is_named(tmp_path):
    whole = gzip.compress(b"qid,label,f\n" + b"".join(b"1,2,%d\n" % i for i in range(90_000)))
    path = a_csv(tmp_path, whole[: len(whole) // 2], "d.csv.gz")
    with pytest.raises(ValueError, match=r"d\.csv\.gz"):
        read(path)


def a_table(**columns):
    return pa.table({"qid": [1, 1, 2], "label": [0, 1, 2], **columns})


def test_parquet_of_others(tmp_path):
    path = tmp_path / "d.parquet"
    table = a_table(
        real=[0.1, None, 3.0],
        yes=[True, None, False],
        small=pa.array([1, 2, 3], pa.int8()),
        title=["text", "is", "left out"],
        colour=pa.array(["red", None, "blue"]).dictionary_encode(),
        url=["u", None, "w"],
    )
    pq.write_table(table, path, row_group_size=1)
    with pytest.warns(Note, match="'title' is text with 3 different values: left out"):
        data = read(path)
    assert data.feature_names == ["real", "yes", "small", "colour"]
    expected = np.array([[0.1, 1, 1, 0], [NAN, NAN, 2, NAN], [3, 0, 3, 1]], np.float32)
    np.testing.assert_array_equal(data.features, expected)
    assert data.categorical == [3]
    assert data.categories == {3: ["red", "blue"]}
    assert data.doc_ids.tolist() == ["u", "", "w"]
    assert data.qid.dtype == np.int64


def test_parquet_is_read_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "BATCH_VALUES", 1)
    X = np.random.default_rng(0).normal(size=(5000, 3))
    columns = {f"f{c}": X[:, c] for c in range(3)}
    words = [f"w{row % 7 + row // 1000}" for row in range(5000)]
    table = pa.table(
        {
            "label": np.zeros(5000),
            "qid": [f"q{row // 10}" for row in range(5000)],
            **columns,
            "word": pa.array(words).dictionary_encode(),
        }
    )
    pq.write_table(table, tmp_path / "d.parquet", row_group_size=1500)
    data = read(tmp_path / "d.parquet")
    np.testing.assert_array_equal(data.features[:, :3], X.astype(np.float32))
    codes = data.features[:, 3].astype(int)
    assert [data.categories[3][code] for code in codes] == words
    assert data.qid[-1] == "q499"


@pytest.mark.parametrize(
    ("columns", "options", "sentence"),
    [
        ({"f": [1.0, 2, np.inf]}, {}, "row 2, column 'f' is inf: expected a number that float32"),
        ({"f": [1.0, 1e39, 0]}, {}, r"row 1, column 'f' is 1e\+39: expected"),
        ({"f": [[1.0], [2], [3]]}, {"features": ["f"]}, "column 'f' holds list.* values: expected"),
        ({"s": ["a", "b", "c"]}, {"label": "s"}, "column 's' holds string values: expected num"),
        ({"q": ["a", None, "c"]}, {"qid": "q"}, "row 1, column 'q' is empty: every row needs"),
        ({"y": [1, None, 2]}, {"label": "y"}, "labels: row 1 is nan, expected finite numbers"),
        ({}, {"doc_id": "no"}, r"no column 'no' \(doc_id\): it has 'qid', 'label'"),
    ],
)
def test_a_broken_parquet_is_named(tmp_path, columns, options, sentence):
    path = tmp_path / "d.parquet"
    pq.write_table(a_table(**columns), path)
    with pytest.raises(ValueError, match=sentence) as caught:
        read(path, **options)
    assert str(caught.value).startswith(str(path))


def test_a_file_that_is_no_parquet_is_named(tmp_path):
    path = a_csv(tmp_path, "qid,label\n1,2\n")
    with pytest.raises(ValueError, match=r"d\.csv: cannot be read as Parquet: "):
        read(path, format="parquet")
