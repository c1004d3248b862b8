"""Small data sets, and rankers on them, that several tests share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rankforce as rf
from rankforce.data.binned import make_bins

SETTINGS: dict[str, Any] = {"n_estimators": 8, "num_leaves": 7, "learning_rate": 0.2, "k": 5}
SETTINGS |= {"min_child_samples": 5, "threads": 1, "progress": False}
FEATURES = [f"f{number}" for number in range(6)]


def make_frame(queries: int = 60, *, seed: int = 0, first: int = 0) -> pd.DataFrame:
    """Rows of queries that stand one behind the other, some with values that are missing."""
    draw = np.random.default_rng(seed)
    sizes = draw.integers(5, 25, queries)
    rows = int(sizes.sum())
    values = draw.normal(size=(rows, len(FEATURES))).astype(np.float32)
    worth = values[:, 0] + 0.5 * values[:, 1] + draw.normal(size=rows) * 0.7
    values[draw.random(rows) < 0.1, 3] = np.nan
    frame = pd.DataFrame(values, columns=FEATURES)
    frame.insert(0, "label", np.digitize(worth, [0.5, 1.2, 1.8]).astype(np.float64))
    frame.insert(1, "qid", np.repeat(np.arange(first, first + queries), sizes))
    return frame


def as_data(frame: pd.DataFrame) -> rf.RankingData:
    return rf.RankingData.from_frame(frame)


def in_bins(frame: pd.DataFrame, *, seed: int = 0) -> rf.RankingData:
    """The same rows, their features in the bins that a cluster finds."""
    data = as_data(frame)
    return rf.RankingData(
        make_bins(data.features, seed=seed), data.labels, qid=data.qid, feature_names=FEATURES
    )


def fit_alone(train: pd.DataFrame, valid: pd.DataFrame, **settings: Any) -> rf.Ranker:
    """The model of one machine on the same bins."""
    ranker = rf.Ranker(**SETTINGS | settings)
    return ranker.fit(in_bins(train), eval_set=[as_data(valid)], eval_metric="ndcg@5")


def write_folder(frame: pd.DataFrame, folder: Path, files: int) -> Path:
    """The rows as so many Parquet files of whole queries."""
    folder.mkdir()
    for number, queries in enumerate(np.array_split(frame["qid"].unique(), files)):
        part = frame[frame["qid"].isin(queries)]
        part.to_parquet(folder / f"part-{number}.parquet", index=False)
    return folder


def check_same(one: rf.Ranker, other: rf.Ranker) -> None:
    """The same trees, to the last bit, and the same history."""
    for a, b in zip(one.model_.trees, other.model_.trees, strict=True):
        for name in ("feature", "threshold", "rule", "left", "right", "leaf_value"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert one.evals_result_ == other.evals_result_
