"""Time one gradient pass of every objective beside LightGBM's C++ lambdarank, in the same run.

    python benchmarks/objectives.py                    # all shapes: about ten minutes
    python benchmarks/objectives.py --shape mslr --share 0.1 --rounds 30
    python benchmarks/objectives.py --json result.json

LightGBM's own pass is isolated as the difference between a training step with its objective and
one with a trivial objective on the same data (one feature, two leaves). Contenders take turns, and
the best of all rounds counts: machines are shared and noisy, and noise only ever adds. Before any
timing, LightGBM's first tree is compared with the one that rankforce's forces give.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np

import rankforce as rf

sys.path.insert(0, str(Path(__file__).parent))
from shapes import SHAPES, Made, make
from turns import best_times
from versions import installed

NO_TRUNCATION = 1_000_000
UNTRUNCATED = "LambdaRank-NDCG, no tau"
# What the project promises on one thread: at most this share of LightGBM's time at that truncation.
PROMISED = [
    ("mslr", "LambdaRank-NDCG, tau 5", "tau 5", 1 / 3),
    ("mslr", UNTRUNCATED, "no tau", 1 / 10),
    ("istella-x", UNTRUNCATED, "no tau", 1 / 40),
    ("mslr", "LambdaMART-eX static", "tau 5", 0.5),
    ("mslr", "LambdaMART-eX random", "tau 5", 0.6),
    ("mslr", "LambdaMART-eX all", "tau 5", 0.6),
    ("mslr", "LambdaRank-P@k", "tau 5", 0.2),
    ("mslr", "LambdaGap-S", "tau 5", 0.4),
    ("mslr", "LambdaGap-X", "tau 5", 0.8),
    ("mslr", "LambdaGap-X+", "tau 5", 1.0),
    ("mslr", "RankNet", "tau 5", 0.8),
]


def contenders(k: int) -> dict[str, rf.Objective]:
    """Every objective at `k`, and LambdaRank-NDCG without truncation."""
    found = {}
    for entry in rf.objectives():
        if entry.of_clicks:
            continue
        name = entry.name if "tau" not in entry.uses else f"{entry.name}, tau {k}"
        found[name] = rf.objective(entry.name, k=k)
        if "tau" in entry.uses:
            found[f"{entry.name}, no tau"] = rf.objective(entry.name)
    return found


class LightGBM:
    """One booster per objective on the same data; `step` is one training step."""

    def __init__(self, data: Made, threads: int, **params: Any) -> None:
        features = np.random.default_rng(1).random((len(data.labels), 1)).astype(np.float32)
        self.params = {
            "num_threads": threads,
            "num_leaves": 2,
            "max_bin": 15,
            "min_data_in_leaf": 1,
            "learning_rate": 1e-3,
            "verbose": -1,
            **params,
        }
        dataset = lgb.Dataset(
            features, data.labels, group=data.sizes, init_score=data.scores, params=self.params
        )
        self.features = features
        self.booster = lgb.Booster(self.params, dataset)

    def step(self) -> None:
        self.booster.update()


def check_same(data: Made, threads: int, k: int) -> float:
    """Largest relative difference of the two leaf values of LightGBM's first tree from ours."""
    peer = LightGBM(data, threads, objective="lambdarank", lambdarank_truncation_level=k)
    peer.step()
    values = peer.booster.predict(peer.features) / peer.params["learning_rate"]
    lam, hess = rf.objective("lambdarank-ndcg", k=k).gradients(
        data.scores, data.labels, group=data.sizes, norm="lightgbm"
    )
    worst = 0.0
    for value in np.unique(values):
        leaf = values == value
        ours = lam[leaf].sum() / (hess[leaf].sum() + peer.params.get("lambda_l2", 0.0))
        # Lambdas of a query cancel, and so do their sums: compare on the scale of one document.
        scale = np.abs(lam[leaf]).sum() / hess[leaf].sum() / np.sqrt(leaf.sum())
        worst = max(worst, abs(value - ours) / scale)
    return worst


def measure(data: Made, *, k: int, threads: int, rounds: int, only: str) -> dict[str, Any]:
    """Times of one shape, and their ratios to LightGBM's two passes."""
    peers: dict[str, Callable[[], object]] = {
        "trivial": LightGBM(data, threads, objective="regression", boost_from_average=False).step
    }
    for title, tau in (("tau 5", k), ("no tau", NO_TRUNCATION)):
        params = {"objective": "lambdarank", "lambdarank_truncation_level": tau}
        peers[title] = LightGBM(data, threads, **params).step
    peer = best_times(peers, rounds)
    lightgbm = {title: peer[title] - peer["trivial"] for title in ("tau 5", "no tau")}
    times = {}
    out = np.empty(len(data.labels)), np.empty(len(data.labels))
    for name, objective in contenders(k).items():
        if only not in name.lower():
            continue
        ready = objective.prepare(data.labels, group=data.sizes)
        ready.gradients(data.scores, norm="lightgbm", threads=threads, out=out)

        def call(ready: rf.Prepared = ready) -> object:
            return ready.gradients(data.scores, norm="lightgbm", threads=threads, out=out)

        # LightGBM's pass again beside every contender: the machine's mood changes.
        against = "no tau" if name == UNTRUNCATED else "tau 5"
        turns = {"ours": call, "theirs": peers[against], "trivial": peers["trivial"]}
        took = best_times(turns, rounds)
        times[name] = {"ms": took["ours"], against: took["theirs"] - took["trivial"]}
    wide = rf.objective("lambdarank-ndcg").prepare(data.labels, group=data.sizes)
    far = best_times({"wide": lambda: wide.gradients(20 * data.scores, norm="lightgbm")}, 2)
    return {"lightgbm": lightgbm, "times": times, "wide": far["wide"]}


def first_call() -> dict[str, float]:
    """Seconds of numba's import, and of a whole first call, in fresh processes, caches warm."""
    numba = "import numba"
    whole = (
        "import rankforce as rf;"
        "rf.objective('lambdarank-ndcg', k=5).gradients([1.0, 2.0, 3.0], [1, 0, 2])"
    )
    return {
        name: min(_seconds(code) for _ in range(5))
        for name, code in (("numba", numba), ("whole", whole))
    }


def _seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def report(title: str, result: dict[str, Any], documents: int) -> None:
    light = result["lightgbm"]
    print(f"\n{title}: {documents:,} documents")
    print(f"{'':34}{'ms':>9}{'of LightGBM':>14}{'of LightGBM':>14}")
    print(f"{'':34}{'':>9}{'tau 5':>14}{'no tau':>14}")
    for name in ("tau 5", "no tau"):
        row = f"LightGBM lambdarank, {name}"
        print(f"{row:34}{light[name]:9.1f}")
    for name, time_ in result["times"].items():
        ratios = [time_["ms"] / time_.get(peer, light[peer]) for peer in ("tau 5", "no tau")]
        print(f"{name:34}{time_['ms']:9.1f}{ratios[0]:14.2f}{ratios[1]:14.3f}")
    print(
        f"{'LambdaRank-NDCG, no tau, far apart':34}{result['wide']:9.1f}"
        f"{'':14}{result['wide'] / light['no tau']:14.3f}"
    )


def verdicts(results: dict[str, Any]) -> list[dict[str, Any]]:
    """The promises beside what was measured."""
    rows = []
    for shape, name, against, limit in PROMISED:
        if name not in results.get(shape, {}).get("times", {}):
            continue
        time_ = results[shape]["times"][name]
        ratio = time_["ms"] / time_[against]
        rows.append({"shape": shape, "what": name, "against": against, "limit": limit})
        rows[-1] |= {"ratio": ratio, "holds": ratio <= limit}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--shape", choices=[*SHAPES, "all"], default="all")
    parser.add_argument("--share", type=float, default=1.0, help="share of the queries (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds to take the best of")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--only", default="", help="objectives whose name contains this")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    versions = installed("rankforce", "numba", "numpy", "lightgbm")
    print(" ".join(f"{name} {number}" for name, number in versions.items()), end="; ")
    print(
        f"Python {platform.python_version()}, {options.threads} thread(s), best of {options.rounds}"
    )
    results: dict[str, Any] = {}
    for key, shape in SHAPES.items():
        if options.shape not in (key, "all"):
            continue
        data = make(shape, share=options.share)
        apart = check_same(data, options.threads, options.k)
        assert apart < 1e-2, f"LightGBM and rankforce differ by {apart}"
        results[key] = measure(
            data,
            k=options.k,
            threads=options.threads,
            rounds=options.rounds,
            only=options.only.lower(),
        )
        report(shape.title, results[key], len(data.labels))
    print(f"\n{'promised on one thread':48}{'at most':>9}{'measured':>10}")
    for row in verdicts(results):
        what = f"{SHAPES[row['shape']].title}: {row['what']} / LightGBM {row['against']}"
        mark = "" if row["holds"] else "  missed"
        print(f"{what:66}{row['limit']:7.3f}{row['ratio']:8.3f}{mark}")
    start = first_call()
    above = start["whole"] - start["numba"]
    print(f"first call, warm cache: {above:.2f} s above numba's import ({start['numba']:.2f} s)")
    if options.json:
        record = {"versions": versions, "results": results, "first_call": start}
        Path(options.json).write_text(
            json.dumps(record | {"promised": verdicts(results)}, indent=2)
        )


if __name__ == "__main__":
    main()
