"""Decimal numbers in text, rounded as Python's float() rounds them, or known to be too hard.

A feature needs only float32(float(text)), and that is a monotone function of the number. So an
approximation with a known error is enough wherever both ends of its range round to one float32;
that leaves about one number in 30 million.
"""

from __future__ import annotations

import numba
import numpy as np

from rankforce.kernels.compile import kernel
from rankforce.kernels.memory import byte, eight_bytes, trailing_zeros

# What a token is; LONG has more digits than fit, and those behind the first 19 are dropped.
NUMBER, LONG, NOT_A_NUMBER, BAD = range(4)

# Correctly rounded, the first 23 exact.
POWERS = np.array([float(f"1e{power}") for power in range(309)])
EXACT_POWER = 22  # 10^22 is the last power of ten that float64 holds exactly
EXACT_DIGITS = np.uint64(1 << 53)
MAX_DIGITS = 19  # 10^19 - 1 fits in 64 bits
# Rounding the digits, the power and the quotient: under 2 units of 2^-52, and a margin of as much.
BELOW, ABOVE = 1.0 - 2.0**-50, 1.0 + 2.0**-50
NAN = np.uint64(int.from_bytes(b"nan", "big"))
MAX_POWER = 1_000_000  # of a written exponent: more changes nothing

# Unsigned, as the bytes are: with a signed number numba would compute in float64.
MINUS, PLUS, DOT, ZERO, CAPITAL_A, SMALL_E = (np.uint64(ord(c)) for c in "-+.0Ae")
ONE, EIGHT, NINE, TEN = np.uint64(1), np.uint64(8), np.uint64(9), np.uint64(10)
ZEROS = np.uint64(0x3030303030303030)
TO_HIGH_BIT = np.uint64(0x7676767676767676)
HIGH_BITS = np.uint64(0x8080808080808080)
PAIR_MASK = np.uint64(0x000000FF000000FF)
LEFT_PAIRS, RIGHT_PAIRS = np.uint64(100 + (1000000 << 32)), np.uint64(1 + (10000 << 32))
SHIFTS = np.array([10**count for count in range(9)], np.uint64)
LOWER = np.uint64(32)  # the bit that makes an ASCII letter a small one

# Not `kernel`: the fast math of the other kernels may turn a division into a multiplication.
strict = numba.njit(nogil=True, error_model="numpy")


@kernel
def is_digit(c):
    """Whether a byte is 0 to 9."""
    return c - ZERO <= NINE


@kernel
def read_eight(p):
    """The digits from `p` on, at most eight, as a number; and how many they are.

    All at once, because numbers end after as many digits as no processor can foresee.
    D. Lemire, "Number parsing at a gigabyte per second", 2021.
    """
    digits = eight_bytes(p) ^ ZEROS
    # The high bit of a byte is set in those above 9, and never wrongly before the first of them.
    others = ((digits + TO_HIGH_BIT) | digits) & HIGH_BITS
    count = trailing_zeros(others) >> np.uint64(3)
    # Bytes that are not digits go out at one end, zeros come in before the first digit; in two
    # steps, because no processor shifts by 64.
    half = (np.uint64(8) - count) * np.uint64(4)
    digits = digits << half << half
    pairs = digits * TEN + (digits >> np.uint64(8))
    left = (pairs & PAIR_MASK) * LEFT_PAIRS
    right = ((pairs >> np.uint64(16)) & PAIR_MASK) * RIGHT_PAIRS
    return (left + right) >> np.uint64(32), count


@kernel
def read_more(p, digits):
    """The digits behind eight others: where they end, and the number with them."""
    while is_digit(byte(p)):
        digits = digits * TEN + (byte(p) - ZERO)
        p += ONE
    return p, digits


@kernel
def read_decimal(p):
    """The number from `p`: where it ends, what it is, its sign, digits, power of ten."""
    is_negative = byte(p) == MINUS
    if is_negative or byte(p) == PLUS:
        p += ONE
    first = p
    digits, count = read_eight(p)
    p += count
    if count == EIGHT:
        p, digits = read_more(p, digits)
    count = p - first
    power = np.int64(0)
    if byte(p) == DOT:
        dot = p + ONE
        behind, more = read_eight(dot)
        p = dot + more
        digits = digits * SHIFTS[more] + behind
        if more == EIGHT:
            p, digits = read_more(p, digits)
        count += p - dot
        power = -np.int64(p - dot)
    if count == 0:
        p, kind = read_word(first)
        return p, kind, is_negative, digits, power
    kind = NUMBER
    if count > MAX_DIGITS:
        digits, power, kind = read_long(first, p)
    if byte(p) | LOWER == SMALL_E:
        p, written, kind = read_power(p + ONE, kind)
        power += written
    return p, kind, is_negative, digits, power


@strict
def read_short(p):
    """A number such as 12, 0.25 or 7.: where it ends, its value, and whether it is that simple.

    Without a branch on the point: behind a number that has none, there are no digits either.
    """
    digits, count = read_eight(p)
    point = p + count
    dot = np.uint64(byte(point) == DOT)
    behind, more = read_eight(point + dot)
    digits = digits * SHIFTS[more] + behind
    is_one = (count + more != 0) & ((dot != 0) | (more == 0))
    return (
        point + dot + more,
        np.float32(np.float64(digits) / POWERS[more]),
        is_one & (digits < EXACT_DIGITS),
    )


@kernel
def read_power(p, kind):
    """A written exponent, from behind its `e`."""
    is_negative = byte(p) == MINUS
    if is_negative or byte(p) == PLUS:
        p += ONE
    first = p
    power = 0
    while is_digit(byte(p)):
        power = min(power * 10 + np.int64(byte(p) - ZERO), MAX_POWER)
        p += ONE
    if p == first:
        kind = BAD
    return p, -power if is_negative else power, kind


@kernel
def read_long(p, end):
    """The first 19 digits that count of those from `p` to `end`, their power of ten, the kind."""
    digits = np.uint64(0)
    count = 0
    power = 0
    kind = NUMBER
    behind_dot = 0
    while p < end:
        c = byte(p)
        if c == DOT:
            behind_dot = 1
        elif count == MAX_DIGITS:
            power += 1 - behind_dot
            if c != ZERO:
                kind = LONG
        else:
            digits = digits * TEN + (c - ZERO)
            power -= behind_dot
            if digits != 0:
                count += 1
        p += ONE
    return digits, power, kind


@kernel
def read_word(p):
    """Where the letters from `p` end, and whether they say nan, in any case."""
    first = p
    while byte(p) >= CAPITAL_A and byte(p) < 128:
        p += ONE
    word = np.uint64(0)
    for i in range(min(p - first, np.uint64(8))):
        word = word << np.uint64(8) | byte(first + i) | LOWER
    return p, NOT_A_NUMBER if word == NAN else BAD


@strict
def as_float64(is_negative, digits, power):
    """The number, and whether it is rounded right (W. D. Clinger 1990: one exact operation)."""
    is_exact = digits == 0 or (digits < EXACT_DIGITS and abs(power) <= EXACT_POWER)
    value = scale(digits, power)
    return -value if is_negative else value, is_exact


@strict
def as_float32(kind, is_negative, digits, power):
    """float32(float64(number)), and whether that is certain."""
    value = scale(digits, power)
    is_exact = kind == NUMBER and digits < EXACT_DIGITS and abs(power) <= EXACT_POWER
    if not is_exact:
        is_exact = np.float32(value * BELOW) == np.float32(value * ABOVE)
    if is_negative:
        value = -value
    return np.float32(value), is_exact


@strict
def scale(digits, power):
    """`digits` times ten to the `power`, rounded up to three times."""
    value = np.float64(digits)
    if power == 0 or digits == 0:
        return value
    if power < 0:
        # Below 10^19 / 10^308 all is 0 to float32; to float64 the caller knows it as not exact.
        return value / POWERS[np.uint64(-power)] if power >= -308 else 0.0
    return value * POWERS[np.uint64(power)] if power <= 308 else np.inf
