"""Values of a tree's leaves: how far each leaf moves its documents."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.kernels import trees as kernels


def sum_leaves(
    leaf: NDArray[np.int32], leaves: int, lam: Floats, hess: Floats, *, threads: int
) -> tuple[Floats, Floats]:
    """Sums of forces and of hessians over each leaf, the same for every number of threads."""

    def work(first: int, last: int) -> Floats:
        sums = np.zeros((2, leaves))
        kernels.sum_block(first, last, leaf, lam, hess, sums)
        return sums

    total = np.zeros((2, leaves))
    for part in run_rows(work, len(leaf), threads):
        total += part
    return total[0], total[1]


def leaf_steps(force: Floats, hess: Floats, *, l1: float = 0.0, l2: float = 0.0) -> Floats:
    """One Newton step of each leaf: sum of forces over sum of hessians; 0 without a hessian.

    >>> leaf_steps(np.array([2.0, -1.0]), np.array([4.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    shrunk = np.sign(force) * np.maximum(np.abs(force) - l1, 0.0)
    below = hess + l2
    steps = np.zeros_like(shrunk)
    np.divide(shrunk, below, out=steps, where=below > 1e-15)
    return steps
