"""Small sets and small networks, with all settings said that have tuned defaults."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import rankforce as rf

COLUMNS = 6
SAID: dict[str, Any] = {
    "epochs": 4,
    "batch_size": 60,
    "learning_rate": 0.03,
    "weight_decay": 0.01,
    "noise": 0.0,
    "scaling": "standard",
    "norm": "none",
    "optimiser": "adamw",
    "warmup": 0.1,
    "clip": 1.0,
    "threads": 1,
    "progress": False,
}
HIDDEN: dict[str, Any] = {"hidden": [8, 4], "dropout": 0.2}
KINDS: dict[str, dict[str, Any]] = {
    "linear": {"model": "linear"},
    "mlp": {"model": "mlp"} | HIDDEN,
    "attention": {"model": "attention", "layers": 2, "heads": 2} | HIDDEN,
}
SGD: dict[str, Any] = {"model": "linear", "optimiser": "sgd", "learning_rate": 0.01}


def make_small(
    queries: int = 30, *, seed: int = 0, columns: int = COLUMNS, longest: int = 14
) -> rf.RankingData:
    """Queries of 1 to 14 documents, whose grades follow from two of the features."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, queries)
    features = rng.normal(size=(sizes.sum(), columns)).astype(np.float32)
    signal = features[:, 0] + features[:, 1] ** 2 + 0.3 * rng.normal(size=len(features))
    labels = np.clip(np.round(signal), 0, 4)
    qid = np.repeat(rng.permutation(1000)[:queries], sizes)
    return rf.RankingData(features, labels, qid=qid)


TRAIN = make_small(seed=1)
VALID = make_small(20, seed=2)
X, Y, QID = TRAIN.features, TRAIN.labels, TRAIN.qid


def ranker(kind: Any = "linear", **given: Any) -> rf.Ranker:
    """A small ranker of a kind, or around a module."""
    own = KINDS[kind] if isinstance(kind, str) else {"model": kind}
    return rf.Ranker(**SAID | own | given)


def weights(one: rf.Ranker) -> dict[str, NDArray[Any]]:
    """The weights that make the scores."""
    states: dict[int, dict[str, NDArray[Any]]] = one.model_.scorer.states
    return states[one.model_.used]


def same_weights(one: rf.Ranker, other: rf.Ranker) -> bool:
    """Bit for bit."""
    mine, theirs = weights(one), weights(other)
    return mine.keys() == theirs.keys() and all(
        values.tobytes() == theirs[name].tobytes() for name, values in mine.items()
    )
