"""Random numbers by key: the same for the same key, whatever was drawn before."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_BITS = 14  # of a draw, by which those of all workers are counted

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


def draw_share(draws: NDArray[np.uint64], share: float, team: Team = ALONE) -> Floats:
    """1 for `share` of all workers' entries, exactly as many, those with the smallest draws.

    >>> draw_share(np.array([7, 1, 5, 3], np.uint64), 0.5).tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    begins = (draws >> np.uint64(64 - FIRST_BITS)).astype(np.int64)
    counts = np.bincount(begins, minlength=1 << FIRST_BITS)
    last = find_last(counts, lambda begin: draws[begins == begin], share, team)
    return np.where(draws <= last, 1.0, 0.0)


def find_last(
    counts: NDArray[np.int64],
    keep: Callable[[int], NDArray[np.uint64]],
    share: float,
    team: Team = ALONE,
) -> np.uint64:
    """The largest draw that is in, if `share` of all workers' are.

    `counts` has how many draws begin with each of the FIRST_BITS bits, and `keep` gives those that
    begin with some.
    """
    counts = np.sum(team.gather(counts), axis=0)
    count = min(max(round(share * int(counts.sum())), 1), int(counts.sum()))
    before = np.cumsum(counts)
    begin = int(np.searchsorted(before, count))
    rest = count - int(before[begin] - counts[begin])
    alike = np.concatenate(team.gather(keep(begin)))
    return np.uint64(np.partition(alike, rest - 1)[rest - 1])
