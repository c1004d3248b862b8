"""device="cuda": a run with our own trees on a GPU, and with its kernels on the processor."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.engines.cuda import engine, planted, rounds
from rankforce.training import on_gpu
from tests.engines.cases import make_categories, with_holes
from tests.kernels.processor import Processor
from tests.kernels.test_cuda import needs_compiler, needs_gpu


def make_set(seed: int) -> rf.RankingData:
    """Queries with few features, of which some values miss."""
    made = rf.make_data("mslr", queries=8, seed=seed)
    return with_holes(
        rf.RankingData(made.features[:, :40], made.labels, group=made.group), seed=seed
    )


TRAIN, VALID = map(make_set, (1, 2))
PARAMS: dict[str, Any] = {"n_estimators": 6, "num_leaves": 15, "progress": False, "k": 10}
WEIGHTS = np.random.default_rng(0).random(TRAIN.rows)
WAYS: dict[str, dict[str, Any]] = {
    "usual": {},
    "bags": {"subsample": 0.5, "colsample_bytree": 0.5},
    "queries": {"subsample": 0.5, "subsample_by": "query", "subsample_freq": 2},
    "gradient steps": {"step": "gradient", "split": "least-squares"},
    "exact newton": {"step": "exact-newton", "subsample": 0.7},
    "regressor": {"base": "regressor", "base_estimators": 2},
    "mix": {"objective": rf.mix([(0.7, "xendcg"), (0.3, "lambdarank-ndcg")]), "k": None},
    "schedule": {"learning_rate": [0.3, 0.2, 0.1, 0.1, 0.1, 0.1], "norm": "std"},
    "metrics": {"eval_metric": ["err@5", "map", "p@3", "ndcg@10(ties=average)"]},
    "function": {"eval_metric": lambda scores, labels: float(labels[np.argmax(scores)])},
    "of all rows": {"eval_metric": lambda y, s, weight, group: ("apart", float(y @ s), True)},
}
QUICK = ("usual", "bags", "exact newton", "function")
devices = pytest.mark.parametrize(
    "device",
    [pytest.param("processor", marks=needs_compiler), pytest.param("gpu", marks=needs_gpu)],
)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Any:
    """The processor instead of the GPU, unless a test asks for that."""
    named = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if named.get("device") == "gpu":
        return None
    processor = Processor()
    for module in (engine, on_gpu):
        monkeypatch.setattr(module, "find_device", lambda: processor)
    return processor


def fit(train: Any = TRAIN, callbacks: Any = None, eval_set: Any = None, **more: Any) -> rf.Ranker:
    ranker = rf.Ranker(**PARAMS | more)
    return ranker.fit(train, eval_set=eval_set or [VALID], callbacks=callbacks)


def digest(ranker: rf.Ranker) -> str:
    return ranker.model_.scorer.digest(len(ranker.model_.scorer))


@devices
@pytest.mark.parametrize(
    "way", [way if way in QUICK else pytest.param(way, marks=pytest.mark.slow) for way in WAYS]
)
@pytest.mark.usefixtures("pretended")
def test_the_run_is_that_of_our_engine_on_the_processor(device: str, way: str) -> None:
    there, here = fit(**WAYS[way], device="cuda"), fit(**WAYS[way], engine="histogram")
    if device == "processor":  # whose kernels round as they do on the processor
        assert there.predict(VALID) == pytest.approx(here.predict(VALID), abs=1e-5)
    name = next(iter(here.evals_result_["valid_0"]))
    found, expected = (one.evals_result_["valid_0"][name] for one in (there, here))
    assert found == pytest.approx(expected, rel=0.05, abs=0.03 if device == "gpu" else 1e-3)
    assert digest(there) == digest(fit(**WAYS[way], device="cuda"))


@devices
@pytest.mark.usefixtures("pretended")
@pytest.mark.filterwarnings("ignore:categories below 0")
def test_categories_are_those_of_our_engine_on_the_processor(device: str) -> None:
    train, valid = make_categories(1, queries=20), make_categories(2, codes=50, queries=10)
    more: dict[str, Any] = {"eval_set": [valid], "subsample": 0.8, "min_data_per_group": 5}
    there = fit(train, **more, device="cuda")
    assert "cat_threshold" in there.model_.text()
    assert digest(there) == digest(fit(train, **more, device="cuda"))
    history = there.evals_result_["valid_0"]["ndcg@10"][-1]
    assert history == pytest.approx(there.score(valid, metric="ndcg@10"), abs=1e-9)
    if device == "processor":  # forces in single precision may round otherwise
        here = fit(train, **more, engine="histogram")
        assert there.predict(valid) == pytest.approx(here.predict(valid), abs=1e-3)


@devices
@pytest.mark.usefixtures("pretended")
@pytest.mark.slow
def test_weights_of_rows_and_of_queries(device: str) -> None:
    for name, values in (("weight", WEIGHTS), ("query_weight", WEIGHTS[: len(TRAIN.sizes)])):
        data = rf.RankingData(TRAIN.features, TRAIN.labels, group=TRAIN.group, **{name: values})
        there, here = fit(data, device="cuda"), fit(data, engine="histogram")
        assert there.score(VALID) == pytest.approx(here.score(VALID), abs=0.03)
        if device == "processor":
            assert there.predict(VALID) == pytest.approx(here.predict(VALID), abs=1e-5)


@devices
@pytest.mark.usefixtures("pretended")
def test_it_stops_early_at_the_same_tree(device: str) -> None:
    more = {"early_stopping_rounds": 2, "n_estimators": 40, "learning_rate": 0.5}
    there = fit(**more, device="cuda")
    assert there.model_.steps == there.best_iteration_ + 2
    assert len(there.evals_result_["valid_0"]["ndcg@10"]) == there.model_.steps
    if device == "processor":
        assert there.best_iteration_ == fit(**more, engine="histogram").best_iteration_


@devices
@pytest.mark.usefixtures("pretended")
def test_the_training_set_may_be_watched(device: str) -> None:
    there = fit(device="cuda", eval_set=[TRAIN, VALID])
    assert there.evals_result_["training"]["ndcg@10"][-1] == pytest.approx(
        there.score(TRAIN, metric="ndcg@10"), abs=1e-9
    )
    assert digest(there) == digest(fit(device="cuda"))


@devices
@pytest.mark.usefixtures("pretended")
def test_callbacks_see_scores_and_forces(device: str) -> None:
    seen: list[Any] = []

    def look(moment: Any) -> None:
        seen.append((moment.scores.copy(), moment.lam.copy(), moment.seconds.tree))

    there = fit(callbacks=[look, rf.Recorder()], device="cuda")
    assert seen[-1][0] == pytest.approx(there.predict(TRAIN), abs=1e-12)
    assert all(lam.dtype == np.float64 and lam.any() for _, lam, _ in seen)
    assert all(0.0 < seconds < 60.0 for *_, seconds in seen)
    assert digest(there) == digest(fit(device="cuda"))
    assert there.model_.diagnostics is not None


class Copying(Processor):
    """A device that knows how many arrays were copied from it, and waited for."""

    copies = 0

    def download(self, array: Any) -> Any:
        self.copies += 1
        return super().download(array)


@needs_compiler
@pytest.mark.parametrize("ahead", [0, 50e6])
def test_what_no_callback_looks_at_is_not_copied(
    ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Copying()
    monkeypatch.setattr(on_gpu, "MOST_AHEAD", ahead)
    for module in (engine, on_gpu):
        monkeypatch.setattr(module, "find_device", lambda: device)
    moments: list[Any] = []
    fit(device="cuda")
    device.copies = 0
    there = fit(callbacks=[lambda moment: moments.append(moment)], device="cuda")
    assert device.copies == 0
    assert moments[-1].scores == pytest.approx(there.predict(TRAIN), abs=1e-12)
    with pytest.raises(rf.RankforceError, match=r"lam of a tree .* copy it there"):
        moments[-1].lam  # noqa: B018 - looking is what fails
    fit(callbacks=[lambda moment: moment.iteration == 2 and moment.hess.sum()], device="cuda")
    assert device.copies == 2


@devices
@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize("ahead", [0, 50e6])
def test_a_callback_sees_the_scores_behind_its_own_tree(
    device: str, ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though the next tree may be growing by then."""
    monkeypatch.setattr(on_gpu, "MOST_AHEAD", ahead)
    before = [np.zeros(TRAIN.rows)]

    def look(moment: Any) -> bool:
        ready = moment.objective.bind(moment.data, moment.queries)
        expected = ready.gradients(before[-1], norm="lightgbm", iteration=moment.iteration)[0]
        assert moment.lam == pytest.approx(expected, abs=1e-4 * np.abs(expected).max())
        before.append(moment.scores.copy())
        return moment.iteration == 4

    there = fit(callbacks=[look], device="cuda")
    assert len(there.model_.trees) == 5
    for trees, scores in enumerate(before[1:], start=1):
        assert scores == pytest.approx(there.predict(TRAIN, num_iteration=trees), abs=1e-12)


@devices
@pytest.mark.usefixtures("pretended")
@pytest.mark.slow
def test_a_base_is_gone_on_from(device: str) -> None:
    base = fit(n_estimators=3, engine="histogram")
    there, here = fit(base=base, device="cuda"), fit(base=base, engine="histogram")
    assert there.model_.steps == here.model_.steps
    assert there.score(VALID) == pytest.approx(here.score(VALID), abs=0.03)


@devices
@pytest.mark.usefixtures("pretended")
def test_the_model_does_not_tell_where_it_was_trained(device: str, tmp_path: Path) -> None:
    there, here = fit(device="cuda"), fit()
    for name, ranker in (("there", there), ("here", here)):
        ranker.save(tmp_path / name)
    files = [sorted(p.name for p in (tmp_path / name).iterdir()) for name in ("there", "here")]
    assert files[0] == files[1]
    again = rf.load(tmp_path / "there")
    assert (again.predict(VALID) == there.predict(VALID)).all()
    lgb = pytest.importorskip("lightgbm", reason="LIGHTGBM DID NOT READ THE MODEL: not installed")
    booster = lgb.Booster(model_file=str(tmp_path / "there" / "model.txt"))
    found = booster.predict(np.asarray(VALID.features, np.float64))
    assert found == pytest.approx(there.predict(VALID), abs=1e-9)


@devices
@pytest.mark.usefixtures("pretended")
def test_a_run_is_resumed(device: str, tmp_path: Path) -> None:
    more = {"device": "cuda", "colsample_bytree": 0.5, "subsample": 0.7}
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    fit(**more, **place, n_estimators=3)
    assert digest(fit(**more, **place)) == digest(fit(**more))


@needs_compiler
def test_what_fails_on_the_gpu_goes_on_without_it(
    pretended: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = 0
    launch = Processor.launch

    def fail(self: Any, files: Any, macros: Any, name: str, **more: Any) -> None:
        nonlocal launched
        launched += name == "begin_tree"
        if launched == 5:
            raise OSError("cudaErrorLaunchFailure:\n unspecified launch failure")
        launch(self, files, macros, name, **more)

    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 1}
    monkeypatch.setattr(Processor, "launch", fail)
    expected = r"^the GPU failed \(cudaErrorLaunchFailure: unspecified .*: a run with checkpoint="
    with pytest.raises(rf.RankforceError, match=expected) as caught:
        fit(**place, device="cuda")
    assert "device='cpu'" in str(caught.value)
    there = fit(**place, device="cpu")
    assert there.model_.steps == 6
    monkeypatch.setattr(Processor, "launch", launch)
    first = fit(device="cuda")
    assert there.model_.scorer.digest(3) == first.model_.scorer.digest(3)
    assert there.score(VALID) == pytest.approx(first.score(VALID), abs=0.03)


@devices
@pytest.mark.usefixtures("pretended")
def test_an_interrupted_run_leaves_its_trees(device: str) -> None:
    whole = fit(device="cuda")

    def interrupt(moment: Any) -> None:
        if moment.iteration == 3:
            raise KeyboardInterrupt

    stopped = fit(callbacks=[interrupt], device="cuda")
    assert stopped.model_.steps == 4
    assert stopped.model_.scorer.digest(4) == whole.model_.scorer.digest(4)


@needs_compiler
def test_no_room_is_said_with_what_was_needed(
    pretended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros = Processor.zeros

    def refuse(self: Any, count: int, dtype: Any) -> Any:
        if np.dtype(dtype) == np.uint8:
            raise MemoryError("Out of memory allocating 28,672 bytes")
        return zeros(self, count, dtype)

    monkeypatch.setattr(Processor, "zeros", refuse)
    columns = TRAIN.features.shape[1]
    message = rf"{TRAIN.rows} rows of {columns} features take about 0\.\d+ GB of the GPU's "
    with pytest.raises(rf.RankforceError, match=message):
        fit(device="cuda")
    monkeypatch.setattr(Processor, "zeros", zeros)

    def refuse_later(*_: Any) -> None:
        raise MemoryError("Out of memory allocating 512 bytes")

    monkeypatch.setattr(on_gpu.GpuForces, "at", refuse_later)
    with pytest.raises(rf.RankforceError, match=r"the GPU has no room .* allocating 512 bytes"):
        fit(device="cuda")


class Counting(Processor):
    """A device that knows how many bytes are in use, and were at most."""

    def __init__(self) -> None:
        super().__init__()
        self.used = self.most = 0

    def _noted(self, array: Any) -> Any:
        self.used += array.nbytes
        self.most = max(self.most, self.used)
        weakref.finalize(array, self._forget, array.nbytes)
        return array

    def _forget(self, size: int) -> None:
        self.used -= size

    def upload(self, values: Any) -> Any:
        return self._noted(super().upload(values))

    def empty(self, count: int, dtype: Any) -> Any:
        return self._noted(super().empty(count, dtype))

    def zeros(self, count: int, dtype: Any) -> Any:
        return self._noted(super().zeros(count, dtype))


@needs_compiler
@pytest.mark.parametrize("way", QUICK)
@pytest.mark.usefixtures("pretended")
def test_a_tree_that_is_not_done_at_once_changes_nothing(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was launched behind it, the next tree's forces too, is launched once more."""
    expected = fit(**WAYS[way], device="cuda")
    for name, value in {"FIRST": 1, "SPARE": 0, "AT_ONCE": 1}.items():
        monkeypatch.setattr(rounds, name, value)
    waits = []
    go_on = planted.Planted.is_to_go_on
    monkeypatch.setattr(
        planted.Planted, "is_to_go_on", lambda tree: waits.append(go_on(tree)) or waits[-1]
    )
    assert digest(fit(**WAYS[way], device="cuda")) == digest(expected)
    assert sum(waits) > 1


@needs_compiler
@pytest.mark.parametrize("way", QUICK)
def test_a_run_leaves_nothing_in_the_memory_of_the_gpu(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the collector of objects in circles, which does not know how much they hold."""
    device = Counting()
    for module in (engine, on_gpu):
        monkeypatch.setattr(module, "find_device", lambda: device)
    gc.collect()
    gc.disable()
    try:
        ranker = fit(**WAYS[way], device="cuda")
    finally:
        gc.enable()
    assert device.most > 0
    assert device.used == 0
    assert ranker.model_.trees


@needs_compiler
@pytest.mark.parametrize("looks", [False, True])
def test_members_of_a_committee_have_the_gpus_memory_in_turn(
    looks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = Counting()
    for module in (engine, on_gpu):
        monkeypatch.setattr(module, "find_device", lambda: device)
    fit(device="cuda", callbacks=[lambda moment: None])
    of_one, device.most = device.most, 0
    more = {"eval_set": [VALID], "early_stopping_rounds": 1} if looks else {}
    there = fit(members=3, threads=3, device="cuda", **more)
    assert len(there.model_.members) == 3
    assert 0 < device.most <= of_one + 8 * TRAIN.rows  # scores behind the last tree of another
    assert device.used == 0


@devices
@pytest.mark.usefixtures("pretended")
def test_a_callback_may_train_too(device: str) -> None:
    """While the next tree of its run grows."""
    inner: list[rf.Ranker] = []

    def train(_moment: Any) -> None:
        inner.append(fit(n_estimators=2, num_leaves=7, device="cuda"))

    outer = fit(n_estimators=3, callbacks=[train], device="cuda")
    assert digest(outer) == digest(fit(n_estimators=3, device="cuda"))
    own = digest(fit(n_estimators=2, num_leaves=7, device="cuda"))
    assert [digest(one) for one in inner] == [own] * 3


@needs_compiler
@pytest.mark.slow
def test_a_row_takes_its_bins_and_sixty_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_gpu, "MOST_AHEAD", 0)  # as with millions of rows
    made = rf.make_data("mslr", queries=40, seed=3)
    taken = []
    for times in (1, 2):  # the same lists: room for some of them is there in both
        device = Counting()
        for module in (engine, on_gpu):
            monkeypatch.setattr(module, "find_device", lambda device=device: device)
        data = rf.RankingData(
            np.tile(made.features, (times, 1)),
            np.tile(made.labels, times),
            group=np.tile(made.group, times),
        )
        rf.Ranker(n_estimators=3, num_leaves=8, device="cuda", progress=False).fit(data)
        taken.append(device.most)
    of_queries = 130 * len(made.group)  # pointers, keys, runs of labels
    assert taken[1] - taken[0] - of_queries <= (136 + 60) * made.rows


@needs_compiler
@pytest.mark.usefixtures("pretended")
@pytest.mark.slow
def test_committees_train_there() -> None:
    there, here = (fit(members=2, **way) for way in ({"device": "cuda"}, {"engine": "histogram"}))
    assert there.predict(VALID) == pytest.approx(here.predict(VALID), abs=1e-5)


@needs_compiler
@pytest.mark.usefixtures("pretended")
@pytest.mark.slow
def test_features_in_bins_train_there() -> None:
    bins = rf.RankingData(
        rf.data.binned.make_bins(TRAIN.features, most=30), TRAIN.labels, group=TRAIN.group
    )
    there, here = (
        rf.Ranker(**PARAMS, **way).fit(bins)
        for way in ({"device": "cuda"}, {"engine": "histogram"})
    )
    assert there.predict(VALID) == pytest.approx(here.predict(VALID), abs=1e-5)


@needs_compiler
@pytest.mark.usefixtures("pretended")
def test_engine_and_device_name_the_same_thing() -> None:
    assert digest(fit(engine="cuda")) == digest(fit(device="cuda"))
    with pytest.raises(rf.RankforceError, match="device is 'cpu', and engine is 'cuda'"):
        fit(engine="cuda", device="cpu")
    with pytest.raises(rf.RankforceError, match="engine 'histogram' grows trees on the CPU"):
        fit(engine="histogram", device="cuda")
