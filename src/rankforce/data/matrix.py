"""Feature matrices, dense or sparse, as blocks of dense rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

REAL = "biuf"  # kinds of numbers
EXPECTED = "expected a number that float32 can hold (at most 3.4e38), or NaN for a missing one"
# Numbers in a block of rows that is made dense for the kernels: 64 MB.
BLOCK = 1 << 24


def dense_blocks(features: Any) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """First row and dense rows of consecutive blocks; a dense matrix is one block, not copied.

    >>> [(first, block.shape) for first, block in dense_blocks(np.zeros((3, 2), np.float32))]
    [(0, (3, 2))]
    """
    if isinstance(features, np.ndarray):
        yield 0, features
        return
    rows, columns = features.shape
    step = max(BLOCK // max(columns, 1), 1)
    for first in range(0, rows, step):
        yield first, np.ascontiguousarray(features[first : first + step].toarray(), np.float32)


class Matrix(NamedTuple):
    """Features in float32, and which columns are codes of categories."""

    values: Any  # (rows, columns): C-order array, or SciPy CSR
    names: list[str] | None
    categorical: list[int]
    categories: dict[int, list[Any]]  # values behind the codes 0, 1, ... of a column
    renumbered: Sequence[int] = ()  # columns whose values were numbers, not codes
