"""Ctrl-C at each step that the main thread takes in pools, one after the other.

Says how many steps there are. Where one hangs, it ends with the stacks of all threads.
"""

from __future__ import annotations

import faulthandler
import re
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from rankforce.common import threads
from rankforce.formats.letor_pieces import mapper

PLACES = re.compile(r"rankforce.common.(pool|threads)\.py$|concurrent.futures|threading\.py$")
HANGS = 10.0  # seconds


class Press:
    """Presses Ctrl-C at one step."""

    def __init__(self, step: int) -> None:
        self.step, self.seen = step, 0

    def __call__(self, frame: FrameType, event: str, given: Any) -> Press | None:
        path = frame.f_code.co_filename
        if not PLACES.search(path):
            return None
        frame.f_trace_opcodes = "rankforce" in path
        self.seen += 1
        if self.seen == self.step:
            sys.settrace(None)
            signal.raise_signal(signal.SIGINT)
        return self


def own_pool() -> list[int]:
    """A pool that starts and ends."""
    with mapper(2) as run:
        return run(abs, [0, -1, -2, -3])


def kept_pool() -> list[int]:
    """The pool that training uses."""
    return threads.run_rows(lambda first, last: first, 4, 2, at_once=1)


def press_everywhere(use: Callable[[], list[int]]) -> int:
    """Interrupt `use` at each of its steps; their number."""
    step = 0
    while True:
        step += 1
        press = Press(step)
        faulthandler.dump_traceback_later(HANGS, exit=True)
        try:
            sys.settrace(press)
            assert use() == [0, 1, 2, 3]
        except KeyboardInterrupt:
            sys.settrace(None)
            assert use() == [0, 1, 2, 3], f"after Ctrl-C at step {step}"
        else:
            sys.settrace(None)
            if press.seen < step:
                faulthandler.cancel_dump_traceback_later()
                return step - 1


if __name__ == "__main__":
    print(press_everywhere(own_pool), press_everywhere(kept_pool))
