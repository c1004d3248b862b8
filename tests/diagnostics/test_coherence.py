from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from rankforce.diagnostics import incoherence
from tests.reference import binary
from tests.reference.coherence import violations

OBJECTIVES = (
    "lambdarank-ndcg",
    "lambdamart-ex static",
    "ranknet",
    "lambdarank-p@k",
    "lambdagap-x+",
)


def random_queries(seed: int, count: int = 40) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 60, count).tolist()
    rows = sum(sizes)
    scores = rng.integers(0, 12, rows) / 40.0  # with ties
    return scores, rng.choice([0.0, 1.0, 2.0, 3.0], rows, p=[0.75, 0.15, 0.05, 0.05]), sizes


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("restricted", [True, False])
def test_violations_are_those_of_the_definition(name: str, restricted: bool) -> None:
    scores, labels, sizes = random_queries(3)
    objective = rf.objective(name, k=3)
    found = incoherence(objective, scores, labels, group=sizes, restricted=restricted)
    lam = objective.gradients(scores, labels, group=sizes)[0]
    total = 0
    for query, end in enumerate(np.cumsum(sizes)):
        own = slice(end - sizes[query], end)
        seen = labels[own].tolist()
        seen = binary(seen) if name in ("lambdarank-p@k", "lambdagap-x+") else seen
        pairs = violations(scores[own].tolist(), seen, lam[own].tolist(), 3, restricted=restricted)
        assert found.violations[query] == len(pairs)
        if pairs:
            more = np.mean([lam[own][worse] - lam[own][better] for worse, better in pairs])
            assert found.size[query] == pytest.approx(more / np.abs(lam[own]).max(), rel=1e-9)
        else:
            assert found.size[query] == 0
        total += len(pairs)
    assert found.share == np.mean(found.violations > 0)
    if name == "lambdarank-ndcg":
        assert total > 10  # else the test would show nothing


@pytest.mark.parametrize("own", [False, True])
def test_violations_by_label(own: bool) -> None:
    """The reading of the objective, or one that somebody asks for."""
    scores, labels, sizes = random_queries(3, count=200)
    how = {"missed": "label"}
    objective = rf.objective("lambdamart-ex static", k=3, **how if own else {})
    found = incoherence(objective, scores, labels, group=sizes, **{} if own else how)
    by_deficit = incoherence(objective, scores, labels, group=sizes, missed="deficit")
    lam = objective.gradients(scores, labels, group=sizes)[0]
    for query, end in enumerate(np.cumsum(sizes)):
        s, y, force = (part[end - sizes[query] : end].tolist() for part in (scores, labels, lam))
        pairs = violations(s, y, force, 3, restricted=True, missed="label")
        assert found.violations[query] == len(pairs)
    assert not np.array_equal(found.violations, by_deficit.violations)
    with pytest.raises(ValueError, match="missed is 'grade': choose 'deficit' or 'label'"):
        incoherence(objective, [1.0], [1], missed="grade")


def test_the_examples_of_the_paper() -> None:
    objective = rf.objective("lambdarank-ndcg", k=1)
    grades = [1, 2, 0, 0, 0]
    assert incoherence(objective, [0.04, 0.03, 0.02, 0.01, 0.0], grades).share == 1.0
    # Figure 1 (b): the best document stands last, and 1 (d): another document has grade 1.
    assert incoherence(objective, [0.04, 0.0, 0.03, 0.02, 0.01], grades).share == 0.0
    assert incoherence(objective, [0.04, 0.03, 0.02, 0.01, 0.0], [1, 2, 0, 0, 1]).share == 0.0
    # Table 2: without truncation, only the wider definition sees it.
    whole = rf.objective("lambdarank-ndcg", tau=float("inf"))
    wide = incoherence(whole, [0.02, 0.01, 0.0], [4, 0, 1], k=1, restricted=False)
    assert wide.violations.tolist() == [1]
    assert incoherence(whole, [0.02, 0.01, 0.0], [4, 0, 1], k=1).share == 0.0


def test_label_zero_is_never_missed() -> None:
    # The ideal top 2 has a zero, but the model's has it too: only label 1 can be missed.
    found = incoherence(rf.objective("ranknet"), [3.0, 2.0, 1.0], [-1, -1, 0], k=1)
    assert found.share == 0.0


def test_threads_and_order_of_queries_do_not_matter() -> None:
    scores, labels, sizes = random_queries(5, count=900)
    objective = rf.objective("lambdarank-ndcg", k=2)
    one = incoherence(objective, scores, labels, group=sizes)
    two = incoherence(objective, scores, labels, group=sizes, threads=2)
    assert np.array_equal(one.violations, two.violations)
    assert np.array_equal(one.size, two.size)
    ids = np.repeat(np.arange(len(sizes)), sizes)
    mixed = np.random.default_rng(0).permutation(len(sizes))
    rows = np.concatenate([np.flatnonzero(ids == query) for query in mixed])
    turned = incoherence(objective, scores[rows], labels[rows], qid=ids[rows])
    assert np.array_equal(turned.violations, one.violations[mixed])


def test_no_query_and_wrong_values() -> None:
    objective = rf.objective("ranknet")
    assert incoherence(objective, [], [], group=[]).share == 0.0
    with pytest.raises(ValueError, match=r"k is 0: it must be an integer from 1 up"):
        incoherence(objective, [1.0], [1], k=0)
    with pytest.raises(ValueError, match=r"there are 2 scores|2"):
        incoherence(objective, [1.0, 2.0], [1])
