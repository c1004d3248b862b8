"""Small trained rankers and data whose texts try to be markup."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf

ALERT = "<script>alert(1)</script>"
# What could end an element, an attribute, a string or a line.
EVIL = [
    ALERT,
    "</script><img src=x onerror=alert(2)>",
    "a&amp;b",
    "\"'`",
    "two\u2028lines",
    "@@DATA@@",
]
QUERIES, SIZE, COLUMNS = 30, 9, 26


def make_data(seed: int = 0, *, evil: bool = False) -> rf.RankingData:
    """Queries with grades that the features tell something about; ids are text."""
    rng = np.random.default_rng(seed)
    rows = QUERIES * SIZE
    labels = rng.integers(0, 5, rows)
    told = np.concatenate([[0.6, 0.3, 0.1], np.zeros(COLUMNS - 3)])
    features = rng.normal(size=(rows, COLUMNS)) + labels[:, None] * told
    ids = [f"q{query}" for query in range(QUERIES)]
    documents = [f"d{row}" for row in range(rows)]
    names = [f"feature {column}" for column in range(COLUMNS)]
    if evil:
        ids[: len(EVIL)] = EVIL
        documents = [EVIL[row % len(EVIL)] + str(row) for row in range(rows)]
        names[: len(EVIL)] = EVIL
    return rf.RankingData(
        features, labels, qid=np.repeat(ids, SIZE), doc_ids=documents, feature_names=names
    )


def train(
    name: Any, data: rf.RankingData, valid: rf.RankingData | None = None, **more: Any
) -> rf.Ranker:
    """A ranker of few small trees."""
    callbacks = more.pop("callbacks", ())
    given = {"n_estimators": 12, "num_leaves": 4, "min_child_samples": 5, "k": 5} | more
    ranker = rf.Ranker(name, progress=False, **given)
    sets = [] if valid is None else [valid]
    return ranker.fit(data, eval_set=sets, eval_metric=["ndcg@5", "p@5"], callbacks=callbacks)
