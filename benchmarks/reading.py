"""Time the reading of a LETOR text file beside scikit-learn, XGBoost and LightGBM.

    python benchmarks/reading.py                       # 500 MB: about six minutes
    python benchmarks/reading.py --mb 100 --rounds 5 --json result.json
    python benchmarks/reading.py --only rankforce --threads 1

Every run is a process of its own; contenders take turns, and the best of all rounds counts.
scikit-learn is slow and gets a tenth of the file, once: compare MB/s. LightGBM's reader knows
neither `qid:` nor comments, so it gets the file without them. All read a file of two lines before
the clock starts. The peak is what memory grew by in the call, over the size of a float32 matrix.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from versions import installed

COLUMNS = 136
BODIES = 4096  # different rows, 4 MB of them: too many for a processor to know by heart
TINY = "1 qid:1 1:0.5 2:3 # docid = a\n0 qid:1 2:1\n"
PLAIN_TINY = "1 1:0.5 2:3\n0 2:1\n"
ALL = ["rankforce", "xgboost", "lightgbm", "lightgbm, few bins", "scikit-learn"]


def bodies(rng: np.random.Generator) -> list[str]:
    """The features of rows: fractions, small and large whole numbers, 6 to 9 digits, zeros."""
    columns = []
    for j in range(1, COLUMNS + 1):
        kind = j % 6
        if kind == 0:
            texts = [f"{j}:{x:.6f}" for x in rng.random(BODIES)]
        elif kind == 1:
            texts = [f"{j}:{x:.{6 + j % 4}g}" for x in rng.gamma(2.0, 50.0, BODIES)]
        elif kind == 2:
            texts = [f"{j}:{x}" for x in rng.integers(0, 3000, BODIES)]
        else:
            texts = [f"{j}:{x}" for x in rng.poisson(1.5, BODIES)]
        columns.append(texts)
    return [" ".join(row) for row in zip(*columns, strict=True)]


def write(folder: Path, mb: float) -> int:
    """`whole.txt`, `tenth.txt` with its start, and `plain.txt` for LightGBM; the rows of whole."""
    rng = np.random.default_rng(1)
    pool = bodies(rng)
    size = rows = query = 0
    with (
        open(folder / "whole.txt", "w") as whole,
        open(folder / "plain.txt", "w") as plain,
        open(folder / "tenth.txt", "w") as tenth,
    ):
        while size < mb * 1e6:
            query += 1
            picks = rng.integers(0, BODIES, rng.integers(60, 180)).tolist()
            labels = rng.integers(0, 5, len(picks)).tolist()
            lines = [
                f"{y} qid:{query} {pool[i]} #docid = GX{i % 300:03d}-{i % 97:02d}-{rows + n:07d}\n"
                for n, (y, i) in enumerate(zip(labels, picks, strict=True))
            ]
            text = "".join(lines)
            whole.write(text)
            if size < mb * 1e5:
                tenth.write(text)
            plain.write("".join(f"{y} {pool[i]}\n" for y, i in zip(labels, picks, strict=True)))
            size += len(text)
            rows += len(lines)
    (folder / "tiny.txt").write_text(TINY)
    (folder / "plain_tiny.txt").write_text(PLAIN_TINY)
    return rows


def reader(name: str, threads: int) -> Callable[[str], Any]:
    """The call that reads a file, its packages imported."""
    if name == "rankforce":
        import numba  # noqa: F401
        import pyarrow  # noqa: F401

        from rankforce.formats.letor_text import read_text

        return lambda path: read_text(path, threads=threads)
    if name == "scikit-learn":
        from sklearn.datasets import load_svmlight_file

        return lambda path: load_svmlight_file(path, query_id=True)
    if name == "xgboost":
        import xgboost as xgb

        return lambda path: xgb.DMatrix(f"{path}?format=libsvm", nthread=threads)
    import lightgbm as lgb

    params: dict[str, Any] = {"num_threads": threads, "verbose": -1}
    if "few bins" in name:
        # As close as it gets to reading alone: nothing much to sample, to bin or to bundle.
        params |= {"max_bin": 2, "bin_construct_sample_cnt": 1000, "enable_bundle": False}
    return lambda path: lgb.Dataset(path, params=params).construct()


def peak() -> int:
    """The most memory that this process ever had, in bytes."""
    try:
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:")[1].split()[0])
    except (OSError, IndexError):
        scale = 1 if sys.platform == "darwin" else 1024
        return scale * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def run_one(name: str, folder: Path, threads: int) -> dict[str, float]:
    """One contender, here and now."""
    is_plain = name.startswith("lightgbm")
    file = folder / ("plain.txt" if is_plain else "whole.txt")
    if name == "scikit-learn":
        file = folder / "tenth.txt"
    read = reader(name, threads)
    imported = peak()
    start = time.perf_counter()
    read(str(folder / ("plain_tiny.txt" if is_plain else "tiny.txt")))
    first = time.perf_counter() - start
    loaded = peak()
    start, cpu = time.perf_counter(), time.process_time()
    found = read(str(file))
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    del found
    return {
        "seconds": seconds,
        "cpu": cpu,  # of all threads: less moved by what else the machine does
        "first": first,
        "mb": file.stat().st_size / 1e6,
        "peak": float(peak() - loaded),
        "peak_since_import": float(peak() - imported),
    }


def check_same(folder: Path) -> None:
    """The same numbers as scikit-learn's and XGBoost's, for a tenth of the file."""
    path = str(folder / "tenth.txt")
    ours = reader("rankforce", 2)(path)
    features, labels, qid = reader("scikit-learn", 1)(path)
    np.testing.assert_array_equal(ours.features, features.toarray().astype(np.float32))
    np.testing.assert_array_equal(ours.labels, labels)
    np.testing.assert_array_equal(ours.qid, qid)
    theirs = reader("xgboost", 1)(path)
    # XGBoost reads floats by its own rounding, the last bit may differ; its first column is 0.
    matrix = theirs.get_data().toarray()[:, 1:]
    np.testing.assert_allclose(ours.features, matrix, rtol=2.0**-22)
    np.testing.assert_array_equal(ours.labels, theirs.get_label())
    one = reader("rankforce", 1)(path)
    np.testing.assert_array_equal(ours.features, one.features)
    assert one.doc_ids.equals(ours.doc_ids)


def child(*arguments: str) -> str:
    """This script again, in a fresh process; what it prints last."""
    command = [sys.executable, "-W", "ignore", __file__, *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.strip().rpartition("\n")[2]


def measure(folder: Path, names: list[str], rounds: int, threads: int) -> dict[str, Any]:
    """The best time of each contender, with the memory of that run."""
    best: dict[str, Any] = {}
    for number in range(rounds):
        for name in names:
            if name == "scikit-learn" and number:
                continue
            found = json.loads(
                child("--contender", name, "--folder", str(folder), "--threads", str(threads))
            )
            if name not in best or found["seconds"] < best[name]["seconds"]:
                best[name] = found
    return best


def report(best: dict[str, Any], rows: int) -> None:
    matrix = rows * COLUMNS * 4
    ours = best.get("rankforce")
    print(f"{'':22}{'seconds':>9}{'cpu s':>8}{'MB/s':>8}{'slower':>14}{'peak/matrix':>13}")
    for name, one in best.items():
        speed = one["mb"] / one["seconds"]
        ratio = f"{ours['mb'] / ours['seconds'] / speed:13.1f}x" if ours else ""
        share = matrix / 10 if name == "scikit-learn" else matrix
        print(
            f"{name:22}{one['seconds']:9.2f}{one['cpu']:8.2f}{speed:8.0f}{ratio:>14}"
            f"{one['peak'] / share:13.2f}"
            + ("  (a tenth of the file)" if name == "scikit-learn" else "")
        )
    if ours:
        since = ours["peak_since_import"] / matrix
        print(
            f"rankforce's first call in a process takes {ours['first']:.2f} s; with what it loads, "
            f"memory grew to {since:.2f} of the matrix since the imports"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=500.0, help="size of the file (default 500)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the best of")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="contenders whose name contains this")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    parser.add_argument("--contender", choices=[*ALL, "check"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender == "check":
        check_same(options.folder)
        return
    if options.contender:
        print("\n" + json.dumps(run_one(options.contender, options.folder, options.threads)))
        return
    packages = ("rankforce", "numba", "numpy", "pyarrow", "scikit-learn", "xgboost", "lightgbm")
    versions = installed(*packages)
    print(" ".join(f"{name} {number}" for name, number in versions.items()), end="; ")
    print(
        f"Python {platform.python_version()}, {options.threads} thread(s), best of {options.rounds}"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = write(folder, options.mb)
        print(f"{(folder / 'whole.txt').stat().st_size / 1e6:.0f} MB, {rows:,} x {COLUMNS}")
        if not options.only:
            child("--contender", "check", "--folder", name)
        names = [one for one in ALL if options.only in one]
        best = measure(folder, names, options.rounds, options.threads)
    report(best, rows)
    if options.json:
        record = {"versions": versions, "rows": rows, "threads": options.threads, "best": best}
        Path(options.json).write_text(json.dumps(record, indent=2))


if __name__ == "__main__":
    main()
