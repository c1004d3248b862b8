"""Every registered objective, mix and schedule trains a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests.contract.cases import Case, plain_cases
from tests.training.network.small import TRAIN, X, ranker, weights


def make_sources() -> rf.RankingData:
    """Labels, clicks, and pairs of neighbouring rows."""
    rng = np.random.default_rng(4)
    clicks = np.clip(TRAIN.labels / 4.0 * rng.uniform(size=TRAIN.rows), 0.0, 1.0)
    first = np.flatnonzero(TRAIN.qid[1:] == TRAIN.qid[:-1])[::2]
    data = rf.RankingData(X, TRAIN.labels, qid=TRAIN.qid, sources={"clicks": clicks})
    return data.with_preferences((first, first + 1))


SOURCES = make_sources()
NDCG, RANKNET = rf.objective("lambdarank-ndcg", k=3), rf.objective("ranknet")
CLICKS = rf.objective("lambdarank(cndcg)", source="clicks")
TOGETHER: dict[str, Any] = {
    "mix": 0.3 * RANKNET + 0.7 * NDCG,
    "mix with random pairs": RANKNET + rf.objective("lambdamart-ex random", k=3, seed=3),
    "graded": rf.graded([NDCG, CLICKS], weights=[0.8, 0.2]),
    "scheduled": rf.scheduled(RANKNET, NDCG, schedule="linear", start=0.0, rate=1.0),
    "preferences": "preferences",
    "mix with preferences": NDCG + 0.5 * rf.objective("preferences"),
    "graded in a schedule": rf.scheduled(
        RANKNET, rf.graded([NDCG, CLICKS]), schedule=lambda step: 0.5 * step
    ),
}


def moved(data: rf.RankingData, **given: Any) -> Any:
    """Weights after two epochs, which began as 0."""
    one = ranker(epochs=2, **given).fit(data)
    found = weights(one)["weight.weight"][0]
    assert np.isfinite(found).all()
    assert np.abs(found).min() > 0
    return found


@pytest.mark.parametrize("case", plain_cases(), ids=str)
def test_every_objective(case: Case) -> None:
    labels = case.labels(TRAIN.labels)
    preferences = SOURCES.preferences if case.name == "preferences" else None
    data = rf.RankingData(X, labels, qid=TRAIN.qid, preferences=preferences)
    plain, normed = (moved(data, objective=case.objective(), norm=n) for n in ("none", "lightgbm"))
    assert np.array_equal(plain, normed) == case.is_listwise  # which no norm is for


@pytest.mark.parametrize("name", TOGETHER)
def test_several_objectives(name: str) -> None:
    moved(SOURCES, objective=TOGETHER[name])


def test_a_schedule_goes_by_epochs() -> None:
    """In the first it is the one objective, in the second the other."""
    both, first = moved(SOURCES, objective=TOGETHER["scheduled"]), moved(SOURCES, objective=RANKNET)
    assert not np.array_equal(both, first)
    stop = {"callbacks": [lambda moment: True]}
    one, other = (
        ranker(objective=given, epochs=2).fit(SOURCES, **stop)
        for given in (TOGETHER["scheduled"], RANKNET)
    )
    assert np.array_equal(weights(one)["weight.weight"], weights(other)["weight.weight"])


def test_labels_of_another_source() -> None:
    by_clicks = moved(SOURCES, objective=rf.objective("ranknet", source="clicks"))
    assert not np.array_equal(by_clicks, moved(SOURCES, objective=RANKNET))
