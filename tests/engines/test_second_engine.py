"""A second engine goes the same way as the first: it trains, is saved, resumed, shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

import rankforce as rf
from rankforce.engines import base
from rankforce.engines.base import add_engine
from tests.engines.stumps import STUMPS, Stumps

TRAIN, VALID = (rf.make_data("yahoo", queries=40, seed=seed) for seed in (1, 2))
PARAMS: dict[str, Any] = {"engine": "stumps", "n_estimators": 12, "k": 5, "progress": False}


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_ADDED", {})
    add_engine(STUMPS)


def fit(callbacks: Any = (), **more: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | more).fit(TRAIN, eval_set=[VALID], callbacks=list(callbacks))


def test_it_trains() -> None:
    ranker = fit()
    assert [tree.leaves for tree in ranker.model_.trees] == [2] * 12
    before = rf.metric("ndcg@5")(np.zeros(VALID.rows), VALID.labels, group=VALID.group).mean()
    assert ranker.score(VALID) > before + 0.02
    assert np.count_nonzero(ranker.importance("split")) > 1


def test_it_finds_the_split_that_lightgbm_finds() -> None:
    """Where every value has a bin of its own, a tree of two leaves is the best split."""
    forces = np.random.default_rng(3).normal(size=TRAIN.rows)
    engine = Stumps(
        np.round(TRAIN.features, 1),
        feature_names=TRAIN.feature_names,
        categorical=[],
        parameters={"min_child_samples": 20},
        seed=0,
        threads=1,
    )
    grown = engine.grow(forces, np.ones(TRAIN.rows), 0, np.zeros(TRAIN.rows, np.uint64), None)
    assert grown is not None
    data = lightgbm.Dataset(np.round(TRAIN.features, 1), np.zeros(TRAIN.rows))
    params = {"num_leaves": 2, "min_data_in_leaf": 20, "verbosity": -1, "objective": "none"}
    params |= {"max_bin": 10_000, "min_data_in_bin": 1}
    booster = lightgbm.Booster(params, data)
    booster.update(fobj=lambda scores, _: (-forces.astype("f"), np.ones(len(scores), "f")))
    theirs = booster.dump_model()["tree_info"][0]["tree_structure"]
    assert theirs["split_feature"] == grown.tree.feature[0]
    assert theirs["left_child"]["leaf_count"] == np.count_nonzero(grown.leaf == 0)


def test_it_is_saved_and_loaded_by_anyone(tmp_path: Path) -> None:
    ranker = fit()
    ranker.save(tmp_path)
    assert json.loads((tmp_path / "manifest.json").read_text())["parameters"]["engine"] == "stumps"
    loaded = rf.load(tmp_path)
    assert np.array_equal(loaded.predict(VALID), ranker.predict(VALID))
    theirs = lightgbm.Booster(model_file=str(tmp_path / "model.txt")).predict(VALID.features)
    assert theirs == pytest.approx(ranker.predict(VALID))
    assert loaded.contributions(VALID).sum(1) == pytest.approx(ranker.predict(VALID))
    for tree in loaded.model_.trees:
        tree.lines.pop("leaf_count")
        object.__setattr__(tree, "details", {})
    with pytest.raises(rf.RankforceError, match="how many rows"):
        loaded.contributions(VALID)


def test_it_is_resumed(tmp_path: Path) -> None:
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    assert fit(**place, n_estimators=5).model_.steps == 5
    again, whole = fit(**place), fit()
    assert again.model_.text() == whole.model_.text()
    assert again.evals_result_ == whole.evals_result_


def test_it_stops_early_samples_and_takes_any_step() -> None:
    stopped = fit(n_estimators=300, early_stopping_rounds=5)
    assert stopped.model_.used < stopped.model_.steps < 300
    for more in ({"subsample": 0.5}, {"step": "exact-newton"}, {"base": "regressor"}):
        assert fit(**more).model_.text() != fit().model_.text()


def test_it_is_recorded_and_reported(tmp_path: Path) -> None:
    recorder = rf.Recorder(every=4)
    ranker = fit([recorder])
    assert recorder.curves.trees == [1, 5, 9, 12]
    assert rf.diagnose(ranker, VALID, every=6).trees == [1, 7, 12]
    runs = {"by stumps": ranker, "by trees": fit(engine=None)}
    page = rf.write_report(runs, VALID, out=tmp_path / "page.html")
    assert "by stumps" in page.read_text()


def test_it_says_what_it_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(rf.RankforceError, match=r"^skip is 7: it must be 0 or 1$"):
        fit(skip=7)
    with pytest.raises(rf.RankforceError, match="a run with skip cannot be resumed"):
        fit(skip=1, checkpoint=tmp_path / "run")
    with pytest.raises(rf.RankforceError, match=r"max_bin.*"):
        fit(max_bin=63)  # LightGBM's
    with pytest.raises(
        rf.RankforceError,
        match="engine is 'abacus': choose 'lightgbm', 'histogram', 'xgboost', 'cuda' or 'stumps'",
    ):
        fit(engine="abacus")
    with pytest.raises(rf.RankforceError, match="stumps know no categories"):
        rf.Ranker(**PARAMS).fit(
            TRAIN.features, TRAIN.labels, group=TRAIN.group, categorical_feature=[0]
        )
    used = {tree.feature[0] for tree in fit(skip=1).model_.trees}
    assert 0 not in used
