"""Trees of the GPU's kernels: those of our own engine on the processor, to the last bit."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

from rankforce.common.errors import RankforceError
from rankforce.engines.base import Grown, open_engine
from rankforce.engines.cuda import arrays, engine, rounds
from rankforce.engines.cuda.bins import group_columns
from rankforce.engines.histogram.engine import ATTEMPTS
from rankforce.kernels.cuda.device import source
from rankforce.models.forest.tree import stack
from rankforce.models.forest.walk import route
from tests.engines.cases import RULES, USUAL, check_slow_way, make_case, open_own
from tests.kernels.processor import Processor
from tests.kernels.test_cuda import GPU, needs_compiler, needs_gpu

devices = pytest.mark.parametrize(
    "device",
    [
        pytest.param("processor", marks=needs_compiler),
        pytest.param("backward", marks=[needs_compiler, pytest.mark.slow]),
        pytest.param("gpu", marks=needs_gpu),
    ],
)


@functools.cache
def device_of(name: str) -> Any:
    return GPU if name == "gpu" else Processor(backward=name == "backward")


def open_there(
    features: Any,
    device: str,
    monkeypatch: pytest.MonkeyPatch,
    *,
    seed: int = 0,
    categorical: Any = (),
    **more: Any,
) -> Any:
    monkeypatch.setattr(engine, "find_device", lambda: device_of(device))
    return open_engine(
        None,
        features,
        feature_names=[str(column) for column in range(features.shape[1])],
        categorical=list(categorical),
        parameters=USUAL | {"device": "cuda"} | more,
        seed=seed,
        threads=1,
    )


def grow_there(there: Any, lam: Any, hess: Any, iteration: int, keys: Any, bag: Any = None) -> Any:
    """With forces that are on the device, and leaves that are not."""
    forces = (there.device.upload(one.astype(np.float32)) for one in (lam, hess))
    grown = there.grow(*forces, iteration, keys, bag)
    return grown and Grown(grown.tree, there.device.download(grown.leaf))


def make_rows(rows: int, columns: int, *, missing: float = 0.0, seed: int = 0) -> Any:
    """Features of all kinds, and forces in single precision."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns)).astype(np.float32)
    features[:, ::3] = features[:, ::3].round()
    signal = features[:, 0] * (features[:, columns // 2] > 0.0)
    features[rng.random(features.shape) < missing] = np.nan
    lam = (rng.normal(size=rows) + signal).astype(np.float32).astype(np.float64)
    hess = rng.random(rows).astype(np.float32).astype(np.float64)
    return features, lam, hess, rng.integers(2**63, size=rows).astype(np.uint64)


def assert_same(found: Grown, expected: Grown) -> None:
    for name in ("feature", "threshold", "rule", "left", "right", "leaf_value"):
        assert getattr(found.tree, name).tolist() == getattr(expected.tree, name).tolist(), name
    for name, values in expected.tree.details.items():
        assert found.tree.details[name].tolist() == values.tolist(), name
    assert (found.leaf == expected.leaf).all()


WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "usual": ((3000, 10), {"num_leaves": 31}),
    "groups of columns": ((2000, 75), {"num_leaves": 31}),
    "missing": ((2000, 40, 0.1), {"num_leaves": 31}),
    "all bins": ((3000, 7, 0.1), {"num_leaves": 31, "max_bin": 255}),
    "two bins": ((2000, 3), {"num_leaves": 4, "max_bin": 2}),
    "many leaves": ((2500, 8), {"num_leaves": 120, "min_child_samples": 1}),
    "more leaves than rows": ((30, 3), {"num_leaves": 64, "min_child_samples": 1}),
    "few levels": ((300, 5), {"num_leaves": 31, "min_child_samples": 1, "quantised_levels": 4}),
    "many levels": ((2000, 5), {"num_leaves": 31, "quantised_levels": 126}),
    "columns": ((2000, 40), {"num_leaves": 31, "colsample_bytree": 0.3}),
    "limits": ((2000, 9), {"num_leaves": 31, "max_depth": 4, "reg_alpha": 1.0, "reg_lambda": 2.0}),
    "gains": ((2000, 9), {"num_leaves": 31, "min_split_gain": 2.0, "min_child_weight": 30.0}),
    "stumps": ((2000, 9), {"num_leaves": 2}),
}


@devices
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("share", [1.0, 0.6])
def test_trees_are_those_of_the_processors_engine(
    device: str, way: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, more = WAYS[way]
    features, lam, hess, keys = make_rows(*shape[:2], missing=(*shape, 0.0)[2])
    bag = None
    if share < 1.0:
        bag = np.flatnonzero(np.random.default_rng(1).random(len(lam)) < share).astype(np.int32)
        is_out = ~np.isin(np.arange(len(lam)), bag)
        lam[is_out] = hess[is_out] = 0.0
    here = open_own(features, seed=3, **more)
    there = open_there(features, device, monkeypatch, seed=3, **more)
    for iteration in range(2):
        expected = here.grow(lam, hess, iteration, keys, bag)
        assert_same(grow_there(there, lam, hess, iteration, keys, bag), expected)
    assert there.ranges == here.ranges


@devices
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("rules", RULES, ids=str)
def test_trees_are_those_of_the_slow_way(
    device: str, rules: dict[str, Any], missing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, lam, hess, keys = make_case(5, missing=missing)
    bag = np.union1d(np.arange(0, 60, 2), np.arange(40)).astype(np.int32)
    there = open_there(features, device, monkeypatch, **rules)
    found = grow_there(there, lam, hess, 0, keys, bag)
    check_slow_way(found, features, lam, hess, bag, rules)


@devices
@pytest.mark.parametrize(
    ("name", "value"),
    [("TRIED", 1), ("MOST_SLOTS", 0), ("FIRST", 1), ("AT_ONCE", 1), ("LEAST_CHUNK", 64)],
)
def test_little_room_takes_more_rounds_and_changes_nothing(
    device: str, name: str, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, lam, hess, keys = make_rows(1500, 6)
    expected = open_own(features, num_leaves=40).grow(lam, hess, 0, keys, None)
    monkeypatch.setattr(rounds if hasattr(rounds, name) else arrays, name, value)
    there = open_there(features, device, monkeypatch, num_leaves=40)
    for _ in range(2):
        assert_same(grow_there(there, lam, hess, 0, keys), expected)


@devices
def test_leaves_that_are_as_good_as_each_other_go_by_number(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every half of the rows is the same as the other: all gains come twice, and four times."""
    one = np.array([[a, b] for a in range(8) for b in range(8)] * 5, np.float32)
    features = np.concatenate([np.column_stack([np.full(len(one), i), one]) for i in range(4)])
    features = features.astype(np.float32)
    lam = np.tile((one[:, 0] - 3.0) * 4.0 + (one[:, 1] > 3) * 2.0, 4)
    lam[:] += 0.0
    hess = np.full(len(lam), 64.0)
    keys = np.arange(len(lam)).astype(np.uint64)
    for leaves in (5, 11, 23):
        more = {"num_leaves": leaves, "quantised_levels": 64}
        expected = open_own(features, **more).grow(lam, hess, 0, keys, None)
        there = open_there(features, device, monkeypatch, **more)
        assert_same(grow_there(there, lam, hess, 0, keys), expected)


@devices
def test_many_rows_in_one_bin_do_not_overflow(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 5000
    features = np.repeat([[0.0], [1.0]], rows, axis=0).astype(np.float32)
    lam, hess = np.repeat([32.0, -32.0], rows), np.full(2 * rows, 64.0)
    there = open_there(features, device, monkeypatch)
    tree, _ = grow_there(there, lam, hess, 0, np.arange(2 * rows).astype(np.uint64))
    assert tree.leaf_value.tolist() == [0.5, -0.5]
    assert tree.details["leaf_weight"].tolist() == [64.0 * rows] * 2


@devices
@pytest.mark.parametrize(
    "limit", [{"min_child_weight": 5.0, "reg_lambda": 1.0}, {"min_child_samples": 10**30}]
)
def test_limits_beyond_what_integers_hold_are_kept(
    device: str, limit: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    features, lam, hess, keys = make_rows(200, 2)
    hess *= 1e-20
    there = open_there(features, device, monkeypatch, **limit)
    assert grow_there(there, lam, hess, 0, keys) is None
    assert open_own(features, **limit).grow(lam, hess, 0, keys, None) is None


@devices
def test_dice_are_thrown_again_and_then_there_is_no_tree(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, lam, hess, keys = make_rows(40, 2)
    more = {"min_child_samples": 21}
    there = open_there(features, device, monkeypatch, **more)
    thrown = []
    plant = there.plant
    monkeypatch.setattr(there, "plant", lambda *given: thrown.append(given) or plant(*given))
    assert grow_there(there, lam, hess, 0, keys) is None
    assert open_own(features, **more).grow(lam, hess, 0, keys, None) is None
    assert len(thrown) == ATTEMPTS


@devices
def test_forces_that_are_no_numbers_are_said(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, lam, hess, keys = make_rows(200, 2)
    lam[7] = np.nan
    with pytest.raises(RankforceError, match="forces are not finite: a lower learning_rate"):
        grow_there(open_there(features, device, monkeypatch), lam, hess, 0, keys)


@devices
def test_other_rows_go_where_the_tree_sends_them(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a value misses that never did in training: it counts as 0."""
    features, lam, hess, keys = make_rows(1500, 6, missing=0.1)
    features[:, :3] = np.nan_to_num(features[:, :3])
    there = open_there(features, device, monkeypatch, num_leaves=20)
    others = make_rows(700, 6, missing=0.3, seed=9)[0]
    forces = [there.device.upload(one.astype(np.float32)) for one in (lam, hess)]
    planted = there.plant(*forces, 0, keys, None)
    planted.set_values(*forces, rate=1.0)
    while planted.is_to_go_on():
        planted.set_values(*forces, rate=1.0)
    found = there.device.download(planted.route(there.open_rows(others)))
    tree = planted.tree()
    assert found.tolist() == route(tree, stack([tree]), others, threads=1).tolist()


@needs_compiler
def test_what_it_cannot_do_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    features = make_rows(200, 2)[0]
    open_it = functools.partial(open_there, features, "processor", monkeypatch)
    with pytest.raises(RankforceError, match="device='cuda' does not go with path_smooth"):
        open_it(path_smooth=1.0)
    with pytest.raises(RankforceError, match="all are constant"):
        open_there(np.ones((5, 2), np.float32), "processor", monkeypatch)
    with pytest.raises(RankforceError, match=r"num_leaves is 9000: .* 8,301 at most"):
        open_there(make_rows(9000, 1)[0], "processor", monkeypatch, num_leaves=9000)


def test_columns_are_told_to_the_kernels_in_groups() -> None:
    for columns in range(1, 200):
        groups = group_columns(columns)
        assert columns <= groups.width < columns + 32
        assert groups.last in (4, 8, 16, 32)


def test_records_are_those_of_the_source() -> None:
    text = source(("growing.cu",))
    sizes = {"int": 4, "double": 8, "Whole": 8}
    for name, dtype in (("Grow", arrays.GROW), ("Leaves", arrays.LEAVES_OF)):
        declared = fields_of(text, name)
        assert [field for _, field in declared] == list(dtype.names), name
        assert {dtype[field].itemsize for field in dtype.names} == {8}
    for name in ("Node", "Split", "Pair", "Entry", "Item", "Step", "State"):
        size = sum(sizes[kind] for kind, _ in fields_of(text, name))
        assert size == getattr(arrays, name.upper()), name


def fields_of(text: str, name: str) -> list[tuple[str, str]]:
    """Types and names of a struct's fields."""
    body = re.search(rf"struct (?:__align__\(8\) )?{name} {{(.*?)\n}};", text, re.DOTALL)
    assert body is not None
    plain = " ".join(line.partition("//")[0] for line in body[1].splitlines())
    found = []
    for one in plain.split(";"):
        kind, _, names = re.sub("const |unsigned (?=char)", "", one).strip().partition(" ")
        found += [(kind, field.strip(" *")) for field in names.split(",") if field.strip()]
    return found
