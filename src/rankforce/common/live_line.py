"""One line of a terminal that is drawn again and again."""

from __future__ import annotations

import shutil
from typing import TextIO


class LiveLine:
    """The last line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._drawn = 0

    def draw(self, text: str) -> None:
        """Show `text`, cut to the terminal's width, in place of what was there."""
        shown = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write("\r" + shown.ljust(self._drawn))
        self._stream.flush()
        self._drawn = len(shown)

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._stream.write("\r" + " " * self._drawn + "\r")
            self._stream.flush()
            self._drawn = 0

    def keep(self) -> None:
        """Leave the line standing, and go to the next."""
        if self._drawn:
            self._stream.write("\n")
            self._stream.flush()
            self._drawn = 0


def clock(seconds: int) -> str:
    """Seconds as hours, minutes and seconds.

    >>> clock(75), clock(3600)
    ('1:15', '1:00:00')
    """
    hours, rest = divmod(seconds, 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{last:02}" if hours else f"{minutes}:{last:02}"
