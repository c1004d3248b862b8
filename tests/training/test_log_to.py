"""Logs hold every value once, as the real libraries read them, however a run begins and ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf

Values = dict[str, list[tuple[int, float]]]
SETTINGS = {"k": 5, "num_leaves": 4, "seed": 3, "progress": False, "threads": 1}


class Memory:
    def __init__(self) -> None:
        self.points: list[tuple[str, float, int]] = []

    def log(self, name: str, value: float, step: int) -> None:
        self.points.append((name, value, step))

    def values(self) -> Values:
        found: Values = {}
        for name, value, step in self.points:
            found.setdefault(name, []).append((step, value))
        return found


class CrashError(Exception):
    pass


def stop_at(tree: int, error: type[BaseException]) -> Any:
    def callback(moment: Any) -> None:
        if moment.iteration + 1 == tree:
            raise error

    return callback


@pytest.fixture(scope="module")
def data() -> tuple[rf.RankingData, rf.RankingData]:
    return rf.make_data("yahoo", queries=25, seed=0), rf.make_data("yahoo", queries=25, seed=1)


def train(data: Any, *callbacks: Any, trees: int = 5, record: bool = True, **more: Any) -> Any:
    """A run that is watched, with a recorder before the callbacks."""
    recorder = rf.Recorder(["incoherence", "pairs", "label_mix"], every=2, metrics="ndcg@3")
    train_set, valid = data
    ranker = rf.Ranker("lambdarank-ndcg", n_estimators=trees, **SETTINGS, **more)
    return ranker.fit(
        train_set,
        eval_set=[train_set, valid],
        eval_names=["own", "other"],
        eval_metric="ndcg@5,p@5",
        callbacks=[recorder, *callbacks] if record else [*callbacks],
    )


def expected(model: Any, last: int | None = None) -> Values:
    """Everything that a model knows of its run, under the names of the log."""
    found: Values = {}
    for name, metrics in model.history.items():
        for metric, values in metrics.items():
            found[f"{name}/{metric}"] = list(enumerate(values[:last], start=1))
    for name, own in model.diagnostics.series.items():
        for key, values in own.items():
            found[f"{name}/{key}"] = list(zip(model.diagnostics.trees, values, strict=True))
    return found


def in_tensorboard(folder: Path) -> Values:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
    tags = events.Tags()["scalars"]
    return {tag: [(one.step, one.value) for one in events.Scalars(tag)] for tag in tags}


def single(values: Values) -> Values:
    """TensorBoard keeps single precision."""
    return {
        name: [(step, float(np.float32(value))) for step, value in own]
        for name, own in values.items()
    }


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where MLflow keeps its runs: plain files, which it only does when asked to."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    for name in ("MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_RUN_ID"):
        monkeypatch.delenv(name, raising=False)
    return (tmp_path / "mlruns").as_uri()


def runs_of(store: str, experiment: str = "Default") -> list[Any]:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=store)
    found = client.get_experiment_by_name(experiment)
    return sorted(client.search_runs([found.experiment_id]), key=lambda run: run.info.start_time)


def in_mlflow(store: str, run: Any) -> Values:
    import mlflow

    client = mlflow.MlflowClient(tracking_uri=store)
    found = {}
    for name in client.get_run(run.info.run_id).data.metrics:
        history = client.get_metric_history(run.info.run_id, name)
        found[name] = sorted((one.step, one.value) for one in history)
    return found


def named(values: Values) -> Values:
    """The names of MLflow, which has no @."""
    return {name.replace("@", "_at_"): own for name, own in values.items()}


def test_an_object_of_ones_own_gets_every_value_once(data: Any) -> None:
    memory = Memory()
    ranker = train(data, rf.log_to(memory))
    assert memory.values() == expected(ranker.model_)
    assert memory.values()["other/p@5"][-1][0] == 5
    assert [step for step, _ in memory.values()["incoherence/restricted"]] == [1, 3, 5]
    steps = [step for _, _, step in memory.points]
    assert steps == sorted(steps)  # as they come, not at the end


def test_without_a_recorder_there_are_metrics_only(data: Any) -> None:
    memory = Memory()
    train(data, rf.log_to(memory), record=False)
    assert {*memory.values()} == {"own/ndcg@5", "own/p@5", "other/ndcg@5", "other/p@5"}


def test_tensorboard_reads_what_was_logged(data: Any, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    ranker = train(data, rf.log_to("tensorboard", folder=tmp_path / "log"))
    assert in_tensorboard(tmp_path / "log") == single(expected(ranker.model_))
    events = EventAccumulator(str(tmp_path / "log")).Reload()
    assert events.Tags()["tensors"] == ["settings"]
    (settings,) = events.Tensors("settings")
    text = settings.tensor_proto.string_val[0].decode()
    assert "| objective | LambdaRank-NDCG |" in text
    assert "| num_leaves | 4 |" in text
    assert events.summary_metadata["settings"].plugin_data.plugin_name == "text"


def test_a_new_run_in_an_old_folder_takes_its_place(data: Any, tmp_path: Path) -> None:
    train(data, rf.log_to("tensorboard", folder=tmp_path), trees=6)
    ranker = train(data, rf.log_to("tensorboard", folder=tmp_path), trees=3, learning_rate=0.5)
    assert in_tensorboard(tmp_path) == single(expected(ranker.model_))


def test_mlflow_reads_what_was_logged(data: Any, store: str) -> None:
    where = {"experiment": "ranking", "run_name": "first", "tracking_uri": store}
    ranker = train(data, rf.log_to("mlflow", **where))
    (run,) = runs_of(store, "ranking")
    assert in_mlflow(store, run) == named(expected(ranker.model_))
    assert run.info.run_name == "first"
    assert run.info.status == "FINISHED"
    params = {name: str(value) for name, value in ranker.model_.parameters.items()}
    assert run.data.params["objective"] == "LambdaRank-NDCG"
    assert run.data.params["num_leaves"] == params["num_leaves"] == "4"
    assert {*run.data.params} == {*params}


def test_an_active_run_of_mlflow_is_used_and_stays_active(data: Any, store: str) -> None:
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(store)
    try:
        with mlflow.start_run() as run:
            ranker = train(data, rf.log_to("mlflow"))
            assert mlflow.active_run().info.run_id == run.info.run_id
            with pytest.raises(ValueError, match="run_name= is for a new run of MLflow"):
                train(data, rf.log_to("mlflow", run_name="other"))
    finally:
        mlflow.set_tracking_uri(before)
    (only,) = runs_of(store)
    assert only.info.run_id == run.info.run_id
    assert in_mlflow(store, run) == named(expected(ranker.model_))


def crashed(data: Any, log: Any, place: Path) -> None:
    """A run that dies behind tree 5, and has a checkpoint of 4 trees."""
    with pytest.raises(CrashError):
        train(data, log, stop_at(5, CrashError), trees=8, checkpoint=place, checkpoint_every=2)


def test_a_run_that_is_taken_up_goes_on_in_its_folder(data: Any, tmp_path: Path) -> None:
    place, folder = tmp_path / "part", tmp_path / "log"
    crashed(data, rf.log_to("tensorboard", folder=folder), place)
    assert [step for step, _ in in_tensorboard(folder)["own/ndcg@5"]] == [1, 2, 3, 4, 5]
    ranker = train(data, rf.log_to("tensorboard", folder=folder), trees=8, checkpoint=place)
    assert ranker.model_.history == train(data, trees=8).model_.history
    assert in_tensorboard(folder) == single(expected(ranker.model_))


def test_a_run_that_is_taken_up_goes_on_in_its_mlflow_run(data: Any, store: str, tmp_path) -> None:
    place = tmp_path / "part"
    with pytest.raises(CrashError), rf.log_to("mlflow", tracking_uri=store) as log:
        train(data, log, stop_at(5, CrashError), trees=8, checkpoint=place, checkpoint_every=2)
    (run,) = runs_of(store)
    assert run.info.status == "FAILED"
    log = rf.log_to("mlflow", tracking_uri=store, run_id=run.info.run_id)
    ranker = train(data, log, trees=8, checkpoint=place)
    (run,) = runs_of(store)
    assert run.info.status == "FINISHED"
    assert in_mlflow(store, run) == named(expected(ranker.model_))
    assert run.data.params["n_estimators"] == "8"


def test_a_run_that_is_taken_up_is_whole_in_a_new_place(data: Any, store: str, tmp_path) -> None:
    place = tmp_path / "part"
    crashed(data, stop_at(9, CrashError), place)
    logs = [
        rf.log_to("mlflow", tracking_uri=store),
        rf.log_to("tensorboard", folder=tmp_path / "log"),
    ]
    ranker = train(data, *logs, trees=8, checkpoint=place)
    (run,) = runs_of(store)
    assert in_mlflow(store, run) == named(expected(ranker.model_))
    assert in_tensorboard(tmp_path / "log") == single(expected(ranker.model_))


def test_an_object_of_ones_own_gets_new_trees_only(data: Any, tmp_path: Path) -> None:
    memory, place = Memory(), tmp_path / "part"
    train(data, rf.log_to(memory), trees=3, checkpoint=place)
    first = len(memory.points)
    ranker = train(data, rf.log_to(memory), trees=7, checkpoint=place)
    assert min(step for _, _, step in memory.points[first:]) == 4
    assert memory.values() == expected(ranker.model_)


def test_values_are_on_disk_after_each_tree(data: Any, store: str, tmp_path: Path) -> None:
    seen = []

    def look(moment: Any) -> None:
        (run,) = runs_of(store)
        assert run.info.status == "RUNNING"
        wanted = expected(moment.model)
        assert in_mlflow(store, run) == named(wanted)
        assert in_tensorboard(tmp_path / "log") == single(wanted)
        seen.append(moment.iteration)

    logs = [
        rf.log_to("mlflow", tracking_uri=store),
        rf.log_to("tensorboard", folder=tmp_path / "log"),
    ]
    train(data, *logs, look, trees=4)
    assert seen == [0, 1, 2, 3]
    assert [run.info.status for run in runs_of(store)] == ["FINISHED"]


def test_early_stopping_ends_the_run(data: Any, store: str) -> None:
    stopping = {"early_stopping_rounds": 2, "learning_rate": 1.0}
    ranker = train(data, rf.log_to("mlflow", tracking_uri=store), trees=60, **stopping)
    (run,) = runs_of(store)
    assert len(ranker.model_.trees) < 60
    assert run.info.status == "FINISHED"
    # The recorder looks at the last tree of all, which there is not.
    assert in_mlflow(store, run) == named(expected(ranker.model_))


def test_an_interrupted_run_ends_and_keeps_its_values(data: Any, store: str) -> None:
    with rf.log_to("mlflow", tracking_uri=store) as log:
        ranker = train(data, log, stop_at(3, KeyboardInterrupt))
    (run,) = runs_of(store)
    assert len(ranker.model_.trees) == 3
    assert run.info.status == "KILLED"
    assert in_mlflow(store, run) == named(expected(ranker.model_))


def test_one_callback_logs_several_runs(data: Any, store: str) -> None:
    log = rf.log_to("mlflow", tracking_uri=store)
    first = train(data, log, stop_at(2, KeyboardInterrupt))
    second = train(data, log, trees=4)
    found = runs_of(store)
    assert [run.info.status for run in found] == ["KILLED", "FINISHED"]
    for run, ranker in zip(found, (first, second), strict=True):
        assert in_mlflow(store, run) == named(expected(ranker.model_))


def test_close_ends_a_run_and_may_come_twice(data: Any, tmp_path: Path) -> None:
    log = rf.log_to("tensorboard", folder=tmp_path)
    ranker = train(data, log, stop_at(3, KeyboardInterrupt))
    log.close()
    log.close()
    assert in_tensorboard(tmp_path) == single(expected(ranker.model_))


@pytest.mark.parametrize(
    ("where", "options", "message"),
    [
        ("wandb", {}, "where is 'wandb': choose 'tensorboard' or 'mlflow'"),
        (3, {}, "where is 3: choose 'tensorboard', 'mlflow' or an object with log"),
        ("tensorboard", {}, "TensorBoard reads a folder: give folder="),
        ("tensorboard", {"folder": __file__}, "which is a file: give a folder"),
        ("mlflow", {"folder": "a"}, "folder= does not go with 'mlflow': choose 'experiment', "),
        (Memory(), {"run_id": "a"}, "run_id= does not go with an object of one's own"),
    ],
)
def test_a_mistake_says_what_is_wrong(where: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        rf.log_to(where, **options)


@pytest.mark.parametrize("package", ["tensorboard", "mlflow"])
def test_a_missing_package_is_one_line(package: str) -> None:
    options = {"tensorboard": ", folder='log'", "mlflow": ""}[package]
    code = (
        f"import sys; sys.modules['{package}'] = None\n"
        "import rankforce as rf\n"
        "class Place:\n"
        "    def log(self, name, value, step): pass\n"
        "rf.log_to(Place())\n"
        f"try: rf.log_to('{package}'{options})\n"
        "except ValueError as error: print(error)\n"
    )
    command = [sys.executable, "-c", code]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    assert answer.stdout == f"log_to needs {package}: pip install {package}\n"
