"""LightGBM's own lambdarank, matched through one training step.

Documents fall at random into many small leaves, so that the tree's values are sum of lambda / sum
of hess over a few documents each: close to the forces themselves. (A leaf for each document would
be closer, but LightGBM guesses counts from hessians and stops where it guesses 0.)
"""

from __future__ import annotations

from collections.abc import Callable

import lightgbm as lgb
import numpy as np
import pytest
from numpy.typing import NDArray

import rankforce as rf

SIZES = np.array([40, 1, 25, 60, 2, 12])
PARAMS = {
    "num_leaves": 24,
    "min_data_in_leaf": 1,
    "min_data_in_bin": 1,
    "min_sum_hessian_in_leaf": 1e-3,
    "learning_rate": 1.0,
    "num_threads": 1,
    "deterministic": True,
    "verbose": -1,
}


def made_up(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """A feature with 24 values, labels and scores."""
    rng = np.random.default_rng(seed)
    rows = int(SIZES.sum())
    features = rng.integers(0, 24, rows).astype(np.float64)[:, None]
    return features, rng.choice(5, size=rows, p=[0.4, 0.3, 0.15, 0.1, 0.05]), rng.normal(size=rows)


def one_step(
    features: NDArray[np.float64],
    labels: NDArray[np.int64],
    scores: NDArray[np.float64],
    custom: Callable[..., tuple[object, object]] | None = None,
    **params: object,
) -> NDArray[np.float64]:
    """Value that one training step adds to each document's score."""
    data = lgb.Dataset(features, labels, group=SIZES, init_score=scores, params=PARAMS | params)
    booster = lgb.Booster(PARAMS | params, data)
    booster.update(fobj=custom)
    return np.asarray(booster.predict(features))


def newton(
    labels: NDArray[np.int64], scores: NDArray[np.float64], **params: object
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    objective = rf.objective("lambdarank-ndcg", **params)  # type: ignore[arg-type]
    return objective.gradients(scores, labels, group=SIZES, norm="lightgbm")


def leaf_values(
    step: NDArray[np.float64], lam: NDArray[np.float64], hess: NDArray[np.float64]
) -> NDArray[np.float64]:
    """sum of lambda / sum of hess over the documents that share a leaf of LightGBM's tree."""
    _, leaf = np.unique(step, return_inverse=True)
    return (np.bincount(leaf, lam) / np.bincount(leaf, hess))[leaf]


@pytest.mark.parametrize("tau", [1, 3, 30, 10_000])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_step_is_the_same(tau: int, seed: int) -> None:
    features, labels, scores = made_up(seed)
    step = one_step(
        features, labels, scores, objective="lambdarank", lambdarank_truncation_level=tau
    )
    lam, hess = newton(labels, scores, tau=tau)
    pushed = hess > 0
    assert len(np.unique(step)) >= 12  # the leaves do tell documents apart
    expected = leaf_values(step[pushed], lam[pushed], hess[pushed])
    # LightGBM looks the logistic up in a table.
    np.testing.assert_allclose(step[pushed], expected, rtol=1e-4, atol=1e-4)


def test_another_truncation_is_not_the_same() -> None:
    features, labels, scores = made_up(0)
    step = one_step(features, labels, scores, objective="lambdarank", lambdarank_truncation_level=3)
    lam, hess = newton(labels, scores, tau=4)
    pushed = hess > 0
    expected = leaf_values(step[pushed], lam[pushed], hess[pushed])
    assert not np.allclose(step[pushed], expected, rtol=1e-2, atol=1e-3)


def test_sigma_is_the_sigmoid_parameter() -> None:
    features, labels, scores = made_up(3)
    params = {"objective": "lambdarank", "lambdarank_truncation_level": 10, "sigmoid": 2.0}
    step = one_step(features, labels, scores, **params)
    lam, hess = newton(labels, scores, tau=10, sigma=2.0)
    pushed = hess > 0
    expected = leaf_values(step[pushed], lam[pushed], hess[pushed])
    np.testing.assert_allclose(step[pushed], expected, rtol=1e-4, atol=1e-4)


def test_as_a_custom_objective_the_same_trees_grow() -> None:
    _, labels, scores = made_up(4)
    several = np.random.default_rng(5).random((len(labels), 5)) + 0.2 * labels[:, None]
    ready = rf.objective("lambdarank-ndcg", tau=30).prepare(labels, group=SIZES)

    def ours(predictions: NDArray[np.float64], data: lgb.Dataset) -> tuple[object, object]:
        lam, hess = ready.gradients(predictions, norm="lightgbm")
        return -lam, hess

    shared = {"num_leaves": 7, "min_data_in_leaf": 5, "max_bin": 255}
    theirs = one_step(several, labels, scores, objective="lambdarank", **shared)
    custom = one_step(several, labels, scores, custom=ours, objective="none", **shared)
    np.testing.assert_allclose(custom, theirs, rtol=1e-3, atol=1e-5)
