"""Whether `cluster_model.py` tells the truth: its bytes and seconds beside those of real workers.

    sudo python benchmarks/cluster.py                      # two minutes
    sudo python benchmarks/cluster.py --workers 2 4 --json result.json

LightGBM workers, one process and one network namespace each, joined by a switch in a namespace of
its own: nothing is heard outside of them, and all are taken away at the end. Bytes are read off
the counters of each worker's network device, less the headers of its packets. One worker alone
tells how fast a core is, two sockets how fast the network is; from these the
model predicts the rest. A second round has a slow network (token bucket), where what is sent is
most of the time. Workers share the cores of this machine: the model lets work take as much longer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from cluster_model import Machine, Task, bytes_of_tree, simulate, table
from versions import installed

HEADERS = 66  # bytes of a packet: Ethernet 14, IPv4 20, TCP with time stamps 32
DEVICE = Path("/sys/class/net/eth0/statistics")
LONGEST = 60  # seconds of one run
BUFFER = 100_000  # bytes: LightGBM's sockets have no more, and beyond it a thread of its own sends
SWAPS = {444: 1000, 200_000: 300}  # bytes of a message: how many times two workers swap it
LEVELS = 4  # of quantised forces
SLOW = 25e6  # bytes a second of the slow network


class Case(NamedTuple):
    """What one group of workers is to do."""

    mode: str
    workers: int
    documents: int
    levels: int = 0
    slow: bool = False


# Namespaces


class Network:
    """Namespaces with a switch between them."""

    def __init__(self, many: int) -> None:
        self._name = f"rf{os.getpid()}"
        self.spaces = [f"{self._name}-{w}" for w in range(many)]
        self._made: list[str] = []

    def __enter__(self) -> Network:
        try:
            self._build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _build(self) -> None:
        switch = f"{self._name}-s"
        for space in [switch, *self.spaces]:
            _ip(f"netns add {space}")
            self._made.append(space)
            quiet = "net.ipv6.conf.default.disable_ipv6=1"
            _run(f"ip netns exec {space} sysctl -qw {quiet}")
            _ip(f"-n {space} link set lo up")
        _ip(f"-n {switch} link add bridge type bridge")
        _ip(f"-n {switch} link set bridge up")
        for w, space in enumerate(self.spaces):
            _ip(f"-n {space} link add eth0 type veth peer name port{w} netns {switch}")
            _ip(f"-n {switch} link set port{w} master bridge up")
            _ip(f"-n {space} addr add {address(w)}/24 dev eth0")
            _ip(f"-n {space} link set eth0 up")

    def limit(self, rate: float | None) -> None:
        """Let each worker send at most `rate` bytes a second; None: as fast as it goes."""
        for space in self.spaces:
            tc = f"ip netns exec {space} tc qdisc"
            if rate is None:
                _run(f"{tc} del dev eth0 root")
            else:
                rule = f"tbf rate {round(8 * rate)}bit burst 32kb limit 4mb"
                _run(f"{tc} replace dev eth0 root {rule}")

    def __exit__(self, *_: object) -> None:
        for space in self._made:
            subprocess.run(["ip", "netns", "del", space], check=False)


def address(worker: int) -> str:
    return f"10.77.0.{worker + 1}"


def _ip(words: str) -> None:
    _run(f"ip {words}")


def _run(words: str) -> None:
    done = subprocess.run(words.split(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words!r} failed: {done.stderr.strip()}")


@contextlib.contextmanager
def started(network: Network, spec: dict[str, Any]) -> Iterator[list[subprocess.Popen[str]]]:
    """This file in each of the first namespaces; whatever happens, nothing of it runs on."""
    runs = []
    try:
        for w, space in enumerate(network.spaces[: spec["workers"]]):
            inner = [sys.executable, __file__, "--inside", json.dumps(spec | {"rank": w})]
            command = ["ip", "netns", "exec", space, *inner]
            runs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        yield runs
    finally:
        for run in runs:
            run.kill()
            run.wait()


def answers(network: Network, spec: dict[str, Any]) -> list[Any]:
    """What each of them prints in its last line."""
    with started(network, spec) as runs:
        try:
            texts = [run.communicate(timeout=LONGEST)[0] for run in runs]
        except subprocess.TimeoutExpired:
            sys.exit(f"{spec} did not end within {LONGEST} seconds")
    if any(run.returncode for run in runs):
        sys.exit(f"{spec} failed")
    return [json.loads(text.splitlines()[-1]) for text in texts]


# Inside a namespace


def learn(spec: dict[str, Any]) -> dict[str, Any]:
    """Grow trees with the others: time and counters after each, and how leaves were cut."""
    import lightgbm as lgb

    task = Task(spec["documents"], **spec["task"])
    workers, rank = spec["workers"], spec["rank"]
    values, target = make_rows(task, workers, rank)
    parameters = {"objective": "none", "verbosity": -1, "num_threads": 1, "max_bin": 255}
    parameters |= {"min_data_in_bin": 1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    parameters |= {"num_leaves": task.leaves, "learning_rate": 0.1, "force_col_wise": True}
    parameters |= {"top_k": task.top_k, "feature_pre_filter": False, "enable_bundle": False}
    if task.levels:
        parameters |= {"use_quantized_grad": True, "num_grad_quant_bins": task.levels}
        parameters |= {"stochastic_rounding": False, "quant_train_renew_leaf": False}
    data = lgb.Dataset(values, np.zeros(len(values)), params=parameters).construct()
    if workers > 1:
        machines = ",".join(f"{address(w)}:{spec['port']}" for w in range(workers))
        parameters |= {"tree_learner": spec["mode"], "num_machines": workers, "machines": machines}
        parameters |= {"local_listen_port": spec["port"], "time_out": 1, "pre_partition": True}
    booster = lgb.Booster(parameters, data)
    seen = [look()]
    for _ in range(spec["trees"]):
        booster.update(fobj=lambda scores, _: (scores - target, np.ones(len(target))))
        seen.append(look())
    trees = booster.dump_model()["tree_info"]
    return {"seen": seen, "sizes": [smaller_leaves(one["tree_structure"]) for one in trees]}


def make_rows(task: Task, workers: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """One worker's documents: every value from 0 up in every feature, the middle one most often."""
    rows = task.documents // workers
    rng = np.random.default_rng([7, rank])
    values = rng.integers(0, task.bins, (rows, task.features)).astype(np.float32)
    values[rng.random(values.shape) < 0.05] = task.bins // 2
    values[: task.bins] = np.arange(task.bins)[:, None]  # so that all workers have the same bins
    weights = np.random.default_rng(7).normal(size=task.features)
    target = np.sin(values / 20.0) @ weights + rng.normal(size=rows)
    return values, target


def look() -> list[float]:
    """Wall and processor seconds, bytes and packets sent until now."""
    sent = [int((DEVICE / name).read_text()) for name in ("tx_bytes", "tx_packets")]
    return [time.perf_counter(), time.process_time(), *sent]


def smaller_leaves(root: dict[str, Any]) -> list[float]:
    """Documents of the smaller leaf at each search for splits, in the order of splits.

    >>> leaf = {"leaf_index": 0, "leaf_count": 3}
    >>> smaller_leaves({"split_index": 0, "internal_count": 10, "left_child": leaf,
    ...     "right_child": {"split_index": 1, "internal_count": 7, "left_child": leaf,
    ...     "right_child": leaf | {"leaf_count": 4}}})
    [10, 3]
    """
    found: dict[int, float] = {}
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if "split_index" in node:
            children = [node["left_child"], node["right_child"]]
            found[node["split_index"]] = min(_documents(child) for child in children)
            nodes += children
    return [_documents(root), *(found[place] for place in range(len(found) - 1))]


def _documents(node: dict[str, Any]) -> float:
    return float(node.get("internal_count", node.get("leaf_count", 0)))


def swap(spec: dict[str, Any]) -> dict[str, float]:
    """Seconds in which two workers give each other a message of each size, as LightGBM does."""
    place = (address(1), spec["port"])
    with contextlib.ExitStack() as stack:
        if spec["rank"] == 1:
            line = stack.enter_context(socket.create_server(place)).accept()[0]
        else:
            line = _connect(place)
        stack.enter_context(line)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            line.setsockopt(socket.SOL_SOCKET, buffer, BUFFER)
        return {str(size): _swap(line, size, many) for size, many in SWAPS.items()}


def _swap(line: socket.socket, size: int, many: int) -> float:
    times = []
    for _ in range(many):
        before = time.perf_counter()
        if size < BUFFER:
            line.sendall(bytes(size))
            _receive(line, size)
        else:
            sends = threading.Thread(target=line.sendall, args=(bytes(size),))
            sends.start()
            _receive(line, size)
            sends.join()
        times.append(time.perf_counter() - before)
    return statistics.median(times)


def _connect(place: tuple[str, int]) -> socket.socket:
    for _ in range(100):
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(place, timeout=LONGEST)
        time.sleep(0.1)
    sys.exit(f"nobody listens at {place}")


def _receive(line: socket.socket, size: int) -> None:
    while size:
        part = line.recv(size)
        if not part:
            sys.exit("the other side has gone")
        size -= len(part)


INSIDE = {"learn": learn, "swap": swap}


# Measured beside predicted


class Measured(NamedTuple):
    """Of one tree, the first left out; bytes of all workers, seconds of the slowest."""

    bytes: float
    seconds: float
    processor: float
    sizes: list[list[float]]


def measure(network: Network, case: Case, shape: dict[str, int], trees: int, port: int) -> Measured:
    spec = case._asdict() | {"what": "learn", "trees": trees, "port": port}
    spec["task"] = shape | {"levels": case.levels}
    if case.slow:
        network.limit(SLOW)
    found = answers(network, spec)
    if case.slow:
        network.limit(None)
    seen = np.array([one["seen"] for one in found])
    steps = np.diff(seen, axis=1)[:, 1:]
    sent = steps[..., 2] - HEADERS * steps[..., 3]
    return Measured(
        float(sent.sum(axis=0).mean()),
        float(np.median(steps[..., 0].max(axis=0))),
        float(np.median(steps[..., 1].mean(axis=0))),
        found[0]["sizes"][1:],
    )


def calibrate(network: Network, shape: dict[str, int], documents: int, trees: int) -> Machine:
    """How fast a core and the network are, from one worker alone and from two sockets.

    A tree on all documents and one on an eighth tell the time of a value from that of a bin.
    """
    known, times = [], []
    for many in (documents, documents // 8):
        alone = measure(network, Case("data", 1, many), shape, trees, 0)
        added = statistics.mean(sum(sizes) for sizes in alone.sizes) * shape["features"]
        looked = (2 * (shape["leaves"] - 1) - 1) * shape["features"] * shape["bins"]
        known.append([added, looked])
        times.append(alone.seconds)
    add, scan = np.linalg.solve(np.array(known), np.array(times))
    took = answers(network, {"what": "swap", "workers": 2, "port": 21000})[0]
    small, large = sorted(SWAPS)
    wire = (took[str(large)] - took[str(small)]) / (large - small)
    return Machine(add, max(scan, 0.0), 1 / wire, took[str(small)])


def compare(
    case: Case, found: Measured, machine: Machine, shape: dict[str, int]
) -> dict[str, float]:
    task = Task(case.documents, **shape, levels=case.levels)
    cores = len(os.sched_getaffinity(0))
    crowd = np.full(case.workers, max(1.0, case.workers / cores))
    if case.slow:
        machine = machine._replace(bandwidth=SLOW)
    costs = [
        simulate(case.mode, task, machine, case.workers, slow=crowd, sizes=s) for s in found.sizes
    ]
    told = [bytes_of_tree(case.mode, task, case.workers, s).sum() for s in found.sizes]
    return {
        "bytes": found.bytes,
        "bytes predicted": float(np.mean(told)),
        "seconds": found.seconds,
        "seconds predicted": statistics.median(cost.seconds for cost in costs),
        "processor": found.processor,
        "processor predicted": statistics.median(cost.adding for cost in costs),
    }


def all_cases(workers: list[int], documents: int) -> list[Case]:
    """LightGBM has no feature mode in its library, and quantised forces only where 16 bits do."""
    few = 65_535 // LEVELS
    return [
        Case(mode, many, few if levels else documents, levels, slow)
        for slow in (False, True)
        for mode, levels in (("data", 0), ("voting", 0), ("data", LEVELS))
        for many in workers
        if not (slow and levels)
    ]


def name(case: Case) -> str:
    forces = "quantised" if case.levels else "plain"
    return f"{case.mode}, {forces}{', slow network' if case.slow else ''}"


def row(case: Case, one: dict[str, float]) -> list[str]:
    cells = [name(case), str(case.workers)]
    for what, unit in (("bytes", 1e6), ("seconds", 1e-3), ("processor", 1e-3)):
        told, found = one[f"{what} predicted"] / unit, one[what] / unit
        cells += [f"{told:.3f}" if what == "bytes" else f"{told:.0f}"]
        cells += [f"{found:.3f}" if what == "bytes" else f"{found:.0f}"]
        cells += [f"{found / told:.3f}" if what == "bytes" else f"{found / told:.2f}"]
    return cells


HEAD = ["mode", "workers", "MB told", "MB seen", "ratio", "ms told", "ms seen", "ratio"]
HEAD += ["processor ms told", "seen", "ratio"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, nargs="*", default=[2, 3, 4])
    parser.add_argument("--documents", type=int, default=120_000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=63)
    parser.add_argument("--trees", type=int, default=6)
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    if options.inside:
        spec = json.loads(options.inside)
        print(json.dumps(INSIDE[spec["what"]](spec)))
        return
    if os.geteuid() or not shutil.which("ip"):
        sys.exit("network namespaces need Linux, the program ip and root: sudo python " + __file__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    shape = {"features": options.features, "bins": 127, "leaves": options.leaves, "top_k": 20}
    print(
        platform.machine(), f"{len(os.sched_getaffinity(0))} cores", installed("lightgbm", "numpy")
    )
    results = {}
    rows = []
    with Network(max(options.workers)) as network:
        machine = calibrate(network, shape, options.documents, options.trees)
        print(f"{options.documents} documents, {shape}; one core and the network: {machine}\n")
        for place, case in enumerate(all_cases(options.workers, options.documents)):
            found = measure(network, case, shape, options.trees, 22000 + place)
            results[f"{name(case)}, {case.workers}"] = compare(case, found, machine, shape)
            rows.append(row(case, results[f"{name(case)}, {case.workers}"]))
    print(table(HEAD, rows))
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
