"""Send metrics and diagnostics of a run to TensorBoard, MLflow or an object of one's own."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from rankforce.common.checks import check_choice, listed
from rankforce.common.errors import RankforceError

PLACES = {
    "tensorboard": ("folder",),
    "mlflow": ("experiment", "run_name", "run_id", "tracking_uri"),
}


class Point(NamedTuple):
    """A value at a number of trees, or epochs."""

    name: str
    value: float
    step: int


def need(module: str) -> Any:
    """A module of an optional package; a missing one is a mistake in one line."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise RankforceError(f"log_to needs {package}: pip install {package}") from None


def show_setting(value: Any) -> str:
    """A setting as text."""
    return value if isinstance(value, str) else json.dumps(value)


class Sink(Protocol):
    """Where values go."""

    def begin(self, settings: dict[str, Any], done: int) -> int:
        """A run begins, or goes on behind `done` steps; the answer is the first step to send."""
        ...

    def send(self, points: Sequence[Point]) -> None:
        """Write some values so that they survive a crash."""
        ...

    def end(self, status: str) -> None:
        """The run is "FINISHED", "KILLED" (by Ctrl-C) or "FAILED"."""
        ...


def log_to(
    where: Any,
    *,
    folder: str | Path | None = None,
    experiment: str | None = None,
    run_name: str | None = None,
    run_id: str | None = None,
    tracking_uri: str | None = None,
) -> LogTo:
    """A callback that logs metrics, settings, and what an `rf.Recorder` before it records.

    `where` is "tensorboard" (into `folder`), "mlflow" (the active run, that of `run_id`, or a new
    one of `experiment`, called `run_name`, at `tracking_uri`), or an object with
    `log(name, value, step)`. Names are "valid_0/ndcg@10" and "incoherence/restricted" (in MLflow,
    which has no @, "valid_0/ndcg_at_10"); a step is a number of trees, or epochs of a network.

    Every value is logged once. A run that goes on from its checkpoint goes on in its folder, and in
    its MLflow run if that is active or given by `run_id`; a new one gets all values from the first
    tree or epoch on. An object of one's own gets those of new ones only.

    The run ends with training, be it finished, interrupted or failed; nothing is lost if it never
    ends.

    >>> import rankforce as rf
    >>> class Printer:
    ...     def log(self, name: str, value: float, step: int) -> None:
    ...         print(name, step)
    >>> train, valid = (rf.make_data("yahoo", queries=20, seed=seed) for seed in (1, 2))
    >>> ranker = rf.Ranker(n_estimators=2, k=5, progress=False)
    >>> with rf.log_to(Printer()) as log:
    ...     _ = ranker.fit(train, eval_set=[valid], callbacks=[log])
    valid_0/ndcg@5 1
    valid_0/ndcg@5 2
    """
    options: dict[str, Any] = {
        "folder": folder,
        "experiment": experiment,
        "run_name": run_name,
        "run_id": run_id,
        "tracking_uri": tracking_uri,
    }
    given = {name: value for name, value in options.items() if value is not None}
    return LogTo(_make_sink(where, given))


def _make_sink(where: Any, given: dict[str, Any]) -> Sink:
    if not isinstance(where, str):
        if not callable(getattr(where, "log", None)):
            choices = "'tensorboard', 'mlflow' or an object with log(name, value, step)"
            raise RankforceError(f"where is {where!r}: choose {choices}")
        if given:
            raise RankforceError(f"{next(iter(given))}= does not go with an object of one's own")
        return _Own(where)
    place = check_choice("where", where, PLACES)
    for name in given:
        if name not in PLACES[place]:
            raise RankforceError(
                f"{name}= does not go with {place!r}: choose {listed(PLACES[place])}"
            )
    if place == "mlflow":
        from rankforce.training.callbacks.log_mlflow import MLflow

        return MLflow(**given)
    from rankforce.training.callbacks.log_tensorboard import TensorBoard

    return TensorBoard(**given)


class LogTo:
    """The callback that :func:`log_to` makes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._model: Any = None  # of the run that goes on
        self._first = 1
        self._sent: dict[str, int] = {}  # number of values of each diagnostic

    def __call__(self, moment: Any) -> None:
        """After each tree or epoch."""
        if moment.iteration == moment.begin_iteration or self._model is None:
            self._begin(moment)
        step = moment.iteration + 1
        found = [
            Point(f"{one.dataset_name}/{one.metric_name}", one.metric_value, step)
            for one in moment.evaluation_result_list
        ]
        self._sink.send(found + self._diagnostics())

    def see_end(self, status: str) -> None:
        """When training ends, in whichever way."""
        if self._model is None:
            return
        self._sink.send(self._diagnostics())
        self._sink.end(status)
        self._model = None

    def close(self) -> None:
        """Nothing is left to do: a run of ours ends with training."""

    def __enter__(self) -> LogTo:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _begin(self, moment: Any) -> None:
        done = moment.begin_iteration
        self._first = self._sink.begin(moment.params, done)
        self._model, self._sent = moment.model, {}
        earlier = [
            Point(f"{name}/{metric}", value, step)
            for name, metrics in moment.model.history.items()
            for metric, values in metrics.items()
            for step, value in enumerate(values[:done], start=1)
        ]
        self._sink.send([point for point in earlier if point.step >= self._first])

    def _diagnostics(self) -> list[Point]:
        """Those that have come since the last time."""
        curves = self._model.diagnostics
        found: list[Point] = []
        for name, own in ({} if curves is None else curves.series).items():
            for key, values in own.items():
                title = f"{name}/{key}"
                start = self._sent.get(title, 0)
                self._sent[title] = max(len(values), start)
                fresh = zip(curves.steps[start:], values[start:], strict=True)
                found += [Point(title, value, step) for step, value in fresh]
        return [point for point in found if point.step >= self._first]


class _Own:
    """An object with `log(name, value, step)`."""

    def __init__(self, place: Any) -> None:
        self._place = place

    def begin(self, settings: dict[str, Any], done: int) -> int:
        return done + 1

    def send(self, points: Sequence[Point]) -> None:
        for point in points:
            self._place.log(*point)

    def end(self, status: str) -> None:
        """Nothing: the object is the caller's."""
