"""What recording diagnostics costs, as a share of the training that it watches.

    python benchmarks/diagnostics.py                          # two minutes
    python benchmarks/diagnostics.py --queries 500 --trees 60 --json result.json

A ranker is trained on made-up sets, a large and a small one. Recorders look at its training set as
they would for a user: each diagnostic alone, all of them in one, on a sample of queries (the
default) and on all. Each call is timed in the run that it watches, so that a busy machine slows
both sides; a recorder's cost is its time over the time of the trees between two looks (the median
tree's: reading, binning and the first tree are not in it).
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

from versions import installed

import rankforce as rf
from rankforce.diagnostics.recorder import MEASURES

LIMIT = 0.1  # of the training time, at the default interval
EVERY = 10  # the default interval


class Timed:
    """A recorder that looks at every few trees, timed."""

    def __init__(self, step: int, **arguments: Any) -> None:
        self.recorder = rf.Recorder(every=step, **arguments)
        self.first = 0.0
        self.looks: list[float] = []

    def __call__(self, moment: Any) -> None:
        before = time.perf_counter()
        self.recorder(moment)
        took = time.perf_counter() - before
        if moment.iteration == 0:
            self.first = took  # gets ready: labels, objective, sample
        elif moment.iteration % self.recorder.every == 0:
            self.looks.append(took)


class Trees:
    """The time of each tree: from the last callback of one to the first of the next."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._left = 0.0

    def begin(self, moment: Any) -> None:
        if moment.iteration:
            self.times.append(time.perf_counter() - self._left)

    def end(self, moment: Any) -> None:
        self._left = time.perf_counter()


def measure(queries: int, trees: int, tau: float, step: int) -> dict[str, dict[str, float]]:
    """Seconds of a look, and its share of the time of EVERY trees."""
    data = rf.make_data("mslr", queries=queries, seed=0)
    print(f"{data}, tau {tau:g}, {trees} trees")
    watched = {name: Timed(step, what=name) for name in MEASURES}
    watched["all"] = Timed(step)
    watched["all, of every query"] = Timed(step, queries=None)
    leaves = 200 if queries > 1000 else 31
    ranker = rf.Ranker(k=8, tau=tau, n_estimators=trees, num_leaves=leaves, progress=False)
    clock = Trees()
    ranker.fit(data, callbacks=[clock.begin, *watched.values(), clock.end])
    tree = statistics.median(clock.times)
    found = {}
    for name, one in watched.items():
        look = statistics.median(one.looks)
        found[name] = {
            "ms a look": 1000 * look,
            "ms to get ready": 1000 * (one.first - look),
            f"share at every {EVERY}": look / (EVERY * tree),
            "share at every tree": look / tree,
        }
    found["a tree"] = {"ms a look": 1000 * tree}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, nargs="*", default=[6000, 500])
    parser.add_argument("--trees", type=int, default=30)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    print(platform.machine(), installed("rankforce", "numba", "numpy", "lightgbm"))
    measure(100, 4, 8, 1)  # compiles
    results = {}
    for queries in options.queries:
        for tau in (8, float("inf")):
            found = measure(queries, options.trees, tau, 3)
            results[f"{queries} queries, tau {tau:g}"] = found
            print(f"{'':22}{'ms':>8}{'ready':>8}{'every 10':>10}{'every tree':>12}")
            for name, own in found.items():
                cells = [*own.values()]
                shares = "".join(f"{100 * share:9.1f} %" for share in cells[2:])
                ready = f"{cells[1]:8.1f}" if len(cells) > 1 else ""
                print(f"{name:22}{cells[0]:8.1f}{ready}{shares}")
            share = found["all"][f"share at every {EVERY}"]
            print(f"all at every {EVERY} trees: {share:.3f} of training (limit {LIMIT})\n")
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
