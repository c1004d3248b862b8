"""Threads for tasks, which Ctrl-C may interrupt anywhere.

KeyboardInterrupt comes between any two steps of the main thread. Inside `concurrent.futures` and
`threading` it can leave a lock held that a worker then waits for, and the program waits for the
worker. Here the main thread takes steps that are whole or not done at all, and no lock is shared.
"""

from __future__ import annotations

import _thread
import contextlib
import functools
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

Answer = TypeVar("Answer")


class Task(Generic[Answer]):
    """A call that a thread makes, once, and its answer."""

    def __init__(self, call: Callable[[], Answer]) -> None:
        self._calls = [call]  # who pops it has it: the thread that makes it, or who drops it
        self._answers: list[Answer] = []
        self._error: BaseException | None = None
        self._is_done = False
        self._bell = threading.Lock()  # held until it is done
        self._bell.acquire()

    def run(self) -> None:
        """Make the call, if nobody has dropped it."""
        try:
            call = self._calls.pop()
        except IndexError:
            return
        try:
            self._answers.append(call())
        except BaseException as error:
            self._error = error
        self._is_done = True
        self._bell.release()

    def wait(self) -> None:
        """Until it is done, well or not."""
        if not self._is_done:
            self._bell.acquire()

    def result(self) -> Answer:
        """The answer, when it is there; what the call raised is raised again."""
        self.wait()
        if self._error is not None:
            try:
                raise self._error
            finally:
                del self  # the error knows this frame: what the task holds would stay with it
        return self._answers[0]

    def drop(self) -> bool:
        """See that nobody begins it any more; whether nobody had."""
        try:
            self._calls.pop()
        except IndexError:
            return False
        return True


class Pool:
    """A number of threads for tasks; they start with the first tasks.

    >>> with open_pool(2) as pool:
    ...     print(pool.map(abs, [-1, 2, -3]), pool.submit(max, 4, 5).result())
    [1, 2, 3] 5
    """

    def __init__(self, threads: int, name: str = "rankforce") -> None:
        self.threads, self.name = threads, name
        self._tasks: queue.SimpleQueue[Task[Any] | None] = queue.SimpleQueue()
        self._lives: list[Task[None]] = []  # of threads
        self._started = 0
        self._is_over = False

    def submit(self, call: Callable[..., Answer], *arguments: Any) -> Task[Answer]:
        """Have `call(*arguments)` made by the next thread that is free."""
        task = Task(functools.partial(call, *arguments))
        self._give(task)
        return task

    def map(self, call: Callable[[Any], Answer], items: Iterable[Any]) -> list[Answer]:
        """The answers for all items, in order; afterwards, also after an error, none still runs."""
        tasks = [Task(functools.partial(call, item)) for item in items]
        try:
            for task in tasks:
                self._give(task)
            return [task.result() for task in tasks]
        except BaseException:
            _drop(tasks)
            raise

    def end(self) -> None:
        """Begin nothing any more, and wait for what has begun."""
        self._is_over = True
        with contextlib.suppress(queue.Empty):
            while True:
                self._tasks.get_nowait()
        self._tasks.put(None)
        _drop(self._lives)

    def _give(self, task: Task[Any]) -> None:
        if self._is_over:
            raise RuntimeError(f"the pool of {self.threads} threads has ended")
        if self._started < self.threads:
            self._start()
        self._tasks.put(task)

    def _start(self) -> None:
        """Start a thread; interrupted, there may be one more than asked for, never one less."""
        life = Task(functools.partial(_serve, self._tasks))
        self._lives.append(life)
        name = f"{self.name}_{self._started}"
        thread = threading.Thread(target=life.run, name=name, daemon=True)
        # start() holds locks too: a bare thread, which Ctrl-C does not reach, calls it.
        start = Task(thread.start)
        _thread.start_new_thread(start.run, ())
        start.result()
        self._started += 1


def _drop(tasks: Iterable[Task[Any]]) -> None:
    """Have none of them begun any more, then wait for those that were."""
    begun = [task for task in tasks if not task.drop()]
    for task in begun:
        task.wait()


def _serve(tasks: queue.SimpleQueue[Task[Any] | None]) -> None:
    """The life of a thread: tasks, until it is told to end, which it tells the next."""
    while (task := tasks.get()) is not None:
        task.run()
        del task  # its answer may be large
    tasks.put(None)


@contextlib.contextmanager
def open_pool(threads: int, name: str = "rankforce") -> Iterator[Pool]:
    """A pool that ends with the block; tasks that nobody has begun then are left out."""
    pool = Pool(threads, name)
    try:
        yield pool
    finally:
        pool.end()
