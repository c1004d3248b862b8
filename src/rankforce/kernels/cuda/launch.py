"""Launches kernels: which queries a launch works off, and with what memory."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.kernels import layout

PAIRS = ("basics.cu", "block.cu", "ranking.cu", "documents.cu", "sets.cu", "pairs.cu")
LISTS = ("basics.cu", "block.cu", "lists.cu")

# One block a query. Lists up to SHORT documents leave room for several blocks on a multiprocessor.
SHORT = 1536
SHORT_THREADS = 96
LONG_THREADS = 1024
PART_THREADS = 512  # of a block that shares a list with others
LIST_THREADS = 128
# Measured on an H200, of lists of about 120 documents.
SHAPES = {
    "BY_WARP": 256,  # up to so many documents are sorted by a warp
    "UNROLLED": 4,
    "SHORT_THREADS": SHORT_THREADS,
    "LONG_THREADS": LONG_THREADS,
    "PART_THREADS": PART_THREADS,
}
SLOTS = 4 * 32 * 8  # bytes of sums over a block
KEPT = 1024  # bytes of shared memory that every block takes beside its own
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
        ("exact", _ADDRESS),
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
        ("parts", _WHOLE),
        ("room", _WHOLE),
        ("classes", _WHOLE),
        ("norm", _WHOLE),
        ("seed", _BITS),
        ("iteration", _BITS),
        ("is_step", _WHOLE),
        ("leaf", _ADDRESS),
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
    fields: NDArray[Any]  # one of BOUND, as bytes
    kept: tuple[Any, ...]  # the arrays that it points to


def bind(device: Any, arrays: dict[str, NDArray[Any]], numbers: dict[str, Any]) -> Bound:
    """Upload arrays, and write down where they are."""
    kept = {name: device.upload(values) for name, values in arrays.items() if len(values)}
    fields = make_record(device, BOUND, kept, **numbers)
    return Bound(device, as_bytes(fields), tuple(kept.values()))


def make_record(device: Any, kind: Any, arrays: Mapping[str, Any], **numbers: Any) -> NDArray[Any]:
    """What a kernel is given: where arrays are, None if there is none, and numbers."""
    return set_fields(device, np.zeros((), kind), arrays, **numbers)


def set_fields(
    device: Any, fields: NDArray[Any], arrays: Mapping[str, Any], **numbers: Any
) -> NDArray[Any]:
    """The same record, with other arrays and numbers."""
    for name, array in arrays.items():
        fields[name] = 0 if array is None else device.pointer(array)
    for name, value in numbers.items():
        fields[name] = value
    return fields


def as_bytes(fields: NDArray[Any]) -> NDArray[Any]:
    """The same memory without names of fields, which CuPy would write down at every launch."""
    return fields.view(np.dtype((np.void, fields.itemsize)))


def make_call(device: Any, chosen: Chosen, **values: Any) -> NDArray[Any]:
    """One of CALL; arrays are addresses."""
    return make_record(device, CALL, {"jobs": chosen.jobs, "row": chosen.row}, **values)


class Launch(NamedTuple):
    """One launch of a plan."""

    name: str
    blocks: int
    threads: int
    shared: int  # bytes of each block
    scratch: int  # bytes of all blocks, where shared memory is too small
    fields: dict[str, int]  # of CALL
    keeps: bool = False  # whether it goes on with the scratch of the launch before


class Plan(NamedTuple):
    """The launches that work off some queries."""

    files: tuple[str, ...]
    macros: tuple[tuple[str, Any], ...]
    launches: list[Launch]


MODES = {"APART": 1, "SHARED": 1}  # those that take most
ENOUGH = 0.67  # share of a multiprocessor's blocks with which a launch is content


def padded(count: int, step: int) -> int:
    """`count` rounded up to a multiple."""
    return -(-int(count) // step) * step


def piece_bytes(macros: dict[str, Any], real: int, room: int, longest: int, classes: int) -> int:
    """Bytes that `carve` of documents.cu lays out, for real numbers of that size and lists of up to
    `longest` documents."""
    before = SLOTS + room * (2 * real + 4 * macros["SHARED"])
    before += classes * (real + (12 if macros["TIERED"] else 4))
    reals = 2 + (macros["APART"] or macros["COST"] or real == 8)
    reals += 6 * (macros["KIND"] == layout.BY_SWAP)
    reals += (macros["KIND"] == layout.BY_DISTANCE) + macros["CORRECTED"]
    integers = 2 * macros["NEEDS_RANK"] + (macros["PAIR_SET"] >= layout.TRUNCATED)
    integers += 5 * (macros["PAIR_SET"] >= layout.EXTENDED)
    rows = room * (reals * real + 4 * integers)
    keys = 8 << (longest - 1).bit_length() if longest > SHAPES["BY_WARP"] else 0
    return int(padded(before, 16) + max(rows, keys * macros["RANKED"]))


def _short_blocks(device: Any, macros: Mapping[str, Any]) -> int:
    """Blocks of a multiprocessor, where it has room for so many threads: as many as leave a thread
    registers for all that it holds."""
    is_plain = macros["KIND"] in (layout.BY_RANK, layout.BY_STEP)
    most = 12 if is_plain and macros["PAIR_SET"] < layout.EXTENDED else 8
    room: int = device.threads // SHORT_THREADS
    return min(most, room)


def plan_pairs(device: Any, chosen: Chosen, macros: dict[str, Any], classes: int) -> Plan:
    """Lists that several blocks share, long ones, short ones, and those with scores far apart.

    `classes` is the largest number of runs of equal labels of a query, and one more.
    """
    blocks = _short_blocks(device, macros)
    whole = macros | SHAPES | {"SHORT_BLOCKS": blocks}
    plan = Plan(PAIRS, tuple(whole.items()), [])
    sizes, end = chosen.sizes, len(chosen.sizes)

    def measure(
        first: int, threads: int, real: int, *, more: int = 0, of: dict[str, Any] = macros
    ) -> dict[str, int]:
        """Documents and bytes of a piece, for the list `first` and shorter ones."""
        longest = int(sizes[first])
        room = max(padded(longest, 32), threads)
        piece = padded(piece_bytes(of, real, room, longest, classes) + more, 256)
        return {"first": first, "room": room, "piece": piece, "classes": classes}

    def first_within(most: int) -> int:
        """The first list of which no piece has more bytes, whatever is asked of the objective: a
        query has the same blocks for forces as for hessians within leaves, so the same sums."""

        def is_within(one: int) -> bool:
            return measure(one, SHORT_THREADS, 4, of=macros | MODES)["piece"] <= most

        return bisect.bisect_left(range(end), True, key=is_within)

    huge = first_within(device.shared)
    _add_huge(device, plan, chosen, huge, measure)
    long = short = max(huge, int(np.searchsorted(-sizes, -SHORT)))
    # All blocks of a launch have the memory of its longest list. Where that leaves room for too few
    # of them, longer lists have a launch of their own, which changes nothing but the time.
    if first_within(int(device.shared / (ENOUGH * blocks)) - KEPT) > long:
        short = max(long, first_within(device.shared // blocks - KEPT))
    for name, first, last, threads in (
        ("push_long", huge, long, LONG_THREADS),
        ("push_short", long, short, SHORT_THREADS),
        ("push_short", short, end, SHORT_THREADS),
    ):
        if first < last:
            own = measure(first, threads, 4)
            plan.launches.append(Launch(name, last - first, threads, own["piece"], 0, own))
    if end and not macros["COST"]:
        own = measure(0, SHORT_THREADS, 8)
        blocks = min(end, 2 * device.processors, _pieces(chosen, own["room"]))
        scratch = blocks * own["piece"]
        plan.launches.append(Launch("push_far", blocks, SHORT_THREADS, 0, scratch, own))
    return plan


def _pieces(chosen: Chosen, room: int) -> int:
    """How many pieces of so many documents take no more memory than all documents."""
    return max(int(chosen.pointer[-1]) // room, 1)


def _add_huge(
    device: Any, plan: Plan, chosen: Chosen, huge: int, measure: Callable[..., dict[str, int]]
) -> None:
    """Lists that shared memory does not hold, as many at a time as scratch has pieces."""
    first = 0
    while first < huge:
        parts = min(max(int(chosen.sizes[first]) // PART_THREADS, 1), 4 * device.processors)
        own = measure(first, LONG_THREADS, 4, more=8 * parts) | {"parts": parts}
        lists = min(huge - first, _pieces(chosen, own["room"]))
        scratch = lists * own["piece"]
        for name, blocks, threads, shared in (
            ("lay_out_lists", lists, LONG_THREADS, 0),
            ("push_parts", lists * parts, PART_THREADS, SLOTS),
            ("write_lists", lists, LONG_THREADS, 0),
        ):
            keeps = name != "lay_out_lists"
            plan.launches.append(Launch(name, blocks, threads, shared, scratch, own, keeps=keeps))
        first += lists


def plan_lists(device: Any, chosen: Chosen, name: str) -> Plan:
    """Whole lists, single documents, or the norm of a sum: one block a query."""
    macros = (("LABEL", "double"), ("LIST_THREADS", LIST_THREADS))
    count = len(chosen.sizes)
    if not count:
        return Plan(LISTS, macros, [])
    room = padded(chosen.sizes[0], 32) if name in ("push_lists", "share_lists") else 0
    piece = padded(LIST_SLOTS + room * LIST_ROW, 256)
    is_shared = piece <= device.shared
    blocks = count if is_shared else min(count, device.processors)
    shared, scratch = (piece, 0) if is_shared else (0, blocks * piece)
    fields = {"count": count, "room": room, "piece": piece}
    return Plan(LISTS, macros, [Launch(name, blocks, LIST_THREADS, shared, scratch, fields)])


def run(bound: Bound, plan: Plan, call: NDArray[Any], jobs: int) -> None:
    """Do what a plan says."""
    device, raw = bound.device, as_bytes(call)
    far = device.zeros(1 + jobs, np.int32) if plan.files == PAIRS else None
    if far is not None:
        call["far"] = device.pointer(far)
    scratch: Any = None
    for one in plan.launches:
        for name, value in one.fields.items():
            call[name] = value
        if not one.keeps:
            scratch = device.empty(one.scratch, np.uint8) if one.scratch else None
        call["scratch"] = 0 if scratch is None else device.pointer(scratch)
        device.launch(
            plan.files,
            plan.macros,
            one.name,
            blocks=one.blocks,
            threads=one.threads,
            shared=one.shared,
            arguments=(bound.fields, raw),
        )
