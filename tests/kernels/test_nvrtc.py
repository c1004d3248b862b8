"""Every kernel compiles for every architecture that is named here, on a machine without a GPU."""

from __future__ import annotations

import collections
import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from rankforce.data.sources import as_source
from rankforce.engines.cuda import engine
from rankforce.forces.cuda import CudaReady, bring, choose_all
from rankforce.kernels.cuda import device as cuda_device
from rankforce.kernels.cuda.device import source
from rankforce.measures.make import metric
from rankforce.measures.on_gpu import GpuBoard
from rankforce.measures.scoreboard import Scoreboard
from rankforce.models.forest.on_gpu import GpuRows
from rankforce.models.forest.tree import Tree
from tests.contract.cases import CASES, make_data
from tests.kernels.nvrtc import ARCHITECTURES, MOST_REGISTERS, NVRTC, Recorder, Variant, build
from tests.kernels.test_cuda import FEW, NORMS, TIERS

pytestmark = pytest.mark.skipif(
    NVRTC is None,
    reason="THE KERNELS WERE NOT COMPILED FOR ANY GPU: no NVRTC; pip install nvidia-cuda-nvrtc",
)
# A short list, and lists that are ranked by a whole block, in shared memory and beyond it.
DATA = make_data((40, 1700, 20000), seed=1)
LEAF = np.arange(len(DATA.labels), dtype=np.int32) % 3
LIMITS = ("max_depth", "min_child_samples", "min_child_weight", "min_split_gain")
TREES: dict[str, Any] = dict.fromkeys((*LIMITS, "reg_alpha", "reg_lambda"), 0)
TREES |= {"num_leaves": 255, "colsample_bytree": 1.0, "quantised_levels": 32}
# Bytes that a thread may spill: a few for all kernels, where the assembler makes room for another
# block by itself. In push_short one thread may walk down a ranking, which takes most; push_long has
# 1024 threads, so 64 registers each; push_far is for the few queries whose scores are far apart.
FEW_SPILLED = 32
MOST_SPILLED = {"push_short": 96, "push_long": 256, "push_far": 512}


def bound(device: Recorder, objective: Any, labels: Any) -> CudaReady:
    ready = objective.prepare(labels, group=DATA.sizes)
    return bring(device, ready, choose_all(device, ready.index))


def push_few(device: Recorder) -> None:
    """Each way through the kernels of forces, with the norm that has most to do."""
    for objective in FEW.values():
        bound(device, objective, DATA.labels).gradients(DATA.scores, norm="lightgbm")
    clicks = {"grade": DATA.labels, "click": DATA.labels / 8}
    bound(device, TIERS, clicks).gradients(DATA.scores, norm="lightgbm")
    bound(device, FEW["truncated"], DATA.labels).costs(DATA.scores)
    for which in ("truncated", "lists"):
        bound(device, FEW[which], DATA.labels).shared_hessians(DATA.scores, LEAF, 3)


def push_every(device: Recorder) -> None:
    """Every objective of the registry, in every way."""
    for case in CASES:
        there = bound(device, case.objective(), case.labels(DATA.labels))
        for norm in NORMS:
            there.gradients(DATA.scores, norm=norm)
            there.shared_hessians(DATA.scores, LEAF, 3, norm=norm)
        there.costs(DATA.scores)


def walk(device: Recorder) -> None:
    """A tree at work on rows."""
    root, leaves = np.zeros(1, np.int64), np.array([-1.0, 1.0])
    tree = Tree(root, np.zeros(1), root, ~root, ~(root + 1), leaves)
    rows = GpuRows(device, DATA.scores[:, None])
    leaf, _ = rows.route(tree)
    rows.sum_leaves(leaf, tree.leaves, rows.rounded, rows.rounded)
    rows.move(leaf, tree.leaf_value)


def measure(device: Recorder) -> None:
    """Metrics, by row and as means over orders of ties."""
    for name in ("ndcg@10", "err(ties=average)"):
        board = Scoreboard([metric(name)], DATA.labels, group=DATA.sizes)
        GpuBoard(device, board).measure(DATA.scores)


def grow(device: Recorder) -> None:
    """Trees on a bag of rows: of few columns and bins, of many, and of categories."""
    rows = len(DATA.labels)
    force, keys = np.zeros(rows, np.float32), np.zeros(rows, np.uint64)
    bag = np.arange(0, rows, 2, dtype=np.int32), np.arange(1, rows, 2, dtype=np.int32)
    for columns, bins, coded in ((5, 16, []), (136, 255, []), (136, 255, [0, 7])):
        features = as_source(np.random.default_rng(0).random((rows, columns)) * 200)
        how: dict[str, Any] = {"feature_names": [], "categorical": coded, "seed": 0, "threads": 1}
        with mock.patch.object(engine, "find_device", return_value=device):
            trees = engine.CudaTrees(features, parameters=TREES | {"max_bin": bins}, **how)
        planted = trees.plant(force, force, 0, keys, bag)
        planted.set_values(force, force, rate=0.1)


# Whatever launches kernels: a new file of CUDA C++ brings a line.
LAUNCHES: dict[str, Callable[[Recorder], None]] = {
    "forces": push_few,
    "walking": walk,
    "metrics": measure,
    "growing": grow,
}


def declared(files: tuple[str, ...]) -> set[str]:
    """Names of the kernels in these files."""
    return set(re.findall(r"__global__ [^;{]*?(\w+)\([^()]*\) \{", source(files)))


def check(architecture: str, launches: Callable[[Recorder], None]) -> int:
    """Compile all that would be launched, and see that the architecture has room for it."""
    device = Recorder(architecture)
    launches(device)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compiler runs outside Python's lock
        every = list(pool.map(lambda variant: build(architecture, variant), device.seen))
    for (variant, shapes), built in zip(device.seen.items(), every, strict=True):
        assert built.cubin.startswith(b"\x7fELF")
        assert set(built.kernels) == declared(variant.files), variant
        for name, shape in shapes.items():
            used, what = built.kernels[name], f"{name} of {variant} for {architecture}"
            print(f"{used.registers} registers, {used.spilled} bytes spilled: {what}")
            assert f".text.{name}\0".encode() in built.cubin, what
            registers = -(-used.registers // 8) * 8  # as they are given out
            assert shape.threads * registers <= MOST_REGISTERS, f"{what}: {used}"
            assert shape.shared + used.shared <= device.shared, f"{what}: {used}"
            assert used.spilled <= MOST_SPILLED.get(name, FEW_SPILLED), f"{what}: {used}"
    return len(every)


@pytest.mark.parametrize("launches", LAUNCHES)
@pytest.mark.parametrize(
    "architecture",
    [pytest.param(one, marks=[] if one == "sm_90" else pytest.mark.slow) for one in ARCHITECTURES],
)
def test_kernels_compile(architecture: str, launches: str) -> None:
    assert check(architecture, LAUNCHES[launches])


@pytest.mark.slow
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernels_of_every_objective_compile(architecture: str) -> None:
    assert check(architecture, push_every) > len(FEW)


def test_no_kernel_is_left_out() -> None:
    device = Recorder("sm_90")
    for launches in LAUNCHES.values():
        launches(device)
    launched = collections.defaultdict(set)
    for variant, shapes in device.seen.items():
        launched[variant.files].update(shapes)
    there = {path.name for path in Path(cuda_device.__file__).parent.glob("*.cu")}
    assert {name for files in launched for name in files} == there
    every = set().union(*map(declared, launched))
    assert every == set().union(*launched.values())


def test_a_mistake_is_told_in_the_compilers_words() -> None:
    with pytest.raises(AssertionError, match=r"trees\.cu int=nothing for sm_90:\n.*error"):
        build("sm_90", Variant(("trees.cu",), (("int", "nothing"),)))
