"""Features in bins in the GPU's memory: row by row, so that a row is few sectors of memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from rankforce.data.binned import Binned
from rankforce.data.sources import block_rows

GROUP = 32


class Groups(NamedTuple):
    """How columns are shared out: in full groups, and a last one as wide as a power of 2."""

    columns: int
    number: int  # of groups
    last: int  # columns of the last one, some of them may be none

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return GROUP * (self.number - 1) + self.last


def group_columns(columns: int) -> Groups:
    """Groups of so many columns.

    >>> group_columns(136), group_columns(5).width
    (Groups(columns=136, number=5, last=8), 8)
    """
    number = -(-columns // GROUP)
    rest = columns - GROUP * (number - 1)
    return Groups(columns, number, max(1 << (rest - 1).bit_length(), 4))


def upload_bins(device: Any, binned: Binned) -> Any:
    """The bins of all rows."""
    rows, width = binned.shape[0], group_columns(len(binned.columns)).width
    there = device.zeros(rows * width, np.uint8)
    table = there.reshape(rows, width)
    # Some columns stand row by row, behind them others: they are told apart on the GPU.
    for left, right in pairwise(binned.cut.tolist()):
        far = right - left
        step = block_rows(far)
        for first in range(0, rows, step):
            last = min(first + step, rows)
            own = binned.bins[left * rows + first * far : left * rows + last * far]
            table[first:last, left:right] = device.upload(own).reshape(-1, far)
    for column, zero in enumerate(_bins_of_zero(binned)):
        if zero >= 0:
            own = table[:, column]
            own[own == binned.many[column]] = zero
    return there


def _bins_of_zero(binned: Binned) -> list[int]:
    """Where a missing value counts as 0, since none was seen in training: its bin; elsewhere -1."""
    edges = binned.edges
    return [
        -1 if edges.has_nan[column] else int(np.searchsorted(edges.of(column), 0.0))
        for column in binned.columns.tolist()
    ]
