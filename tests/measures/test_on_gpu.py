"""Metrics on a GPU: on one where there is one, and their kernel on the processor everywhere."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from rankforce.common.errors import RankforceError
from rankforce.data.queries import index_queries
from rankforce.kernels.cuda.device import source
from rankforce.measures import on_gpu
from rankforce.measures.make import metric, metrics
from rankforce.measures.on_gpu import GpuBoard
from rankforce.measures.scoreboard import Judged, Scoreboard
from tests.contract.cases import Floats, make_data
from tests.contract.metric_cases import CASES, Case, some_data
from tests.kernels.test_cuda import device_of, devices, needs_compiler

SIZES = (33, 1, 0, 130, 5, 2, 32, 64, 0, 17)
LONG_SIZES = (20, 1700, 0, 700, 257)
# One for each way through the kernel.
FEW = (
    "ndcg@10",
    "dcg",
    "map",
    "mrr",
    "err",
    "ndcg@10(ties=average)",
    "map(ties=average)",
    "map@100(ties=last)",
    "mrr(ties=average)",
    "err@20(ties=average)",
)
BY_ROW = [name for name in FEW if "ties" not in name]


def measured(name: str, board: Scoreboard, scores: Floats) -> Floats:
    """What the device finds, with scores at hand for functions of users."""
    device, there = device_of(name), GpuBoard(device_of(name), board)
    raw = there.measure(device.upload(scores))
    again = there.measure(device.upload(scores))
    np.testing.assert_array_equal(device.download(raw), device.download(again))
    return there.finish(device.download(raw), None if there.is_whole else scores)


def check(name: str, board: Scoreboard, scores: Floats) -> None:
    found, expected = measured(name, board, scores), board.values(scores)
    assert found.dtype == np.float64
    for row, (one, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(one, other, 1e-12, 1e-15, err_msg=board.names[row])


def of_clicks(case: Case) -> bool:
    return case.entry.name == "CNDCG"


def labels_of(grades: Floats) -> dict[str, Floats]:
    return {"grade": grades, "click": grades / 4.0}


@devices
@pytest.mark.parametrize("kind", ["untied", "tied", "near"])
def test_every_metric(device: str, kind: str) -> None:
    """At every cutoff, for each meaning of ties, of two sources of labels, in both precisions."""
    data = some_data(kind, sizes=SIZES)
    every = [case.make(source="click" if of_clicks(case) else "grade") for case in CASES]
    assert {one.definition.single for one in every} == {False, True}
    check(device, Scoreboard(every, labels_of(data.labels), group=SIZES), data.scores)


@devices
@pytest.mark.parametrize("no_relevant", [0, 1, "skip"])
def test_queries_without_a_relevant_document(device: str, no_relevant: Any) -> None:
    data = some_data("tied", sizes=SIZES)
    chosen = [
        metric(
            entry.name,
            k=None if entry.cutoff == "none" else 5,
            no_relevant=no_relevant,
            source="click" if entry.name == "CNDCG" else "grade",
        )
        for entry in metrics()
    ]
    board = Scoreboard(chosen, labels_of(data.labels), group=SIZES)
    found = measured(device, board, data.scores)
    assert np.isnan(found[:, SIZES.index(0)]).all()
    without = found[:, 3]  # as `some_data` has it
    np.testing.assert_array_equal(without, np.nan if no_relevant == "skip" else no_relevant)
    check(device, board, data.scores)


@devices
@pytest.mark.parametrize("tied", [False, True])
def test_long_lists(device: str, tied: bool) -> None:
    """Lists that are sorted, and such as have many threads."""
    data = make_data(LONG_SIZES, tied=tied, seed=5)
    scores = data.scores + np.linspace(0.0, 40.0, len(data.scores)).round()  # ties are short
    check(device, Scoreboard(FEW, data.labels, group=LONG_SIZES), scores)


@needs_compiler
@pytest.mark.parametrize("names", [BY_ROW, FEW])
def test_lists_that_shared_memory_does_not_hold(names: list[str]) -> None:
    data = make_data(LONG_SIZES, tied=True, seed=6)
    scores = data.scores + np.linspace(0.0, 40.0, len(data.scores)).round()
    board = Scoreboard(names, data.labels, group=LONG_SIZES)
    parts = GpuBoard(device_of("small processor"), board)._parts
    assert any(one.scratch for part in parts for one in part.launches)
    check("small processor", board, scores)


@devices
@pytest.mark.parametrize("n", [1, 2, 31, 32, 33, 255, 256, 257, 300])
def test_all_scores_tie(device: str, n: int) -> None:
    labels = np.random.default_rng(n).integers(0, 5, n).astype(np.float64)
    check(device, Scoreboard([*FEW, "err(ties=average)"], labels), np.zeros(n))


@devices
def test_whole_numbers_are_exact(device: str) -> None:
    data = some_data("tied", sizes=SIZES)
    names = ("p@5", "p@10(ties=average)", "recall@10", "arp", "arpb@3", "mrr", "cg@7", "p@5(rel=2)")
    board = Scoreboard(names, data.labels, group=SIZES)
    np.testing.assert_array_equal(measured(device, board, data.scores), board.values(data.scores))


@devices
def test_scores_that_only_double_precision_tells_apart(device: str) -> None:
    labels = np.array([0, 0, 1, 2, 0, 1])
    for scores in (
        1.0 + 1e-12 * np.arange(6),
        np.array([1e300, -1e300, 2e300, 1e-320, -0.0, 0.0]),
        5e-324 * np.arange(6),
    ):
        check(device, Scoreboard(["ndcg@3", "map", "mrr(ties=average)"], labels), scores)


@devices
def test_single_precision(device: str) -> None:
    """Ties are those of float32, down to its smallest numbers and up to its largest."""
    labels = np.array([0, 1, 0, 2, 0, 1, 3, 0])
    names = ["ndcg@3(score_type=float32)", "map(score_type=float32, ties=average)", "ndcg@3"]
    unit = 2.0**-149
    halves = unit * np.array([0.5, 0.500001, 1.5, 1.0, 2.5, 2.0, 3.499999, 3.0])
    edge = 2.0**-126 - unit * np.array([0.5, 0.50001, 0.25, 0.0, 1.0, 1.5, 0.75, -0.5])
    close = 1.0 + 2.0**-24 * np.array([1.0, 0.0, 2.0, 3.0, 3.0001, 0.9999, 1.0001, 5.0])
    large = 3.4028234e38 * np.array([1.0, 1.00000001, -1.0, 0.99999999, 0.5, 0.1, 0.0, -0.5])
    for scores in (halves, -halves, edge, close, large):
        check(device, Scoreboard(names, labels), scores)


@devices
def test_rows_in_any_order(device: str) -> None:
    data = some_data("tied", sizes=SIZES)
    qid = np.repeat(np.arange(len(SIZES)), SIZES)
    order = np.random.default_rng(0).permutation(len(qid))
    board = Scoreboard(FEW, data.labels[order], qid=qid[order])
    assert len(board.index.row)
    check(device, board, data.scores[order])


@devices
def test_judged_documents_that_are_not_ranked(device: str) -> None:
    """A query may have no row, and a value all the same."""
    labels = np.array([2.0, 0.0, 1.0, 1.0, 3.0, 0.0, 1.0])
    judged = Judged(labels, index_queries(7, group=[4, 2, 1, 0]), np.array([4, 2, 2, 0]))
    ranked = index_queries(5, group=[3, 0, 2, 0])
    board = Scoreboard(FEW, [2, 0, 1, 0, 1], index=ranked, judged=judged)
    check(device, board, np.array([0.5, 2.0, 1.0, 1.0, 1.0]))


@devices
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_scores_that_are_no_numbers(device: str, bad: float) -> None:
    qid = np.repeat(["one", "two", "three"], [40, 300, 2])
    labels = np.arange(342) % 3
    there = GpuBoard(device_of(device), Scoreboard(["ndcg@3", "map"], labels, qid=qid))
    scores = np.random.default_rng(0).normal(size=342)
    for row, query in ((0, "one"), (339, "two"), (341, "three")):
        spoilt = scores.copy()
        spoilt[row] = bad
        raw = device_of(device).download(there.measure(device_of(device).upload(spoilt)))
        values = raw[: 2 * 3].reshape(2, 3)
        is_bad = np.array(["one", "two", "three"]) == query
        np.testing.assert_array_equal(np.isnan(values), [is_bad, is_bad])
        with pytest.raises(RankforceError, match=f"^scores of query {query} are not all finite$"):
            there.finish(raw)


@devices
def test_scores_that_single_precision_does_not_hold(device: str) -> None:
    board = Scoreboard(["ndcg@3", "map(score_type=float32)"], [1, 0, 1], group=[1, 2])
    message = "scores of query 1 are not all finite in single precision"
    with pytest.raises(RankforceError, match=message):
        measured(device, board, np.array([1.0, 2.0, -1e39]))
    check(device, board, np.array([1.0, 2.0, -1e38]))


def spread(scores: Any, labels: Any) -> float:
    return float((scores * labels).sum())


@devices
def test_a_metric_of_ones_own(device: str) -> None:
    data = some_data("tied", sizes=SIZES)
    own = metric(spread, name="spread")
    for names in (["ndcg@5", own, "map(score_type=float32)"], [own]):
        board = Scoreboard(names, data.labels, group=SIZES)
        assert not GpuBoard(device_of(device), board).is_whole
        check(device, board, data.scores)
    assert GpuBoard(device_of(device), Scoreboard(FEW, [1, 0])).is_whole


@devices
def test_a_query_has_the_same_bits_among_others(device: str) -> None:
    data = some_data("untied", sizes=SIZES)
    names = [re.sub("^err", "err(max_label=4)", name) for name in FEW if "err@" not in name]
    board = Scoreboard(names, data.labels, group=SIZES)
    together = measured(device, board, data.scores)
    for query in (0, 6, 7):
        rows = board.index.rows_of(query)
        alone = measured(device, Scoreboard(names, data.labels[rows]), data.scores[rows])
        np.testing.assert_array_equal(alone[:, 0], together[:, query])


@devices
def test_scores_of_another_length(device: str) -> None:
    there = GpuBoard(device_of(device), Scoreboard("ndcg", [1, 0, 2]))
    with pytest.raises(RankforceError, match=r"scores have shape \(2,\), but there are 3 labels"):
        there.measure(device_of(device).upload(np.zeros(2)))


@devices
def test_no_query_has_a_document(device: str) -> None:
    board = Scoreboard(FEW, np.zeros(0), group=[0, 0])
    assert np.isnan(measured(device, board, np.zeros(0))).all()


def test_fields_are_those_of_the_source() -> None:
    text = source(on_gpu.FILES)
    kinds = {"Board": on_gpu.BOARD, "Metric": on_gpu.METRIC, "List": on_gpu.LIST}
    for name, dtype in kinds.items():
        body = re.search(rf"struct {name} {{(.*?)\n}};", text, re.DOTALL)
        assert body is not None
        lines = [line.partition("//")[0] for line in body[1].splitlines()]
        assert re.findall(r"(\w+)\s*[,;]", " ".join(lines)) == list(dtype.names), name
    assert {on_gpu.BOARD[name].itemsize for name in on_gpu.BOARD.names} == {8}
