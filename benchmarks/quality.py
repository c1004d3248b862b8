"""Does the fast setting lose quality? Ours and LightGBM's own, fold by fold, with significance.

    python benchmarks/quality.py --data FOLDER                      # S1.txt.gz .. S5.txt.gz in it
    python benchmarks/quality.py --data FOLDER --seeds 5 --levels 4,32
    python benchmarks/quality.py --data FOLDER --seeds 1 --committees --metric p@10

Fold f trains on parts f, f+1, f+2, stops early on part f+3 and is judged on part f+4, counting
round. Every contender has the same trees, learning rate and truncation; the value of a query is its
mean over seeds. The p-value is that of Fisher's randomisation test on the differences of queries,
two-sided.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm as lgb
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
TREES = {"n_estimators": 500, "learning_rate": 0.05, "num_leaves": 31}


def join(parts: list[rf.RankingData]) -> rf.RankingData:
    return rf.RankingData(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]),
        qid=np.concatenate([part.qid for part in parts]),
    )


def fit_ours(train: rf.RankingData, valid: rf.RankingData, seed: int, **more: Any) -> Any:
    own = {**TREES, "k": 10, "tau": 30, "seed": seed, "progress": False, **more}
    own["seed"] *= 8 if "members" in more else 1  # members have the seeds from there on
    ranker = rf.Ranker("lambdarank-ndcg", **own)
    return ranker.fit(train, eval_set=[valid], eval_metric="ndcg@10", early_stopping_rounds=50)


def fit_xgboost(train: rf.RankingData, valid: rf.RankingData, seed: int) -> Any:
    import xgboost

    ranker = xgboost.XGBRanker(
        n_estimators=500, early_stopping_rounds=50, eval_metric="ndcg@10", seed=seed, n_jobs=2
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


def fit_catboost(train: rf.RankingData, valid: rf.RankingData, seed: int) -> Any:
    import catboost

    ranker = catboost.CatBoostRanker(
        iterations=500, early_stopping_rounds=50, random_seed=seed, thread_count=2, verbose=False
    )
    pools = [
        catboost.Pool(
            one.features, one.labels, group_id=np.repeat(range(len(one.sizes)), one.sizes)
        )
        for one in (train, valid)
    ]
    ranker.fit(pools[0], eval_set=pools[1])
    return Peer(ranker, ranker.get_best_iteration() + 1)


class Peer(NamedTuple):
    ranker: Any
    best_iteration_: int

    def predict(self, features: Any) -> Any:
        return self.ranker.predict(features)


def fit_lightgbm(train: rf.RankingData, valid: rf.RankingData, seed: int, **more: Any) -> Any:
    # Its own seed changes nothing without sampling: the order of rows in a query does, so shuffle.
    order = shuffle(train, seed)
    ranker = lgb.LGBMRanker(**TREES, lambdarank_truncation_level=30, verbose=-1, seed=seed, **more)
    return ranker.fit(
        train.features[order],
        train.labels[order],
        group=train.group,
        eval_set=[(valid.features, valid.labels)],
        eval_group=[valid.group],
        eval_metric="ndcg",
        eval_at=[10],
        callbacks=[lgb.early_stopping(50, verbose=False)],
    )


def fit_auto(train: rf.RankingData, valid: rf.RankingData, seed: int, budget: str) -> Any:
    # It has folds of its own, and nothing that must be held out for stopping.
    return rf.auto(join([train, valid]), budget=budget, seed=seed, progress=False).ranker


def shuffle(data: rf.RankingData, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    number = np.repeat(np.arange(len(data.sizes)), data.sizes)
    return np.lexsort((rng.random(data.rows), number))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder with S1.txt.gz ...")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--levels", default="", help="levels of quantised forces to try as well")
    parser.add_argument("--max-bin", default="", help="numbers of bins to try as well")
    parser.add_argument("--step", default="", help="steps to try as well, with commas")
    parser.add_argument("--committees", action="store_true", help="and the peers that they beat")
    parser.add_argument("--auto", metavar="BUDGET", help="rf.auto in that time as well, as 5m")
    parser.add_argument("--metric", default="ndcg@10", help="of the tables, with commas")
    parser.add_argument("--baseline", default="LightGBM", help="what the others are tested against")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    contenders: dict[str, Any] = {
        "LightGBM": (fit_lightgbm, {}),
        "rankforce": (fit_ours, {}),
        "rankforce, plain": (fit_ours, {"quantised": False}),
    }
    if options.committees:
        contenders |= {
            "XGBoost": (fit_xgboost, {}),
            "CatBoost YetiRank": (fit_catboost, {}),
            "one, 12 leaves": (fit_ours, {**SMALL, **BAGS}),
            "committee of 8": (fit_ours, {**SMALL, "members": 8}),
            "committee of 8 objectives": (fit_ours, {**SMALL, "members": EIGHT}),
        }
    if options.auto:
        contenders[f"auto, {options.auto}"] = (fit_auto, {"budget": options.auto})
    metrics = [rf.metric(name) for name in options.metric.split(",")]
    for levels in filter(None, options.levels.split(",")):
        contenders[f"rankforce, {levels} levels"] = (fit_ours, {"quantised_levels": int(levels)})
    for bins in filter(None, options.max_bin.split(",")):
        contenders[f"rankforce, {bins} bins"] = (fit_ours, {"max_bin": int(bins)})
    for step in filter(None, options.step.split(",")):
        contenders[f"rankforce, {step}"] = (fit_ours, {"step": step})
    parts = [rf.read(options.data / f"S{number}.txt.gz") for number in range(1, 6)]
    values: dict[str, list[Any]] = {name: [] for name in contenders}
    seconds = dict.fromkeys(contenders, 0.0)
    trees = dict.fromkeys(contenders, 0)
    for fold in range(options.folds):
        train = join([parts[(fold + i) % 5] for i in range(3)])
        valid, test = parts[(fold + 3) % 5], parts[(fold + 4) % 5]
        for name, (fit, more) in contenders.items():
            per_seed = []
            for seed in range(options.seeds):
                start = time.perf_counter()
                ranker = fit(train, valid, seed, **more)
                seconds[name] += time.perf_counter() - start
                trees[name] += ranker.best_iteration_
                scores = ranker.predict(test.features)
                per_seed.append([one(scores, test.labels, qid=test.qid) for one in metrics])
            values[name].append(np.mean(per_seed, axis=0))
    records = []
    for number, metric in enumerate(metrics):
        per_query = {
            name: np.concatenate([fold[number] for fold in folds]) for name, folds in values.items()
        }
        found = rf.compare_values(
            per_query,
            metric=metric,
            baseline=options.baseline,
            correction="none",
            resamples=20_000,
        )
        records.append(found.record())
        print(f"{options.data.name}, {options.seeds} seeds\n\n{found}\n")
    runs = options.folds * options.seeds
    for name in values:
        print(f"{name:28}{trees[name] / runs:6.0f} trees{seconds[name] / runs:8.2f} s/fit")
    if options.json:
        Path(options.json).write_text(json.dumps(records, indent=2))


if __name__ == "__main__":
    main()
