"""Rows drawn by key: those with the smallest draws are in.

A pass over keys takes a nanosecond or two a row: draws are found anew in each, and take no memory.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry
from rankforce.kernels.sets import splitmix64


@entry
def count_draws(first, last, keys, key, shift, counts):
    """How many draws begin with each of the bits that `shift` leaves."""
    for i in range(np.uint64(first), np.uint64(last)):
        counts[splitmix64(keys[i] ^ key) >> np.uint64(shift)] += 1


@entry
def keep_draws(first, last, keys, key, shift, begin, out):
    """The draws that begin with these bits, into `out`; returns their number."""
    found = np.uint64(0)
    for i in range(np.uint64(first), np.uint64(last)):
        draw = splitmix64(keys[i] ^ key)
        if draw >> np.uint64(shift) == np.uint64(begin):
            out[found] = draw
            found += np.uint64(1)
    return found


@entry
def mark_draws(first, last, keys, key, largest, is_in):
    """Whether the draw of each row is at most `largest`."""
    for i in range(np.uint64(first), np.uint64(last)):
        is_in[i] = splitmix64(keys[i] ^ key) <= largest


@entry
def number_rows(first, last, before, is_in, inside, outside):
    """Numbers of the rows that are in, behind `before` of them, and of the others."""
    at = np.uint64(before)
    rest = np.uint64(first) - at
    for i in range(np.uint64(first), np.uint64(last)):
        if is_in[i]:
            inside[at] = i
            at += np.uint64(1)
        else:
            outside[rest] = i
            rest += np.uint64(1)
