"""One pair in float64: its force, its second derivative and its cost."""

from __future__ import annotations

from rankforce.kernels.compile import inlined


@inlined
def decay(z):
    """e^-|z| = (e^(-|z|/1024))^1024: a polynomial vectorises where a call would not.

    Nor does a call give the same last bit in code that was just compiled and in code from disk.
    """
    t = -min(abs(z), 700.0) / 1024.0
    y = 1.0 / 3628800.0 * t + 1.0 / 362880.0
    y = y * t + 1.0 / 40320.0
    y = y * t + 1.0 / 5040.0
    y = y * t + 1.0 / 720.0
    y = y * t + 1.0 / 120.0
    y = y * t + 1.0 / 24.0
    y = y * t + 1.0 / 6.0
    y = y * t + 0.5
    y = y * t + 1.0
    y = y * t + 1.0
    for _ in range(10):
        y *= y
    return y if abs(z) <= 700.0 else 0.0


@inlined
def pair_force(x, weight, sigma, center, is_sigmoid, near, far):
    """Magnitude of a pair's force and its second derivative, both without powers of sigma.

    x is s_hi - s_lo; the norm divides the weight by near + far * |x|. The logistic cost has
    p * weight and p * (1 - p) * weight, the sigmoid cost the latter for both.
    """
    z = sigma * x + center
    y = decay(z)
    apart = near + far * min(abs(x), 1e300)
    inverse = 1.0 / ((1.0 + y) * apart)
    base = weight * inverse
    second = base * y * (inverse * apart)
    first = second if is_sigmoid else base * (y if z > 0.0 else 1.0)
    return first, second


@inlined
def log_of_sum(y):
    """log(1 + y) for y from 0 to 1, by the series of 2 artanh(y / (2 + y)): it vectorises."""
    t = y / (2.0 + y)
    square = t * t
    total = 1.0 / 31.0
    for k in range(15):
        total = total * square + 1.0 / (29.0 - 2.0 * k)
    return 2.0 * t * total


@inlined
def pair_cost(x, weight, sigma, center, is_sigmoid):
    """What a pair costs; minus its derivative by x is sigma times the force, without any norm.

    The logistic cost is log(1 + e^-z) * weight, the sigmoid cost weight / (1 + e^z).
    """
    z = min(max(sigma * x + center, -1e300), 1e300)  # so that no weight of 0 meets infinity
    y = decay(z)
    if is_sigmoid:
        return weight * (y if z > 0.0 else 1.0) / (1.0 + y)
    return weight * (max(-z, 0.0) + log_of_sum(y))
