"""Seconds per tree, peak memory and quality beside LightGBM, XGBoost and CatBoost.

    python benchmarks/training.py                       # 722,000 documents, 200 leaves, 2 threads
    python benchmarks/training.py --queries 500 --trees 10 --only rankforce,lightgbm
    python benchmarks/training.py --only together       # small trainings at once (together.py)
    python benchmarks/training.py --json result.json

Every contender runs in a process of its own on the same arrays, and they take turns. A tree's time
is the time between two calls of a callback, so reading and binning are not in it; the median of a
process counts, and of all rounds the best: machines are shared and noisy, and noise only ever adds.
Memory is the peak of the whole process, the interpreter and its libraries included.

What is promised about time is measured in one more process for each truncation, where LightGBM and
rankforce grow their trees in turn, one each: whatever the machine does, it does to both. There the
median over the trees of the ratio counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from together import report_together, run_together
from versions import installed

# "mslr" queries that have 722 k documents.
QUERIES = 5_890
NO_TRUNCATION = 1_000_000
# At most this share of LightGBM's seconds per tree, and of its peak memory.
PROMISED = {"tau 8": 0.5, "no tau": 0.45}
PROMISED_MEMORY = 1.1
PAUSE = 0.03  # seconds until the other's threads have stopped waiting for work


class Clock:
    """Remembers when trees were done."""

    def __init__(self) -> None:
        self.times: list[float] = []

    def __call__(self, *_: Any) -> None:
        self.times.append(time.perf_counter())

    def after_iteration(self, *_: Any) -> bool:
        """CatBoost's way of calling back; True goes on."""
        self()
        return True

    @property
    def seconds(self) -> float:
        """Median seconds of a tree, the first two left out."""
        steps = np.diff(self.times)[1:]
        return float(statistics.median(steps))


Fit = Callable[[Any, dict[str, Any], Clock], Callable[[Any], Any]]


def make_ranker(options: dict[str, Any]) -> Any:
    import rankforce as rf

    tau = float("inf") if options["tau"] >= NO_TRUNCATION else options["tau"]
    return rf.Ranker(
        "lambdarank-ndcg",
        k=10,
        tau=tau,
        n_estimators=options["trees"],
        num_leaves=options["leaves"],
        threads=options["threads"],
        learning_rate=0.05,
        progress=False,
    )


def fit_rankforce(data: Any, options: dict[str, Any], clock: Clock) -> Callable[[Any], Any]:
    ranker = make_ranker(options)
    ranker.fit(data["X"], data["y"], group=data["group"], callbacks=[clock])
    return ranker.predict


def run_in_turn(folder: Path, options: dict[str, Any]) -> dict[str, float]:
    """A tree of ours, a tree of LightGBM's, and again."""
    import lightgbm as lgb

    data = {key: np.load(folder / f"{key}.npy") for key in ("X", "y", "group")}
    params = {"objective": "lambdarank", "lambdarank_truncation_level": options["tau"]}
    params |= {"num_leaves": options["leaves"], "num_threads": options["threads"]}
    params |= {"learning_rate": 0.05, "verbose": -1}
    dataset = lgb.Dataset(data["X"], data["y"], group=data["group"], params=params)
    peer = lgb.Booster(params, dataset)
    ours, theirs, started = [], [], [0.0]

    def take_turn(_: Any) -> None:
        ours.append(time.perf_counter() - started[0])
        time.sleep(PAUSE)
        start = time.perf_counter()
        peer.update()
        theirs.append(time.perf_counter() - start)
        time.sleep(PAUSE)
        started[0] = time.perf_counter()

    ranker = make_ranker(options)
    ranker.fit(data["X"], data["y"], group=data["group"], callbacks=[take_turn])
    # The first of ours counts from nowhere, and LightGBM's first two try out its memory layouts.
    pairs = np.array([ours[3:], theirs[2:-1]])
    ratio = float(np.median(pairs[0] / pairs[1]))
    return {
        "rankforce": float(np.median(pairs[0])),
        "LightGBM": float(np.median(pairs[1])),
        "ratio": ratio,
    }


def fit_lightgbm(data: Any, options: dict[str, Any], clock: Clock) -> Callable[[Any], Any]:
    import lightgbm as lgb

    ranker = lgb.LGBMRanker(
        n_estimators=options["trees"],
        num_leaves=options["leaves"],
        n_jobs=options["threads"],
        learning_rate=0.05,
        lambdarank_truncation_level=options["tau"],
        verbose=-1,
    )
    ranker.fit(data["X"], data["y"], group=data["group"], callbacks=[clock])
    return lambda X: ranker.predict(X)


def fit_xgboost(data: Any, options: dict[str, Any], clock: Clock) -> Callable[[Any], Any]:
    import xgboost as xgb

    class Callback(xgb.callback.TrainingCallback):
        def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
            clock()
            return False

    ranker = xgb.XGBRanker(
        objective="rank:ndcg",
        n_estimators=options["trees"],
        max_leaves=options["leaves"],
        max_depth=0,
        grow_policy="lossguide",
        tree_method="hist",
        n_jobs=options["threads"],
        learning_rate=0.05,
        lambdarank_pair_method="topk",
        lambdarank_num_pair_per_sample=min(options["tau"], 10_000),
        callbacks=[Callback()],
    )
    ranker.fit(data["X"], data["y"], group=data["group"])
    return lambda X: ranker.predict(X)


def fit_catboost(data: Any, options: dict[str, Any], clock: Clock) -> Callable[[Any], Any]:
    import catboost

    ranker = catboost.CatBoostRanker(
        loss_function="YetiRank",
        iterations=options["trees"],
        grow_policy="Lossguide",
        max_leaves=options["leaves"],
        depth=16,
        thread_count=options["threads"],
        learning_rate=0.05,
        verbose=False,
        allow_writing_files=False,
    )
    qid = np.repeat(np.arange(len(data["group"])), data["group"])
    ranker.fit(data["X"], data["y"], group_id=qid, callbacks=[clock])
    return lambda X: ranker.predict(X)


CONTENDERS: dict[str, tuple[Fit, int]] = {
    "LightGBM, tau 8": (fit_lightgbm, 8),
    "rankforce, tau 8": (fit_rankforce, 8),
    "XGBoost, tau 8": (fit_xgboost, 8),
    "LightGBM, no tau": (fit_lightgbm, NO_TRUNCATION),
    "rankforce, no tau": (fit_rankforce, NO_TRUNCATION),
    "CatBoost YetiRank": (fit_catboost, 0),
}


def peak_megabytes() -> float:
    """Peak of this process. Linux's ru_maxrss would include the parent's before the fork."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(x for x in status.read_text().splitlines() if x.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # bytes on macOS


def run_one(name: str, folder: Path, options: dict[str, Any]) -> dict[str, float]:
    """One contender, in this process."""
    fit, tau = CONTENDERS[name]
    data = {key: np.load(folder / f"{key}.npy") for key in ("X", "y", "group")}
    clock = Clock()
    start = time.perf_counter()
    predict = fit(data, options | {"tau": tau}, clock)
    whole = time.perf_counter() - start
    memory = peak_megabytes()
    import rankforce as rf

    test = {key: np.load(folder / f"{key}_valid.npy") for key in ("X", "y", "group")}
    values = rf.metric("ndcg@10")(predict(test["X"]), test["y"], group=test["group"])
    found = {"seconds": clock.seconds, "whole": whole, "memory": memory}
    return found | {"ndcg": float(values.mean())}


def make_arrays(folder: Path, queries: int) -> str:
    import rankforce as rf

    for suffix, seed, count in (("", 0, queries), ("_valid", 1, max(queries // 10, 50))):
        data = rf.make_data("mslr", queries=count, seed=seed)
        np.save(folder / f"X{suffix}.npy", data.features)
        np.save(folder / f"y{suffix}.npy", data.labels)
        np.save(folder / f"group{suffix}.npy", data.group)
        if not suffix:
            shape = repr(data)
    return shape


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--trees", type=int, default=20)
    parser.add_argument("--leaves", type=int, default=200)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    only = "contenders with one of these in their name, or together: small trainings at once"
    parser.add_argument("--only", default="", help=only)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--tau", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_one(options.one, options.folder, vars(options))))
        return
    if options.tau is not None:
        print(json.dumps(run_in_turn(options.folder, vars(options))))
        return
    packages = ("rankforce", "lightgbm", "xgboost", "catboost", "numba")
    versions = installed(*packages)
    print(" ".join(f"{name} {number}" for name, number in versions.items()), end="; ")
    print(f"Python {platform.python_version()}, {options.threads} threads")
    record: dict[str, Any] = {"versions": versions}
    if options.only != "together":
        record |= run_beside(options)
    if options.only in ("", "together"):
        record["together"] = run_together(threads=options.threads, rounds=options.rounds)
        report_together(record["together"])
    if options.json:
        Path(options.json).write_text(json.dumps(record, indent=2))


def run_beside(options: argparse.Namespace) -> dict[str, Any]:
    """All contenders on one data set, and rankforce and LightGBM in turn."""
    only = [part.strip().lower() for part in options.only.split(",") if part.strip()]
    names = [n for n in CONTENDERS if not only or any(part in n.lower() for part in only)]
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        shape = make_arrays(Path(folder), options.queries)
        print(f"{shape}, {options.trees} trees of {options.leaves} leaves")
        shared = ["--folder", folder]
        for key in ("trees", "leaves", "threads"):
            shared += [f"--{key}", str(getattr(options, key))]
        for number in range(options.rounds):
            for name in names:
                found = run_process("--one", name, *shared)
                best = results.setdefault(name, found)
                results[name] = {key: min(best[key], found[key]) for key in found}
            print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
        turns = {
            title: run_process("--tau", str(tau), *shared)
            for title, tau in (("tau 8", 8), ("no tau", NO_TRUNCATION))
        }
    report(results, turns)
    return {"shape": shape, "results": results, "in turn": turns}


def run_process(*arguments: str) -> dict[str, float]:
    """This script in a process of its own; its last line is JSON."""
    command = [sys.executable, __file__, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def report(results: dict[str, dict[str, float]], turns: dict[str, dict[str, float]]) -> None:
    print(f"{'':20}{'s/tree':>9}{'whole fit s':>13}{'peak MB':>10}{'NDCG@10':>10}")
    for name, row in results.items():
        numbers = f"{row['seconds']:9.3f}{row['whole']:13.1f}{row['memory']:10.0f}"
        print(f"{name:20}{numbers}{row['ndcg']:10.4f}")
    print(
        f"\n{'tree by tree in turn':28}{'rankforce':>10}{'LightGBM':>10}{'ratio':>8}{'at most':>9}"
    )
    for title, row in turns.items():
        limit = PROMISED[title]
        mark = "" if row["ratio"] <= limit else "  missed"
        times = f"{row['rankforce']:10.3f}{row['LightGBM']:10.3f}{row['ratio']:8.3f}"
        print(f"{'s/tree, ' + title:28}{times}{limit:9.2f}{mark}")
    both = [results.get(f"{who}, tau 8", {}).get("memory") for who in ("rankforce", "LightGBM")]
    if both[0] and both[1]:
        ratio = both[0] / both[1]
        mark = "" if ratio <= PROMISED_MEMORY else "  missed"
        numbers = f"{both[0]:10.0f}{both[1]:10.0f}{ratio:8.3f}"
        print(f"{'peak MB, tau 8':28}{numbers}{PROMISED_MEMORY:9.2f}{mark}")


if __name__ == "__main__":
    main()
