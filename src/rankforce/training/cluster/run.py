"""Training on a cluster, as its client sees it: data is shared out, and one model comes back.

Every wait is bounded: by what workers, their processes and Dask's scheduler say of each other.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import pickle
import queue
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice
from rankforce.common.notes import note
from rankforce.models.load import load_model
from rankforce.models.model import Model
from rankforce.training.callbacks.theirs import Wish
from rankforce.training.cluster.crew import TICK_S, Crew
from rankforce.training.cluster.deal import deal
from rankforce.training.cluster.given import Given
from rankforce.training.cluster.library import is_open, open_client
from rankforce.training.cluster.messages import (
    CANCELLED,
    DONE,
    DOOR,
    FAILURE,
    NOTE,
    NOW,
    SAY,
    Assignment,
    Outcome,
    Part,
)
from rankforce.training.cluster.task import remove, run_member
from rankforce.training.cluster.versions import find_workers
from rankforce.training.settings import Settings

START_S = 300.0  # in which workers have to begin: they may be busy with other tasks
BLAME_S = 3.0  # in which the worker that is to blame tells, once another one has failed


def fit_on_cluster(
    settings: Settings, sets: Sequence[Given], *, base: Any, wish: Wish, callbacks: Sequence[Any]
) -> Model:
    """Train on the workers of `settings.cluster`; the training set comes first."""
    check_settings(settings, callbacks)
    settings, base = _for_elsewhere(settings, base)
    voice = Voice(settings.progress)
    with open_client(settings.cluster) as client:
        crew = Crew(client, find_workers(client))
        folder = f"rankforce-{secrets.token_hex(8)}"
        try:
            crew, parts = deal(crew, sets, folder, voice)
            return _train(crew, settings, parts, base, wish, folder, voice)
        finally:
            voice.end()
            if is_open(client):
                client.run(remove, folder, wait=False, on_error="ignore")


def check_settings(settings: Settings, callbacks: Sequence[Any]) -> None:
    """Refuse what is trained on one machine only."""
    lacking = {
        f"members={settings.members!r}": settings.members is not None,
        "callbacks": bool(callbacks),
    }
    for what, is_asked in lacking.items():
        if is_asked:
            raise RankforceError(f"{what} does not go with a cluster: leave one of them out")


def _for_elsewhere(settings: Settings, base: Any) -> tuple[Settings, Any]:
    """Settings and a base that mean the same in another folder and on another machine."""
    if settings.checkpoint is not None:
        place = Path(settings.checkpoint).absolute()
        settings = dataclasses.replace(settings, checkpoint=place)
    if isinstance(base, (str, os.PathLike)) and base != "regressor":
        base = load_model(Path(base), checks_base=False)
    return settings, base


def _train(
    crew: Crew,
    settings: Settings,
    parts: Sequence[list[Part]],
    base: Any,
    wish: Wish,
    folder: str,
    voice: Voice,
) -> Model:
    """Have every worker train; the model of the first."""
    crew.wait_until_free(START_S)
    token = secrets.token_bytes(32)
    hosts = [(worker.host, 0) for worker in crew.workers]
    pack: Any = importlib.import_module("cloudpickle")

    def assignment(rank: int, addresses: list[tuple[str, int]]) -> bytes:
        threads = settings.threads or crew.workers[rank].threads
        own = dataclasses.replace(settings, cluster=None, threads=threads)
        packed: bytes = pack.dumps(
            Assignment(own, base, wish, parts[rank], rank, addresses, token), protocol=5
        )
        return packed

    run = _Run(crew, folder, voice)
    with run.heard():
        run.start(0, assignment(0, hosts))
        port = run.wait_for_door()
        for rank in range(1, len(crew)):
            run.start(rank, assignment(rank, [(hosts[0][0], port), *hosts[1:]]))
        return run.wait()


class _Run:
    """Tasks of a run, and what is heard of them."""

    def __init__(self, crew: Crew, folder: str, voice: Voice) -> None:
        self._crew, self._folder, self._voice = crew, folder, voice
        self._messages: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._tasks: list[Any] = []
        self._door: int | None = None
        self._noted: set[str] = set()

    @contextmanager
    def heard(self) -> Iterator[None]:
        """While it is open, messages come in; afterwards no task is left."""
        client = self._crew.client
        client.subscribe_topic(self._folder, lambda event: self._messages.put(event[1]))
        try:
            yield
        finally:
            if is_open(client):
                left = [task for task in self._tasks if task.status == "pending"]
                client.cancel(left, force=True)
                client.unsubscribe_topic(self._folder)

    def start(self, rank: int, assignment: bytes) -> None:
        """Have a worker train."""
        worker = self._crew.workers[rank]
        place = f"{worker.folder}/{self._folder}"
        sent = self._crew.client.scatter(assignment, workers=[worker.address], hash=False)
        key = f"{self._folder}-{rank}"
        self._tasks.append(
            self._crew.submit(rank, run_member, sent, place, self._folder, worker.id, key=key)
        )

    def wait_for_door(self) -> int:
        """The port at which the first worker waits for the others."""
        latest = time.monotonic() + START_S
        while self._door is None:
            self._look()
            if time.monotonic() > latest:
                address = self._crew.addresses[0]
                raise RankforceError(f"worker {address} has not begun for {START_S:g} s")
        return self._door

    def wait(self) -> Model:
        """The model, when all are done."""
        while any(task.status == "pending" for task in self._tasks):
            self._look()
        self._look()
        outcome: Outcome = self._tasks[0].result()
        assert outcome.model is not None
        model: Model = pickle.loads(outcome.model)
        return model

    def _look(self) -> None:
        """Pass on what workers say; an error if one of them cannot go on."""
        self._pass_on(TICK_S)
        failed = self._failed()
        if failed:
            self._blame()
        self._crew.check()

    def _pass_on(self, seconds: float) -> None:
        try:
            message = self._messages.get(timeout=seconds)
        except queue.Empty:
            return
        self._hear(message)
        while not self._messages.empty():
            self._hear(self._messages.get())

    def _hear(self, message: dict[str, Any]) -> None:
        kind, text = message["kind"], message.get("text", "")
        if kind == DOOR:
            self._door = message["port"]
        elif kind == SAY:
            self._voice.say(text)
        elif kind == NOW:
            self._voice.for_now(text, always=message["always"])
        elif kind == NOTE and text not in self._noted:
            self._noted.add(text)
            note(text)

    def _failed(self) -> list[tuple[str, Outcome]]:
        """Workers that ended without having done their part, and how."""
        found = []
        self._crew.check_tasks(self._tasks)
        for worker, task in zip(self._crew.workers, self._tasks, strict=False):
            if task.status == "finished":
                outcome: Outcome = task.result()
                if outcome.kind != DONE:
                    found.append((worker.address, outcome))
        return found

    def _blame(self) -> None:
        """Raise the error of the worker that went wrong first, not of one that lost it."""
        latest = time.monotonic() + BLAME_S
        while time.monotonic() < latest and not any(o.is_cause for _, o in self._failed()):
            self._pass_on(TICK_S)
            self._crew.check()
        failed = sorted(self._failed(), key=lambda one: not one[1].is_cause)
        address, outcome = failed[0]
        if outcome.kind == CANCELLED:
            raise RankforceError(f"worker {address} was told to stop: by whom is not known")
        if outcome.kind == FAILURE and "\n" in outcome.text:
            raise RuntimeError(f"worker {address}: {outcome.text}")
        raise RankforceError(f"worker {address}: {outcome.text}")
