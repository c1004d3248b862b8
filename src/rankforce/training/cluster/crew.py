"""The workers of a run, and waiting for them: one that is gone or silent ends the wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.training.cluster.versions import Worker

TICK_S = 0.1  # between two looks at tasks
LOOK_S = 1.0  # between two looks at workers
SILENT_S = 45.0  # without a sign of life: workers give one every few seconds


class Crew:
    """Workers, in order of their ranks."""

    def __init__(self, client: Any, workers: Sequence[Worker]) -> None:
        self.client, self.workers = client, list(workers)
        self._heard = {worker.address: (0.0, time.monotonic()) for worker in workers}
        self._next = 0.0

    def __len__(self) -> int:
        return len(self.workers)

    def first(self, count: int) -> Crew:
        """The first so many of them."""
        return Crew(self.client, self.workers[:count])

    def submit(self, rank: int, function: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Have a worker, and no other, call a function, once."""
        where = [self.workers[rank].address]
        return self.client.submit(
            function, *arguments, workers=where, allow_other_workers=False, retries=0, pure=False,
            priority=10, **more,
        )  # fmt: skip

    def on_any(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have the worker that has the arguments, or another one, call a function."""
        return self.client.submit(function, *arguments, workers=self.addresses, pure=False)

    @property
    def addresses(self) -> list[str]:
        """Where they are."""
        return [worker.address for worker in self.workers]

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        """The results of all of these, or an error as soon as one of them cannot come."""
        while any(future.status == "pending" for future in futures):
            self.check()
            self.check_tasks(futures)
            time.sleep(TICK_S)
        self.check_tasks(futures)
        found: list[Any] = self.client.gather(list(futures))
        return found

    def wait_until_free(self, seconds: float) -> None:
        """Wait until every worker takes a task, so many seconds at most."""
        tasks = [self.submit(rank, bool) for rank in range(len(self))]
        latest = time.monotonic() + seconds
        while busy := [n for n, task in enumerate(tasks) if task.status == "pending"]:
            self.check()
            self.check_tasks(tasks)
            if time.monotonic() > latest:
                address = self.addresses[busy[0]]
                raise RankforceError(
                    f"worker {address} has been busy with other tasks for {seconds:g} s"
                )
            time.sleep(TICK_S)

    def check_tasks(self, futures: Sequence[Any]) -> None:
        """Refuse to wait for what went wrong, or was dropped with a worker that is gone."""
        if any(future.status not in ("pending", "finished", "error") for future in futures):
            self.check(at_once=True)
        for future in futures:
            check_future(future)

    def check(self, *, at_once: bool = False) -> None:
        """Refuse to wait for a worker that is gone, or of which nothing is heard.

        The scheduler is asked once a second, or `at_once`.
        """
        now = time.monotonic()
        if now < self._next and not at_once:
            return
        self._next = now + LOOK_S
        try:
            there = self.client.scheduler_info(n_workers=-1)["workers"]
        except TypeError:  # before Dask 2025.2 all workers were told of
            there = self.client.scheduler_info()["workers"]
        except (OSError, ValueError, RuntimeError) as error:
            raise RankforceError(f"the scheduler of the cluster is gone: {error}") from None
        for address in self.addresses:
            if address not in there:
                raise RankforceError(
                    f"worker {address} is gone: it ended, was killed, or is cut off"
                )
            seen = float(there[address].get("last_seen", now))
            if seen != self._heard[address][0]:
                self._heard[address] = seen, now
            elif now - self._heard[address][1] > SILENT_S:
                raise RankforceError(
                    f"worker {address} has not been heard of for {SILENT_S:g} s: it is frozen, or "
                    "the network is down"
                )


def check_future(future: Any) -> None:
    """Refuse to wait for what went wrong."""
    status = future.status
    if status in ("pending", "finished"):
        return
    if status != "error":
        raise RankforceError(f"the cluster has {status} a task: is its scheduler still there?")
    error = future.exception()
    if type(error).__name__ == "KilledWorker":
        raise RankforceError(f"workers were killed, one after the other: {error}")
    if isinstance(error, RankforceError):
        raise error
    reason = str(error).partition("\n")[0]
    raise RankforceError(
        f"a task on the cluster failed: {type(error).__name__}: {reason}"
    ) from error
