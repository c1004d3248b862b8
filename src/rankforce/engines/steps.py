"""The steps that forces are rounded to, the same for every engine that adds up integers."""

from __future__ import annotations

from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.kernels.trees import largest_block


def find_steps(lam: Floats, hess: Floats, levels: int, *, threads: int) -> tuple[float, float]:
    """The step of forces and that of hessians: LightGBM's, so that it rounds none of them again.

    >>> import numpy as np
    >>> find_steps(np.array([1.0, -4.0]), np.array([2.0, 0.5]), 8, threads=1)
    (1.0, 0.25)
    """

    def work(first: int, last: int) -> tuple[float, float]:
        force, second = largest_block(first, last, lam, hess)
        return float(force), float(second)

    found = run_rows(work, len(lam), threads)
    step = max(force for force, _ in found) / (levels // 2)
    return step, max(second for _, second in found) / levels
