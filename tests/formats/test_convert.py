"""Conversion: the same rows in every format, a block at a time, whole or not at all."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest

from rankforce.common import live_line
from rankforce.common.notes import Note
from rankforce.data.ranking_data import RankingData
from rankforce.data.synthetic import make_data
from rankforce.formats import csv_text, letor, letor_text, parquet
from rankforce.formats.convert import Bar, convert
from rankforce.formats.letor_text import find_shape, read_blocks
from rankforce.formats.read import read
from rankforce.formats.write import write
from tests.common.terminal import Terminal

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SMALL = 1 << 12  # bytes
ROWS = 5000


@pytest.fixture
def small_blocks(monkeypatch) -> None:
    """Every reader goes through a file of 5000 rows in many blocks."""
    monkeypatch.setattr(letor_text, "BLOCK_BYTES", SMALL)
    monkeypatch.setattr(parquet, "BATCH_VALUES", 1)  # 1024 rows
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", SMALL)
    monkeypatch.setattr(parquet, "GROUP_VALUES", 1 << 13)


def hard_data(ids: str = "numbers", **more) -> RankingData:
    """Floats of all sizes with NaN and -0, queries in any order, odd document ids."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2**32, 7 * ROWS, dtype=np.uint64).astype(np.uint32).view(np.float32)
    X = np.where(np.isinf(X), np.float32(-0.0), X).reshape(ROWS, 7)
    number = rng.integers(-50, 50, ROWS)
    qid = number if ids == "numbers" else [f"q{one}é" if one > 40 else str(one) for one in number]
    names = ["", "plain", "two words", 'quo"te,', "日本#"]
    doc_ids = [names[row % 5] if row > ROWS // 2 else "" for row in range(ROWS)]
    return RankingData(X, rng.normal(size=ROWS), qid=qid, doc_ids=doc_ids, **more)


def assert_same(left: RankingData, right: RankingData) -> None:
    np.testing.assert_array_equal(left.features, right.features)
    known = ~np.isnan(right.features)
    assert (np.signbit(left.features) == np.signbit(right.features))[known].all()
    np.testing.assert_array_equal(left.labels, right.labels)
    assert left.qid.dtype.kind == right.qid.dtype.kind or right.qid.dtype.kind == "U"
    assert left.qid.tolist() == right.qid.tolist()
    assert (left.doc_ids is None) == (right.doc_ids is None)
    if left.doc_ids is not None:
        assert left.doc_ids.tolist() == right.doc_ids.tolist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("ids", ["numbers", "words"])
def test_once_around_all_formats(tmp_path, ids, packing):
    data = hard_data(ids)
    names = ["a.txt" + packing, "b.parquet", "c.csv" + packing, "d.txt" + packing]
    paths = [tmp_path / name for name in names]
    write(data, paths[0])
    for source, target in itertools.pairwise(paths):
        assert convert(source, target) == ROWS
        assert_same(read(target), data)
    assert paths[3].read_bytes() == paths[0].read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("target", ["t.txt", "t.csv"])
@pytest.mark.parametrize("source", ["s.txt", "s.csv", "s.parquet"])
def test_it_is_what_reading_and_writing_makes(tmp_path, source, target):
    write(make_data("mslr", queries=8), tmp_path / source)
    convert(tmp_path / source, tmp_path / target)
    write(read(tmp_path / source), tmp_path / f"other-{target}")
    assert (tmp_path / target).read_bytes() == (tmp_path / f"other-{target}").read_bytes()


CELLS = ["qid,label,f\n"]
LINES = [f"{row % 3} qid:{row // 7} 1:{row} 3:0.5\n" for row in range(900)]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("target", ["t.parquet", "t.csv", "t.txt"])
@pytest.mark.parametrize(
    "last",
    [
        "1 qid:128 9:1",  # wider
        "1 qid:128 0:4 3:1",  # an index 0
        "1 qid:last 1:1",  # a word
        "1 qid:128 3:1 1:2 # the only comment",
        "1 qid:128 12:1 0:0.1 # docid = x\n# end\n\n",
    ],
)
def test_what_the_last_line_says_holds_for_all(tmp_path, last, target):
    (tmp_path / "s.txt").write_text("# first\n\n" + "".join(LINES) + last)
    assert convert(tmp_path / "s.txt", tmp_path / target) == 901
    assert_same(read(tmp_path / target), read(tmp_path / "s.txt"))


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_do_not_depend_on_their_size(tmp_path, threads):
    write(hard_data("words"), tmp_path / "s.txt")
    whole = read(tmp_path / "s.txt")
    for size in (SMALL, 1 << 16, 1 << 24):
        options = {"seen": lambda share: None, "threads": threads, "block_bytes": size}
        shape = find_shape(tmp_path / "s.txt", **options)
        assert (shape.rows, shape.columns, shape.has_doc_ids) == (ROWS, 7, True)
        parts = list(read_blocks(tmp_path / "s.txt", shape, **options))
        assert (len(parts) > 20) == (size == SMALL)
        np.testing.assert_array_equal(np.concatenate([p.features for p in parts]), whole.features)
        assert np.concatenate([p.qid for p in parts]).tolist() == whole.qid.tolist()


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", ["s.txt", "s.txt.gz"])
@pytest.mark.parametrize("ending", [".query", ".group"])
def test_sizes_and_weights_beside_the_text(tmp_path, name, ending):
    sizes = [3, 0, 400, 1, 496]
    lines = [line.replace(f"qid:{row // 7} ", "") for row, line in enumerate(LINES)]
    (tmp_path / "plain").write_text("".join(lines))
    data = (tmp_path / "plain").read_bytes()
    (tmp_path / name).write_bytes(pa.compress(data, "gzip", asbytes=True) if "gz" in name else data)
    (tmp_path / f"s.txt{ending}").write_text("".join(f"{size}\n" for size in sizes))
    (tmp_path / "s.txt.weight").write_text("".join(f"{row / 8}\n" for row in range(900)))
    convert(tmp_path / name, tmp_path / "t.parquet")
    back = read(tmp_path / "t.parquet")
    assert back.qid.tolist() == np.repeat(np.arange(5), sizes).tolist()
    assert back.weight.tolist() == (np.arange(900) / 8).tolist()
    assert_same(back, read(tmp_path / name))


@pytest.mark.usefixtures("small_blocks")
def test_columns_keep_their_meaning(tmp_path, capsys):
    more = {"feature_names": list("abcdefg"), "weight": np.arange(ROWS) / 4}
    clicks = np.where(np.arange(ROWS) % 2, np.nan, 1.5)
    data = hard_data(**more, sources={"clicks": clicks})
    data.categorical = [1]
    write(data, tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert capsys.readouterr().err == ""
    convert(tmp_path / "b.parquet", tmp_path / "c.csv")
    parquet = read(tmp_path / "b.parquet")
    assert parquet.categorical == [1]
    for back in (parquet, read(tmp_path / "c.csv", sources=["clicks"])):
        assert_same(back, data)
        assert back.feature_names == list("abcdefg")
        np.testing.assert_array_equal(back.weight, data.weight)
        np.testing.assert_array_equal(back.sources["clicks"], clicks)


def sourced_data(**more) -> RankingData:
    clicks = np.where(np.arange(ROWS) % 3, np.nan, np.arange(ROWS) / 7)
    return hard_data("words", sources={"clicks": clicks, "é": np.arange(ROWS) / 3}, **more)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_sources_go_with_text_in_a_file_beside_it(tmp_path, packing):
    data = sourced_data()
    write(data, tmp_path / "a.parquet")
    names = ["a.parquet", f"b.txt{packing}", f"c.txt{packing}", "d.parquet"]
    for source, target in itertools.pairwise(names):
        assert convert(tmp_path / source, tmp_path / target) == ROWS
        back = read(tmp_path / target)
        assert_same(back, data)
        assert back.label_names == ["label", "clicks", "é"]
        for name, values in data.sources.items():
            np.testing.assert_array_equal(back.sources[name], values)
    beside = {f"{letter}.txt.labels{packing}" for letter in "bc"}
    assert {path.name for path in tmp_path.iterdir()} == {*names, *beside}


@pytest.mark.usefixtures("small_blocks")
def test_the_name_of_the_label_is_kept_or_said(tmp_path, capsys):
    write(sourced_data(label_name="grade"), tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.parquet")
    convert(tmp_path / "b.parquet", tmp_path / "c.csv")
    assert "is called" not in capsys.readouterr().err
    assert read(tmp_path / "b.parquet").label_name == "grade"
    back = read(tmp_path / "c.csv", labels="grade,clicks")
    assert back.label_names == ["grade", "clicks"]
    convert(tmp_path / "c.csv", tmp_path / "joined.parquet")  # of many small blocks
    assert read(tmp_path / "joined.parquet").label_name == "grade"
    capsys.readouterr()
    convert(tmp_path / "a.parquet", tmp_path / "d.txt")
    assert "d.txt: the label 'grade' is called 'label'; sources are" in capsys.readouterr().err
    write(sourced_data(label_name="stars"), tmp_path / "e.parquet")
    convert(tmp_path / "e.parquet", tmp_path / "f.csv")
    assert "f.csv: the label 'stars' is called 'label'; sources are" in capsys.readouterr().err
    assert_same(read(tmp_path / "f.csv", sources=["clicks", "é"]), sourced_data())


def test_a_source_called_label_is_not_mistaken_for_it(tmp_path, capsys):
    data = RankingData([[1.0]], [5], qid=[1], label_name="stars", sources={"label": [7]})
    write(data, tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.csv")
    assert "read with labels=['stars', 'label']\n" in capsys.readouterr().err
    back = read(tmp_path / "b.csv", labels=["stars", "label"])
    assert (back.labels.tolist(), back.sources["label"].tolist()) == ([5], [7])
    with pytest.raises(ValueError, match="source 'label' has the name of the label in LETOR text"):
        convert(tmp_path / "a.parquet", tmp_path / "c.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"a.parquet", "b.csv"}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("target", ["t.txt", "t.txt.gz"])
def test_an_interrupt_leaves_no_labels_either(tmp_path, monkeypatch, target):
    write(sourced_data(), tmp_path / "s.parquet")

    def stop(self, what, share):
        if share > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "seen", stop)
    with pytest.raises(KeyboardInterrupt):
        convert(tmp_path / "s.parquet", tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == ["s.parquet"]


@pytest.mark.usefixtures("small_blocks")
def test_labels_of_text_may_be_chosen(tmp_path):
    write(sourced_data(), tmp_path / "a.txt")
    convert(tmp_path / "a.txt", tmp_path / "b.parquet", labels="é,label")
    back = read(tmp_path / "b.parquet")
    assert back.label_names == ["é", "label"]
    np.testing.assert_array_equal(back.labels, sourced_data().sources["é"])
    with pytest.raises(ValueError, match="'clicks' of row 1 is unknown, and the label must"):
        convert(tmp_path / "a.txt", tmp_path / "c.parquet", labels="clicks")


def test_old_labels_beside_a_target_without_sources_are_named(tmp_path):
    (tmp_path / "s.txt").write_text("1 qid:1 1:2\n")
    (tmp_path / "t.txt.labels").write_text("clicks\n0.5\n")
    with pytest.raises(ValueError, match=r"t\.txt\.labels would be read with .*t\.txt, which has"):
        convert(tmp_path / "s.txt", tmp_path / "t.txt")
    assert {path.name for path in tmp_path.iterdir()} == {"s.txt", "t.txt.labels"}


@pytest.mark.usefixtures("small_blocks")
def test_categories_that_come_late_are_kept(tmp_path):
    words = [f"w{row // 800}" if row % 9 else None for row in range(ROWS)]
    word = pa.array(words).dictionary_encode()
    columns = {"qid": np.arange(ROWS) // 9, "label": np.zeros(ROWS), "f": np.ones(ROWS)}
    pq.write_table(pa.table({**columns, "word": word}), tmp_path / "a.parquet", row_group_size=700)
    convert(tmp_path / "a.parquet", tmp_path / "b.parquet")
    back = read(tmp_path / "b.parquet")
    assert back.categories == read(tmp_path / "a.parquet").categories
    codes = back.features[:, 1]
    values = [None if np.isnan(code) else back.categories[1][int(code)] for code in codes]
    assert values == words


def test_row_groups_are_not_the_blocks_of_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", SMALL)
    write(hard_data(), tmp_path / "a.csv")
    convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 1


def test_what_has_no_place_is_said_once(tmp_path, capsys):
    data = hard_data(feature_names=list("abcdefg"), weight=np.ones(ROWS))
    data.categorical = [0]
    data.sources["clicks"] = np.ones(ROWS)
    write(data, tmp_path / "a.parquet")
    convert(tmp_path / "a.parquet", tmp_path / "b.txt")
    place = "has no place for feature names, weights, the marks and names of categories: left out"
    beside = "sources are beside it, in b.txt.labels"
    assert capsys.readouterr().err == f"{tmp_path / 'b.txt'}: LETOR text {place}; {beside}\n"
    convert(tmp_path / "a.parquet", tmp_path / "b.csv")
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "CSV has no place for the marks and names of categories: left out; " in error
    assert "sources are plain columns: read with sources=['clicks']" in error
    (tmp_path / "b.txt.labels").unlink()
    convert(tmp_path / "b.txt", tmp_path / "c.csv")
    assert capsys.readouterr().err == ""


def test_text_columns_and_missing_labels_are_said(tmp_path, capsys):
    (tmp_path / "a.csv").write_text("qid,label,title,f\n1,2,some words,3\n")
    with pytest.warns(Note, match="'title' is text with 1 different values: left out"):
        convert(tmp_path / "a.csv", tmp_path / "a.parquet")
    write(RankingData([[1.0]], qid=[1]), tmp_path / "b.parquet")
    convert(tmp_path / "b.parquet", tmp_path / "b.txt")
    assert "b.txt: the source has no labels: 0 is written\n" in capsys.readouterr().err


MEMORY = """
import re, sys
from rankforce.formats import csv_text, letor_text, parquet
from rankforce.formats.convert import convert
parquet.BATCH_VALUES = letor_text.BLOCK_VALUES = parquet.GROUP_VALUES = 1 << 20
csv_text.BLOCK_BYTES = 1 << 18
def peak():
    # Not ru_maxrss: a child starts with its parent's.
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
convert(sys.argv[1], sys.argv[3])
before = peak()
convert(sys.argv[2], sys.argv[3])
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("format", ["letor", "csv", "parquet"])
def test_memory_is_that_of_blocks(tmp_path, format):
    rows, columns = 800_000, 100
    ending = {"letor": "txt"}.get(format, format)
    row = f"1 qid:7 1:0.5 {columns}:1\n"
    for name, count in (("few", 300), ("many", rows)):
        (tmp_path / f"{name}.txt").write_text(row * count)
        if format != "letor":
            convert(tmp_path / f"{name}.txt", tmp_path / f"{name}.{ending}")
    paths = [tmp_path / f"{name}.{ending}" for name in ("few", "many")]
    command = [sys.executable, "-c", MEMORY, *paths, tmp_path / "out.parquet"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    growth, matrix = int(answer.stdout), rows * columns * 4
    assert growth < matrix / 2


@pytest.mark.parametrize("make", [None, os.link, os.symlink])
def test_a_file_is_not_written_over_itself(tmp_path, make):
    source = target = tmp_path / "a.txt"
    source.write_text("1 qid:1 1:1\n")
    if make is not None:
        target = tmp_path / "b.txt"
        make(source, target)
    with pytest.raises(ValueError, match=r"\.txt is the file to read: expected another file"):
        convert(source, target)
    assert source.read_text() == "1 qid:1 1:1\n"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.parametrize("target", ["t.parquet", "t.csv.gz", "t.txt.zst"])
@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("s.txt", [*LINES, "1 qid:7 3:x\n", *LINES], "s.txt, line 901: '3:x': expected a number"),
        ("s.txt", [*LINES, "1 1:2\n", *LINES], "s.txt, line 901: '1:2': missing qid: expected"),
        ("s.txt", ["# none\n"], "s.txt: holds no rows: expected lines such as"),
        ("s.txt", ["1 1:2\n"], "s.txt has no qid: and there is no s.txt.query beside it"),
        ("s.csv", [*CELLS, *["1,2,3\n"] * 200_000, "1,2,x\n"], "s.csv, line 200002, column 'f'"),
        ("s.csv", [*CELLS, *["1,2,3\n"] * 900, ",2,3\n"], "s.csv, line 902, column 'qid'"),
        ("s.csv", [*CELLS, *["1,2,3\n"] * 900, "1,,3\n"], "line 902, column 'label': ''"),
        ("s.csv", CELLS, "s.csv: holds no rows: expected one or more"),
        ("s.parquet", ["no"], "s.parquet: cannot be read as Parquet: "),
    ],
)
def test_a_bad_source_is_named_and_leaves_no_target(
    tmp_path, name, text, sentence, target, is_there
):
    (tmp_path / name).write_text("".join(text))
    if is_there:
        (tmp_path / target).write_text("old")
    with pytest.raises(ValueError, match=sentence):
        convert(tmp_path / name, tmp_path / target)
    assert (tmp_path / target).exists() == is_there
    assert len(list(tmp_path.iterdir())) == 1 + is_there


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("f", np.inf, "s.parquet: row 4321, column 'f' is inf: expected"),
        ("label", np.nan, "s.parquet: labels: row 4321 is nan, expected finite numbers"),
        ("weight", -1, r"s.parquet: weight\[4321\] is -1.0: weights are numbers from 0 up"),
    ],
)
def test_a_row_is_counted_from_the_start_of_the_file(tmp_path, column, value, sentence):
    columns = {name: np.ones(ROWS) for name in ("label", "qid", "f", "weight")}
    columns[column][4321] = value
    pq.write_table(pa.table(columns), tmp_path / "s.parquet")
    with pytest.raises(ValueError, match=sentence):
        convert(tmp_path / "s.parquet", tmp_path / "t.txt")
    assert not (tmp_path / "t.txt").exists()


@pytest.mark.parametrize(
    ("beside", "sentence"),
    [
        ({".query": "1\n1\n"}, "s.txt: group sizes add up to 2, but there are 3 rows"),
        ({".query": "3\n", ".weight": "1\n"}, "s.txt.weight has 1 lines, .*s.txt has 3 rows"),
        ({".query": "x\n"}, "s.txt.query, line 1: 'x': expected one number"),
        ({".query": "3\n", ".labels": "c\n1\n"}, "s.txt.labels has 1 rows below its names, s.txt"),
        ({".query": "3\n", ".labels": "c\n1\nx\n3\n"}, "s.txt.labels, line 3, column 'c': 'x'"),
    ],
)
def test_files_beside_that_do_not_fit_are_named(tmp_path, beside, sentence):
    (tmp_path / "s.txt").write_text("1 1:2\n" * 3)
    for ending, text in beside.items():
        (tmp_path / f"s.txt{ending}").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        convert(tmp_path / "s.txt", tmp_path / "t.csv")
    assert not (tmp_path / "t.csv").exists()


@pytest.mark.parametrize(
    ("source", "target", "options", "sentence"),
    [
        ("none.txt", "t.csv", {}, "cannot read .*none.txt: there is no such file"),
        ("s.txt", "t.xyz", {}, "t.xyz: the format of that name is unknown: choose one of letor"),
        ("s.txt", "t.csv", {"source_format": "xml"}, "unknown format 'xml': choose 'letor', 'pa"),
        ("s.txt", "t.csv", {"target_format": "xml"}, "format 'xml' is unknown: choose one of le"),
        ("s.txt", "no/t.csv", {}, "expected the name of a file in a folder that exists"),
    ],
)
def test_a_mistake_is_named(tmp_path, source, target, options, sentence):
    (tmp_path / "s.txt").write_text("1 qid:1 1:2\n")
    with pytest.raises(ValueError, match=sentence):
        convert(tmp_path / source, tmp_path / target, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["s.txt"]


def test_formats_may_be_given(tmp_path):
    (tmp_path / "s.csv").write_text("1 qid:1 1:2\n")
    convert(tmp_path / "s.csv", tmp_path / "t", source_format="letor", target_format="csv")
    assert (tmp_path / "t").read_text().splitlines()[1] == "1,1,2"


def test_a_file_that_changes_meanwhile_is_named(tmp_path, monkeypatch):
    def look_then_widen(path, *, seen):
        shape = find_shape(path, seen=seen)
        path.write_text("1 qid:1 1:2 5:1\n")
        return shape

    (tmp_path / "s.txt").write_text("1 qid:1 1:2\n")
    monkeypatch.setattr(letor, "find_shape", look_then_widen)
    with pytest.raises(ValueError, match=r"s\.txt: has changed while it was read"):
        convert(tmp_path / "s.txt", tmp_path / "t.csv")


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("target", ["t.parquet", "t.csv.zst", "t.txt.gz"])
@pytest.mark.parametrize("source", ["s.txt", "s.csv.gz", "s.parquet"])
def test_an_interrupt_leaves_nothing(tmp_path, monkeypatch, source, target):
    write(hard_data(), tmp_path / source)

    def stop(self, what, share):
        if share > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "seen", stop)
    with pytest.raises(KeyboardInterrupt):
        convert(tmp_path / source, tmp_path / target)
    assert [path.name for path in tmp_path.iterdir()] == [source]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("source", ["s.txt.zst", "s.csv.gz", "s.parquet"])
def test_a_terminal_gets_a_bar_and_a_line(tmp_path, monkeypatch, source):
    monkeypatch.setattr(live_line, "DRAW_EVERY", 0.0)
    write(hard_data(), tmp_path / source)
    monkeypatch.setattr(sys, "stderr", Terminal())
    convert(tmp_path / source, tmp_path / "t.txt", progress=True)
    *drawn, last = sys.stderr.getvalue().split("\r")
    assert any("converting [##" in line and "% " in line and " left" in line for line in drawn)
    assert any("100%" in line for line in drawn)
    assert f"-> {tmp_path / 't.txt'}: {ROWS} rows, " in last
    assert last.endswith(" MB/s)\n")


def test_a_log_gets_one_line_and_silence_is_silent(tmp_path, capsys):
    (tmp_path / "s.txt").write_text("1 qid:1 1:2\n")
    convert(tmp_path / "s.txt", tmp_path / "t.csv")
    assert capsys.readouterr() == ("", "")
    convert(tmp_path / "s.txt", tmp_path / "t.csv", progress=True)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "\r" not in error
    assert "t.csv: 1 rows, " in error
