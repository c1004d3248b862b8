"""A setting is a line of the table: everything that knows settings knows it from there."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf
from rankforce.common.threads import count_threads
from rankforce.experiments.train import read_setting
from rankforce.formats.write import write
from rankforce.training.settings import Settings, make_settings
from rankforce.training.settings_table import NETWORKS, RUN_KEYS, TABLE, Range, Setting
from tests.cli.inside import run_inside

DATA = rf.make_data("yahoo", queries=12, seed=1)
VALID = rf.make_data("yahoo", queries=8, seed=2)
SMALL: dict[str, Any] = {"n_estimators": 2, "num_leaves": 3, "threads": 1, "progress": False}
SMALL_NETWORK: dict[str, Any] = {"epochs": 2, "threads": 1, "progress": False}
# Values of settings for which neither a range nor choices say one that goes with the data.
OTHERS: dict[str, Any] = {
    "objective": "ranknet",
    "gain": "y",
    "p": 0.5,
    "center": 0.5,
    "source": "label",
    "base": "regressor",
    "members": 2,
    "max_label": 5.0,
    "eval_metric": "P@5",
    "eval_at": [3],
    "checkpoint": "part",
    "cluster": "tcp://localhost:8786",
    "importance_type": "gain",
    "missing": -1.5,
    "engine": "lightgbm",
    "model": "linear",
    "epochs": 3,
    "hidden": [8, 4],
    "heads": 4,
}


def another(one: Setting) -> Any:
    """A value that the setting may have and that is not its default."""
    if one.name in OTHERS:
        return OTHERS[one.name]
    usual = NETWORKS["attention"].get(one.name) if one.where == "network" else one.default
    if isinstance(one.may, tuple):
        return next(choice for choice in one.may if choice != usual)
    assert isinstance(one.may, Range)
    start = one.may.least if usual is None else usual
    step = 1 if one.may.whole else 0.25
    return start + step if start + step <= one.may.most else start - step


def beside(one: Setting) -> dict[str, Any]:
    """What the setting needs beside it: an objective that has it, a cost that has it."""
    needs: dict[str, Any] = {}
    if one.where == "objective":
        has = (entry for entry in rf.objectives() if one.name in entry.parameters)
        entry = min(has, key=lambda entry: entry.needs_k)
        needs = {"objective": entry.name} | ({"k": 4} if entry.needs_k else {})
    if one.where == "network":
        needs = {"model": "attention"}
    return needs | ({"cost": "sigmoid"} if one.name == "center" else {})


def small(one: Setting) -> dict[str, Any]:
    """Settings of a small model that has the setting, without the setting itself."""
    if one.name == "model":
        return {"threads": 1, "progress": False}
    given = SMALL_NETWORK if one.where == "network" else SMALL
    return {name: value for name, value in (given | beside(one)).items() if name != one.name}


def outside(one: Setting) -> list[Any]:
    """Values that the setting may not have."""
    if isinstance(one.may, tuple):
        return ["no such choice"]
    assert isinstance(one.may, Range)
    wrong: list[Any] = ["3", one.may.least - (0 if one.may.above else 1)]
    wrong += [True] if one.where != "objective" else []
    wrong += [one.default + 0.5] if one.may.whole and one.default is not None else []
    return wrong + ([] if one.may.most == float("inf") else [one.may.most + 1])


EACH = pytest.mark.parametrize("one", TABLE.values(), ids=list(TABLE))
# That a run on a cluster is the same is tested with one, in tests/training/cluster.
ALONE = pytest.mark.parametrize(
    "one", [one for one in TABLE.values() if one.name != "cluster"], ids=lambda one: one.name
)
BOUND = pytest.mark.parametrize(
    "one", [one for one in TABLE.values() if one.may], ids=[n for n in TABLE if TABLE[n].may]
)


@EACH
def test_a_ranker_takes_each(one: Setting) -> None:
    value = another(one)
    settings = rf.Ranker(**beside(one) | {one.name: value}).settings()
    assert getattr(settings, one.name) == value != one.default
    assert getattr(Settings(), one.name) == one.default
    changed = rf.Ranker(**beside(one)).set_params(**{one.name: value})
    assert changed.settings() == settings
    assert changed.get_params()[one.name] == value
    for other in one.also:
        assert make_settings(beside(one) | {other: value}) == settings


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("settings")
    write(DATA, place / "train.txt")
    write(VALID, place / "valid.txt")
    return place


@ALONE
@pytest.mark.slow
def test_files_and_the_command_line_take_each(one: Setting, files: Path, tmp_path: Path) -> None:
    """A config file, --set and an option of its own: one model, one manifest."""
    value, given = another(one), small(one)
    if one.metavar == "FOLDER":
        value = str(tmp_path / value)
    config = given | {one.name: value, "train": "train.txt", "valid": "valid.txt"}
    lines = [f"{name} = {json.dumps(entry)}" for name, entry in config.items()]
    path = files / f"{one.name}.toml"
    path.write_text("\n".join(lines))
    answer = run_inside("train", "--config", path, "--out", tmp_path / "config")
    assert answer.returncode == 0, answer.stderr
    kept = json.loads((tmp_path / "config/manifest.json").read_text())["parameters"]
    if one.free and not one.noted:
        assert one.name not in kept
    elif one.name == "objective":
        assert kept[one.name].lower() == value
    else:
        assert kept[one.name] == ([value] if one.name == "eval_metric" else value)

    assert read_setting(f"{one.name}={json.dumps(value)}") == (one.name, value)
    ways = [["--set", f"{one.name}={json.dumps(value)}"]] + (
        [[one.option, str(value)]] if one.option else []
    )
    del config[one.name]
    path.write_text("\n".join(f"{name} = {json.dumps(entry)}" for name, entry in config.items()))
    for number, way in enumerate(ways):
        out = tmp_path / str(number)
        answer = run_inside("train", "--config", path, *way, "--out", out)
        assert answer.returncode == 0, answer.stderr
        assert json.loads((out / "manifest.json").read_text())["parameters"] == kept
        file = "model.txt" if kept["model"] == "trees" else "model.safetensors"
        assert (out / file).read_bytes() == (tmp_path / "config" / file).read_bytes()


@BOUND
def test_what_is_out_of_range_is_refused(one: Setting) -> None:
    for value in outside(one):
        with pytest.raises(rf.RankforceError, match=rf"^(unknown )?{one.name} ") as caught:
            make_settings(beside(one) | {one.name: value})
        # An objective words its own.
        listed = ", ".join(map(repr, one.may)) if isinstance(one.may, tuple) else str(one.may)
        assert one.where == "objective" or listed in str(caught.value)
        assert repr(value) in str(caught.value)


def test_a_list_is_a_schedule_of_rates_only() -> None:
    with pytest.raises(rf.RankforceError, match=r"num_leaves is \[31\]: it must be an integer"):
        make_settings({"num_leaves": [31]})


# Another folder is another run, and other cutoffs are other metrics.
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*TABLE} - {"checkpoint", "eval_at", "cluster"}))
def test_only_what_is_free_may_differ_when_a_run_is_resumed(name: str, tmp_path: Path) -> None:
    one = TABLE[name]
    given = small(one) | {"checkpoint": str(tmp_path)}
    first = rf.Ranker(**given).fit(DATA, eval_set=[VALID])
    again = rf.Ranker(**given | {one.name: another(one)})
    if one.free:
        assert again.fit(DATA, eval_set=[VALID]).model_.steps >= first.model_.steps
        return
    with pytest.raises(rf.RankforceError, match=f"belongs to another run: {one.name} was"):
        again.fit(DATA, eval_set=[VALID])


def test_defaults_stand_in_the_table_alone() -> None:
    """The signature has the table's values, and the source names them instead of writing them."""
    shown = {**inspect.signature(rf.Ranker).parameters}
    assert shown.pop("others").kind is inspect.Parameter.VAR_KEYWORD
    assert {name: shown[name].default for name in shown} == {n: TABLE[n].default for n in shown}
    assert rf.Ranker().get_params() == {name: TABLE[name].default for name in shown}
    source = ast.parse(textwrap.dedent(inspect.getsource(rf.Ranker.__init__))).body[0]
    assert isinstance(source, ast.FunctionDef)
    written = [*source.args.defaults, *source.args.kw_defaults]
    assert [ast.unparse(one) for one in written if one] == [f"DEFAULT.{name}" for name in shown]


def test_an_objective_by_itself_has_the_same_defaults() -> None:
    theirs = inspect.signature(rf.objective).parameters
    for one in TABLE.values():
        assert one.where != "objective" or theirs[one.name].default == one.default


@pytest.mark.parametrize("wrong", [-2, 4097, 1.5])
def test_threads_have_one_range(wrong: Any) -> None:
    with pytest.raises(rf.RankforceError) as here:
        make_settings({"threads": wrong})
    with pytest.raises(rf.RankforceError) as there:
        count_threads(wrong)
    assert str(here.value) == str(there.value)


def test_no_name_means_two_things() -> None:
    names = [*TABLE, *RUN_KEYS, *(other for one in TABLE.values() for other in one.also)]
    assert len(names) == len({*names})


def test_help_says_all() -> None:
    shown = run_inside("train", "--help", COLUMNS="1000").stdout
    for one in (*TABLE.values(), *RUN_KEYS.values()):
        if one.option and one.name != "train":  # whose help is of formats
            assert one.help in shown
        if isinstance(one.may, Range):
            assert str(one.may) in one.help
        if one.default is not None:
            assert f"default {one.default}" in one.help
    listed = " ".join((rf.Ranker.__doc__ or "").split())
    for one in TABLE.values():
        names = f"; also {', '.join(one.also)}" if one.also else ""
        assert f"- `{one.name}`: {one.help}{names}" in listed
        assert one.option in shown
        assert one.option or f"{one.name}," in shown


def test_a_subclass_has_defaults_and_parameters_of_its_own() -> None:
    class Small(rf.Ranker):
        def __init__(self, *, num_leaves: int = 7, flavour: str = "plain") -> None:
            super().__init__(num_leaves=num_leaves)
            self.flavour = flavour

    assert Small().settings().num_leaves == 7
    assert Small(flavour="sweet").settings() == rf.Ranker(num_leaves=7).settings()
