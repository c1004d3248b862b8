"""A search trains what plain training trains, keeps queries whole, and bins once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.data.binned import make_bins
from rankforce.experiments import trials as trials_of
from rankforce.experiments.trials import Trial, outlook

SPACE = {
    "num_leaves": {"low": 3, "high": 12, "log": True, "whole": True},
    "min_child_samples": {"low": 2, "high": 40, "whole": True},
    "learning_rate": {"low": 0.01, "high": 0.5, "log": True},
}
QUICK: dict[str, Any] = {"k": 5, "n_estimators": 6, "threads": 1, "progress": False}
QUICK |= {"early_stopping_rounds": 3}


@pytest.fixture(scope="module")
def data() -> list[rf.RankingData]:
    return [rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1)]


def search(data: list[rf.RankingData], **given: Any) -> Any:
    asked = {"space": SPACE, "searcher": "random", "trials": 4} | QUICK | given
    valid = None if "folds" in asked else data[1]
    return rf.tune(data[0], valid=valid, **asked)


def told(found: Any) -> list[Trial]:
    return [one._replace(seconds=0.0) for one in found.trials]


def digest(ranker: rf.Ranker) -> str:
    return str(ranker.model_.scorer.digest(ranker.model_.steps))


def test_every_trial_is_plain_training(data: list[rf.RankingData]) -> None:
    bins = {"max_bin": [7, 127], "colsample_bytree": [0.5, 1.0], "subsample": [0.7, 1.0]}
    found = search(data, objective="lambdagap-x+", space=SPACE | bins, trials=6, jobs=2)
    fixed = QUICK | {"objective": "lambdagap-x+", "feature_pre_filter": False}
    for one in found.trials:
        plain = rf.Ranker(**fixed | one.point).fit(data[0], eval_set=[data[1]])
        curve = plain.model_.history["valid_0"]["p@5"]
        assert one.value == max(curve)
        assert one.trees == plain.model_.best_iteration
    assert found.best.value == max(one.value for one in found.trials)
    again = rf.Ranker(**found.settings, progress=False).fit(data[0], eval_set=[data[1]])
    assert digest(again) == digest(found.ranker)
    assert again.model_.used == found.ranker.model_.used == found.best.trees


def test_folds_judge_by_their_mean(data: list[rf.RankingData]) -> None:
    found = search(data, folds=3, trials=2)
    queries = np.arange(len(data[0].sizes))
    order = np.random.default_rng(0).permutation(len(queries))
    for one in found.trials:
        settings = QUICK | {"feature_pre_filter": False} | one.point
        curves = []
        for part in np.array_split(order, 3):
            held = data[0].take_queries(np.sort(part))
            rest = data[0].take_queries(np.setdiff1d(queries, part))
            fitted = rf.Ranker(**settings).fit(rest, eval_set=[held])
            curve = fitted.model_.history["valid_0"]["ndcg@5"]
            curves.append(curve + [curve[-1]] * (6 - len(curve)))
        means = np.mean(curves, axis=0)
        assert one.value == means.max()
        assert one.trees == means.argmax() + 1
    assert found.settings["n_estimators"] == found.best.trees
    assert "early_stopping_rounds" not in found.settings
    plain = rf.Ranker(**found.settings, progress=False).fit(data[0])
    assert digest(plain) == digest(found.ranker)


def test_features_are_binned_once(
    data: list[rf.RankingData], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def count(*given: Any, **more: Any) -> Any:
        made.append(given)
        return make_bins(*given, **more)

    monkeypatch.setattr("rankforce.engines.histogram.engine.make_bins", count)
    search(data, trials=3, jobs=2)
    assert len(made) == 1
    made.clear()
    search(data, trials=2, folds=2)
    assert len(made) == 3  # the folds, and all queries
    made.clear()
    rf.Ranker(**QUICK | {"early_stopping_rounds": None}).fit(data[0])
    assert len(made) == 1  # nothing is kept


@pytest.mark.parametrize("searcher", ["optuna", "flaml", "random"])
def test_the_same_seed_gives_the_same_trials(data: list[rf.RankingData], searcher: str) -> None:
    one, other = (search(data, searcher=searcher, trials=13, n_estimators=2) for _ in range(2))
    assert told(one) == told(other)
    assert len({str(trial.point) for trial in one.trials}) > 6
    another = search(data, searcher=searcher, trials=3, n_estimators=2, seed=1)
    usual = {"num_leaves": 12, "min_child_samples": 20, "learning_rate": 0.1}  # 31, but for space
    assert another.trials[0].point == one.trials[0].point == usual
    assert another.trials[2].point != one.trials[2].point


def test_trials_at_a_time_are_the_same(data: list[rf.RankingData]) -> None:
    one = search(data, trials=6, prune=False)
    other = search(data, trials=6, prune=False, jobs=3)
    assert told(one) == told(other)
    assert digest(one.ranker) == digest(other.ranker)


@pytest.mark.slow
def test_a_trial_is_stopped_when_it_is_behind_the_median(
    data: list[rf.RankingData], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials_of, "FEW", 1)
    long = {"n_estimators": 30, "early_stopping_rounds": None, "trials": 5}
    found = search(data, **long)
    curves = [_curve(data, one, long) for one in found.trials]
    pruned = [one for one in found.trials if one.state == "pruned"]
    assert pruned
    for one in pruned:
        before = [t for t in found.trials[: one.number] if t.state == "done"]
        grown = 10 * (len(one.curves[0]) - 1)  # the last entry is where it ended
        reached = [max(curves[t.number][:grown]) for t in before]
        own = max(curves[one.number][:grown])
        assert own < np.median(reached)
        gained = np.median([t.value for t in before]) - np.median(reached)
        assert one.value == pytest.approx(own + gained, abs=1e-12)
    assert found.best.state == "done"
    whole = search(data, **long, prune=False)
    assert [(one.state, one.value) for one in whole.trials] == [("done", max(c)) for c in curves]


def _curve(data: list[rf.RankingData], one: Trial, more: dict[str, Any]) -> list[float]:
    settings = QUICK | {"feature_pre_filter": False, "n_estimators": more["n_estimators"]}
    settings |= {"early_stopping_rounds": None}
    fitted = rf.Ranker(**settings | one.point).fit(data[0], eval_set=[data[1]])
    return list(fitted.model_.history["valid_0"]["ndcg@5"])


def test_folds_before_count_in_the_median() -> None:
    others = [Trial(n, {}, "done", 0.4, curves=[[0.1, 0.5], [0.1, 0.3]]) for n in range(5)]
    assert outlook([[0.1, 0.5], [0.1]], others, higher=True) is None
    # 0.05 behind (0.5 + 0.1) / 2, of those that came to 0.4
    assert outlook([[0.1, 0.4], [0.1]], others, higher=True) == pytest.approx(0.35)
    assert outlook([[0.1, 0.4], [0.2]], others, higher=True) is None
    assert outlook([[0.1, 0.4], [0.1]], others, higher=False) is None
    assert outlook([[0.1, 0.6], [0.1]], others, higher=False) == pytest.approx(0.45)
    assert outlook([[0.0]], others[:4], higher=True) is None  # too few


def test_a_trial_that_fails_does_not_end_the_search(data: list[rf.RankingData]) -> None:
    found = search(data, space={"min_child_samples": [20, 100_000]}, trials=6)
    states = {one.point["min_child_samples"]: one.state for one in found.trials}
    assert states == {20: "done", 100_000: "failed"}
    failed = next(one for one in found.trials if one.state == "failed")
    assert failed.value is None
    assert "no split is worth it" in str(failed.error)
    assert "6 trials, " in found.table()
    with pytest.raises(rf.RankforceError, match="no split is worth it"):
        search(data, space={"num_leaves": [3]}, min_child_samples=100_000)


def test_a_metric_may_be_low(data: list[rf.RankingData]) -> None:
    found = search(data, metric="arp")
    assert not found.metric.higher_is_better
    assert found.best.value == min(one.value for one in found.trials)


def test_no_trial_begins_when_the_time_is_over(data: list[rf.RankingData]) -> None:
    assert len(search(data, time=0, trials=None).trials) == 1
    assert len(search(data, time="1h", trials=2).trials) == 2


def test_what_is_said(data: list[rf.RankingData], capfd: pytest.CaptureFixture[str]) -> None:
    found = search(data, trials=2, progress=True)
    first, second = capfd.readouterr().err.splitlines()
    assert first.startswith("trial 1/2  done ")
    assert f"best ndcg@5 {found.best.value:.4f} (trial {found.best.number})" in second
    assert "left" in second
    assert str(found).splitlines()[0].split()[:5] == [
        "trial",
        "NDCG@5",
        "trees",
        "seconds",
        "num_leaves",
    ]
    assert f">{found.best.value:.4f}" in str(found)
    assert found.records()[0].keys() >= {"number", "state", "value", "learning_rate"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"valid": "yes", "folds": 3}, "a validation set or folds decide, not both"),
        ({"valid": "b.txt"}, "valid is a str: it must be a RankingData"),
        ({"checkpoint": "run/"}, "trials have no checkpoint"),
        ({"searcher": "grid"}, "searcher is 'grid': choose 'optuna', 'flaml' or 'random'"),
        ({"objective": "ranknut"}, "^unknown objective 'ranknut'"),
        ({"trials": 0}, "trials is 0: it must be an integer from 1 up"),
        ({"jobs": 0}, "jobs is 0: it must be an integer from 1 up"),
        ({"time": "soon"}, "time is 'soon': it must be seconds, or a number with s, m or h"),
        ({"time": "1.2.3m"}, "time is '1.2.3m': it must be seconds"),
        ({"time": -5}, "time is -5: it must be seconds"),
        ({"space": {"num_leaves": {"low": 3, "high": 9}}}, r"^space.num_leaves: .* an integer"),
        ({"space": {"leafs": [3]}}, "^space.leafs: unknown parameter 'leafs'"),
        ({"metric": rf.scorecard(["ndcg@5", "mrr"])}, "not a scorecard"),
    ],
)
def test_mistakes(data: list[rf.RankingData], given: dict[str, Any], words: str) -> None:
    with pytest.raises(rf.RankforceError, match=words):
        rf.tune(data[0], **{"valid": data[1], "searcher": "random", "trials": 1} | QUICK | given)


def test_a_searcher_that_is_not_there(
    data: list[rf.RankingData], monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(sys.modules, "rankforce.experiments.search_optuna", raising=False)
    with pytest.raises(rf.RankforceError, match=r"needs optuna: pip install 'rankforce\[tune\]'"):
        search(data, searcher="optuna")


def test_auto_is_settled_before_the_search(caplog: pytest.LogCaptureFixture) -> None:
    """Its tau and mu are searched, and the reason is said once."""
    train, valid = (rf.make_data("yahoo", queries=20, seed=seed) for seed in (0, 1))
    given: dict[str, Any] = {"valid": valid, "metric": "p@5, ndcg", "trials": 2, "n_estimators": 3}
    given |= {"searcher": "random", "threads": 1}
    with caplog.at_level("INFO", logger="rankforce"):
        auto = rf.tune(train, objective="auto", **given)
    assert sum(line.startswith("auto: LambdaGap-S++@5 for P@5") for line in caplog.messages) == 1
    named = rf.tune(train, objective="LambdaGap-S++", k=5, progress=False, **given)
    assert {"tau", "mu"} <= {*auto.space}
    assert auto.space == named.space
    assert [one.value for one in auto.trials] == [one.value for one in named.trials]
    assert (auto.settings["objective"], auto.settings["k"]) == ("LambdaGap-S++", 5)
    assert auto.settings["eval_metric"] == ["P@5", "NDCG"]
