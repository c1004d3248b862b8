"""One small run that the pictures of this folder share."""

from __future__ import annotations

from typing import NamedTuple

import pytest

import rankforce as rf
from rankforce.diagnostics import Curves


class Runs(NamedTuple):
    rankers: dict[str, rf.Ranker]
    curves: dict[str, Curves]


@pytest.fixture(scope="session")
def runs() -> Runs:
    train = rf.make_data("yahoo", queries=30, seed=0)
    valid = rf.make_data("yahoo", queries=20, seed=1)
    rankers, curves = {}, {}
    for name in ("lambdarank-ndcg", "ranknet"):
        recorder = rf.Recorder(
            every=2, metrics="ndcg@5", against=rf.objective("ranknet", source="clicks")
        )
        ranker = rf.Ranker(name, k=5, n_estimators=5, num_leaves=4, progress=False)
        rankers[name] = ranker.fit(
            train,
            eval_set=[valid, train],
            eval_names=["valid", "train"],
            eval_metric=["ndcg@5", "p@3"],
            callbacks=[recorder],
        )
        curves[name] = recorder.curves
    return Runs(rankers, curves)
