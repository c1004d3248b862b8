"""The arrays that kernels share: what they hold and in which order.

A query's documents stand in label order (highest label first) in tiles of TILE documents. A tile
holds one row of WIDTH numbers for each quantity below, all in one flat array. Because WIDTH is a
constant, the compiler sees that rows never overlap and vectorises loops over many of them without
checks at run time; and one array keeps compiled signatures, and compile times, small.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.kernels.compile import inlined, kernel

# Runs of documents are padded to a multiple of LANES, so that no loop has a scalar tail.
LANES = 16
# Documents of a tile: also as many terms as a sum in float32 holds well.
TILE_BITS = 11
TILE = 1 << TILE_BITS
WIDTH = TILE + LANES

(
    SCORE,  # centred on the middle of the query's range
    E,  # exp(sigma * score); 0 in the padding, which makes its forces 0
    U,  # label term
    G,  # value of the rank
    EXTRA,  # value that a row of pairs adds to those of the ranks
    MASK,  # 1 for the hi documents that a row of a lo document may count
    ZERO,  # always 0
    ONE,  # always 1
    WEIGHT,  # of a row of pairs
    LAM,
    HESS,
    TERM,  # scratch of `push_four`
    RANK_VALUE,  # the rank itself
    SIDE,  # first of the six rows of `swaps`
) = range(14)
DOCUMENT_ROWS = SIDE + 6
# Of a row of pairs, in the walk over pairs one by one: it needs neither exponentials of documents
# nor the scratch.
FORCE, SECOND = TERM, E

# Scratch of a block: whole numbers ...
ORDER, OTHER, INSIDE, MEMBER, LABEL_CLASS, NEED, LEFT, RANK = range(8)
INTEGER_ROWS = 8
INTEGER_COLUMNS = 256  # at least: the radix sort counts in NEED and LEFT
# ... and float64 numbers.
GIVEN, GAIN, SUM_LAM, SUM_HESS, SIDES = range(5)
FLOAT_ROWS = SIDES + 6

# How a pair's weight is made.
BY_RANK, BY_STEP, BY_DISTANCE, BY_SWAP, BY_USER = range(5)
# Which pairs there are.
NO_PAIRS, ALL_PAIRS, TRUNCATED, EXTENDED, EXTENDED_BY_LABEL = range(5)
# The last one is the part of LightGBM's norm that a pair alone decides.
NO_NORM, LIGHTGBM_NORM, STD_NORM, APART_NORM = range(4)

Array = NDArray[Any]


class Queries(NamedTuple):
    """Where the documents of each query are."""

    pointer: Array  # query q has the places pointer[q]..pointer[q+1]-1
    row: Array  # row of each place; empty when places are rows
    key: Array  # of the random draws


class Classes(NamedTuple):
    """Runs of equal labels of one query, in label order."""

    start: Array  # first document of each, and n behind the last
    tier_start: Array  # the first document that those of a run may be paired with
    tier_stop: Array  # and the first behind the last of them


class Shown(NamedTuple):
    """What is known of one query before its documents are loaded."""

    n: int
    start: int  # its first place
    low: float  # of its scores
    high: float
    known: int  # ranks that were found
    positive: int  # documents with a positive label


class LabelOrder(NamedTuple):
    """Everything that labels alone decide, documents of a query by descending label."""

    position: Array  # of each place, within its query
    u: Array  # label term, by label order, scaled to at most 1 in each query
    scale: Array  # of the weights of each query; 0 when it has no pair
    class_pointer: Array  # query q has the classes class_pointer[q]..class_pointer[q+1]-1
    class_start: Array  # first document of each class, and n behind the last
    tier_start: Array  # of each class, the first document that it may be paired with
    tier_stop: Array  # and the first behind the last of them
    positive: Array  # number of documents with a positive label
    strategy: Array  # of Lambda-eX


# Rows of an objective's tables.
POSITION, DISTANCE, CORRECTION = range(3)


class Rules(NamedTuple):
    """The objective as numbers (see `forces.description`). No arrays: passing a tuple of them
    to a kernel counts references, 10 ns each."""

    has_correction: bool
    step: float  # value of every rank distance from `step_start` on, for BY_STEP
    step_start: float
    constant: float  # part of the weight that no rank decides
    is_symmetric: bool  # the weight is the same whichever document of the pair is hi
    lo_label: int  # row with the label term of lo: U, or ZERO if it does not count
    lo_rank: int  # row with the value of lo's rank: G, or ZERO if it does not count
    kind: int  # BY_RANK, BY_STEP, BY_DISTANCE, BY_SWAP or BY_USER
    pair_set: int
    cutoff: int  # of the pair set
    flat: int  # ranks from here on all have one value; 0 if no rank matters
    band: int  # a rank distance whose pairs are done by themselves; 0 if there is none
    swaps: int  # metric of `swaps`
    swaps_cutoff: int
    user_row: int  # address of the compiled row of a user's pair weight
    sigma: float
    center: float
    is_sigmoid: bool
    is_tiered: bool  # only documents of one tier are paired, whose runs end anywhere


class Force(NamedTuple):
    """Norm and cost of one query, in numbers that loops need no branch for."""

    near: float  # the weight is divided by near + far * |x|
    far: float
    shift: float  # exp(center) of the sigmoid cost


@inlined
def classes_of(q, labels):
    """The runs of equal labels of query `q`."""
    first, last = labels.class_pointer[q], labels.class_pointer[q + 1]
    return Classes(
        labels.class_start[first:last], labels.tier_start[first:last], labels.tier_stop[first:last]
    )


@inlined
def row_at(row, place):
    """The row of a place."""
    return row[place] if len(row) > 0 else place


@kernel
def make_scratch(first, last, queries):
    """Size of the largest of the queries first..last-1, at least 1, and scratch for it."""
    size = 1
    for q in range(first, last):
        size = max(size, queries.pointer[q + 1] - queries.pointer[q])
    integers = np.zeros((INTEGER_ROWS, max(size + LANES, INTEGER_COLUMNS)), np.int32)
    return size, integers, np.zeros((FLOAT_ROWS, size), np.float64)


@inlined
def padded(count):
    """`count` rounded up to a multiple of LANES, as the unsigned end of a loop."""
    return np.uint64(((count + LANES - 1) >> 4) << 4)


@inlined
def at(row, i):
    """Where the number of document `i` in `row` is.

    Unsigned: a signed index could count from the end, and checking that stops vectorisation.
    Views of parts would be easier to read, but each counts references: 100 ns for a row of pairs.
    """
    tile = np.uint64(i >> TILE_BITS) * np.uint64(DOCUMENT_ROWS)
    return (tile + np.uint64(row)) * np.uint64(WIDTH) + np.uint64(i & (TILE - 1))


@inlined
def tile_end(start, end):
    """Where the tile of document `start` ends, at most `end`."""
    return min(end, (start | (TILE - 1)) + 1)


@kernel
def make_documents(size, zero):
    """Tiles for up to `size` documents, in the float type of `zero`."""
    docs = np.zeros(((size - 1) // TILE + 1) * DOCUMENT_ROWS * WIDTH, zero.dtype)
    start = np.int64(0)
    while start < size:
        one = at(ONE, start)
        for j in range(np.uint64(WIDTH)):
            docs[one + j] = 1.0
        start += TILE
    return docs
