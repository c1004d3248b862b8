"""The dense reference for long queries computes what the naive one does."""

from __future__ import annotations

import random

import pytest

from tests import reference as ref
from tests.reference import dense

NAMES = [name for name in ref.NAMES if "random" not in name]


@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", [*NAMES, *dense.SWAP_NAMES])
def test_dense_forces_are_the_naive_ones(name: str, seed: int, norm: str) -> None:
    rng = random.Random(seed)
    scores = [round(rng.gauss(0.0, 2.0), 1) for _ in range(25)]
    labels = [float(rng.choice([0, 0, 0, 1, 2, 3, 4])) for _ in range(25)]
    k = None if name in dense.SWAP_NAMES else 4
    expected = ref.forces(ref.weights(name, scores, labels, k=k), scores, norm=norm)
    got = dense.forces(name, scores, labels, k=k, norm=norm)
    for some, others in zip(got, expected, strict=True):
        assert some == pytest.approx(others, rel=1e-11, abs=1e-13)


def test_rows_at_a_time_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, labels = [0.1 * i for i in range(40)], [float(i % 3) for i in range(40)]
    expected = dense.forces("LambdaLoss-NDCG++", scores, labels, k=5)
    monkeypatch.setattr(dense, "ROWS_AT_A_TIME", 7)
    got = dense.forces("LambdaLoss-NDCG++", scores, labels, k=5)
    for some, others in zip(got, expected, strict=True):
        assert some == pytest.approx(others, rel=1e-12, abs=1e-15)
