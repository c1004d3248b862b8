"""What runs inside a Dask worker: it starts a process, and passes on what that says."""

from __future__ import annotations

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankforce.training.cluster.messages import (
    ASSIGNMENT,
    CANCELLED,
    DONE,
    ERROR,
    FAILURE,
    RESULT,
    Outcome,
)

ERRORS = "errors.txt"  # what a process wrote
LOOK_EVERY_S = 0.5  # whether the client still wants it
LINES = 20  # of what a process wrote before it ended


def run_member(assignment: bytes, folder: str, topic: str, worker_id: str) -> Outcome:
    """Train in a process of its own, until it ends or the client wants it no more."""
    from distributed import get_worker, secede

    worker = get_worker()
    key = worker.get_current_task()
    secede()  # others' tasks, and those of another run, need not wait
    if worker.id != worker_id:
        return Outcome(ERROR, "it was restarted before training began")
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    try:
        (place / ASSIGNMENT).write_bytes(assignment)
        with _started(place) as (process, lines):
            return _attend(process, lines, place, worker, key, topic)
    except OSError as error:
        return Outcome(ERROR, f"{error.filename or place}: {error.strerror or error}")
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _started(place: Path) -> Iterator[tuple[subprocess.Popen[str], queue.SimpleQueue[str | None]]]:
    """A process, and the lines that it writes, None behind the last; killed if it still runs."""
    paths = os.pathsep.join(path for path in sys.path if path)
    with open(place / ERRORS, "wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "rankforce.training.cluster.process", str(place)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | {"PYTHONPATH": paths},
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C in a terminal is the client's
        )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read, args=(process, lines), daemon=True)
    reader.start()
    try:
        yield process, lines
    finally:
        process.kill()
        process.wait()
        reader.join()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        process.stdout.close()


def _read(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line)
    lines.put(None)


def _attend(
    process: subprocess.Popen[str],
    lines: queue.SimpleQueue[str | None],
    place: Path,
    worker: Any,
    key: Any,
    topic: str,
) -> Outcome:
    """Pass on what a process says; how it ended."""
    while True:
        try:
            line = lines.get(timeout=LOOK_EVERY_S)
        except queue.Empty:
            if _is_wanted(worker, key):
                continue
            return Outcome(CANCELLED)
        if line is None:
            break
        message = json.loads(line)
        if message["kind"] in (ERROR, FAILURE):
            return Outcome(message["kind"], message["text"], is_cause=message["is_cause"])
        worker.log_event(topic, message)
    code = process.wait()
    if code != 0:
        return Outcome(FAILURE, _last_words(code, place / ERRORS))
    result = place / RESULT
    return Outcome(DONE, model=result.read_bytes() if result.exists() else None)


def _is_wanted(worker: Any, key: Any) -> bool:
    """Whether the client has neither cancelled a task nor gone away."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state in ("executing", "long-running")


def _last_words(code: int, errors: Path) -> str:
    """Why a process ended that did not say so."""
    if code < 0:
        name = signal.Signals(-code).name
        hint = ", which is what a system does that is out of memory" if name == "SIGKILL" else ""
        return f"its process was ended by {name}{hint}"
    said = errors.read_text(errors="replace").splitlines()[-LINES:]
    return "\n".join([f"its process ended with {code}", *said])


async def remove(folder: str, dask_worker: Any = None) -> None:
    """Take away what a run has left at a worker, if it did not begin there."""
    shutil.rmtree(Path(dask_worker.local_directory, folder), ignore_errors=True)
