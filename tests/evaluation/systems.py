"""Four systems on a few queries, for tests of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankforce as rf

RNG = np.random.default_rng(7)
SIZES = [6, 9, 5, 12, 7, 8, 10, 6, 11, 9, 5, 7]  # 2^12 sign assignments: all of them
ROWS = sum(SIZES)
LABELS = RNG.integers(0, 4, ROWS) * RNG.integers(0, 2, ROWS)
NOISE = RNG.normal(size=(4, ROWS))
A, B, C, D = NOISE + np.multiply.outer([0.2, 1.5, 0.4, 0.1], LABELS)
NAMES = np.repeat([f"q{number}" for number in range(len(SIZES))], SIZES)


def compare(**options: Any) -> rf.Comparison:
    """The first two of them."""
    return rf.compare({"a": A, "b": B}, LABELS, group=SIZES, **options)
