"""Routing of rows through trees, against LightGBM's own."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce.data.precision import floor_float32
from rankforce.models.forest.lightgbm_text import model_text, parse_model, tree_text
from rankforce.models.forest.score import FEW, Scoring
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk import count_splits, route

lgb = pytest.importorskip("lightgbm")

ROWS = 900
MAKE: dict[str, Any] = {
    "objective": "regression",
    "num_leaves": 8,
    "min_data_in_leaf": 5,
    "num_threads": 1,
    "deterministic": True,
    "verbosity": -1,
}
KINDS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no rule for missing": {"use_missing": False},
    "zeros are missing": {"zero_as_missing": True},
    "categories": {"categorical_feature": [3, 4], "min_data_per_group": 2, "cat_smooth": 1.0},
    "categories one by one": {"categorical_feature": [4], "max_cat_to_onehot": 100},
    "categories and zeros": {
        "categorical_feature": [3, 4],
        "zero_as_missing": True,
        "min_data_per_group": 2,
        "cat_smooth": 1.0,
    },
    "one leaf": {"min_gain_to_split": 1e9},
    "two leaves": {"num_leaves": 2},
}


def training_set(holes: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 6)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1])  # many zeros
    X[rng.random(ROWS) < 0.3, 2] = 0.0
    X[:, 3], X[:, 4] = rng.integers(0, 200, ROWS), rng.integers(0, 5, ROWS)
    y = X[:, 0] + (X[:, 1] == 0) + X[:, 2] * (X[:, 4] == 2) + (X[:, 3] % 5 == 1)
    y = y + 2.0 * (X[:, 4] == 3)
    if holes:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y + rng.normal(0, 0.1, ROWS)


def odd_rows(trees: list[Any], X: Any) -> Any:
    """Values that a rule may get wrong: on a threshold and just beside it, missing, tiny, huge."""
    rng = np.random.default_rng(2)
    found = [tree.threshold for tree in trees]
    edges = floor_float32(np.concatenate([*found, [0.0]]))
    special = [0.0, -0.0, np.nan, 1e-36, -1e-36, 1e-34, -1e-34, 3e38, -3e38, 1e-45]
    values = np.concatenate(
        [edges, np.nextafter(edges, np.float32(np.inf)), np.array(special, np.float32)]
    )
    # LightGBM's predict takes -1e-35 for 0, though its bins put it below: nothing to agree with.
    values = values[values != np.float32(-1e-35)]
    rows = rng.choice(values, (1500, X.shape[1])).astype(np.float32)
    rows[:, 3:5] = rng.choice([-1, 0, 1, 2, 3, 31, 32, 63, 64, 199, 200, 5000, np.nan], (1500, 2))
    rows[::2, 3:5] += np.float32(0.5) * (
        rows[::2, 3:5] >= 0
    )  # a category is what is before the dot
    return np.concatenate([X, rows])


def train(kind: str, holes: bool) -> tuple[Any, list[Any], Any]:
    X, y = training_set(holes)
    params = dict(KINDS[kind])
    columns = params.pop("categorical_feature", [])
    dataset = lgb.Dataset(X, y, categorical_feature=columns, params=MAKE | params)
    booster = lgb.train(MAKE | params, dataset, 4)
    _, trees = parse_model(booster.model_to_string())
    return booster, trees, odd_rows(trees, X)


@pytest.mark.parametrize("holes", [False, True], ids=["full", "holes"])
@pytest.mark.parametrize("kind", KINDS)
def test_leaves_and_scores_are_lightgbms(kind: str, holes: bool) -> None:
    booster, trees, X = train(kind, holes)
    assert (max(tree.leaves for tree in trees) == 1) == (kind == "one leaf")
    if "categories" in kind:
        assert sum(max(len(tree.sets) - 1, 0) for tree in trees) > 0
    expected = booster.predict(X, pred_leaf=True).reshape(len(X), -1)
    for number, tree in enumerate(trees):
        leaf = route(tree, stack([tree]), X, threads=2)
        assert np.array_equal(leaf, expected[:, number])
    scores = np.zeros(len(X))
    Scoring(trees).add(X, scores, threads=2)
    assert np.array_equal(scores, booster.predict(X, raw_score=True))


@pytest.mark.parametrize("kind", KINDS)
def test_sparse_rows_go_where_dense_ones_go(kind: str) -> None:
    booster, trees, X = train(kind, holes=False)
    X = np.where(np.isnan(X), np.float32(0), X)
    scores = np.zeros(len(X))
    Scoring(trees).add(sp.csr_matrix(X), scores, threads=1)
    assert np.array_equal(scores, booster.predict(X, raw_score=True))


def test_scores_are_added_to_what_is_there() -> None:
    booster, trees, X = train("plain", holes=True)
    scores = np.full(len(X), 3.0)
    Scoring(trees).add(X, scores, threads=1)
    leaf = booster.predict(X, pred_leaf=True)
    expected = np.full(len(X), 3.0)
    for number, tree in enumerate(trees):
        expected += tree.leaf_value[leaf[:, number]]
    assert np.array_equal(scores, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_text_goes_round(kind: str) -> None:
    booster, trees, X = train(kind, holes=True)
    head, _ = parse_model(booster.model_to_string())
    text = model_text(head, trees, {"learning_rate": "0.1"})
    again_head, again = parse_model(text)
    assert [tree_text(tree, 0) for tree in again] == [tree_text(tree, 0) for tree in trees]
    assert model_text(again_head, again, {"learning_rate": "0.1"}) == text
    loaded = lgb.Booster(model_str=text)
    assert np.array_equal(loaded.predict(X), booster.predict(X))
    counts = count_splits(trees, X.shape[1])
    assert np.array_equal(counts, booster.feature_importance("split"))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_all_that_a_text_needs(kind: str) -> None:
    """An engine that has no text of its own gives arrays, and they become LightGBM's text."""
    booster, trees, X = train(kind, holes=True)
    head, _ = parse_model(booster.model_to_string())
    bare = [dataclasses.replace(tree, lines={}, details=dict(tree.details)) for tree in trees]
    text = model_text(head, bare, {})
    loaded = lgb.Booster(model_str=text)
    assert np.array_equal(loaded.predict(X), booster.predict(X))
    ours = [line.partition("=") for line in tree_text(bare[0], 0).splitlines()]
    theirs = [line.partition("=") for line in tree_text(trees[0], 0).splitlines()]
    digits = ("leaf_value", "shrinkage")  # ours are fewer, and read back the same
    assert [line for line in ours if line[0] not in digits] == [
        line for line in theirs if line[0] not in digits
    ]


def test_a_tree_without_details_is_a_tree() -> None:
    tree = Tree(*(np.array([n]) for n in (0, 0.5, 2, -1, -2)), np.array([1.0, 2.0]))
    scores = np.zeros(3)
    Scoring([tree]).add(np.array([[0.25], [0.5], [0.75]], np.float32), scores, threads=1)
    assert scores.tolist() == [1.0, 1.0, 2.0]
    assert "leaf_count" not in tree_text(tree, 0)
    assert tree_text(tree.with_values(np.array([3.0, 0.1]), 0.5), 7).startswith("Tree=7\n")


def test_no_trees_at_all() -> None:
    _, _, X = train("plain", holes=False)
    scores = np.full(len(X), 2.0)
    Scoring([]).add(X, scores, threads=2)
    assert (scores == 2.0).all()


@pytest.mark.parametrize(
    "values", [[0.1, -1.0 / 3.0, 1e-300, -1e300, 5e-324, 123456789.123, 0.0, -0.0]]
)
def test_values_of_leaves_survive_the_text(values: list[float]) -> None:
    booster, trees, _ = train("plain", holes=False)
    given = np.array(values)
    head, _ = parse_model(booster.model_to_string())
    tree = trees[0].with_values(given, 1.0)
    _, [again] = parse_model(model_text(head, [tree], {}))
    assert again.leaf_value.tobytes() == given.tobytes()


narrow = st.floats(width=32, allow_nan=False, allow_infinity=False)
wide = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-4e38, 4e38),
    narrow,
    narrow.map(lambda x: float(np.nextafter(np.float64(x), np.inf))),
    narrow.map(lambda x: float(np.nextafter(np.float64(x), -np.inf))),
)


@given(wide, narrow)
@settings(max_examples=500, deadline=None)
def test_floor_float32_decides_the_same(threshold: float, x: float) -> None:
    floor = floor_float32(np.array([threshold]))[0]
    near = np.float32(floor) if np.isfinite(floor) else np.float32(x)
    with np.errstate(over="ignore"):
        tops = [np.float32(x), near, np.nextafter(near, np.float32(np.inf))]
    for value in (v for v in tops if np.isfinite(v)):
        assert bool(value <= floor) == bool(np.float64(value) <= threshold)


@given(wide)
@settings(max_examples=300, deadline=None)
def test_floor_float32_is_the_largest_not_above(value: float) -> None:
    floor = floor_float32(np.array([value]))[0]
    assert floor.dtype == np.float32
    assert np.float64(floor) <= value
    with np.errstate(over="ignore"):
        assert np.float64(np.nextafter(floor, np.float32(np.inf))) > value


def walked(trees: list[Any], X: Any) -> Any:
    """Scores by the leaves that rows walk to, one tree after the other."""
    scores = np.zeros(len(X))
    for tree in trees:
        scores += tree.leaf_value[route(tree, stack([tree]), X, threads=1)]
    return scores


@pytest.mark.parametrize("rows", [0, 1, FEW - 1, FEW, 63, 64, 65, 64 + FEW, 129, 5000])
@pytest.mark.parametrize("kind", ["plain", "zeros are missing", "categories and zeros", "one leaf"])
def test_any_number_of_rows_has_the_scores_of_walks(kind: str, rows: int) -> None:
    _, trees, X = train(kind, holes=True)
    some = np.ascontiguousarray(np.resize(X[::-1], (rows, X.shape[1])))
    scores = np.zeros(rows)
    Scoring(trees).add(some, scores, threads=2)
    assert np.array_equal(scores, walked(trees, some))


@pytest.mark.parametrize("leaves", [255, 256, 257, 400])
def test_trees_of_many_leaves(leaves: int) -> None:
    X, y = training_set(True)
    rows = np.tile(X, (2, 1)) + np.float32(0.001)
    params = MAKE | {"num_leaves": leaves, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    booster = lgb.train(params, lgb.Dataset(X, y, params=params), 3)
    _, trees = parse_model(booster.model_to_string())
    assert trees[0].leaves == leaves
    scoring = Scoring(trees)
    assert (scoring.masks is None) == (leaves > 256)
    scores = np.zeros(len(rows))
    scoring.add(rows, scores, threads=1)
    assert np.array_equal(scores, walked(trees, rows))


def test_more_sets_of_codes_than_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = training_set(True)
    params = MAKE | KINDS["categories"]
    columns = params.pop("categorical_feature")
    dataset = lgb.Dataset(X, y, categorical_feature=columns, params=params)
    _, trees = parse_model(lgb.train(params, dataset, 60).model_to_string())
    rows = odd_rows(trees, X)
    scoring = Scoring(trees)
    assert scoring.masks is not None
    assert scoring.masks.sets[0, 4] > 1  # words of a code
    scores = np.zeros(len(rows))
    scoring.add(rows, scores, threads=1)
    assert np.array_equal(scores, walked(trees, rows))
    monkeypatch.setattr("rankforce.models.forest.masks.MOST_BYTES", 1000)
    assert Scoring(trees).masks is None


def test_nodes_that_ask_the_same_share_a_question() -> None:
    tree = Tree(*(np.array([n]) for n in (0, 0.5, 2, -1, -2)), np.array([1.0, 2.0]))
    other = Tree(*(np.array([n]) for n in (0, 0.5, 8, -1, -2)), np.array([1.0, 2.0]))
    masks = Scoring([tree, other, tree]).masks
    assert masks is not None
    assert masks.questions.tolist() == [0, 1, 0]  # missing values go elsewhere in the second
    assert masks.columns.tolist() == [[0, 0, 0, 1, 2]]
