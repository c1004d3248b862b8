"""What stands in a cell of text: a number, or nothing; one by one, or many at once."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MISSING = ("", "NA", "N/A", "NaN", "nan", "-nan", "null", "NULL", "None")
SHOWN = 60  # characters of a cell in a message


def to_number(cell: str) -> float | None:
    """The number that a cell holds; None if it holds none.

    >>> to_number(" 1e3"), to_number("1_000")
    (1000.0, None)
    """
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def parse_numbers(
    text: Any, columns: int, *, separator: str = ",", missing: Sequence[str] = ()
) -> NDArray[np.float64] | None:
    """Lines of numbers, all with a line end, NaN in cells that are `missing`; None if any is odd.

    Arrow reads a hundred lines while Python reads one, but says little of what it does not take,
    and takes what Python does not: both are odd, and need a closer look. An empty line is one
    missing cell.

    >>> parse_numbers(b"1,2\\n,4\\n", 2, missing=MISSING)
    array([[ 1.,  2.],
           [nan,  4.]])
    >>> parse_numbers(b"1,2\\n3,inf\\n", 2)
    """
    pa: Any = importlib.import_module("pyarrow")
    csv: Any = importlib.import_module("pyarrow.csv")
    data, names = bytes(text), [str(number) for number in range(columns)]
    types = dict.fromkeys(names, pa.float64())
    is_cell = columns == 1 and "" in missing
    parse = csv.ParseOptions(delimiter=separator, quote_char=False, ignore_empty_lines=not is_cell)
    try:
        table = csv.read_csv(
            pa.py_buffer(data),
            csv.ReadOptions(column_names=names),
            parse,
            csv.ConvertOptions(column_types=types, null_values=missing),
        )
    except pa.ArrowInvalid:
        return None
    values = np.column_stack([column.to_numpy() for column in table.columns])
    gaps = sum(column.null_count for column in table.columns)
    is_odd = len(values) != data.count(b"\n") or np.isfinite(values).sum() + gaps != values.size
    return None if is_odd else values
