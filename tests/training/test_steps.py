"""Values of leaves against their definitions, pair by pair."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from rankforce.training.forces import Forces, leaf_steps
from rankforce.training.settings import make_settings

RATE = 0.5


def small(seed: int, *, weighted: bool = False) -> tuple[rf.RankingData, np.ndarray]:
    """A few queries, rows not grouped, and scores that do not tie."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(6), [9, 4, 1, 12, 7, 5]))
    X = rng.normal(size=(len(qid), 3)).astype(np.float32)
    y = rng.integers(0, 4, len(qid))
    weight = rng.uniform(0.5, 2.0, len(qid)) if weighted else None
    return rf.RankingData(X, y, qid=qid, weight=weight), rng.normal(size=len(qid))


def lightgbm_factor(data: rf.RankingData, scores: np.ndarray, name: str, k: int) -> np.ndarray:
    """log2(1 + S) / S of each row's query, S = sum of 2 p weight / (0.01 + |x|) over its pairs."""
    factor = np.ones(data.rows)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        hi, lo, weight = rf.objective(name, k=k).pairs(scores[rows], data.labels[rows])
        x = scores[rows[hi]] - scores[rows[lo]]
        total = np.sum(2.0 / (1.0 + np.exp(x)) * weight / (0.01 + np.abs(x)))
        factor[rows] = np.log2(1.0 + total) / total if total > 0 else 1.0
    return factor


def crossing_hessians(
    data: rf.RankingData, scores: np.ndarray, leaf: np.ndarray, name: str, k: int, norm: str
) -> np.ndarray:
    """For each leaf, the second derivatives of pairs that have one document in it."""
    total = np.zeros(leaf.max() + 1)
    row_weight = np.ones(data.rows) if data.weight is None else data.weight
    factor = lightgbm_factor(data, scores, name, k) if norm == "lightgbm" else np.ones(data.rows)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        hi, lo, weight = rf.objective(name, k=k).pairs(scores[rows], data.labels[rows])
        for i, j, w in zip(rows[hi], rows[lo], weight, strict=True):
            x = scores[i] - scores[j]
            p = 1.0 / (1.0 + np.exp(x))
            apart = 0.01 + abs(x) if norm == "lightgbm" else 1.0
            second = factor[i] * w / apart * p * (1.0 - p)
            if leaf[i] != leaf[j]:
                total[leaf[i]] += second * row_weight[i]
                total[leaf[j]] += second * row_weight[j]
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_a_leaf_of_a_list_moves_as_a_whole(weighted: bool) -> None:
    """Of a softmax: P (1 - P) for a leaf whose documents have the share P of their list."""
    data, scores = small(4, weighted=weighted)
    forces = Forces(rf.objective("xendcg"), data, make_settings({"objective": "xendcg"}))
    leaf = np.random.default_rng(5).integers(0, 3, data.rows).astype(np.int32)
    _, hess = forces.at(scores, 0)
    whole = np.bincount(leaf, hess) - forces.shared_hessians(scores, leaf, 3, 0)
    weight = np.ones(data.rows) if data.weight is None else data.weight
    expected = np.zeros(3)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        rho = np.exp(scores[rows]) / np.exp(scores[rows]).sum()
        for number in range(3):
            mine = leaf[rows] == number
            others = rho[~mine].sum() if len(rows) > 1 else 0.0
            expected[number] += (weight[rows][mine] * rho[mine]).sum() * others
    assert whole == pytest.approx(expected)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize(
    ("name", "k"),
    [("lambdarank-ndcg", 3), ("ranknet", 5), ("lambdagap-s+", 2), ("lambdarank(map)", 4)],
)
def test_pairs_within_a_leaf_drop_out_of_the_exact_second_derivative(name, k, norm, weighted):
    data, scores = small(3, weighted=weighted)
    leaf = np.random.default_rng(5).integers(0, 4, data.rows).astype(np.int32)
    settings = make_settings({"objective": name, "k": k, "norm": norm, "threads": 2})
    forces = Forces(settings.make_objective(), data, settings)
    _, hess = forces.at(scores, 0)
    sums = np.bincount(leaf, hess, 4)
    shared = forces.shared_hessians(scores, leaf, 4, 0)
    expected = crossing_hessians(data, scores, leaf, name, k, norm)
    np.testing.assert_allclose(sums - shared, expected, rtol=1e-4, atol=1e-6 * sums.max())
    assert shared.max() > 0.0


def test_exact_and_usual_step_agree_where_no_leaf_holds_two_documents_of_a_query():
    data, scores = small(4)
    settings = make_settings({"objective": "ranknet", "norm": "none", "threads": 1})
    forces = Forces(settings.make_objective(), data, settings)
    number = np.empty(data.rows, np.int32)
    for query in np.unique(data.qid):
        rows = np.flatnonzero(data.qid == query)
        number[rows] = np.arange(len(rows))
    assert not forces.shared_hessians(scores, number, int(number.max()) + 1, 0).any()


def grow_one(step: str, norm: str, **more: float) -> tuple[rf.Ranker, rf.RankingData, np.ndarray]:
    data = rf.make_data("yahoo", queries=40, seed=2)
    scores = np.random.default_rng(1).normal(size=data.rows)
    ranker = rf.Ranker(
        "lambdarank-ndcg",
        k=5,
        n_estimators=1,
        num_leaves=6,
        learning_rate=RATE,
        step=step,
        norm=norm,
        progress=False,
        **more,
    )
    return ranker.fit(data, init_score=scores), data, scores


@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
@pytest.mark.parametrize("quantised", [True, False])
def test_gradient_step_is_the_mean_force_of_a_leaf(norm, quantised):
    ranker, data, scores = grow_one("gradient", norm, quantised=quantised)
    lam, _ = rf.objective("lambdarank-ndcg", k=5).gradients(
        scores, data.labels, qid=data.qid, norm=norm
    )
    values = ranker.predict(data)
    for value in np.unique(values):
        leaf = values == value
        np.testing.assert_allclose(value, RATE * lam[leaf].mean(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize(("l1", "l2"), [(0.0, 0.0), (0.1, 2.0)])
def test_newton_step_is_force_over_hessian(norm, l1, l2):
    ranker, data, scores = grow_one("newton", norm, reg_alpha=l1, reg_lambda=l2)
    lam, hess = rf.objective("lambdarank-ndcg", k=5).gradients(
        scores, data.labels, qid=data.qid, norm=norm
    )
    values = ranker.predict(data)
    for value in np.unique(values):
        leaf = values == value
        force = lam[leaf].sum()
        shrunk = np.sign(force) * max(abs(force) - l1, 0.0)
        np.testing.assert_allclose(value, RATE * shrunk / (hess[leaf].sum() + l2), rtol=1e-5)


def test_exact_newton_step_divides_by_the_pairs_that_cross_the_leaf():
    ranker, data, scores = grow_one("exact-newton", "none")
    lam, _ = rf.objective("lambdarank-ndcg", k=5).gradients(scores, data.labels, qid=data.qid)
    values = ranker.predict(data)
    _, leaf = np.unique(values, return_inverse=True)
    below = crossing_hessians(data, scores, leaf, "lambdarank-ndcg", 5, "none")
    expected = RATE * np.bincount(leaf, lam) / below
    np.testing.assert_allclose(np.unique(values), expected, rtol=1e-5)


def best_split(lam: np.ndarray, hess: np.ndarray) -> int:
    """How many rows in order go left, by the largest sum over both sides of force^2 / hessian."""

    def gain(left: int) -> float:
        sides = (slice(left), slice(left, None))
        return sum(lam[side].sum() ** 2 / hess[side].sum() for side in sides)

    return max(range(1, len(lam)), key=gain)


@pytest.mark.parametrize("quantised", [True, False])
@pytest.mark.parametrize(
    ("split", "left"), [("least-squares", 20), ("newton", 10), (None, 10)], ids=str
)
def test_splits_by_least_squares_have_leaves_by_newton(monkeypatch, split, left, quantised):
    """Gains after 1, 2, 3 values: .2133, .25, .12 by least squares, 4.36, 2.08, 2.45 by Newton."""
    # Ten rows of each: LightGBM guesses from hessians how many rows a leaf has.
    lam, hess = np.repeat([[0.4, 0.1, -0.2, -0.3], [0.04, 0.2, 0.2, 0.04]], 10, axis=1)
    assert left == best_split(lam, np.ones(40) if split == "least-squares" else hess)
    monkeypatch.setattr(Forces, "at", lambda *_: (lam, hess))
    few = {"n_estimators": 1, "num_leaves": 2, "min_child_samples": 1, "min_data_in_bin": 1}
    ranker = rf.Ranker("ranknet", split=split, learning_rate=1.0, quantised=quantised, **few)
    ranker.set_params(progress=False, quantised_levels=126)
    features, labels = np.repeat([0.0, 1.0, 2.0, 3.0], 10)[:, None], np.repeat([3, 2, 1, 0], 10)
    found = ranker.fit(features, labels, group=[40]).predict([[0.0], [3.0]])
    expected = [lam[side].sum() / hess[side].sum() for side in (slice(left), slice(left, None))]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("how", [{}, {"subsample": 0.5}, {"subsample": 0.5, "weighted": True}])
def test_least_squares_counts_what_is_in_the_bag(how):
    data, scores = small(2, weighted=how.pop("weighted", False))
    gradient = {"objective": "ranknet", "step": "gradient"} | how
    forces = Forces(rf.objective("ranknet"), data, make_settings(gradient))
    _, hess = forces.at(scores, 3)
    assert hess.sum() > 0.0
    np.testing.assert_array_equal(forces.unit_hessians(3), hess)


def test_min_child_weight_counts_rows_of_least_squares():
    data = rf.make_data("yahoo", queries=20, seed=2)
    how = {"n_estimators": 1, "num_leaves": 31, "min_child_samples": 1, "progress": False}
    ranker = rf.Ranker(split="least-squares", min_child_weight=25.0, **how).fit(data)
    leaves = np.unique(ranker.predict(data, pred_leaf=True), return_counts=True)[1]
    assert 25 <= leaves.min() < 50


def test_least_squares_needs_leaves_of_our_own():
    data = rf.make_data("yahoo", queries=20, seed=2)
    with pytest.raises(ValueError, match="split='least-squares' does not go with path_smooth"):
        rf.Ranker(split="least-squares", path_smooth=1.0, progress=False).fit(data)


def test_a_leaf_without_hessian_stays():
    assert leaf_steps(np.array([1.0]), np.array([0.0])).tolist() == [0.0]


@pytest.mark.parametrize("base_rate", [None, 1.0, 0.2])
@pytest.mark.parametrize("start", [1, 3])
def test_base_regressor_fits_the_labels_first(start, base_rate):
    """Three trees at the learning rate, or one unshrunk, as in Adalia et al. 2025, section 6."""
    data = rf.make_data("yahoo", queries=40, seed=2)
    ranker = rf.Ranker(
        "ranknet",
        n_estimators=1,
        base="regressor",
        base_estimators=start,
        base_rate=base_rate,
        learning_rate=RATE,
        num_leaves=4,
        progress=False,
    ).fit(data)
    assert len(ranker.model_.trees) == start + 1
    before, rate = np.zeros(data.rows), base_rate or RATE
    for trees in range(1, start + 1):
        after = ranker.predict(data, num_iteration=trees)
        moved = (after - before).round(12)
        for value in np.unique(moved):
            leaf = moved == value
            residual = (data.labels - before)[leaf].mean()
            np.testing.assert_allclose(value, rate * residual, rtol=1e-9, atol=1e-11)
        before = after
    assert [tree.shrinkage for tree in ranker.model_.trees] == [rate] * start + [RATE]


def test_base_scores_of_another_model_come_first():
    data = rf.make_data("yahoo", queries=40, seed=2)

    class First:
        def predict(self, X):
            return 3.0 * X[:, 0].astype(np.float64)

    params = {"n_estimators": 3, "num_leaves": 4, "progress": False}
    on_top = rf.Ranker("ranknet", base=First(), **params).fit(data)
    by_hand = rf.Ranker("ranknet", **params).fit(data, init_score=First().predict(data.features))
    np.testing.assert_array_equal(
        on_top.predict(data), First().predict(data.features) + by_hand.predict(data)
    )
