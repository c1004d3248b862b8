"""One worker of `cluster.py`, in a network namespace: told what to do as JSON, answers in JSON."""

from __future__ import annotations

import contextlib
import functools
import json
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from cluster_model import TEAM, Task
from namespaces import address, free, limit

DEVICE = Path("/sys/class/net/eth0/statistics")
BUFFER = 100_000  # bytes: LightGBM's sockets have no more, and beyond it a thread of its own sends
SWAPS = {444: 1000, 200_000: 300}  # bytes of a message: how many times two workers swap it
EXCHANGES = 2000
QUERY = 100  # documents
WAIT = 30.0  # seconds for the others


def look() -> list[float]:
    """Seconds of the clock and of the processor, bytes and packets sent until now."""
    sent = [int((DEVICE / name).read_text()) for name in ("tx_bytes", "tx_packets")]
    return [time.perf_counter(), time.process_time(), *sent]


@functools.cache
def make_rows(task: Task, workers: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """One worker's documents, and what they are worth.

    Every feature has the whole numbers from 0 up, with all workers, so that bins are the same.
    """
    rows = task.documents // workers // QUERY * QUERY
    rng = np.random.default_rng([7, rank])
    values = rng.integers(0, task.bins, (rows, task.features)).astype(np.float32)
    values[: task.bins] = np.arange(task.bins)[:, None]
    weights = np.random.default_rng(7).normal(size=task.features)
    return values, np.sin(values / 20.0) @ weights + rng.normal(size=rows)


def grow(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Trees, job after job: what `look` saw after each tree, and how leaves were cut."""
    found = []
    for place, job in enumerate(spec["jobs"]):
        task = Task(*job["task"])
        rows = make_rows(task._replace(levels=0), spec["workers"], spec["rank"])
        if job["rate"]:
            limit(job["rate"])
        ways = with_team if job["mode"] in TEAM else with_sockets
        found.append(ways(spec | job | {"port": spec["port"] + place}, task, *rows))
        if job["rate"]:
            free()
    return found


def with_sockets(
    spec: dict[str, Any], task: Task, values: np.ndarray, worth: np.ndarray
) -> dict[str, Any]:
    """LightGBM over sockets of its own."""
    parameters = {"objective": "none", "verbosity": -1, "num_threads": 1, "max_bin": 255}
    parameters |= {"min_data_in_bin": 1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    parameters |= {"num_leaves": task.leaves, "top_k": task.top_k, "force_col_wise": True}
    parameters |= {"feature_pre_filter": False, "enable_bundle": False}
    if task.levels:
        parameters |= {"use_quantized_grad": True, "num_grad_quant_bins": task.levels}
        parameters |= {"stochastic_rounding": False, "quant_train_renew_leaf": False}
    data = lgb.Dataset(values, np.zeros(len(values)), params=parameters).construct()
    workers = spec["workers"]
    if workers > 1:
        machines = ",".join(f"{address(w)}:{spec['port']}" for w in range(workers))
        parameters |= {"tree_learner": spec["mode"], "num_machines": workers, "machines": machines}
        parameters |= {"local_listen_port": spec["port"], "time_out": 1, "pre_partition": True}
    booster = lgb.Booster(parameters, data)
    seen = []
    for _ in range(spec["trees"]):
        booster.update(fobj=lambda scores, _: (scores - worth, np.ones(len(worth))))
        seen.append(look())
    sizes = sizes_of(booster)
    booster.free_network()
    return {"seen": seen, "sizes": sizes}


def with_team(
    spec: dict[str, Any], task: Task, values: np.ndarray, worth: np.ndarray
) -> dict[str, Any]:
    """Rankforce over a team; the first worker alone looks."""
    import rankforce as rf
    from rankforce.training.loop import fit
    from rankforce.training.run import ScoredSet

    labels = np.digitize(worth, np.array([0.0, 5.0, 10.0, 15.0]))
    qid = np.repeat(np.arange(len(values) // QUERY), QUERY) + task.documents * spec["rank"]
    data = rf.RankingData(values, labels, qid=qid)
    ranker = rf.Ranker(
        n_estimators=spec["trees"],
        num_leaves=task.leaves,
        min_child_samples=1,
        min_child_weight=0.0,
        engine=spec["mode"],
        threads=1,
        progress=False,
    )
    seen: list[list[float]] = []
    watch = [lambda _: seen.append(look())]
    with meet(spec) as team:
        model = fit(ranker.settings(), ScoredSet("training", data), callbacks=watch, team=team)
    return {"seen": seen, "sizes": sizes_of(lgb.Booster(model_str=model.text()))}


def meet(spec: dict[str, Any]) -> Any:
    """The team of all workers."""
    from rankforce.common.team import ALONE, join_team

    if spec["workers"] == 1:
        return contextlib.nullcontext(ALONE)
    places = [(address(w), spec["port"]) for w in range(spec["workers"])]
    return join_team(spec["rank"], places, token=spec["token"].encode(), timeout=WAIT)


def sizes_of(booster: Any) -> list[list[float]]:
    """Of each tree, documents of the smaller leaf at each search for splits."""
    return [smaller_leaves(one["tree_structure"]) for one in booster.dump_model()["tree_info"]]


def smaller_leaves(root: dict[str, Any]) -> list[float]:
    """Documents of the smaller leaf at each search for splits, in the order of splits.

    The children of the last split are not searched.

    >>> leaf = {"leaf_index": 0, "leaf_count": 3}
    >>> right = {"split_index": 1, "internal_count": 7, "left_child": leaf}
    >>> right["right_child"] = {"leaf_index": 1, "leaf_count": 4}
    >>> root = {"split_index": 0, "internal_count": 10, "left_child": leaf, "right_child": right}
    >>> smaller_leaves(root)
    [10.0, 3.0]
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
    return float(node["internal_count" if "split_index" in node else "leaf_count"])


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
    return min(times)


def _connect(place: tuple[str, int]) -> socket.socket:
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        with contextlib.suppress(ConnectionRefusedError):
            return socket.create_connection(place, timeout=WAIT)
        time.sleep(0.1)
    sys.exit(f"nobody listens at {place}")


def _receive(line: socket.socket, size: int) -> None:
    while size:
        part = line.recv(size)
        if not part:
            sys.exit("the other side has gone")
        size -= len(part)


def exchange(spec: dict[str, Any]) -> float:
    """Processor seconds of a message, of a team's exchange of little."""
    parts = [bytes(min(SWAPS))] * spec["workers"]
    with meet(spec) as team:
        before = time.process_time()
        for _ in range(EXCHANGES):
            team.exchange(parts)
        took = time.process_time() - before
    return took / EXCHANGES / (spec["workers"] - 1)


DOES = {"grow": grow, "swap": swap, "exchange": exchange}

if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    print(json.dumps(DOES[told["what"]](told)))
