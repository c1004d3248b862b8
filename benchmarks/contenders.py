"""Who takes part in benchmarks of quality: this toolkit, LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import rankforce as rf

EIGHT = [  # objectives that make different mistakes
    {"objective": "lambdarank-ndcg", "k": 10, "tau": 10},
    {"objective": "lambdarank-ndcg", "k": 10, "tau": 30},
    {"objective": "lambdarank-ndcg", "k": 10, "tau": float("inf")},
    {"objective": "lambdamart-ex random", "k": 10},
    "lambdarank(map)",
    "lambdarank(err)",
    "ranknet",
    {"objective": "lambdagap-s+", "k": 10},
]
BAGS = {
    "subsample": 0.7,
    "subsample_by": "query",
    "subsample_freq": 1,
    "colsample_bytree": 0.5,
}
SMALL = {"num_leaves": 12, "min_child_samples": 50}
# Without early stopping: a member that overfits does a committee no harm.
WHOLE = {"n_estimators": 300, "learning_rate": 0.05, "num_leaves": 7, "min_child_samples": 50}
TREES = {"n_estimators": 500, "learning_rate": 0.05, "num_leaves": 31}
PATIENCE = 50  # trees without gain on the validation queries, after which a contender stops


class Contender(NamedTuple):
    """How to fit a ranker: `fit(train, valid, seed, threads, **more)`."""

    fit: Callable[..., Any]
    more: dict[str, Any] = {}  # noqa: RUF012 - never changed


def join(parts: Sequence[rf.RankingData]) -> rf.RankingData:
    return rf.RankingData(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
    )


class Peer(NamedTuple):
    ranker: Any
    best_iteration_: int

    def predict(self, features: Any) -> Any:
        return self.ranker.predict(features)


def fit_ours(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, **more: Any
) -> Any:
    own = {**TREES, "k": 10, "tau": 30, "seed": seed, "progress": False, "threads": threads, **more}
    own["seed"] *= 8 if "members" in more else 1  # members have the seeds from there on
    ranker = rf.Ranker("lambdarank-ndcg", **own)
    return ranker.fit(
        train, eval_set=[valid], eval_metric="ndcg@10", early_stopping_rounds=PATIENCE
    )


def fit_alone(
    train: rf.RankingData,
    valid: rf.RankingData,
    seed: int,
    threads: int,
    *,
    both: bool = False,
    **more: Any,
) -> Any:
    """All trees: validation queries stop nothing, so that `both` may train on them as well."""
    train = join([train, valid]) if both else train
    own = {"k": 10, "seed": seed, "progress": False, "threads": threads, **more}
    own["seed"] *= 8 if "members" in more else 1  # members have the seeds from there on
    ranker = rf.Ranker(**own).fit(train)
    return Peer(ranker, ranker.n_estimators_)


def fit_auto(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, *, budget: str
) -> Any:
    """`rf.auto` has folds of its own: it gets all queries, and holds none out for stopping."""
    found = rf.auto(join([train, valid]), budget=budget, seed=seed, threads=threads, progress=False)
    return Peer(found.ranker, found.ranker.n_estimators_)


def fit_lightgbm(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, **more: Any
) -> Any:
    import lightgbm as lgb

    # Its own seed changes nothing without sampling: the order of rows in a query does, so shuffle.
    order = shuffle(train, seed)
    own = {**TREES, "lambdarank_truncation_level": 30, "verbose": -1, "n_jobs": threads, **more}
    ranker = lgb.LGBMRanker(**own, seed=seed)
    return ranker.fit(
        train.features[order],
        train.labels[order],
        group=train.group,
        eval_set=[(valid.features, valid.labels)],
        eval_group=[valid.group],
        eval_metric="ndcg",
        eval_at=[10],
        callbacks=[lgb.early_stopping(PATIENCE, verbose=False)],
    )


def shuffle(data: rf.RankingData, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    return np.lexsort((rng.random(data.rows), number))


def fit_xgboost(train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int) -> Any:
    import xgboost

    ranker = xgboost.XGBRanker(
        n_estimators=TREES["n_estimators"],
        early_stopping_rounds=PATIENCE,
        eval_metric="ndcg@10",
        seed=seed,
        n_jobs=threads,
    )
    ranker.fit(
        train.features,
        train.labels,
        group=train.group,
        eval_set=[(valid.features, valid.labels)],
        eval_group=[valid.group],
        verbose=False,
    )
    return Peer(ranker, ranker.best_iteration + 1)


def fit_catboost(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, *, stops: bool = True
) -> Any:
    import catboost

    ranker = catboost.CatBoostRanker(
        iterations=TREES["n_estimators"],
        early_stopping_rounds=PATIENCE if stops else None,
        random_seed=seed,
        thread_count=threads,
        verbose=False,
        allow_writing_files=False,
    )
    pools = [
        catboost.Pool(
            one.features, one.labels, group_id=np.repeat(range(len(one.sizes)), one.sizes)
        )
        for one in (train, valid)
    ]
    ranker.fit(pools[0], eval_set=pools[1] if stops else None)
    return Peer(ranker, ranker.tree_count_)
