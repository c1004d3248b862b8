"""Random numbers by key: the same for the same key, whatever was drawn before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def hash_keys(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A random number for every key (SplitMix64, Steele et al. 2014)."""
    with np.errstate(over="ignore"):
        z = keys + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
