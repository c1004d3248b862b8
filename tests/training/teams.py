"""Workers that train together, as real processes or as threads, for tests."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

import rankforce as rf
from rankforce.common.links import open_door
from rankforce.common.team import join_team
from rankforce.models.model import Model
from rankforce.training.loop import fit
from rankforce.training.run import ScoredSet

HOST = "127.0.0.1"
QUERIES, VALID = 24, 9


def make_sets() -> tuple[rf.RankingData, rf.RankingData]:
    """A training set, and another one."""
    made = rf.make_data("mslr", queries=QUERIES + VALID)
    both = rf.RankingData(made.features[:, 100:116], made.labels, qid=made.index.of_rows() + 1)
    return both.take_queries(np.arange(QUERIES)), both.take_queries(
        np.arange(QUERIES, QUERIES + VALID)
    )


def cut(data: rf.RankingData, size: int) -> list[rf.RankingData]:
    """Consecutive queries for each worker."""
    parts = np.array_split(np.arange(len(data.sizes)), size)
    return [data.take_queries(part) for part in parts]


def train_part(team: Any, settings: dict[str, Any], more: dict[str, Any] | None = None) -> Model:
    """What one worker does."""
    train, valid = (cut(data, team.size)[team.rank] for data in make_sets())
    made = rf.Ranker(progress=False, threads=1, **settings).settings()
    sets = [ScoredSet("valid", valid)]
    return fit(made, ScoredSet("training", train), sets, team=team, **more or {})


def told(model: Model) -> dict[str, Any]:
    """What must be the same at all workers, and alone."""
    return {
        "text": model.text(),
        "history": model.history,
        "best": model.best_iteration,
        "used": model.used,
        "data": model.data,
    }


def in_threads(size: int, work: Callable[[Any], Any], *, timeout: float = 20.0) -> list[Any]:
    """What `work` of the team gives at each of the workers, or the error that it ends with."""
    door = open_door(HOST)
    addresses = [door.getsockname()[:2], *[(HOST, 0)] * (size - 1)]

    def run(rank: int) -> Any:
        own = door if rank == 0 else None
        try:
            with join_team(rank, addresses, token=b"t", timeout=timeout, door=own) as team:
                return work(team)
        except (rf.RankforceError, KeyboardInterrupt) as error:
            return error

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, range(size)))


def _serve(pipe: Any) -> None:
    """A process that trains its part of what it is told, again and again."""
    while True:
        task = pipe.recv()
        if task is None:
            return
        rank, size, port, timeout, settings = task
        addresses = [(HOST, port), *[(HOST, 0)] * (size - 1)]
        try:
            with join_team(rank, addresses, token=b"t", timeout=timeout, patience=60.0) as team:
                pipe.send(told(train_part(team, settings)))
        except rf.RankforceError as error:
            pipe.send(str(error))


class Workers:
    """Processes that train together."""

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        pipes = [context.Pipe() for _ in range(count)]
        self.pipes = [here for here, _ in pipes]
        self.processes = [
            context.Process(target=_serve, args=(there,), daemon=True) for _, there in pipes
        ]
        for process in self.processes:
            process.start()

    def start(self, size: int, timeout: float = 90.0, **settings: Any) -> None:
        """Let the first so many train."""
        door = open_door(HOST)
        port = door.getsockname()[1]
        door.close()
        for rank in range(size):
            self.pipes[rank].send((rank, size, port, timeout, settings))

    def answers(self, ranks: Sequence[int], seconds: float = 300.0) -> list[Any]:
        """What they found."""
        latest = time.monotonic() + seconds
        for rank in ranks:
            assert self.pipes[rank].poll(max(latest - time.monotonic(), 0.0)), f"{rank} is silent"
        return [self.pipes[rank].recv() for rank in ranks]

    def signal(self, rank: int, which: signal.Signals) -> None:
        """Kill one, or freeze it."""
        number = self.processes[rank].pid
        assert number is not None
        os.kill(number, which)

    def end(self) -> None:
        """End them all."""
        for process in self.processes:
            process.kill()
            process.join(10.0)


@contextmanager
def workers(count: int) -> Iterator[Workers]:
    """Processes that are there for a while."""
    found = Workers(count)
    try:
        yield found
    finally:
        found.end()
