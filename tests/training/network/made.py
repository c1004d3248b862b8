"""Small data and networks for tests of what surrounds a trained network."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf

QUERIES, SIZE, COLUMNS = 24, 7, 5
KIND = 2  # the column of codes
SMALL: dict[str, dict[str, Any]] = {
    "linear": {},
    "mlp": {"hidden": [6]},
    "attention": {"hidden": [6], "layers": 1, "heads": 2},
}


def make_data(seed: int = 0) -> rf.RankingData:
    """Labels that some features tell about; one has gaps, one is a category, one is constant."""
    rng = np.random.default_rng(seed)
    rows = QUERIES * SIZE
    labels = rng.integers(0, 4, rows)
    features = rng.normal(size=(rows, COLUMNS)).astype(np.float32)
    features[:, 0] += labels
    features[rng.random(rows) < 0.3, 1] = np.nan
    features[:, KIND] = (labels + rng.integers(0, 2, rows)) % 4
    features[:, 4] = 3.0
    qid = rng.permutation(np.repeat(np.arange(QUERIES), SIZE))  # rows of a list stand anywhere
    return rf.RankingData(features, labels, qid=qid, categorical=[KIND])


def train(model: str, data: rf.RankingData, *, valid: Any = (), **more: Any) -> rf.Ranker:
    """A small network after a few epochs."""
    callbacks = more.pop("callbacks", ())
    given = {"k": 5, "epochs": 3, "learning_rate": 0.05, "progress": False} | SMALL[model] | more
    return rf.Ranker(model=model, **given).fit(data, eval_set=valid, callbacks=callbacks)


def grow(data: rf.RankingData, *, valid: Any = (), **more: Any) -> rf.Ranker:
    """A few small trees."""
    callbacks = more.pop("callbacks", ())
    given = {"k": 5, "n_estimators": 6, "num_leaves": 4, "min_child_samples": 5, "progress": False}
    return rf.Ranker(**given | more).fit(data, eval_set=valid, callbacks=callbacks)
