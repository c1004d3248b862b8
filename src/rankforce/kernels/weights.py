"""Weights of a row of pairs: one document against a run of others.

In label order the documents below a label are one contiguous run, so a row holds only pairs with
different labels and its loops have no branch. With the fixed document i and another one j, either
of them hi, every objective's weight has the form

    sign * (label_i - label_j) * mask_j * (constant + |value_i - value_j| + extra_j)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankforce.kernels.compile import inlined, kernel
from rankforce.kernels.layout import (
    BY_DISTANCE,
    BY_RANK,
    BY_STEP,
    BY_SWAP,
    BY_USER,
    CORRECTION,
    DISTANCE,
    EXTRA,
    MASK,
    ONE,
    SIDE,
    WEIGHT,
    ZERO,
    G,
    U,
    at,
)
from rankforce.kernels.user import call_row


class Row(NamedTuple):
    """Which rows of the documents make a weight."""

    sign: float
    label: int
    own_label: int
    value: int
    own_value: int
    extra: int
    mask: int


@inlined
def row_of(is_hi, rules):
    """The rows for a fixed document that is hi, or lo."""
    extra = ZERO if rules.kind == BY_RANK else EXTRA
    if rules.kind == BY_USER:
        return Row(1.0, ZERO, ONE, ZERO, ZERO, extra, ONE if is_hi else MASK)
    if is_hi:
        return Row(1.0, rules.lo_label, U, rules.lo_rank, G, extra, ONE)
    return Row(-1.0, U, rules.lo_label, G, rules.lo_rank, extra, MASK)


@kernel
def fill_extra(i, is_hi, start, count, docs, rank, tables, rules):
    """Write row EXTRA for document `i` against `count` documents of one tile from `start`."""
    if rules.kind == BY_DISTANCE or rules.kind == BY_STEP:
        fill_distances(i, start, count, docs, rank, tables)
        if rules.has_correction:
            correct(i, start, count, docs, rank, tables)
    elif rules.kind == BY_SWAP:
        fill_swaps(i, start, count, docs, rank)
    elif rules.kind == BY_USER:
        here = docs.ctypes.data
        labels = here + at(U, start) * np.uint64(docs.itemsize)
        out = here + at(EXTRA, start) * np.uint64(docs.itemsize)
        ranks = rank.ctypes.data + np.uint64(start) * np.uint64(rank.itemsize)
        call_row(rules.user_row, docs[at(U, i)], rank[i], is_hi, count, labels, ranks, out)


@kernel
def fill_distances(i, start, count, docs, rank, tables):
    """A value of the rank distance."""
    own = rank[i]
    first = np.uint64(start)
    extra = at(EXTRA, start)
    for j in range(count):
        docs[extra + j] = tables[DISTANCE, np.uint64(abs(own - rank[first + j]))]


@kernel
def correct(i, start, count, docs, rank, tables):
    """Times a correction of the lower rank."""
    own = rank[i]
    first = np.uint64(start)
    extra = at(EXTRA, start)
    for j in range(count):
        docs[extra + j] *= tables[CORRECTION, np.uint64(max(own, rank[first + j]))]


@kernel
def fill_swaps(i, start, count, docs, rank):
    """The bracket of `swaps`, with document `i` as hi."""
    own = rank[i]
    a = docs[at(SIDE, i)]
    p = docs[at(SIDE + 1, i)]
    r = docs[at(SIDE + 4, i)]
    q = at(SIDE + 2, start)
    b = at(SIDE + 3, start)
    s = at(SIDE + 5, start)
    extra = at(EXTRA, start)
    first = np.uint64(start)
    for j in range(count):
        above = a * abs(p - docs[q + j])
        below = docs[b + j] * abs(r - docs[s + j])
        docs[extra + j] = above if own < rank[first + j] else below


@kernel
def fill_weights(i, is_hi, start, count, docs, rank, tables, rules):
    """Write row WEIGHT: the weights themselves, for the calls that need no speed."""
    fill_extra(i, is_hi, start, count, docs, rank, tables, rules)
    row = row_of(is_hi, rules)
    own_label = docs[at(row.own_label, i)]
    own_value = docs[at(row.own_value, i)]
    label, value = at(row.label, start), at(row.value, start)
    extra, mask, weight = at(row.extra, start), at(row.mask, start), at(WEIGHT, start)
    for j in range(count):
        ranks = rules.constant + abs(own_value - docs[value + j]) + docs[extra + j]
        docs[weight + j] = row.sign * (own_label - docs[label + j]) * docs[mask + j] * ranks
