"""A tree at work on rows in the GPU's memory; as `walk`, for which they are in the processor's."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.types import Floats
from rankforce.data.binned import Binned
from rankforce.data.sources import Blocks, as_source, block_rows
from rankforce.kernels.cuda.device import told_in_words
from rankforce.kernels.cuda.launch import as_bytes, make_record
from rankforce.models.forest.tree import Tree, stack

FILES = ("basics.cu", "trees.cu")
THREADS = 256
BLOCKS = 8  # of a multiprocessor
MOST_SHARED = 48 * 1024  # bytes of a block that sums over leaves may have
_ADDRESS, _WHOLE = np.uint64, np.int64
# As in trees.cu: every field has 8 bytes.
WALK = np.dtype(
    [(name, _ADDRESS) for name in ("values", "nodes", "thresholds", "sets", "words")]
    + [("leaf", _ADDRESS), ("counts", _ADDRESS), ("rows", _WHOLE), ("width", _WHOLE)]
    + [("leaves", _WHOLE), ("shared", _WHOLE)]
)
SUMS = np.dtype(
    [(name, _ADDRESS) for name in ("leaf", "lam", "hess", "largest", "sums")]
    + [(name, _WHOLE) for name in ("rows", "leaves", "bits", "shared")]
)
MOVE = np.dtype(
    [(name, _ADDRESS) for name in ("leaf", "values", "scores", "rounded")] + [("rows", _WHOLE)]
)


class Sums(NamedTuple):
    """Over each leaf."""

    force: Floats
    second: Floats


def _numbers(features: Any) -> Blocks:
    """Rows of features; for those in bins, the largest number of each bin."""
    if not isinstance(features, Binned):
        yield from as_source(features).blocks()
        return
    limits = features.limits
    step = block_rows(features.shape[1])
    for first in range(0, features.shape[0], step):
        rows = features.codes(slice(first, first + step))
        for column, own in zip(features.columns.tolist(), limits, strict=True):
            codes = rows[:, column]
            known = np.nan_to_num(codes).astype(np.int64)
            rows[:, column] = np.where(np.isnan(codes), codes, own[known])
        yield first, rows


class GpuScores:
    """Scores of rows on the device: in double precision, and rounded."""

    def __init__(self, device: Any, rows: int) -> None:
        self.rows = rows
        self._device = device
        self.scores, self.rounded = device.zeros(rows, np.float64), device.zeros(rows, np.float32)

    def set_scores(self, scores: Floats) -> None:
        """Scores to go on from."""
        self.scores = self._device.upload(scores)
        self.rounded = self._device.upload(scores.astype(np.float32))

    def get_scores(self, out: Floats) -> None:
        """The scores, into the processor's memory."""
        out[:] = self._device.download(self.scores)

    def move(self, leaf: Any, values: Any) -> None:
        """Add the value of its leaf, on the device, to the score of every row."""
        arrays = {"leaf": leaf, "values": values, "scores": self.scores, "rounded": self.rounded}
        launch(self._device, "move_scores", MOVE, arrays, self.rows)


class GpuRows(GpuScores):
    """Features on the device, and the scores of their rows."""

    def __init__(self, device: Any, features: Any) -> None:
        rows, self.width = features.shape
        super().__init__(device, rows)
        with told_in_words(device, rows, self.width, 4 * rows * self.width):
            self.values = device.empty(rows * self.width, np.float32)
        for first, block in _numbers(features):
            begin, end = first * self.width, (first + len(block)) * self.width
            self.values[begin:end] = device.upload(np.asarray(block, np.float32).reshape(-1))

    def route(self, tree: Tree) -> tuple[Any, NDArray[np.int64]]:
        """The leaf of every row, on the device, and how many rows each leaf has, here."""
        nodes = stack([tree])
        leaf = self._device.empty(self.rows, np.int32)
        counts = self._device.zeros(tree.leaves, np.int32)
        shared = 4 * tree.leaves
        given = {
            "values": self.values,
            "nodes": self._device.upload(nodes.nodes),
            "thresholds": self._device.upload(nodes.thresholds),
            "sets": self._device.upload(nodes.cats),
            "words": self._device.upload(np.append(nodes.words, np.uint32(0))),
            "leaf": leaf,
            "counts": counts,
        }
        numbers = {"width": self.width, "leaves": tree.leaves}
        launch(self._device, "walk_rows", WALK, given, self.rows, shared, **numbers)
        return leaf, self._device.download(counts).astype(np.int64)

    def sum_leaves(self, leaf: Any, leaves: int, lam: Any, hess: Any) -> Sums:
        """Sums of forces and hessians over each leaf: the same bits in every run."""
        largest = self._device.zeros(2, np.uint32)
        largest_of(self._device, lam, hess, largest, self.rows)
        sums = self._device.zeros(2 * leaves, np.uint64)
        given = {"leaf": leaf, "lam": lam, "hess": hess, "largest": largest, "sums": sums}
        bits = sum_bits(self.rows)
        numbers = {"leaves": leaves, "bits": bits}
        launch(self._device, "sum_leaves", SUMS, given, self.rows, 16 * leaves, **numbers)
        above = (self._device.download(largest) >> 23).astype(np.int64) - 126
        whole = self._device.download(sums).view(np.int64).reshape(2, leaves)
        return Sums(*(np.ldexp(whole.astype(np.float64), (above - bits)[:, None])))


def sum_bits(rows: int) -> int:
    """The bits that the largest of so many numbers may have, for a sum in 64."""
    return 62 - max(rows - 1, 1).bit_length()


def largest_of(device: Any, lam: Any, hess: Any, largest: Any, rows: int) -> None:
    """The largest force and hessian, as bits, into `largest`, which is 0 before."""
    launch(device, "find_largest", SUMS, {"lam": lam, "hess": hess, "largest": largest}, rows)


def launch(
    device: Any,
    name: str,
    kind: Any,
    arrays: dict[str, Any],
    rows: int,
    shared: int = 0,
    **numbers: int,
) -> None:
    """Run a kernel of trees.cu over rows, with a record of a kind."""
    is_shared = 0 < shared <= MOST_SHARED
    if "shared" in kind.names:
        numbers["shared"] = int(is_shared)
    fields = make_record(device, kind, arrays, rows=rows, **numbers)
    device.launch(
        FILES,
        (),
        name,
        blocks=max(min(BLOCKS * device.processors, -(-rows // THREADS)), 1),
        threads=THREADS,
        shared=shared if is_shared else 0,
        arguments=(as_bytes(fields),),
    )
