"""Files of bins: what goes in comes out, a second run is the first one, and damage is noticed."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.cli import main
from rankforce.data.binned import Binned, make_bins
from rankforce.formats import bins as module
from rankforce.formats.bins import HEAD, PLACE, open_bins, write_bins
from rankforce.formats.convert import convert
from rankforce.formats.write import write

USUAL: dict[str, Any] = {"n_estimators": 6, "num_leaves": 7, "progress": False, "k": 5}


def make_set(queries: int = 30, seed: int = 0, **more: Any) -> rf.RankingData:
    data = rf.make_data("mslr", queries=queries, seed=seed)
    values = data.features.copy()
    values[np.random.default_rng(seed).random(values.shape) < 0.02] = np.nan
    return rf.RankingData(values, data.labels, qid=data.qid, **more)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "train.bins"
    write_bins(make_set(), path)
    return path


def test_all_that_stands_beside_comes_back(tmp_path: Path) -> None:
    plain = make_set()
    rows = plain.rows
    rng = np.random.default_rng(1)
    mixed = rng.permutation(rows)
    data = rf.RankingData(
        plain.features[mixed],
        plain.labels[mixed],
        qid=np.array([f"query {one} ä" for one in plain.qid])[mixed],
        weight=rng.random(rows),
        init_score=rng.normal(size=rows),
        sources={"click": np.where(rng.random(rows) < 0.5, np.nan, 1.0)},
        label_name="grade",
        feature_names=[f"f{column}" for column in range(plain.features.shape[1])],
    )
    write_bins(data, tmp_path / "a.bins", threads=2)
    found = open_bins(tmp_path / "a.bins", threads=2)
    assert found.feature_names == data.feature_names
    assert found.label_names == ["grade", "click"]
    assert found.qid.tolist() == data.qid.tolist()
    for name in ("labels", "weight", "init_score"):
        assert (getattr(found, name) == getattr(data, name)).all()
    assert np.array_equal(found.sources["click"], data.sources["click"], equal_nan=True)
    direct = make_bins(data.features)
    assert isinstance(found.features, Binned)
    assert found.features.edges.same(direct.edges)
    assert (found.features.bins == direct.bins).all()


@pytest.mark.slow
def test_a_second_run_is_the_first_one(tmp_path: Path) -> None:
    train, valid = make_set(), make_set(10, seed=1)
    for name, data in (("train", train), ("valid", valid)):
        write(data, tmp_path / f"{name}.parquet")
    convert(tmp_path / "train.parquet", tmp_path / "train.bins")
    convert(tmp_path / "valid.parquet", tmp_path / "valid.bins", like=tmp_path / "train.bins")
    kept = [rf.read(tmp_path / f"{name}.parquet", keep="disk") for name in ("train", "valid")]
    bins = [rf.read(tmp_path / f"{name}.bins") for name in ("train", "valid")]
    rankers = [
        rf.Ranker("lambdarank-ndcg", **USUAL).fit(one, eval_set=[other])
        for one, other in (kept, bins)
    ]
    assert rankers[0].model_.history == rankers[1].model_.history
    scores = [ranker.predict(valid.features) for ranker in rankers]
    assert (scores[0] == scores[1]).all()
    assert (rankers[0].predict(bins[1]) == scores[0]).all()
    found = [rf.evaluate(rankers[0], data, "ndcg@5") for data in (valid, bins[1])]
    assert str(found[0].table()) == str(found[1].table())


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(make_set(), tmp_path / "train.txt")
    bins = str(tmp_path / "train.bins")
    main(["convert", str(tmp_path / "train.txt"), bins, "--quiet"])
    assert "rows" in capsys.readouterr().out
    main(["train", "--train", bins, "--out", str(tmp_path / "run"), "--trees", "3"])
    main(["predict", "--model", str(tmp_path / "run"), "--data", bins])
    scores = [float(line) for line in capsys.readouterr().out.splitlines()[-make_set().rows :]]
    main(["predict", "--model", str(tmp_path / "run"), "--data", str(tmp_path / "train.txt")])
    assert scores == [float(line) for line in capsys.readouterr().out.splitlines()]


def refused(path: Path, *words: str) -> None:
    with pytest.raises(rf.RankforceError) as caught:
        rf.read(path)
    text = str(caught.value)
    assert str(path) in text
    assert all(word in text for word in words), text


def test_damage_is_noticed(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])
    refused(file, "cut off, or was changed")
    file.write_bytes(whole[: len(whole) // 2])
    refused(file, "cut off, or was changed")
    for place in (5000, len(whole) // 2):
        changed = bytearray(whole)
        changed[place] ^= 1
        file.write_bytes(changed)
        refused(file, "not what was written")
    file.write_bytes(b"2 qid:7 1:0.5\n")
    refused(file, "is no file of bins")
    file.write_bytes(b"")
    refused(file, "is no file of bins")
    head = bytearray(whole)
    head[: PLACE.size] = PLACE.pack(HEAD, 99, *PLACE.unpack(whole[: PLACE.size])[2:])
    file.write_bytes(head)
    refused(file, "version 99", "reads version 1", "make it anew")


def test_a_table_that_is_not_sound_runs_nothing(file: Path) -> None:
    whole = bytearray(file.read_bytes())
    head, version, _, place, size = PLACE.unpack(whole[: PLACE.size])
    table = json.loads(whole[place : place + size])

    def changed(**more: Any) -> bytes:
        text = json.dumps(table | more).encode()
        start = struct.pack(PLACE.format, head, version, zlib.crc32(text), place, len(text))
        return bytes(start + whole[PLACE.size : place] + text)

    for more in ({"arrays": {}}, {"features": None}, {"rows": "many"}, {"rows": 10**9}):
        file.write_bytes(changed(**more))
        refused(file, "is not sound")
    entry = table["arrays"]["labels"]
    for wrong in ({"kind": "O"}, {"shape": [10**12]}, {"place": -4096}, {"sums": []}):
        file.write_bytes(changed(arrays=table["arrays"] | {"labels": entry | wrong}))
        refused(file)


def test_what_does_not_go_is_said(file: Path, tmp_path: Path) -> None:
    with pytest.raises(rf.RankforceError, match="ignore= says what columns are"):
        rf.read(file, ignore=["3"])
    write(make_set(10, seed=1), tmp_path / "valid.parquet")
    with pytest.raises(rf.RankforceError, match=r"expected one of bins \(.bins\)"):
        convert(tmp_path / "valid.parquet", tmp_path / "v.bins", like=tmp_path / "valid.parquet")
    with pytest.raises(rf.RankforceError, match="goes with a target of bins"):
        convert(tmp_path / "valid.parquet", tmp_path / "v.csv", like=file)
    with pytest.raises(rf.RankforceError, match="bins of features, and their values are asked"):
        convert(file, tmp_path / "back.csv")
    assert not (tmp_path / "v.bins").exists()
    assert not (tmp_path / "back.csv").exists()
    (tmp_path / "several").mkdir()
    for name in "ab":
        (tmp_path / "several" / f"{name}.bins").write_bytes(file.read_bytes())
    with pytest.raises(rf.RankforceError, match="a folder of bins is no data set: name one file"):
        rf.read(tmp_path / "several")
    constant = rf.RankingData(np.ones((4, 2)), [0, 1, 0, 1], group=[4])
    with pytest.raises(rf.RankforceError, match="no feature can tell documents apart"):
        write_bins(constant, tmp_path / "c.bins")


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module.os, "posix_fallocate", full)
    with pytest.raises(rf.RankforceError, match="cannot be written: No space left on device"):
        write_bins(make_set(), tmp_path / "a.bins")
    assert not list(tmp_path.iterdir())
