"""What a swap of two ranks changes in metrics that are not sums over documents.

For hi at rank i and lo at rank j the change is

    (u_hi - v_lo) * (A_hi * |P_hi - Q_lo|  if hi stands above lo,  B_lo * |R_hi - S_lo|  if below)

with six numbers per rank, `side[0..5]` = A, P, Q, B, R, S, that prefix sums over the ranking give.
"""

from __future__ import annotations

from rankforce.kernels.compile import kernel

MAP, MRR, ERR = 1, 2, 3


@kernel
def fill_sides(metric, n, cutoff, gain, side):
    """Fill `side` for the ranking whose documents have `gain` (0 is not relevant)."""
    if metric == MAP:
        fill_map(n, cutoff, gain, side)
    elif metric == MRR:
        fill_mrr(n, cutoff, gain, side)
    else:
        fill_err(n, cutoff, gain, side)


@kernel
def fill_map(n, cutoff, gain, side):
    """Average precision: hits[r]/r minus the sum of 1/t over hits above or at r."""
    hits = 0
    inverse_ranks = 0.0
    for r in range(n):
        inside = 1.0 / (r + 1) if r < cutoff else 0.0
        if gain[r] > 0.0:
            hits += 1
            inverse_ranks += inside
        value = hits * inside - inverse_ranks
        side[0, r] = 1.0
        side[3, r] = 1.0
        side[1, r] = value
        side[2, r] = value
        side[4, r] = value + inside
        side[5, r] = value + inside


@kernel
def fill_mrr(n, cutoff, gain, side):
    """Reciprocal rank: only the first hit can fall, and only ranks above it are worth a climb."""
    first = n
    second = n
    for r in range(n):
        if gain[r] > 0.0:
            if first == n:
                first = r
            else:
                second = r
                break
    best = 1.0 / (first + 1) if first < min(cutoff, n) else 0.0
    for r in range(n):
        after = min(r, second)
        side[0, r] = 1.0 if r == first else 0.0
        side[1, r] = best
        side[2, r] = 1.0 / (after + 1) if after < cutoff else 0.0
        side[3, r] = 1.0
        side[4, r] = best
        side[5, r] = max(best, 1.0 / (r + 1) if r < cutoff else 0.0)


@kernel
def fill_err(n, cutoff, gain, side):
    """Expected reciprocal rank; `gain` is the stop probability R (Chapelle et al. 2009).

    Swapping the upper i and the lower j changes ERR by |R_i - R_j| / (1 - R_i) * |a_i - a_j| with
    a_r = (probability to pass r) * (1/r - ERR of the ranks below r, for a reader who is there).
    """
    below = 0.0
    for r in range(n - 1, -1, -1):
        inside = 1.0 / (r + 1) if r < cutoff else 0.0
        side[1, r] = inside - below
        below = gain[r] * inside + (1.0 - gain[r]) * below
    passed = 1.0
    for r in range(n):
        passed *= 1.0 - gain[r]
        value = passed * side[1, r]
        upper = 1.0 / (1.0 - gain[r])
        side[0, r] = upper
        side[3, r] = upper
        side[1, r] = value
        side[2, r] = value
        side[4, r] = value
        side[5, r] = value
