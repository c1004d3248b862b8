"""What a user should know though nothing is wrong: one sentence, as a warning."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HERE = str(Path(__file__).parents[1])
_HELD = threading.local()  # notes of a thread that wait


class Note(UserWarning):
    """Something was done that a user may not expect; `warnings.simplefilter` silences it."""


def note(text: str) -> None:
    """Say `text`, at the line of the caller's code that is outside of this package.

    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     note("column 'age' is left out")
    >>> str(said[0].message)
    "column 'age' is left out"
    """
    held: list[str] | None = getattr(_HELD, "texts", None)
    if held is not None:
        held.append(text)
        return
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, Note, stacklevel=level)


@contextmanager
def hold_notes() -> Iterator[list[str]]:
    """Inside, notes of this thread wait in a list, for who can say them at the caller's line.

    >>> with hold_notes() as held:
    ...     note("column 'age' is left out")
    >>> held
    ["column 'age' is left out"]
    """
    texts: list[str] = []
    _HELD.texts = texts
    try:
        yield texts
    finally:
        del _HELD.texts
