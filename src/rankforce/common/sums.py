"""Sums that come with what rounding lost of them, so that parts can be joined in any order."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rankforce.common.types import Floats


def join_sums(parts: Iterable[Floats], shape: tuple[int, ...]) -> Floats:
    """The sum of such sums: along the axis before the last, a sum and what rounding lost of it.

    >>> parts = [np.array([[one], [0.0]]) for one in (1e17, 1.0, -1e17)]
    >>> join_sums(parts, (2, 1)).sum(axis=0)
    array([1.])
    """
    total = np.zeros(shape)
    high, low = total[..., 0, :], total[..., 1, :]
    for part in parts:
        old, value = high.copy(), part[..., 0, :]
        high += value
        more = high - old
        low += (old - (high - more)) + (value - more) + part[..., 1, :]
    return total
