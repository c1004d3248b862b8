"""Turns labels and a description into the arrays that the kernels read, once per data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.forces.description import Cost, Description
from rankforce.kernels import layout, sets, swaps
from rankforce.kernels.user import compile_row
from rankforce.measures.definition import RankTable, discount
from rankforce.measures.gains import GainError, gain_values, stop_probabilities

_NO_END = 2**31 - 1
_SWAPS = {"map": swaps.MAP, "mrr": swaps.MRR, "err": swaps.ERR}


class Sorted(NamedTuple):
    """Documents by query and descending label."""

    query: NDArray[np.int64]  # of each document
    local: NDArray[np.int64]  # number of each document within its query
    label: Floats  # y, or b where the objective is binary
    gain: Floats


def sort_labels(
    labels: Floats,
    index: QueryIndex,
    description: Description,
    tier: NDArray[np.int64] | None = None,
    *,
    top: float = 0.0,
) -> tuple[Sorted, NDArray[np.int32]]:
    """Sort by query, tier and label; also the position of each place within its query.

    A missing label comes last and is worth nothing. `top` is the largest label of data of which
    these are a part.
    """
    sizes = index.sizes
    label, number, gain = place_labels(labels, index, description, top=top)
    query = np.repeat(np.arange(len(sizes)), sizes)
    # Documents with the same label keep the order of places, so the sort must be stable.
    falling = len(gain) - 1 - number
    key = query * max(len(gain), 1) + falling
    order = np.argsort(key, kind="stable")
    if tier is not None:
        order = np.lexsort((key, index.places(tier), query))
    local = np.arange(len(label)) - index.pointer[query]
    position = np.empty(len(label), np.int32)
    position[order] = local
    return Sorted(query, local, label[order], gain[number[order]]), position


def place_labels(
    labels: Floats, index: QueryIndex, description: Description, *, top: float = 0.0
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """The label of each place as the objective sees it, which of the distinct ones that is, from
    the lowest up, and the gain of each of those."""
    label = index.places(labels)
    label = np.where(np.isnan(label), -np.inf, label)
    if description.binary:
        label = (label > 0).astype(np.float64)
    distinct, number = np.unique(label, return_inverse=True)
    known = distinct[distinct > -np.inf]
    try:
        gain = known if description.label_term == "one" else _gains(description, known, top)
    except GainError as error:
        rows = np.flatnonzero(labels == error.label)
        raise RankforceError(f"row {rows[0]}: {error}") from None
    gain = np.concatenate([np.zeros(len(distinct) - len(known)), gain])
    return label, number.reshape(-1), gain


def _gains(description: Description, distinct: Floats, top: float) -> Floats:
    if description.swaps == "err":
        found = stop_probabilities(distinct, description.max_label, distinct.max(initial=top))
        # Below 1 even where 2^max_label is beyond float64: the kernels divide by 1 - R.
        return np.asarray(np.minimum(found, 1.0 - 2.0**-52))
    return gain_values(description.gain, distinct)


def label_order(
    labels: Floats,
    index: QueryIndex,
    description: Description,
    tier: NDArray[np.int64] | None = None,
    *,
    top: float = 0.0,
) -> layout.LabelOrder:
    """Everything that labels alone decide. Only documents of the same `tier` are paired.

    `top` is the largest label of data of which these are a part.
    """
    sizes = index.sizes
    plain, position = sort_labels(labels, index, description, top=top)
    ideal = _ideals(plain, sizes, description)
    positive = _hits(plain, len(sizes)).astype(np.int32)
    strategy = _strategies(plain, index, description, positive)
    by_label, in_order = plain, np.zeros(len(labels), np.int64)
    if tier is not None:
        by_label, position = sort_labels(labels, index, description, tier, top=top)
        in_order = _at_positions(index.places(tier), position, index)
    pointer, classes = _classes(by_label, in_order, sizes)
    u, largest = _label_terms(by_label, index, description)
    scale = np.divide(largest, ideal, out=np.zeros(len(sizes)), where=ideal > 0)
    return layout.LabelOrder(position, u, scale, pointer, *classes, positive, strategy)


def _at_positions(
    values: NDArray[np.int64], position: NDArray[np.int32], index: QueryIndex
) -> NDArray[np.int64]:
    """Values of places in the order of positions."""
    found = np.empty_like(values)
    found[np.repeat(index.pointer[:-1], index.sizes) + position] = values
    return found


def _classes(
    by_label: Sorted, tier: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[NDArray[np.int64], layout.Classes]:
    """Start of every run of equal labels, with the query's size behind its last run; and where the
    tier of each run starts and stops."""
    query, label = by_label.query, by_label.label
    is_tier = np.ones(len(label), np.bool_)
    is_tier[1:] = (query[1:] != query[:-1]) | (tier[1:] != tier[:-1])
    is_first = is_tier.copy()
    is_first[1:] |= label[1:] != label[:-1]
    first = np.flatnonzero(is_first)
    count = np.bincount(query[first], minlength=len(sizes))
    pointer = np.concatenate([np.zeros(1, np.int64), np.cumsum(count + 1)])
    place = np.arange(len(first)) + query[first]
    # Of each run: the document where its tier begins, and that where the next one does.
    begins = np.flatnonzero(is_tier)
    ends = np.append(begins[1:], len(label))
    number = np.cumsum(is_tier)[first] - 1
    offset = first - by_label.local[first]
    starts = (first - offset, begins[number] - offset, ends[number] - offset)
    found = []
    for values in starts:
        whole = np.empty(pointer[-1], np.int64)
        whole[place] = values
        whole[pointer[1:] - 1] = sizes
        found.append(whole)
    return pointer, layout.Classes(*found)


def _label_terms(
    by_label: Sorted, index: QueryIndex, description: Description
) -> tuple[Floats, Floats]:
    """u of every document, at most 1 in each query so that float32 holds it, and its scale."""
    sizes = index.sizes
    if description.swaps == "err" or description.user is not None:
        return by_label.gain, np.ones(len(sizes))  # as they are: the weight needs them so
    if description.label_term == "one":
        return np.ones(len(by_label.gain)), np.ones(len(sizes))
    u = by_label.gain
    has = sizes > 0
    start = index.pointer[:-1][has]
    if description.label_term == "difference":
        lowest = np.zeros(len(sizes))
        lowest[has] = np.minimum.reduceat(u, start) if len(u) else 0.0
        u = u - lowest[by_label.query]
    largest = np.zeros(len(sizes))
    largest[has] = np.maximum.reduceat(u, start) if len(u) else 0.0
    divisor = np.where(largest > 0, largest, 1.0)
    return u / divisor[by_label.query], largest


def _ideals(by_label: Sorted, sizes: NDArray[np.int64], description: Description) -> Floats:
    """What the weights of each query are divided by; 0 where nothing is relevant."""
    queries = len(sizes)
    if description.ideal == "none":
        return np.ones(queries)
    if description.ideal == "relevant":
        return _hits(by_label, queries)
    if description.ideal == "hits":
        return np.minimum(_hits(by_label, queries), description.swaps_cutoff)
    ranks = np.arange(1.0, 1.0 + (sizes.max() if queries else 0))
    if description.ideal == "values":
        assert description.position is not None
        value = description.position(ranks)
    else:
        value = discount(ranks)
    value = np.where(ranks <= description.ideal_cutoff, value, 0.0)
    worth = _best_first(value, by_label, sizes)
    return np.asarray(np.bincount(by_label.query, by_label.gain * worth, queries), np.float64)


def _best_first(value: Floats, by_label: Sorted, sizes: NDArray[np.int64]) -> Floats:
    """What the places of an ideal list are worth: the ranks of its length, best first."""
    if not (np.diff(value) > 0).any():
        return value[by_label.local]
    worth = np.empty(len(by_label.local))
    own = sizes[by_label.query]
    for n in np.unique(own):
        worth[own == n] = np.sort(value[:n])[::-1][by_label.local[own == n]]
    return worth


def _hits(by_label: Sorted, queries: int) -> Floats:
    """Number of relevant documents of each query."""
    hits = np.bincount(by_label.query, by_label.label > 0, queries)
    return np.asarray(hits, np.float64)


def _strategies(
    by_label: Sorted, index: QueryIndex, description: Description, positive: NDArray[np.int32]
) -> NDArray[np.uint8]:
    """The Lambda-eX strategy of each query; the hybrids decide by labels and cutoff alone."""
    wanted = description.pair_set.extended or "all"
    codes = {"static": sets.STATIC, "random": sets.RANDOM, "all": sets.ALL}
    if wanted in codes:
        return np.full(len(positive), codes[wanted], np.uint8)
    # Smallest positive label of the query against that of its ideal top.
    start = index.pointer[:-1]
    in_top = np.minimum(positive, description.pair_set.cutoff).astype(np.int64)
    has = positive > 0
    last = by_label.label[np.where(has, start + positive - 1, 0)] if len(by_label.label) else 0.0
    last_in_top = by_label.label[np.where(has, start + in_top - 1, 0)] if len(by_label.label) else 0
    fallback = codes[wanted.removeprefix("all-")]
    return np.where(has & (last == last_in_top), fallback, sets.ALL).astype(np.uint8)


class Ruled(NamedTuple):
    """An objective as numbers, for queries up to some size."""

    tables: Floats
    exact: layout.Rules
    fast: layout.Rules  # the same forces by a shorter way, where there is one
    scale: float  # of all weights


def make_rules(
    description: Description, largest: int, cost: Cost, *, is_tiered: bool = False
) -> Ruled:
    """The objective as numbers for queries of up to `largest` documents.

    Tables are divided by a scale so that float32 holds them whatever a user's values are.
    """
    ranks = np.arange(1.0, 1.0 + max(largest, 1))
    position = _table(description.position, ranks)
    distance = _table(description.distance, ranks - 1.0, start=1)
    if not description.position_of_hi_only:
        # Only differences count; from rank 1 on, float32 holds those of the top best.
        position = position - position[0]
    scale = max(description.constant, float(np.abs(position).max()), float(distance.max()))
    scale = scale if scale > 0 else 1.0
    correction = _table(description.correction, ranks)
    pair_set, cutoff = _pair_set(description)
    exact = layout.Rules(
        has_correction=description.correction is not None,
        step=0.0,
        step_start=0.0,
        constant=description.constant / scale,
        is_symmetric=description.label_term == "difference" and not description.position_of_hi_only,
        lo_label=layout.U if description.label_term == "difference" else layout.ZERO,
        lo_rank=layout.ZERO if description.position_of_hi_only else layout.G,
        kind=_kind(description),
        pair_set=pair_set,
        cutoff=cutoff,
        flat=_flat(description),
        band=0,
        swaps=_SWAPS[description.swaps] if description.swaps else 0,
        swaps_cutoff=_whole(description.swaps_cutoff),
        user_row=compile_row(description.user).address if description.user else 0,
        sigma=cost.sigma,
        center=cost.center,
        is_sigmoid=cost.name == "sigmoid",
        is_tiered=is_tiered,
    )
    tables = np.stack([position / scale, distance / scale, correction])
    fast = exact if is_tiered else _shortcut(description, exact, tables[layout.DISTANCE])
    return Ruled(tables, exact, fast, scale)


def _shortcut(description: Description, exact: layout.Rules, distance: Floats) -> layout.Rules:
    """Where one rank distance alone has a value, its pairs are one pass down the ranking; where
    all from some distance on have the same, a comparison replaces the table."""
    far = np.flatnonzero(distance)
    is_plain = description.correction is None and description.pair_set.cutoff == math.inf
    if not len(far) or not is_plain or not exact.is_symmetric:
        return exact
    if len(far) > 1:
        step = float(distance[-1])
        if far[-1] - far[0] + 1 == len(far) and (distance[far] == step).all():
            return exact._replace(kind=layout.BY_STEP, step=step, step_start=float(far[0]))
        return exact
    rest, cutoff = layout.NO_PAIRS, exact.cutoff
    if description.position is not None:
        rest, cutoff = layout.ALL_PAIRS, exact.cutoff
        if description.flat_beyond < math.inf:
            rest, cutoff = layout.TRUNCATED, int(description.flat_beyond)
    return exact._replace(kind=layout.BY_RANK, pair_set=rest, cutoff=cutoff, band=int(far[0]))


def _kind(description: Description) -> int:
    if description.user is not None:
        return layout.BY_USER
    if description.swaps is not None:
        return layout.BY_SWAP
    return layout.BY_RANK if description.distance is None else layout.BY_DISTANCE


def _flat(description: Description) -> int:
    """The rank from which on all ranks are worth the same; 0 if no rank matters."""
    whole = (description.distance, description.swaps, description.user)
    if any(part is not None for part in (*whole, description.pair_set.extended)):
        return _NO_END
    if description.position is not None or description.pair_set.cutoff < math.inf:
        return _whole(description.flat_beyond)
    return 0


def _whole(cutoff: float) -> int:
    return _NO_END if cutoff == math.inf else int(cutoff)


def _table(table: RankTable | None, at: Floats, start: int = 0) -> Floats:
    values = np.zeros(len(at))
    if table is not None:
        values[start:] = table(at[start:])
    return values


def _pair_set(description: Description) -> tuple[int, int]:
    wanted = description.pair_set
    if wanted.extended is not None:
        by_label = wanted.missed == "label"
        code = layout.EXTENDED_BY_LABEL if by_label else layout.EXTENDED
        return code, _whole(wanted.cutoff)
    if wanted.cutoff < math.inf:
        return layout.TRUNCATED, int(wanted.cutoff)
    return layout.ALL_PAIRS, _NO_END


def tiers_of(
    labels: Floats, above: Sequence[Floats], *, leave_out_zeros: bool
) -> NDArray[np.int64] | None:
    """The tier of each row: only rows of one tier are paired. None if all are in one.

    Rows of a query are in one tier if no source `above` tells them apart. A row whose label is
    missing here or above, or 0 where zeros are left out, is in a tier of its own, so that it is in
    no pair (Svore et al. 2011, section 4.2).

    >>> tiers_of(np.array([3.0, 0.0, 1.0]), [np.array([2.0, 2.0, 2.0])], leave_out_zeros=True)
    array([1, 2, 1])
    """
    is_out = np.isnan(labels)
    for values in above:
        is_out |= np.isnan(values)
    if leave_out_zeros:
        is_out |= labels == 0.0
    if not above and not is_out.any():
        return None
    tier = np.zeros(len(labels), np.int64)
    for values in above:
        _, number = np.unique(np.where(is_out, 0.0, values), return_inverse=True)
        number = number.reshape(-1)
        _, tier = np.unique(tier * (number.max(initial=0) + 1) + number, return_inverse=True)
        tier = tier.reshape(-1).astype(np.int64)
    tier[is_out] = tier.max(initial=0) + 1 + np.arange(np.count_nonzero(is_out))
    return tier
