"""Files and folders larger than the memory on the command line: a block of rows at a time."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import rankforce as rf
from rankforce.data import ranking_data, sources
from rankforce.formats import csv_text, letor_text, parquet
from rankforce.formats.write import write
from tests.cli.inside import Answer, run_inside

pytestmark = pytest.mark.slow  # CI runs it

ENDINGS = ["parquet", "txt", "txt.gz", "csv"]
NAMES = [f"f{column}" for column in range(12)]
made = rf.make_data("yahoo", queries=30, seed=3)
DATA = rf.RankingData(
    np.ascontiguousarray(made.features[:, :12]),
    made.labels,
    qid=made.qid,
    doc_ids=[f"D{row}" for row in range(made.rows)],
    feature_names=NAMES,
)
RANKER = rf.Ranker(n_estimators=6, num_leaves=5, progress=False, threads=1).fit(DATA)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("streaming")
    RANKER.save(folder / "model")
    for ending in ENDINGS:
        write(DATA, folder / f"all.{ending}")
        (folder / ending).mkdir()
        for number, queries in enumerate(np.array_split(np.arange(30), 11)):
            write(DATA.take_queries(queries), folder / ending / f"part.{number}.{ending}")
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a small file has many blocks, and none of them ends where a query does."""
    monkeypatch.setattr(parquet, "BATCH_VALUES", 1)
    monkeypatch.setattr(letor_text, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(csv_text, "BLOCK_BYTES", 5000)
    monkeypatch.setattr(ranking_data, "block_rows", lambda columns: 100)


def rankforce(*arguments: object, given: bytes = b"") -> Answer:
    with mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given))):
        return run_inside(*map(str, arguments))


def test_there_are_several_blocks(place: Path) -> None:
    """Else the tests below say nothing."""
    for ending in ("txt", "csv"):
        blocks = list(rf.read(place / f"all.{ending}", keep="disk").blocks())
        assert len(blocks) > 2
        assert sum(block.rows for block in blocks) == DATA.rows
    whole = list(rf.read(place / "all.txt", keep="disk").blocks(whole_queries=True))
    assert len(whole) > 2
    assert sorted(q for block in whole for q in block.query_ids) == sorted(DATA.query_ids)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("way", ["file", "folder", "pipe"])
def test_scores_lists_and_metrics_are_those_of_data_in_memory(
    place: Path, ending: str, way: str
) -> None:
    path = place / (ending if way == "folder" else f"all.{ending}")
    given = path.read_bytes() if way == "pipe" else b""
    data = "-" if way == "pipe" else path
    common = ("--model", place / "model", "--data", data)
    scores = rankforce("predict", *common, given=given)
    assert scores.stderr == ""
    assert scores.stdout == "".join(f"{score!r}\n" for score in RANKER.predict(DATA).tolist())
    ranking = RANKER.rank(DATA)
    ids = DATA.doc_ids
    assert ids is not None
    found = rankforce("rank", *common, "--json", given=given)
    wanted = [
        {"query": int(q), "rank": int(r), "document": ids[row], "score": float(s)}
        for q, r, row, s in zip(*ranking, strict=True)
    ]
    assert found.stdout == json.dumps(wanted) + "\n"
    metrics = rankforce("evaluate", *common, "--json", given=given)
    means = rf.evaluate(RANKER, DATA).means
    assert json.loads(metrics.stdout)["means"] == pytest.approx(dict(means), abs=1e-12)


def test_lines_of_lists(place: Path, tmp_path: Path) -> None:
    out = tmp_path / "lists.tsv"
    common = ("rank", "--model", place / "model", "--data", place / "parquet", "--top", 2)
    assert rankforce(*common, "--out", out).returncode == 0
    ranking = RANKER.rank(DATA, top=2)
    ids = DATA.doc_ids
    assert ids is not None
    lines = [f"{q}\t{r}\t{ids[row]}\t{float(s)!r}\n" for q, r, row, s in zip(*ranking, strict=True)]
    assert out.read_text() == "".join(lines)
    assert rankforce(*common, "--format", "trec", "--out", out).returncode == 0
    assert out.read_text().startswith(f"{ranking.query[0]} Q0 {ids[ranking.row[0]]} 1 ")


def test_comparing_on_a_folder(place: Path) -> None:
    systems = (f"a={place / 'model'}", f"b={place / 'model'}")
    one, other = (
        rankforce("compare", *systems, "--data", data)
        for data in (place / "txt", place / "all.txt")
    )
    assert one.returncode == 0
    assert one.stdout == other.stdout


# A network that sees whole lists gets whole queries.


@pytest.fixture(scope="module")
def network(place: Path) -> rf.Ranker:
    pytest.importorskip("torch")
    ranker = rf.Ranker(model="attention", epochs=1, progress=False, threads=1).fit(DATA)
    ranker.save(place / "network")
    return ranker


@pytest.mark.parametrize("name", ["txt", "all.parquet", "csv"])
def test_scores_of_lists(network: rf.Ranker, place: Path, name: str) -> None:
    want = network.predict(DATA)
    assert np.allclose(network.predict(rf.read(place / name, keep="disk")), want, atol=1e-6)
    said = rankforce("predict", "--model", place / "network", "--data", place / name)
    assert np.allclose(np.array(said.stdout.split(), float), want, atol=1e-6)


def test_lists_that_stand_apart(
    network: rf.Ranker, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = np.argsort(np.arange(DATA.rows) % 2, kind="stable")
    labels, qid = DATA.labels[order], DATA.qid[order]
    apart = rf.RankingData(DATA.features[order], labels, qid=qid, feature_names=NAMES)
    path, out = tmp_path / "apart.txt", tmp_path / "scores.txt"
    write(apart, path)
    common = ("predict", "--model", place / "network", "--data", path, "--out", out)
    assert rankforce(*common).returncode == 0
    assert np.array_equal(np.loadtxt(out), network.predict(apart))
    assert np.array_equal(network.predict(rf.read(path, keep="disk")), network.predict(apart))
    out.unlink()
    monkeypatch.setattr(sources, "available_memory", lambda: DATA.features.nbytes)
    said = rankforce(*common)
    assert said.returncode == 2
    assert "rows of a query do not stand together, and features are too many" in said.stderr
    assert said.stderr.endswith(": sort the rows by query\n")
    assert not out.exists()


# What goes wrong.


def test_nothing_is_left_when_a_shard_is_wrong(place: Path, tmp_path: Path) -> None:
    for number in range(3):
        columns = {name: np.full(5, number, np.float64) for name in NAMES}
        columns["f3"][2] = np.inf if number == 2 else 1
        pq.write_table(pa.table(columns), tmp_path / f"{number}.parquet")
    out = tmp_path / "scores.txt"
    said = rankforce("predict", "--model", place / "model", "--data", tmp_path, "--out", out)
    assert said.returncode == 2
    assert "2.parquet: row 2, column 'f3' is inf: expected a number" in said.stderr
    assert not out.exists()
    assert len(list(tmp_path.iterdir())) == 3


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """Files of this process end at so many bytes meanwhile."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def full_disk(folder: Path, kind: str, size: int) -> Iterator[None]:
    if kind == "limit":
        with limited(size):
            yield
        return
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.name != "posix" or os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("only root may mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("kind", ["limit", "disk"])
@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("predict", "scores.txt"),
        ("rank", "lists.tsv"),
        ("convert", "one.txt"),
        ("convert", "one.parquet"),
        ("convert", "one.csv.gz"),
    ],
)
def test_a_full_disk(place: Path, tmp_path: Path, kind: str, verb: str, name: str) -> None:
    small = tmp_path / "small"
    small.mkdir()
    with full_disk(small, kind, 8192):
        if verb == "convert":
            said = rankforce(verb, place / "txt", small / name, "--quiet")
        else:
            common = ("--model", place / "model", "--data", place / "txt")
            said = rankforce(verb, *common, "--out", small / name)
        left = [file.name for file in small.iterdir()]
    assert said.returncode == 2
    cause = "File too large" if kind == "limit" else "No space left on device"
    assert f"{small / name} cannot be written: " in said.stderr
    assert cause in said.stderr
    assert said.stderr.count("\n") == 1
    assert left == []


# How much memory it takes.

MEASURE = """
import re, sys
from rankforce.cli import main
def peak():
    with open("/proc/self/status") as file:
        return int(re.search(r"VmHWM:\\s*(\\d+)", file.read())[1]) // 1024
model, small, large = sys.argv[1:4]
def run(data):
    for verb in sys.argv[5:]:
        more = [] if verb == "evaluate" else ["--out", sys.argv[4]]
        assert main([verb, "--model", model, "--data", data, *more]) == 0
run(small)
before = peak()
run(large)
print(before, peak(), file=sys.stderr)
"""
WIDE, FEW = 500, 20_000


def fill_file(path: Path, rows: int) -> None:
    """A file that is small, and whose matrix is large."""
    labels, qid = np.arange(rows) % 3, np.arange(rows) // 100
    if path.suffix == ".txt":
        lines = (f"{row % 3} qid:{row // 100} 1:{row % 7} {WIDE}:0.5\n" for row in range(rows))
        path.write_text("".join(lines))
        return
    columns: dict[str, Any] = {"label": labels, "qid": qid, "1": np.arange(rows) % 7}
    blank = pa.nulls(rows, pa.float32())
    columns |= {str(column): blank for column in range(2, WIDE + 1)}
    if path.suffix == ".csv":
        pa_csv.write_csv(pa.table(columns), str(path))
    else:
        pq.write_table(pa.table(columns), path, row_group_size=20_000)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="not Linux")
@pytest.mark.parametrize(
    ("ending", "rows", "verbs"),
    [
        ("parquet", 100_000, ["predict", "evaluate"]),
        ("txt", 160_000, ["predict", "evaluate", "rank"]),
        pytest.param("csv", 120_000, ["predict"], marks=pytest.mark.slow),
    ],
)
def test_memory_does_not_grow_with_the_matrix(
    ending: str, rows: int, verbs: list[str], tmp_path: Path
) -> None:
    """Beyond a file of 40 MB, in which all that does not depend on the rows is there already."""
    names = [str(column) for column in range(1, WIDE + 1)]
    X = np.zeros((DATA.rows, WIDE), np.float32)
    X[:, :12] = DATA.features
    ranker = rf.Ranker(n_estimators=2, num_leaves=3, progress=False, threads=1)
    wide = rf.RankingData(X, DATA.labels, qid=DATA.qid, feature_names=names)
    ranker.fit(wide).save(tmp_path / "model")
    for name, many in (("small", FEW), ("large", rows)):
        fill_file(tmp_path / f"{name}.{ending}", many)
    files = [str(tmp_path / f"{name}.{ending}") for name in ("small", "large")]
    arguments = [str(tmp_path / "model"), *files, str(tmp_path / "out"), *verbs]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *arguments], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    before, after = map(int, done.stderr.split()[-2:])
    more = (rows - FEW) * WIDE * 4 >> 20
    assert after - before < more / 2, (before, after, more)
