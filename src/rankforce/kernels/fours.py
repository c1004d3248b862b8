"""Forces of four rows of pairs at a time: weights by rank, logistic cost.

Four rows share every load and store of the run, and weights are made in the same loop: twice as
fast as row by row. Most of training's time is spent here.
"""

from __future__ import annotations

import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.layout import (
    HESS,
    LAM,
    MASK,
    MEMBER,
    RANK_VALUE,
    SCORE,
    TERM,
    E,
    G,
    U,
    at,
    padded,
    tile_end,
)


@kernel
def fill_term(hi, start, end, docs, rules):
    """Row TERM: (u_hi - v_lo) * e_lo for one label against everything below it."""
    u = docs[at(U, hi)]
    while start < end:
        stop = tile_end(start, end)
        term = at(TERM, start)
        v = at(rules.lo_label, start)
        e = at(E, start)
        for j in range(padded(stop - start)):
            docs[term + j] = (u - docs[v + j]) * docs[e + j]
        start = stop


@kernel
def push_four_below(i, known, start, end, docs, rules, force):
    """The first `known` of documents i..i+3, of one label, against start..end-1 below it."""
    total = 0.0
    while start < end:
        stop = tile_end(start, end)
        count = padded(stop - start)
        if rules.step == 0.0:
            total += four_below(i, known, start, count, docs, rules, force)
        else:
            total += four_below_step(i, known, start, count, docs, rules, force)
        start = stop
    return total


def _make_four_below(has_step):
    """With or without a step of the rank distance: a constant that the compiler folds away."""

    @kernel
    def four_below(i, known, start, count, docs, rules, force):
        real = docs.dtype.type
        one = real(1.0)
        zero = real(0.0)
        lo_rank = rules.lo_rank
        near = real(force.near)
        far = real(force.far)
        constant = real(rules.constant)
        step = real(rules.step)
        gap = real(rules.step_start)
        i1 = i + min(1, known - 1)
        i2 = i + min(2, known - 1)
        i3 = i + min(3, known - 1)
        q1 = one if known > 1 else zero
        q2 = one if known > 2 else zero
        q3 = one if known > 3 else zero
        c0, c1 = docs[at(SCORE, i)], docs[at(SCORE, i1)]
        c2, c3 = docs[at(SCORE, i2)], docs[at(SCORE, i3)]
        e0, e1, e2, e3 = docs[at(E, i)], docs[at(E, i1)], docs[at(E, i2)], docs[at(E, i3)]
        g0, g1, g2, g3 = docs[at(G, i)], docs[at(G, i1)], docs[at(G, i2)], docs[at(G, i3)]
        k0, k1 = docs[at(RANK_VALUE, i)], docs[at(RANK_VALUE, i1)]
        k2, k3 = docs[at(RANK_VALUE, i2)], docs[at(RANK_VALUE, i3)]
        score, e, term, h = at(SCORE, start), at(E, start), at(TERM, start), at(lo_rank, start)
        rank, lam, hess = at(RANK_VALUE, start), at(LAM, start), at(HESS, start)
        t0 = t1 = t2 = t3 = zero
        s0 = s1 = s2 = s3 = zero
        for j in range(count):
            sj, ej, tj, hj = docs[score + j], docs[e + j], docs[term + j], docs[h + j]
            w0 = constant + abs(g0 - hj)
            w1 = constant + abs(g1 - hj)
            w2 = constant + abs(g2 - hj)
            w3 = constant + abs(g3 - hj)
            if has_step:
                rj = docs[rank + j]
                w0 += step if abs(k0 - rj) >= gap else zero
                w1 += step if abs(k1 - rj) >= gap else zero
                w2 += step if abs(k2 - rj) >= gap else zero
                w3 += step if abs(k3 - rj) >= gap else zero
            a0 = near + far * abs(c0 - sj)
            a1 = near + far * abs(c1 - sj)
            a2 = near + far * abs(c2 - sj)
            a3 = near + far * abs(c3 - sj)
            r0 = one / ((e0 + ej) * a0)
            r1 = one / ((e1 + ej) * a1)
            r2 = one / ((e2 + ej) * a2)
            r3 = one / ((e3 + ej) * a3)
            x0 = w0 * tj * r0
            x1 = q1 * w1 * tj * r1
            x2 = q2 * w2 * tj * r2
            x3 = q3 * w3 * tj * r3
            y0 = x0 * (r0 * a0)
            y1 = x1 * (r1 * a1)
            y2 = x2 * (r2 * a2)
            y3 = x3 * (r3 * a3)
            t0 += x0
            t1 += x1
            t2 += x2
            t3 += x3
            s0 += y0
            s1 += y1
            s2 += y2
            s3 += y3
            docs[lam + j] -= (x0 + x1) + (x2 + x3)
            docs[hess + j] += (e0 * y0 + e1 * y1) + (e2 * y2 + e3 * y3)
        docs[at(LAM, i)] += t0
        docs[at(LAM, i1)] += t1
        docs[at(LAM, i2)] += t2
        docs[at(LAM, i3)] += t3
        docs[at(HESS, i)] += e0 * s0
        docs[at(HESS, i1)] += e1 * s1
        docs[at(HESS, i2)] += e2 * s2
        docs[at(HESS, i3)] += e3 * s3
        return np.float64((t0 + t1) + (t2 + t3))

    return four_below


four_below = _make_four_below(False)
four_below_step = _make_four_below(True)


@kernel
def push_one_member(m, n, docs, rules, force):
    """One document, any label, against all documents of the query.

    Row MASK is 1, but 1/2 for members: their pairs are met twice. The sign of the difference of
    labels tells which document of a pair is hi.
    """
    real = docs.dtype.type
    one = real(1.0)
    zero = real(0.0)
    near = real(force.near)
    far = real(force.far)
    constant = real(rules.constant)
    c0, e0, g0, u0 = docs[at(SCORE, m)], docs[at(E, m)], docs[at(G, m)], docs[at(U, m)]
    sum_total = 0.0
    start = np.int64(0)
    while start < n:
        stop = tile_end(start, n)
        score, e, u, g = at(SCORE, start), at(E, start), at(U, start), at(G, start)
        mask, lam, hess = at(MASK, start), at(LAM, start), at(HESS, start)
        t0 = s0 = total = zero
        for j in range(padded(stop - start)):
            l0 = (u0 - docs[u + j]) * docs[mask + j]
            a0 = near + far * abs(c0 - docs[score + j])
            r0 = one / ((e0 + docs[e + j]) * a0)
            b0 = l0 * (constant + abs(g0 - docs[g + j])) * r0
            x0 = b0 * (docs[e + j] if l0 > zero else e0)
            y0 = abs(b0) * docs[e + j] * (e0 * (r0 * a0))
            t0 += x0
            s0 += y0
            total += abs(x0)
            docs[lam + j] -= x0
            docs[hess + j] += y0
        docs[at(LAM, m)] += t0
        docs[at(HESS, m)] += s0
        sum_total += total
        start = stop
    return sum_total


@kernel
def push_four_members(m, known, n, integers, docs, rules, force):
    """Three or four documents, from the m-th member on, as `push_one_member` does one."""
    m0 = np.int64(integers[MEMBER, m])
    m1 = np.int64(integers[MEMBER, m + 1])
    m2 = np.int64(integers[MEMBER, m + 2])
    m3 = np.int64(integers[MEMBER, m + 3]) if known > 3 else m2
    total = 0.0
    start = np.int64(0)
    while start < n:
        stop = tile_end(start, n)
        total += four_members(
            m0, m1, m2, m3, known, start, padded(stop - start), docs, rules, force
        )
        start = stop
    return total


@kernel
def four_members(m0, m1, m2, m3, known, start, count, docs, rules, force):
    """`push_four_members` within one tile."""
    real = docs.dtype.type
    one = real(1.0)
    zero = real(0.0)
    near = real(force.near)
    far = real(force.far)
    constant = real(rules.constant)
    q3 = one if known > 3 else zero
    c0, e0, g0, u0 = docs[at(SCORE, m0)], docs[at(E, m0)], docs[at(G, m0)], docs[at(U, m0)]
    c1, e1, g1, u1 = docs[at(SCORE, m1)], docs[at(E, m1)], docs[at(G, m1)], docs[at(U, m1)]
    c2, e2, g2, u2 = docs[at(SCORE, m2)], docs[at(E, m2)], docs[at(G, m2)], docs[at(U, m2)]
    c3, e3, g3, u3 = docs[at(SCORE, m3)], docs[at(E, m3)], docs[at(G, m3)], docs[at(U, m3)]
    score, e, u, g = at(SCORE, start), at(E, start), at(U, start), at(G, start)
    mask, lam, hess = at(MASK, start), at(LAM, start), at(HESS, start)
    t0 = t1 = t2 = t3 = zero
    s0 = s1 = s2 = s3 = zero
    total = zero
    for j in range(count):
        sj, ej, gj, uj, mj = docs[score + j], docs[e + j], docs[g + j], docs[u + j], docs[mask + j]
        l0 = (u0 - uj) * mj
        l1 = (u1 - uj) * mj
        l2 = (u2 - uj) * mj
        l3 = (u3 - uj) * mj * q3
        a0 = near + far * abs(c0 - sj)
        a1 = near + far * abs(c1 - sj)
        a2 = near + far * abs(c2 - sj)
        a3 = near + far * abs(c3 - sj)
        r0 = one / ((e0 + ej) * a0)
        r1 = one / ((e1 + ej) * a1)
        r2 = one / ((e2 + ej) * a2)
        r3 = one / ((e3 + ej) * a3)
        b0 = l0 * (constant + abs(g0 - gj)) * r0
        b1 = l1 * (constant + abs(g1 - gj)) * r1
        b2 = l2 * (constant + abs(g2 - gj)) * r2
        b3 = l3 * (constant + abs(g3 - gj)) * r3
        x0 = b0 * (ej if l0 > zero else e0)
        x1 = b1 * (ej if l1 > zero else e1)
        x2 = b2 * (ej if l2 > zero else e2)
        x3 = b3 * (ej if l3 > zero else e3)
        y0 = abs(b0) * ej * (e0 * (r0 * a0))
        y1 = abs(b1) * ej * (e1 * (r1 * a1))
        y2 = abs(b2) * ej * (e2 * (r2 * a2))
        y3 = abs(b3) * ej * (e3 * (r3 * a3))
        t0 += x0
        t1 += x1
        t2 += x2
        t3 += x3
        s0 += y0
        s1 += y1
        s2 += y2
        s3 += y3
        total += (abs(x0) + abs(x1)) + (abs(x2) + abs(x3))
        docs[lam + j] -= (x0 + x1) + (x2 + x3)
        docs[hess + j] += (y0 + y1) + (y2 + y3)
    docs[at(LAM, m0)] += t0
    docs[at(LAM, m1)] += t1
    docs[at(LAM, m2)] += t2
    docs[at(LAM, m3)] += t3
    docs[at(HESS, m0)] += s0
    docs[at(HESS, m1)] += s1
    docs[at(HESS, m2)] += s2
    docs[at(HESS, m3)] += s3
    return np.float64(total)
