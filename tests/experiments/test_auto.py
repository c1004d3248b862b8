"""A budget is kept, the same trials give the same ranker, and the estimate is a nested one."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.data.queries import query_folds
from rankforce.experiments.auto import candidates as candidates_of
from rankforce.experiments.auto.choose import FULL, MOST
from rankforce.experiments.auto.estimate import Estimate, estimate, nested_values
from rankforce.experiments.auto.outlook import outlook
from rankforce.experiments.auto.run import STOPPED, TIME, TRIALS
from rankforce.experiments.auto.search import Step

QUICK: dict[str, Any] = {"n_estimators": 8, "threads": 1, "progress": False}
KNOWN = 8


@pytest.fixture(scope="module")
def data() -> rf.RankingData:
    return rf.make_data("yahoo", queries=45, seed=3)


@pytest.fixture(scope="module")
def found(data: rf.RankingData) -> Any:
    """Eight known candidates, and a round of nine drawn ones: one of them goes all the way."""
    asked = {"trials": KNOWN + 9, "folds": 3, "metric": "ndcg@5"}
    return rf.auto(data, **asked, **QUICK | {"threads": 2})


def test_rounds_halve_what_is_drawn(found: Any) -> None:
    folds = [len(one.runs) for one in found.tried]
    assert folds[:KNOWN] == [3] * KNOWN
    assert sorted(folds[KNOWN:]) == [1] * 6 + [2] * 2 + [3]
    first = {one.candidate.number: one for one in found.tried[KNOWN:]}
    seconds = [one for one in first.values() if len(one.runs) > 1]
    others = [one for one in first.values() if len(one.runs) == 1]
    curves = {one.candidate.number: max(one.runs[0].curve) for one in first.values()}
    least = min(curves[one.candidate.number] for one in seconds)
    assert all(curves[one.candidate.number] <= least for one in others)
    assert found.ended == TRIALS


@pytest.mark.slow
def test_the_same_trials_give_the_same_ranker(data: rf.RankingData, found: Any) -> None:
    again = rf.auto(data, trials=KNOWN + 9, folds=3, metric="ndcg@5", **QUICK)
    assert again.estimate == found.estimate
    assert [one.value for one in again.tried] == [one.value for one in found.tried]
    np.testing.assert_array_equal(again.ranker.predict(data), found.ranker.predict(data))


def test_the_committee_is_what_plain_training_trains(data: rf.RankingData, found: Any) -> None:
    members = [{**one.candidate.all_settings, "n_estimators": one.trees()} for one in found.members]
    assert len(members) <= MOST
    ranker = rf.Ranker(members[0]["objective"], members=members, threads=1, progress=False)
    np.testing.assert_array_equal(ranker.fit(data).predict(data), found.ranker.predict(data))


def naive_trees(curves: dict[int, Any]) -> int:
    """The number of trees with the best mean; a curve that ended keeps its last value."""
    longest = max(len(one) for one in curves.values())
    means = [
        np.mean([one[min(step, len(one) - 1)] for one in curves.values()])
        for step in range(longest)
    ]
    return int(np.argmax(means)) + 1


class Naive:
    """The nested estimate, written down as it is defined."""

    def __init__(self, data: rf.RankingData, found: Any) -> None:
        self.metric = rf.metric("ndcg@5")
        parts = query_folds(len(data.sizes), 3, seed=0)
        self.judges = [data.take_queries(part) for part in parts]
        self.pool = [one for one in found.tried if len(one.runs) == 3]

    def scores(self, one: Any, fold: int, hidden: int) -> Any:
        curves = {f: run.curve for f, run in one.runs.items() if f not in (fold, hidden)}
        trees = min(naive_trees(curves), len(one.runs[fold].curve))
        raw = one.runs[fold].ranker.predict(self.judges[fold], num_iteration=trees)
        return raw / np.std(raw)

    def values(self, members: list[Any], folds: list[int], hidden: int) -> Any:
        return np.concatenate(
            [
                self.metric(
                    sum(self.scores(one, fold, hidden) for one in members),
                    self.judges[fold].labels,
                    group=self.judges[fold].sizes,
                )
                for fold in folds
            ]
        )

    def choose(self, pool: list[Any], folds: list[int], hidden: int) -> list[Any]:
        # Of changes that gain the same, the first is made: of the best by itself.
        able = sorted(pool, key=lambda one: -self.values([one], folds, hidden).mean())
        members = [one for one in able if one.candidate.number <= KNOWN]
        while True:
            before = self.values(members, folds, hidden)
            more = [[*members, one] for one in able] if len(members) < MOST else []
            places = range(len(members))
            less = [members[:place] + members[place + 1 :] for place in places]
            changes = more + less
            gains = []
            for change in changes:
                gain = self.values(change, folds, hidden) - before
                gains.append(gain.mean() - gain.std(ddof=1) / math.sqrt(len(gain)))
            if not max(gains) > 0.0:
                return members
            members = changes[int(np.argmax(gains))]

    def nested(self) -> Any:
        found = []
        for fold in range(3):
            others = [other for other in range(3) if other != fold]
            # Drawn ones were gone on with because of folds 0 and 1.
            able = [one for one in self.pool if one.candidate.number <= KNOWN or fold == 2]
            members = self.choose(able, others, fold)
            found.append(self.values(members, [fold], fold))
        return np.concatenate(found)


def test_the_estimate_is_nested(data: rf.RankingData, found: Any) -> None:
    naive = Naive(data, found).nested()
    np.testing.assert_allclose(found.steps[-1].values, naive, rtol=0, atol=1e-12)
    half = stats.t.ppf(0.975, 44) * naive.std(ddof=1) / math.sqrt(45)
    assert found.estimate.mean == pytest.approx(naive.mean())
    assert found.estimate.low == pytest.approx(naive.mean() - half)
    assert found.estimate.high == pytest.approx(naive.mean() + half)


def test_queries_that_decided_do_not_judge(found: Any) -> None:
    pool = [one for one in found.tried if len(one.runs) == 3]
    drawn = pool[-1]
    assert drawn.judged_by == {0, 1}
    without = nested_values([one for one in pool if one is not drawn], [0, 1, 2])
    decided = sum(len(drawn.folds.parts[fold]) for fold in (0, 1))
    np.testing.assert_array_equal(found.steps[-1].values[:decided], without[:decided])


def test_a_budget_is_kept(tmp_path: Path) -> None:
    data = rf.make_data("mslr", queries=60, seed=0)
    begun = time.monotonic()
    found = rf.auto(data, budget="4s", out=tmp_path / "out", threads=2, progress=False)
    assert time.monotonic() - begun < 12.0  # machines are shared: it would go on for ever
    assert found.ended == TIME
    loaded = rf.load(tmp_path / "out" / "model")
    np.testing.assert_array_equal(loaded.predict(data), found.ranker.predict(data))


def test_a_tiny_budget_has_a_ranker_too(data: rf.RankingData, tmp_path: Path) -> None:
    found = rf.auto(data, budget=0.01, out=tmp_path, progress=False, threads=1)
    assert found.ranker.predict(data).std() > 0.0
    assert found.estimate is None
    assert found.tried == []
    assert "the time was over before more was known" in found.summary()
    assert "Nothing is known of new queries" in (tmp_path / "auto.md").read_text()


class Press(logging.Handler):
    """Presses Ctrl-C when a line with some words is logged."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    def emit(self, record: logging.LogRecord) -> None:
        if self.words in record.getMessage():
            os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "has_members"), [(" 3/5 ", True), (" 1/5 ", True), ("members on all queries", False)]
)
def test_ctrl_c_gives_what_was_found(data: rf.RankingData, words: str, has_members: bool) -> None:
    press = Press(words)
    logger = logging.getLogger("rankforce")
    logger.addHandler(press)
    level, _ = logger.level, logger.setLevel(logging.INFO)
    # Where tests run in the background, the shell has them ignore Ctrl-C.
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = rf.auto(data, trials=3, n_estimators=8, threads=2)
    finally:
        signal.signal(signal.SIGINT, usual)
        logger.removeHandler(press)
        logger.setLevel(level)
    assert found.ended == STOPPED
    assert bool(found.members) is has_members
    assert found.ranker.predict(data).std() > 0.0


def test_a_cost_is_made_small(data: rf.RankingData) -> None:
    found = rf.auto(data, metric="arp", trials=2, folds=2, **QUICK)
    values = [one.value for one in found.ranked()]
    assert 1.0 < values[0] <= values[1]
    assert found.tried[0].candidate.objective["name"] == "lambdarank(arp)"
    curves = [run.curve for run in found.tried[0].runs.values()]
    assert found.tried[0].trees() == int(np.argmin(np.mean(curves, axis=0))) + 1


def test_a_candidate_that_fails_is_told(
    data: rf.RankingData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {"name": "lambdarank(err)", "max_label": 1}
    monkeypatch.setattr(candidates_of, "objectives_for", lambda _: [{"name": "RankNet"}, wrong])
    found = rf.auto(data, trials=2, folds=2, out=tmp_path, **QUICK)
    assert [one.error is None for one in found.tried] == [True, False]
    assert {one.candidate.number for one in found.members} == {1}
    assert "label 4 is above" in str(found.tried[1].error)
    assert "Candidate 2: row" in (tmp_path / "auto.md").read_text()
    monkeypatch.setattr(candidates_of, "objectives_for", lambda _: [wrong])
    with pytest.raises(RankforceError, match="max_label"):
        rf.auto(data, trials=2, folds=2, **QUICK)


def test_files_tell_all(data: rf.RankingData, tmp_path: Path) -> None:
    valid = rf.make_data("yahoo", queries=20, seed=9)
    found = rf.auto(data, trials=1, folds=2, valid=valid, out=tmp_path, **QUICK)
    record = json.loads((tmp_path / "auto.json").read_text())
    own = rf.metric("ndcg@10")(found.ranker.predict(valid), valid.labels, group=valid.sizes)
    assert record["valid"]["mean"] == pytest.approx(own.mean())
    assert record["members"] == [1] * FULL
    assert record["tried"][0]["objective"]["name"] == "LambdaRank-NDCG"
    page = (tmp_path / "auto.html").read_text()
    for heading in ("What to expect", "What was chosen", "What was tried", "another hour"):
        assert heading in page
    with pytest.raises(RankforceError, match="holds a model already"):
        rf.auto(data, trials=1, folds=2, out=tmp_path, **QUICK)


def test_what_another_hour_might_bring() -> None:
    rng = np.random.default_rng(0)
    first = rng.random(100)
    gain = 0.02 + 0.01 * rng.standard_normal(100)
    steps = [
        Step(seconds, 8, [], estimate(values), values)
        for seconds, values in ((100.0, first), (250.0, first + gain / 2), (400.0, first + gain))
    ]
    ahead = outlook(steps, None, higher=True, spent=1200.0)
    assert ahead is not None
    assert (ahead.since, ahead.until) == (100.0, 400.0)
    assert ahead.gain.mean == pytest.approx(gain.mean())
    # Two doublings brought it, and an hour more are two others.
    assert ahead.hour.mean == pytest.approx(gain.mean())
    assert "another hour would bring +0.0" in str(ahead)
    worse = outlook(steps, None, higher=False, spent=1200.0)
    assert worse is not None
    assert "no more than chance" in str(worse)
    assert outlook(steps[:1], None, higher=True, spent=1200.0) is None
    same = outlook([steps[0], steps[0]._replace(seconds=150.0)], None, higher=True, spent=200.0)
    assert same is not None
    assert same.gain == Estimate(0.0, 0.0, 0.0, 100)
    assert "From 1:40 to 2:30 the choice stayed as good as it was." in str(same)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"metric": "ndgc@10"}, "ndgc"),
        ({"metric": ["ndcg@5", "map"]}, "a search is for one number"),
        ({"budget": "soon"}, "budget is 'soon': it must be seconds"),
        ({"budget": 0}, "budget is 0: it must be above 0"),
        ({"trials": 0}, "trials is 0"),
        ({"folds": 1}, "folds is 1"),
        ({"objective": "ranknet"}, "objective is not for auto"),
        ({"leafs": 3}, "unknown parameter 'leafs'"),
        ({"valid": 3}, "valid is a int"),
    ],
)
def test_mistakes(data: rf.RankingData, given: dict[str, Any], words: str) -> None:
    with pytest.raises(RankforceError, match=words) as caught:
        rf.auto(data, **{"progress": False, **given})
    assert "\n" not in str(caught.value)
