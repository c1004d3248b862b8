"""What a user should know though nothing is wrong: one sentence, as a warning."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_HERE = str(Path(__file__).parents[1])


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
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, Note, stacklevel=level)
