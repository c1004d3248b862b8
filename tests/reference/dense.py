"""The reference for long queries: NumPy matrices in float64, some rows of `hi` at a time.

Formulas are those of the naive files beside this one, against which it is tested.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .extended import extended_set
from .positions import POSITION_NAMES
from .weights import EX_FORMS, EX_NAMES, TRUNCATED_FORMS

Floats = NDArray[np.float64]
ROWS_AT_A_TIME = 256
SWAP_NAMES = ("lambdarank(map)", "lambdarank(mrr)", "lambdarank(err)", "lambdarank(arp)")
ON_BINARY = ("BinRankNet", "lambdarank(map)", "lambdarank(mrr)", "lambdarank(arp)", *POSITION_NAMES)


def discount(rank: Floats) -> Floats:
    """d(r) = 1 / log2(1 + r); ranks below 1 are never used."""
    return 1.0 / np.log2(1.0 + np.maximum(rank, 1.0))


def forces(
    name: str,
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    norm: str = "none",
    keep: NDArray[np.bool_] | None = None,
    **options: Any,
) -> tuple[Floats, Floats]:
    """(lambda, hess) with the logistic cost and sigma 1, norm "none" or "lightgbm".

    `keep[hi, lo]` says which pairs count, where not all do.
    """
    s = np.asarray(scores, dtype=np.float64)
    lam, hess, total = np.zeros(len(s)), np.zeros(len(s)), 0.0
    for rows, W in weight_rows(name, s, labels, **options):
        W = W if keep is None else W * keep[rows]
        x = s[rows, None] - s[None, :]
        if norm == "lightgbm" and s.max() > s.min():
            W = W / (0.01 + np.abs(x))
        small = np.exp(-np.abs(x))
        p = np.where(x > 0, small, 1.0) / (1.0 + small)
        first, second = p * W, small / (1.0 + small) ** 2 * W
        lam[rows] += first.sum(axis=1)
        lam -= first.sum(axis=0)
        hess[rows] += second.sum(axis=1)
        hess += second.sum(axis=0)
        total += 2.0 * float(first.sum())
    if norm == "lightgbm" and total > 0:
        factor = np.log2(1.0 + total) / total
        return lam * factor, hess * factor
    return lam, hess


def weight_rows(
    name: str, scores: ArrayLike, labels: ArrayLike, **options: Any
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Some rows, and W[row, lo] of all documents `lo`; rows that are never hi are left out."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if name in ON_BINARY or "BNDCG" in name or name.endswith(" bin"):
        y = (y > 0).astype(np.float64)
    rank = np.empty(len(s))
    rank[np.argsort(-s, kind="stable")] = np.arange(1.0, len(s) + 1.0)
    can_be_hi = np.flatnonzero(y > y.min(initial=np.inf))
    for start in range(0, len(can_be_hi), ROWS_AT_A_TIME):
        rows = can_be_hi[start : start + ROWS_AT_A_TIME]
        W = np.asarray(_weights(name, rows, y, rank, **options))
        yield rows, np.where(y[rows, None] > y[None, :], W, 0.0)


def _weights(
    name: str, rows: NDArray[np.intp], y: Floats, rank: Floats, *, k: int | None = None, **more: Any
) -> Floats:
    """Weights of rows x all documents, right where the labels differ."""
    ones = np.ones((len(rows), len(y)))
    if name in ("RankNet", "BinRankNet"):
        return ones
    if name == "LambdaLoss-ARP1":
        return ones * y[rows, None]
    if name == "LambdaLoss-ARP2":
        return y[rows, None] - y[None, :]
    if name in SWAP_NAMES:
        return _swaps(name, rows, y, rank)
    i = np.minimum(rank[rows, None], rank[None, :])
    j = np.maximum(rank[rows, None], rank[None, :])
    if name in POSITION_NAMES:
        assert k is not None
        return _positions(name, i, j, k, **more)
    return _ndcg(name, rows, y, rank, i, j, k, **more)


def _positions(name: str, i: Floats, j: Floats, k: int, mu: float = 1.0) -> Floats:
    inside = 1.0 * ((i <= k) & (k < j))
    beyond = np.maximum(j - k, 0.0) - np.maximum(i - k, 0.0)
    if name == "LambdaRank-P@k":
        return inside
    if name == "LambdaRank-ARPbk":
        return beyond
    gap = 1.0 * (j - i == k if name.startswith("LambdaGap-S") else j - i >= k)
    if name.endswith("++"):
        return beyond + mu * gap
    return inside + mu * gap if name.endswith("+") else gap


def _ndcg(
    name: str,
    rows: NDArray[np.intp],
    y: Floats,
    rank: Floats,
    i: Floats,
    j: Floats,
    k: int | None,
    mu: float = 1.0,
) -> Floats:
    level = len(y) if k is None else k
    gain = np.exp2(y) - 1.0
    best = np.sort(gain)[::-1][:level]
    ideal = float(best @ discount(np.arange(1.0, len(best) + 1.0)))
    gd = gain[rows, None] - gain[None, :]
    rho, delta = discount(i) - discount(j), discount(j - i) - discount(j - i + 1.0)
    form = EX_FORMS[name.split(" ")[0]] if name in EX_NAMES else TRUNCATED_FORMS[name]
    if form == "loss1":
        W = np.broadcast_to((gain * discount(rank))[rows, None], gd.shape)
    elif form == "top-k":
        W = gd * delta * np.where(j > level, 1.0 / (1.0 - discount(np.maximum(j, 2.0))), 1.0)
    else:
        W = gd * {"rho": rho, "delta": delta, "rho+delta": rho + mu * delta}[form]
    inside = rank <= level
    if name in EX_NAMES:
        ordered = y[np.argsort(rank)].tolist()
        members = extended_set(name.split(" ")[1], ordered, level)
        inside = np.isin(rank - 1.0, list(members))
    return np.where(inside[rows, None] | inside[None, :], W, 0.0) / ideal


def _swaps(name: str, rows: NDArray[np.intp], y: Floats, rank: Floats) -> Floats:
    """|M after swapping - M before|, from sums over the ranking before the swap."""
    hi, lo = rank[rows, None], rank[None, :]
    if name == "lambdarank(arp)":
        return np.abs(hi - lo)
    ordered = y[np.argsort(rank)]
    if name == "lambdarank(mrr)":
        return _mrr(ordered, hi, lo)
    upper, lower = np.minimum(hi, lo), np.maximum(hi, lo)
    at = {"upper": upper.astype(int) - 1, "lower": lower.astype(int) - 1}
    return (_map if name == "lambdarank(map)" else _err)(ordered, hi < lo, at, upper, lower)


def _mrr(b: Floats, hi: Floats, lo: Floats) -> Floats:
    hits = np.flatnonzero(b) + 1.0
    first, second = hits[0], hits[1] if len(hits) > 1 else np.inf
    after = np.where(hi == first, np.minimum(lo, second), np.minimum(first, lo))
    return np.abs(1.0 / after - 1.0 / first)


def _map(b: Floats, falls: Any, at: dict[str, Any], upper: Floats, lower: Floats) -> Floats:
    """The hit moves from `before` to `after`; hits between gain or lose one hit above them."""
    hits = np.cumsum(b)
    inverse = np.cumsum(b / np.arange(1.0, len(b) + 1.0))
    down = hits[at["upper"]] / upper + inverse[at["lower"]] - inverse[at["upper"]]
    down = down - hits[at["lower"]] / lower
    up = (hits[at["upper"]] + 1.0) / upper + inverse[at["lower"]] - inverse[at["upper"]]
    up = up - (hits[at["lower"]] + 1.0) / lower
    return np.where(falls, down, up) / hits[-1]


def _err(y: Floats, falls: Any, at: dict[str, Any], upper: Floats, lower: Floats) -> Floats:
    """ERR = above + reach * (stop_i / i + (1 - stop_i) * rest + ...), with both orders of stop."""
    n = len(y)
    stop = (np.exp2(y) - 1.0) / np.exp2(y.max())
    reach = np.concatenate([[1.0], np.cumprod(1.0 - stop)])  # before each rank
    part = np.cumsum(reach[:-1] * stop / np.arange(1.0, n + 1.0))
    up, low = at["upper"], at["lower"]
    between = (part[low - 1] - part[up]) / (reach[up + 1])  # of the ranks between, if reached
    pass_between = reach[low] / reach[up + 1]

    def value(first: Floats, second: Floats) -> Floats:
        rest = between + pass_between * second / lower
        return reach[up] * (first / upper + (1.0 - first) * rest)

    return np.abs(value(stop[up], stop[low]) - value(stop[low], stop[up]))
