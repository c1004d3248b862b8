"""Data sets in five folds, and scores of contenders on them that are kept between runs.

Fold f trains on parts f, f+1, f+2, stops early on part f+3 and is judged on part f+4, counting
round. A set is a folder with S1.txt.gz ... S5.txt.gz, or "made:SHAPE:QUERIES", synthetic queries.
Kept scores are of one version of the code: after a change begin another folder.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from contenders import PATIENCE, TREES, Contender, join
from versions import installed

import rankforce as rf
from rankforce.common.files import whole_file
from rankforce.data.queries import query_folds

FOLDS = 5
MADE = "made:"


class Fold(NamedTuple):
    number: int
    train: rf.RankingData
    valid: rf.RankingData
    test: rf.RankingData

    @property
    def mark(self) -> list[int]:
        """What tells its data from others."""
        parts = (self.train, self.valid, self.test)
        return [zlib.crc32(np.ascontiguousarray(one.features)) for one in parts]


class Kept(NamedTuple):
    scores: Any  # of the test documents
    trees: int
    seconds: float


def add_options(parser: argparse.ArgumentParser, *, seeds: int, threads: int) -> None:
    """What every benchmark of quality can be asked."""
    parser.add_argument("--data", nargs="+", required=True, help="folders, or made:SHAPE:QUERIES")
    parser.add_argument("--seeds", type=int, default=seeds)
    parser.add_argument("--folds", type=int, default=FOLDS)
    parser.add_argument("--threads", type=int, default=threads)
    parser.add_argument("--metric", default="ndcg@10", help="of the tables, with commas")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where scores are kept")


def set_name(place: str) -> str:
    return place if place.startswith(MADE) else Path(place).name


def open_folds(place: str, folds: int = FOLDS) -> Iterator[Fold]:
    parts = make_parts(place) if place.startswith(MADE) else read_parts(Path(place))
    for number in range(folds):
        at = [parts[(number + step) % FOLDS] for step in range(FOLDS)]
        yield Fold(number + 1, join(at[:3]), at[3], at[4])


def read_parts(folder: Path) -> list[rf.RankingData]:
    return [rf.read(folder / f"S{number}.txt.gz") for number in range(1, FOLDS + 1)]


def make_parts(place: str) -> list[rf.RankingData]:
    shape, _, queries = place.removeprefix(MADE).partition(":")
    whole = rf.make_data(shape, queries=int(queries) if queries else None)
    return [whole.take_queries(part) for part in query_folds(len(whole.sizes), FOLDS)]


def run(one: Contender, fold: Fold, seed: int, threads: int, keep: Path | None) -> Kept:
    """Scores of a contender, from the folder of those that are kept if they are there."""
    if keep is None:
        return fit(one, fold, seed, threads)
    decides = [one.fit.__name__, one.more, TREES, PATIENCE, seed, fold.number, fold.mark]
    decides.append(installed("lightgbm", "xgboost", "catboost"))
    digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:20]
    file = keep / f"{digest}.npz"
    if file.exists():
        found = np.load(file)
        return Kept(found["scores"], int(found["trees"]), float(found["seconds"]))
    made = fit(one, fold, seed, threads)
    keep.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as part, open(part, "wb") as opened:
        np.savez_compressed(opened, **made._asdict())
    return made


def fit(one: Contender, fold: Fold, seed: int, threads: int) -> Kept:
    start = time.perf_counter()
    ranker = one.fit(fold.train, fold.valid, seed, threads, **one.more)
    seconds = time.perf_counter() - start
    takes_data = getattr(ranker, "takes_data", False)  # a list may decide about its documents
    found = ranker.predict(fold.test if takes_data else fold.test.features)
    return Kept(found, ranker.best_iteration_, seconds)


def run_sets(
    options: argparse.Namespace,
    contenders: dict[str, Contender],
    *,
    baselines: Sequence[str],
    step: str,
) -> None:
    """Every contender on every data set that was asked for; tables, and a file."""
    metrics = [rf.metric(name) for name in options.metric.split(",")]
    records = []
    for place in options.data:
        found = run_all(
            place,
            contenders,
            metrics,
            seeds=options.seeds,
            folds=options.folds,
            threads=options.threads,
            keep=options.keep,
        )
        name = set_name(place)
        records += report(name, found, seeds=options.seeds, baselines=baselines, step=step)
    if options.json:
        Path(options.json).write_text(json.dumps(records, indent=2))


def report(
    name: str, found: Found, *, seeds: int, baselines: Sequence[str], step: str
) -> list[Any]:
    """Tables of all metrics against each baseline, and what a fit took; the records of a file."""
    records = []
    for metric, values in found.values.items():
        for baseline in baselines:
            compared = rf.compare_values(
                values, metric=metric, baseline=baseline, correction="none", resamples=20_000
            )
            records.append({"data": name, **compared.record()})
            print(f"{name}, {seeds} seeds, against {baseline}\n\n{compared}\n")
    for one, steps in found.trees.items():
        print(f"{one:28}{steps:6.0f} {step}{found.seconds[one]:8.2f} s/fit")
    return records


class Found(NamedTuple):
    values: dict[str, dict[str, Any]]  # of each test query, by metric and contender
    trees: dict[str, float]
    seconds: dict[str, float]


def run_all(
    place: str,
    contenders: dict[str, Contender],
    metrics: Sequence[rf.Metric],
    *,
    seeds: int,
    folds: int = FOLDS,
    threads: int,
    keep: Path | None,
) -> Found:
    """Every contender on every fold; the value of a query is its mean over seeds."""
    values: dict[str, dict[str, list[Any]]] = {
        metric.name: {name: [] for name in contenders} for metric in metrics
    }
    trees, seconds = (dict.fromkeys(contenders, 0.0) for _ in range(2))
    for fold in open_folds(place, folds):
        test = fold.test
        for name, one in contenders.items():
            runs = [run(one, fold, seed, threads, keep) for seed in range(seeds)]
            trees[name] += np.mean([found.trees for found in runs]) / folds
            seconds[name] += np.mean([found.seconds for found in runs]) / folds
            for metric in metrics:
                each = [metric(found.scores, test.labels, qid=test.qid) for found in runs]
                values[metric.name][name].append(np.mean(each, axis=0))
    whole = {
        metric: {name: np.concatenate(each) for name, each in of.items()}
        for metric, of in values.items()
    }
    return Found(whole, trees, seconds)
