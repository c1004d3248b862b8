"""LightGBM's own `rank_xendcg`: its formula with its draws, and its mean over many seeds."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from tests import reference as ref
from tests.parity.test_lightgbm import HUGE, Floats, Set, largest_difference, leaf_values, make_set

lgb = pytest.importorskip("lightgbm")

QUICK = {"n_estimators": 30, "num_leaves": 8, "learning_rate": 0.1}


def lightgbm_draws(seed: int, query: int, n: int) -> list[float]:
    """LightGBM's generator: one for each query, 15 bits a number."""
    x, found = seed + query, []
    for _ in range(n):
        x = (214013 * x + 2531011) % 2**32
        found.append(((x >> 16) & 0x7FFF) / 32768.0)
    return found


def queries(data: Set) -> list[slice]:
    ends = np.cumsum(data.sizes)
    return [slice(end - size, end) for end, size in zip(ends, data.sizes, strict=True)]


def their_leaves(data: Set, penalty: float, seed: int) -> Floats:
    return leaf_values(data, penalty, objective="rank_xendcg", objective_seed=seed)


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("seed", [5, 11])
def test_the_formula_with_lightgbms_draws(tied: bool, seed: int) -> None:
    """The reference, which the kernel is held against, at the gammas that LightGBM draws."""
    data = make_set(1, tied=tied)
    lam, hess = np.zeros(len(data.labels)), np.zeros(len(data.labels))
    for query, rows in enumerate(queries(data)):
        gammas = lightgbm_draws(seed, query, rows.stop - rows.start)
        lam[rows], hess[rows] = ref.xendcg_at(data.scores[rows], data.labels[rows], gammas)
    assert largest_difference(lam, their_leaves(data, HUGE, seed) * (HUGE + hess)) < 1e-5
    assert largest_difference(lam / (hess + 1.0), their_leaves(data, 1.0, seed)) < 1e-5


def test_the_mean_over_many_seeds() -> None:
    """Ours and LightGBM's differ by what means of that many draws may: 5 standard errors."""
    data, seeds = make_set(2), 300
    ready = [rf.objective("rank_xendcg", seed=seed) for seed in range(seeds)]
    ours = np.array([one.gradients(data.scores, data.labels, group=data.sizes)[0] for one in ready])
    _, hess = ready[0].gradients(data.scores, data.labels, group=data.sizes)
    # LightGBM's first draws are linear in the seed: seeds that lie at random are independent.
    drawn = np.random.default_rng(0).integers(0, 2**31 - 100, seeds)
    theirs = np.array([their_leaves(data, HUGE, int(seed)) * (HUGE + hess) for seed in drawn])
    error = np.sqrt((ours.var(axis=0) + theirs.var(axis=0)) / seeds)
    assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) <= 5.0 * error + 1e-6).all()
    assert np.abs(ours.mean(axis=0)).max() > 20.0 * error.max()


def test_training_reaches_what_lightgbm_reaches() -> None:
    train, test = (rf.make_data("mslr", queries=80, seed=seed) for seed in (0, 1))
    theirs = lgb.LGBMRanker(objective="rank_xendcg", verbose=-1, n_jobs=1, **QUICK)
    theirs.fit(train.features, train.labels, group=train.group)
    ours = rf.Ranker(objective="rank_xendcg", progress=False, **QUICK).fit(train)
    values = [
        rf.evaluate(system, test, "ndcg@10").means["NDCG@10"]
        for system in (ours, theirs.predict(test.features), np.zeros(test.rows))
    ]
    assert values[0] == pytest.approx(values[1], abs=0.03)
    assert min(values[:2]) > values[2] + 0.05
