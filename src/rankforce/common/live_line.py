"""What a long task says while it goes, and one line of a terminal that is drawn again and again."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from typing import TextIO

LOGGER = logging.getLogger("rankforce")
# Seconds between two redraws of a terminal's line, and between two lines elsewhere.
DRAW_EVERY = 0.1
LOG_EVERY = 10.0


class Voice:
    """A line that changes, and lines that stay.

    `wish` is None (a live line in a terminal, else lines to the logger "rankforce"), True (lines on
    the stream whatever it is, in a terminal with a live one below) or False (silence). The stream
    is standard error unless one is given; `is_timed` puts the time so far before each line.

    >>> import io
    >>> heard = io.StringIO()
    >>> voice = Voice(True, stream=heard, is_timed=True)
    >>> voice.for_now("1 of 2")
    >>> voice.say("both are there")
    >>> heard.getvalue()
    '0:00  both are there\\n'
    """

    def __init__(
        self, wish: bool | None, *, stream: TextIO | None = None, is_timed: bool = False
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_plain, self._is_logged = bool(wish), wish is None
        self.is_live = (self._is_plain or self._is_logged) and self._stream.isatty()
        self._is_timed = is_timed
        self._line = LiveLine(self._stream)
        self._start = time.monotonic()
        self._next = self._after_line()

    @property
    def seconds(self) -> float:
        """The time so far."""
        return time.monotonic() - self._start

    def for_now(self, text: str, *, always: bool = False) -> None:
        """What goes on: ten times a second at most, every 10 seconds where no line is live.

        What comes sooner is left out, unless it is to be shown `always`.
        """
        if not always and self.seconds < self._next:
            return
        if not self.is_live:
            self.say(text)
            return
        self._line.draw(self._timed(text))
        self._next = self.seconds + DRAW_EVERY

    def say(self, text: str) -> None:
        """One line that stays."""
        if self.is_live or self._is_plain:
            self._line.clear()
            print(self._timed(text), file=self._stream, flush=True)
        elif self._is_logged:
            LOGGER.info(self._timed(text))
        self._next = self._after_line()

    def clear(self) -> None:
        """Take the live line away."""
        self._line.clear()

    def end(self) -> None:
        """Leave the live line standing."""
        self._line.keep()

    def _after_line(self) -> float:
        """When a text for now may follow a line that stays."""
        return self.seconds + (0.0 if self.is_live else LOG_EVERY)

    def _timed(self, text: str) -> str:
        return f"{clock(round(self.seconds))}  {text}" if self._is_timed else text


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
