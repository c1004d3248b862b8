"""Time of a tree that sees part of the data, of a fit on little data, and of a committee.

    python benchmarks/trees.py                              # 613,000 documents, 136 features
    python benchmarks/trees.py --queries 500 --rounds 5
    python benchmarks/trees.py --small FOLDER               # S1.txt.gz .. S4.txt.gz in it

All contenders take turns in one process, one tree or one fit each, so that whatever the machine
does, it does to all; the median over the rounds counts, and of the ratios in each round. Sampled
trees see 70 % of the rows and half of the columns.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from contenders import join

import rankforce as rf
from rankforce.engines.base import open_engine
from rankforce.training.settings import make_settings

PROMISED = {"sampled tree": 0.6, "small fit": 1.0, "committee of 8": 4.0}
BAGS = {"subsample": 0.7, "subsample_freq": 1, "colsample_bytree": 0.5}


def take_turns(contenders: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Any]:
    """Seconds of each contender in each round; the first round is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, work in contenders.items():
            begun = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - begun)
    return {name: np.array(found[1:]) for name, found in seconds.items()}


class Grower:
    """One engine with some settings, which grows another tree when it is called."""

    def __init__(self, data: rf.RankingData, engine: str, threads: int, **more: Any) -> None:
        rng = np.random.default_rng(0)
        self.lam = data.labels - data.labels.mean() + rng.normal(size=data.rows)
        self.hess = rng.exponential(size=data.rows)
        self.keys = rng.integers(2**63, size=data.rows).astype(np.uint64)
        settings = make_settings(more)
        self.rows = None
        if more:
            bag = rng.random(data.rows) < settings.subsample
            self.rows = np.flatnonzero(bag).astype(np.int32)
            self.lam, self.hess = self.lam * bag, self.hess * bag
        self.engine = open_engine(
            engine,
            data.features,
            feature_names=data.feature_names,
            categorical=[],
            parameters=settings.engine_parameters(),
            seed=0,
            threads=threads,
        )
        self.trees = 0

    def __call__(self) -> None:
        self.engine.grow(self.lam, self.hess, self.trees, self.keys, self.rows)
        self.trees += 1


def time_trees(options: argparse.Namespace) -> dict[str, Any]:
    data = rf.make_data("mslr", queries=options.queries)
    print(f"{data}, 31 leaves, {options.threads} threads")
    engines = {"lightgbm": "LightGBM's", "histogram": "ours"}
    growers = {
        f"{whose}, {what}": Grower(data, engine, options.threads, **more)
        for engine, whose in engines.items()
        for what, more in (("whole", {}), ("sampled", BAGS))
    }
    return take_turns(growers, options.rounds)


def time_fits(options: argparse.Namespace) -> dict[str, Any]:
    parts = [rf.read(options.small / f"S{number}.txt.gz") for number in (1, 2, 3, 4)]
    train, valid = join(parts[:3]), parts[3]
    print(f"{train}, {options.trees} trees, {options.threads} threads")
    usual = {"n_estimators": options.trees, "learning_rate": 0.05, "num_leaves": 31}

    def fit_lightgbm() -> None:
        ranker = lgb.LGBMRanker(
            **usual, lambdarank_truncation_level=30, verbose=-1, n_jobs=options.threads
        )
        sets = {"eval_set": [(valid.features, valid.labels)], "eval_group": [valid.group]}
        ranker.fit(train.features, train.labels, group=train.group, **sets, eval_at=[10])

    def fit_ours(**more: Any) -> None:
        ranker = rf.Ranker(k=10, tau=30, **usual, threads=options.threads, progress=False, **more)
        ranker.fit(train, eval_set=[valid], eval_metric="ndcg@10")

    contenders = {
        "LightGBM": fit_lightgbm,
        "one ranker": fit_ours,
        "committee of 8": lambda: fit_ours(members=8),
    }
    return take_turns(contenders, options.rounds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--trees", type=int, default=100, help="of a fit on little data")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", type=Path, metavar="FOLDER", help="little data to fit, too")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # LightGBM's about its own names
    found = time_trees(options)
    ratios = {"sampled tree": ("ours, sampled", "LightGBM's, whole")}
    if options.small is not None:
        found |= time_fits(options)
        ratios |= {
            "small fit": ("one ranker", "LightGBM"),
            "committee of 8": ("committee of 8", "one ranker"),
        }
    for name, seconds in found.items():
        print(f"{name:22s} {np.median(seconds) * 1e3:8.1f} ms")
    told = {}
    for name, (one, other) in ratios.items():
        told[name] = float(np.median(found[one] / found[other]))
        print(f"{name}: {told[name]:.2f} of {other} (at most {PROMISED[name]})")
    if options.json:
        medians = {name: float(np.median(seconds)) for name, seconds in found.items()}
        Path(options.json).write_text(json.dumps({"seconds": medians, "ratios": told}, indent=1))


if __name__ == "__main__":
    main()
