"""Launches kernels: which queries a launch works off, and with what memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

PAIRS = ("block.cu", "ranking.cu", "documents.cu", "sets.cu", "pairs.cu")
LISTS = ("block.cu", "lists.cu")

# One block a query. Lists up to SHORT documents leave room for several blocks on a multiprocessor.
SHORT = 1536
SHORT_THREADS = 256
LONG_THREADS = 1024
LIST_THREADS = 128
# Up to so many documents, counting the better ones is faster than sorting.
COUNTED = 256
SLOTS = 4 * 32 * 8  # bytes of sums over a block
LIST_SLOTS = 2 * SLOTS
LIST_ROW = 4 * 8

_ADDRESS, _WHOLE, _NUMBER, _BITS = np.uint64, np.int64, np.float64, np.uint64
JOB = np.dtype([("start", np.int64), ("query", np.int32), ("slot", np.int32)])
# As in block.cu: every field has 8 bytes.
BOUND = np.dtype(
    [
        ("pointer", _ADDRESS),
        ("key", _ADDRESS),
        ("position", _ADDRESS),
        ("u", _ADDRESS),
        ("scale", _ADDRESS),
        ("class_pointer", _ADDRESS),
        ("class_start", _ADDRESS),
        ("tier_start", _ADDRESS),
        ("tier_stop", _ADDRESS),
        ("positive", _ADDRESS),
        ("strategy", _ADDRESS),
        ("tables", _ADDRESS),
        ("number", _ADDRESS),
        ("width", _WHOLE),
        ("sigma", _NUMBER),
        ("center", _NUMBER),
        ("constant", _NUMBER),
        ("cutoff", _WHOLE),
        ("swaps_cutoff", _WHOLE),
    ]
)
CALL = np.dtype(
    [
        ("scores", _ADDRESS),
        ("row", _ADDRESS),
        ("jobs", _ADDRESS),
        ("first", _WHOLE),
        ("count", _WHOLE),
        ("lam", _ADDRESS),
        ("hess", _ADDRESS),
        ("totals", _ADDRESS),
        ("costs", _ADDRESS),
        ("far", _ADDRESS),
        ("scratch", _ADDRESS),
        ("piece", _WHOLE),
        ("room", _WHOLE),
        ("norm", _WHOLE),
        ("seed", _BITS),
        ("iteration", _BITS),
        ("is_step", _WHOLE),
    ]
)


class Chosen(NamedTuple):
    """Queries of a call, the longest first."""

    query: NDArray[np.int64]  # number in the whole set of each query of the call
    pointer: NDArray[np.int64]  # their places in the call
    sizes: NDArray[np.int64]  # of the jobs: falling
    jobs: Any  # on the device
    row: Any  # of each place, on the device; None if places are rows


def choose(
    device: Any, query: NDArray[np.int64], sizes: NDArray[np.int64], row: Any = None
) -> Chosen:
    """Queries in the order of a call, of these sizes."""
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    order = np.argsort(-sizes, kind="stable")
    jobs = np.empty(len(query), JOB)
    jobs["start"], jobs["query"], jobs["slot"] = pointer[:-1][order], query[order], order
    return Chosen(query, pointer, sizes[order], device.upload(jobs.view(np.int64)), row)


class Bound(NamedTuple):
    """What labels alone decide, on the device."""

    device: Any
    fields: NDArray[Any]  # one of BOUND
    kept: tuple[Any, ...]  # the arrays that it points to


def bind(device: Any, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> Bound:
    """Upload arrays, and write down where they are."""
    fields = np.zeros((), BOUND)
    kept = {name: device.upload(values) for name, values in arrays.items() if len(values)}
    for name, array in kept.items():
        fields[name] = device.pointer(array)
    for name, value in numbers.items():
        fields[name] = value
    return Bound(device, fields, tuple(kept.values()))


def make_call(device: Any, chosen: Chosen, **values: Any) -> NDArray[Any]:
    """One of CALL; arrays are addresses."""
    call = np.zeros((), CALL)
    call["jobs"] = device.pointer(chosen.jobs)
    if chosen.row is not None:
        call["row"] = device.pointer(chosen.row)
    for name, value in values.items():
        call[name] = value
    return call


def rows_of(macros: dict[str, Any]) -> tuple[int, int]:
    """Rows of real numbers and of whole ones that `carve` of documents.cu lays out."""
    from rankforce.kernels import layout

    reals = 6 + 6 * (macros["KIND"] == layout.BY_SWAP)
    reals += (macros["KIND"] == layout.BY_DISTANCE) + macros["CORRECTED"]
    if macros["PAIR_SET"] >= layout.EXTENDED:
        return reals, 7
    if macros["PAIR_SET"] == layout.TRUNCATED:
        return reals, 3
    return reals, 2 * macros["NEEDS_RANK"]


def padded(count: int, step: int) -> int:
    """`count` rounded up to a multiple."""
    return -(-int(count) // step) * step


def push_pairs(bound: Bound, chosen: Chosen, macros: dict[str, Any], call: NDArray[Any]) -> None:
    """Forces of pairs, or what they cost: short lists, longer ones, and those far apart."""
    if not len(chosen.sizes):
        return
    device = bound.device
    reals, integers = rows_of(macros)
    short = min(SHORT, (device.shared - SLOTS - 256) // (4 * (reals + integers)) // 32 * 32)
    count = int(np.searchsorted(-chosen.sizes, -short, side="left"))
    options = tuple((macros | SHAPES).items())
    far = device.zeros(1 + len(chosen.sizes), np.int32)
    call["far"] = device.pointer(far)

    def launch(name: str, first: int, number: int, threads: int, real: int, blocks: int) -> None:
        room = max(padded(chosen.sizes[first], 32), threads)
        piece = padded(SLOTS + room * (reals * real + integers * 4), 256)
        is_short = name != "push_far" and piece <= device.shared
        blocks = number if is_short else min(number, blocks, max(chosen.pointer[-1] // room, 1))
        scratch = device.empty(1 if is_short else blocks * piece, np.uint8)
        call["first"], call["count"], call["room"], call["piece"] = first, number, room, piece
        call["scratch"] = 0 if is_short else device.pointer(scratch)
        device.launch(
            PAIRS,
            options,
            name,
            blocks=int(blocks),
            threads=threads,
            shared=piece if is_short else 0,
            arguments=(bound.fields, call),
        )

    if count:
        launch("push_long", 0, count, LONG_THREADS, 4, device.processors)
    if count < len(chosen.sizes):
        launch("push_short", count, len(chosen.sizes) - count, SHORT_THREADS, 4, 0)
    if not macros["COST"]:
        launch("push_far", 0, len(chosen.sizes), SHORT_THREADS, 8, 2 * device.processors)


def push_lists(bound: Bound, chosen: Chosen, name: str, call: NDArray[Any]) -> None:
    """Forces of whole lists, of single documents, or the norm of a sum: one block a query."""
    if not len(chosen.sizes):
        return
    device = bound.device
    room = padded(chosen.sizes[0], 32) if name == "push_lists" else 0
    piece = padded(LIST_SLOTS + room * LIST_ROW, 256)
    is_short = piece <= device.shared
    blocks = len(chosen.sizes) if is_short else min(len(chosen.sizes), device.processors)
    scratch = device.empty(1 if is_short else blocks * piece, np.uint8)
    call["count"], call["room"], call["piece"] = len(chosen.sizes), room, piece
    call["scratch"] = 0 if is_short else device.pointer(scratch)
    device.launch(
        LISTS,
        (("LABEL", "double"), ("LIST_THREADS", LIST_THREADS)),
        name,
        blocks=blocks,
        threads=LIST_THREADS,
        shared=piece if is_short else 0,
        arguments=(bound.fields, call),
    )


SHAPES = {
    "COUNTED": COUNTED,
    "UNROLLED": 4,
    "SHORT_THREADS": SHORT_THREADS,
    "SHORT_BLOCKS": 6,
    "LONG_THREADS": LONG_THREADS,
}
