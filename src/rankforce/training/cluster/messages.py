"""What a client, its workers and their processes tell each other."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TextIO

from rankforce.common.live_line import DRAW_EVERY, Voice
from rankforce.training.callbacks.theirs import Wish
from rankforce.training.settings import Settings

# Kinds of messages: lines that stay, lines for now, what a user should know, what went wrong;
SAY, NOW, NOTE, ERROR, FAILURE = "say", "now", "note", "error", "failure"
# the port at which the first worker waits for others, how it ended.
DOOR, DONE, CANCELLED = "door", "done", "cancelled"

ASSIGNMENT, RESULT = "assignment.pickle", "model.pickle"  # files of a worker's process


class Part(NamedTuple):
    """What one worker has of a data set: files of its own, or on storage that all share."""

    name: str
    files: list[str]  # Parquet or text, or data in memory as it was packed
    told: dict[str, Any]  # of the columns of files, for `rf.read`
    origin: str = ""  # the folder that they are of
    is_training: bool = False  # the rows that the model is trained on, again
    is_empty: bool = False  # whether the files say what columns there are, and no more


class Assignment(NamedTuple):
    """What one worker has to do."""

    settings: Settings
    base: Any
    wish: Wish
    parts: list[Part]  # the training set first
    rank: int
    addresses: list[tuple[str, int]]  # of all workers
    token: bytes


class Outcome(NamedTuple):
    """How it ended: `kind` is DONE, ERROR (a user's mistake), FAILURE (any other) or CANCELLED."""

    kind: str
    text: str = ""
    model: bytes | None = None  # of the first worker
    is_cause: bool = True  # no other worker is to blame


class Teller:
    """Writes messages, a line each."""

    def __init__(self, stream: TextIO) -> None:
        self._stream, self._lock = stream, threading.Lock()

    def __call__(self, kind: str, **about: Any) -> None:
        """Send one message."""
        with self._lock:
            self._stream.write(json.dumps({"kind": kind} | about) + "\n")
            self._stream.flush()


class Relay(Voice):
    """A voice that is heard elsewhere."""

    def __init__(self, tell: Callable[..., None]) -> None:
        super().__init__(False)
        self._tell = tell
        self._next_at = 0.0

    def say(self, text: str) -> None:
        """One line that stays."""
        self._tell(SAY, text=text)

    def for_now(self, text: str, *, always: bool = False) -> None:
        """What goes on, a few times a second at most."""
        if always or time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + 5 * DRAW_EVERY
            self._tell(NOW, text=text, always=always)
