"""A terminal and a clock for tests of what is said while something goes on."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


class Times:
    """A clock that stands where it is put."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now
