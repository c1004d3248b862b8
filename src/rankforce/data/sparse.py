"""SciPy's sparse matrices as features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.data.matrix import EXPECTED, REAL, Matrix
from rankforce.data.precision import EXACT, Precision
from rankforce.data.schema import Schema, check_width


def from_sparse(X: Any, like: Schema | None, categorical: Sequence[int | str] | None) -> Matrix:
    """A sparse matrix as float32; it holds codes of categories already."""
    values = _sparse(X)
    watch = Precision()
    if X.dtype.kind in "iuf" and X.dtype != np.float32 and like is None:
        given = X.tocoo()
        is_large = (given.data >= EXACT) | (given.data <= -EXACT)
        for column in np.unique(given.col[is_large]):
            watch.see(int(column), given.data[is_large & (given.col == column)])
        lost = [c for c in watch.losses() if c in (categorical or ())]
        if lost:
            raise RankforceError(
                f"column {lost[0]} of a sparse matrix has codes of categories beyond {EXACT:,}: "
                "number them from 0 up"
            )
        watch.say(None)
    if like is None:
        return Matrix(values, None, [], {})
    check_width(values.shape[1], like)
    if like.renumbered:
        raise RankforceError(
            f"column {like.renumbered[0]} was renumbered in training: give a dense array or a frame"
        )
    return Matrix(values, None, [*like.categories], {**like.categories})


def _sparse(X: Any) -> Any:
    """CSR in float32 with sorted indices and no duplicates; the caller's matrix stays as it is."""
    if len(X.shape) != 2:
        raise RankforceError(f"X has shape {X.shape}: expected rows and columns")
    if X.dtype.kind not in REAL:
        raise RankforceError(f"X holds {X.dtype.name} values: expected numbers")
    given = X.tocsr()
    with np.errstate(over="ignore"):
        values = given.astype(np.float32, copy=False)
    if not values.has_canonical_format:
        values = values.copy() if values is X or values.data is getattr(X, "data", None) else values
        values.sum_duplicates()
    bad = np.flatnonzero(np.isinf(values.data))
    if bad.size:
        row = int(np.searchsorted(values.indptr, bad[0], side="right")) - 1
        column = int(values.indices[bad[0]])
        raise RankforceError(f"row {row}, column {column} is {X.tocsr()[row, column]}: {EXPECTED}")
    return values
