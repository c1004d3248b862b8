"""Training over a team: the same model as alone, at any number of workers; nothing hangs."""

from __future__ import annotations

import copy
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.draws import draw_share
from rankforce.common.team import ALONE
from rankforce.data.binned import make_bins
from rankforce.engines.base import EngineKind, add_engine
from rankforce.training.alike import check_alike
from rankforce.training.forces import sum_leaves
from rankforce.training.loop import fit
from rankforce.training.resume import fingerprint
from rankforce.training.run import ScoredSet
from tests.training.teams import (
    Workers,
    cut,
    in_threads,
    make_sets,
    told,
    train_part,
    workers,
)

pytestmark = pytest.mark.slow  # CI runs it

SHORT: dict[str, Any] = {"n_estimators": 6, "num_leaves": 7, "min_child_samples": 5}


@pytest.fixture(scope="module")
def three() -> Iterator[Workers]:
    """Three processes that several tests share."""
    with workers(3) as found:
        yield found


def alone(**settings: Any) -> dict[str, Any]:
    return told(train_part(ALONE, settings))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"n_estimators": 30, "early_stopping_rounds": 3, "eval_metric": ["err@5", "ndcg@10"]},
        {"subsample": 0.5, "subsample_by": "query", "subsample_freq": 1},
        {"objective": "lambdarank(err)", "step": "exact-newton"},
    ],
    ids=["plain", "early stopping", "bags of queries", "exact Newton steps"],
)
def test_the_model_is_that_of_one_worker_byte_for_byte(
    settings: dict[str, Any], three: Workers
) -> None:
    expected = alone(**SHORT | settings)
    for size in (2, 3):
        three.start(size, **SHORT | settings)
        assert three.answers(range(size)) == [expected] * size


def test_lightgbm_grows_the_same_trees_at_any_number_of_workers(three: Workers) -> None:
    found = []
    for size in (2, 3):
        three.start(size, engine="lightgbm", **SHORT)
        found += three.answers(range(size))
    assert all(one == found[0] for one in found)
    assert found[0]["history"]["valid"]["ndcg@10"][-1] > 0.4


@pytest.mark.slow
def test_lightgbm_grows_the_trees_of_one_worker_where_all_hessians_are_equal() -> None:
    settings = SHORT | {"engine": "lightgbm", "split": "least-squares", "n_estimators": 3}
    train, valid = make_sets()
    binned = copy.copy(train)
    binned.features = make_bins(train.features)
    made = rf.Ranker(progress=False, threads=1, **settings).settings()
    sets = [ScoredSet("valid", valid)]
    expected = fit(made, ScoredSet("training", binned), sets)
    for model in in_threads(2, lambda team: train_part(team, settings)):
        for tree, other in zip(model.trees, expected.trees, strict=True):
            for name in ("feature", "threshold", "leaf_value"):
                np.testing.assert_array_equal(getattr(tree, name), getattr(other, name))
            for name in ("count", "leaf_count"):
                np.testing.assert_array_equal(tree.details[name], other.details[name])
            for name in ("gain", "value", "weight", "leaf_weight"):
                np.testing.assert_allclose(tree.details[name], other.details[name], rtol=1e-5)


@pytest.mark.parametrize(
    ("engine", "how", "timeout", "within", "words"),
    [
        ("lightgbm", signal.SIGKILL, 90.0, 30.0, "is gone"),
        ("lightgbm", signal.SIGSTOP, 4.0, 60.0, "has not been heard of for 4 s"),
        pytest.param("histogram", signal.SIGKILL, 90.0, 30.0, "is gone", marks=pytest.mark.slow),
    ],
)
def test_a_lost_worker_is_an_error_at_the_others(
    engine: str, how: signal.Signals, timeout: float, within: float, words: str, tmp_path: Path
) -> None:
    with workers(2) as two:
        long = SHORT | {"n_estimators": 100_000, "engine": engine, "checkpoint": str(tmp_path)}
        two.start(2, timeout, **long, checkpoint_every=1)
        latest = time.monotonic() + 240.0
        while not (tmp_path / "manifest.json").exists():
            assert time.monotonic() < latest
            time.sleep(0.01)
        two.signal(1, how)
        begun = time.monotonic()
        answer = two.answers([0])[0]
        assert time.monotonic() - begun < within
        assert answer.startswith("worker 1 (127.0.0.1:")
        assert words in answer


def test_a_run_goes_on_with_another_number_of_workers(tmp_path: Path) -> None:
    place = {"checkpoint": str(tmp_path), "checkpoint_every": 1}

    def train(trees: int, size: int) -> list[Any]:
        settings = SHORT | place | {"n_estimators": trees}
        return in_threads(size, lambda team: told(train_part(team, settings)))

    expected = alone(**SHORT)
    train(2, size=2)
    assert train(4, size=3)[0]["history"]["valid"]["ndcg@10"] == pytest.approx(
        expected["history"]["valid"]["ndcg@10"][:4], abs=0.0
    )
    assert alone(**SHORT | place | {"n_estimators": 5})["best"] <= 5
    assert train(6, size=2) == [expected] * 2


def test_a_checkpoint_of_other_data_is_refused_at_all_workers(tmp_path: Path) -> None:
    settings = SHORT | {"checkpoint": str(tmp_path)}
    in_threads(2, lambda team: train_part(team, settings))
    found = in_threads(2, lambda team: train_part(team, settings | {"num_leaves": 8}))
    assert str(found[0]).endswith("belongs to another run: num_leaves was 7, now 8")
    assert str(found[0]) in str(found[1])


def test_callbacks_are_worker_0s_and_decide_for_all() -> None:
    seen: list[int] = []

    def stop(moment: Any) -> bool:
        seen.append(moment.iteration)
        return moment.iteration == 2

    found = in_threads(3, lambda team: train_part(team, SHORT, {"callbacks": [stop]}))
    assert seen == [0, 1, 2]
    assert [model.steps for model in found] == [3, 3, 3]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_error_at_one_worker_ends_all(rank: int) -> None:
    def work(team: Any) -> Any:
        train, valid = (cut(data, 2)[team.rank] for data in make_sets())
        if team.rank == rank:
            train.labels[0] = -1.0  # which NDCG has no gain for
        made = rf.Ranker(progress=False, **SHORT).settings()
        sets = [ScoredSet("valid", valid)]
        return fit(made, ScoredSet("training", train), sets, team=team)

    found = in_threads(2, work)
    assert "-1" in str(found[rank])
    assert str(found[1 - rank]).startswith(f"worker {rank} (127.0.0.1:")
    assert str(found[rank]) in str(found[1 - rank])


def test_ctrl_c_at_one_worker_ends_all() -> None:
    def interrupt(moment: Any) -> None:
        if moment.iteration == 2:
            raise KeyboardInterrupt

    found = in_threads(2, lambda team: train_part(team, SHORT, {"callbacks": [interrupt]}))
    assert found[0].steps == 3
    assert str(found[1]).endswith("it was interrupted")


def test_what_no_team_can_do_is_refused() -> None:
    for error in in_threads(2, lambda team: train_part(team, {"model": "linear"})):
        assert str(error).endswith(
            "model='linear' does not train over several workers: choose 'trees'"
        )
    own = SHORT | {"eval_metric": lambda y_true, y_pred: 0.0}
    for error in in_threads(2, lambda team: train_part(team, own)):
        assert "takes labels first" in str(error)
        assert "make rf.metric(f)" in str(error)


def test_an_engine_that_cannot_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankforce.engines.base._ADDED", {})
    add_engine(EngineKind("abacus", open=lambda *_, **__: None))  # type: ignore[arg-type,return-value]
    for error in in_threads(2, lambda team: train_part(team, SHORT | {"engine": "abacus"})):
        assert str(error).endswith(
            "engine='abacus' does not grow trees over several workers: choose 'lightgbm' or "
            "'histogram'"
        )


def test_more_rows_than_lightgbm_counts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = make_sets()[0].rows
    monkeypatch.setattr("rankforce.engines.lightgbm.engine.MOST_ROWS", rows - 1)
    for error in in_threads(2, lambda team: train_part(team, SHORT | {"engine": "lightgbm"})):
        assert f"of all workers, not {rows:,}: train on fewer of them" in str(error)


def test_a_query_at_two_workers_is_refused() -> None:
    train, _ = make_sets()
    parts = [train.take_queries(np.arange(5)), train.take_queries(np.arange(4, 9))]

    def check(team: Any) -> None:
        check_alike([ScoredSet("training", parts[team.rank])], team)

    key = train.index.key[4]
    for error in in_threads(2, check):
        assert str(error).endswith(
            f"training: a query (with the key {key}) is at two workers: queries must stay whole"
        )


def test_workers_with_other_features_are_refused() -> None:
    def check(team: Any) -> None:
        data = rf.RankingData(np.zeros((2, 1)), [0, 1], qid=[team.rank] * 2,
                              feature_names=[f"from {team.rank}"])  # fmt: skip
        check_alike([ScoredSet("training", data)], team)

    for error in in_threads(2, check):
        assert "workers differ in feature names of training" in str(error)
        assert "worker 1 has ['from 1']" in str(error)


def test_workers_with_other_settings_are_refused() -> None:
    found = in_threads(2, lambda team: train_part(team, SHORT | {"num_leaves": 7 + team.rank}))
    for error in found:
        assert "workers differ in num_leaves: worker 0 has 7, worker 1 has 8" in str(error)


@pytest.mark.slow
def test_workers_may_vote_on_features() -> None:
    settings = SHORT | {"engine": "lightgbm", "tree_learner": "voting", "top_k": 3}
    found = [told(model) for model in in_threads(3, lambda team: train_part(team, settings))]
    assert found[1:] == found[:1] * 2
    with pytest.raises(rf.RankforceError, match=r"tree_learner is 'feature': choose 'data' or 'v"):
        rf.Ranker(engine="lightgbm", tree_learner="feature").settings()


def test_categories_have_the_same_bins_at_all_workers() -> None:
    train, _ = make_sets()
    codes = train.features.copy()
    codes[:, 3] = np.floor(np.abs(codes[:, 3])) % 6
    parts = cut(rf.RankingData(codes, train.labels, qid=train.index.of_rows(), categorical=[3]), 3)
    made = rf.Ranker(progress=False, threads=1, **SHORT).settings()
    found = in_threads(
        3, lambda team: fit(made, ScoredSet("training", parts[team.rank]), team=team).text()
    )
    assert found[1:] == found[:1] * 2
    assert "Tree=5" in found[0]


def test_a_worker_without_validation_queries_measures_what_the_others_do() -> None:
    train, valid = make_sets()
    few = [valid.take_queries(part) for part in ([], [0, 1], [2])]
    made = rf.Ranker(progress=False, threads=1, **SHORT).settings()

    def run(team: Any) -> Any:
        own, sets = cut(train, team.size)[team.rank], [ScoredSet("valid", few[team.rank])]
        return fit(made, ScoredSet("training", own), sets, team=team).history

    whole = [ScoredSet("valid", valid.take_queries([0, 1, 2]))]
    expected = fit(made, ScoredSet("training", train), whole).history
    assert in_threads(3, run) == [expected] * 3


def test_the_fingerprint_of_a_team_is_that_of_all_rows() -> None:
    rng = np.random.default_rng(0)
    qid = rng.permutation(np.repeat(np.arange(12), 5) // 10 * 100 + np.arange(60) % 10 // 2)
    qid = np.sort(qid // 100) * 100 + rng.permuted(qid % 100)
    data = rf.RankingData(rng.normal(size=(60, 3)), rng.integers(3, size=60), qid=qid,
                          weight=rng.random(60), sources={"click": rng.random(60)},
                          positions=np.ones(60))  # fmt: skip
    base = rng.random(60)
    assert len(data.index.row)  # queries do not stand together
    cuts = np.searchsorted(qid // 100, [0, 2, 3, 99])  # no query is cut

    def mark(team: Any) -> dict[str, Any]:
        rows = np.arange(cuts[team.rank], cuts[team.rank + 1])
        own = rf.RankingData(data.features[rows], data.labels[rows], qid=qid[rows],
                             weight=data.weight[rows], positions=np.ones(len(rows)),
                             sources={"click": data.sources["click"][rows]})  # fmt: skip
        return fingerprint(own, base[rows], team)

    assert in_threads(3, mark) == [fingerprint(data, base)] * 3


@pytest.mark.parametrize("share", [0.001, 0.3, 1.0])
def test_a_share_of_all_workers_draws_is_exact(share: float) -> None:
    draws = np.random.default_rng(3).integers(2**64, size=5000, dtype=np.uint64)
    cuts = [0, 1200, 1201, 5000]
    order = np.argsort(draws)
    expected = np.zeros(5000)
    expected[order[: round(share * 5000)]] = 1.0
    np.testing.assert_array_equal(draw_share(draws, share), expected)
    parts = in_threads(
        3, lambda team: draw_share(draws[cuts[team.rank] : cuts[team.rank + 1]], share, team)
    )
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_sums_over_leaves_do_not_depend_on_how_rows_are_shared_out() -> None:
    rng = np.random.default_rng(5)
    lam = rng.normal(size=40_000) * 10.0 ** rng.integers(-8, 8, 40_000)
    hess = np.abs(lam)
    leaf = rng.integers(3, size=len(lam)).astype(np.int32)
    expected = sum_leaves(leaf, 3, lam, hess, threads=1)
    for cuts in ([0, 7, 40_000], [0, 39_000, 40_000]):

        def add(team: Any, cuts: list[int] = cuts) -> Any:
            own = slice(cuts[team.rank], cuts[team.rank + 1])
            return sum_leaves(leaf[own], 3, lam[own], hess[own], threads=1, team=team)

        for found in in_threads(2, add):
            np.testing.assert_array_equal(found, expected)
