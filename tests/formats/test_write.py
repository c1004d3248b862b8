"""Writing: every format reads back as it was, and nothing half-made is left behind."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from rankforce.data.ranking_data import RankingData
from rankforce.data.synthetic import make_data
from rankforce.formats.letor_text import read_text
from rankforce.formats.read import read
from rankforce.formats.write import write

pytest.importorskip("pyarrow")
sparse = pytest.importorskip("scipy.sparse")

BITS = np.random.default_rng(0).integers(0, 2**32, 40_000, dtype=np.uint64).astype(np.uint32)
ODD_IDS = ["plain", "with blank", "é日本#", 'quote"s, comma;', "docid=3", ""]


def hard_floats() -> np.ndarray:
    """Floats of all sizes and signs, the smallest and the largest, zeros and NaN."""
    values = BITS.view(np.float32)
    values = values[np.isfinite(values)][:36_000]
    limits = np.finfo(np.float32)
    special = [0, -0.0, np.nan, limits.max, -limits.max, limits.tiny, limits.smallest_subnormal]
    values[: len(special)] = special
    return values.reshape(-1, 6)


def hard_data(*, weight: bool = True) -> RankingData:
    X = hard_floats()
    rng = np.random.default_rng(1)
    return RankingData(
        X,
        rng.normal(size=len(X)),
        qid=np.sort(rng.integers(-5, 2**40, len(X))),
        doc_ids=[ODD_IDS[row % len(ODD_IDS)] for row in range(len(X))],
        weight=rng.uniform(size=len(X)) if weight else None,
        feature_names=["a", "b", "with, comma", 'q"uote', "é", "f.6"],
        sources={"clicks": np.where(rng.random(len(X)) < 0.5, np.nan, rng.random(len(X)))},
    )


def assert_same_floats(left, right) -> None:
    np.testing.assert_array_equal(left, right)
    known = ~np.isnan(right)
    np.testing.assert_array_equal(np.signbit(left)[known], np.signbit(right)[known])


@pytest.mark.parametrize("name", ["d.txt", "d.txt.gz", "d.txt.zst"])
def test_letor_reads_back(tmp_path, name):
    data = hard_data()
    assert write(data, tmp_path / name) == data.rows
    back = read_text(tmp_path / name)
    assert_same_floats(back.features, data.features)
    np.testing.assert_array_equal(back.labels, data.labels)
    np.testing.assert_array_equal(back.qid, data.qid)
    assert back.doc_ids.to_pylist() == data.doc_ids.tolist()


@pytest.mark.parametrize("name", ["d.parquet", "d.csv", "d.csv.gz", "d.csv.zst"])
def test_columns_read_back(tmp_path, name):
    data = hard_data()
    assert write(data, tmp_path / name) == data.rows
    back = read(tmp_path / name, **({"sources": ["clicks"]} if "csv" in name else {}))
    assert_same_floats(back.features, data.features)
    np.testing.assert_array_equal(back.labels, data.labels)
    np.testing.assert_array_equal(back.qid, data.qid)
    np.testing.assert_array_equal(back.weight, data.weight)
    np.testing.assert_array_equal(back.sources["clicks"], data.sources["clicks"])
    assert back.doc_ids.tolist() == data.doc_ids.tolist()
    assert back.feature_names == data.feature_names


@pytest.mark.parametrize("name", ["d.parquet", "d.csv"])
def test_ids_with_line_ends_read_back(tmp_path, name):
    ids = ["two\nlines", "a\r\nb", "tab\t", " blanks "]
    data = RankingData(np.eye(4), [0, 1, 2, 0], qid=["q 1", "q 1", "#", "ü"], doc_ids=ids)
    write(data, tmp_path / name)
    back = read(tmp_path / name)
    assert back.doc_ids.tolist() == ids
    assert back.qid.tolist() == ["q 1", "q 1", "#", "ü"]


@pytest.mark.parametrize("name", ["d.txt", "d.parquet", "d.csv"])
def test_blocks_are_one_file(tmp_path, name):
    data = make_data("mslr", queries=30)
    write(data, tmp_path / name)
    parts = (data.take_queries([q, q + 1, q + 2]) for q in range(0, 30, 3))
    assert write(parts, tmp_path / f"parts-{name}") == data.rows
    if name != "d.parquet":  # whose row groups differ
        assert (tmp_path / f"parts-{name}").read_bytes() == (tmp_path / name).read_bytes()
    else:
        back = read(tmp_path / "parts-d.parquet")
        np.testing.assert_array_equal(back.features, data.features)
        np.testing.assert_array_equal(back.qid, data.qid)


def test_letor_text_is_the_usual_one(tmp_path):
    X = [[0.1, 2, np.nan], [0, 1e-8, 3e20]]
    write(RankingData(X, [2, 0.5], qid=["a", "a"], doc_ids=["x", "y z"]), tmp_path / "d.txt")
    assert (tmp_path / "d.txt").read_text().splitlines() == [
        "2 qid:a 1:0.1 2:2 3:nan # docid = x",
        "0.5 qid:a 1:0 2:1e-8 3:3e+20 # y z",
    ]


def test_sparse_rows_are_written_as_they_are(tmp_path):
    X = sparse.csr_matrix(np.array([[0, 1.5, 0, 0], [0, 0, 0, 0], [2, 0, 3, 0]], np.float32))
    data = RankingData(X, [1, 0, 2], qid=[1, 1, 2])
    write(data, tmp_path / "d.txt")
    lines = (tmp_path / "d.txt").read_text().splitlines()
    assert lines == ["1 qid:1 2:1.5 4:0", "0 qid:1", "2 qid:2 1:2 3:3"]
    np.testing.assert_array_equal(read_text(tmp_path / "d.txt").features, X.toarray())
    write(data, tmp_path / "d.parquet")
    np.testing.assert_array_equal(read(tmp_path / "d.parquet").features, X.toarray())


def test_parquet_keeps_what_is_what(tmp_path):
    data = RankingData(
        [[0.0, 1], [1, 2]],
        qid=[1, 2],
        feature_names=["label", "qid"],
        categorical=[0],
        categories={0: ["red", "blue"]},
        sources={"qid_": [1.0, 2]},
    )
    write(data, tmp_path / "d.parquet")
    back = read(tmp_path / "d.parquet")
    assert back.feature_names == ["label", "qid"]
    assert back.categorical == [0]
    assert back.categories == {0: ["red", "blue"]}
    assert not back.has_labels
    assert list(back.sources) == ["qid_"]
    np.testing.assert_array_equal(back.features, data.features)


@pytest.mark.parametrize("name", ["d.txt", "d.parquet", "d.csv"])
def test_the_same_data_makes_the_same_bytes(tmp_path, name):
    data = make_data("yahoo", queries=5)
    names = [name, f"again-{name}"]
    for each in names:
        write(data, tmp_path / each)
    assert (tmp_path / names[0]).read_bytes() == (tmp_path / names[1]).read_bytes()


def test_gzip_is_gzip(tmp_path):
    write(RankingData([[1.0]], [1], qid=[1]), tmp_path / "d.gz", "letor")
    assert gzip.decompress((tmp_path / "d.gz").read_bytes()) == b"1 qid:1 1:1\n"


@pytest.mark.parametrize("name", ["d.txt", "d.txt.gz", "d.parquet", "d.csv", "d.csv.zst"])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"old")

    def blocks():
        yield make_data("mslr", queries=2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(blocks(), path)
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == [name]


def small(**options) -> RankingData:
    return RankingData([[1.0], [2.0]], [0, 1], **{"qid": ["a", "b"], **options})


@pytest.mark.parametrize(
    ("data", "name", "sentence"),
    [
        (small(qid=["a", "b c"]), "d.txt", "qid of row 1 is 'b c': LETOR text has no place"),
        (small(doc_ids=["a", "b\nc"]), "d.txt", r"document id of row 1 is 'b\\nc': LETOR"),
        (small(doc_ids=[" a", "b"]), "d.txt", "document id of row 0 is ' a': LETOR"),
        (small(doc_ids=["a", "b docid = c"]), "d.txt", "document id of row 1 is 'b docid = c'"),
        (small(), "d.xyz", r"d.xyz: the format of that name is unknown: choose one of letor, par"),
        (small(), "d.parquet.gz", "Parquet is compressed inside: expected a name without .gz"),
        (small(), "no/d.txt", "expected the name of a file in a folder that exists"),
        (small(feature_names=["qid"]), "d.csv", "feature 'qid' has the name of another column"),
        ([small(), small(feature_names=["z"])], "d.txt", "the block from row 2 has other features"),
        ([small(), small(doc_ids=["a", "b"])], "d.csv", "block of row 2 has other columns"),
        ([], "d.csv", "there is no block to write"),
    ],
)
def test_a_mistake_is_named_and_leaves_nothing(tmp_path, data, name, sentence):
    with pytest.raises(ValueError, match=sentence):
        write(data, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_named(tmp_path):
    with pytest.raises(
        ValueError, match="format 'xml' is unknown: choose one of letor, parquet, c"
    ):
        write(small(), tmp_path / "d.txt", "xml")
