"""A folder of files is one data set whose features stay there; a folder that is wrong is named."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.data import sources
from rankforce.data.shards import Shards
from rankforce.data.sources import in_memory
from rankforce.formats import read as reading
from rankforce.formats.convert import convert
from rankforce.formats.folder import find_shards
from rankforce.formats.write import write
from rankforce.training.resume import fingerprint

ENDINGS = ["parquet", "txt", "txt.gz", "letor.zst", "csv", "csv.gz"]
SHARDS = 12
made = rf.make_data("yahoo", queries=36)
WHOLE = rf.RankingData(
    np.ascontiguousarray(made.features[:, :20]),
    made.labels,
    qid=made.qid + 100,
    doc_ids=[f"d{row}" for row in range(made.rows)],
    feature_names=[f"f{column}" for column in range(20)],
)
RANKER = rf.Ranker(n_estimators=4, num_leaves=5, progress=False, threads=1).fit(WHOLE)


def shards(folder: Path, ending: str, data: rf.RankingData = WHOLE) -> Path:
    folder.mkdir(exist_ok=True)
    for number, queries in enumerate(np.array_split(np.arange(len(data.sizes)), SHARDS)):
        write(data.take_queries(queries), folder / f"part.{number}.{ending}")
    return folder


@pytest.fixture(scope="module", params=ENDINGS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = shards(tmp_path_factory.mktemp("folder") / "data", request.param)
    for name in ("_SUCCESS", "_metadata", ".part.0.crc"):
        (place / name).write_text("what Spark leaves")
    return place


def refused(sentence: str) -> Any:
    return pytest.raises(rf.RankforceError, match=sentence)


# What is read.


def test_all_rows_in_the_order_of_the_numbers(folder: Path) -> None:
    data = rf.read(folder)
    assert isinstance(data.features, Shards)
    assert np.array_equal(in_memory(data.features), WHOLE.features)
    assert np.array_equal(data.labels, WHOLE.labels)
    assert np.array_equal(data.qid, WHOLE.qid)
    assert data.qid.dtype == np.int64
    assert data.doc_ids is None
    kept = rf.read(folder, needs=("label", "qid", "doc_id"))
    assert kept.doc_ids is not None
    assert kept.doc_ids.tolist() == WHOLE.doc_ids.tolist()
    assert data.origin == {"file": str(folder)}


@pytest.mark.parametrize("rows", [None, 1, 50, 10**6])
def test_blocks_have_the_size_that_is_asked_for(folder: Path, rows: int | None) -> None:
    blocks = list(rf.read(folder).features.blocks(rows))
    assert np.array_equal(np.concatenate([block for _, block in blocks]), WHOLE.features)
    sizes = [len(block) for _, block in blocks]
    assert [first for first, _ in blocks] == np.cumsum([0, *sizes[:-1]]).tolist()
    assert rows is None or set(sizes[:-1]) <= {rows}


def test_rows_in_any_order(folder: Path) -> None:
    rows = np.array([700, 3, 5, 5, 200, 699])
    features = pickle.loads(pickle.dumps(rf.read(folder).features))
    assert np.array_equal(features.take(rows), WHOLE.features[rows])
    assert np.array_equal(features.take(slice(40, 90)), WHOLE.features[40:90])


def test_only_shards_with_a_row_are_read(tmp_path: Path) -> None:
    features = rf.read(shards(tmp_path, "parquet")).features
    for number in range(1, SHARDS):
        (tmp_path / f"part.{number}.parquet").unlink()
    assert np.array_equal(features.take([2, 0]), WHOLE.features[[2, 0]])
    with refused(r"part\.11\.parquet cannot be read: No such file"):
        features.take([0, WHOLE.rows - 1])


def test_what_reads_blocks_does_not_care(folder: Path) -> None:
    data = rf.read(folder)
    assert np.array_equal(RANKER.predict(data), RANKER.predict(WHOLE))
    assert np.array_equal(RANKER.rank(data, top=3).row, RANKER.rank(WHOLE, top=3).row)
    assert rf.evaluate(RANKER, data).means == rf.evaluate(RANKER, WHOLE).means
    assert RANKER.score(data) == RANKER.score(WHOLE)
    names = data.feature_names[::-1]
    turned = rf.RankingData(WHOLE.features[:, ::-1], qid=WHOLE.qid, feature_names=names)
    assert np.array_equal(in_memory(data.like(turned.schema).features), turned.features)
    marked = in_memory(data.with_missing(0.0).features)
    assert np.array_equal(marked, WHOLE.with_missing(0.0).features, equal_nan=True)


@pytest.mark.parametrize("queries", [[7], [30, 1], np.arange(0, 36, 2)])
def test_some_queries(folder: Path, queries: Any) -> None:
    taken, wanted = rf.read(folder).take_queries(queries), WHOLE.take_queries(queries)
    assert np.array_equal(in_memory(taken.features), wanted.features)
    small = [block for _, block in taken.features.blocks(10)]
    assert np.array_equal(np.concatenate(small), wanted.features)
    assert np.array_equal(taken.labels, wanted.labels)


def test_every_place_to_keep_features(folder: Path) -> None:
    assert isinstance(rf.read(folder, keep="memory").features, np.ndarray)
    single = next(file for file in folder.iterdir() if file.name.startswith("part.0."))
    on_disk, inside = rf.read(single, keep="disk"), rf.read(single)
    assert isinstance(on_disk.features, Shards)
    assert isinstance(inside.features, np.ndarray)
    assert np.array_equal(in_memory(on_disk.features), inside.features)
    assert on_disk.doc_ids.tolist() == inside.doc_ids.tolist()
    with refused("keep is 'ram': choose 'memory' or 'disk'"):
        rf.read(folder, keep="ram")


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_would_fill_the_memory_stays_on_disk(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"a.{ending}"
    write(WHOLE, path)
    matrix = WHOLE.features.nbytes
    monkeypatch.setattr(reading, "available_memory", lambda: matrix)
    with pytest.warns(Note, match=r"rows x .* take .* more than half .* stay on disk"):
        assert isinstance(rf.read(path).features, Shards)
    monkeypatch.setattr(reading, "available_memory", lambda: 4 * matrix)
    assert isinstance(rf.read(path).features, np.ndarray)


def test_one_file_from_a_folder(folder: Path, tmp_path: Path) -> None:
    whole, joined = tmp_path / "whole.txt", tmp_path / "joined.txt"
    write(WHOLE, whole)
    assert convert(folder, joined) == WHOLE.rows
    assert joined.read_bytes() == whole.read_bytes()
    convert(folder, tmp_path / "a.qrels")
    assert (tmp_path / "a.qrels").read_text().startswith("101 0 d0 ")


# What text and columns have beside.


def test_text_is_as_wide_as_its_widest_shard(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:1 2:3\n")
    (tmp_path / "b.txt").write_text("1 qid:x 0:7 3:4 # D\n")
    data = rf.read(tmp_path, needs=("label", "qid", "doc_id"))
    assert in_memory(data.features).tolist() == [[0, 2, 0, 0], [0, 0, 3, 0], [7, 0, 0, 4]]
    assert data.feature_names == ["0", "1", "2", "3"]
    assert data.qid.tolist() == ["1", "1", "x"]
    assert data.doc_ids.tolist() == ["", "", "D"]
    wide = rf.read(tmp_path, n_features=6)
    assert wide.features.shape == (3, 6)
    with refused("has 4 features, but n_features is 3"):
        rf.read(tmp_path, n_features=3)


def test_files_beside_shards_belong_to_them(tmp_path: Path) -> None:
    for name, label in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.txt").write_text(f"{label} 1:2\n0 1:3\n")
        (tmp_path / f"{name}.txt.query").write_text("2\n")
        (tmp_path / f"{name}.txt.weight").write_text(f"1\n{label}\n")
        (tmp_path / f"{name}.txt.labels").write_text(f"click\n0\n{label}\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = rf.read(tmp_path)
    assert data.sizes.tolist() == [2, 2]
    assert data.weight.tolist() == [1, 1, 1, 2]
    assert data.sources["click"].tolist() == [0, 1, 0, 2]
    (tmp_path / "b.txt.weight").unlink()
    with refused(r"b\.txt: has no weight, but a\.txt has"):
        rf.read(tmp_path)


def test_categories_have_the_same_codes_in_all_shards(tmp_path: Path) -> None:
    colours = [["red", "blue"] * 5, ["green", "red"] * 5, [None] * 10]
    for number, own in enumerate(colours):
        columns = {"label": [0, 1] * 5, "qid": [number] * 10, "colour": own, "age": range(10)}
        columns["kind"] = pa.array([own[0] or "none"] * 10).dictionary_encode()
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    with pytest.warns(Note, match="'colour' .3 values.: text, which becomes categories"):
        data = rf.read(tmp_path)
    assert data.categories == {0: ["blue", "green", "red"], 2: ["red", "green", "none"]}
    codes = in_memory(data.features)[:, 0]
    assert codes[:2].tolist() == [2, 0]
    assert codes[10:12].tolist() == [1, 2]
    assert np.isnan(codes[20:]).all()
    assert in_memory(data.features)[::10, 2].tolist() == [0, 1, 2]


def test_integers_and_floats_are_both_numbers(tmp_path: Path) -> None:
    for number, kind in enumerate((pa.int32(), pa.float64(), pa.null())):
        values = pa.array([None] if kind == pa.null() else [3], kind)
        qid = pa.array([number], pa.uint64() if number else pa.int64())
        table = pa.table({"label": [1], "qid": qid, "f": values})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    data = rf.read(tmp_path)
    assert data.qid.dtype == np.int64
    assert np.array_equal(in_memory(data.features).ravel(), [3, 3, np.nan], equal_nan=True)


def test_text_ids_share_their_strings(tmp_path: Path) -> None:
    for name in "ab":
        lines = "".join(f"1 qid:{name}{row // 50} 1:{row}\n" for row in range(100))
        (tmp_path / f"{name}.txt").write_text(lines)
    qid = rf.read(tmp_path).qid
    assert len({id(one) for one in qid}) == 4


def test_a_fingerprint_reads_the_ends_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = rf.read(shards(tmp_path, "parquet"))
    with monkeypatch.context() as patch:
        patch.setattr(Shards, "take", None)
        patch.setattr(Shards, "blocks", None)
        before = fingerprint(data, None)
    assert fingerprint(rf.read(tmp_path), None) == before
    assert fingerprint(data.take_queries([1, 2, 3]), None) != before
    last = rf.read(tmp_path / "part.11.parquet")
    last.features[0] += 1
    write(last, tmp_path / "part.11.parquet")
    after = fingerprint(rf.read(tmp_path), None)
    assert [key for key in before if before[key] != after[key]] == ["sample of features"]


# Folders that are wrong.


def text(folder: Path, **files: str) -> Path:
    for name, lines in files.items():
        (folder / f"{name}.txt").write_text(lines)
    return folder


def test_a_query_in_two_shards(tmp_path: Path) -> None:
    text(tmp_path, a="1 qid:1 1:2\n0 qid:2 1:2\n", b="1 qid:2 1:2\n0 qid:1 1:3\n")
    with refused(r"b\.txt: query '1' is also in a\.txt \(2 queries are\): expected all rows of a"):
        rf.read(tmp_path)
    # Nothing depends on queries where none are needed.
    assert RANKER.predict(rf.read(tmp_path, like=RANKER, needs=())).shape == (4,)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"f": [1.0]}, r"1\.\w+: has other columns than 0\.\w+: it lacks 'g'$"),
        ({"f": [1.0], "h": [2]}, "it lacks 'g', it has 'h' besides"),
        ({"f": [1.0], "g": ["x"]}, "column 'g' holds text, but numbers in 0"),
    ],
)
def test_shards_with_other_columns(
    ending: str, columns: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    import pyarrow.csv as pa_csv

    write_table = pq.write_table if ending == "parquet" else pa_csv.write_csv
    for number, own in enumerate(({"f": [1.0], "g": [2.0]}, columns)):
        table = pa.table({"label": [1], "qid": [number], **own})
        write_table(table, str(tmp_path / f"{number}.{ending}"))
    with refused(sentence):
        rf.read(tmp_path)


def test_shards_that_rankforce_wrote_with_other_categories(tmp_path: Path) -> None:
    for number, values in enumerate((["a", "b"], ["b", "c"])):
        X = np.array([[0.0], [1.0]])
        data = rf.RankingData(X, [1, 0], qid=[number] * 2, categories={0: values})
        write(data, tmp_path / f"{number}.parquet")
    with refused(r"1\.parquet: rankforce wrote other 'categories' into it than into 0\.parquet"):
        rf.read(tmp_path)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ("qid:2 1:3\n", r"b\.txt: has no labels, but a\.txt has"),
        ("1 1:3\n", r"b\.txt: has no query ids, but a\.txt has"),
        ("1 qid:2 1:x\n", r"b\.txt, line 1: '1:x': expected a number"),
        ("", r"b\.txt: is empty, it has 0 bytes: expected rows, or no such file"),
    ],
)
def test_text_that_is_not_as_the_first(other: str, sentence: str, tmp_path: Path) -> None:
    text(tmp_path, a="1 qid:1 1:2\n", b=other)
    with refused(sentence):
        rf.read(tmp_path, like=None, needs=() if "1:x" not in other else None)


def test_a_shard_without_rows_is_said(tmp_path: Path) -> None:
    table = pa.table({"label": [1.0], "qid": [7], "f": [2.0]})
    for name, rows in (("a", 0), ("b", 1), ("c", 0)):
        pq.write_table(table[:rows], tmp_path / f"{name}.parquet")
    with pytest.warns(Note, match=r"'a\.parquet', 'c\.parquet': no rows$"):
        data = rf.read(tmp_path)
    assert in_memory(data.features).tolist() == [[2.0]]
    (tmp_path / "b.parquet").unlink()
    with refused("holds no rows: expected one or more"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rf.read(tmp_path)


@pytest.mark.parametrize("ending", ["txt", "csv"])
def test_text_without_rows_is_said(ending: str, tmp_path: Path) -> None:
    full = {"txt": "1 qid:1 1:2\n", "csv": "label,qid,f\n1,1,2\n"}[ending]
    (tmp_path / f"a.{ending}").write_text(full)
    (tmp_path / f"b.{ending}").write_text({"txt": "# none\n", "csv": "label,qid,f\n"}[ending])
    with pytest.warns(Note, match=rf"'b\.{ending}': no rows$"):
        assert in_memory(rf.read(tmp_path).features).tolist() == [[2.0]]


def test_a_truncated_shard(tmp_path: Path) -> None:
    for ending, sentence in (
        ("parquet", r"part\.5\.parquet: cannot be read as Parquet"),
        ("txt.gz", r"part\.5\.txt\.gz: the file is cut off: its compressed data ends before"),
        ("csv.gz", r"part\.5\.csv\.gz: .*(cut off|Truncated)"),
    ):
        folder = shards(tmp_path / ending, ending)
        path = folder / f"part.5.{ending}"
        path.write_bytes(path.read_bytes()[:-40])
        with refused(sentence):
            rf.read(folder)


def test_a_shard_that_ends_within_its_columns(tmp_path: Path) -> None:
    """The end of a Parquet file is whole, what stands before is not: found when it is read."""
    folder = shards(tmp_path / "a", "parquet")
    path = folder / "part.5.parquet"
    content = bytearray(path.read_bytes())
    content[50 : len(content) // 3] = bytes(len(content) // 3 - 50)
    path.write_bytes(content)
    out = tmp_path / "b.txt"
    with refused(r"part\.5\.parquet: "):
        convert(folder, out)
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Not root meanwhile, who may read everything."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="not a Unix")
@pytest.mark.parametrize("ending", ["parquet", "txt", "csv"])
def test_a_shard_that_may_not_be_read(ending: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = shards(Path(name), ending)
        folder.chmod(0o755)
        for file in folder.iterdir():
            file.chmod(0o644)
        (folder / f"part.3.{ending}").chmod(0)
        with refused(rf"part\.3\.{ending}: .*Permission denied"), nobody():
            rf.read(folder)
        folder.chmod(0)
        with refused("cannot be read: Permission denied"), nobody():
            rf.read(folder)
        folder.chmod(0o755)


@pytest.mark.parametrize("ending", ["parquet", "txt", "csv.gz"])
def test_a_shard_that_changes_meanwhile(ending: str, tmp_path: Path) -> None:
    data = rf.read(shards(tmp_path, ending))
    path = tmp_path / f"part.4.{ending}"
    write(WHOLE.take_queries([1]), path)
    with refused(rf"part\.4\.{ending}: has changed while it was read: expected it to stay"):
        RANKER.predict(data)
    blocks = rf.read(tmp_path, needs=()).features.blocks()
    next(blocks)
    os.utime(tmp_path / f"part.0.{ending}")
    with refused(rf"part\.0\.{ending}: has changed"):
        list(blocks)


def test_a_change_at_the_very_end(tmp_path: Path) -> None:
    text(tmp_path, a="1 qid:1 1:2\n", b="1 qid:2 1:3\n")
    blocks = rf.read(tmp_path).features.blocks(2)
    assert next(blocks)[1].tolist() == [[2], [3]]
    os.utime(tmp_path / "b.txt", (0, 0))
    with refused(r"b\.txt: has changed while it was read"):
        next(blocks)


def test_features_that_do_not_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text(tmp_path, a="1 qid:1 9:2\n", b="1 qid:2 1:3\n")
    monkeypatch.setattr(sources, "available_memory", lambda: 50)
    with refused("2 rows x 9 columns of features take 0.0 GB, and .* are free: they do not fit"):
        rf.read(tmp_path, keep="memory")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "no file of LETOR/SVMlight text, Parquet, CSV or bins: it is empty$"),
        (["_SUCCESS", ".hidden.txt"], "it is empty$"),
        (["a.xyz"], "no file of .*: it has 'a.xyz'"),
        (["a.txt", "b.parquet"], "several formats, 'a.txt' and 'b.parquet': expected one, or form"),
        (["train.txt", "test.txt"], "test.txt and train.txt, which seem to be different sets"),
        (["train.1.txt", "vali.txt"], "train.1.txt and vali.txt, which seem"),
        (["a.txt", "day=1/a.txt"], "'day=1' is a folder: expected files of one data set"),
    ],
)
def test_folders_that_are_no_data_set(names: list[str], sentence: str, tmp_path: Path) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1 qid:1 1:2\n")
    with refused(sentence):
        rf.read(tmp_path)


def test_other_files_are_left_out_with_a_note(tmp_path: Path) -> None:
    text(tmp_path, a="1 qid:1 1:2\n", b="1 qid:2 1:2\n")
    (tmp_path / "notes.md").write_text("hello")
    with pytest.warns(Note, match=r"'notes\.md': no LETOR/SVMlight text, left out$"):
        assert rf.read(tmp_path).rows == 2
    (tmp_path / "c.csv").write_text("label,qid,f\n1,1,1\n")
    with pytest.warns(Note, match=r"'c\.csv', 'notes\.md': no LETOR"):
        assert rf.read(tmp_path, format="letor").rows == 2
    with refused("unknown format 'xml'"):
        rf.read(tmp_path, format="xml")


def test_spark_writes_text_without_an_ending(tmp_path: Path) -> None:
    for number in (10, 9):
        with gzip.open(tmp_path / f"part-000{number}.gz", "wt") as file:
            file.write(f"1 qid:{number} 1:{number}\n")
    assert [file.name for file in find_shards(tmp_path)[1]] == ["part-0009.gz", "part-00010.gz"]
    assert rf.read(tmp_path).qid.tolist() == [9, 10]


def test_a_target_inside_of_the_folder(tmp_path: Path) -> None:
    text(tmp_path, a="1 qid:1 1:2\n")
    with refused(r"all\.txt is in the folder to read, of which it would be a part"):
        convert(tmp_path, tmp_path / "all.txt")
    assert len(list(tmp_path.iterdir())) == 1
