"""What is noted of the pairs that `exact` visits: lists, where forces come from, leaves, costs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.layout import FORCE, SCORE, SECOND, WEIGHT, Array, at, row_at
from rankforce.kernels.pair import pair_cost
from rankforce.kernels.sums import add_exactly

# Magnitudes under the norm; without one, on a document as hi of the pair, and as lo.
BY_SIZE, UP, DOWN = range(3)


class Listed(NamedTuple):
    """Takes the pairs of one query: room for all of them, or for none."""

    hi: Array  # positions in label order
    lo: Array
    weight: Array
    force: Array


class Traced(NamedTuple):
    """Takes where forces come from: magnitudes by the slot of a document, by their kind (`BY_SIZE`,
    `UP`, `DOWN`), and by the code of the other. There is nothing to do without codes.
    """

    slot: Array  # of each row that is traced; below 0 for the others
    code: Array  # of each row
    share: float  # that is added
    sources: Array  # slots x 3 x codes


class Shared(NamedTuple):
    """Takes second derivatives of pairs with both documents in one leaf; nothing without leaves."""

    leaf: Array  # of each row
    row_weight: Array  # of each row; empty: 1
    sums: Array  # 2 x leaves, as in `add_exactly`


_INTEGERS, _NUMBERS, _FLOATS = np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0)


class Wanted(NamedTuple):
    """What to find out about pairs; by default, only how many there are."""

    counts: Array  # pairs of each query
    factors: Array  # what the norm multiplies the forces of each query by
    listed: Listed = Listed(_INTEGERS, _INTEGERS, _FLOATS, _FLOATS)
    traced: Traced = Traced(_NUMBERS, _NUMBERS, 0.0, np.empty((0, 0, 0)))
    shared: Shared = Shared(_NUMBERS, _FLOATS, np.empty((0, 0)))
    costs: Array = _FLOATS  # of each query, takes what its pairs cost without any norm


class Notes(NamedTuple):
    """What is noted of each pair of a query, by positions in label order."""

    is_listed: bool
    is_traced: bool
    is_shared: bool
    is_priced: bool
    listed: Listed
    slot: Array
    code: Array
    parts: Array  # 3 x codes x documents: sums of forces on a document, by their kind
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
def trace_row(i, is_hi, start, end, docs, force, code, slot, parts, masks):
    """Add the forces of a row to `parts`: on each of the others from the code of document `i`, and
    on `i`, if it is traced, from theirs. One pass for each code, without a branch."""
    count = np.uint64(end - start)
    forces, score, bare = at(FORCE, start), at(SCORE, start), at(SECOND, start)
    here, there = (UP, DOWN) if is_hi else (DOWN, UP)
    by_size, pushed = parts[BY_SIZE, code[i]][start:end], parts[there, code[i]][start:end]
    own = docs[at(SCORE, i)]
    for j in range(count):
        # What the norm has divided by.
        apart = force.near + force.far * min(abs(own - docs[score + j]), 1e300)
        docs[bare + j] = docs[forces + j] * apart
        by_size[j] += docs[forces + j]
        pushed[j] += docs[bare + j]
    if slot[i] >= 0:
        for c in range(len(masks)):
            mask = masks[c][start:end]
            total = 0.0
            total_bare = 0.0
            for j in range(count):
                total += docs[forces + j] * mask[j]
                total_bare += docs[bare + j] * mask[j]
            parts[BY_SIZE, c, i] += total
            parts[here, c, i] += total_bare


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
def cost_row(i, is_hi, start, end, docs, rules):
    """What the pairs of a row cost."""
    sign = 1.0 if is_hi else -1.0
    own = docs[at(SCORE, i)]
    score, weights = at(SCORE, start), at(WEIGHT, start)
    total = 0.0
    for j in range(np.uint64(end - start)):
        x = sign * (own - docs[score + j])
        weight = docs[weights + j]
        total += pair_cost(x, weight, rules.sigma, rules.center, rules.is_sigmoid)
    return total


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
def end_notes(n, scale, sigma, factor, factor_hess, wanted, notes):
    """Hand over what was noted, with the query's norm where it counts."""
    traced, shared = wanted.traced, wanted.shared
    for k in range(len(notes.listed.hi)):
        notes.listed.weight[k] *= scale
        notes.listed.force[k] *= factor
    for p in range(n):
        if notes.is_traced and notes.slot[p] >= 0:
            into = traced.sources[notes.slot[p]]
            for kind in range(len(into)):
                times = traced.share * (factor if kind == BY_SIZE else sigma * scale)
                for c in range(len(notes.masks)):
                    into[kind, c] += times * notes.parts[kind, c, p]
        if notes.is_shared:
            add_exactly(shared.sums, notes.leaf[p], factor_hess * notes.within[p])
