"""Runs that are killed and taken up again end in the model of a run that never was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.models.forest.forest import digest

ROOT = Path(__file__).parents[2]
TRAIN = rf.make_data("mslr", queries=12, seed=1)
VALID = rf.make_data("mslr", queries=8, seed=2)
X, Y, G = TRAIN.features, TRAIN.labels, TRAIN.group
KILLED_AFTER, SAVED = 7, 6  # trees; a checkpoint is written every third
ONE_STEP = {"n_estimators": 1}
PARAMS: dict[str, Any] = {
    "n_estimators": 12,
    "num_leaves": 5,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "seed": 1,
    "threads": 1,
    "progress": False,
    "checkpoint_every": 3,
}
RUNS: dict[str, dict[str, Any]] = {
    "plain": {},
    "plain histograms": {"quantised": False},
    "rows": {"subsample": 0.5},
    "rows, a new bag every 4 trees": {"subsample": 0.5, "subsample_freq": 4},
    "queries": {"subsample": 0.6, "subsample_by": "query"},
    "columns of a tree": {"colsample_bytree": 0.4},
    "columns of a node": {"colsample_bynode": 0.4},
    "rows and columns": {"subsample": 0.5, "colsample_bytree": 0.5, "colsample_bynode": 0.5},
    "random objective": {"objective": "lambdamart-ex random", "k": 5},
    "exact-newton": {"step": "exact-newton"},
    "regressor first": {"base": "regressor", "base_estimators": 8},
    "early stopping": {"early_stopping_rounds": 6, "n_estimators": 60},
    "std": {"norm": "std", "step": "gradient"},
}
DRIVER = """
import importlib, os, signal, sys
tests = importlib.import_module(sys.argv[2])

def kill(moment):
    if moment.model.steps == tests.KILLED_AFTER:
        os.kill(os.getpid(), signal.SIGKILL)

for run in tests.RUNS.values():  # compile and load everything once
    tests.fit(run | tests.ONE_STEP)
for number, run in enumerate(tests.RUNS.values()):
    child = os.fork()  # every run is killed in a process of its own
    if child == 0:
        tests.fit(run, f"{sys.argv[1]}/{number}", callbacks=[kill])
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def fit(run: dict[str, Any], folder: Any = None, **given: Any) -> rf.Ranker:
    return rf.Ranker(**PARAMS | run, checkpoint=folder).fit(TRAIN, eval_set=[VALID], **given)


def in_a_process(script: str, *arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}  # no threads that a fork would lose
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=pipe, stderr=pipe, text=True)


def text_of(folder: Any) -> bytes:
    return (Path(folder) / "model.txt").read_bytes()


def record_of(folder: Any) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((Path(folder) / "manifest.json").read_text())
    return record


def kill_runs(place: Path, module: str, runs: Iterable[str]) -> dict[str, Path]:
    """For each of the `runs` of a module of tests, the folder that a killed process left."""
    names = list(runs)
    out, errors = in_a_process(DRIVER, place, module).communicate(timeout=300)
    assert out.split() == [str(int(signal.SIGKILL))] * len(names), errors
    return {name: place / str(number) for number, name in enumerate(names)}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return kill_runs(tmp_path_factory.mktemp("killed"), __name__, RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_killed_and_resumed(name: str, killed: dict[str, Path], tmp_path: Path) -> None:
    run, folder = RUNS[name], tmp_path / "killed"
    shutil.copytree(killed[name], folder)
    assert record_of(folder)["trees"] == SAVED
    assert not record_of(folder)["finished"]
    whole = fit(run, tmp_path / "whole")
    assert len(whole.model_.trees) > KILLED_AFTER
    resumed = fit(run | {"threads": 2}, folder)
    assert digest(resumed.model_.trees) == digest(whole.model_.trees)
    assert text_of(folder) == text_of(tmp_path / "whole")
    assert resumed.best_iteration_ == whole.best_iteration_
    assert resumed.evals_result_ == whole.evals_result_
    assert np.array_equal(resumed.predict(VALID), whole.predict(VALID))
    assert record_of(folder) == record_of(tmp_path / "whole")


def test_early_stopping_stops_where_it_would_have(tmp_path: Path) -> None:
    """The case above is only worth something if the run does stop early."""
    whole = fit(RUNS["early stopping"], tmp_path)
    assert whole.best_iteration_ + 6 == len(whole.model_.trees) < 60


@pytest.mark.parametrize("threads", [(1, 3), (3, 1), (2, 2)])
@pytest.mark.parametrize("parts", [(5, 12), (1, 2, 12), (3, 6, 9, 12)], ids=str)
def test_any_number_of_parts_and_threads(
    parts: tuple[int, ...], threads: tuple[int, int], tmp_path: Path
) -> None:
    """A run of fewer trees is a run that was interrupted."""
    run = {"subsample": 0.7, "subsample_by": "query", "quantised": False}
    for number, trees in enumerate(parts):
        last = fit(run | {"n_estimators": trees, "threads": threads[number % 2]}, tmp_path / "a")
    whole = fit(run, tmp_path / "b")
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")
    assert last.evals_result_ == whole.evals_result_


@pytest.mark.slow
def test_killed_from_outside_at_any_moment(tmp_path: Path) -> None:
    script = """
    import sys
    from tests.training.test_checkpoint import fit
    run = {"n_estimators": 100000, "checkpoint_every": 1, "subsample": 0.5}
    fit(run, sys.argv[1], callbacks=[lambda moment: print(moment.iteration, flush=True)])
    """
    process = in_a_process(script, tmp_path / "run")
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline().strip().isdigit()
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    done = record_of(tmp_path / "run")["trees"]
    assert done >= 2  # callbacks come before the checkpoint
    run = {"subsample": 0.5, "n_estimators": done + 2}
    fit(run, tmp_path / "run")
    fit(run, tmp_path / "whole")
    assert text_of(tmp_path / "run") == text_of(tmp_path / "whole")


def test_interrupted_by_the_user(tmp_path: Path) -> None:
    def interrupt(moment: Any) -> None:
        if moment.iteration == 4:
            raise KeyboardInterrupt

    fit({}, tmp_path / "a", callbacks=[interrupt])
    assert record_of(tmp_path / "a")["trees"] == 5
    fit({}, tmp_path / "a")
    fit({}, tmp_path / "b")
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")


def test_interrupted_while_measuring(tmp_path: Path) -> None:
    """The tree that was not measured is grown again."""
    calls = 0

    def top(scores: Any, labels: Any) -> float:
        nonlocal calls
        calls += 1
        if calls == 4 * len(VALID.sizes) + 2:
            raise KeyboardInterrupt
        return float(labels[np.argmax(scores)])

    run = {"eval_metric": rf.metric(top, name="top")}
    fit(run, tmp_path / "a")
    resumed = fit(run, tmp_path / "a")
    whole = fit(run, tmp_path / "b")
    assert resumed.evals_result_ == whole.evals_result_
    assert resumed.best_iteration_ == whole.best_iteration_


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    fit({}, tmp_path)
    before, seen = text_of(tmp_path), []
    again = fit({}, tmp_path, callbacks=[lambda moment: seen.append(moment.iteration)])
    assert (text_of(tmp_path), seen) == (before, [])
    assert len(again.evals_result_["valid_0"]["ndcg@10"]) == PARAMS["n_estimators"]


def test_checkpoints_load_as_models(killed: dict[str, Path]) -> None:
    ranker = rf.load(killed["plain histograms"])
    expected = fit(RUNS["plain histograms"] | {"n_estimators": SAVED})
    assert np.array_equal(ranker.predict(VALID), expected.predict(VALID))
    assert not ranker.model_.finished


def test_a_folder_that_does_not_matter_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match="is no checkpoint: choose a folder that is new or empty"):
        fit({}, tmp_path)
    with pytest.raises(ValueError, match="is no checkpoint"):
        fit({}, tmp_path / "thesis.tex")
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("name", [".model.txt.123.part", ".manifest.json.123.part"])
def test_half_written_files_do_not_matter(name: str, tmp_path: Path) -> None:
    fit({"n_estimators": 4}, tmp_path / "a")
    (tmp_path / "a" / name).write_text("tree\nversion=v4\nhalf a li")
    fit({}, tmp_path / "a")
    fit({}, tmp_path / "b")
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")


@pytest.mark.parametrize("name", [".model.txt.123.part", "model.txt"])
def test_half_a_first_checkpoint_does_not_matter(name: str, tmp_path: Path) -> None:
    fit({}, tmp_path / "b")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / name).write_bytes(text_of(tmp_path / "b"))
    fit({}, tmp_path / "a")
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")


def test_killed_between_the_two_files(tmp_path: Path) -> None:
    """The text has trees already that the manifest does not count."""
    fit({"n_estimators": 4}, tmp_path / "a")
    fit({}, tmp_path / "b")
    (tmp_path / "a" / "model.txt").write_bytes(text_of(tmp_path / "b"))
    assert len(rf.load(tmp_path / "a").model_.trees) == 4
    resumed = fit({}, tmp_path / "a")
    assert text_of(tmp_path / "a") == text_of(tmp_path / "b")
    assert len(resumed.evals_result_["valid_0"]["ndcg@10"]) == PARAMS["n_estimators"]


@pytest.mark.parametrize(
    "given", [{"extra_trees": True}, {"cegb_penalty_feature_coupled": [3.0] * 136}]
)
def test_what_depends_on_lightgbms_memory_has_no_checkpoint(given: Any, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))} cannot be resumed"):
        fit(given, tmp_path)
    assert len(rf.Ranker(**PARAMS | given).fit(TRAIN).model_.trees) == PARAMS["n_estimators"]


# Another run's checkpoint.

OTHER_RUNS: dict[str, tuple[dict[str, Any], str]] = {
    "k": ({"k": 3}, "k was None, now 3"),
    "objective": ({"objective": "ranknet"}, "objective was 'LambdaRank-NDCG', now 'RankNet'"),
    "learning_rate": ({"learning_rate": 0.1}, "learning_rate was 0.3, now 0.1"),
    "num_leaves": ({"num_leaves": 6}, "num_leaves was 5, now 6"),
    "seed": ({"seed": 2}, "seed was 1, now 2"),
    "max_bin": ({"max_bin": 31}, "max_bin was None, now 31"),
    "eval_metric": ({"eval_metric": "p@3"}, r"eval_metric was \['NDCG@10'\], now \['P@3'\]"),
    "quantised": ({"quantised": False}, "quantised was None, now False"),
}


@pytest.mark.parametrize("name", OTHER_RUNS)
def test_another_run_is_refused(name: str, tmp_path: Path) -> None:
    fit({"n_estimators": 3}, tmp_path)
    before = text_of(tmp_path)
    other, message = OTHER_RUNS[name]
    with pytest.raises(ValueError, match=f"belongs to another run: {message}"):
        fit(other, tmp_path)
    assert text_of(tmp_path) == before


@pytest.mark.parametrize("other", [{"k": 9}, {"k": 2, "sigma": 2.0}, {"k": 2, "gain": "y"}])
def test_another_objective_of_the_same_name_is_refused(
    other: dict[str, Any], tmp_path: Path
) -> None:
    made = {"objective": rf.objective("lambdarank-ndcg", k=2), "n_estimators": 3}
    fit(made, tmp_path)
    with pytest.raises(ValueError, match="belongs to another run"):
        fit({"objective": rf.objective("lambdarank-ndcg", **other)}, tmp_path)


@pytest.mark.parametrize("what", ["eval_metric", "gain"])
def test_a_function_made_again_is_the_same_run(what: str, tmp_path: Path) -> None:
    def run() -> dict[str, Any]:
        if what == "gain":
            return {"gain": lambda label: 2.0 * label}
        return {"eval_metric": rf.metric(lambda scores, labels: labels[scores.argmax()], name="t")}

    first, second = run(), run()
    assert len(fit(first | {"n_estimators": 3}, tmp_path).model_.trees) == 3
    assert len(fit(second, tmp_path).model_.trees) == PARAMS["n_estimators"]


OTHER_DATA: dict[str, dict[str, Any]] = {
    "labels": {"y": np.roll(Y, 1)},
    "features": {"X": X + np.float32(1)},
    "fewer rows": {"X": X[: G[:-1].sum()], "y": Y[: G[:-1].sum()], "group": G[:-1]},
    "queries": {"group": [*G[:-2], G[-2] - 1, G[-1] + 1]},
    "columns": {"X": X[:, :-1]},
    "weights": {"sample_weight": Y + 1.0},
    "query weights": {"query_weight": np.arange(1.0, len(G) + 1.0)},
    "scores to start from": {"init_score": Y},
    "ids of queries": {"group": None, "qid": np.repeat(np.arange(len(G)) + 50, G)},
}


@pytest.mark.parametrize("name", OTHER_DATA)
def test_other_data_is_refused(name: str, tmp_path: Path) -> None:
    params = PARAMS | {"checkpoint": tmp_path}
    rf.Ranker(**params | {"n_estimators": 3}).fit(X, Y, group=G)
    given = {"X": X, "y": Y, "group": G} | OTHER_DATA[name]
    with pytest.raises(ValueError, match="belongs to other data"):
        rf.Ranker(**params).fit(**given)


@pytest.mark.parametrize("first", [None, TRAIN], ids=["none", "another"])
def test_another_validation_set(first: Any, tmp_path: Path) -> None:
    """Either refused, or measured as if it had been there from the first tree."""
    params = PARAMS | {"checkpoint": tmp_path / "a"}
    rf.Ranker(**params | {"n_estimators": 4}).fit(TRAIN, eval_set=first and [first])
    reason = None
    try:
        resumed = rf.Ranker(**params).fit(TRAIN, eval_set=[VALID])
    except ValueError as error:
        reason = str(error)
    if reason is not None:
        assert "valid" in reason
        return
    whole = fit({})
    assert resumed.evals_result_ == whole.evals_result_
    assert resumed.best_iteration_ == whole.best_iteration_


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    fit({"n_estimators": 4}, tmp_path)
    text = text_of(tmp_path)
    (tmp_path / "model.txt").write_bytes(text[: len(text) // 2])
    with pytest.raises(ValueError, match=r"model\.txt"):
        fit({}, tmp_path)


def test_the_driver_would_notice_a_living_child() -> None:
    """os.waitpid's status of a process that ends well is no SIGKILL."""
    child = os.spawnlp(os.P_NOWAIT, "true", "true")
    assert os.waitpid(child, 0)[1] != signal.SIGKILL


def test_a_checkpoint_can_be_read_while_it_is_written(tmp_path: Path) -> None:
    data = rf.make_data("yahoo", queries=20)
    ranker = rf.Ranker(n_estimators=60, num_leaves=31, progress=False).fit(data)
    ranker.model_.save(tmp_path, steps=1)

    def write() -> None:
        for trees in range(2, 61):
            ranker.model_.save(tmp_path, steps=trees)

    writer = threading.Thread(target=write)
    writer.start()
    seen = [len(rf.load(tmp_path).model_.trees)]
    while writer.is_alive():
        seen.append(len(rf.load(tmp_path).model_.trees))
    writer.join()
    assert seen == sorted(seen)
    assert len(set(seen)) > 2  # else they did not meet
