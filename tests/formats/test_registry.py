"""A format is one file and one line of the table: reading, converting, help and errors follow."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.data.ranking_data import RankingData
from rankforce.formats import registry
from rankforce.formats.convert import convert
from rankforce.formats.registry import (
    FORMATS,
    Format,
    all_titles,
    by_content,
    by_name,
    format_to_read,
    format_to_write,
)
from rankforce.formats.streams import open_output
from rankforce.formats.write import write

JSON_LINES = """
import io, json
from rankforce.data.ranking_data import RankingData
from rankforce.formats.streams import Source, open_output

def read(path, asked):
    with io.TextIOWrapper(io.BufferedReader(Source(path)), encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return RankingData([row["x"] for row in rows], [row["y"] for row in rows],
                       qid=[row["q"] for row in rows])

def write(blocks, path):
    count = 0
    with open_output(path) as stream:
        for data in blocks:
            for x, y, q in zip(data.features.tolist(), data.labels, data.qid.tolist()):
                stream.write((json.dumps({"x": x, "y": y, "q": q}) + "\\n").encode())
                count += 1
    return count

def lost(data, path):
    return [] if data.doc_ids is None else [f"JSON lines have no place for ids in {path.name}"]
"""


@pytest.fixture
def jsonl(tmp_path, monkeypatch) -> Path:
    """A new format: one file, and one line."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "json_lines.py").write_text(JSON_LINES)
    monkeypatch.syspath_prepend(tmp_path / "home")
    line = Format("jsonl", "JSON lines", (".jsonl",), "json_lines", sign=rb"^\{")
    monkeypatch.setitem(FORMATS, "jsonl", line)
    yield tmp_path
    sys.modules.pop("json_lines", None)


def small(**options) -> RankingData:
    return RankingData([[0.5, 1], [2, 3], [4, 0]], [2, 0, 1], qid=[7, 7, 8], **options)


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_a_new_format_is_written_read_and_converted(jsonl, packing):
    path = jsonl / f"a.jsonl{packing}"
    assert write(small(), path) == 3
    back = rf.read(path)
    np.testing.assert_array_equal(back.features, small().features)
    for middle in ("b.txt.gz", "c.parquet", "d.csv"):
        assert convert(path, jsonl / middle) == 3
        assert convert(jsonl / middle, jsonl / f"e.jsonl{packing}") == 3
        again = rf.read(jsonl / f"e.jsonl{packing}")
        np.testing.assert_array_equal(again.features, small().features)
        assert again.labels.tolist() == [2, 0, 1]
        assert again.qid.tolist() == [7, 7, 8]


def test_a_new_format_may_be_asked_for(jsonl):
    write(small(), jsonl / "rows", "jsonl")
    assert json.loads((jsonl / "rows").read_text().splitlines()[2]) == {"x": [4, 0], "y": 1, "q": 8}
    assert rf.read(jsonl / "rows", format="jsonl").rows == 3
    assert by_content(jsonl / "rows").name == "jsonl"


def test_what_a_new_format_loses_is_said(jsonl, capsys):
    write(small(doc_ids=["a", "b", "c"]), jsonl / "a.txt")
    convert(jsonl / "a.txt", jsonl / "a.jsonl")
    assert capsys.readouterr().err.endswith("JSON lines have no place for ids in a.jsonl\n")


def test_errors_name_the_new_format_among_the_choices(jsonl):
    write(small(), jsonl / "a.txt")
    with pytest.raises(ValueError, match=r"choose 'letor', 'parquet', 'csv', 'bins' or 'jsonl'$"):
        rf.read(jsonl / "a.txt", format="xml")
    with pytest.raises(ValueError, match=r"choose one of letor, parquet, csv, bins, jsonl$"):
        write(small(), jsonl / "a.xyz")


def test_the_command_line_knows_the_new_format(jsonl, capsys):
    write(small(), jsonl / "a.txt")
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    words = re.sub(r"\s+", " ", capsys.readouterr().out)
    assert "--to {letor,parquet,csv,bins,jsonl,qrels}" in words
    assert "--from {letor,parquet,csv,bins,jsonl}" in words
    assert "LETOR/SVMlight text, Parquet, CSV, bins or JSON lines" in words
    assert ".txt, .parquet, .csv, .bins, .jsonl or .qrels" in words
    assert main(["convert", str(jsonl / "a.txt"), str(jsonl / "a.jsonl"), "--quiet"]) == 0
    assert len((jsonl / "a.jsonl").read_text().splitlines()) == 3
    with pytest.raises(SystemExit):
        main(["convert", "a", "b", "--to", "xml"])
    assert "'jsonl'" in capsys.readouterr().err
    assert main(["convert", str(jsonl / "a.txt"), str(jsonl / "a.xyz"), "--quiet"]) == 2
    assert "choose one of letor, parquet, csv, bins, jsonl\n" in capsys.readouterr().err


def test_a_format_may_be_a_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(FORMATS, "many", Format("many", "Files", (".many",), "x", is_folder=True))
    (tmp_path / "a.many").mkdir()
    (tmp_path / "b.many").write_text("")
    assert format_to_read(tmp_path / "a.many", None).name == "many"
    with pytest.raises(ValueError, match=r"cannot read .*b\.many: Files is a folder"):
        format_to_read(tmp_path / "b.many", None)
    with pytest.raises(ValueError, match=r"cannot read .*a\.many: it is a folder"):
        format_to_read(tmp_path / "a.many", "csv")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        *[("a", "letor"), ("a.txt", "letor"), ("a.dat.gz", "letor"), ("a.csv.txt", "letor")],
        *[("a.csv", "csv"), ("A.CSV.GZ", "csv"), ("a.tsv.zst", "csv")],
        *[("a.pq", "parquet"), ("a.Parquet", "parquet"), (".csv", "csv")],
    ],
)
def test_names_tell(name, format):
    assert by_name(Path(name)).name == format


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("", "letor"),
        ("# a comment\n\n1 qid:1 1:0.5\n", "letor"),
        ("1 3:0.5\n", "letor"),
        ("qid,label,f\n1,2,3\n", "csv"),
        ("#qid\n\n qid\tlabel\n", "csv"),
        ("PAR1\x15\x04", "parquet"),
    ],
)
def test_first_lines_tell(tmp_path, text, format):
    (tmp_path / "a").write_text(text)
    assert by_content(tmp_path / "a").name == format
    with open_output(tmp_path / "b.gz") as stream:
        stream.write(text.encode())
    assert by_content(tmp_path / "b.gz").name == format


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_every_ending_that_is_written_is_read(format):
    for ending in format.endings:
        assert by_name(Path(f"a{ending}")) is format
        assert format_to_write(Path(f"a{ending}"), None) is format


def test_the_table_is_light():
    """The command line's help needs it: nothing heavy is loaded before a file is."""
    code = "import sys, rankforce.formats.registry; print({'numpy', 'pyarrow'} & {*sys.modules})"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout == "set()\n"


def test_titles_make_a_sentence(monkeypatch):
    assert all_titles() == "LETOR/SVMlight text, Parquet, CSV or bins"
    monkeypatch.setattr(registry, "FORMATS", {"csv": FORMATS["csv"]})
    assert all_titles() == "CSV"
