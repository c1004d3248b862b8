"""A user's pair weight, compiled into a row of pairs.

The row is a C function; kernels get its address and call it once per row. So the user's function
is inlined into a loop over pairs, while the kernels around it stay as they are on disk.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import NumbaError
from numba.extending import intrinsic

from rankforce.common.errors import RankforceError
from rankforce.kernels.compile import kernel

_ROW = types.void(
    types.float64,  # label of the fixed document
    types.int64,  # its 0-based rank
    types.boolean,  # whether it is hi
    types.int64,  # number of other documents
    types.CPointer(types.float64),  # their labels
    types.CPointer(types.int32),  # their ranks
    types.CPointer(types.float64),  # weights to write
)


_ARGUMENTS = (types.float64, types.float64, types.int64, types.int64)
_KINDS = [
    (types.NoneType, "None"),
    (types.Optional, "None for some pairs"),
    ((types.UnicodeType, types.StringLiteral), "a text"),
    (types.BaseTuple, "a tuple"),
    (types.Complex, "a complex number"),
]


@functools.lru_cache(maxsize=64)  # also keeps the machine code alive
def compile_row(weight: Callable[[float, float, int, int], float]) -> Any:
    """Compile `weight(y_hi, y_lo, rank_hi, rank_lo)`, ranks 1-based; `.address` is the row's.

    A weight below 0 becomes NaN, which the caller of the kernels reports.
    """
    compiled = _compile_weight(weight)

    def row(y, rank, is_hi, count, ys, ranks, out):
        for j in range(count):
            if is_hi:
                value = 1.0 * compiled(y, ys[j], rank + 1, ranks[j] + 1)
            else:
                value = 1.0 * compiled(ys[j], y, ranks[j] + 1, rank + 1)
            out[j] = value if value >= 0.0 else np.nan

    return numba.cfunc(_ROW, error_model="numpy")(row)


def _compile_weight(weight: Callable[[float, float, int, int], float]) -> Any:
    """The compiled function; an error that says why it cannot be, or gives no number."""
    inner = kernel(getattr(weight, "py_func", weight))

    def call(y_hi, y_lo, rank_hi, rank_lo):  # as the row does: arguments may have defaults
        return inner(y_hi, y_lo, rank_hi, rank_lo)

    compiled: Any = kernel(call)
    name = getattr(weight, "__name__", "function")
    try:
        compiled.compile(_ARGUMENTS)
    except NumbaError as error:
        raise RankforceError(
            f"the pair weight {name} cannot be compiled: {_reason(error)}"
        ) from None
    gives = compiled.overloads[_ARGUMENTS].signature.return_type
    if not isinstance(gives, (types.Integer, types.Float, types.Boolean)):
        told = next((text for kind, text in _KINDS if isinstance(gives, kind)), str(gives))
        raise RankforceError(
            f"the pair weight {name} gives {told}: it must give a number from 0 up"
        )
    return compiled


def _reason(error: NumbaError) -> str:
    """What Numba says, in one line: its first that is neither a step nor empty."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in plain.splitlines()]
    return next((line for line in lines if line and not line.startswith("Failed in")), "no reason")


@intrinsic
def call_row(typing_context, address, y, rank, is_hi, count, ys, ranks, out):
    """Call the row at `address`; the last three arguments are addresses of arrays."""

    def generate(context, builder, signature, args):
        word = ir.IntType(64)
        number = ir.DoubleType()
        pointer = ir.IntType(8).as_pointer()
        function = ir.FunctionType(
            ir.VoidType(), [number, word, ir.IntType(8), word, pointer, pointer, pointer]
        )
        target = builder.inttoptr(args[0], function.as_pointer())
        flag = builder.zext(args[3], ir.IntType(8))
        arrays = [builder.inttoptr(arg, pointer) for arg in args[5:]]
        builder.call(target, [args[1], args[2], flag, args[4], *arrays])
        return context.get_dummy_value()

    numbers = [types.int64, types.float64, types.int64, types.boolean, types.int64]
    return types.void(*numbers, types.int64, types.int64, types.int64), generate
