"""Sums in twice the precision: they do not depend on the order, as far as a float64 shows."""

from __future__ import annotations

from rankforce.kernels.compile import strict


@strict
def add_exactly(sums, at, value):
    """Add to a sum, and what rounding lost to the one below it (Knuth's TwoSum)."""
    old = sums[0, at]
    total = old + value
    part = total - old
    sums[0, at] = total
    sums[1, at] += (old - (total - part)) + (value - part)
