"""A ranker that two worker processes train is the one that one machine trains."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf
from tests.training.cluster.small import (
    FEATURES,
    SETTINGS,
    as_data,
    check_same,
    fit_alone,
    make_frame,
    write_folder,
)

dd = pytest.importorskip("dask.dataframe")
da = pytest.importorskip("dask.array")

TRAIN, VALID = make_frame(60, seed=1), make_frame(20, seed=2, first=1000)
WATCH: dict[str, Any] = {"eval_metric": "ndcg@5"}


@pytest.fixture(scope="module")
def alone() -> rf.Ranker:
    return fit_alone(TRAIN, VALID)


def test_data_in_memory(client: Any, alone: rf.Ranker, tmp_path: Path) -> None:
    ranker = rf.Ranker(**SETTINGS, cluster=client)
    ranker.fit(as_data(TRAIN), eval_set=[as_data(VALID)], **WATCH)
    check_same(ranker, alone)
    ranker.save(tmp_path / "run")
    again = rf.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict(VALID[FEATURES]), ranker.predict(VALID[FEATURES]))
    assert "cluster" not in (tmp_path / "run/manifest.json").read_text()


def test_lightgbm_is_as_good(client: Any) -> None:
    """Its learner for several machines guesses how many rows a leaf has, so that trees differ."""
    ranker = rf.Ranker(**SETTINGS | {"n_estimators": 20}, engine="lightgbm", cluster=client)
    ranker.fit(as_data(TRAIN), eval_set=[as_data(VALID)], **WATCH)
    alone = fit_alone(TRAIN, VALID, engine="lightgbm", n_estimators=20)
    tests = rf.compare(
        {"cluster": ranker.predict(as_data(VALID)), "alone": alone.predict(as_data(VALID))},
        VALID["label"].to_numpy(),
        qid=VALID["qid"].to_numpy(),
        metric="ndcg@5",
    )
    print(tests)
    first, second = (one.evals_result_["valid_0"]["ndcg@5"][-1] for one in (ranker, alone))
    assert abs(first - second) < 0.05, (first, second)


def test_a_dask_frame_with_queries_cut_in_two(
    client: Any, alone: rf.Ranker, caplog: pytest.LogCaptureFixture
) -> None:
    frame = dd.from_pandas(TRAIN, npartitions=7)
    ranker = rf.Ranker(**SETTINGS | {"progress": None}, cluster=client)
    with caplog.at_level(logging.INFO, logger="rankforce"):
        ranker.fit(frame, eval_set=[as_data(VALID)], **WATCH)
    check_same(ranker, alone)
    assert any("queries move to the block" in line for line in caplog.messages)
    assert any(line.startswith("tree 8/8") for line in caplog.messages)


def test_dask_arrays(client: Any, alone: rf.Ranker) -> None:
    def arrays(frame: pd.DataFrame, rows: int) -> tuple[Any, Any, Any]:
        features = da.from_array(frame[FEATURES].to_numpy(), chunks=(rows, 2))
        label, qid = (da.from_array(frame[name].to_numpy(), rows // 2) for name in ("label", "qid"))
        return features, label, qid

    X, y, qid = arrays(TRAIN, 200)
    X_valid, y_valid, qid_valid = arrays(VALID, 90)
    ranker = rf.Ranker(**SETTINGS, cluster=client)
    ranker.fit(X, y, qid=qid, eval_set=[(X_valid, y_valid)], eval_qid=[qid_valid], **WATCH)
    check_same(ranker, alone)
    assert ranker.model_.feature_names == [f"Column_{number}" for number in range(len(FEATURES))]


def test_a_folder_of_files(client: Any, alone: rf.Ranker, tmp_path: Path) -> None:
    folder = write_folder(TRAIN, tmp_path / "train", 5)
    other = write_folder(VALID, tmp_path / "valid", 2)
    ranker = rf.Ranker(**SETTINGS, cluster=client).fit(folder, eval_set=[str(other)], **WATCH)
    check_same(ranker, alone)
    ranker = rf.Ranker(**SETTINGS, cluster=client).fit(
        rf.read(folder), eval_set=[as_data(VALID)], **WATCH
    )
    check_same(ranker, alone)


def test_from_the_command_line(
    client: Any, alone: rf.Ranker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankforce.cli import main

    folder = write_folder(TRAIN, tmp_path / "train", 3)
    VALID.to_parquet(tmp_path / "valid.parquet", index=False)
    told = ["--metric", "ndcg@5", "--trees", "8", "--num-leaves", "7", "--learning-rate", "0.2"]
    told += ["-k", "5", "--set", "min_child_samples=5", "--quiet"]
    told += ["--dask", client.scheduler.address, "--out", str(tmp_path / "run")]
    told += ["--train", str(folder), "--valid", str(tmp_path / "valid.parquet")]
    assert main(["train", *told]) == 0
    assert "valid_0  ndcg@5" in capsys.readouterr().out
    check_same(rf.load(tmp_path / "run"), alone)
