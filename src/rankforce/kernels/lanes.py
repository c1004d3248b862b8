"""Sixty-four rows at once: comparisons whose answers are the bits of one number.

Written for LLVM itself, which has vectors of any length and knows what a processor makes of them;
a loop over rows would not be turned into one comparison a vector.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 64
_INDEX = ir.IntType(64)
_BYTE = ir.IntType(8)
_BYTES = ir.VectorType(_BYTE, LANES)
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_BITS = ir.VectorType(ir.IntType(1), LANES)


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    return context.make_array(kind)(context, builder, array).data


def _spread(builder: Any, value: Any, kind: Any) -> Any:
    """A vector that has a value in every lane."""
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, lanes)


def _above(context: Any, builder: Any, kinds: Any, given: Any, compare: Any) -> Any:
    values, start, threshold = given
    place = builder.gep(_data(context, builder, kinds[0], values), [start])
    row = builder.load(builder.bitcast(place, _FLOATS.as_pointer()), align=4)
    return builder.bitcast(compare(">", row, _spread(builder, threshold, _FLOATS)), _INDEX)


@intrinsic
def above(typing, values, start, threshold):
    """Which of 64 float32 numbers from `start` on are above a threshold; NaN is not."""

    def make(context, builder, signature, given):
        return _above(context, builder, signature.args, given, builder.fcmp_ordered)

    return types.uint64(values, types.intp, types.float32), make


@intrinsic
def above_or_nan(typing, values, start, threshold):
    """Which of 64 float32 numbers from `start` on are above a threshold, or NaN."""

    def make(context, builder, signature, given):
        return _above(context, builder, signature.args, given, builder.fcmp_unordered)

    return types.uint64(values, types.intp, types.float32), make


@intrinsic
def number_sets(typing, sets, start, count, out):
    """The number of the set that each lane is in, into 64 bytes.

    There are `count` sets of lanes from `start` on, from 2 to 256; a lane is in one of them.
    """

    def make(context, builder, signature, given):
        words, start, count, out = given
        data = _data(context, builder, signature.args[0], words)
        before = builder.block
        loop, done = map(builder.append_basic_block, ("sets", "done"))
        builder.branch(loop)
        builder.position_at_end(loop)
        number, found = builder.phi(_INDEX), builder.phi(_BYTES)
        members = builder.load(builder.gep(data, [builder.add(start, number)]))
        own = _spread(builder, builder.trunc(number, _BYTE), _BYTES)
        better = builder.select(builder.bitcast(members, _BITS), own, found)
        following = builder.add(number, ir.Constant(_INDEX, 1))
        builder.cbranch(builder.icmp_signed("<", following, count), loop, done)
        number.add_incoming(ir.Constant(_INDEX, 1), before)
        number.add_incoming(following, loop)
        found.add_incoming(ir.Constant(_BYTES, [0] * LANES), before)
        found.add_incoming(better, loop)
        builder.position_at_end(done)
        place = _data(context, builder, signature.args[3], out)
        builder.store(better, builder.bitcast(place, _BYTES.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(sets, types.intp, types.intp, out), make
