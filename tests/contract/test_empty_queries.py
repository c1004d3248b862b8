"""Queries that have no say contribute exactly zero, whatever stands beside them."""

from __future__ import annotations

import numpy as np
import pytest

import rankforce as rf
from tests.contract.cases import CASES, OF_LISTS, PAIRWISE, Case, K, make_data
from tests.reference.positions import POSITION_NAMES

NORMS = ("none", "lightgbm", "std")
SILENT = {
    "one document": ([0.3], [2]),
    "one irrelevant document": ([0.3], [0]),
    "one label": ([0.3, 0.1, 0.2, 0.5], [2, 2, 2, 2]),
    "nothing relevant": ([0.3, 0.1, 0.2, 0.5, 0.2], [0, 0, 0, 0, 0]),
    "one label, far apart": ([1e5, -1e5, 0.0], [1, 1, 1]),
    "no document": ([], []),
}
# Scores and labels of a query that has something to say.
LOUD = ([0.4, 0.1, 0.9, 0.2, 0.7, 0.5], [0, 2, 0, 1, 0, 3])


def assert_silent(case: Case, scores: list[float], grades: list[float], **how: str) -> None:
    """By itself, and between two queries whose forces are not zero."""
    n = len(scores)
    labels, all_scores = case.labels(grades), LOUD[0] + scores + LOUD[0]
    all_labels = case.labels(LOUD[1] + grades + LOUD[1])
    middle = slice(6, 6 + n)
    for norm in NORMS:
        objective = case.objective(**how)
        lam, hess = objective.gradients(scores, labels, norm=norm)
        assert lam.tolist() == hess.tolist() == [0.0] * n
        lam, hess = objective.gradients(all_scores, all_labels, group=[6, n, 6], norm=norm)
        assert lam[middle].tolist() == hess[middle].tolist() == [0.0] * n
        assert lam[:6].any()
        assert lam[6 + n :].any()
    assert case.objective().effective_pairs(scores, labels).tolist() == [0]
    assert [len(part) for part in case.objective().pairs(scores, labels)] == [0, 0, 0]


@pytest.mark.parametrize("cost", ["logistic", "sigmoid"])
@pytest.mark.parametrize(("scores", "labels"), SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("case", PAIRWISE, ids=str)
def test_query_without_pairs_is_zero(
    case: Case, scores: list[float], labels: list[float], cost: str
) -> None:
    assert_silent(case, scores, labels, cost=cost)


LISTS = [case for case in OF_LISTS if case.is_listwise]


@pytest.mark.parametrize("case", LISTS, ids=str)
def test_lists_are_silent_only_with_one_document(case: Case) -> None:
    """Labels that do not differ: the target is drawn, so it differs, as in LightGBM."""
    for kind in ("one document", "one irrelevant document", "no document"):
        assert_silent(case, *SILENT[kind])
    for kind in ("one label", "nothing relevant", "one label, far apart"):
        lam, hess = case.objective().gradients(*SILENT[kind])
        assert (lam != 0.0).all()
        assert abs(lam.sum()) < 1e-15
        assert np.isfinite(hess).all()


@pytest.mark.parametrize("case", [case for case in CASES if case.is_pointwise], ids=str)
def test_documents_by_themselves_are_silent_only_where_they_should_be(case: Case) -> None:
    """One document, one label: each is pushed to where its label is, and stays there."""
    for scores, labels in SILENT.values():
        lam, hess = case.objective().gradients(scores, labels)
        assert lam.tolist() == [y - s for y, s in zip(labels, scores, strict=True)]
        assert hess.tolist() == [1.0] * len(labels)
        assert case.objective().effective_pairs(scores, labels).tolist() == [0]
        for norm in NORMS:
            assert not case.objective().gradients(labels, labels, norm=norm)[0].any()


BINARY = [case for case in CASES if case.objective().description.binary]


@pytest.mark.parametrize("case", BINARY, ids=str)
def test_binary_objectives_see_only_whether_a_label_is_positive(case: Case) -> None:
    assert_silent(case, [0.3, 0.1, 0.2, 0.5], [0, -1, 0, -2])
    assert_silent(case, [0.3, 0.1, 0.2, 0.5], [1, 3, 2, 0.5])
    data = make_data([30], seed=30)
    expected = case.objective().gradients(data.scores, data.labels > 0)
    assert np.array_equal(case.objective().gradients(data.scores, data.labels), expected)


@pytest.mark.parametrize("n", [2, K - 1, K])
@pytest.mark.parametrize("name", POSITION_NAMES)
def test_objectives_of_precision_are_zero_up_to_k_documents(name: str, n: int) -> None:
    case = Case(name, (("k", K),))
    assert_silent(case, [0.5 * i for i in range(n)], [float(i % 2) for i in range(n)])


@pytest.mark.parametrize("name", POSITION_NAMES)
def test_objectives_of_precision_are_not_zero_above(name: str) -> None:
    """k + 1 documents, a relevant one last: the pair of ranks 1 and k + 1 is in every set."""
    scores, labels = [3.0, 2.0, 1.0, 0.0], [0, 0, 0, 1]
    lam, _ = rf.objective(name, k=3).gradients(scores, labels)
    assert lam[3] > 0 > lam[0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_rows_at_all(case: Case) -> None:
    for how in ({}, {"group": []}, {"group": [0, 0]}, {"qid": []}):
        for threads in (1, 2):
            lam, hess = case.objective().gradients([], [], threads=threads, **how)
            assert len(lam) == len(hess) == 0
