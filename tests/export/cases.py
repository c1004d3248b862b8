"""Models and rows that every export is checked on, and what it means to agree.

Rows are where exports differ: a third of them have values exactly on thresholds, one float32 above
or below, around zero, or missing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import rankforce as rf
from rankforce.data.precision import floor_float32
from rankforce.models.forest.forest import Forest
from rankforce.models.forest.tree import GOES_LEFT, MISSING_NAN, MISSING_SHIFT, Tree
from rankforce.models.model import Model

ROWS, LIST = 10_000, 100
COLUMNS = 30
CODES = 60  # of the column of categories, the first
LARGEST = float(np.finfo(np.float32).max)
# Around LightGBM's border of what counts as zero, 1e-35, too.
NEAR_ZERO = np.array([0.0, -0.0, 1e-35, -1e-35, 1.1e-35, -1.1e-35, 9e-36, 1e-40], np.float32)
# Codes that training has not seen: they are of no set.
STRANGE = np.array([np.nan, -1.0, -0.5, CODES, 63.0, 64.0, 1000.0, 2e7], np.float32)


class Case(NamedTuple):
    """A model, rows to score, and the scores that `predict` gives them."""

    name: str
    ranker: rf.Ranker
    rows: NDArray[np.float32]
    expected: NDArray[np.float64]

    @property
    def model(self) -> Model:
        """What an exporter is given."""
        return self.ranker.model_


@cache
def train_set() -> tuple[NDArray[np.float32], NDArray[np.float64], NDArray[Any], list[str]]:
    """Features, the first of which are codes, labels that these matter for, groups and names."""
    data = rf.make_data("mslr", queries=30, seed=1)
    features = data.features[:, :COLUMNS].copy()
    features[:, 0] = np.random.default_rng(2).integers(0, CODES, data.rows)
    labels = np.clip(data.labels + (features[:, 0] % 4 == 1), 0, 4)
    return features, labels, data.group, list(data.feature_names)[:COLUMNS]


def with_holes(features: NDArray[np.float32], share: float = 0.2) -> NDArray[np.float32]:
    """The same with some values missing."""
    holes = np.random.default_rng(4).random(features.shape) < share
    return np.where(holes, np.float32(np.nan), features)


def train(features: NDArray[np.float32] | None = None, **params: Any) -> rf.Ranker:
    """A ranker on the training set."""
    plain, labels, group, names = train_set()
    given = {"feature_name": names} | params.pop("fit", {})
    usual = {"n_estimators": 100, "num_leaves": 31, "seed": 1, "threads": 1, "progress": False}
    few = {} if "engine" in params else {"min_child_samples": 5}
    ranker = rf.Ranker(**usual | few | params)
    return ranker.fit(plain if features is None else features, labels, group=group, **given)


def from_trees(trees: list[Tree]) -> rf.Ranker:
    """A ranker that is made of these trees."""
    names = train_set()[3]
    ranker = rf.Ranker(threads=1)
    forest = Forest.on(names, ["none"] * COLUMNS, {}, trees)
    ranker.model_ = Model(forest, len(trees), {}, "made by hand")
    return ranker


def leaf(value: float) -> Tree:
    """A tree that is a constant."""
    none = np.empty(0, np.int64)
    return Tree(none, np.empty(0), none, none, none, np.array([value]))


def stump(feature: int, threshold: float, rule: int, values: tuple[float, float]) -> Tree:
    """A tree with one node."""
    one = [np.array([number], np.int64) for number in (feature, rule, ~0, ~1)]
    return Tree(one[0], np.array([threshold]), *one[1:], np.array(values))


def edges() -> rf.Ranker:
    """Thresholds where float32 and double part, and where float32 ends; every rule for NaN."""
    thresholds = [0.1, 1 / 3, 1e-300, -1e-300, 0.0, -0.0, 1e-40, 1e-46, -1e-46, LARGEST, -LARGEST]
    thresholds += [1e300, -1e300, 16777217.0, float(np.inf), -float(np.inf)]
    nan = MISSING_NAN << MISSING_SHIFT
    made = [
        stump(feature, threshold, rule, (-(2.0**-number), 3.0**-number))
        for number, (feature, threshold) in enumerate(enumerate(thresholds))
        for rule in (0, nan, nan | GOES_LEFT)
    ]
    return from_trees(made)


def with_constants() -> rf.Ranker:
    """Trees with constants before, between and behind them."""
    trees = train(n_estimators=4, num_leaves=5).model_.trees
    return from_trees([leaf(-0.75), *trees[:2], leaf(0.1), *trees[2:], leaf(0.0)])


def with_categories() -> rf.Ranker:
    """Sets of codes, missing values elsewhere."""
    features = with_holes(train_set()[0])
    features[:, 0] = train_set()[0][:, 0]
    few = {"min_data_per_group": 5, "cat_smooth": 1.0}
    return train(features, **few, fit={"categorical_feature": [0]})


def committee() -> rf.Ranker:
    """Three rankers, whose trees are one model."""
    return train(members=3, n_estimators=20)


# Forests, and what a model of each is made of; all columns but the categories are the same.
FORESTS: dict[str, Callable[[], rf.Ranker]] = {
    "plain": train,
    "missing": lambda: train(with_holes(train_set()[0])),
    "zero as missing": lambda: train(zero_as_missing=True),
    "categorical": with_categories,
    "xgboost": lambda: train(with_holes(train_set()[0]), engine="xgboost"),
    "committee": committee,
    "constants": with_constants,
    "one leaf": lambda: from_trees([leaf(0.3)]),
    "edges": edges,
}


def network(kind: str, **more: Any) -> rf.Ranker:
    """A network on features of which some are missing."""
    plain, labels, group, names = train_set()
    ranker = rf.Ranker(model=kind, epochs=2, seed=1, threads=1, progress=False, **more)
    return ranker.fit(with_holes(plain), labels, group=group, feature_name=names)


def on_trees(kind: str) -> rf.Ranker:
    """A network whose features are trees, or one that adds to their scores."""
    return network(kind, base=train(with_holes(train_set()[0]), n_estimators=20, num_leaves=7))


NETWORKS: dict[str, Callable[[], rf.Ranker]] = {
    "linear": lambda: network("linear"),
    "linear, no scaling": lambda: network("linear", scaling="none"),
    "mlp": lambda: network("mlp", hidden=[16], scaling="log"),
    "attention": lambda: network("attention", hidden=[16], scaling="log"),
    "linear on trees": lambda: on_trees("linear"),
    "mlp upon trees": lambda: on_trees("mlp"),
}
CASES = FORESTS | NETWORKS


@cache
def make_case(name: str) -> Case:
    """A case by its name; it is made once."""
    ranker = CASES[name]()
    rows = make_rows(ranker.model_)
    lists = {"group": np.full(ROWS // LIST, LIST)} if ranker.needs_lists else {}
    expected = ranker.predict(rows, **lists)
    for array in (rows, expected):
        array.setflags(write=False)
    return Case(name, ranker, rows, expected)


def make_rows(model: Model) -> NDArray[np.float32]:
    """Rows of other queries; in every third row most values are where exports go wrong."""
    rng = np.random.default_rng(5)
    data = rf.make_data("mslr", queries=150, seed=3)
    rows = data.features[:ROWS, :COLUMNS].copy()
    rows[:, 0] = rng.integers(0, CODES, len(rows))
    assert rows.shape == (ROWS, COLUMNS)
    known = thresholds_of(model)
    for column in range(COLUMNS):
        values = touchy(known[column]) if model.categorical != [column] else STRANGE
        own = rng.choice(values, ROWS // 3 + 1)
        is_chosen = rng.random(len(own)) < 0.8
        rows[::3, column] = np.where(is_chosen, own, rows[::3, column])
    rows[::3][rng.random(rows[::3].shape) < 0.1] = np.nan
    return rows


def touchy(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """Values on thresholds, next to them, and around zero.

    The largest float32 is not among them: where formats compare by `<`, no number is above it.
    """
    last = np.nextafter(np.float32(LARGEST), np.float32(0))
    on = np.clip(floor_float32(thresholds), -last, last)
    up, down = (np.nextafter(on, side) for side in (last, -last))
    return np.concatenate([on, up, down, NEAR_ZERO])


def thresholds_of(model: Model) -> list[NDArray[np.float64]]:
    """Thresholds by feature; a network has none."""
    found: list[list[float]] = [[] for _ in range(COLUMNS)]
    forest = getattr(model.scorer, "forest", None)
    own = getattr(forest if isinstance(forest, Forest) else model.scorer, "trees", [])
    for tree in own[: None if isinstance(forest, Forest) else model.used]:
        for feature, threshold in zip(tree.feature, tree.threshold, strict=True):
            found[feature].append(threshold)
    return [np.array(sorted(set(one))) for one in found]


def agrees(
    expected: NDArray[np.float64],
    got: NDArray[Any],
    sizes: int = LIST,
    *,
    within: float = 1e-5,
) -> float:
    """The largest difference, at most `within`; lists of so many rows are in the same order.

    Documents whose true scores differ by less than twice the largest difference count as tied:
    how many there are is printed, and they are few.
    """
    assert got.shape == expected.shape
    assert np.isfinite(got).all()
    wide = np.asarray(got, np.float64)
    largest = float(np.abs(wide - expected).max())
    true, other = expected.reshape(-1, sizes), wide.reshape(-1, sizes)
    order = np.argsort(-true, axis=1, kind="stable")
    fall = -np.diff(np.take_along_axis(true, order, axis=1))
    steps = -np.diff(np.take_along_axis(other, order, axis=1))
    is_tied = (fall > 0) & (fall < 2 * largest)
    print(f"largest difference {largest:.3g}, tied within it {is_tied.sum()} of {expected.size}")
    assert largest <= within, f"largest difference {largest:.3g}, allowed {within:.3g}"
    assert (steps[(fall > 0) & ~is_tied] >= 0).all(), "documents changed places"
    assert is_tied.mean() < 0.01, "too many documents cannot be told apart"
    return largest


def rank_changes(expected: NDArray[np.float64], got: NDArray[Any], sizes: int = LIST) -> int:
    """How many documents stand at another rank of their list."""
    ranks = (np.argsort(-np.asarray(s).reshape(-1, sizes), kind="stable") for s in (expected, got))
    return int((next(ranks) != next(ranks)).sum())
