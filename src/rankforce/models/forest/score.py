"""Scores of many trees: by masks where there are rows enough to fill them, else by walks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.threads import run_rows
from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.data.sources import as_source
from rankforce.kernels.lanes import LANES
from rankforce.kernels.masks import score_masks
from rankforce.kernels.trees import score_block
from rankforce.models.forest.masks import Masks, make_masks
from rankforce.models.forest.tree import Tree, stack
from rankforce.models.forest.walk_bins import add_bin_scores

# Rows below which walks take less time than a block of 64, which costs the same for any: 3 to 12
# for 100 to 1,000 trees of 8 to 200 leaves (benchmarks/scoring.py --traversals). Scores are the
# same either way.
FEW = 6
ROWS = 1 << 11  # that a thread takes at once


class Scoring:
    """Some trees, ready to score; several threads may use it at once."""

    def __init__(self, trees: Sequence[Tree]) -> None:
        self.nodes = stack(trees)

    @cached_property
    def masks(self) -> Masks | None:
        """The trees as masks, if they can be; made when there are rows enough for them."""
        return make_masks(self.nodes)

    def add(self, features: Any, scores: Floats, *, threads: int) -> None:
        """Add the scores of all trees to `scores`, in place, trees in order."""
        if isinstance(features, Binned):
            add_bin_scores(self.nodes, features, scores, threads=threads)
            return
        if isinstance(features, np.ndarray):
            self.add_block(features, scores, threads)
            return
        for first, block in as_source(features).blocks():
            self.add_block(block, scores[first : first + len(block)], threads)

    def add_block(self, block: NDArray[np.float32], scores: Floats, threads: int) -> None:
        """`add` for rows of float32 in memory."""
        if len(block) <= ROWS:
            self._add(block.reshape(-1), block.shape[1], 0, len(block), scores)
            return
        values, width = block.reshape(-1), block.shape[1]

        def work(first: int, last: int) -> None:
            self._add(values, width, first, last, scores)

        run_rows(work, len(block), threads, at_once=ROWS)

    def _add(
        self, values: NDArray[np.float32], width: int, first: int, last: int, scores: Floats
    ) -> None:
        rest = (last - first) % LANES
        full = last if rest >= FEW else last - rest
        masks = self.masks if full > first else None
        if masks is None:
            full = first
        else:
            score_masks(first, full, width, values, *masks, scores)
        if full < last:
            score_block(full, last, width, values, *self.nodes, scores)
