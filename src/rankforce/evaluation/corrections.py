"""P-values of many tests at once, made larger so that chance alone does not look like a find."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats

METHODS = {
    "none": "p-values as they are",
    "holm": "a false find in all the tests is rarer than the level (Holm 1979)",
    "bh": "the share of false finds is below the level (Benjamini and Hochberg 1995)",
}


def adjust(p_values: ArrayLike, method: str) -> Floats:
    """P-values to compare with the level of the whole family of m tests, in the order given.

    With p sorted, smallest first: "holm" is max over j <= i of (m - j + 1) p_j (Holm 1979), "bh"
    is min over j >= i of m p_j / j (Benjamini and Hochberg 1995); neither exceeds 1.

    >>> adjust([0.01, 0.04, 0.03], "holm").tolist()
    [0.03, 0.06, 0.06]
    >>> adjust([0.01, 0.04, 0.03], "bh").round(6).tolist()
    [0.03, 0.04, 0.04]
    """
    name = check_choice("method", method, METHODS)
    p = _check_p_values(p_values)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(_adjust_sorted(p[order], name), 1.0)
    return adjusted


def _adjust_sorted(p: Floats, method: str) -> Floats:
    rank = np.arange(1, len(p) + 1)
    if method == "holm":
        return np.maximum.accumulate((len(p) - rank + 1) * p)
    if method == "bh":
        # The factor first: it is 1 or more, so that no adjusted p-value is below its own.
        return np.minimum.accumulate((p * (len(p) / rank))[::-1])[::-1]
    return p


def _check_p_values(p_values: ArrayLike) -> Floats:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise RankforceError(f"p-values must be one number per test, got shape {p.shape}")
    bad = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if bad.size:
        raise RankforceError(f"p-value {bad[0]} is {p[bad[0]]}: p-values are numbers from 0 to 1")
    return p
