from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rankforce as rf
from rankforce import diagnostics
from tests.diagnostics.test_recorder import OTHER, TRAIN, trained


def test_replayed_on_other_data() -> None:
    ranker = trained()
    curves = rf.diagnose(ranker, OTHER, every=3, metrics="ndcg@5")
    assert curves.trees == [1, 4, 7, 8]
    objective = rf.objective("lambdarank-ndcg", k=5)
    for number, trees in enumerate(curves.trees):
        scores = ranker.predict(OTHER, num_iteration=trees)
        found = diagnostics.incoherence(objective, scores, OTHER, norm="lightgbm")
        assert curves.series["incoherence"]["restricted"][number] == found.share
        before = np.zeros(len(scores))
        if trees > 1:
            before = ranker.predict(OTHER, num_iteration=trees - 1)
        changes = diagnostics.rank_changes(before, scores, group=OTHER.group)
        assert curves.series["rank_changes"]["top"][number] == changes.top
        assert curves.series["rank_changes"]["overall"][number] == changes.overall
        mean = rf.evaluate(scores, OTHER, "ndcg@5").means["NDCG@5"]
        assert curves.series["metrics"]["NDCG@5"][number] == pytest.approx(mean)


def test_the_number_of_points_is_bounded() -> None:
    assert len(rf.diagnose(trained(trees=60, num_leaves=2), OTHER, what="pairs").trees) <= 26


def test_any_objective_and_folders(tmp_path: Path) -> None:
    ranker = trained()
    ranker.save(tmp_path / "run")
    own = rf.diagnose(tmp_path / "run", OTHER, every=4, what="pairs")
    assert own == rf.diagnose(ranker.model_, OTHER, every=4, what="pairs")
    other = rf.diagnose(ranker, OTHER, objective="ranknet", every=4, what="pairs")
    assert other.about["objective"] == "RankNet"
    assert other.series["pairs"]["absolute"][-1] > own.series["pairs"]["absolute"][-1]


def test_what_a_top_k_misses_is_the_rankers_or_asked_for() -> None:
    data = rf.make_data("mslr", queries=60, seed=3)
    ranker = rf.Ranker("lambdamart-ex random", k=5, missed="label", n_estimators=3, progress=False)
    own = rf.diagnose(ranker.fit(data), data, what="incoherence")
    other = rf.diagnose(ranker, data, what="incoherence", missed="deficit")
    assert own.about["missed"] == "label"
    assert "missed" not in other.about
    found, expected = (one.series["incoherence"]["violations"] for one in (own, other))
    assert found != expected


def test_names_get_the_cutoff_of_the_ranker() -> None:
    ranker = trained(trees=2)  # k = 5
    for name, made in (("lambdagap-x", rf.objective("lambdagap-x", k=5)), ("ranknet", None)):
        found = rf.diagnose(ranker, OTHER, objective=name, what=["incoherence", "pairs"])
        same = rf.diagnose(
            ranker,
            OTHER,
            objective=made or rf.objective("ranknet"),
            what=["incoherence", "pairs"],
            k=5,
        )
        assert found == same
        assert found.about["k"] == "5"
    own = rf.diagnose(ranker, OTHER, objective="lambdagap-s@3", against="lambdarank-p@k", k=2)
    assert own.about["k"] == "2"
    assert own.about["against"] == "LambdaRank-P@k"


def test_mistakes_are_said_in_a_sentence(tmp_path: Path) -> None:
    narrow = rf.RankingData(np.zeros((2, 3)), [0, 1], group=[2])
    with pytest.raises(ValueError, match="the data has 3 features, the model was trained on 136"):
        rf.diagnose(trained(trees=1), narrow)
    with pytest.raises(ValueError, match="unknown objective 'rankent': did you mean 'RankNet'"):
        rf.diagnose(trained(trees=1), OTHER, objective="rankent")
    own = rf.Ranker(rf.objective(lambda y_hi, y_lo, i, j: y_hi - y_lo), n_estimators=1)
    own.progress = False
    own.fit(TRAIN).save(tmp_path)
    with pytest.raises(ValueError, match="cannot be made again"):
        rf.diagnose(tmp_path, OTHER)
    assert rf.diagnose(tmp_path, OTHER, objective="ranknet", what="pairs").trees == [1]
