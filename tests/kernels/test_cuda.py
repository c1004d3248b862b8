"""Kernels of the GPU: on one where there is one, and their source on the processor everywhere."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.forces.cuda import CudaReady, bring, choose_all, to_cuda
from rankforce.kernels.cuda import launch
from rankforce.kernels.cuda.device import find_device, source
from tests.contract.cases import CASES, Case, Floats, largest, make_data
from tests.kernels.processor import COMPILER, Processor

NORMS = ("none", "lightgbm", "std")
SIZES = (5, 40, 0, 33, 130, 300, 1)
DATA = {
    "near": make_data(SIZES, spread=3.0, seed=1),
    "far apart": make_data(SIZES, spread=300.0, seed=2),
    "ties": make_data(SIZES, tied=True, seed=3),
}
# One for each way through the kernels.
FEW: dict[str, Any] = {
    "all pairs": rf.objective("lambdarank-ndcg"),
    "truncated": rf.objective("lambdarank-ndcg", k=5),
    "extended": rf.objective("lambdaloss-ex++ random", k=5, seed=3),
    "swaps": rf.objective("lambdarank(err)", k=7),
    "sigmoid": rf.objective("ranknet", cost="sigmoid", center=0.4, sigma=2.0),
    "lists": rf.objective("xendcg"),
    "points": rf.objective("squared-error"),
    "mix": rf.mix([(0.7, "xendcg"), (0.3, rf.objective("lambdarank-ndcg", k=5))]),
    "norm of a sum": rf.mix(
        [(1, "lambdarank-ndcg"), (2, rf.objective("lambdarank-ndcg", k=5))], norm="lightgbm"
    ),
    "function": rf.objective(lambda y_hi, y_lo, rank_hi, rank_lo: 1.0 / abs(rank_hi - rank_lo)),
}
TIERS = rf.graded(["lambdarank-ndcg", rf.objective("lambdarank(cndcg)", source="click")])


def gpu_or_reason() -> tuple[Any, str]:
    try:
        return find_device(), ""
    except RankforceError as error:
        return None, str(error)


GPU, WHY_NOT = gpu_or_reason()
needs_gpu = pytest.mark.skipif(
    GPU is None, reason=f"NOTHING OF THIS WAS CHECKED ON A GPU: {WHY_NOT}"
)
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="KERNELS OF THE GPU WERE NOT CHECKED: there is no g++ or clang++"
)
devices = pytest.mark.parametrize(
    "device",
    [
        pytest.param("processor", marks=needs_compiler),
        pytest.param("gpu", marks=needs_gpu),
    ],
)


@functools.cache
def device_of(name: str) -> Any:
    return {"gpu": GPU, "small processor": Processor(shared=20 * 1024)}.get(name) or Processor()


def on_device(name: str, ready: Any) -> CudaReady:
    return bring(device_of(name), ready, choose_all(device_of(name), ready.index))


def upload(name: str, scores: Floats) -> Any:
    return device_of(name).upload(scores.astype(np.float32))


def queries_of(values: Any, sizes: Any) -> Iterator[Any]:
    return iter(np.split(values, np.cumsum(sizes)[:-1]))


def assert_alike(name: str, got: Any, expected: Floats, sizes: Any, what: str) -> None:
    """Within 1e-4 of the largest number of each query."""
    found = device_of(name).download(got)
    assert found.dtype == np.float32
    for query, (one, other) in enumerate(
        zip(queries_of(found, sizes), queries_of(expected, sizes), strict=True)
    ):
        apart = largest(one - other)
        assert apart <= 1e-4 * largest(other) + 1e-30, f"{what}, query {query}: {apart}"


def check_forces(name: str, objective: Any, labels: Any, data: Any, norm: str) -> None:
    scores = data.scores.astype(np.float32)
    ready = objective.prepare(labels, group=data.sizes)
    found = on_device(name, ready).gradients(upload(name, scores), norm=norm, iteration=4)
    expected = ready.gradients(scores.astype(np.float64), norm=norm, iteration=4)
    for got, other, what in zip(found, expected, ("lambda", "hess"), strict=True):
        assert_alike(name, got, other, data.sizes, what)


@devices
@pytest.mark.parametrize("spread", DATA)
@pytest.mark.parametrize("which", FEW)
def test_forces_are_those_of_the_processors_kernels(device: str, which: str, spread: str) -> None:
    for norm in NORMS:
        check_forces(device, FEW[which], DATA[spread].labels, DATA[spread], norm)


@needs_gpu
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_objective_on_the_gpu(case: Case) -> None:
    for data in DATA.values():
        for norm in NORMS:
            check_forces("gpu", case.objective(), case.labels(data.labels), data, norm)


@devices
def test_lower_tiers(device: str) -> None:
    rng, data = np.random.default_rng(0), DATA["near"]
    clicks = np.where(rng.random(len(data.labels)) < 0.5, np.nan, rng.random(len(data.labels)))
    check_forces(device, TIERS, {"grade": data.labels, "click": clicks}, data, "lightgbm")


@devices
def test_long_lists(device: str) -> None:
    """More documents than a short list has, and than are ranked by counting."""
    data = make_data((1700, 20), seed=5)
    check_forces(device, FEW["truncated"], data.labels, data, "none")


@needs_compiler
def test_lists_that_shared_memory_does_not_hold() -> None:
    data = make_data((1700, 20), seed=5)
    for which in ("truncated", "lists"):
        check_forces("small processor", FEW[which], data.labels, data, "none")


@devices
@pytest.mark.parametrize("which", ["truncated", "sigmoid", "lists", "points", "mix", "function"])
def test_costs(device: str, which: str) -> None:
    data = DATA["near"]
    scores = data.scores.astype(np.float32)
    ready = FEW[which].prepare(data.labels, group=data.sizes)
    got = on_device(device, ready).costs(upload(device, scores), iteration=4)
    expected = ready.costs(scores.astype(np.float64), iteration=4)
    assert_alike(device, got, expected, np.ones(len(SIZES), int), "cost")


@devices
@pytest.mark.parametrize("which", FEW)
def test_some_queries_have_the_same_bits(device: str, which: str) -> None:
    data = DATA["near"]
    ready = FEW[which].prepare(data.labels, group=data.sizes)
    whole = on_device(device, ready)
    scores = data.scores.astype(np.float32)
    everything = [device_of(device).download(a) for a in whole.gradients(upload(device, scores))]
    for batch, queries in (
        (whole.take([5, 0, 3]), [5, 0, 3]),
        (whole.take([4, 5, 0]).take([1, 2]), [5, 0]),
    ):
        rows = ready.index.rows_of(queries)
        found = batch.gradients(upload(device, scores[rows]))
        for got, expected in zip(found, everything, strict=True):
            np.testing.assert_array_equal(device_of(device).download(got), expected[rows])


@devices
def test_rows_of_queries_in_any_order(device: str) -> None:
    data = DATA["near"]
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    order = np.random.default_rng(0).permutation(len(qid))
    scores = data.scores.astype(np.float32)
    for objective in (FEW["all pairs"], FEW["lists"]):
        ready = objective.prepare(data.labels[order], qid=qid[order])
        got = on_device(device, ready).gradients(upload(device, scores[order]))[0]
        expected = ready.gradients(scores[order].astype(np.float64))[0]
        found = device_of(device).download(got)
        assert largest(found - expected) <= 1e-4 * largest(expected)


@devices
def test_scores_that_are_no_numbers_spoil_their_query_alone(device: str) -> None:
    data = DATA["near"]
    scores = data.scores.astype(np.float32)
    scores[[7, 50]] = np.nan, np.inf
    bad = np.repeat([False, True, False, True, False, False, False], SIZES)
    for objective in (FEW["all pairs"], FEW["lists"]):
        ready = on_device(device, objective.prepare(data.labels, group=data.sizes))
        found = device_of(device).download(ready.gradients(upload(device, scores))[0])
        np.testing.assert_array_equal(np.isnan(found), bad)


@devices
def test_mistakes_in_one_sentence(device: str) -> None:
    ready = on_device(device, FEW["all pairs"].prepare([1, 0, 2]))
    with pytest.raises(RankforceError, match=r"scores have shape \(2,\), but there are 3 labels"):
        ready.gradients(upload(device, np.zeros(2)))
    with pytest.raises(RankforceError, match="query is 1: there are 1 queries"):
        ready.take([1])
    with pytest.raises(RankforceError, match="unknown norm 'max'"):
        ready.gradients(upload(device, np.zeros(3)), norm="max")


@needs_gpu
def test_results_are_of_the_callers_library() -> None:
    torch = pytest.importorskip("torch")
    ready = to_cuda(FEW["all pairs"].prepare([1, 0, 2]))
    with torch.cuda.stream(torch.cuda.Stream()):
        lam, hess = ready.gradients(torch.zeros(3, device="cuda", dtype=torch.float64))
        torch.cuda.synchronize()
    assert (lam.device.type, hess.dtype) == ("cuda", torch.float32)
    assert ready.costs(upload("gpu", np.zeros(3))).device.id == GPU.number
    with pytest.raises(RankforceError, match="scores are on the device 'cpu'"):
        ready.gradients(torch.zeros(3))
    with pytest.raises(RankforceError, match="in the processor's memory"):
        ready.gradients(np.zeros(3, np.float32))


def test_without_cupy_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['cupy'] = None\n"
        "import rankforce as rf\n"
        "from rankforce.forces.cuda import to_cuda\n"
        "try:\n    to_cuda(rf.objective('ranknet').prepare([1, 0]))\n"
        "except rf.RankforceError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "forces on a GPU need CuPy: pip install 'rankforce[cuda]'\n", done.stderr


def test_fields_are_those_of_the_source() -> None:
    text = source(("block.cu",))
    for name, dtype in (("Bound", launch.BOUND), ("Call", launch.CALL), ("Job", launch.JOB)):
        body = re.search(rf"struct {name} {{(.*?)\n}};", text, re.DOTALL)
        assert body is not None
        lines = [line.partition("//")[0] for line in body[1].splitlines()]
        declared = re.findall(r"(\w+)\s*[,;]", " ".join(lines))
        assert declared == list(dtype.names), name
    for dtype in (launch.BOUND, launch.CALL):
        assert {dtype[name].itemsize for name in dtype.names} == {8}


@pytest.mark.skipif(
    shutil.which("nvcc") is None, reason="NVIDIA'S COMPILER DID NOT SEE THE KERNELS: no nvcc"
)
def test_nvidias_compiler_takes_the_source(tmp_path: Path) -> None:
    ready = on_device("processor", FEW["extended"].prepare([1, 0, 2]))
    (tmp_path / "kernels.cu").write_text(source(launch.PAIRS))
    macros = ready._make_plan(True, False).macros  # type: ignore[attr-defined]
    command = ["nvcc", "-arch=sm_90", "-use_fast_math", *(f"-D{k}={v}" for k, v in macros)]
    done = subprocess.run(
        [*command, "--ptx", "kernels.cu", "-o", "kernels.ptx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert ".entry push_short" in (tmp_path / "kernels.ptx").read_text()
