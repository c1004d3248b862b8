"""Long queries: several tiles, borders of tiles, and sums of many terms."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from tests.contract.cases import GRADES, Floats, assert_close, draw_scores, sparse_data
from tests.reference import dense

# A tile has 2048 documents and 16 places of padding.
BORDERS = [2032, 2040, 2047, 2048, 2049, 2063, 2064, 2065, 4096, 4097]
EVERY_PATH = {
    "LambdaRank-NDCG": [None, 5, 40, 1500],
    "LambdaLoss-NDCG": [None, 5, 40],
    "LambdaLoss-NDCG++": [None, 5],
    "LambdaLoss-NDCG top-k": [5],
    "NDCG-Loss1": [None, 5],
    "LambdaMART-eX static": [5, 50],
    "LambdaMART-eX all": [5],
    "LambdaLoss-eX++ all": [5],
    "LambdaMART-eX all bin": [300],
    "RankNet": [None],
    "LambdaLoss-ARP1": [None],
    "LambdaRank-P@k": [5, 100],
    "LambdaRank-ARPbk": [5],
    "LambdaGap-S": [5, 1000],
    "LambdaGap-X": [5, 1000],
    "LambdaGap-S+": [5],
    "LambdaGap-X+": [5],
    "LambdaGap-S++": [5],
    "LambdaGap-X++": [5],
    "lambdarank(map)": [None],
    "lambdarank(mrr)": [None],
    "lambdarank(err)": [None],
    "lambdarank(arp)": [None],
}
PATHS = [(name, k) for name, cutoffs in EVERY_PATH.items() for k in cutoffs]


def assert_forces(
    name: str, k: int | None, scores: Floats, labels: Floats, *, norm: str = "none"
) -> None:
    lam, hess = rf.objective(name, k=k).gradients(scores, labels, norm=norm)
    expected_lam, expected_hess = dense.forces(name, scores, labels, k=k, norm=norm)
    assert np.abs(expected_lam).max() > 0
    assert_close(lam, expected_lam, f"lambda, norm {norm}")
    assert_close(hess, expected_hess, f"hess, norm {norm}")
    assert abs(lam.sum()) <= 2e-6 * np.abs(lam).sum()


@pytest.mark.parametrize("n", BORDERS)
@pytest.mark.parametrize(("name", "k"), PATHS)
def test_queries_around_the_end_of_a_tile(name: str, k: int | None, n: int) -> None:
    scores, labels = sparse_data(n, relevant=60)
    assert_forces(name, k, 5.0 * scores, labels, norm="lightgbm" if n % 2 else "none")


@pytest.mark.parametrize("spread", [5.0, 100.0])
@pytest.mark.parametrize(("name", "k"), PATHS)
def test_12000_documents(name: str, k: int | None, spread: float) -> None:
    scores, labels = sparse_data(12_000, relevant=25)
    assert_forces(name, k, spread * scores, labels)


MANY_PAIRS = ["LambdaRank-NDCG", "LambdaLoss-NDCG++", "RankNet", "lambdarank(map)"]


@pytest.mark.parametrize("name", MANY_PAIRS)
def test_2049_documents_of_which_half_are_relevant(name: str) -> None:
    rng = np.random.default_rng(13)
    labels, scores = rng.choice(GRADES, 2049), draw_scores(rng, 2049, 8.0)
    assert_forces(name, None, scores, labels, norm="lightgbm")


@pytest.mark.parametrize("norm", ["none", "lightgbm"])
def test_sums_of_many_terms_keep_their_digits(norm: str) -> None:
    """RankNet, 5,000 documents, half of them relevant: 2,500 terms for each document."""
    rng = np.random.default_rng(14)
    labels, scores = rng.permutation(np.arange(5000) % 2), draw_scores(rng, 5000, 10.0)
    lam, hess = rf.objective("ranknet").gradients(scores, labels, norm=norm)
    expected_lam, expected_hess = dense.forces("RankNet", scores, labels, norm=norm)
    assert_close(lam, expected_lam, "lambda", 1e-5)
    assert_close(hess, expected_hess, "hess", 1e-5)


def test_pairs_of_a_long_query() -> None:
    """Labels 1 in the first and the last tile; LambdaGap-X with k = 3000."""
    n, k = 5000, 3000
    scores, labels = -np.arange(float(n)), np.zeros(n)
    labels[[0, 4999]] = 1.0
    hi, lo, weight = rf.objective("lambdagap-x", k=k).pairs(scores, labels)
    expected = {(0, row) for row in range(k, n - 1)} | {(n - 1, row) for row in range(1, n - k)}
    assert set(zip(hi.tolist(), lo.tolist(), strict=True)) == expected
    assert len(hi) == len(expected)
    assert (weight == 1.0).all()
