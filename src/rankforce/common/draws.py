"""Random numbers by key: the same for the same key, whatever was drawn before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_ALL = 2**64 - 1


def hash_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A random number for every key of an array (SplitMix64, Steele et al. 2014)."""
    z = keys + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    return z ^ (z >> np.uint64(31))


def hash_numbers(*numbers: int) -> np.uint64:
    """One random number that depends on all of them.

    >>> bool(hash_numbers(5) == hash_keys(np.array([5], np.uint64))[0])
    True
    """
    z = 0
    for number in numbers:
        z = ((z ^ number) + int(GOLDEN)) & _ALL
        z = ((z ^ (z >> 30)) * int(FIRST)) & _ALL
        z = ((z ^ (z >> 27)) * int(SECOND)) & _ALL
        z ^= z >> 31
    return np.uint64(z)
