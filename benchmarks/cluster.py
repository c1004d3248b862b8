"""Whether `cluster_model.py` tells the truth: its bytes and seconds beside those of real workers.

    sudo python benchmarks/cluster.py                      # three minutes
    sudo python benchmarks/cluster.py --workers 2 --json result.json

Workers are processes, each in a network namespace of its own: LightGBM with its own sockets, and
rankforce with its team. Bytes are read off the counters of each worker's network device, less the
headers of packets; those of the first worker are shown. One worker alone tells how fast a core is,
two sockets how fast the network is; from these the model predicts the rest, for the trees that came
out. A second round has a slow network (a token bucket), where what is sent takes most of the time.
Workers share the cores of this machine, and the model lets work take as much longer; what else the
machine does, it does not know. It ends after three minutes, with what it has by then.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import secrets
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cluster_model import TEAM, Machine, Task, simulate
from cluster_plan import table
from cluster_worker import SWAPS
from namespaces import Network, need_root
from versions import installed

HEADERS = 66  # bytes of a packet: Ethernet 14, IPv4 20, TCP with time stamps 32
LONGEST = 180.0  # seconds of all runs; compiling, once on a machine, comes on top
FIRST = 2  # trees that do not count: memory is touched for the first time
LEVELS = 4  # of LightGBM's integer histograms
SLOW = 25e6  # bytes a second of the slow network


class Case(NamedTuple):
    """What a group of workers does."""

    mode: str
    workers: int
    task: Task
    slow: bool = False

    @property
    def name(self) -> str:
        """As a table has it."""
        kind = ", integers" if self.task.levels else ""
        mode = f"engine {self.mode}" if self.mode in TEAM else self.mode
        return f"{mode}{kind}{', slow network' if self.slow else ''}"


class Measured(NamedTuple):
    """Of a tree, at the first worker: bytes sent, and the best of seconds and processor seconds."""

    bytes: float
    seconds: float
    processor: float
    sizes: list[list[float]]


class Lab:
    """Workers in namespaces."""

    def __init__(self, network: Network, trees: int) -> None:
        self._network = network
        self._trees = trees
        self._port = 22000
        self._end = time.monotonic() + LONGEST

    def ask(self, what: str, workers: int, **more: Any) -> list[Any]:
        """What the workers answer; at fresh ports, as used ones cannot be had for a minute."""
        self._port += 100
        spec = {"what": what, "workers": workers, "port": self._port, **more}
        spec["token"] = secrets.token_hex()
        worker = Path(__file__).with_name("cluster_worker.py")
        rest = max(self._end - time.monotonic(), 1.0)
        return self._network.answers(worker, spec, longest=rest)

    def measure(self, cases: list[Case]) -> list[Measured]:
        """What a tree took in each of several cases, after the first trees."""
        jobs = [
            {"mode": case.mode, "task": case.task, "rate": SLOW if case.slow else None}
            for case in cases
        ]
        found = self.ask("grow", cases[0].workers, jobs=jobs, trees=FIRST + self._trees)[0]
        return [self._sum_up(**one) for one in found]

    def _sum_up(self, seen: list[list[float]], sizes: list[list[float]]) -> Measured:
        seconds, processor, sent, packets = np.diff(seen, axis=0)[-self._trees :].T
        return Measured(
            float((sent - HEADERS * packets).mean()),
            float(seconds.min()),
            float(processor.min()),
            sizes[FIRST:],
        )

    def warm_up(self, task: Task) -> None:
        """Compile what a team runs, where this has not been done; it may take a minute."""
        small = task._replace(documents=10_000)
        jobs = [{"mode": mode, "task": small, "rate": None} for mode in TEAM]
        self.ask("grow", 2, jobs=jobs, trees=1)
        self._end = time.monotonic() + LONGEST

    def calibrate(self, task: Task, workers: int) -> dict[str, Machine]:
        """How fast a core and the network are, for LightGBM's trees and for our own.

        A tree on all documents and one on an eighth tell the time of a value from that of a bin.
        """
        parts = [task, task._replace(documents=task.documents // 8)]
        took = self.ask("swap", 2)[0]
        small, large = sorted(SWAPS)
        latency = took[str(small)]
        bandwidth = (large - small) / (took[str(large)] - latency)
        message = self.ask("exchange", workers)[0]
        modes = ("serial", "histogram")
        alone = self.measure([Case(mode, 1, part) for mode in modes for part in parts])
        looked = (2 * (task.leaves - 1) - 1) * task.features * task.bins
        machines = {}
        for mode, pair in zip(modes, (alone[:2], alone[2:]), strict=True):
            added = [statistics.mean(map(sum, one.sizes)) * task.features for one in pair]
            known = np.array([[many, looked] for many in added])
            add, scan = np.linalg.solve(known, [one.processor for one in pair]).tolist()
            machines[mode] = Machine(add, scan, bandwidth, latency, message)
        return machines


def compare(case: Case, found: Measured, machine: Machine) -> dict[str, float]:
    """What the model says of the trees that came out, beside what was measured."""
    crowd = max(1.0, case.workers / len(os.sched_getaffinity(0)))
    if case.slow:
        machine = machine._replace(bandwidth=SLOW)
    costs = [
        simulate(case.mode, case.task, machine, case.workers, slow=np.array(crowd), sizes=sizes)
        for sizes in found.sizes
    ]
    return {
        "bytes": found.bytes,
        "bytes predicted": statistics.mean(float(cost.bytes[0]) for cost in costs),
        "seconds": found.seconds,
        "seconds predicted": statistics.mean(cost.seconds for cost in costs),
        "processor": found.processor,
        "processor predicted": statistics.mean(cost.work for cost in costs),
    }


def all_cases(workers: int, task: Task) -> list[Case]:
    """LightGBM's library has no mode feature; its integers are wrong where 16 bits are too few."""
    few = task._replace(documents=65_535 // LEVELS, levels=LEVELS)
    kinds = [(mode, task) for mode in (*TEAM, "data", "voting")] + [("data", few)]
    free = [Case(mode, workers, one) for mode, one in kinds]
    return free + [case._replace(slow=True) for case in free if case.task is task]


def row(case: Case, one: dict[str, float]) -> list[str]:
    """MB and milliseconds: predicted, measured, and the ratio."""
    cells = [case.name, str(case.workers)]
    for what, unit, places in (("bytes", 1e6, 3), ("seconds", 1e-3, 0), ("processor", 1e-3, 0)):
        told, found = one[f"{what} predicted"], one[what]
        cells += [f"{told / unit:.{places}f}", f"{found / unit:.{places}f}"]
        cells += [f"{found / told:.{4 if what == 'bytes' else 2}f}"]
    return cells


COLUMNS = ["mode", "workers", "MB told", "MB seen", "ratio", "ms told", "ms seen", "ratio"]
COLUMNS += ["processor ms told", "processor ms seen", "ratio"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[2, 4])
    parser.add_argument("--documents", type=int, default=120_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--trees", type=int, default=6)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    need_root()
    task = Task(options.documents, options.features, leaves=options.leaves)
    cores = len(os.sched_getaffinity(0))
    print(platform.machine(), f"{cores} cores", installed("rankforce", "lightgbm", "numpy"))
    results = {}
    most = max(2, *options.workers)
    with Network(most) as network:
        lab = Lab(network, options.trees)
        lab.warm_up(task)
        machines = lab.calibrate(task, most)
        print(task, *(f"{mode}: {machine}" for mode, machine in machines.items()), sep="\n")
        print(f"\n{table(COLUMNS, [])}")
        for workers in options.workers:
            cases = all_cases(workers, task)
            for case, one in zip(cases, lab.measure(cases), strict=True):
                found = compare(case, one, machines.get(case.mode, machines["serial"]))
                results[f"{case.name}, {workers} workers"] = found
                print(f"| {' | '.join(row(case, found))} |", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
