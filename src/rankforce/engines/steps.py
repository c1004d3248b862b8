"""The steps that forces are rounded to, the same for every engine that adds up integers."""

from __future__ import annotations

import numpy as np

from rankforce.common.team import ALONE, Team
from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.kernels.trees import largest_block


def find_steps(
    lam: Floats, hess: Floats, levels: int, *, threads: int, team: Team = ALONE
) -> tuple[float, float]:
    """The step of forces and that of hessians: LightGBM's, so that it rounds none of them again.

    They go by the rows of the whole team.

    >>> find_steps(np.array([1.0, -4.0]), np.array([2.0, 0.5]), 8, threads=1)
    (1.0, 0.25)
    """

    def work(first: int, last: int) -> tuple[float, float]:
        force, second = largest_block(first, last, lam, hess)
        return float(force), float(second)

    largest = np.max(run_rows(work, len(lam), threads), axis=0, initial=0.0)
    force, second = np.max(team.gather(largest), axis=0).tolist()
    return force / (levels // 2), second / levels
