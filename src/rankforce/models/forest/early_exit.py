"""The best rows of a list without all trees for all rows: exact, by what other trees can add.

After some trees a row whose score cannot reach the k-th best any more, whatever leaves of the
remaining trees it and the others come to, is left out. Sums are made in the order of trees, so the
scores of the rows that are left are those of the whole forest, to the bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats, Ints
from rankforce.models.forest.score import Scoring
from rankforce.models.forest.tree import Tree

SHARES = (1 / 4, 1 / 16, 1 / 64)  # of what all trees can make a difference: where rows are left out
SLACK = 1e-9  # beside what rounding may do to bounds, relative to them


class Stage(NamedTuple):
    """Some trees, and the least and the most that all behind them add to a score."""

    scoring: Scoring
    least: float
    most: float


def make_stages(trees: Sequence[Tree]) -> list[Stage]:
    """The trees in parts, cut where what is left can make less and less of a difference."""
    values = [(tree.leaf_value.min(), tree.leaf_value.max()) for tree in trees]
    least, most = np.array([*values, (0.0, 0.0)])[::-1].cumsum(axis=0)[::-1].T
    wide = most - least
    ends = {int(np.argmax(wide <= share * wide[0])) for share in SHARES} | {len(trees)}
    cuts = sorted({0} | ends)
    return [
        Stage(Scoring(trees[first:last]), float(least[last]), float(most[last]))
        for first, last in itertools.pairwise(cuts)
    ]


def score_best(
    stages: Sequence[Stage], block: NDArray[np.float32], top: int, *, threads: int
) -> tuple[Ints, Floats]:
    """Rows among which the best are, in order, and their scores."""
    rows = np.arange(len(block))
    scores = np.zeros(len(block))
    for stage in stages:
        stage.scoring.add_block(block, scores, threads)
        if len(rows) <= top:
            continue
        reached = np.partition(scores, len(rows) - top)[len(rows) - top] + stage.least
        slack = SLACK * (abs(reached) + abs(stage.most) + np.abs(scores).max())
        kept = scores + stage.most >= reached - slack
        if not kept.all():
            rows, scores, block = rows[kept], scores[kept], block[kept]
    return rows, scores
