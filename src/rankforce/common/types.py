"""Types of arrays that every part shares, and what JSON has for numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def plain(value: Any) -> Any:
    """A value for JSON: of Python's own types, and None for a number that is not finite.

    >>> plain(np.float64(0.5)), plain(np.int64(3)), plain(float("nan")), plain("q1")
    (0.5, 3, None, 'q1')
    """
    own = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(own, float) and not math.isfinite(own) else own
