"""Features as a source: their shape, blocks of rows, some rows; in memory, or read when needed.

All that depends on how features are kept, dense, sparse or elsewhere, stands in this file.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.memory import available_memory
from rankforce.common.types import Floats, Ints
from rankforce.data.precision import EXACT, Precision
from rankforce.data.queries import QueryIndex
from rankforce.data.schema import Schema, check_width, match, usual_names

Rows = NDArray[np.float32]
Blocks = Iterator[tuple[int, Rows]]  # number of the first row, and dense rows

REAL = "biuf"  # kinds of numbers
EXPECTED = "expected a number that float32 can hold (at most 3.4e38), or NaN for a missing one"
BLOCK = 1 << 24  # numbers in a block of rows that is made dense, or read: 64 MB


@runtime_checkable
class Source(Protocol):
    """Rows of features, wherever they are kept; `names`, if it has them, are those of columns."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""

    def blocks(self, rows: int | None = None) -> Blocks:
        """One or more consecutive blocks of float32, of so many rows at most, or of a fit size."""

    def take(self, rows: Any) -> Any:
        """Some rows, a slice or their numbers in any order, as a float32 matrix in memory."""


class Dense:
    """An array in memory: one block, not copied, unless smaller ones are asked for."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.shape: tuple[int, int] = values.shape

    def pieces(self, rows: int | None = None) -> Iterator[tuple[int, Any]]:
        """Blocks in the form in which the rows are kept."""
        if rows is None:
            yield 0, self.values
            return
        for first in range(0, max(self.shape[0], 1), rows):
            yield first, self.values[first : first + rows]

    blocks = pieces

    def take(self, rows: Any) -> Any:
        """Some rows, in the form in which they are kept."""
        return self.values[rows]


class Sparse(Dense):
    """A CSR matrix in memory; blocks of it are made dense."""

    def blocks(self, rows: int | None = None) -> Blocks:
        """Consecutive rows as arrays."""
        for first, piece in self.pieces(rows or block_rows(self.shape[1])):
            yield first, np.ascontiguousarray(piece.toarray(), np.float32)


class View:
    """Some rows of a source, or what a function makes of its dense rows: nothing is read before."""

    def __init__(
        self,
        source: Source,
        rows: Ints | None = None,
        change: Callable[[Rows], Rows] = np.asarray,
        columns: int | None = None,
    ) -> None:
        self._source, self._rows, self._change = source, rows, change
        own = source.shape
        self.shape = own[0] if rows is None else len(rows), own[1] if columns is None else columns

    @property
    def is_at_hand(self) -> bool:
        """Whether it is made of rows in memory."""
        return is_in_memory(self._source)

    def blocks(self, rows: int | None = None) -> Blocks:
        """Consecutive rows, changed."""
        if self._rows is None:
            yield from ((first, self._change(block)) for first, block in self._source.blocks(rows))
            return
        step = rows or block_rows(self._source.shape[1])
        if len(self._rows) > step and bool((np.diff(self._rows) > 0).all()):
            found = recut(self._picked(self._rows), equal_parts(len(self._rows), step))
            yield from ((first, self._change(block)) for first, block in found)
            return
        for first in range(0, max(len(self._rows), 1), step):
            yield first, self.take(slice(first, first + step))

    def take(self, rows: Any) -> Rows:
        """Some rows, changed."""
        chosen = rows if self._rows is None else self._rows[rows]
        return self._change(to_dense(self._source.take(chosen)))

    def marks(self, rows: Ints) -> NDArray[Any] | None:
        """Those of the source, and that of the rows it takes; None if it has none."""
        found = getattr(self._source, "marks", lambda _: None)(rows)
        if found is None or self._rows is None:
            return found
        return np.append(found, np.uint32(zlib.crc32(self._rows.tobytes())))

    def _picked(self, wanted: Ints) -> Blocks:
        """Rows that ascend, in one pass over the source."""
        for first, block in self._source.blocks():
            begin, end = np.searchsorted(wanted, [first, first + len(block)])
            if end > begin:
                yield int(begin), block[wanted[begin:end] - first]


def as_source(features: Any) -> Source:
    """The source that features are: of a float32 array, of a CSR matrix, or one already.

    >>> [(first, block.shape) for first, block in as_source(np.zeros((3, 2))).blocks(2)]
    [(0, (2, 2)), (2, (1, 2))]
    """
    if isinstance(features, np.ndarray):
        return Dense(features)
    found: Source = Sparse(features) if hasattr(features, "toarray") else features
    return found


def block_rows(columns: int) -> int:
    """How many rows are fit for a block."""
    return max(BLOCK // max(columns, 1), 1)


def equal_parts(rows: int, size: int) -> Iterator[int]:
    """Sizes of parts of so many rows, the last of which has the rest.

    >>> list(equal_parts(5, 2))
    [2, 2, 1]
    """
    return (min(size, rows - first) for first in range(0, rows, size))


def recut(blocks: Iterable[tuple[int, Rows]], sizes: Iterable[int]) -> Blocks:
    """The rows of consecutive blocks, in blocks of these sizes.

    >>> blocks = [(0, np.zeros((3, 1))), (3, np.ones((2, 1)))]
    >>> [(first, block.ravel().tolist()) for first, block in recut(blocks, [2, 3])]
    [(0, [0.0, 0.0]), (2, [0.0, 1.0, 1.0])]
    """
    rest, first = iter(blocks), 0
    block = next(rest)[1]
    for size in sizes:
        held, count = [block[:size]], min(size, len(block))
        while count < size:
            block = next(rest)[1]
            held.append(block[: size - count])
            count += len(held[-1])
        block = block[len(held[-1]) :]
        yield first, held[0] if len(held) == 1 else np.concatenate(held)
        first += size
    for _ in rest:  # to its end, where a source sees whether it was whole
        pass


def known_by(features: Any, rows: Ints) -> NDArray[Any]:
    """What features are known again by: some rows, or for files what their source says of each.

    >>> known_by(np.arange(5, dtype=np.float32)[:, None], np.array([0, 4])).ravel()
    array([0., 4.], dtype=float32)
    """
    source = as_source(features)
    marks = getattr(source, "marks", lambda _: None)(rows)
    return to_dense(source.take(rows)) if marks is None else marks


def to_dense(matrix: Any) -> Rows:
    """Rows in memory, of either form, as an array."""
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


def pieces(features: Any, rows: int | None = None) -> Iterator[tuple[int, Any]]:
    """Blocks in the form in which features are kept; dense ones of what is not in memory."""
    source = as_source(features)
    return source.pieces(rows) if isinstance(source, Dense) else source.blocks(rows)


def predicted(model: Any, features: Any) -> Any:
    """What a model with `predict` says of features, however they are kept."""
    found = [model.predict(piece) for _, piece in pieces(features)]
    return found[0] if len(found) == 1 else np.concatenate(found)


def is_in_memory(features: Any) -> bool:
    """Whether rows in any order are at hand: in memory, or made of what is."""
    source = as_source(features)
    return (isinstance(source, View) and source.is_at_hand) or isinstance(source, Dense)


def in_memory(features: Any) -> Any:
    """All features as a matrix in memory; as they are, if they are in memory."""
    source = as_source(features)
    if isinstance(source, Dense):
        return source.values
    (rows, columns), free = source.shape, available_memory()
    need = 4 * rows * columns
    if need > free:
        raise RankforceError(
            f"{rows:,} rows x {columns:,} columns of features take {need / 1e9:,.1f} GB, and "
            f"{free / 1e9:,.1f} GB of memory are free: they do not fit"
        )
    whole = np.empty(source.shape, np.float32)
    for first, block in source.blocks():
        whole[first : first + len(block)] = block
    return whole


def for_lists(features: Any, index: QueryIndex) -> Any:
    """Features of which whole lists can be had: in memory, or with rows of a query together.

    Those of neither kind are read into memory if that leaves half of what is free.
    """
    if is_in_memory(features) or not len(index.row):
        return features
    rows, columns = features.shape
    need, free = 4 * rows * columns, available_memory()
    if 2 * need > free:
        raise RankforceError(
            "rows of a query do not stand together, and features are too many to be in memory "
            f"({need / 1e9:,.1f} GB of {free / 1e9:,.1f} that are free): sort the rows by query"
        )
    return in_memory(features)


def take_rows(features: Any, rows: Ints) -> Any:
    """Some rows: of features in memory at once, of others when they are needed."""
    source = as_source(features)
    if hasattr(source, "pick"):  # bins
        return source.pick(rows)
    return source.take(rows) if isinstance(source, Dense) else View(source, rows)


def _changed(source: Source, change: Callable[[Rows], Rows], columns: int | None = None) -> Any:
    """Features with a function of dense rows: those in memory at once, others when needed."""
    if isinstance(source, Sparse):
        from scipy import sparse

        blocks = [sparse.csr_matrix(change(block)) for _, block in source.blocks()]
        return sparse.vstack(blocks, "csr")
    if isinstance(source, Dense):
        return change(source.values)
    return View(source, None, change, columns)


def take_columns(
    features: Any, columns: Ints | None, tables: Mapping[int, Floats] | None = None
) -> Any:
    """Columns in that order, zeros for -1; then in those of `tables` new codes for the old ones.

    A table has the new code of each old one, and at its end that of NaN.

    >>> features = np.array([[5, 0], [6, 1]], np.float32)
    >>> take_columns(features, np.array([1, -1]), {0: np.array([7, 8, 9])}).tolist()
    [[7.0, 0.0], [8.0, 0.0]]
    """

    def change(rows: Rows) -> Rows:
        taken = rows.copy() if columns is None else np.ascontiguousarray(rows[:, columns])
        if columns is not None:
            taken[:, columns < 0] = 0.0
        for column, table in (tables or {}).items():
            codes = taken[:, column]
            known = np.where(np.isnan(codes), len(table) - 1, codes).astype(np.int64)
            taken[:, column] = table[known]
        return taken

    source = as_source(features)
    if not isinstance(source, Sparse) or columns is None or tables:
        return _changed(source, change, None if columns is None else len(columns))
    from scipy import sparse

    where = np.flatnonzero(columns >= 0)
    shape = features.shape[1], len(columns)
    place = sparse.csr_matrix((np.ones(len(where)), (columns[where], where)), shape=shape)
    # A product with a matrix of single ones moves columns; NaN stays where it is.
    moved = (features @ place.astype(features.dtype)).tocsr()
    moved.sort_indices()
    return moved


def mark_missing(features: Any, value: float | None) -> Any:
    """The features with NaN in place of `value`, XGBoost's `missing`; the same ones for None.

    >>> mark_missing(np.array([[1.0, -1.0]], np.float32), -1.0)
    array([[ 1., nan]], dtype=float32)
    """
    if value is None:
        return features
    sign = np.float32(value)
    source = as_source(features)
    if not isinstance(source, Sparse):
        return _changed(source, lambda rows: np.where(rows == sign, np.float32(np.nan), rows))
    if value == 0:
        raise RankforceError(
            "missing is 0: in a sparse matrix that would be all that is not stored; "
            "zero_as_missing=True says so"
        )
    marked = features.copy()
    marked.data[marked.data == sign] = np.nan
    return marked


def entries(matrix: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32]]:
    """Values, their columns, and where rows end; all of a dense row, of a sparse one its own.

    >>> entries(np.array([[5, 6]], np.float32))
    (array([5., 6.], dtype=float32), array([0, 1], dtype=int32), array([0, 2], dtype=int32))
    """
    count, width = matrix.shape
    if not isinstance(matrix, np.ndarray):
        return matrix.data, matrix.indices, (matrix.indptr - matrix.indptr[0]).astype(np.int32)
    columns = np.tile(np.arange(width, dtype=np.int32), count)
    return matrix.reshape(-1), columns, np.arange(count + 1, dtype=np.int32) * np.int32(width)


class Matrix(NamedTuple):
    """Features in float32, and which columns are codes of categories."""

    values: Any  # (rows, columns): C-order array, SciPy CSR, or another source
    names: list[str] | None
    categorical: list[int]
    categories: dict[int, list[Any]]  # values behind the codes 0, 1, ... of a column
    renumbered: Sequence[int] = ()  # columns whose values were numbers, not codes


def from_source(X: Source, like: Schema | None) -> Matrix:
    """A source of numbers and of codes of categories, with the columns of `like` if it is given."""
    names = getattr(X, "names", None)
    columns = None if like is None else match(names or usual_names(X.shape[1]), like.names)
    return _coded(X if columns is None else take_columns(X, columns), names, like)


def from_sparse(X: Any, like: Schema | None, categorical: Sequence[int | str] | None) -> Matrix:
    """A sparse matrix as float32; it holds codes of categories already."""
    values = _to_csr(X)
    if like is not None:
        check_width(values.shape[1], like)
    elif X.dtype.kind in "iuf" and X.dtype != np.float32:
        watch, given = Precision(), X.tocoo()
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
    return _coded(values, None, like)


def _coded(values: Any, names: list[str] | None, like: Schema | None) -> Matrix:
    """Features whose categories are codes: those of a model, if it is known."""
    if like is None:
        return Matrix(values, names, [], {})
    if like.renumbered:
        raise RankforceError(
            f"column {like.renumbered[0]} was renumbered in training: give a dense array or a frame"
        )
    return Matrix(values, names, [*like.categories], {**like.categories})


def _to_csr(X: Any) -> Any:
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
