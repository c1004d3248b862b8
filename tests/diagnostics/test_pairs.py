from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics import (
    contributions,
    contributions_by_size,
    effective_pairs,
    norm_factors,
    pair_forces,
)
from tests import reference as ref
from tests.diagnostics.test_coherence import random_queries
from tests.reference.coherence import shares_by_label, shares_of_force

CLICKS = {"source": "click"}
GRADED = rf.graded(
    [rf.objective("lambdarank-ndcg", k=5), rf.objective("ranknet", **CLICKS)], weights=[0.7, 0.3]
)
SIGMOID = rf.objective("lambdarank-ndcg", k=4, cost="sigmoid", center=0.5)
SEVERAL = {
    "truncated": rf.objective("lambdarank-ndcg", k=3),
    "extended": rf.objective("lambdamart-ex random", k=3, seed=4),
    "distances": rf.objective("lambdaloss-ndcg++", k=4),
    "swaps": rf.objective("lambdarank(map)"),
    "steep": rf.objective("ranknet", sigma=2.5),
    "sigmoid": rf.objective("lambdarank-ndcg", k=4, cost="sigmoid", center=0.5, norm="std"),
    "graded": GRADED,
    "preferences": 0.5 * rf.objective("preferences", sigma=1.5) + rf.objective("ranknet"),
    "moving": rf.scheduled("ranknet", "lambdarank-ndcg", schedule="linear", rate=0.2),
}


def many_labels(seed: int) -> tuple[np.ndarray, dict[str, object], list[int]]:
    scores, labels, sizes = random_queries(seed)
    rng = np.random.default_rng(seed)
    clicks = np.where(rng.random(len(labels)) < 0.2, np.nan, rng.random(len(labels)).round(1))
    starts = np.cumsum(sizes) - sizes
    several = [(s, n) for s, n in zip(starts, sizes, strict=True) if n > 1]
    hi = [start + int(rng.integers(1, size)) for start, size in several]
    lo = [start for start, _ in several]
    return scores, {"grade": labels, "click": clicks, "preferences": (hi, lo)}, sizes


@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
@pytest.mark.parametrize("name", SEVERAL)
def test_forces_of_pairs_add_up_to_those_of_documents(name: str, norm: str) -> None:
    scores, labels, sizes = many_labels(7)
    objective = SEVERAL[name]
    lam = objective.gradients(scores, labels, group=sizes, norm=norm, iteration=2)[0]
    sums = np.zeros(len(lam))
    for query in range(len(sizes)):
        found = pair_forces(
            objective, scores, labels, group=sizes, query=query, norm=norm, iteration=2
        )
        assert (found.force >= 0).all()
        np.add.at(sums, found.hi, found.force)
        np.add.at(sums, found.lo, -found.force)
    assert sums == pytest.approx(lam, abs=1e-4 * np.abs(lam).max())
    assert np.abs(lam).max() > 0


@pytest.mark.parametrize("weight", [None, 1.5])
@pytest.mark.parametrize("norm", ["none", "lightgbm"])
@pytest.mark.parametrize("name", [name for name in SEVERAL if name != "sigmoid"])
def test_second_derivatives_within_leaves(name: str, norm: str, weight: float | None) -> None:
    """All documents in one leaf: the sum of their hessians. Each in its own: nothing."""
    scores, labels, sizes = many_labels(8)
    ready = SEVERAL[name].prepare(labels, group=sizes)
    hess = ready.gradients(scores, norm=norm, iteration=2)[1]
    rows = len(scores)
    rest = {"norm": norm, "iteration": 2, "threads": 1}
    rest["row_weight"] = None if weight is None else np.full(rows, weight)
    [whole] = ready.shared_hessians(scores, np.zeros(rows, np.int32), 1, **rest)
    assert whole == pytest.approx((weight or 1.0) * hess.sum(), rel=1e-4)
    alone = ready.shared_hessians(scores, np.arange(rows, dtype=np.int32), rows, **rest)
    assert not alone.any()


@pytest.mark.parametrize("norm", ["none", "lightgbm", "std"])
@pytest.mark.parametrize("name", SEVERAL)
def test_contributions_by_size_are_the_sums_over_pairs(name: str, norm: str) -> None:
    scores, labels, sizes = many_labels(11)
    objective, grades = SEVERAL[name], labels["grade"]
    found = contributions_by_size(
        objective, scores, labels, group=sizes, high=2, norm=norm, iteration=2, threads=2
    )
    table = np.zeros((len(scores), 4))
    for query in range(len(sizes)):
        pairs = pair_forces(
            objective, scores, labels, group=sizes, query=query, norm=norm, iteration=2
        )
        for hi, lo, _, force in zip(*pairs, strict=True):
            table[hi, int(grades[lo])] += force
            table[lo, int(grades[hi])] += force
    kept = table[(grades >= 2) & (table.sum(axis=1) > 0)]
    assert found.documents == len(kept)
    assert found.labels == ["0", "1", "2", "3"]
    shares = (kept / kept.sum(axis=1, keepdims=True)).mean(axis=0)
    assert found.shares == pytest.approx(shares, abs=1e-9)


@pytest.mark.parametrize("name", SEVERAL)
def test_contributions_are_signed_sums_over_pairs_without_a_norm(name: str) -> None:
    scores, labels, sizes = many_labels(11)
    objective, grades = SEVERAL[name], labels["grade"]
    found = contributions(objective, scores, labels, group=sizes, high=2, iteration=2, threads=2)
    plain = SIGMOID if name == "sigmoid" else objective
    sums, pushed = np.zeros(4), set()
    for query in range(len(sizes)):
        pairs = pair_forces(plain, scores, labels, group=sizes, query=query, iteration=2)
        for hi, lo, _, force in zip(*pairs, strict=True):
            for j, k, sign in ((hi, lo, 1.0), (lo, hi, -1.0)):
                if grades[j] >= 2:
                    sums[int(grades[k])] += sign * force
                    pushed.add(j)
    assert found.labels == ["0", "1", "2", "3"]
    assert found.shares == pytest.approx(sums / sums.sum(), rel=1e-9)
    assert found.documents == len(pushed)


@pytest.mark.parametrize(
    ("measure", "reference"),
    [(contributions, shares_of_force), (contributions_by_size, shares_by_label)],
)
def test_contributions_against_the_reference(measure: Any, reference: Any) -> None:
    scores, labels = [0.3, 0.1, 0.9, 0.2, 0.2], [4.0, 0.0, 0.0, 1.0, 3.0]
    weights = ref.weights("LambdaRank-NDCG", scores, labels, k=2)
    expected = reference(weights, scores, labels, 3.0)
    found = measure(rf.objective("lambdarank-ndcg", k=2), scores, labels)  # above 4 / 2
    assert found.labels == [f"{label:g}" for label in expected]
    assert found.shares == pytest.approx(list(expected.values()), rel=1e-12)
    assert found.shares.sum() == pytest.approx(1.0)


def test_contributions_of_an_example_by_hand() -> None:
    scores, labels = [3, 2, 1, 0], [3, 4, 1, 0]
    gains = [2**label - 1 for label in labels]
    ideal = sum(g / math.log2(2 + r) for r, g in enumerate(sorted(gains, reverse=True)))

    def force(hi: int, lo: int) -> float:
        apart = abs(1 / math.log2(2 + hi) - 1 / math.log2(2 + lo))  # ranks are rows
        weight = (gains[hi] - gains[lo]) * apart / ideal
        return weight / (1 + math.exp(scores[hi] - scores[lo]))

    on_highly_relevant = {
        "0": force(0, 3) + force(1, 3),
        "1": force(0, 2) + force(1, 2),
        "3": force(1, 0),
        "4": -force(1, 0),
    }
    total = sum(on_highly_relevant.values())
    found = contributions(rf.objective("lambdarank-ndcg"), scores, labels)
    assert found.labels == [*on_highly_relevant]
    assert found.shares * total == pytest.approx([*on_highly_relevant.values()])


def test_forces_among_highly_relevant_documents_leave_no_shares() -> None:
    found = contributions(rf.objective("ranknet"), [0.3, 0.1, 0.7, 0.2], [3, 4, 5, 6], high=3)
    assert found.shares.tolist() == [0.0] * 4
    assert found.documents == 4


def test_many_labels_are_put_into_ranges() -> None:
    labels = np.linspace(0, 1, 21)
    found = contributions(rf.objective("ranknet"), np.zeros(21), labels)
    assert found.labels == ["0 to 0.2", "0.2 to 0.4", "0.4 to 0.6", "0.6 to 0.8", "0.8 to 1"]
    gaps = {"click": np.where(labels == 1.0, np.nan, labels)}
    found = contributions(rf.objective("ranknet", source="click"), np.zeros(21), gaps)
    assert found.labels[0] == "unknown"
    assert found.shares[0] == 0.0


@pytest.mark.parametrize("name", SEVERAL)
def test_effective_pairs(name: str) -> None:
    scores, labels, sizes = many_labels(13)
    found = effective_pairs(SEVERAL[name], scores, labels, group=sizes, iteration=2)
    for query, n in enumerate(sizes):
        pairs = pair_forces(SEVERAL[name], scores, labels, group=sizes, query=query, iteration=2)
        assert found.counts[query] == len(pairs.hi)
        assert found.possible[query] == n * (n - 1) // 2
    assert found.relative.tolist() == (found.counts / np.maximum(found.possible, 1)).tolist()
    assert found.without_force.tolist() == (found.counts == 0).tolist()


def test_norm_factors() -> None:
    scores, labels, sizes = many_labels(17)
    objective = SEVERAL["steep"]
    plain = objective.gradients(scores, labels, group=sizes)[0]
    for norm in ("lightgbm", "std"):
        found = norm_factors(objective, scores, labels, group=sizes, norm=norm).factors
        lam = objective.gradients(scores, labels, group=sizes, norm=norm)[0]
        for query, end in enumerate(np.cumsum(sizes)):
            own = slice(end - sizes[query], end)
            if not plain[own].any():
                assert found[query] == 0
            elif norm == "std":
                assert found[query] * plain[own] == pytest.approx(lam[own], rel=1e-4, abs=1e-6)
            else:
                total = 2 * sum(_magnitudes(scores[own], labels["grade"][own], sigma=2.5))
                assert found[query] == pytest.approx(math.log2(1 + total) / total, rel=1e-9)
    assert norm_factors(objective, scores, labels, group=sizes, norm="none").quantiles == (1, 1, 1)
    assert norm_factors(objective, [1.0], [2.0]).quantiles == (0, 0, 0)


def _magnitudes(scores: np.ndarray, labels: np.ndarray, sigma: float) -> list[float]:
    """Forces of RankNet's pairs behind LightGBM's division by the distance of scores."""
    found = []
    for hi in range(len(scores)):
        for lo in range(len(scores)):
            if labels[hi] > labels[lo]:
                x = scores[hi] - scores[lo]
                apart = 0.01 + abs(x) if np.ptp(scores) > 0 else 1.0
                found.append(sigma / (1 + math.exp(sigma * x)) / apart)
    return found


def test_bad_scores_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        contributions(rf.objective("ranknet"), [1.0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="query is 3: there are 1 queries"):
        pair_forces(rf.objective("ranknet"), [1.0, 0.0], [0, 1], query=3)
