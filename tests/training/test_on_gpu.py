"""Boosting on a GPU: on one where there is one, and its kernels on the processor everywhere."""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.binned import make_bins
from rankforce.engines.xgboost import engine, matrix
from rankforce.models.forest import on_gpu as walk_there
from rankforce.models.forest.on_gpu import GpuRows
from rankforce.models.forest.tree import stack
from rankforce.models.forest.walk import route
from rankforce.training import on_gpu
from tests.engines.cases import make_categories, with_holes
from tests.kernels.processor import Processor
from tests.kernels.test_cuda import GPU, devices, needs_compiler, needs_gpu

needs_xgboost = pytest.mark.skipif(
    importlib.util.find_spec("xgboost") is None, reason="XGBOOST WAS NOT TRIED: it is not installed"
)

TRAIN, VALID = (
    with_holes(rf.make_data("yahoo", queries=30, seed=seed), seed=seed) for seed in (1, 2)
)
PARAMS: dict[str, Any] = {"engine": "xgboost", "n_estimators": 6, "num_leaves": 15}
PARAMS |= {"progress": False, "k": 10}
OWN = PARAMS | {"engine": "histogram"}  # where any tree will do
WAYS: dict[str, dict[str, Any]] = {
    "usual": {},
    "bags": {"subsample": 0.5, "colsample_bytree": 0.5},
    "queries": {"subsample": 0.5, "subsample_by": "query"},
    "least squares": {"split": "least-squares", "step": "gradient"},
    "regressor": {"base": "regressor", "base_estimators": 2},
    "mix": {"objective": rf.mix([(0.7, "xendcg"), (0.3, "lambdarank-ndcg")]), "k": None},
    "directions": {"monotone_constraints": {1: 1}},
    "exact newton": {"step": "exact-newton", "subsample": 0.7},
}


@functools.cache
def device_of(name: str) -> Any:
    return GPU if name == "gpu" else Processor()


def fit(train: Any = TRAIN, callbacks: Any = (), **more: Any) -> rf.Ranker:
    ranker = rf.Ranker(**PARAMS | more)
    return ranker.fit(train, eval_set=[VALID], callbacks=list(callbacks))


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor instead of the GPU; XGBoost without CUDA falls back to it by itself."""
    for module in (engine, on_gpu):
        monkeypatch.setattr(module, "find_device", Processor)
    monkeypatch.setattr(matrix, "_to_device", np.asarray)
    monkeypatch.setattr(engine, "check_cuda", lambda: None)
    fixed = engine._fixed
    monkeypatch.setattr(engine, "_fixed", lambda *given: fixed(*given[:-1], "cpu"))


@devices
def test_rows_of_bins(device: str) -> None:
    bins = make_bins(TRAIN.features, most=20)
    ranker = rf.Ranker(**OWN).fit(rf.RankingData(bins, TRAIN.labels, group=TRAIN.group))
    rows, raw = (GpuRows(device_of(device), one) for one in (bins, TRAIN.features))
    for tree in ranker.model_.trees:
        leaf, counts = rows.route(tree)
        assert (rows._device.download(leaf == raw.route(tree)[0])).all()
        assert (counts == tree.details["leaf_count"]).all()


@devices
@pytest.mark.parametrize(
    "which", ["numbers", pytest.param("categories", marks=needs_xgboost), "tiny", "zeros"]
)
def test_rows_and_sums(device: str, which: str) -> None:
    data = make_categories(3) if which == "categories" else TRAIN
    values = data.features.copy()
    more: dict[str, Any] = PARAMS if which == "categories" else {}
    if which == "tiny":
        values = np.sign(np.nan_to_num(values) - 0.5) * np.float32(1e-45) * (values > 0.2)
        values[:, 0] = np.where(values[:, 1] > 0, -0.0, 0.0)
    if which == "zeros":
        pytest.importorskip("lightgbm", reason="ZEROS AS MISSING WERE NOT CHECKED: no LightGBM")
        more = {"engine": "lightgbm", "zero_as_missing": True}
        values = np.where(values > 0.4, values, 0.0)
    given = rf.RankingData(values, data.labels, group=data.group, categorical=data.categorical)
    ranker = rf.Ranker(**OWN | more).fit(given)
    rows = GpuRows(device_of(device), given.features)
    rng = np.random.default_rng(0)
    lam = (rng.normal(size=data.rows) * np.exp(5 * rng.normal(size=data.rows))).astype(np.float32)
    hess = rng.random(data.rows).astype(np.float32)
    for tree in ranker.model_.trees:
        leaf, counts = rows.route(tree)
        expected = route(tree, stack([tree]), given.features, threads=1)
        assert (rows._device.download(leaf) == expected).all()
        assert (counts == np.bincount(expected, minlength=tree.leaves)).all()
        sums = rows.sum_leaves(leaf, tree.leaves, *map(rows._device.upload, (lam, hess)))
        for found, each in zip(sums, (lam, hess), strict=True):
            plain = np.bincount(expected, each.astype(np.float64), minlength=tree.leaves)
            assert found == pytest.approx(plain, abs=float(1e-9 * np.abs(each).max() * data.rows))
        rows.move(leaf, rows._device.upload(tree.leaf_value))
    scores = np.empty(data.rows)
    rows.get_scores(scores)
    assert (scores == ranker.predict(given)).all()
    assert (rows._device.download(rows.rounded) == scores.astype(np.float32)).all()


@devices
def test_more_leaves_than_a_block_has_room_for(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = fit(**OWN).model_.trees[0]
    monkeypatch.setattr(walk_there, "MOST_SHARED", 4 * tree.leaves - 1)
    rows = GpuRows(device_of(device), TRAIN.features)
    leaf, counts = rows.route(tree)
    assert (counts == tree.details["leaf_count"]).all()
    ones = rows._device.upload(np.ones(TRAIN.rows, np.float32))
    assert (rows.sum_leaves(leaf, tree.leaves, ones, ones).force == counts).all()


@needs_xgboost
@needs_compiler
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("pretended")
@pytest.mark.slow
def test_the_run_is_the_processors(way: str) -> None:
    there, here = fit(**WAYS[way], device="cuda"), fit(**WAYS[way])
    assert there.predict(VALID) == pytest.approx(here.predict(VALID), abs=1e-4)
    assert there.evals_result_["valid_0"]["ndcg@10"] == pytest.approx(
        here.evals_result_["valid_0"]["ndcg@10"], abs=0.02
    )


@needs_xgboost
@needs_compiler
@pytest.mark.usefixtures("pretended")
def test_callbacks_and_checkpoints(tmp_path: Any) -> None:
    seen: list[Any] = []

    def look(moment: Any) -> None:
        seen.append((moment.scores.copy(), moment.lam.copy()))

    there = fit(callbacks=[look], device="cuda")
    assert seen[-1][0] == pytest.approx(there.predict(TRAIN), abs=1e-12)
    assert [lam.dtype for _, lam in seen] == [np.float64] * 6
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2, "device": "cuda"}
    fit(**place, n_estimators=3)
    again = fit(**place)
    assert again.model_.scorer.digest(6) == there.model_.scorer.digest(6)


@needs_xgboost
@needs_compiler
@pytest.mark.usefixtures("pretended")
def test_a_gpu_without_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_self: Any, count: int, _dtype: Any) -> None:
        raise MemoryError(count)

    monkeypatch.setattr(Processor, "empty", refuse)
    with pytest.raises(rf.RankforceError, match=r"take about 0\.\d+ GB of the GPU's memory"):
        fit(device="cuda")


def test_what_does_not_go_there() -> None:
    with pytest.raises(rf.RankforceError, match="grows trees on the CPU"):
        fit(device="cuda", engine="lightgbm")


@needs_xgboost
@needs_gpu
@pytest.mark.parametrize("way", WAYS)
def test_a_gpu_grows_as_good_trees_and_the_same_ones_again(way: str) -> None:
    there, again = (fit(**WAYS[way], device="cuda") for _ in range(2))
    assert there.model_.scorer.digest(6) == again.model_.scorer.digest(6)
    assert there.score(TRAIN) == pytest.approx(fit(**WAYS[way]).score(TRAIN), abs=0.03)
    for tree in there.model_.trees:
        assert tree.details["count"][0] == TRAIN.rows


@needs_xgboost
@needs_gpu
def test_rows_go_on_a_gpu_where_xgboost_sends_them() -> None:
    for data in (TRAIN, make_categories(0)):
        ranker = rf.Ranker(**PARAMS, device="cuda", split="least-squares").fit(data)
        for tree in ranker.model_.trees:
            assert tree.details["leaf_weight"] == pytest.approx(tree.details["leaf_count"])


@needs_xgboost
@needs_gpu
def test_a_gpus_run_is_resumed(tmp_path: Any) -> None:
    more = {"device": "cuda", "colsample_bytree": 0.5, "subsample": 0.7}
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    fit(**more, **place, n_estimators=3)
    assert fit(**more, **place).model_.scorer.digest(6) == fit(**more).model_.scorer.digest(6)


@devices
def test_launches_that_are_repeated_are_all_made(device: str) -> None:
    """Plainly at first, recorded, and as one; also behind a mistake while they are recorded."""
    rows = walk_there.GpuScores(device_of(device), 1000)
    leaf = rows._device.upload(np.arange(1000, dtype=np.int32) % 3)
    values = rows._device.upload(np.array([1.0, 2.0, 4.0]))
    mistakes: list[Exception] = []

    def launch_all() -> None:
        rows.move(leaf, values)
        if mistakes:
            raise mistakes.pop()
        rows.move(leaf, values)

    again = rows._device.repeated(launch_all)
    again()
    mistakes.append(OSError("full"))
    if device == "gpu":
        with pytest.raises(OSError, match="full"):
            again()
    mistakes.clear()
    for _ in range(3):
        again()
    scores = np.empty(1000)
    rows.get_scores(scores)
    assert scores.tolist() == [8.0 * (1, 2, 4)[row % 3] for row in range(1000)]
