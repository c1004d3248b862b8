"""What a tree costs on many machines: memory, bytes and seconds, by the way that workers speak.

A conversation is a list of rounds, a round a list of messages: who sends how many bytes to whom.
Three modes are LightGBM 4.7's over sockets of its own, as its sources have them:
`src/network/network.cpp` and `linker_topo.cpp` (who speaks to whom),
`src/treelearner/data_parallel_tree_learner.cpp`, `voting_parallel_tree_learner.cpp`,
`feature_parallel_tree_learner.cpp` and `parallel_tree_learner.h` (what is said for a split). Two
are rankforce's, over a team, where each worker speaks to each other one: its engine "lightgbm" says
what LightGBM says in its mode data, "histogram" sums the histograms of its own trees. Bytes are
those that messages carry, without the headers of packets.

`cluster_plan.py` prints tables of it, `cluster.py` compares it with what workers really do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

TEAM = ("histogram", "lightgbm")  # engines of rankforce

ENTRY = {"plain": 16, "int32": 8, "int16": 4}  # bytes of a bin: its gradients and its hessians
CATEGORIES = 32  # max_cat_threshold: a split has room for so many
# SplitInfo::Size: 3 x 4 bytes, 7 x 8, 2 x 4 of counts, 2 x 8 of integer sums, 2 flags, categories.
SPLIT = 3 * 4 + 7 * 8 + 2 * 4 + 2 * 8 + 2 + 4 * CATEGORIES
VOTE = 24  # sizeof(LightSplitInfo)
ROOT, ROOT_QUANTISED = 24, 32  # documents, gradients, hessians; then integer sums too
RING = 10 * 1024 * 1024  # bytes from which rings replace halving and doubling
HEAD = 16  # of a message of a team
VALUE = 45  # about what a value of a team takes beside its numbers


class Message(NamedTuple):
    """What one worker tells another one."""

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
    levels: int = 0  # of LightGBM's integer histograms; 0: plain ones


class Machine(NamedTuple):
    """One of the workers, and the network between them."""

    add: float  # seconds to add one value to a histogram, with all its cores
    look: float  # seconds to look through one bin for a split
    bandwidth: float  # bytes a second, each way
    latency: float  # seconds of a message, empty
    message: float = 0.0  # seconds of a worker's own for a message of a team


class Cost(NamedTuple):
    """Of one tree."""

    seconds: float
    work: float  # seconds of them that one worker works
    bytes: np.ndarray  # sent by each worker


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
    >>> [[tuple(message) for message in step] for step in halving([1, 1, 1])]
    [[(2, 1, 3)], [(0, 1, 2), (1, 0, 1)], [(1, 2, 1)]]
    """
    workers = len(blocks)
    groups = 1 << (workers.bit_length() - 1)
    alone = 2 * groups - workers  # groups of one come first, then groups of two
    firsts = [*range(alone), *range(alone, workers, 2)]
    pairs = [(first, first + 1) for first in firsts[alone:]]
    weights = blocks[:alone] + [blocks[first] + blocks[second] for first, second in pairs]
    rounds: list[Round] = []
    distance = groups // 2
    while distance:
        step: Round = []
        for group in range(groups):
            other = group ^ distance
            start = other // distance * distance
            size = sum(weights[start : start + distance])
            step.append(Message(firsts[group], firsts[other], size))
        rounds.append(step)
        distance //= 2
    if not pairs:
        return rounds
    before = [Message(second, first, sum(blocks)) for first, second in pairs]
    after = [Message(first, second, blocks[second]) for first, second in pairs]
    return [before, *rounds, after]


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
    if _is_power(workers) or sum(blocks) < RING:
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
    if sum(blocks) > RING and workers < 64:
        return ring(blocks, 0)
    rounds: list[Round] = []
    known = 1
    while known < workers:
        step: Round = []
        for w in range(workers):
            if _is_power(workers):  # recursive doubling
                start, other = w // known * known, w ^ known
                told = blocks[start : start + known]
            else:  # Bruck
                other = (w - known) % workers
                told = [blocks[(w + j) % workers] for j in range(min(known, workers - known))]
            step.append(Message(w, other, sum(told)))
        rounds.append(step)
        known *= 2
    return rounds


def _is_power(workers: int) -> bool:
    return workers & (workers - 1) == 0


def each_to_each(blocks: list[int]) -> list[Round]:
    """A team's exchange: worker s has blocks[r] bytes for each other worker r.

    >>> each_to_each([10, 20])
    [[Message(sender=0, receiver=1, bytes=36), Message(sender=1, receiver=0, bytes=26)]]
    """
    every = range(len(blocks))
    if len(every) == 1:
        return []
    return [[Message(s, r, HEAD + blocks[r]) for s in every for r in every if s != r]]


# What is said for a tree


def add_up(numbers: int, workers: int) -> list[Round]:
    """A team's sum of 64-bit numbers: each worker adds up a part of them, and tells it to all.

    >>> [[message.bytes - HEAD for message in step] for step in add_up(3, 2)]
    [[8, 16], [16, 8]]
    """
    parts = [8 * many for many in deal(numbers, workers)]
    every = range(workers)
    told = [Message(s, r, HEAD + parts[s]) for s in every for r in every if s != r]
    return [*each_to_each(parts), told] if told else []


def around_tree(mode: str, task: Task, workers: int) -> list[Round]:
    """The sums of the root, and what a mode says beside, once a tree."""
    if mode in TEAM:
        # How large forces are, those of leaves with what rounding lost of them, whether to go on.
        sizes = [VALUE + 2 * 8, VALUE + 4 * 8 * task.leaves, VALUE]
        rounds = [step for size in sizes for step in each_to_each([size] * workers)]
        if mode == "lightgbm":
            return rounds + each_to_each([ROOT] * workers)
        return rounds + add_up(3, workers) + add_up(1, workers)  # root; rows of the last leaves
    largest = 2 * allgather([8] * workers) if task.levels else []
    if mode == "feature":
        return largest
    return largest + allgather([ROOT_QUANTISED if task.levels else ROOT] * workers)


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

    histogram: the smaller leaf's histograms are summed, and everybody gets all sums. lightgbm,
    data: each worker gets its features' sums. voting: the best features of each leaf are told to
    all, and only their histograms are summed. Then, and in the mode feature that alone, everybody
    tells everybody its best split.
    """
    if mode == "histogram":  # 2^n bins a feature, one number for both sums; and how many rows
        return add_up(task.features * (1 << (task.bins - 1).bit_length()) + 1, workers)
    one = (task.bins - 1) * entry_bytes(task, documents)
    shares = [one * many for many in deal(task.features, workers)]
    splits = [2 * SPLIT] * workers
    if mode == "lightgbm":
        return each_to_each(shares) + each_to_each(splits)
    if mode == "data":
        return reduce_scatter(shares) + allgather(splits)
    if mode == "feature":
        return allgather(splits)
    votes = min(task.top_k, task.features)
    most = -(-leaves * votes // workers)
    voted = [min(most, max(leaves * votes - most * w, 0)) for w in range(workers)]
    one = (task.bins - 1) * ENTRY["plain"]
    sums = reduce_scatter([one * many for many in voted])
    return allgather([2 * votes * VOTE] * workers) + sums + allgather(splits)


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


# Seconds


def work_of_split(
    mode: str, task: Task, machine: Machine, workers: int, documents: float, leaves: int
) -> float:
    """Seconds of one worker's own work for one search for splits.

    >>> machine = Machine(add=1.0, look=0.0, bandwidth=1.0, latency=0.0)
    >>> [work_of_split(m, Task(0, features=4), machine, 2, 100, 1) for m in ("data", "feature")]
    [200.0, 200.0]
    """
    rows = documents if mode == "feature" else documents / workers
    features = task.features / workers if mode == "feature" else task.features
    is_all = mode in ("voting", "histogram")
    looked = task.features if is_all else task.features / workers
    return rows * features * machine.add + leaves * looked * task.bins * machine.look


class Clock:
    """When each worker is done with what it has heard so far, and when its line is free again.

    What a worker has to send leaves when it is ready and its line is free, and goes out while it
    listens; who gets it waits for it.

    >>> clock = Clock(2, Machine(0, 0, bandwidth=100.0, latency=1.0))
    >>> clock.work(np.array([0.0, 5.0]))
    >>> clock.speak(np.array([Message(0, 1, 200), Message(1, 0, 100)]))
    >>> clock.ready
    array([7., 5.])
    """

    def __init__(self, workers: int, machine: Machine) -> None:
        self.ready = np.zeros(workers)
        self.sent = np.zeros(workers)
        self._free = np.zeros(workers)
        self._machine = machine

    def work(self, seconds: np.ndarray) -> None:
        """Every worker works on its own."""
        self.ready = self.ready + seconds

    def speak(self, step: np.ndarray) -> None:
        """One round, a message a row."""
        senders, receivers, sizes = step.T
        workers = len(self.ready)
        told = np.bincount(senders, sizes, workers)
        self.sent += told
        self._free = np.maximum(self._free, self.ready) + told / self._machine.bandwidth
        np.maximum.at(self.ready, receivers, self._free[senders] + self._machine.latency)
        self.ready += self._machine.message * np.bincount(receivers, minlength=workers)


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
    (sigma of a log-normal with median 1) of a worker's time from split to split. `sizes`: documents
    of the smaller leaf at each search for splits, of a tree that is known.

    Two workers, one feature of 5 bins, 2 leaves: both tell the root's sums (24 bytes). The first
    one gets the feature's 4 x 16 bytes from the second; then both tell 2 splits of 222 bytes.

    >>> machine = Machine(0.0, 0.0, bandwidth=100.0, latency=1.0)
    >>> simulate("data", Task(100, features=1, bins=5, leaves=2), machine, 2).bytes
    array([468., 532.])
    """
    rng = np.random.default_rng(seed)
    pace = np.ones(workers) if slow is None else slow
    clock = Clock(workers, machine if mode in TEAM else machine._replace(message=0.0))
    for step in around_tree(mode, task, workers):
        clock.speak(np.array(step))
    total = 0.0
    known: dict[tuple[int, int], list[np.ndarray]] = {}
    for place, documents in enumerate(sizes if sizes is not None else even_leaves(task)):
        leaves = 2 if place else 1
        work = work_of_split(mode, task, machine, workers, documents, leaves)
        total += work
        clock.work(work * pace * np.exp(jitter * rng.normal(size=workers)))
        kind = (leaves, entry_bytes(task, documents))
        if kind not in known:
            rounds = split_rounds(mode, task, workers, documents, leaves)
            known[kind] = [np.array(step) for step in rounds]
        for said in known[kind]:
            clock.speak(said)
    return Cost(float(clock.ready.max()), total, clock.sent)


def most_workers(task: Task, machine: Machine) -> float:
    """Workers of a team beyond which a tree takes longer again.

    With W of them a worker works for 1/W of the time that it would alone, and has W - 1 messages
    for each of the two exchanges of a search for splits.

    >>> machine = Machine(add=1.0, look=0.0, bandwidth=1.0, latency=0.0, message=0.5)
    >>> most_workers(Task(100, features=1, leaves=2), machine)
    10.0
    """
    alone = simulate("lightgbm", task, machine, 1).work
    return math.sqrt(alone / (2 * (task.leaves - 1) * machine.message))


# Memory, and what a lost worker costs


def memory(mode: str, task: Task, workers: int, *, a_value: float) -> float:
    """Bytes of one worker: bins, 100 bytes a document, and the histograms of all leaves.

    >>> memory("data", Task(1000, features=10, bins=4, leaves=3), 10, a_value=1)
    12920.0
    """
    rows = task.documents if mode == "feature" else task.documents / workers
    histograms = task.leaves * task.features * task.bins * ENTRY["plain"]
    return rows * (task.features * a_value + 100) + histograms


def documents_held(task: Task, size: float, *, a_value: float) -> int:
    """Documents that fit one machine's memory, beside the histograms.

    >>> documents_held(Task(0, features=10, bins=4, leaves=3), 12920, a_value=1)
    100
    """
    beside = memory("data", task._replace(documents=0), 1, a_value=a_value)
    return int((size - beside) / (task.features * a_value + 100))


def time_with_losses(
    trees: int, tree: float, *, every: int, save: float, start: float, mean: float
) -> float:
    """Seconds of a run whose workers get lost, one every `mean` seconds, to first order.

    A loss costs half the trees between two saves on average, and the time to start again.

    >>> time_with_losses(100, 10.0, every=10, save=1.0, start=60.0, mean=10100.0)
    1021.0
    """
    plain = trees * tree + trees / every * save
    return plain + plain / mean * (every * tree / 2 + start)


def best_interval(tree: float, *, save: float, mean: float) -> float:
    """Trees between two saves that lose least time: Young's square root.

    >>> best_interval(10.0, save=2.0, mean=3600.0)
    12.0
    """
    return math.sqrt(2 * save * mean) / tree
