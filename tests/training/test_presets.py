"""A preset fills in what the user leaves open, and nothing else."""

from __future__ import annotations

import copy
import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone

import rankforce as rf
from rankforce.formats.write import write
from rankforce.training.members import member_settings
from rankforce.training.presets import OTHERS, PRESETS
from rankforce.training.settings import Settings, make_settings
from rankforce.training.settings_table import TABLE, Unsaid
from tests.cli.inside import run_inside

TRAIN = rf.make_data("yahoo", queries=30, seed=1)
VALID = rf.make_data("yahoo", queries=15, seed=2)
QUICK: dict[str, Any] = {"n_estimators": 2, "threads": 1, "progress": False}


def filled(settings: Settings, names: Any) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in names}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_fills_in_what_is_open(preset: str) -> None:
    own = {name: value for name, value in PRESETS[preset].items() if name != "members"}
    assert filled(rf.Ranker(preset=preset).settings(), own) == own
    usual = rf.Ranker().settings()
    rest = {*TABLE} - {*PRESETS[preset], "preset", "members"}
    bags = {name for name in TABLE if TABLE[name].in_committee is not None}
    rest -= bags if "members" in PRESETS[preset] else set()
    assert filled(rf.Ranker(preset=preset).settings(), rest) == filled(usual, rest)


# Equal to a default is said as well: only the user knows.
@pytest.mark.parametrize("name", sorted({*PRESETS["best"], *PRESETS["fast"]} - {"members"}))
@pytest.mark.parametrize("preset", PRESETS)
def test_what_the_user_says_stays_be_it_the_default(preset: str, name: str) -> None:
    plain = type(TABLE[name].default).__mro__[-2](TABLE[name].default)
    ranker = rf.Ranker(preset=preset, **{name: plain})
    assert getattr(ranker.settings(), name) == plain
    assert getattr(clone(ranker).settings(), name) == plain
    assert getattr(rf.Ranker(preset=preset).set_params(**{name: plain}).settings(), name) == plain
    for other in TABLE[name].also:
        assert getattr(rf.Ranker(preset=preset, **{other: plain}).settings(), name) == plain


@pytest.mark.parametrize("preset", PRESETS)
def test_copies_remember_what_was_left_open(preset: str) -> None:
    ranker = rf.Ranker(preset=preset, num_leaves=31)
    for again in (
        clone(ranker),
        copy.deepcopy(ranker),
        pickle.loads(pickle.dumps(ranker)),
        rf.Ranker(**ranker.get_params()),
    ):
        assert again.settings() == ranker.settings()
        assert again.settings().num_leaves == 31
    assert ranker.get_params()["preset"] == preset


def test_settings_that_a_preset_fills_in_are_marked_in_the_signature() -> None:
    in_signature = {*rf.Ranker().get_params()}
    for name in {*PRESETS["best"], *PRESETS["fast"]} & in_signature:
        default = TABLE[name].default
        assert default is None or isinstance(default, Unsaid)
    assert TABLE["preset"].may == tuple(PRESETS)


def test_an_unknown_preset_is_one_line() -> None:
    with pytest.raises(rf.RankforceError) as caught:
        rf.Ranker(preset="better").fit(TRAIN)
    assert str(caught.value) == "unknown preset 'better': choose 'best', 'fast'"
    with pytest.raises(rf.RankforceError, match=r"^unknown preset \['best'\]: choose"):
        rf.Ranker(preset=["best"]).settings()  # type: ignore[arg-type]


# Members of "best".


def members(**given: Any) -> list[tuple[str, Any, Any]]:
    settings = rf.Ranker(preset="best").set_params(**given).settings()
    return [(one.objective, one.k, one.tau) for one in member_settings(settings)]


def test_members_have_the_users_objective_and_others() -> None:
    others = [*((name, 5, None) for name in OTHERS), ("lambdagap-s+", 5, 5)]
    own = [("lambdarank-ndcg", 5, tau) for tau in (5, 15, math.inf)]
    assert members(k=5) == own + others
    assert members(k=5, tau=7)[:3] == [("lambdarank-ndcg", 5, 7)] * 3
    assert members(objective="ranknet", k=5) == [("ranknet", 5, None)] * 3 + others
    assert members(objective="lambdagap-x@5")[3:] == others
    assert [tau for _, _, tau in members(objective="lambdagap-x@5")[:3]] == [5, 15, 15]


def test_the_cutoff_is_that_of_the_metric() -> None:
    assert [k for _, k, _ in members(eval_metric="p@3, ndcg")[3:]] == [3] * 5
    assert [k for _, k, _ in members(eval_metric="ndcg", eval_at=[7])[3:]] == [7] * 5
    assert [k for _, k, _ in members(eval_metric="map")[3:]] == [10] * 5
    assert members(objective="auto", eval_metric="ndcg@4")[:3] == [
        ("LambdaRank-NDCG", 4, tau) for tau in (4, 12, math.inf)
    ]


def test_an_objective_without_a_name_is_that_of_all_members() -> None:
    mix = rf.objective("ranknet") + rf.objective("lambdagap-x", k=5)
    assert rf.Ranker(mix, preset="best").settings().members == 8
    assert rf.Ranker("preferences", preset="best").settings().members == 8


def test_members_of_the_user_stay() -> None:
    settings = rf.Ranker(preset="best", members=["ranknet", {"num_leaves": 4}]).settings()
    assert [one.num_leaves for one in member_settings(settings)] == [12, 4]
    with pytest.raises(rf.RankforceError, match="preset is the same for all members"):
        rf.Ranker(members=[{"preset": "fast"}]).settings()


# Runs.


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_is_the_settings_that_it_stands_for(preset: str, tmp_path: Path) -> None:
    named = rf.Ranker(k=5, preset=preset, **QUICK)
    own = filled(named.settings(), PRESETS[preset])
    written = rf.Ranker(**{"k": 5, **own, **QUICK})
    named, written = (one.fit(TRAIN, eval_set=[VALID]) for one in (named, written))
    assert named.model_.text() == written.model_.text()
    assert named.members_ == written.members_
    kept = named.model_.parameters
    assert {**kept, "preset": None} == {**written.model_.parameters, "preset": None}
    assert kept["preset"] == preset

    named.save(tmp_path)
    loaded = rf.load(tmp_path)
    assert loaded.model_.parameters == kept
    assert filled(loaded.settings(), PRESETS[preset]) == own
    assert (loaded.predict(VALID) == named.predict(VALID)).all()


def test_a_value_equal_to_a_default_is_not_lost_in_a_file(tmp_path: Path) -> None:
    ranker = rf.Ranker(preset="fast", num_leaves=31, **QUICK).fit(TRAIN)
    ranker.save(tmp_path)
    assert rf.load(tmp_path).settings().num_leaves == 31


def test_another_preset_is_another_run(tmp_path: Path) -> None:
    given = {**QUICK, "checkpoint": tmp_path}
    rf.Ranker(preset="fast", **given).fit(TRAIN)
    with pytest.raises(rf.RankforceError, match="another run: preset was 'fast', now 'best'"):
        rf.Ranker(preset="best", **given).fit(TRAIN)


def test_the_command_line(tmp_path: Path) -> None:
    write(TRAIN, tmp_path / "train.txt")
    told = ["train", "--train", tmp_path / "train.txt", "-k", 5, "--trees", 2, "--quiet"]
    answer = run_inside(*told, "--preset", "fast", "--num-leaves", 31, "--out", tmp_path / "run")
    assert answer.returncode == 0, answer.stderr
    kept = json.loads((tmp_path / "run/manifest.json").read_text())["parameters"]
    said = {"preset": "fast", "num_leaves": 31, "n_estimators": 2}
    assert {name: kept[name] for name in said} == said
    assert kept["learning_rate"] == PRESETS["fast"]["learning_rate"]
    answer = run_inside(*told, "--preset", "slow", "--out", tmp_path / "other")
    assert answer.returncode == 2
    assert answer.stderr.endswith("unknown preset 'slow': choose 'best', 'fast'\n")


def test_a_search_refuses_a_committee() -> None:
    with pytest.raises(rf.RankforceError, match="members are not searched"):
        rf.tune(TRAIN, VALID, preset="best", trials=1)


def test_names_of_others_and_presets_go_together() -> None:
    assert make_settings({"preset": "fast", "eta": 0.1}).learning_rate == 0.1
