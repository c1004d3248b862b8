"""Kernels of the GPU: on one where there is one, and their source on the processor everywhere."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from collections.abc import Iterator
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
    if name == "gpu":
        return GPU
    small = 20 * 1024 if name.startswith("small") else 227 * 1024
    return Processor(small, backward=name.endswith("backward"))


class Noting(Processor):
    """A device that notes what is launched."""

    def __init__(self, shared: int, names: list[str]) -> None:
        super().__init__(shared)
        self._names = names

    def launch(self, files: Any, macros: Any, name: str, **more: Any) -> None:
        self._names.append(name)
        super().launch(files, macros, name, **more)


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


@devices
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.slow
def test_every_objective(device: str, case: Case) -> None:
    for data in DATA.values():
        for norm in NORMS:
            check_forces(device, case.objective(), case.labels(data.labels), data, norm)


@devices
def test_between_scores_far_apart_neighbours_alone_count(device: str) -> None:
    """Single precision of what ranks are worth is too coarse for what neighbours differ by."""
    data = make_data((255,), spread=1000.0, seed=38420)
    ready = rf.objective("lambdarank(ndcg)").prepare(data.labels, group=data.sizes)
    scores = data.scores.astype(np.float32)
    found = on_device(device, ready).gradients(upload(device, scores))
    expected = ready.gradients(scores.astype(np.float64))
    for got, other in zip(found, expected, strict=True):
        assert largest(device_of(device).download(got) - other) <= 1e-6 * largest(other)


@devices
def test_lower_tiers(device: str) -> None:
    rng, data = np.random.default_rng(0), DATA["near"]
    clicks = np.where(rng.random(len(data.labels)) < 0.5, np.nan, rng.random(len(data.labels)))
    check_forces(device, TIERS, {"grade": data.labels, "click": clicks}, data, "lightgbm")


def check_shared(
    name: str,
    objective: Any,
    labels: Any,
    data: Any,
    norm: str,
    ways: Any = ("three",),
    *,
    is_list: bool = False,
) -> None:
    """Sums over each leaf of each query: within 1e-4 of the largest of its query.

    Of lists, the processor takes a document's share from the sum of its leaf's, about 1.
    """
    least = 1e-15 if is_list else 1e-30
    device, rng = device_of(name), np.random.default_rng(6)
    query = np.repeat(np.arange(len(data.sizes)), data.sizes)
    scores = data.scores.astype(np.float32)
    weight = rng.uniform(size=len(query)).astype(np.float32) * (rng.random(len(query)) < 0.8)
    ready = objective.prepare(labels, group=data.sizes)
    there = on_device(name, ready)
    for way in ways:
        leaf = (3 * query + rng.integers(0, 3, len(query))).astype(np.int32)
        row_weight, leaves = weight if way == "weighted" else None, 3 * len(data.sizes)
        if way == "one":
            leaf, leaves = np.zeros_like(leaf), 1
        elif way == "own":
            leaf, leaves = np.arange(len(leaf), dtype=np.int32), len(leaf)
        found = there.shared_hessians(
            upload(name, scores),
            device.upload(leaf),
            leaves,
            norm=norm,
            iteration=4,
            row_weight=None if row_weight is None else device.upload(row_weight),
        )
        rows = device.download(found.rows)
        assert rows.dtype == np.float32
        got = np.bincount(leaf, rows.astype(np.float64), minlength=leaves) + found.leaves
        expected = ready.shared_hessians(
            scores.astype(np.float64),
            leaf,
            leaves,
            norm=norm,
            iteration=4,
            row_weight=None if row_weight is None else row_weight.astype(np.float64),
            threads=1,
        )
        assert way != "own" or not got.any()
        sizes = np.full(len(data.sizes), 3) if leaves == 3 * len(data.sizes) else [leaves]
        pairs = zip(queries_of(got, sizes), queries_of(expected, sizes), strict=True)
        for number, (one, other) in enumerate(pairs):
            apart = largest(one - other)
            assert apart <= 1e-4 * largest(other) + least, f"{way}, {norm}, {number}: {apart}"


@devices
@pytest.mark.parametrize("spread", DATA)
@pytest.mark.parametrize("which", FEW)
def test_hessians_within_leaves(device: str, which: str, spread: str) -> None:
    data, is_list = DATA[spread], which in ("lists", "mix")
    labels = data.labels.copy()
    labels[45:78] = 1  # a query without pairs
    given = device, FEW[which], labels, data
    for norm in NORMS:
        check_shared(*given, norm, ("three", "weighted"), is_list=is_list)
    check_shared(*given, "lightgbm", ("one", "own"), is_list=is_list)


@devices
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.slow
def test_every_objectives_hessians_within_leaves(device: str, case: Case) -> None:
    for data in DATA.values():
        labels = case.labels(data.labels)
        for norm in NORMS:
            given = device, case.objective(), labels, data, norm
            ways = ("three", "weighted", "one", "own")
            check_shared(*given, ways, is_list=case.is_listwise)


@devices
def test_hessians_within_leaves_of_tiers(device: str) -> None:
    rng, data = np.random.default_rng(0), DATA["near"]
    clicks = np.where(rng.random(len(data.labels)) < 0.5, np.nan, rng.random(len(data.labels)))
    check_shared(device, TIERS, {"grade": data.labels, "click": clicks}, data, "lightgbm")


@devices
def test_hessians_within_leaves_that_the_processor_finds(device: str) -> None:
    """Alone and among others, where the norm is that of a sum."""
    data, rng = DATA["near"], np.random.default_rng(0)
    two = [(2, FEW["function"]), (0.5, FEW["all pairs"])]
    one = rf.mix(two, norm="lightgbm")
    for objective in (one, rf.mix(two, norm="std"), rf.mix([(0.3, one), (0.7, "xendcg")])):
        check_shared(device, objective, data.labels, data, "none", ("three", "weighted"))
    hi = rng.integers(0, 5, 20)
    pairs = np.append(hi, 5 + hi), np.append((hi + 1) % 5, 6 + hi)  # of the first two queries
    labels = {"grade": data.labels, "preferences": pairs}
    objective = rf.mix([(0.5, "preferences"), (0.5, "ranknet")], norm="lightgbm")
    check_shared(device, objective, labels, data, "none", ("three", "weighted"))


@devices
def test_hessians_within_leaves_of_long_lists(device: str) -> None:
    data = make_data((1700, 20), seed=5)
    for which in ("truncated", "lists"):
        given = device, FEW[which], data.labels, data, "lightgbm", ("weighted",)
        check_shared(*given, is_list=which == "lists")


@needs_compiler
def test_hessians_within_leaves_that_shared_memory_does_not_hold() -> None:
    data = make_data((1700, 20), seed=5)
    for which in ("truncated", "lists"):
        check_shared("small processor", FEW[which], data.labels, data, "none")


@devices
@pytest.mark.parametrize(
    "which", ["all pairs", "truncated", "extended", "swaps", "lists", "mix", "norm of a sum"]
)
def test_a_leaf_with_all_documents_shares_all_hessians(device: str, which: str) -> None:
    """Bit for bit, so that no rounding is left of them; of lists, but for the last bit."""
    data = DATA["near"]
    ready = on_device(device, FEW[which].prepare(data.labels, group=data.sizes))
    scores, leaf = upload(device, data.scores), np.zeros(len(data.labels), np.int32)
    for norm in ("none", "lightgbm"):
        _, hess = ready.gradients(scores, norm=norm)
        shared = ready.shared_hessians(scores, device_of(device).upload(leaf), 1, norm=norm)
        got, expected = map(device_of(device).download, (shared.rows, hess))
        least = 1e-6 if which in ("lists", "mix") else 0.0
        np.testing.assert_allclose(got, expected, rtol=least)
        assert not shared.leaves.any()


@devices
def test_hessians_within_leaves_of_some_queries_and_of_rows_in_any_order(device: str) -> None:
    data, rng = DATA["near"], np.random.default_rng(0)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    order = rng.permutation(len(qid))
    leaf = rng.integers(0, 3, len(qid)).astype(np.int32)
    scores = data.scores.astype(np.float32)
    scores[7] = np.nan
    for objective in (FEW["truncated"], FEW["lists"]):

        def rows_of(ready: CudaReady, rows: Any) -> Any:
            given = upload(device, scores[rows]), device_of(device).upload(leaf[rows])
            return device_of(device).download(ready.shared_hessians(*given, 3).rows)

        ready = objective.prepare(data.labels, qid=qid)
        whole = on_device(device, ready)
        everything = rows_of(whole, slice(None))
        np.testing.assert_array_equal(np.isnan(everything), qid == 1)
        mixed = on_device(device, objective.prepare(data.labels[order], qid=qid[order]))
        some = ready.index.rows_of([5, 0, 3])
        np.testing.assert_array_equal(rows_of(whole.take([5, 0, 3]), some), everything[some])
        got, expected = rows_of(mixed, order), everything[order]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4 * np.nanmax(expected))


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


@needs_compiler
@pytest.mark.parametrize(
    "device", ["small processor", pytest.param("small, backward", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("which", ["all pairs", "truncated", "extended", "swaps", "sigmoid"])
def test_several_blocks_share_a_list(device: str, which: str) -> None:
    """Four of them, beside lists that have one alone, and that fit shared memory."""
    data = make_data((4200, 1700, 0, 20, 400), seed=6)
    for norm in NORMS:
        check_forces(device, FEW[which], data.labels, data, norm)
    scores = data.scores.astype(np.float32)
    ready = FEW[which].prepare(data.labels, group=data.sizes)
    got = on_device(device, ready).costs(upload(device, scores))
    assert_alike(device, got, ready.costs(scores.astype(np.float64)), np.ones(5, int), "cost")
    check_shared(device, FEW[which], data.labels, data, "lightgbm")


@needs_compiler
@pytest.mark.parametrize("which", ["all pairs", "truncated", "extended", "swaps"])
def test_a_launch_of_its_own_changes_no_bits_of_a_list(which: str) -> None:
    data = make_data((700, 20, 300, 90), seed=8)
    scores, ready = (
        data.scores.astype(np.float32),
        FEW[which].prepare(data.labels, group=data.sizes),
    )
    found, launched = [], []
    for room in (96 * 1024, 800 * 1024):
        names: list[str] = []
        device = Noting(room, names)
        there = bring(device, ready, choose_all(device, ready.index))
        found.append([device.download(one) for one in there.gradients(device.upload(scores))])
        launched.append(names.count("push_short"))
    assert launched == [2, 1]
    np.testing.assert_array_equal(*found)


@needs_gpu
@pytest.mark.parametrize("which", ["all pairs", "truncated", "extended"])
def test_several_blocks_share_a_list_on_a_gpu(which: str) -> None:
    data = make_data((20_000, 9000, 1700, 20), seed=7)
    check_forces("gpu", FEW[which], data.labels, data, "lightgbm")


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


@needs_gpu
def test_a_copy_that_nobody_waits_for_is_not_uploaded() -> None:
    numbers = np.arange(1000)
    busy = GPU.zeros(1 << 26, np.float64)
    for _ in range(100):
        busy += 1.0
    GPU.fetch(GPU.zeros(len(numbers), np.int64))
    np.testing.assert_array_equal(GPU.download(GPU.upload(numbers)), numbers)


def test_without_cupy_one_line_says_what_to_install() -> None:
    program = (
        "import sys; sys.modules['cupy'] = None\n"
        "import rankforce as rf\n"
        "from rankforce.forces.cuda import to_cuda\n"
        "try:\n    to_cuda(rf.objective('ranknet').prepare([1, 0]))\n"
        "except rf.RankforceError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "work on a GPU needs CuPy: pip install 'rankforce[cuda]'\n", done.stderr


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
