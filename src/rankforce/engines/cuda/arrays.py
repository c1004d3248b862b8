"""What kernels of growing are given: numbers, and arrays in the GPU's memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.engines.cuda.bins import GROUP, Groups
from rankforce.kernels.cuda.launch import as_bytes

FILES = (
    "basics.cu",
    "growing.cu",
    "rows.cu",
    "histograms.cu",
    "gains.cu",
    "codes.cu",
    "splits.cu",
    "rounds.cu",
)
ROW_THREADS, PART_THREADS, PART_EACH = 256, 256, 4
COUNT_THREADS, SPLIT_THREADS, PLAN_THREADS = 512, 512, 1024
PART_ROWS = PART_THREADS * PART_EACH
# Bytes of a block: counts of warps and where both sides begin; sums of threads, gains and codes of
# warps.
PART_SHARED = 4 * (2 * PART_THREADS // 32 + 2)
SPLIT_SHARED = 8 * SPLIT_THREADS + 12 * SPLIT_THREADS // 32
CODES_SHARED = SPLIT_SHARED + 24 * SPLIT_THREADS  # with columns of categories
COPIED = 4 / 7  # of shared memory: copies of histograms that count_rows adds to
COUNT_BLOCKS = 2  # of a multiprocessor
LEAST_CHUNK = 1024  # rows that a block counts at least, where there are so many
TRIED = 4  # leaves that may be split for each that is kept
ROW_BYTES = 60  # of a row beside its bins, forces and scores among them
MOST_SLOTS = 128 << 20  # bytes of histograms beyond those that there must be
RESULT = 8  # words of a tree, a node and a leaf, as in growing.cu
SET = 4  # and those of bins that go left, where some columns have categories
DONE, LEAVES, ROUNDS, LARGEST, LARGEST_HESSIAN = range(5)
COLUMN, BIN, NAN_LEFT, LEAF, GAIN, FORCE, HESSIAN, COUNT = range(8)

_ADDRESS, _WHOLE, _NUMBER, _BITS = np.uint64, np.int64, np.float64, np.uint64
_ARRAYS = (
    "bins many kind bag keys lam hess largest order other slots nodes gain bound child splits sets "
    "pairs parts state steps result leaf"
)
_WHOLES = "rows count columns most deepest nodes_at_most slots_at_most levels near"
RULES = (
    *("least_rows", "least_weight", "least_gain", "l1", "l2"),
    *("smooth", "codes_l2", "most_codes", "most_alone", "group_rows"),
)
DRAWN = 4  # of columns, beside what bins they have
# As in growing.cu: every field has 8 bytes.
GROW = np.dtype(
    [(name, _ADDRESS) for name in _ARRAYS.split()]
    + [(name, _WHOLE) for name in _WHOLES.split()]
    + [("key", _BITS)]
    + [(name, _NUMBER) for name in RULES]
)
LEAVES_OF = np.dtype(
    [(name, _ADDRESS) for name in ("lam", "hess", "largest", "sums", "shared", "values")]
    + [("bits", _WHOLE), ("rate", _NUMBER)]
)
# Bytes of a Node, a Split, a Pair, an Entry, an Item, a Step, and the State.
NODE, SPLIT, PAIR, ENTRY, ITEM, STEP, STATE = 80, 40, 12, 8, 8, 16, 32


class Shape(NamedTuple):
    """What is compiled into the kernels, and how many blocks work."""

    macros: tuple[tuple[str, Any], ...]
    workers: int  # blocks that count rows
    count_bytes: int  # of each of them, and 4 more a leaf
    blocks: int  # of 256 threads that fill the GPU


def make_shape(
    device: Any, groups: Groups, shift: int, few_rows: int, *, with_codes: bool
) -> Shape:
    """The shape of kernels for 2^shift bins, whose sums over `few_rows` have 16 bits."""
    warps, histogram = COUNT_THREADS // 32, 4 * GROUP << shift
    # The rest of shared memory is what rows on their way come through.
    copies = int(device.shared * COPIED) // (COUNT_BLOCKS * histogram)
    copies = min(max(copies, 1), warps)
    met = 4 * -(-warps // copies)  # rows that the same words take at once
    unrolled = next((many for many in (8, 4, 2) if 2 * met * many <= few_rows), 1)
    macros = {
        "SHIFT": shift,
        "GROUPS": groups.number,
        "LAST_QUADS": groups.last // 4,
        "FEW_ROWS": few_rows,
        "WITH_CODES": int(with_codes),
        "COUNT_THREADS": COUNT_THREADS,
        "COUNT_BLOCKS": COUNT_BLOCKS,
        "COPIES": copies,
        "UNROLLED": unrolled,
        "PART_THREADS": PART_THREADS,
        "PART_EACH": PART_EACH,
        "ROW_THREADS": ROW_THREADS,
        "SPLIT_THREADS": SPLIT_THREADS,
        "PLAN_THREADS": PLAN_THREADS,
        "LEAST_CHUNK": LEAST_CHUNK,
    }
    blocks = device.processors * max(device.threads // ROW_THREADS, 1)
    workers, count_bytes = COUNT_BLOCKS * device.processors, copies * histogram + 4 * warps
    return Shape(tuple(macros.items()), workers, count_bytes, blocks)


class Arrays:
    """Memory of a tree that grows, which all trees of a run use one after the other."""

    def __init__(
        self,
        device: Any,
        groups: Groups,
        shift: int,
        rows: int,
        most: int,
        *,
        with_codes: bool,
    ) -> None:
        size = groups.width << shift
        self.most = most
        self.result = RESULT + SET * with_codes
        self.nodes = 1 + 2 * TRIED * most
        self.slots = min(2 * most, max(MOST_SLOTS // (8 * size), most + 2))
        pieces = -(-rows // PART_ROWS) + self.nodes
        bytes_of = {
            "slots": 8 * size * self.slots,
            "nodes": NODE * self.nodes,
            "gain": 8 * self.nodes,
            "bound": 8 * self.nodes,
            "child": 4 * self.nodes,
            "splits": SPLIT * self.nodes * groups.number,
            "sets": 8 * SET * self.nodes * groups.number if with_codes else 0,
            "pairs": PAIR * most,
            "parts": ITEM * pieces,
            "state": STATE,
            "steps": STEP * self.nodes,
            "order": ENTRY * rows,
            "other": ENTRY * rows,
        }
        self.kept = {
            name: device.empty(-(-count // 8), np.int64) for name, count in bytes_of.items()
        }
        self.kept |= {
            "kind": device.zeros(groups.columns, np.int32),
            "largest": device.zeros(2, np.uint32),
            "result": device.zeros(2 * most * self.result, np.int64),
        }
        self.leaf = self.kept["leaf"] = device.zeros(rows, np.int32)
        self.sums = device.zeros(2 * most, np.uint64)
        self.values = device.zeros(most, np.float64)
        # Of plan_round: gains, three rows of integers, and whether slots are used; with that room,
        # of all nodes gains, bounds and children as well.
        own, of_nodes = 20 * most + 4 + self.slots, 20 * self.nodes
        self.is_near = own + of_nodes <= device.shared
        self.shared = own + of_nodes * self.is_near


def launch(
    device: Any, shape: Shape, name: str, blocks: int, *given: NDArray[Any], shared: int = 0
) -> None:
    """Run a kernel of growing with some records."""
    device.launch(
        FILES,
        shape.macros,
        name,
        blocks=max(blocks, 1),
        threads=_THREADS[name],
        shared=shared,
        arguments=tuple(map(as_bytes, given)),
    )


_THREADS = {
    "begin_tree": PLAN_THREADS,
    "pack_rows": ROW_THREADS,
    "part_rows": PART_THREADS,
    "count_rows": COUNT_THREADS,
    "find_splits": SPLIT_THREADS,
    "plan_round": PLAN_THREADS,
    "end_tree": PART_THREADS,
    "walk_bins": ROW_THREADS,
    "set_values": PLAN_THREADS,
}
