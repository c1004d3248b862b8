"""Runs every kernel while a sanitizer of the compiler looks on, where there is no GPU.

python -m tests.kernels.sanitize thread: two threads at the same memory that nothing orders.
python -m tests.kernels.sanitize address: memory beyond an array, or beyond what a block asked for.

Names of cases may follow, or .cu files that have a kernel `planted(float* values, int count)`. The
exit status is 66 if something was found; what it is, is written to stderr. See threads.h.
"""

from __future__ import annotations

import copy
import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from tests.kernels.processor import COMPILER, KERNELS, Processor, Way, build, compiled, run

FOUND = 66  # exit status
SMALL = 20 * 1024  # bytes of a block, too few for lists of 590 documents
ONLY_KERNELS = "ignore_noninstrumented_modules=1 detect_deadlocks=0"
NOT_RANDOM = 0x40000  # of Linux: addresses as they always are


class Sanitizer(NamedTuple):
    """A sanitizer of GCC, which must be loaded before all else."""

    library: str
    way: Way
    settings: dict[str, str]


SANITIZERS = {
    "thread": Sanitizer(
        "libtsan.so",
        Way("threads.h", ("-Og", "-g1", "-fsanitize=thread")),
        # What was compiled without it is none of its business.
        {"TSAN_OPTIONS": f"exitcode={FOUND} report_thread_leaks=0 {ONLY_KERNELS}"},
    ),
    "address": Sanitizer(
        "libasan.so",
        Way(
            "threads.h",
            ("-Og", "-g1", "-fsanitize=address,alignment,bounds", "-fno-sanitize-recover=all"),
        ),
        {
            "ASAN_OPTIONS": f"exitcode={FOUND} detect_leaks=0",
            "UBSAN_OPTIONS": f"exitcode={FOUND}",
        },
    ),
}


class Watched(Processor):
    """A device whose arrays end where their memory ends."""

    def __init__(self, way: Way, *, runs: bool) -> None:
        super().__init__()
        self.way, self.runs = way, runs
        self.variants: dict[Any, None] = {}
        self.launched: set[str] = set()

    def but(self, **numbers: int) -> Watched:
        """The same with other numbers of a GPU."""
        found = copy.copy(self)
        vars(found).update(numbers)
        return found

    def empty(self, count: int, dtype: Any) -> Any:
        size = int(count) * np.dtype(dtype).itemsize
        before = 1024 if size < 1024 else 0  # smaller pieces NumPy keeps, and gives out again
        found = np.empty(before + size, np.uint8)[before:]
        found.fill(0xFF if self.runs else 0)
        return found.view(dtype)

    def zeros(self, count: int, dtype: Any) -> Any:
        found = self.empty(count, dtype)
        found[:] = 0
        return found

    def upload(self, values: Any) -> Any:
        given = np.asarray(values)
        found = self.empty(given.size, given.dtype).reshape(given.shape)
        found[...] = given
        return found

    def scores(self, given: Any) -> Any:
        return super().scores(self.upload(np.asarray(given, np.float32)))

    def launch(
        self,
        files: tuple[str, ...],
        macros: tuple[tuple[str, Any], ...],
        name: str,
        *,
        blocks: int,
        threads: int,
        shared: int,
        arguments: tuple[Any, ...],
    ) -> None:
        assert shared <= self.shared
        self.variants[files, macros] = None
        if self.runs:
            run(compiled(files, macros, self.way), name, blocks, threads, shared, arguments)
            self.launched.add(name)


def bound(device: Watched, objective: Any, labels: Any, **queries: Any) -> Any:
    from rankforce.forces.cuda import bring, choose_all

    ready = objective.prepare(labels, **queries)
    return bring(device, ready, choose_all(device, ready.index))


def push(device: Watched) -> None:
    """Forces of every way through the kernels, in short lists."""
    from tests.kernels.test_cuda import DATA, FEW, NORMS, TIERS

    for data, norms in ((DATA["near"], NORMS), (DATA["far apart"], NORMS[1:2])):
        clicks = {"grade": data.labels, "click": data.labels / 8}
        leaf = device.upload(np.arange(len(data.labels), dtype=np.int32) % 3)
        for objective in (*FEW.values(), TIERS):
            labels = clicks if objective is TIERS else data.labels
            there = bound(device, objective, labels, group=data.sizes)
            for norm in norms:
                there.gradients(data.scores, norm=norm)
                there.shared_hessians(data.scores, leaf, 3, norm=norm)
            there.costs(data.scores)


def push_long(device: Watched) -> None:
    """Lists that have many threads, and such as shared memory does not hold."""
    from tests.contract.cases import make_data
    from tests.kernels.test_cuda import FEW

    small, short = device.but(shared=SMALL), ("truncated", "lists")
    every = (
        (device, (1700, 20), short),
        (small, (1100, 620, 600, 590, 20), ("swaps", *short)),
    )
    for where, sizes, names in every:
        data = make_data(sizes, seed=5)
        leaf = device.upload(np.arange(len(data.labels), dtype=np.int32) % 3)
        for which in names:
            there = bound(where, FEW[which], data.labels, group=sizes)
            there.gradients(data.scores, norm="std" if which == "lists" else "lightgbm")
            if which in short:
                there.shared_hessians(data.scores, leaf, 3, norm="lightgbm")
                there.gradients(np.append(np.nan, data.scores[1:]))


def push_other_rows(device: Watched) -> None:
    """Rows in any order, some queries, and scores that are no numbers."""
    from tests.kernels.test_cuda import DATA, FEW, SIZES

    data, rng = DATA["near"], np.random.default_rng(0)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    order = rng.permutation(len(qid))
    scores = data.scores[order].astype(np.float32)
    scores[[7, 50]] = np.nan, np.inf
    for which in ("truncated", "lists", "points", "norm of a sum"):
        there = bound(device, FEW[which], data.labels[order], qid=qid[order])
        there.gradients(scores, norm="std")
        some = there.take([5, 0, 3])
        some.gradients(scores[: some.rows], norm="lightgbm")


def measure(device: Watched) -> None:
    """Metrics: by row, by ties; of short lists, of long ones, of bad scores."""
    from rankforce.measures.on_gpu import GpuBoard
    from rankforce.measures.scoreboard import Scoreboard
    from tests.contract.cases import make_data
    from tests.measures.test_on_gpu import BY_ROW, FEW, LONG_SIZES, SIZES

    small = device.but(shared=SMALL)
    every = (FEW, device, SIZES), (FEW, small, LONG_SIZES), (BY_ROW, device, LONG_SIZES)
    for names, where, sizes in every:
        data = make_data(sizes, tied=True, seed=5)
        scores = data.scores + np.linspace(0.0, 40.0, len(data.scores)).round()
        board = GpuBoard(where, Scoreboard(names, data.labels, group=sizes))
        board.measure(where.upload(scores))
        scores[-1] = np.nan
        board.measure(where.upload(scores))


def walk(device: Watched) -> None:
    """Trees at work on rows: of numbers, of categories, with more leaves than a block sums up."""
    from rankforce.models.forest.on_gpu import GpuRows
    from rankforce.models.forest.tree import IS_CATEGORICAL, MISSING_SHIFT, MISSING_ZERO, Tree

    rng = np.random.default_rng(0)
    values = rng.integers(-2, 40, (1100, 3)).astype(np.float32)
    values[rng.random(values.shape) < 0.1] = np.nan
    rows = GpuRows(device, values)
    lam, hess = (device.upload(rng.normal(size=len(values)).astype(np.float32)) for _ in range(2))

    def check(leaves: int, threshold: Any, rule: Any, **more: Any) -> None:
        inner = np.arange(leaves - 1)
        children = [2 * inner + side for side in (1, 2)]
        left, right = (np.where(one < leaves - 1, one, ~(one - leaves + 1)) for one in children)
        tree = Tree(inner % 3, threshold, rule, left, right, rng.normal(size=leaves), **more)
        leaf, _ = rows.route(tree)
        rows.sum_leaves(leaf, leaves, lam, hess)
        rows.move(leaf, device.upload(tree.leaf_value))

    for leaves in (8, 4000):
        inner = np.arange(leaves - 1)
        check(
            leaves,
            rng.integers(0, 40, leaves - 1) + 0.5,
            inner % 2 * (MISSING_ZERO << MISSING_SHIFT),
        )
    sets = {"sets": np.array([0, 1, 3]), "words": np.array([0x35, 0x1234567, 0x80])}
    check(8, np.arange(7) % 2 * 1.0, np.full(7, IS_CATEGORICAL), **sets)


def grow(device: Watched) -> None:
    """Trees: of two groups of columns; of many leaves on a bag, by blocks that do much in turn; of
    categories, among them columns of few codes.
    """
    bag = np.arange(0, 600, 3, dtype=np.int32)
    grow_tree(device, (2500, 40), None, max_bin=31)
    grow_tree(device.but(threads=256), (600, 6), bag, num_leaves=40)
    grow_tree(device, (900, 6), bag, coded=(0, 3), min_data_per_group=5, cat_smooth=1)


def grow_tree(
    device: Watched, shape: tuple[int, int], bag: Any, coded: Any = (), **more: int
) -> None:
    from rankforce.engines.cuda import engine
    from rankforce.forces.cuda import Shared
    from tests.engines.cases import USUAL

    rng, rows = np.random.default_rng(0), shape[0]
    features = rng.normal(size=shape).astype(np.float32)
    force = features[:, 0] * (features[:, 1] > 0) + rng.normal(size=rows) / 2
    lam, hess = (device.upload(one.astype(np.float32)) for one in (force, rng.random(rows)))
    for place, column in enumerate(coded):
        features[:, column] = np.abs(features[:, column] * (9 if place else 1)).round()
    features[rng.random(shape) < 0.1] = np.nan
    how: dict[str, Any] = {"feature_names": [], "categorical": [*coded], "seed": 0, "threads": 1}
    with mock.patch.object(engine, "find_device", return_value=device):
        trees = engine.CudaTrees(features, parameters=USUAL | more, **how)

    def share(leaf: Any, leaves: int) -> Any:
        return Shared(device.zeros(len(leaf), np.float32), np.zeros(leaves))

    if bag is not None:
        rest = np.setdiff1d(np.arange(rows, dtype=np.int32), bag)
        bag = device.upload(bag), device.upload(rest)
    planted = trees.plant(lam, hess, 0, np.arange(rows).astype(np.uint64), bag)
    values = planted.set_values(lam, hess, rate=0.1, share=share)
    while device.runs and planted.is_to_go_on():
        values = planted.set_values(lam, hess, rate=0.1, share=share)
    assert not device.runs or planted.tree().leaves == trees.arrays.most
    others = trees.open_rows(features[:99])
    others.move(planted.route(others), values)


def plant(device: Watched, path: str) -> None:
    """Two blocks of 64 threads, each with room for as many floats, on an array of 100."""
    values = device.empty(100, np.float32)
    given = np.array(device.pointer(values), np.uint64), np.array(len(values), np.int32)
    device.launch((path,), (), "planted", blocks=2, threads=64, shared=256, arguments=given)


CASES: dict[str, Callable[[Watched], None]] = {
    "forces": push,
    "long-lists": push_long,
    "other-rows": push_other_rows,
    "metrics": measure,
    "walking": walk,
    "growing": grow,
}


def library_of(sanitizer: Sanitizer) -> str | None:
    """Where the sanitizer's library is; None if it is not installed."""
    if COMPILER is None:
        return None
    asked = [COMPILER, f"-print-file-name={sanitizer.library}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return found if Path(found).is_absolute() else None


def is_there(sanitizer: Sanitizer) -> bool:
    """Whether this program has the sanitizer's library."""
    return os.environ.get("LD_PRELOAD", "").endswith(f"/{sanitizer.library}")


def begin_again(sanitizer: Sanitizer) -> None:
    """The same program with the sanitizer's library."""
    library = library_of(sanitizer)
    assert library is not None, f"{sanitizer.library} is not installed"
    ctypes.CDLL(None).personality(NOT_RANDOM)  # not all addresses suit an older ThreadSanitizer
    environment = os.environ | sanitizer.settings | {"LD_PRELOAD": library}
    program = [sys.executable, "-m", "tests.kernels.sanitize", *sys.argv[1:]]
    os.execve(sys.executable, program, environment)


def go_through(device: Watched, cases: tuple[str, ...]) -> None:
    for case in cases or CASES:
        begun = perf_counter()
        if device.runs:
            print(case, end=" ", file=sys.stderr, flush=True)
        if case.endswith(".cu"):
            plant(device, case)
        else:
            CASES[case](device)
        if device.runs:
            print(f"took {perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)


def main(name: str, *cases: str) -> None:
    sanitizer = SANITIZERS[name]
    dry, device = (Watched(sanitizer.way, runs=runs) for runs in (False, True))
    go_through(dry, cases)
    if not is_there(sanitizer):
        # Compilers are started before it is there: now and then it hung where a program with
        # threads started another.
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda one: build(*one, sanitizer.way), dry.variants))
        begin_again(sanitizer)
    for one in dry.variants:
        # Before the first report: lines of libraries that come later have no names in it.
        compiled(*one, sanitizer.way)
    go_through(device, cases)
    every = "".join(path.read_text("utf-8") for path in KERNELS.glob("*.cu"))
    left_out = set(re.findall(r"__global__ .*?(\w+)\([^()]*\) \{", every)) - device.launched
    assert cases or not left_out, f"no case launches {left_out}"


if __name__ == "__main__":
    main(*sys.argv[1:])
