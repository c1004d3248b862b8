"""Trials that ended stay, whatever happens; what is saved can be trained with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import rankforce as rf
from rankforce.experiments.space import Range
from rankforce.experiments.train import read_config
from rankforce.experiments.trials import Trial
from rankforce.experiments.tuning import Tuning
from rankforce.formats.write import write
from tests.experiments.test_tune import QUICK, SPACE, digest, search, told

pytestmark = pytest.mark.slow  # CI runs it


@pytest.fixture(scope="module")
def data() -> list[rf.RankingData]:
    return [rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1)]


@pytest.mark.parametrize("searcher", ["optuna", "flaml", "random"])
def test_a_search_that_is_resumed_is_the_same(
    data: list[rf.RankingData], tmp_path: Path, searcher: str
) -> None:
    quick = {"searcher": searcher, "n_estimators": 2}
    whole = search(data, trials=14, **quick)
    kept = tmp_path / "trials.jsonl"
    search(data, trials=12, storage=kept, **quick)
    before = kept.read_bytes()
    with kept.open("ab") as file:
        file.write(b'{"number": 12, "poi')  # killed while it wrote
    resumed = search(data, trials=14, storage=kept, **quick)
    assert told(resumed) == told(whole)
    assert kept.read_bytes().startswith(before)
    assert len(kept.read_text().splitlines()) == 15
    over = search(data, trials=14, storage=kept, **quick)
    assert over.trials == resumed.trials
    assert digest(over.ranker) == digest(whole.ranker)


def test_another_study_is_refused(data: list[rf.RankingData], tmp_path: Path) -> None:
    kept = tmp_path / "trials.jsonl"
    search(data, trials=1, storage=kept)
    for other, name in (({"k": 3}, "metric"), ({"space": {"num_leaves": [3]}}, "space")):
        with pytest.raises(rf.RankforceError, match=f"is of another study: its {name} was"):
            search(data, storage=kept, **other)
    with pytest.raises(rf.RankforceError, match="is of another study: its data was"):
        search([data[1], data[0]], storage=kept)
    kept.write_text("hello\n")
    with pytest.raises(rf.RankforceError, match=r"trials.jsonl is no file of trials"):
        search(data, storage=kept)
    with pytest.raises(rf.RankforceError, match="is no folder"):
        search(data, storage=tmp_path / "none" / "trials.jsonl")


KILLED = """
import json, sys
import rankforce as rf
train, valid = (rf.make_data("yahoo", queries=40, seed=seed) for seed in (0, 1))
given = json.loads(sys.argv[1])
rf.tune(train, valid=valid, searcher="random", trials=1000, storage=sys.argv[2], jobs=2, **given)
"""


def test_a_process_that_is_killed_loses_no_trial(
    data: list[rf.RankingData], tmp_path: Path
) -> None:
    kept = tmp_path / "trials.jsonl"
    given = json.dumps({"space": SPACE} | QUICK)
    process = subprocess.Popen([sys.executable, "-c", KILLED, given, str(kept)])
    try:
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            if kept.exists() and kept.read_bytes().count(b"\n") >= 5:
                break
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    lines = kept.read_bytes().rpartition(b"\n")[0].splitlines()[1:]
    ended = [Trial(**json.loads(line)) for line in lines]
    assert len(ended) >= 4
    found = search(data, trials=len(ended) + 2, storage=kept)
    assert {one.number: one for one in ended}.items() <= {t.number: t for t in found.trials}.items()
    assert len(found.trials) == len(ended) + 2
    points = {one.number: one.point for one in search(data, trials=3).trials}
    assert points.items() <= {one.number: one.point for one in found.trials}.items()


def test_what_is_saved_trains_the_same_ranker(tmp_path: Path) -> None:
    for seed, name in ((0, "a.txt"), (1, "b.txt")):
        write(rf.make_data("yahoo", queries=40, seed=seed), tmp_path / name)
    train = rf.read(tmp_path / "a.txt")
    valid = rf.read(tmp_path / "b.txt", like=train)
    aim = {"mix": [{"name": "ranknet"}, {"name": "lambdarank-ndcg", "k": 5, "weight": 1.0}]}
    weight = {"objective.mix.1.weight": {"low": 0.1, "high": 10}}
    quick = {name: value for name, value in QUICK.items() if name != "k"}
    found = rf.tune(
        train, valid=valid, objective=aim, space=weight, trials=3, searcher="random", **quick
    )
    folder = found.save(tmp_path / "tuned")
    config = read_config(folder / "config.toml")
    assert config["objective"]["mix"][1]["weight"] == found.best.point["objective.mix.1.weight"]
    trained = rf.train(config | {"progress": False})
    assert digest(trained) == digest(found.ranker)
    assert (rf.load(folder / "model").predict(valid) == trained.predict(valid)).all()
    assert trained.model_.used == found.best.trees
    # The same file that a search goes on with.
    again = rf.tune(
        train,
        valid=valid,
        objective=aim,
        space=weight,
        trials=3,
        searcher="random",
        storage=folder / "trials.jsonl",
        **quick,
    )
    assert again.trials == found.trials


def test_what_toml_cannot_hold_is_said(data: list[rf.RankingData]) -> None:
    made = rf.additive(lambda y: float(y > 0), lambda rank: 1.0 / rank)
    quick = {name: value for name, value in QUICK.items() if name != "k"}
    found = rf.tune(
        data[0],
        valid=data[1],
        objective=made,
        metric="mrr",
        space={"num_leaves": [3, 4]},
        trials=2,
        searcher="random",
        **quick,
    )
    with pytest.warns(UserWarning, match="the config lacks objective"):
        text = found.config()
    assert "objective" not in text
    assert "num_leaves" in text


def made_up(effect: Any) -> Tuning:
    space = {"num_leaves": Range(2, 64, log=True, whole=True), "mu": Range(0.0, 1.0), "tau": [5, 8]}
    points = [
        {"num_leaves": 2 + number, "mu": (number * 7 % 31) / 31, "tau": 5 + 3 * (number % 2)}
        for number in range(40)
    ]
    trials = [
        Trial(number, point, "pruned" if number % 5 == 4 else "done", effect(point), 10, 1.0)
        for number, point in enumerate(points)
    ]
    best = max((one for one in trials if one.state == "done"), key=lambda one: one.value or 0.0)
    ranker = rf.Ranker()
    return Tuning(best, {}, ranker, trials, space, rf.metric("ndcg@5"), {}, {})


def test_what_mattered() -> None:
    found = made_up(lambda point: (point["mu"] - 0.3) ** 2)
    shares = found.importance()
    assert next(iter(shares)) == "mu"
    assert shares["mu"] > 0.9
    assert abs(sum(shares.values()) - 1.0) < 1e-9
    assert next(iter(made_up(lambda point: float(point["tau"] == 8)).importance())) == "tau"
    assert set(made_up(lambda point: 0.5).importance().values()) == {0.0}


def test_the_picture(tmp_path: Path) -> None:
    found = made_up(lambda point: point["mu"] + 0.1 * point["num_leaves"] / 64)
    axes = rf.plots.tuning(found)
    titles = [one.get_title(loc="left").split()[0] for one in axes.figure.axes]
    assert titles[0] == "mu"
    assert sorted(titles) == ["mu", "num_leaves", "tau"]
    dots = [tuple(one.get_offsets()[0]) for one in axes.collections]
    assert dots == [(one.point["mu"], one.value) for one in found.trials]
    assert found.plot(tmp_path / "tuning.png").read_bytes().startswith(b"\x89PNG")
