"""What `rf.evaluate` and `rf.compare` give back: values by name, and a table."""

from __future__ import annotations

import pytest

import rankforce as rf

FOUND = rf.evaluate([0.2, 0.1, 0.3], [0, 1, 2], "ndcg@5, p@1(rel=2), MRR")


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("ndcg@5", "NDCG@5"),
        ("NDCG@5", "NDCG@5"),
        ("ndcg_cut_5", "NDCG@5"),
        ("p@1(rel=2)", "P@1(rel=2)"),
        ("P(rel=2)@1", "P@1(rel=2)"),
        ("mrr", "MRR"),
        (rf.metric("mrr"), "MRR"),
    ],
)
def test_a_mean_is_found_as_it_was_asked_for(asked: object, name: str) -> None:
    assert FOUND.means[asked] == dict(FOUND.means)[name]  # type: ignore[index]


def test_keys_stay_canonical() -> None:
    assert list(FOUND.means) == ["NDCG@5", "P@1(rel=2)", "MRR"]
    assert FOUND.means == {"NDCG@5": FOUND.means["ndcg@5"], "P@1(rel=2)": 1.0, "MRR": 1.0}


@pytest.mark.parametrize("asked", ["ndcg@10", "nonsense", 5])
def test_a_metric_that_was_not_evaluated(asked: object) -> None:
    with pytest.raises(KeyError, match=r"was not evaluated: the metrics are NDCG@5, P@1"):
        FOUND.means[asked]  # type: ignore[index]


def test_results_print_as_their_tables() -> None:
    assert str(FOUND) == repr(FOUND) == FOUND.table()
    assert FOUND.table().startswith("NDCG@5")
    compared = rf.compare({"a": [2, 1], "b": [1, 2]}, [1, 0], metric="mrr")
    assert str(compared) == repr(compared) == compared.table()
    card = rf.scorecard(["mrr", "p@1"])
    graded = rf.compare({"a": [2, 1], "b": [1, 2]}, [1, 0], metric=card)
    assert str(graded) == repr(graded) == graded.table()
    assert str(rf.results({"one": compared})).startswith("system")
