"""A set larger than memory: what reading, bins, forces and trees cost, and how they grow.

    python benchmarks/scale.py --folder DIR              # 26.8 M documents x 220, 24 GB on disk
    python benchmarks/scale.py --folder DIR --parts 16,8 # a sixteenth and an eighth of it
    python benchmarks/scale.py --folder DIR --json result.json

The set has the shape of Istella-X: 10,000 queries of about 2,680 documents, 220 features, 99.83 %
not relevant. It is made once, as Parquet files of 125 queries, and stays in DIR. Every part of it
is read, put into bins and trained on in a process of its own, whose peak memory counts, the
interpreter and its libraries included. Allowed are 2.2 bytes a value, 100 a document, and 1 GiB.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from versions import installed

QUERIES, SHARD, DOCUMENTS, FEATURES = 10_000, 125, 2_680, 220
RELEVANT = 0.0017
OBJECTIVE = "lambdamart-ex static"
GIB = 1 << 30


def make_shard(folder: Path, number: int) -> None:
    """Write one file of 125 queries, whole or not at all; features of relevant documents differ."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"part.{number}.parquet"
    if path.exists():
        return
    rng = np.random.default_rng([17, number])
    sizes = rng.integers(DOCUMENTS // 2, DOCUMENTS * 3 // 2 + 1, SHARD)
    rows = int(sizes.sum())
    grade = np.where(rng.random(rows) < RELEVANT, rng.integers(1, 5, rows), 0)
    columns: dict[str, Any] = {
        "label": grade.astype(np.float32),
        "qid": np.repeat(number * SHARD + np.arange(SHARD), sizes),
    }
    for feature in range(FEATURES):
        values = rng.random(rows, np.float32)
        if feature % 4 == 0:  # counts, most of them 0
            values = np.floor(values**4 * 30, dtype=np.float32)
        if feature % 3 == 0:
            values += grade * np.float32(0.3 * rng.random())
        columns[f"f{feature}"] = values
    part = path.with_suffix(".writing")
    pq.write_table(pa.table(columns), part, compression="none", use_dictionary=False)
    part.rename(path)


class Timed:
    """A source that counts the seconds of reading."""

    def __init__(self, source: Any) -> None:
        self._source, self.shape, self.seconds = source, source.shape, 0.0

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, Any]]:
        begun = time.perf_counter()
        for found in self._source.blocks(rows):
            self.seconds += time.perf_counter() - begun
            yield found
            begun = time.perf_counter()

    def take(self, rows: Any) -> Any:
        return self._source.take(rows)


class Clock:
    """Notes the seconds of forces and of whole trees."""

    def __init__(self) -> None:
        self.forces: list[float] = []
        self.trees: list[float] = []

    def __call__(self, moment: Any) -> None:
        self.forces.append(moment.seconds.forces)
        self.trees.append(moment.seconds.tree)


def peak() -> int:
    """Bytes that this process held at most, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Read, bin and train on all files of a folder."""
    import rankforce as rf
    from rankforce.data.binned import make_bins

    found: dict[str, Any] = {}
    begun = time.perf_counter()
    data = rf.read(folder)
    found["beside"], found["peak beside"] = time.perf_counter() - begun, peak()
    source = Timed(data.features)
    begun = time.perf_counter()
    bins = make_bins(source, threads=options.threads)
    found["reading"] = source.seconds
    found["bins"] = time.perf_counter() - begun - source.seconds
    found["peak bins"] = peak()
    clock = Clock()
    ranker = rf.Ranker(
        options.objective,
        k=5,
        n_estimators=options.trees,
        num_leaves=options.leaves,
        learning_rate=0.05,
        threads=options.threads,
        engine=options.engine,
        progress=False,
    )
    begun = time.perf_counter()
    train = rf.RankingData(bins, data.labels, qid=data.qid)
    del data, source
    ranker.fit(train, callbacks=[clock])
    found["opening"] = time.perf_counter() - begun - sum(clock.trees)
    found["forces"] = float(np.median(clock.forces))
    found["tree"] = float(np.median(clock.trees))
    found["peak"] = peak()
    rows, features = train.features.shape
    found["rows"], found["features"] = rows, features
    found["allowed"] = 2.2 * rows * features + 100 * rows + GIB
    scores = ranker.predict(train)
    found["ndcg"] = float(np.nanmean(rf.metric("ndcg@10")(scores, train.labels, qid=train.qid)))
    return found


def run_part(options: argparse.Namespace, part: int) -> dict[str, Any]:
    """Measure the first of the files in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(QUERIES // SHARD // part):
            name = f"part.{number}.parquet"
            (Path(folder) / name).symlink_to((Path(options.folder) / name).resolve())
        command = [sys.executable, __file__, "--folder", folder, "--child"]
        for name in ("trees", "leaves", "threads", "objective", "engine"):
            if getattr(options, name) is not None:
                command += [f"--{name}", str(getattr(options, name))]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def show(parts: dict[int, dict[str, Any]]) -> None:
    heads = ["part", "documents", "beside s", "read s", "bins s", "open s", "forces ms", "tree s"]
    heads += ["forces", "peak GB", "allowed", "a value"]
    print("".join(f"{head:>11}" for head in heads))
    for part, one in parts.items():
        bytes_a_value = (one["peak"] - GIB - 100 * one["rows"]) / (one["rows"] * one["features"])
        cells = [f"1/{part}", f"{one['rows']:,}", f"{one['beside']:.1f}", f"{one['reading']:.1f}"]
        cells += [f"{one['bins']:.1f}", f"{one['opening']:.1f}", f"{1e3 * one['forces']:.0f}"]
        cells += [f"{one['tree']:.2f}", f"{one['forces'] / one['tree']:.2%}"]
        cells += [f"{one['peak'] / 1e9:.2f}", f"{one['allowed'] / 1e9:.2f}", f"{bytes_a_value:.2f}"]
        print("".join(f"{cell:>11}" for cell in cells))
    print("seconds a million documents (the same in all lines: it grows with their number)")
    for part, one in parts.items():
        rate = {name: 1e6 * one[name] / one["rows"] for name in ("reading", "bins", "tree")}
        rate["forces ms"] = 1e9 * one["forces"] / one["rows"]
        print(f"{f'1/{part}':>11}  " + "  ".join(f"{n} {v:.2f}" for n, v in rate.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", required=True, help="where the set is, or is made")
    parser.add_argument("--parts", default="16,8,4,2,1", help="parts of the set, 16: a sixteenth")
    parser.add_argument("--trees", type=int, default=5)
    parser.add_argument("--leaves", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--objective", default=OBJECTIVE)
    parser.add_argument("--engine")
    parser.add_argument("--json")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(Path(options.folder), options)))
        return
    print(installed("rankforce", "lightgbm", "numba", "pyarrow"))
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = [int(part) for part in options.parts.split(",")]
    begun = time.perf_counter()
    with ProcessPoolExecutor(options.threads) as pool:
        count = max(QUERIES // SHARD // part for part in parts)
        list(pool.map(make_shard, [folder] * count, range(count)))
    print(f"made in {time.perf_counter() - begun:.0f} s, or there already")
    found = {}
    for part in parts:
        found[part] = run_part(options, part)
        show(found)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
