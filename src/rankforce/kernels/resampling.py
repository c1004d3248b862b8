"""Sums over resampled queries: signs at random for a randomisation test, draws for a bootstrap.

What is random about a resample depends on the seed and its number alone, so not on the threads.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import entry, kernel
from rankforce.kernels.sets import draw_key, splitmix64

# What the random bits are for: no two share them.
SIGNS, DRAWS = np.uint64(0), np.uint64(1)
# Resamples at once: their sums (8 KB) and eight tables (16 KB) stay in the first-level cache.
CHUNK = 1024
# A hash has signs for WORD magnitudes, one byte for each block of 8.
WORD = 64
TABLE = np.uint64(256)
LOW_BITS = np.uint64(0xFFFFFFFF)
# Sums of a bootstrap sample, added up in turn: one alone would wait for each addition to end.
# In memory, because the compiler makes gathers of sums in registers: 127 ms instead of 58 ms for
# 10,000 samples of 6,306 queries on an Ice Lake, whose gathers are slow since 2023.
SUMS = np.uint64(4)


@kernel
def fill_tables(word, magnitudes, tables):
    """For each block of 8 magnitudes of a word, the sum for each of the 256 ways to sign them."""
    for block in range(np.uint64(8)):
        start = block * TABLE
        tables[start] = 0.0
        for bit in range(np.uint64(8)):
            q = word * np.uint64(WORD) + block * np.uint64(8) + bit
            size = np.uint64(1) << bit
            magnitude = magnitudes[q] if q < len(magnitudes) else 0.0
            for signs in range(size):
                sum_before = tables[start + signs]
                tables[start + signs + size] = sum_before + magnitude
                tables[start + signs] = sum_before - magnitude


@kernel
def add_tables(word, keys, tables, sums):
    """Add the signed magnitudes of one word to the sum of each resample of a chunk."""
    for i in range(np.uint64(len(sums))):
        signs = splitmix64(keys[i] ^ word)
        total = 0.0
        for block in range(np.uint64(8)):
            byte = (signs >> (np.uint64(8) * block)) & np.uint64(255)
            total += tables[block * TABLE + byte]
        sums[i] += total


@entry
def add_signed(first, last, magnitudes, seed, out):
    """Fill the chunks first..last-1 of `out` with sums of magnitudes, each signed at random.

    Bit q % 64 of hash(seed, resample, q // 64) is 1 where magnitude q is added. Calls work on
    whole chunks, so that every sum is rounded in the same way whatever the calls.
    """
    words = np.uint64((len(magnitudes) + WORD - 1) // WORD)
    tables = np.empty(8 * 256)
    keys = np.empty(CHUNK, np.uint64)
    for chunk in range(first, last):
        start = chunk * CHUNK
        sums = out[start : start + CHUNK]
        for i in range(len(sums)):
            keys[i] = draw_key(seed, SIGNS, np.uint64(start + i))
            sums[i] = 0.0
        for word in range(words):
            fill_tables(word, magnitudes, tables)
            add_tables(word, keys, tables, sums)


@entry
def add_drawn(first, last, values, seed, out):
    """Fill out[first:last] with sums of len(values) values, drawn with replacement.

    The halves of hash(seed, resample, i) choose draws 2i and 2i + 1: a half, as a share of 2^32,
    times the number of values (Lemire 2019, without the rejection: biased by less than n / 2^32).
    """
    n = np.uint64(len(values))
    sums = np.empty(np.int64(SUMS))
    for resample in range(first, last):
        key = draw_key(seed, DRAWS, np.uint64(resample))
        sums[:] = 0.0
        for i in range(n >> np.uint64(1)):
            draw = splitmix64(key ^ i)
            high = values[((draw >> np.uint64(32)) * n) >> np.uint64(32)]
            sums[i % SUMS] += high + values[((draw & LOW_BITS) * n) >> np.uint64(32)]
        if n & np.uint64(1):
            draw = splitmix64(key ^ (n >> np.uint64(1)))
            sums[0] += values[((draw >> np.uint64(32)) * n) >> np.uint64(32)]
        out[resample] = sums.sum()
