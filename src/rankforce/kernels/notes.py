"""What is noted of the pairs that `exact` visits: lists, where forces come from, leaves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.layout import FORCE, SECOND, WEIGHT, Array, at, row_at


class Listed(NamedTuple):
    """Takes the pairs of one query: room for all of them, or for none."""

    hi: Array  # positions in label order
    lo: Array
    weight: Array
    force: Array


class Traced(NamedTuple):
    """Takes where forces come from: magnitudes by the slot of a document, by whether it is hi or lo
    of the pair, and by the code of the other. There is nothing to do without codes.
    """

    slot: Array  # of each row that is traced; below 0 for the others
    code: Array  # of each row
    share: float  # that is added
    sources: Array  # slots x 2 x codes


class Shared(NamedTuple):
    """Takes second derivatives of pairs with both documents in one leaf; nothing without leaves."""

    leaf: Array  # of each row
    row_weight: Array  # of each row; empty: 1
    sums: Array  # one for each leaf


_INTEGERS, _NUMBERS, _FLOATS = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)


class Wanted(NamedTuple):
    """What to find out about pairs; by default, only how many there are."""

    counts: Array  # pairs of each query
    factors: Array  # what the norm multiplies the forces of each query by
    listed: Listed = Listed(_INTEGERS, _INTEGERS, _FLOATS, _FLOATS)
    traced: Traced = Traced(_NUMBERS, _NUMBERS, 0.0, np.empty((0, 0, 0)))
    shared: Shared = Shared(_NUMBERS, _FLOATS, _FLOATS)


class Notes(NamedTuple):
    """What is noted of each pair of a query, by positions in label order."""

    is_listed: bool
    is_traced: bool
    is_shared: bool
    listed: Listed
    slot: Array
    code: Array
    parts: Array  # 2 x codes x documents: sums of forces on a document as hi, and as lo
    masks: Array  # codes x documents: 1 where a document has the code
    leaf: Array
    row_weight: Array
    within: Array  # of each document, sums over the pairs within its leaf


@kernel
def count_row(start, end, docs):
    """Number of weights of a row that are not 0."""
    weights = at(WEIGHT, start)
    count = 0.0
    for j in range(np.uint64(end - start)):
        count += 1.0 if docs[weights + j] != 0.0 else 0.0
    return count


@kernel
def list_row(i, is_hi, start, end, docs, count, listed):
    """List the pairs of a row whose weight is not 0; returns the number of pairs so far."""
    for j in range(start, end):
        weight = docs[at(WEIGHT, j)]
        # A NaN of a user's function is listed too, for the caller to refuse.
        if weight != 0.0:
            place = np.int64(count)
            listed.hi[place] = i if is_hi else j
            listed.lo[place] = j if is_hi else i
            listed.weight[place] = weight
            listed.force[place] = docs[at(FORCE, j)]
            count += 1.0
    return count


@kernel
def trace_row(i, is_hi, start, end, docs, code, slot, parts, masks):
    """Add the forces of a row to `parts`: on each of the others from the code of document `i`, and
    on `i`, if it is traced, from theirs. One pass for each code, without a branch."""
    count = np.uint64(end - start)
    forces = at(FORCE, start)
    own, other = (parts[0], parts[1]) if is_hi else (parts[1], parts[0])
    there = other[code[i]][start:end]
    for j in range(count):
        there[j] += docs[forces + j]
    if slot[i] >= 0:
        for c in range(len(own)):
            mask = masks[c][start:end]
            total = 0.0
            for j in range(count):
                total += docs[forces + j] * mask[j]
            own[c, i] += total


@kernel
def share_row(i, start, end, docs, leaf, row_weight, within):
    """Add the second derivatives of a row's pairs that share a leaf, once for each document."""
    seconds = at(SECOND, start)
    leaves, weights = leaf[start:end], row_weight[start:end]
    total = 0.0
    for j in range(np.uint64(end - start)):
        both = row_weight[i] + weights[j]
        total += docs[seconds + j] * both if leaves[j] == leaf[i] else 0.0
    within[i] += total


@kernel
def start_notes(n, start, row, position, wanted, notes):
    """Bring what rows have into label order; nothing is noted yet."""
    traced, shared = wanted.traced, wanted.shared
    notes.parts[:, :, :n] = 0.0
    notes.masks[:, :n] = 0.0
    notes.within[:n] = 0.0
    for i in range(start, start + n):
        p = position[i]
        r = row_at(row, i)
        if notes.is_traced:
            notes.slot[p] = traced.slot[r]
            notes.code[p] = traced.code[r]
            notes.masks[traced.code[r], p] = 1.0
        if notes.is_shared:
            notes.leaf[p] = shared.leaf[r]
            notes.row_weight[p] = shared.row_weight[r] if len(shared.row_weight) > 0 else 1.0


@kernel
def end_notes(n, scale, factor, factor_hess, wanted, notes):
    """Hand over what was noted, with the query's norm."""
    traced, shared = wanted.traced, wanted.shared
    for k in range(len(notes.listed.hi)):
        notes.listed.weight[k] *= scale
        notes.listed.force[k] *= factor
    for p in range(n):
        if notes.is_traced and notes.slot[p] >= 0:
            into = traced.sources[notes.slot[p]]
            for side in range(2):
                for c in range(len(notes.masks)):
                    into[side, c] += traced.share * factor * notes.parts[side, c, p]
        if notes.is_shared:
            shared.sums[notes.leaf[p]] += factor_hess * notes.within[p]
