"""What a tree costs on many machines, by LightGBM's parallel modes: memory, bytes and seconds.

    python benchmarks/cluster_model.py                    # the tables of docs/scale.md
    python benchmarks/cluster_model.py --bandwidth 1.25e9 --latency 20e-6

A conversation of workers is a list of rounds, a round a list of messages: who sends how many bytes
to whom. The rounds are those of LightGBM 4.7's sources: `src/network/network.cpp` and
`linker_topo.cpp` (which algorithm speaks to whom), `src/treelearner/data_parallel_tree_learner.cpp`,
`voting_parallel_tree_learner.cpp`, `feature_parallel_tree_learner.cpp`, `parallel_tree_learner.h`
(what is said for each split). Bytes are what the messages carry, without the headers of packets.
`benchmarks/cluster.py` compares them with what workers really send.
"""

from __future__ import annotations

import argparse
import math
from typing import NamedTuple

import numpy as np

MODES = ("data", "voting", "feature")

ENTRY = {"plain": 16, "int32": 8, "int16": 4}  # bytes of a bin: its gradients and its hessians
MAX_CAT_THRESHOLD = 32  # LightGBM's default; a split carries room for so many categories
# SplitInfo::Size: 3 x 4 bytes, 7 x 8, 2 x 4 of counts, 2 x 8 of integer sums, 2 flags, categories.
SPLIT = 3 * 4 + 7 * 8 + 2 * 4 + 2 * 8 + 2 + 4 * MAX_CAT_THRESHOLD
VOTE = 24  # sizeof(LightSplitInfo)
ROOT = {False: 24, True: 32}  # documents, gradients, hessians; quantised: integer sums too
RING = 10 * 1024 * 1024  # bytes from which rings replace halving and doubling
SMALL = 4096  # bytes up to which all is sent to all and summed there
INT32_MOST = 2**31 - 1  # documents of all workers: LightGBM's data_size_t


class Message(NamedTuple):
    sender: int
    receiver: int
    bytes: int


Round = list[Message]


class Task(NamedTuple):
    """What is to be learnt."""

    documents: int
    features: int = 220
    bins: int = 127  # of each feature; the first, where zeros are, follows from the others' sums
    leaves: int = 255
    top_k: int = 20  # voting: features that a worker votes for
    levels: int = 0  # of quantised forces; 0: plain


class Machine(NamedTuple):
    """One of the workers, and the network between them."""

    add: float  # seconds to add one value to a histogram, with all its cores
    look: float  # seconds to look through one bin for a split
    bandwidth: float  # bytes a second, each way
    latency: float  # seconds of a message, empty


class Cost(NamedTuple):
    """Of one tree."""

    seconds: float
    adding: float  # of one worker of the usual speed
    bytes_sent: int  # by all workers together
    busiest: int  # bytes sent by the worker that sends most


# Who speaks to whom


def deal(total: int, workers: int) -> list[int]:
    """How many of `total` things each worker gets.

    >>> deal(7, 3)
    [3, 2, 2]
    """
    return [total // workers + (worker < total % workers) for worker in range(workers)]


def halving(blocks: list[int]) -> list[Round]:
    """Recursive halving: worker w ends with the sum of everybody's block w.

    At a power of two, each round swaps half of what is left with a partner. Else some workers
    first hand all they have to a neighbour, who speaks for both and hands their block back.

    >>> [[tuple(message) for message in step] for step in halving([10, 20])]
    [[(0, 1, 20), (1, 0, 10)]]
    >>> [len(step) for step in halving([1] * 4)], [len(step) for step in halving([1] * 3)]
    ([4, 4], [1, 2, 1])
    """
    workers = len(blocks)
    groups = 1 << (workers.bit_length() - 1)
    paired = workers - groups
    single = groups - paired  # groups of one come first, then `paired` groups of two
    members = [[w] for w in range(single)]
    members += [[single + 2 * g, single + 2 * g + 1] for g in range(paired)]
    weight = [sum(blocks[w] for w in group) for group in members]
    pairs = [group for group in members if len(group) == 2]
    rounds: list[Round] = []
    if pairs:
        rounds.append([Message(second, first, sum(blocks)) for first, second in pairs])
    distance = groups // 2
    while distance:
        step: Round = []
        for group in range(groups):
            other = group ^ distance
            start = other // distance * distance
            step.append(
                Message(members[group][0], members[other][0], sum(weight[start : start + distance]))
            )
        rounds.append(step)
        distance //= 2
    if pairs:
        rounds.append([Message(first, second, blocks[second]) for first, second in pairs])
    return rounds


def ring(blocks: list[int], first: int) -> list[Round]:
    """Each worker hands a block to the next one, all around but one step.

    `first`: the block that worker 0 hands on first (0: gather; -1: sum).

    >>> [[message.bytes for message in step] for step in ring([1, 2, 3], 0)]
    [[1, 2, 3], [3, 1, 2]]
    """
    workers = len(blocks)
    return [
        [Message(w, (w + 1) % workers, blocks[(w + first - i) % workers]) for w in range(workers)]
        for i in range(workers - 1)
    ]


def reduce_scatter(blocks: list[int]) -> list[Round]:
    """As `Network::ReduceScatter` chooses."""
    workers = len(blocks)
    if workers == 1:
        return []
    if workers & (workers - 1) == 0 or sum(blocks) < RING:
        return halving(blocks)
    return ring(blocks, -1)


def allgather(blocks: list[int]) -> list[Round]:
    """Everybody's block to everybody, as `Network::Allgather` chooses.

    >>> [[message.bytes for message in step] for step in allgather([5] * 4)]
    [[5, 5, 5, 5], [10, 10, 10, 10]]
    >>> [[message.bytes for message in step] for step in allgather([5] * 3)]
    [[5, 5, 5], [5, 5, 5]]
    """
    workers = len(blocks)
    if workers == 1:
        return []
    if sum(blocks) > RING and workers < 64:
        return ring(blocks, 0)
    rounds: list[Round] = []
    known = 1
    while known < workers:
        step: Round = []
        for w in range(workers):
            if workers & (workers - 1) == 0:  # recursive doubling
                start = w // known * known
                step.append(Message(w, w ^ known, sum(blocks[start : start + known])))
            else:  # Bruck
                many = min(known, workers - known)
                sent = sum(blocks[(w + j) % workers] for j in range(many))
                step.append(Message(w, (w - known) % workers, sent))
        rounds.append(step)
        known *= 2
    return rounds


def allreduce(size: int, count: int, workers: int) -> list[Round]:
    """A sum that everybody gets, of `count` things in `size` bytes."""
    if count < workers or size < SMALL:
        return allgather([size] * workers)
    blocks = [size // count * many for many in deal(count, workers)]
    return [*reduce_scatter(blocks), *allgather(blocks)]


# What is said for a tree


def before_tree(mode: str, task: Task, workers: int) -> list[Round]:
    """The root's sums; quantised: the largest gradient and hessian before."""
    largest = 2 * allgather([8] * workers) if task.levels else []
    if mode == "feature":
        return largest
    return largest + allgather([ROOT[task.levels > 0]] * workers)


def entry_bytes(task: Task, documents: float) -> int:
    """Bytes of a bin of a leaf with so many documents.

    >>> entry_bytes(Task(10**6), 100), entry_bytes(Task(10**6, levels=4), 16383)
    (16, 4)
    >>> entry_bytes(Task(10**6, levels=4), 16384)
    8
    """
    if not task.levels:
        return ENTRY["plain"]
    return ENTRY["int16" if documents * task.levels < 65536 else "int32"]


def split_rounds(mode: str, task: Task, workers: int, documents: float, leaves: int) -> list[Round]:
    """What is said to find splits of one leaf (the root) or two, the smaller with `documents`.

    data: the smaller leaf's histograms are summed, each worker gets its features'. voting: the
    best features of each leaf are told to all, and only their histograms are summed. Then, as in
    feature mode, everybody tells everybody its best split.
    """
    rounds: list[Round] = []
    if mode == "data":
        one = (task.bins - 1) * entry_bytes(task, documents)
        rounds += reduce_scatter([one * many for many in deal(task.features, workers)])
    if mode == "voting":
        votes = min(task.top_k, task.features)
        rounds += allgather([2 * votes * VOTE] * workers)
        features, most = leaves * votes, -(-leaves * votes // workers)
        shares = [min(most, max(features - most * w, 0)) for w in range(workers)]
        rounds += reduce_scatter([(task.bins - 1) * ENTRY["plain"] * share for share in shares])
    return rounds + allgather([2 * SPLIT] * workers)


def even_leaves(task: Task) -> list[float]:
    """Documents of the smaller leaf at each search for splits, of a tree that halves its leaves.

    The children of the last split are not searched.

    >>> even_leaves(Task(1600, leaves=5))
    [1600, 800.0, 400.0, 400.0]
    """
    sizes: list[float] = [task.documents]
    level = 0
    while len(sizes) < task.leaves - 1:
        many = min(2**level, task.leaves - 1 - len(sizes))
        sizes += [task.documents / 2 ** (level + 1)] * many
        level += 1
    return sizes


def bytes_of_tree(
    mode: str, task: Task, workers: int, sizes: list[float] | None = None
) -> np.ndarray:
    """Bytes that each worker sends for one tree.

    Two workers, one feature of 5 bins, 2 leaves: both tell the root's sums (24 bytes). The first
    one gets the feature's 4 x 16 bytes from the second; then both tell 2 splits of 222 bytes.

    >>> bytes_of_tree("data", Task(100, features=1, bins=5, leaves=2), 2).tolist()
    [468, 532]
    """
    sent = np.zeros(workers, np.int64)
    for step in before_tree(mode, task, workers):
        _count(step, sent)
    known: dict[tuple[int, int], np.ndarray] = {}
    for place, documents in enumerate(sizes if sizes is not None else even_leaves(task)):
        leaves = 2 if place else 1
        kind = (leaves, entry_bytes(task, documents))
        if kind not in known:
            known[kind] = np.zeros(workers, np.int64)
            for step in split_rounds(mode, task, workers, documents, leaves):
                _count(step, known[kind])
        sent += known[kind]
    return sent


def _count(step: Round, sent: np.ndarray) -> None:
    for message in step:
        sent[message.sender] += message.bytes


# Seconds


def work_of_split(
    mode: str, task: Task, machine: Machine, workers: int, documents: float, leaves: int
) -> float:
    """Seconds of one worker's own work for one search for splits."""
    rows = documents if mode == "feature" else documents / workers
    features = task.features / workers if mode == "feature" else task.features
    looked = task.features if mode == "voting" else task.features / workers
    return rows * features * machine.add + leaves * looked * task.bins * machine.look


class Clock:
    """When each worker is done with what it has heard so far, and when its line is free again.

    A message leaves when its sender is ready and has sent what it had to send before; its receiver
    waits for it. What a worker sends goes out while it listens.

    >>> clock = Clock(2, Machine(0, 0, bandwidth=100.0, latency=1.0))
    >>> clock.work(np.array([0.0, 5.0]))
    >>> clock.speak(np.array([Message(0, 1, 200), Message(1, 0, 100)]))
    >>> clock.ready
    array([7., 5.])
    """

    def __init__(self, workers: int, machine: Machine) -> None:
        self.ready = np.zeros(workers)
        self._free = np.zeros(workers)
        self._machine = machine

    def work(self, seconds: np.ndarray) -> None:
        self.ready = self.ready + seconds

    def speak(self, step: np.ndarray) -> None:
        """One round, a message a row; nobody sends or gets more than one in a round."""
        senders, receivers, sizes = step.T
        leaves = np.maximum(self._free[senders], self.ready[senders])
        self._free[senders] = leaves + sizes / self._machine.bandwidth
        arrives = self._free[senders] + self._machine.latency
        self.ready[receivers] = np.maximum(self.ready[receivers], arrives)


def simulate(
    mode: str,
    task: Task,
    machine: Machine,
    workers: int,
    *,
    slow: np.ndarray | None = None,
    jitter: float = 0.0,
    sizes: list[float] | None = None,
    seed: int = 0,
) -> Cost:
    """One tree: every worker works, speaks, waits for those that it listens to, works again.

    `slow`: how many times longer each worker takes than the usual one. `jitter`: the spread
    (sigma of a log-normal with median 1) of a worker's time from split to split.
    """
    rng = np.random.default_rng(seed)
    pace = np.ones(workers) if slow is None else slow
    clock = Clock(workers, machine)
    for step in before_tree(mode, task, workers):
        clock.speak(np.array(step))
    adding = 0.0
    known: dict[tuple[int, int], list[np.ndarray]] = {}
    for place, documents in enumerate(sizes if sizes is not None else even_leaves(task)):
        leaves = 2 if place else 1
        work = work_of_split(mode, task, machine, workers, documents, leaves)
        adding += work
        clock.work(work * pace * np.exp(jitter * rng.normal(size=workers)))
        kind = (leaves, entry_bytes(task, documents))
        if kind not in known:
            rounds = split_rounds(mode, task, workers, documents, leaves)
            known[kind] = [np.array(step) for step in rounds]
        for step in known[kind]:
            clock.speak(step)
    sent = bytes_of_tree(mode, task, workers, sizes)
    return Cost(float(clock.ready.max()), adding, int(sent.sum()), int(sent.max()))


# Memory, and what a lost worker costs


def memory(
    mode: str, task: Task, workers: int, *, a_value: float, a_document: float = 100
) -> float:
    """Bytes of one worker: bins, what is kept of a document, and the histograms of all leaves.

    >>> memory("data", Task(1000, features=10, bins=4, leaves=3), 10, a_value=1)
    12920.0
    """
    rows = task.documents if mode == "feature" else task.documents / workers
    histograms = task.leaves * task.features * task.bins * ENTRY["plain"]
    return rows * (task.features * a_value + a_document) + histograms


def fewest_workers(task: Task, size: float, *, a_value: float) -> int:
    """Workers of `size` bytes that hold the documents between them.

    >>> fewest_workers(Task(10**9), 256 * 2**30, a_value=2.2)
    3
    """
    workers = 1
    while memory("data", task, workers, a_value=a_value) > size:
        workers += 1
    return workers


def lost_time(trees: int, tree: float, start: float, save: float, every: int, mean: float) -> float:
    """Seconds that a run of `trees` takes, with saves and restarts, by the first-order formula.

    A worker of the team is lost every `mean` seconds, and with it half an interval of trees on
    average and the time to start again (load, bin or open bins, connect).

    >>> lost_time(100, 10.0, 60.0, 0.0, 10, math.inf)
    1000.0
    >>> lost_time(100, 10.0, 60.0, 1.0, 10, 10100.0)
    1021.0
    """
    plain = trees * tree + trees / every * save
    losses = plain / mean
    return plain + losses * (every * tree / 2 + start)


def best_interval(tree: float, save: float, mean: float) -> float:
    """Trees between two saves that lose least time: Young's square root.

    >>> best_interval(10.0, 2.0, 3600.0)
    12.0
    """
    return math.sqrt(2 * save * mean) / tree


# Tables

CORES = 16
NETWORKS = {"10 Gbit/s": 1.25e9, "1 Gbit/s": 1.25e8}
MANY = (4, 16, 64, 256)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Markdown.

    >>> print(table(["a", "b"], [["1", "2"]]))
    | a | b |
    | ---: | ---: |
    | 1 | 2 |
    """
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def memory_table(documents: list[int]) -> str:
    """GiB of a worker."""
    head, rows = ["documents", "workers", "1.2 bytes a value", "2.2 bytes a value"], []
    for many in documents:
        task = Task(many)
        for workers in MANY:
            sizes = [memory("data", task, workers, a_value=value) for value in (1.2, 2.2)]
            rows.append([f"{many:,}", str(workers), *(f"{size / 2**30:,.0f}" for size in sizes)])
    return table(head, rows)


def bytes_table() -> str:
    """MB that the busiest worker sends for a tree; documents hardly matter."""
    kinds = {"data": ("data", 0), "data, quantised": ("data", 32)}
    kinds |= {"voting": ("voting", 0), "feature": ("feature", 0)}
    rows = []
    for workers in (2, *MANY, 1024):
        told = [
            bytes_of_tree(mode, Task(10**9, levels=levels), workers).max() / 1e6
            for mode, levels in kinds.values()
        ]
        rows.append([str(workers), *(f"{size:,.1f}" for size in told)])
    return table(["workers", *kinds], rows)


def seconds_table(documents: list[int], machine: Machine) -> str:
    """Seconds of a tree, and how much of them is work."""
    kinds = [(mode, network) for network in NETWORKS for mode in ("data", "voting")]
    head = ["documents", "workers", "work", *(f"{mode}, {network}" for mode, network in kinds)]
    rows = []
    for many in documents:
        for workers in MANY:
            costs = [
                simulate(mode, Task(many), machine._replace(bandwidth=NETWORKS[network]), workers)
                for mode, network in kinds
            ]
            cells = [f"{cost.seconds:.2f} ({cost.adding / cost.seconds:.0%})" for cost in costs]
            rows.append([f"{many:,}", str(workers), f"{costs[0].adding:.2f}", *cells])
    return table(head, rows)


def straggler_table(task: Task, machine: Machine) -> str:
    """How many times longer a tree takes than with workers that are all alike."""
    head = ["workers", "one 1.5 x slower", "one 2 x slower", "jitter 0.1", "jitter 0.3"]
    rows = []
    for workers in MANY:
        even = simulate("data", task, machine, workers).seconds
        cells = []
        for factor in (1.5, 2.0):
            slow = np.ones(workers)
            slow[0] = factor
            cells.append(simulate("data", task, machine, workers, slow=slow).seconds / even)
        for jitter in (0.1, 0.3):
            cells.append(simulate("data", task, machine, workers, jitter=jitter).seconds / even)
        rows.append([str(workers), *(f"{cell:.2f}" for cell in cells)])
    return table(head, rows)


def loss_table(task: Task, machine: Machine, *, trees: int, start: float, save: float) -> str:
    """Hours of a run in which each machine is lost once in 30 days on average."""
    head = ["workers", "hours, nothing lost", "best interval in trees"]
    head += ["hours, saved so often", "hours, saved at every 100", "hours, not saved"]
    rows = []
    for workers in MANY:
        tree = simulate("data", task, machine, workers).seconds
        mean = 30 * 86400 / workers
        best = max(round(best_interval(tree, save, mean)), 1)
        hours = [
            lost_time(trees, tree, start, save if every < trees else 0, every, mean) / 3600
            for every in (best, 100, trees)
        ]
        cells = [f"{trees * tree / 3600:.2f}", str(best), *(f"{hour:.2f}" for hour in hours)]
        rows.append([str(workers), *cells])
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--add", type=float, default=2e-9, help="seconds a value, of one core")
    parser.add_argument("--look", type=float, default=5e-9, help="seconds a bin, of one core")
    parser.add_argument("--cores", type=int, default=CORES, help="of a worker, all of use")
    parser.add_argument("--latency", type=float, default=50e-6, help="seconds of a message")
    options = parser.parse_args()
    machine = Machine(
        options.add / options.cores,
        options.look / options.cores,
        NETWORKS["10 Gbit/s"],
        options.latency,
    )
    print(f"{Task(0)}\n{machine}\n")
    sizes = [10**9, 10**10]
    print(f"GiB of a worker\n\n{memory_table(sizes)}\n")
    print(f"MB sent for a tree by the worker that sends most\n\n{bytes_table()}\n")
    print(f"Seconds of a tree (share of work)\n\n{seconds_table(sizes, machine)}\n")
    billion = Task(10**9)
    print(f"Times as long with stragglers\n\n{straggler_table(billion, machine)}\n")
    losses = loss_table(billion, machine, trees=1000, start=600, save=5)
    print(f"1,000 trees, 10 minutes to start again, 5 s to save\n\n{losses}")


if __name__ == "__main__":
    main()
