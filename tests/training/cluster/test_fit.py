"""A ranker that two worker processes train is the one that one machine trains."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankforce as rf
from rankforce.data.binned import make_bins
from tests.training.cluster.small import (
    FEATURES,
    SETTINGS,
    as_data,
    check_same,
    fit_alone,
    make_frame,
    write_folder,
)

pytestmark = pytest.mark.slow  # CI runs it

distributed = pytest.importorskip("distributed")
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
    labels, qid = VALID["label"].to_numpy(), VALID["qid"].to_numpy()
    first, second = (
        rf.metric("ndcg@5")(one.predict(VALID[FEATURES]), labels, qid=qid)
        for one in (ranker, alone)
    )
    noise = np.std(first - second) / np.sqrt(len(first))
    assert abs(np.mean(first - second)) <= 2.0 * noise
    assert np.mean(first) > 0.7


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


@pytest.mark.slow
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


def test_a_rerun_goes_on_with_any_number_of_workers(client: Any, tmp_path: Path) -> None:
    frames = dd.from_pandas(TRAIN, npartitions=3), dd.from_pandas(VALID, npartitions=1)

    def fit(trees: int, cluster: Any) -> rf.Ranker:
        given = SETTINGS | {"n_estimators": trees, "checkpoint": tmp_path / "part"}
        return rf.Ranker(**given, cluster=cluster).fit(frames[0], eval_set=[frames[1]], **WATCH)

    fit(5, client)
    how = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as other:
        check_same(fit(8, other), fit_alone(TRAIN, VALID))


@pytest.mark.slow
def test_places_are_those_of_the_client(
    client: Any, alone: rf.Ranker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint and a base by names that are relative to where the client is."""
    monkeypatch.chdir(tmp_path)
    given = SETTINGS | {"n_estimators": 3, "cluster": client}
    rf.Ranker(**given, checkpoint="part").fit(as_data(TRAIN))
    assert len(rf.load(tmp_path / "part").model_.trees) == 3
    more = rf.Ranker(**given, base="part").fit(as_data(TRAIN))
    assert len(more.model_.trees) == 6


@pytest.mark.slow
def test_columns_of_categories(client: Any, tmp_path: Path) -> None:
    """Values that only some of the files have get the same codes at all workers."""
    frame = TRAIN.assign(shop=np.where(TRAIN["qid"] < 30, "a", "b"))
    frame.loc[::3, "shop"] = "c"
    frame["shop"] = frame["shop"].astype("category")
    folder = write_folder(frame, tmp_path / "train", 4)
    ranker = rf.Ranker(**SETTINGS, cluster=client).fit(folder, eval_set=[folder], **WATCH)
    assert sorted(ranker.model_.categories[len(FEATURES)]) == ["a", "b", "c"]
    assert ranker.evals_result_["training"]["ndcg@5"][-1] > 0.7


@pytest.mark.slow
def test_settings_and_columns(client: Any) -> None:
    """Sampling, early stopping, weights, scores to start from: as on one machine."""
    draws = np.random.default_rng(0).random((2, len(TRAIN)))
    given = {"weight": draws[0], "init_score": draws[1], "feature_names": FEATURES}
    settings = SETTINGS | {"n_estimators": 60, "subsample": 0.6, "subsample_by": "query"}
    settings |= {"colsample_bytree": 0.5, "objective": "lambdagap-x+", "seed": 3}
    few = as_data(VALID[VALID["qid"] < 1003]), as_data(VALID)

    def fit(features: Any, **more: Any) -> rf.Ranker:
        data = rf.RankingData(features, TRAIN["label"], qid=TRAIN["qid"], **given)
        return rf.Ranker(**settings, **more).fit(
            data, eval_set=few, eval_metric=best_label, early_stopping_rounds=3
        )

    together = fit(as_data(TRAIN).features, cluster=client)
    alone = fit(make_bins(as_data(TRAIN).features, seed=3))
    check_same(together, alone)
    assert len(together.model_.trees) < 60
    assert together.best_iteration_ == alone.best_iteration_


def best_label(scores: Any, labels: Any) -> float:
    return float(labels[np.argmax(scores)])


def test_from_the_command_line(
    client: Any, alone: rf.Ranker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rankforce.cli import main

    folder = write_folder(TRAIN, tmp_path / "train", 3)
    other = write_folder(VALID, tmp_path / "valid", 1)
    told = ["--metric", "ndcg@5", "--trees", "8", "--num-leaves", "7", "--learning-rate", "0.2"]
    told += ["-k", "5", "--set", "min_child_samples=5", "--quiet"]
    told += ["--dask", client.scheduler.address, "--out", str(tmp_path / "run")]
    told += ["--train", str(folder), "--valid", str(other)]
    assert main(["train", *told]) == 0
    assert "valid_0  ndcg@5" in capsys.readouterr().out
    check_same(rf.load(tmp_path / "run"), alone)
