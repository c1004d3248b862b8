"""Bytes by their address: an array that is handed from kernel to kernel counts its users, per call.

A parser is all small calls, one for each token. The caller keeps the array alive.
"""

from __future__ import annotations

import sys

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def byte(typingctx, address):
    """The byte at an address, as uint64: no arithmetic with it changes its type."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())
        return builder.zext(builder.load(place), ir.IntType(64))

    return types.uint64(types.uint64), generate


@intrinsic
def eight_bytes(typingctx, address):
    """Eight bytes from any address on as one uint64, the first as the lowest."""

    def generate(context, builder, signature, arguments):
        place = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        number = builder.load(place)
        number.align = 1
        # Numba compiles for the machine it runs on, so that is the order of the bytes too.
        return number if sys.byteorder == "little" else builder.bswap(number)

    return types.uint64(types.uint64), generate


@intrinsic
def trailing_zeros(typingctx, number):
    """The lowest bit that is set, or 64."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), generate
