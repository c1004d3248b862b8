"""CRC-32 of bytes that nobody has as a whole: of a beginning and of what follows."""

from __future__ import annotations

from collections.abc import Iterable

_POLYNOMIAL = 0xEDB88320  # of zlib, the highest power in the lowest bit


def join_checksums(parts: Iterable[tuple[int, int]]) -> int:
    """The CRC-32 of several pieces one behind the other, by that of each and its length.

    A piece is multiplied by x^8 for each byte that follows, as in zlib's crc32_combine.

    >>> import zlib
    >>> pieces = [b"rank", b"", b"force"]
    >>> join_checksums((zlib.crc32(one), len(one)) for one in pieces) == zlib.crc32(b"rankforce")
    True
    """
    found = 0
    for checksum, length in parts:
        found = _times(_power(8 * length), found) ^ checksum
    return found


def _times(one: int, other: int) -> int:
    """The product of two polynomials, modulo that of the checksum."""
    product, bit = 0, 1 << 31
    while bit:
        if one & bit:
            product ^= other
        bit >>= 1
        other = (other >> 1) ^ (_POLYNOMIAL if other & 1 else 0)
    return product


def _power(exponent: int) -> int:
    """x to that power."""
    found, square = 1 << 31, 1 << 30
    while exponent:
        if exponent & 1:
            found = _times(found, square)
        square = _times(square, square)
        exponent >>= 1
    return found
