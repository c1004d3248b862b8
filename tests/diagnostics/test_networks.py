"""Diagnostics of networks: by epoch while they are trained, one look afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from tests.training.network.made import SMALL, make_data, train

DATA, OTHER = make_data(0), make_data(1)


@pytest.mark.parametrize("kind", SMALL)
def test_a_recorder_sees_every_epoch(kind: str, tmp_path: Path) -> None:
    recorder = rf.Recorder(every=1, metrics="ndcg@5")
    ranker = train(kind, DATA, callbacks=[recorder])
    curves = recorder.curves
    assert (curves.steps, curves.step) == ([1, 2, 3], "epoch")
    assert curves.table().startswith("epochs ")
    at_end = rf.evaluate(ranker, DATA, "ndcg@5").means["NDCG@5"]
    assert curves.last["metrics"]["NDCG@5"] == pytest.approx(at_end)
    assert 0 <= curves.last["rank_changes"]["overall"] <= 1
    ranker.save(tmp_path)
    assert rf.load(tmp_path).model_.diagnostics == curves


@pytest.mark.parametrize("kind", SMALL)
def test_afterwards_there_is_one_look(kind: str) -> None:
    recorder = rf.Recorder(every=1)
    ranker = train(kind, DATA, callbacks=[recorder])
    curves = rf.diagnose(ranker, DATA)
    assert (curves.steps, curves.step) == ([3], "epoch")
    seen = recorder.curves.last
    assert {*seen} - {*curves.series} == {"rank_changes"}
    # A step is made by the forces before it: those that a recorder sees behind the last epoch are
    # of the same scores.
    for name, own in curves.last.items():
        assert own == pytest.approx(seen[name], abs=1e-4), name


def test_what_happens_between_epochs_is_not_known_afterwards() -> None:
    ranker = train("mlp", DATA)
    assert [*rf.diagnose(ranker, OTHER, what="pairs", metrics="").series] == ["pairs"]
    for what in ("rank_changes", ["pairs", "rank_changes"]):
        with pytest.raises(rf.RankforceError, match="between two epochs, and the model keeps its"):
            rf.diagnose(ranker, OTHER, what=what)


@pytest.mark.parametrize("kind", SMALL)
def test_forces_of_a_query_are_explained(kind: str) -> None:
    ranker = train(kind, DATA)
    found = rf.explain(None, ranker, OTHER)
    scores = ranker.predict(OTHER)
    assert found.iteration == 3
    assert [one.score for one in found.documents] == sorted(
        scores[[one.row for one in found.documents]], reverse=True
    )
    forces, _ = ranker.objective_.gradients(
        scores, OTHER.labels, qid=OTHER.qid, norm=found.norm, iteration=3
    )
    own = [one.force for one in found.documents]
    np.testing.assert_allclose(own, forces[[one.row for one in found.documents]])
