"""LightGBM's own `lambdarank`, matched through one training step.

A tree that gives every document a leaf of its own is refitted by LightGBM at given scores. With L2
penalty c the leaf of a document is then worth lambda / (hess + c): LightGBM's own forces can be
read off one by one. The same step is also done as training does it, growing the tree.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import rankforce as rf

lgb = pytest.importorskip("lightgbm")

Floats = NDArray[np.float64]
# LightGBM looks the sigmoid up in a table of 2^20 entries and keeps forces in float32.
TOLERANCE = 1e-4
HUGE = 1e6  # a penalty beside which no hessian counts: the leaf is worth lambda / HUGE
TRAINING = {
    "learning_rate": 1.0,
    "num_leaves": 4096,
    "max_bin": 4096,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 0.0,
    "boost_from_average": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "verbosity": -1,
}


class Set(NamedTuple):
    """Synthetic queries."""

    scores: Floats
    labels: Floats
    sizes: list[int]


def make_set(seed: int = 0, *, tied: bool = False) -> Set:
    rng = np.random.default_rng(seed)
    sizes = [40, 3, 25, 1, 60, 12, 2, 33]
    n = sum(sizes)
    labels = rng.choice([0, 0, 0, 1, 2, 3, 4], n).astype(np.float64)
    scores = np.zeros(n) if tied else np.round(rng.normal(0.0, 1.5, n), 6)
    return Set(scores, labels, sizes)


def features_of(n: int) -> Floats:
    """One feature that tells all documents apart."""
    return np.arange(float(n)).reshape(-1, 1)


@functools.cache
def tree_of_single_documents(n: int) -> str:
    """The text of a tree with one leaf for each document, its objective renamed to lambdarank."""
    dataset = lgb.Dataset(features_of(n), np.arange(1.0, n + 1.0))
    model = lgb.train(TRAINING | {"objective": "regression"}, dataset, num_boost_round=1)
    leaf = model.predict(features_of(n), pred_leaf=True).reshape(-1)
    assert len(set(leaf)) == n
    return model.model_to_string().replace("regression", "lambdarank")


def leaf_values(data: Set, penalty: float, **options: Any) -> Floats:
    """lambda / (hess + penalty) of each document, by LightGBM."""
    n = len(data.scores)
    model = lgb.Booster(model_str=tree_of_single_documents(n))
    model.params |= TRAINING | {"objective": "lambdarank", "lambda_l2": penalty} | options
    step = model.refit(
        features_of(n),
        data.labels,
        decay_rate=0.0,
        group=data.sizes,
        init_score=data.scores,
    )
    return step.predict(features_of(n), raw_score=True)


def our_forces(data: Set, norm: str = "lightgbm", **parameters: Any) -> tuple[Floats, Floats]:
    objective = rf.objective("lambdarank-ndcg", **parameters)
    return objective.gradients(data.scores, data.labels, group=data.sizes, norm=norm)


def largest_difference(got: Floats, expected: Floats) -> float:
    return float(np.abs(got - expected).max() / np.abs(expected).max())


def assert_same_forces(data: Set, ours: tuple[Floats, Floats], **options: Any) -> None:
    """Lambdas, and hessians of all documents that LightGBM moves enough to read them off."""
    lam, hess = ours
    lightgbm_lam = leaf_values(data, HUGE, **options) * (HUGE + hess)
    assert largest_difference(lam, lightgbm_lam) < TOLERANCE
    ratio = leaf_values(data, 0.0, **options)
    moved = np.abs(lightgbm_lam) > 1e-2 * np.abs(lightgbm_lam).max()
    assert moved.mean() > 0.5
    lightgbm_hess = lightgbm_lam[moved] / ratio[moved]
    assert hess[moved] == pytest.approx(lightgbm_hess, rel=1e-3, abs=TOLERANCE * hess.max())
    # Leaf values themselves, for a penalty of the size of the hessians.
    assert largest_difference(lam / (hess + 1.0), leaf_values(data, 1.0, **options)) < TOLERANCE


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("level", [3, 30, 10000])
def test_forces_of_every_document(level: int, tied: bool) -> None:
    data = make_set(1, tied=tied)
    assert_same_forces(data, our_forces(data, tau=level), lambdarank_truncation_level=level)


@pytest.mark.parametrize("sigma", [0.5, 2.0])
def test_other_steepness(sigma: float) -> None:
    data = make_set(3)
    ours = our_forces(data, tau=30, sigma=sigma)
    assert_same_forces(data, ours, sigmoid=sigma, lambdarank_truncation_level=30)


def test_without_norm() -> None:
    data = make_set(4)
    ours = our_forces(data, norm="none", tau=30)
    assert_same_forces(data, ours, lambdarank_norm=False, lambdarank_truncation_level=30)


def test_other_gains() -> None:
    data, gains = make_set(5), [0.0, 1.0, 5.0, 6.0, 20.0]
    ours = our_forces(data, tau=30, gain=gains)
    assert_same_forces(data, ours, label_gain=gains, lambdarank_truncation_level=30)


WRONG: dict[str, dict[str, Any]] = {
    "another truncation": {"tau": 4},
    "another steepness": {"tau": 3, "sigma": 1.01},
    "another gain": {"tau": 3, "gain": "y"},
    "no norm": {"tau": 3, "norm": "none"},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_the_comparison_would_notice(wrong: dict[str, Any]) -> None:
    data = make_set(1)
    with pytest.raises(AssertionError):
        assert_same_forces(data, our_forces(data, **wrong), lambdarank_truncation_level=3)


def grow(data: Set, objective: Any, **options: Any) -> Floats:
    """What the first tree adds to each document's score."""
    rng = np.random.default_rng(7)
    features = np.column_stack([data.labels + rng.normal(size=len(data.labels)), data.scores])
    dataset = lgb.Dataset(
        features, data.labels, group=data.sizes, init_score=data.scores, free_raw_data=False
    )
    params = TRAINING | {"num_leaves": 8, "min_data_in_leaf": 10, "lambda_l2": 1.0} | options
    model = lgb.train(params | {"objective": objective}, dataset, num_boost_round=1)
    return model.predict(features, raw_score=True)


@pytest.mark.parametrize("level", [3, 30, 10000])
def test_one_training_step_as_a_custom_objective(level: int) -> None:
    """Our forces handed to LightGBM grow the same tree: boosters minimise, so they get -lambda."""
    data = make_set(6)
    ready = rf.objective("lambdarank-ndcg", tau=level).prepare(data.labels, group=data.sizes)

    def push(scores: Floats, dataset: Any) -> tuple[Floats, Floats]:
        lam, hess = ready.gradients(scores, norm="lightgbm")
        return -lam, hess

    expected = grow(data, "lambdarank", lambdarank_truncation_level=level)
    assert len(np.unique(expected)) >= 5
    assert largest_difference(grow(data, push), expected) < TOLERANCE
