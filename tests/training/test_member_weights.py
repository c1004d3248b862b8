"""Weights of members: chosen where the committee is judged, never on what it was trained on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankforce as rf
from rankforce.common.types import Floats
from rankforce.data.queries import query_folds
from rankforce.training.committee import FOLDS, Committee
from rankforce.training.member_weights import PICKS, choose_weights
from tests.training.test_committee import BAGS, ONE_BINNING, SMALL, TRAIN, VALID, fit

pytestmark = pytest.mark.slow  # CI runs it

MEMBERS: list[Any] = ["ranknet", "lambdagap-s+", {"num_leaves": 3}, "squared-error"]
ALONE: list[dict[str, Any]] = [
    {"objective": "ranknet"},
    {"objective": "lambdagap-s+"},
    {"num_leaves": 3},
    {"objective": "squared-error"},
]
CHOSEN = pytest.mark.parametrize("kind", ["greedy", "linear"])


def one_by_one(data: rf.RankingData) -> list[rf.Ranker]:
    usual = SMALL | BAGS | ONE_BINNING
    return [
        rf.Ranker(**usual | {"seed": SMALL["seed"] + number} | own).fit(data)
        for number, own in enumerate(ALONE)
    ]


def value(scores: Floats, data: rf.RankingData) -> float:
    return next(iter(rf.evaluate(scores, data, "ndcg@5").means.values()))


def pick(scores: Floats, data: rf.RankingData) -> Floats:
    """Caruana et al. 2004, as slow as can be."""
    members, path = len(scores), []
    for _ in range(PICKS * members):
        values = [value(scores[[*path, one]].sum(axis=0), data) for one in range(members)]
        path.append(int(np.argmax(values)))
    values = [value(scores[path[:count]].sum(axis=0), data) for count in range(1, len(path) + 1)]
    best = path[: int(np.argmax(values)) + 1]
    return np.bincount(best, minlength=members) * (members / len(best))


def weights_of(ranker: rf.Ranker) -> Floats:
    return np.array([one["weight"] for one in ranker.members_])


def test_greedy_on_the_set_that_decides() -> None:
    alone = one_by_one(TRAIN)
    scores = np.array([one.predict(VALID) / np.std(one.predict(TRAIN)) for one in alone])
    joined = fit(MEMBERS, member_weights="greedy", eval_set=[TRAIN, VALID])
    np.testing.assert_allclose(weights_of(joined), pick(scores, VALID), rtol=1e-12)
    assert not np.allclose(weights_of(joined), 1.0)


@pytest.mark.slow
def test_greedy_on_folds_of_the_training_set() -> None:
    """A member without a query's fold judges the query, and no member that has seen it."""
    scores = np.empty((len(MEMBERS), TRAIN.rows))
    queries = np.arange(len(TRAIN.sizes))
    for part in query_folds(len(queries), FOLDS, seed=SMALL["seed"]):
        rest, held = (TRAIN.take_queries(q) for q in (np.setdiff1d(queries, part), part))
        alone = one_by_one(rest)
        rows = TRAIN.index.rows_of(part)
        scores[:, rows] = [one.predict(held) / np.std(one.predict(rest)) for one in alone]
    joined = fit(MEMBERS, member_weights="greedy", eval_set=None)
    np.testing.assert_allclose(weights_of(joined), pick(scores, TRAIN), rtol=1e-12)
    # The training set never decides.
    same = fit(MEMBERS, member_weights="greedy", eval_set=[TRAIN])
    assert np.array_equal(weights_of(same), weights_of(joined))


@CHOSEN
def test_the_forest_counts_members_by_their_weights(kind: str) -> None:
    joined = fit(MEMBERS, member_weights=kind)
    weights = weights_of(joined)
    assert weights.mean() == pytest.approx(1.0)
    assert weights.min() >= 0.0
    alone = one_by_one(TRAIN)
    scales = np.array([np.std(one.predict(TRAIN)) for one in alone])
    shares = weights / scales / np.sum(weights / scales)
    expected = sum(share * one.predict(VALID) for share, one in zip(shares, alone, strict=True))
    np.testing.assert_allclose(joined.predict(VALID), expected, rtol=1e-9, atol=1e-9)
    assert sum(one["trees"] for one in joined.members_) == len(joined.model_.trees)
    assert [one["trees"] for one in joined.members_] == [6 if weight else 0 for weight in weights]
    equal = fit(MEMBERS, member_weights="equal")
    assert joined.score(VALID) >= equal.score(VALID)


@CHOSEN
def test_a_metric_that_is_better_when_lower(kind: str) -> None:
    def missed(scores: Any, labels: Any) -> float:
        return float(np.max(labels) - labels[np.argmax(scores)])

    metric = rf.metric(missed, name="missed", higher_is_better=False)
    joined, equal = (
        fit(MEMBERS, member_weights=one, eval_metric=metric) for one in (kind, "equal")
    )
    assert joined.score(VALID) >= equal.score(VALID)  # which is negated


@pytest.mark.parametrize("valid", [[VALID], None], ids=["a set", "folds"])
def test_a_function_of_all_rows_as_lightgbm_takes_it(valid: Any) -> None:
    calls = []

    def near(y_true: Any, y_pred: Any, weight: Any, group: Any) -> tuple[str, float, bool]:
        calls.append(len(group))
        is_flat = np.ptp(y_pred) == 0
        return "far", 0.0 if is_flat else -float(np.corrcoef(y_true, y_pred)[0, 1]), False

    joined, equal = (
        fit(MEMBERS, member_weights=kind, eval_set=valid, eval_metric=near)
        for kind in ("greedy", "equal")
    )
    assert len(calls) > PICKS * len(MEMBERS) ** 2
    assert not np.allclose(weights_of(joined), 1.0)
    if valid:
        assert joined.best_score_["valid_0"]["far"] < equal.best_score_["valid_0"]["far"]


@pytest.mark.parametrize("valid", [[VALID], None], ids=["a set", "folds"])
def test_the_same_bits_at_any_number_of_threads(valid: Any, tmp_path: Path) -> None:
    for threads in (1, 2):
        one = fit(MEMBERS, member_weights="linear", threads=threads, eval_set=valid)
        one.save(tmp_path / str(threads))
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_resumed_in_the_middle_of_folds(tmp_path: Path) -> None:
    given: dict[str, Any] = {"member_weights": "greedy", "eval_set": None}
    whole = fit(MEMBERS, checkpoint=tmp_path / "a", **given)
    place = tmp_path / "b"
    shutil.copytree(tmp_path / "a", place)
    for name in ("model.txt", "manifest.json"):
        (place / name).unlink()
    shutil.rmtree(place / "fold-3" / "member-2")
    shutil.rmtree(place / "fold-4")
    resumed = fit(MEMBERS, checkpoint=place, **given)
    assert weights_of(resumed).tolist() == weights_of(whole).tolist()
    for path in (tmp_path / "a").rglob("*.*"):
        assert (place / path.relative_to(tmp_path / "a")).read_bytes() == path.read_bytes()


def test_interrupted_while_folds_are_trained(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    see = Committee._see_tree

    def look(self: Committee, number: int, moment: Any) -> None:
        see(self, number, moment)
        seen.append(1)
        if len(seen) == 40:  # 24 are of the members themselves
            raise KeyboardInterrupt

    monkeypatch.setattr(Committee, "_see_tree", look)
    found = fit(MEMBERS, member_weights="greedy", eval_set=None, progress=True)
    assert len(seen) == 40
    assert weights_of(found).tolist() == [1.0] * 4
    assert not found.model_.finished
    assert "interrupted: all members count the same" in capsys.readouterr().err


def test_mistakes_are_named() -> None:
    with pytest.raises(rf.RankforceError, match=r"unknown member_weights 'best': choose 'equal'"):
        fit(2, member_weights="best")
    few = TRAIN.take_queries([0, 1, 2])
    with pytest.raises(rf.RankforceError, match="5 folds need at least 5 queries"):
        fit(2, few, member_weights="greedy", eval_set=None)
    five = TRAIN.take_queries([0, 1, 2, 3, 4])
    assert len(fit(2, five, member_weights="greedy", eval_set=None).members_) == 2
    with pytest.raises(rf.RankforceError, match=r"members\[0\]: member_weights is the same for"):
        fit([{"member_weights": "equal"}])


@given(st.sampled_from(["greedy", "linear"]), st.integers(1, 6), st.integers(0, 1000))
def test_choices_are_worth_as_much_as_what_they_start_from(
    kind: str, members: int, seed: int
) -> None:
    """Greedy begins with the best member, linear with all of them."""
    rng = np.random.default_rng(seed)
    scores, target = rng.normal(size=(members, 20)), rng.normal(size=20)

    def worth(weights: Floats) -> float:
        assert (weights >= 0.0).all()
        return float(np.corrcoef(weights @ scores, target)[0, 1])

    found = choose_weights(kind, worth, members)
    assert found.mean() == pytest.approx(1.0)
    start = [*np.eye(members)] if kind == "greedy" else [np.ones(members)]
    assert worth(found) >= max(map(worth, start)) - 1e-9
