"""Time of scores: one query of 100 documents, and many rows, beside those who score such forests.

    python benchmarks/scoring.py                                # 100, 300, 1,000 trees x 31, 64
    python benchmarks/scoring.py --trees 300 --leaves 31 --rows 1000000 --rounds 3
    python benchmarks/scoring.py --lleaves OTHER/bin/python     # one with lleaves and llvmlite<0.45
    python benchmarks/scoring.py --traversals                   # masks and walks by number of rows

A forest is LightGBM's, trained on made-up data of MSLR-WEB30K's shape; all others load it from what
`Ranker.export` writes. Contenders take turns in one process, all threads or one, the best of the
rounds counts. "before" is the walk down the trees that `predict` was until masks came. lleaves
1.3 needs an older llvmlite than Numba: it runs in a process of its own, on the same files.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("GOMP_SPINCOUNT", "1000")

import lightgbm as lgb
import numpy as np
import onnxruntime
import treelite
import xgboost as xgb
from turns import best_times
from versions import installed

import rankforce as rf
from rankforce.common.threads import run_rows, usable_cores
from rankforce.kernels.masks import score_masks
from rankforce.kernels.trees import score_block
from rankforce.models.forest.score import Scoring

QUERY, QUERIES = 100, 50  # documents of a query, and different queries
LONG = 1000  # documents of a long list
ROWS = 4096  # that traversals are compared on
PROMISED = {"LightGBM": 0.2, "before": 0.3}  # of 300 x 31; of 1,000 x 64 LightGBM's alone
OUTSIDE = """
import sys, time, lleaves, numpy as np
model = lleaves.Model(model_file=sys.argv[1]); model.compile()
parts = np.load(sys.argv[2]).astype(np.float64); best = 1e9
for _ in range(int(sys.argv[4])):
    begun = time.perf_counter()
    for part in parts:
        model.predict(part, n_jobs=int(sys.argv[3]))
    best = min(best, time.perf_counter() - begun)
print(1e3 * best / len(parts))
"""


def make_forest(kind: str, trees: int, leaves: int, data: rf.RankingData) -> lgb.Booster:
    """A forest whose leaves are what they are in training: many documents, some of them few."""
    rng = np.random.default_rng(0)
    X = data.features.copy()
    columns: Any = "auto"
    if kind == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    if kind == "categorical":
        columns = list(range(0, 20))
        X[:, columns] = rng.integers(0, 50, (len(X), 20))
    labels = np.asarray(data.labels, float) + rng.normal(size=len(X))
    labels += 0.0 if columns == "auto" else np.isin(X[:, 3], (1, 7, 9)) + np.isin(X[:, 5], (2, 4))
    settings = {"objective": "regression", "num_leaves": leaves, "learning_rate": 0.05}
    settings |= {"verbosity": -1, "num_threads": usable_cores()}
    return lgb.train(settings, lgb.Dataset(X, labels, categorical_feature=columns), trees)


def make_rows(kind: str, rows: int, data: rf.RankingData) -> Any:
    rng = np.random.default_rng(1)
    X = np.ascontiguousarray(np.resize(data.features, (rows, data.features.shape[1])))
    X *= rng.uniform(0.9, 1.1, (rows, 1)).astype(np.float32)
    if kind == "missing":
        X[rng.random(X.shape, np.float32) < 0.1] = np.nan
    if kind == "categorical":
        X[:, :20] = rng.integers(0, 50, (rows, 20))
    return X


def contenders(
    ranker: rf.Ranker, booster: lgb.Booster, folder: Path, threads: int
) -> dict[str, Callable[[Any], Any]]:
    """Ways to score an array; all that can load the forest."""
    walk = Scoring(ranker.model_.trees)

    def before(X: Any) -> Any:
        out = np.zeros(len(X))
        values = X.reshape(-1)

        def work(first: int, last: int) -> None:
            score_block(first, last, X.shape[1], values, *walk.nodes, out)

        run_rows(work, len(X), threads)
        return out

    ranker.set_params(threads=threads)
    bound = ranker.scorer(threads=threads)
    found: dict[str, Callable[[Any], Any]] = {
        "predict": ranker.predict,
        "scorer": bound.scores,
        "before": before,
        "LightGBM": lambda X: booster.predict(X, num_threads=threads),
    }
    try:
        ranker.export(folder / "forest.onnx", to="onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(str(folder / "forest.onnx"), options)
        name = session.get_inputs()[0].name
        found["ONNX Runtime"] = lambda X: session.run(None, {name: X})[0]
        ranker.export(folder / "forest.json", to="xgboost")
        theirs = xgb.Booster({"nthread": threads}, model_file=str(folder / "forest.json"))
        found["XGBoost"] = lambda X: theirs.inplace_predict(X, validate_features=False)
    except rf.RankforceError as error:
        print(f"  left out: {error}")
    ranker.save(folder / "run")
    lite = treelite.frontend.load_lightgbm_model(folder / "run" / "model.txt")
    found["Treelite"] = lambda X: treelite.gtil.predict(lite, X, nthread=threads)
    return found


def each(call: Callable[[Any], Any], parts: list[Any]) -> None:
    """Other rows each time: a processor foresees the branches of those that it saw before."""
    for part in parts:
        call(part)


def outside(python: str, model: Path, parts: list[Any], threads: int, rounds: int) -> float:
    """Milliseconds that lleaves takes for a part."""
    np.save(model.parent / "rows.npy", np.stack(parts))
    words = [python, "-c", OUTSIDE, str(model), str(model.parent / "rows.npy")]
    words += [str(threads), str(rounds)]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=3600).stdout
    return float(said.splitlines()[-1])


def check(calls: dict[str, Callable[[Any], Any]], X: Any) -> None:
    """All give the same: ours and LightGBM's to the bit, others as far as float32 goes."""
    expected = calls["before"](X)
    for name, call in calls.items():
        found = np.asarray(call(X), np.float64).reshape(-1)
        if name in ("predict", "scorer", "LightGBM"):
            assert np.array_equal(found, expected), name
        else:
            assert np.allclose(found, expected, rtol=1e-4, atol=1e-4), name


def measure(options: argparse.Namespace, kind: str, trees: int, leaves: int, data: Any) -> None:
    booster = make_forest(kind, trees, leaves, data)
    X = make_rows(kind, options.rows, data)
    print(f"\n{trees} trees x {leaves} leaves, {kind}")
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        booster.save_model(folder / "forest.txt")
        ranker = rf.load(folder / "forest.txt")
        for threads in sorted({1, usable_cores()}):
            calls = contenders(ranker, booster, folder, threads)
            check(calls, X[:1000])
            for rows, rounds in ((QUERY, 5 * options.rounds), (options.rows, options.rounds)):
                parts = [X[n * rows : (n + 1) * rows] for n in range(QUERIES if rows < 1000 else 1)]
                best = best_times({n: partial(each, c, parts) for n, c in calls.items()}, rounds)
                best = {name: value / len(parts) for name, value in best.items()}
                if options.lleaves:
                    model = folder / "run" / "model.txt"
                    best["lleaves"] = outside(options.lleaves, model, parts, threads, rounds)
                show(rows, threads, best, trees, leaves, kind)
        compare_early_exit(ranker, X, options.rounds)


def compare_early_exit(ranker: rf.Ranker, X: Any, rounds: int) -> None:
    """The best ten of a long list, with documents left out early and without."""
    lists = [X[n * LONG : (n + 1) * LONG] for n in range(5)]
    ways = {
        "all documents": partial(each, ranker.scorer(top=10), lists),
        "early exit": partial(each, ranker.scorer(top=10, early_exit=True), lists),
    }
    best = best_times(ways, 3 * rounds)
    told = ", ".join(f"{name} {1e3 * value / len(lists):,.0f}" for name, value in best.items())
    print(f"  best 10 of {LONG:,} documents, 1 thread, us: {told}")


def show(
    rows: int, threads: int, best: dict[str, float], trees: int, leaves: int, kind: str
) -> None:
    unit, factor = ("us", 1e3) if rows == QUERY else ("ms", 1.0)
    told = [f"{name} {factor * value:,.0f}" for name, value in best.items()]
    print(f"  {rows:,} rows, {threads} thread{'s' * (threads > 1)}, {unit}: {', '.join(told)}")
    ratios = {name: best["predict"] / value for name, value in best.items() if name != "predict"}
    said = []
    for name, ratio in ratios.items():
        limit = PROMISED.get(name) if kind == "plain" else None
        if (trees, leaves) not in ((300, 31), (1000, 64)) or (trees > 300 and name == "before"):
            limit = None
        verdict = (
            "" if limit is None else f" (at most {limit}: {'yes' if ratio <= limit else 'NO'})"
        )
        said.append(f"{name} {ratio:.3f}{verdict}")
    print(f"    predict / others: {', '.join(said)}")


def traversals(options: argparse.Namespace, data: Any) -> None:
    """Microseconds by masks and by walks, by number of rows: where the one begins to win."""
    for trees in options.trees:
        for leaves in (*options.leaves, 200):
            forest = make_forest("plain", trees, leaves, data)
            with tempfile.TemporaryDirectory() as place:
                forest.save_model(Path(place, "forest.txt"))
                scoring = Scoring(rf.load(Path(place, "forest.txt")).model_.trees)
            told = []
            for rows in (1, 2, 4, 8, 16, 32, 64, 1024):
                ways = {
                    "masks": partial(in_parts, score_masks, scoring.masks, data.features, rows),
                    "walk": partial(in_parts, score_block, scoring.nodes, data.features, rows),
                }
                best = best_times(ways, options.rounds)
                masks, walk = (1e3 * best[way] * rows / ROWS for way in ways)
                told.append(f"{rows}: {masks:.0f}/{walk:.0f}")
            print(f"{trees} x {leaves}, rows: us by masks / by walks: {', '.join(told)}")


def in_parts(kernel: Any, arrays: Any, features: Any, rows: int) -> None:
    """So many rows at a time, others each time: a processor foresees the branches of old ones."""
    values, width, out = features[:ROWS].reshape(-1), features.shape[1], np.zeros(ROWS)
    for first in range(0, ROWS, rows):
        kernel(first, first + rows, width, values, *arrays, out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--trees", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--leaves", type=int, nargs="+", default=[31, 64])
    parser.add_argument("--rows", type=int, default=48_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=["plain"], help="plain, missing, categorical")
    parser.add_argument("--lleaves", metavar="PYTHON", help="a Python that runs lleaves")
    parser.add_argument("--traversals", action="store_true")
    options = parser.parse_args()
    packages = ("lightgbm", "xgboost", "onnxruntime", "treelite", "numba", "numpy")
    print(", ".join(f"{name} {number}" for name, number in installed(*packages).items()))
    data = rf.make_data("mslr", queries=400, seed=1)
    if options.traversals:
        traversals(options, data)
        return
    for kind in options.kinds:
        for trees in options.trees:
            for leaves in options.leaves:
                measure(options, kind, trees, leaves, data)


if __name__ == "__main__":
    main()
