"""convert as a user runs it: real processes, real files."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rankforce.data.synthetic import make_data
from rankforce.formats.read import read
from rankforce.formats.write import write
from tests.cli.inside import said
from tests.ctrl_c import LONG, started


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "rankforce", "convert", *map(str, arguments)]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, check=False)


def test_there_and_back(tmp_path):
    source, middle, target = (tmp_path / name for name in ("a.txt", "b.parquet", "c.txt.gz"))
    source.write_text("2 qid:7 1:0.5 2:1 # docid = D1\n0 qid:7 1:nan 2:3\n1 qid:x 1:1 2:0.1\n")
    answer = run(source, middle)
    assert answer.returncode == 0
    assert answer.stdout == f"{middle}: 3 rows\n"
    said = [line for line in answer.stderr.splitlines() if not line.startswith("compiling")]
    assert len(said) == 1
    assert said[0].startswith(f"{source} -> {middle}: 3 rows, 0.0 MB read in 0:")
    answer = run(middle, target, "--quiet")
    assert (answer.stdout, answer.stderr) == (f"{target}: 3 rows\n", "")
    assert read(target).doc_ids.tolist() == ["D1", "", ""]
    assert read(target).qid.tolist() == ["7", "7", "x"]


def test_formats_by_name(tmp_path):
    (tmp_path / "S1.csv").write_text("2 qid:7 1:0.5\n")
    arguments = ("--from", "letor", "--to", "csv", "--quiet")
    assert run(tmp_path / "S1.csv", tmp_path / "S1.table", *arguments).returncode == 0
    assert (tmp_path / "S1.table").read_text() == '"label","qid","1"\n2,7,0.5\n'


def test_what_is_lost_is_said_even_when_quiet(tmp_path):
    (tmp_path / "a.csv").write_text("qid,label,weight,bm25\n1,2,0.5,3\n")
    answer = run(tmp_path / "a.csv", tmp_path / "b.txt", "--quiet")
    place = "LETOR text has no place for feature names, weights: left out"
    assert said(answer.stderr) == f"{tmp_path / 'b.txt'}: {place}\n"
    assert answer.returncode == 0


def test_a_bad_line_is_one_line_and_leaves_nothing(tmp_path):
    (tmp_path / "a.txt").write_text("2 qid:7 1:0.5\n" * 99 + "2 qid:7 1;5\n" + "2 qid:7 1:1\n" * 9)
    answer = run(tmp_path / "a.txt", tmp_path / "b.parquet")
    assert answer.returncode == 2
    message = f"{tmp_path / 'a.txt'}, line 100: '1;5': missing colon: expected index:value"
    assert said(answer.stderr) == f"rankforce convert: {message}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_leaves_no_half_file(tmp_path):
    write(make_data("mslr", queries=300), tmp_path / "a.txt")
    arguments = command(tmp_path / "a.txt", tmp_path / "b.txt.gz")
    with started(arguments, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as one:
        while one.poll() is None:
            parts = [path for path in tmp_path.glob(".b.txt.gz.*") if path.stat().st_size]
            if parts:
                one.send_signal(signal.SIGINT)
                break
            time.sleep(0.005)
        one.wait(LONG)
    assert one.returncode != 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "a.txt.labels"]
