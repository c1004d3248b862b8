"""Time metrics beside ranx, ir-measures and scikit-learn, and p-values beside SciPy.

    python benchmarks/evaluation.py                          # about four minutes
    python benchmarks/evaluation.py --rounds 5 --json result.json
    python benchmarks/evaluation.py --queries 1000

A made-up set of 6,306 queries with 120 documents each and the label mix of MSLR-WEB30K. Each peer
computes what it knows of the metrics at three cutoffs, and rankforce the same, by the peer's
conventions. Contenders take turns on one thread; the best round counts. ranx and ir-measures get
their dictionaries and objects made beforehand, which takes ranx half a minute; rankforce makes
everything anew in each round ("whole call"), or has labels prepared as while training ("prepared").
Values of single queries are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from turns import best_times
from versions import installed

import rankforce as rf
from rankforce.evaluation.paired import paired_test
from rankforce.measures.scoreboard import Scoreboard

CUTOFFS = (5, 10, 15)
DOCUMENTS = 120
LABEL_MIX = (0.52, 0.32, 0.13, 0.02, 0.01)
RESAMPLES = 10_000
# Names here, with the peer's conventions, and the peer's own.
RANX = {
    "ndcg(gain=y, no_relevant=0)@{k}": "ndcg@{k}",
    "ndcg(no_relevant=0)@{k}": "ndcg_burges@{k}",
    "p(over=k)@{k}": "precision@{k}",
    "recall@{k}": "recall@{k}",
    "map(over=relevant)@{k}": "map@{k}",
    "mrr@{k}": "mrr@{k}",
}
IR_MEASURES = {
    "ndcg(trec_eval)@{k}": "nDCG@{k}",
    "p(trec_eval)@{k}": "P@{k}",
    "recall(trec_eval)@{k}": "R@{k}",
    "map(trec_eval)@{k}": "AP@{k}",
    "mrr(trec_eval)@{k}": "RR@{k}",
}
SKLEARN = {"ndcg(sklearn)@{k}": "ndcg_score(k={k})"}


def at_cutoffs(names: dict[str, str]) -> dict[str, str]:
    return {a.format(k=k): b.format(k=k) for a, b in names.items() for k in CUTOFFS}


def every_metric() -> list[str]:
    """All metrics, those with a cutoff at all three."""
    made = []
    for entry in rf.metrics():
        if entry.name == "CNDCG":  # of shares of clicks, not of grades
            continue
        made += [entry.name] if entry.cutoff == "none" else [f"{entry.name}@{k}" for k in CUTOFFS]
    return made


class Set:
    """Labels and scores, in the form of each contender."""

    def __init__(self, queries: int) -> None:
        rng = np.random.default_rng(0)
        self.labels = rng.choice(len(LABEL_MIX), (queries, DOCUMENTS), p=LABEL_MIX)
        self.scores = 0.3 * self.labels + rng.normal(size=self.labels.shape)
        self.others = self.scores + 0.3 * rng.normal(size=self.labels.shape)
        self.group = np.full(queries, DOCUMENTS)
        self.qrels = self._dictionaries(self.labels)
        self.run = self._dictionaries(self.scores)

    def _dictionaries(self, values: Any) -> dict[str, dict[str, Any]]:
        return {
            f"q{q:06}": {f"d{d:03}": value for d, value in enumerate(row)}
            for q, row in enumerate(values.tolist())
        }


Call = Callable[[], Any]


def ranx_calls(data: Set) -> tuple[Call, Call, float]:
    """Means of all metrics, values of single queries, and the seconds that objects take."""
    import ranx

    start = time.perf_counter()
    qrels, run = ranx.Qrels(data.qrels), ranx.Run(data.run)
    seconds = time.perf_counter() - start
    names = list(at_cutoffs(RANX).values())

    def call(return_mean: bool) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its own unsafe casts
            return ranx.evaluate(qrels, run, names, return_mean=return_mean, threads=1)

    return lambda: call(True), lambda: call(False), seconds


def ir_measures_calls(data: Set) -> tuple[Call, Call, float]:
    import ir_measures

    names = list(at_cutoffs(IR_MEASURES).values())
    measures = [ir_measures.parse_measure(name) for name in names]
    start = time.perf_counter()
    evaluator = ir_measures.evaluator(measures, data.qrels)
    seconds = time.perf_counter() - start

    def by_query() -> dict[str, Any]:
        found = {name: dict.fromkeys(data.run, math.nan) for name in names}
        for one in evaluator.iter_calc(data.run):
            found[str(one.measure)][one.query_id] = one.value
        return {name: np.array(list(values.values())) for name, values in found.items()}

    return lambda: evaluator.calc_aggregate(data.run), by_query, seconds


def sklearn_calls(data: Set) -> tuple[Call, Call, float]:
    from sklearn.metrics import ndcg_score

    def whole() -> list[float]:
        return [ndcg_score(data.labels, data.scores, k=k) for k in CUTOFFS]

    def by_query() -> dict[str, Any]:
        some = range(0, len(data.labels), 50)
        found = {}
        for k in CUTOFFS:
            values = np.full(len(data.labels), np.nan)
            for q in some:
                values[q] = ndcg_score(data.labels[q : q + 1], data.scores[q : q + 1], k=k)
            found[f"ndcg_score(k={k})"] = values
        return found

    return whole, by_query, 0.0


PEERS = {
    "ranx": (RANX, ranx_calls),
    "ir-measures": (IR_MEASURES, ir_measures_calls),
    "scikit-learn": (SKLEARN, sklearn_calls),
}


def time_metrics(data: Set, rounds: int) -> list[dict[str, Any]]:
    labels, scores = data.labels.ravel(), data.scores.ravel()
    rows = []
    for peer, (names, make) in PEERS.items():
        pairs = at_cutoffs(names)
        theirs, by_query, making = make(data)
        board = Scoreboard(list(pairs), labels, group=data.group)
        found, expected = board.values(scores), by_query()
        apart = {
            other: float(np.nanmax(np.abs(found[row] - expected[other])))
            for row, other in enumerate(pairs.values())
        }
        if max(apart.values()) > 1e-9:
            raise SystemExit(f"{peer} computes something else: {apart}")
        calls = {
            peer: theirs,
            "whole": lambda names=list(pairs): (
                rf.evaluate(scores, labels, names, group=data.group).means
            ),
            "prepared": lambda board=board: board.values(scores),
        }
        took = best_times(calls, rounds)
        rows.append(
            {
                "peer": peer,
                "metrics": len(pairs),
                "ms": took[peer],
                "seconds to make its objects": making,
                "whole": took["whole"],
                "prepared": took["prepared"],
                "largest difference": max(apart.values()),
            }
        )
    every = every_metric()
    board = Scoreboard(every, labels, group=data.group)
    calls = {
        "whole": lambda: rf.evaluate(scores, labels, every, group=data.group).means,
        "prepared": lambda: board.values(scores),
    }
    return [*rows, {"peer": None, "metrics": len(every), **best_times(calls, rounds)}]


def time_tests(data: Set, rounds: int) -> dict[str, Any]:
    from scipy.stats import permutation_test

    metric = rf.metric("ndcg@10")
    labels = data.labels.ravel()
    a, b = (metric(s.ravel(), labels, group=data.group) for s in (data.others, data.scores))
    # A difference that is neither plain to see nor hidden: p near 0.1, where it can be compared.
    difference = b - a
    difference += 1.6 * difference.std() / math.sqrt(len(difference)) - difference.mean()
    found: dict[str, float] = {}

    def scipy_test() -> None:
        found["scipy"] = permutation_test(
            (difference,),
            lambda x, axis: x.mean(axis),
            permutation_type="samples",
            n_resamples=RESAMPLES,
            vectorized=True,
            batch=500,
            rng=np.random.default_rng(0),
        ).pvalue

    def our_test() -> None:
        found["rankforce"] = paired_test(difference, test="fisher", resamples=RESAMPLES).p_value

    our_test()
    took = best_times({"scipy": scipy_test, "rankforce": our_test}, rounds)
    p = found["scipy"]
    error = math.sqrt(2.0 * p * (1.0 - p) / RESAMPLES)
    if abs(found["rankforce"] - p) > 4.0 * error:
        raise SystemExit(f"p-values differ by more than chance: {found}")
    return {"ms": took, "p": found, "standard error of their difference": error}


def show(metrics: list[dict[str, Any]], tests: dict[str, Any], queries: int) -> None:
    print(
        f"{queries} queries x {DOCUMENTS} documents, one thread, milliseconds (times rankforce's)"
    )
    print(f"{'':14}{'metrics':>8}{'peer':>8}{'rankforce, whole call':>24}{'prepared':>18}")
    for row in metrics:
        whole, prepared = row["whole"], row["prepared"]
        if row["peer"] is None:
            print(f"{'all of ours':14}{row['metrics']:8}{'':8}{whole:15.1f}{'':9}{prepared:9.1f}")
            continue
        theirs = row["ms"]
        print(
            f"{row['peer']:14}{row['metrics']:8}{theirs:8.0f}{whole:15.1f} ({theirs / whole:4.0f}x)"
            f" {prepared:9.1f} ({theirs / prepared:4.0f}x)"
        )
    for row in metrics[:-1]:
        made = row["seconds to make its objects"]
        making = f"; its objects took {made:.1f} s to make" if made > 0.1 else ""
        print(f"{row['peer']}: largest difference {row['largest difference']:.1e}{making}")
    took, p = tests["ms"], tests["p"]
    print(
        f"\n{RESAMPLES} sign flips of {queries} differences (with a bootstrap interval on our side)"
    )
    for name in ("scipy", "rankforce"):
        times = took[name] / took["rankforce"]
        print(f"{name:14}{took[name]:10.1f} ms {times:8.0f}x   p = {p[name]:.4f}")
    print(f"standard error of their difference: {tests['standard error of their difference']:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=6306)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    packages = ("rankforce", "ranx", "ir-measures", "scikit-learn", "scipy", "numpy")
    versions = installed(*packages)
    print(f"{platform.machine()}, Python {platform.python_version()},", versions)
    data = Set(options.queries)
    metrics = time_metrics(data, options.rounds)
    tests = time_tests(data, options.rounds)
    show(metrics, tests, options.queries)
    if options.json:
        record = {"versions": versions, "metrics": metrics, "tests": tests}
        Path(options.json).write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
