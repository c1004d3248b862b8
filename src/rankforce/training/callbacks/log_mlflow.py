"""Logs for MLflow."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.training.callbacks.log_to import Point, need, show_setting

LONGEST = 6000  # characters of a parameter that MLflow takes
MANY = 500  # values sent at once: half of what it takes


class MLflow:
    """A run of MLflow: the active one, one by its id, or a new one."""

    def __init__(
        self,
        experiment: str | None = None,
        run_name: str | None = None,
        run_id: str | None = None,
        tracking_uri: str | None = None,
    ) -> None:
        self._mlflow, self._entities = need("mlflow"), need("mlflow.entities")
        self._client = self._mlflow.MlflowClient(tracking_uri=tracking_uri)
        self._experiment, self._run_name = experiment, run_name
        self._given, self._uri = run_id, tracking_uri
        self._run = ""
        self._is_ours = False
        self._known: dict[str, set[int]] | None = None  # steps that the run has already

    def begin(self, settings: dict[str, Any], done: int) -> int:
        """Find the run or make it, and log the settings that it does not have yet."""
        active = self._active()
        self._is_ours = active is None
        self._run = active or self._given or self._create()
        if self._given:
            self._client.update_run(self._run, status="RUNNING")
        self._known = {} if done or self._given else None
        # A run keeps the parameters that it began with: MLflow refuses others.
        has = self._client.get_run(self._run).data.params
        fresh = {_name(name): show_setting(value)[:LONGEST] for name, value in settings.items()}
        make = self._entities.Param
        params = [make(name, value) for name, value in fresh.items() if name not in has]
        self._client.log_batch(self._run, params=params)
        return 1

    def send(self, points: Sequence[Point]) -> None:
        """Log what the run does not have yet."""
        now = int(time.time() * 1000)
        make = self._entities.Metric
        named = [point._replace(name=_name(point.name)) for point in points]
        metrics = [make(name, value, now, step) for name, value, step in self._unknown(named)]
        for start in range(0, len(metrics), MANY):
            self._client.log_batch(self._run, metrics=metrics[start : start + MANY])

    def end(self, status: str) -> None:
        """End a run that was not active before."""
        if self._is_ours:
            self._client.set_terminated(self._run, status)

    def _unknown(self, points: Sequence[Point]) -> list[Point]:
        if self._known is None:
            return list(points)
        for name in {point.name for point in points} - {*self._known}:
            history = self._client.get_metric_history(self._run, name)
            self._known[name] = {one.step for one in history}
        return [point for point in points if point.step not in self._known[point.name]]

    def _active(self) -> str | None:
        run = self._mlflow.active_run()
        if run is None or self._uri not in (None, self._mlflow.get_tracking_uri()):
            return None
        if self._given is not None:
            return self._given if self._given == run.info.run_id else None
        for name, value in (("experiment", self._experiment), ("run_name", self._run_name)):
            if value is not None:
                raise RankforceError(
                    f"{name}= is for a new run of MLflow, but one is active already"
                )
        return str(run.info.run_id)

    def _create(self) -> str:
        """A new run, in the experiment that was asked for or that MLflow is set to."""
        number = os.environ.get("MLFLOW_EXPERIMENT_ID", "0")
        name = self._experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME")
        if name is not None:
            found = self._client.get_experiment_by_name(name)
            number = self._client.create_experiment(name) if found is None else found.experiment_id
        return str(self._client.create_run(number, run_name=self._run_name).info.run_id)


def _name(name: str) -> str:
    """A name as MLflow takes it, and writes metrics of LightGBM itself.

    >>> _name("valid_0/cndcg@3(source=click)")
    'valid_0/cndcg_at_3_source_click_'
    """
    return re.sub(r"[^\w.\- /:]", "_", name.replace("@", "_at_"))
