"""Turns arrays, sparse matrices and frames of any library into float32 features.

A library is imported only for an object of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

ROWS = 2048  # filled at a time: a block of a wide matrix stays in the cache
REAL = "biuf"
EXPECTED = "expected a number that float32 can hold (at most 3.4e38), or NaN for a missing one"

Categories = Mapping[int, list[Any]]


class _NotNumbersError(Exception):
    """A column of something else than numbers and categories; the argument says of what."""


class Matrix(NamedTuple):
    """Features in float32, and which columns are codes of categories."""

    values: Any  # (rows, columns): C-order array, or SciPy CSR
    names: list[str] | None
    categorical: list[int]
    categories: dict[int, list[Any]]  # values behind the codes 0, 1, ... of a column


class Column(NamedTuple):
    """One column of a frame; `categories` if its values are codes."""

    values: NDArray[Any]
    categories: list[Any] | None = None


def to_matrix(X: Any, *, categories: Categories | None = None) -> Matrix:
    """Features as float32; copied only if they are not that already.

    Columns of categories (pandas category, polars Categorical and Enum, Arrow dictionaries)
    become codes. `categories` of an earlier matrix give the same codes to the same values, and
    NaN to others; an array or a sparse matrix, which has no such columns, holds codes already.

    >>> to_matrix([[1, None], [2, 0.5]]).values
    array([[1. , nan],
           [2. , 0.5]], dtype=float32)
    >>> import pandas as pd
    >>> matrix = to_matrix(pd.DataFrame({"colour": pd.Categorical(["red", "blue", None])}))
    >>> matrix.values.ravel(), matrix.categories
    (array([ 1.,  0., nan], dtype=float32), {0: ['blue', 'red']})
    """
    known = dict(categories or {})
    library = _library(X)
    if library == "scipy":
        return _with_codes(_sparse(X), known)
    if library in ("pandas", "polars", "pyarrow") and hasattr(X, "columns"):
        return _from_frame(X, library, known)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        return _from_frame(importlib.import_module("pyarrow").table(X), "pyarrow", known)
    return _with_codes(_dense(X), known)


def to_vector(values: Any, name: str) -> NDArray[np.float64]:
    """One float64 for each row, from a list, an array or a column of any library.

    >>> to_vector([1, None, True], "labels")
    array([ 1., nan,  1.])
    """
    library = _library(values)
    if library in ("pandas", "polars", "pyarrow") and not hasattr(values, "columns"):
        array = _vector(values, name, library)
    else:
        array = _array(values, name)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: expected one number for each row")
    if array.dtype.kind not in REAL:
        array = _numbers(array, name)
    return np.asarray(array, dtype=np.float64)


def _vector(values: Any, name: str, library: str) -> NDArray[Any]:
    try:
        column = _READERS[library](values, None)
    except _NotNumbersError as error:
        raise ValueError(f"{name} holds {error} values: expected numbers") from None
    if column.categories is not None:
        raise ValueError(f"{name} holds categories: expected numbers")
    return column.values


def _library(X: Any) -> str:
    """The package that made the type, or a type it derives from."""
    for base in type(X).__mro__:
        package = base.__module__.partition(".")[0]
        if package in ("scipy", "pandas", "polars", "pyarrow"):
            return package
    return ""


def _array(values: Any, name: str) -> NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    try:
        return np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} has rows of different lengths: expected a table") from error


def _numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Numbers from a column of objects; None is missing, text is a mistake."""
    if values.dtype.kind == "O":
        wrong = [i for i, value in enumerate(values) if not _is_number(value)]
        if not wrong:
            return values.astype(np.float64)
        raise ValueError(f"{name}, row {wrong[0]} is {values[wrong[0]]!r}: expected a number")
    kind = "text" if values.dtype.kind in "US" else f"{values.dtype.name} values"
    first = f", as {values[:1].tolist()[0]!r} in row 0" if values.size else ""
    raise ValueError(f"{name} holds {kind}{first}: expected numbers")


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, np.number, np.bool_))


def _dense(X: Any) -> Any:
    array = _array(X, "X")
    if array.ndim != 2:
        raise ValueError(f"X has shape {array.shape}: expected rows and columns")
    if array.dtype.kind not in REAL:
        columns = [_numbers(array[:, c], f"column {c}") for c in range(array.shape[1])]
        array = np.stack(columns, axis=1) if columns else array.astype(np.float32)
    with np.errstate(over="ignore"):
        values = np.ascontiguousarray(array, dtype=np.float32)
    for start in range(0, len(values), ROWS):
        if np.isinf(values[start : start + ROWS]).any():
            row, column = (int(i[0]) for i in np.nonzero(np.isinf(values)))
            raise ValueError(f"row {row}, column {column} is {array[row, column]}: {EXPECTED}")
    return values


def _sparse(X: Any) -> Any:
    """CSR in float32 with sorted indices and no duplicates; the caller's matrix stays as it is."""
    if len(X.shape) != 2:
        raise ValueError(f"X has shape {X.shape}: expected rows and columns")
    if X.dtype.kind not in REAL:
        raise ValueError(f"X holds {X.dtype.name} values: expected numbers")
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
        raise ValueError(f"row {row}, column {column} is {X.tocsr()[row, column]}: {EXPECTED}")
    return values


def _with_codes(values: Any, known: dict[int, list[Any]]) -> Matrix:
    _check_known(known, values.shape[1])
    return Matrix(values, None, sorted(known), known)


def _check_known(known: Categories, columns: int) -> None:
    for column in known:
        if not 0 <= column < columns:
            raise ValueError(f"categories of column {column}, but there are {columns} columns")


def _from_frame(X: Any, library: str, known: Categories) -> Matrix:
    names = [str(name) for name in _names(X, library)]
    _check_known(known, len(names))
    whole = _whole(X) if library == "pandas" and not known else None
    if whole is not None:
        return Matrix(whole, names, [], {})
    columns = [
        read_column(given, f"column {names[number]!r}", library, known.get(number))
        for number, given in enumerate(_columns(X, library))
    ]
    rows = X.num_rows if library == "pyarrow" else len(X)
    values = np.empty((rows, len(columns)), np.float32)
    fill(values, [column.values for column in columns], names)
    found = {c: column.categories for c, column in enumerate(columns) if column.categories}
    codes = [c for c, column in enumerate(columns) if column.categories is not None]
    return Matrix(values, names, codes, {c: found.get(c, []) for c in codes})


def read_column(given: Any, name: str, library: str, known: list[Any] | None = None) -> Column:
    """A column of a frame as numbers; `known` categories give their codes."""
    try:
        return _READERS[library](given, known)
    except _NotNumbersError as error:
        raise ValueError(
            f"{name} holds {error} values: expected numbers, or make the column categorical"
        ) from None


def _names(X: Any, library: str) -> list[Any]:
    if library == "pyarrow":
        return list(X.schema.names)
    return list(X.columns)


def _columns(X: Any, library: str) -> Iterator[Any]:
    if library == "pandas":
        return (X.iloc[:, number] for number in range(X.shape[1]))
    return iter(X.columns if library == "pyarrow" else X.get_columns())


def _whole(X: Any) -> NDArray[np.float32] | None:
    """A pandas frame over one float32 C-order array, as that array."""
    if not all(dtype == np.float32 for dtype in X.dtypes):
        return None
    values = np.asarray(X.to_numpy())
    return _dense(values) if values.flags.c_contiguous and values.dtype == np.float32 else None


def fill(
    values: NDArray[np.float32], columns: list[NDArray[Any]], names: list[str], *, first: int = 0
) -> None:
    """Put columns side by side; a block of rows at a time, so that the block stays in the cache.

    `first` is the number of the first row, for messages.
    """
    for start in range(0, len(values), ROWS):
        block = values[start : start + ROWS]
        with np.errstate(over="ignore"):
            for number, column in enumerate(columns):
                block[:, number] = column[start : start + ROWS]
        if np.isinf(block).any():
            row, number = (int(i[0]) for i in np.nonzero(np.isinf(block)))
            value = columns[number][start + row]
            where = f"row {first + start + row}, column {names[number]!r}"
            raise ValueError(f"{where} is {value}: {EXPECTED}")


def _from_pandas(series: Any, known: list[Any] | None) -> Column:
    kind = series.dtype.kind
    if hasattr(series, "cat"):
        values = series.cat.categories.tolist()
        return _coded(series.cat.codes.to_numpy(), values, known)
    if known is not None:
        return _looked_up(series.tolist(), known)  # NaN and NA are no category
    if kind not in REAL:
        raise _NotNumbersError(series.dtype)
    if isinstance(series.dtype, np.dtype):
        return Column(series.to_numpy())
    return Column(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _from_polars(series: Any, known: list[Any] | None) -> Column:
    pl: Any = importlib.import_module("polars")
    if isinstance(series.dtype, (pl.Categorical, pl.Enum)):
        text = series.cast(pl.String)
        is_fixed = isinstance(series.dtype, pl.Enum)
        values = (
            series.dtype.categories.to_list()
            if is_fixed
            else text.drop_nulls().unique(maintain_order=True).to_list()
        )
        codes = text.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1)
        return _coded(codes.to_numpy(), values, known)
    if known is not None:
        return _looked_up(series.to_list(), known)
    if series.dtype == pl.Boolean or series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    if not series.dtype.is_numeric():
        raise _NotNumbersError(series.dtype)
    if series.null_count() and not series.dtype.is_float():
        series = series.cast(pl.Float64)
    return Column(series.to_numpy())


def _from_arrow(array: Any, known: list[Any] | None) -> Column:
    pa: Any = importlib.import_module("pyarrow")
    types = pa.types
    if isinstance(array, pa.ChunkedArray):
        if types.is_dictionary(array.type):
            array = array.unify_dictionaries()
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if types.is_dictionary(array.type):
        codes = array.indices.fill_null(-1) if array.indices.null_count else array.indices
        return _coded(codes.to_numpy(zero_copy_only=False), array.dictionary.to_pylist(), known)
    if known is not None:
        return _looked_up(array.to_pylist(), known)
    if types.is_boolean(array.type) or types.is_decimal(array.type) or types.is_null(array.type):
        array = array.cast(pa.uint8() if types.is_boolean(array.type) else pa.float64())
    if not (types.is_integer(array.type) or types.is_floating(array.type)):
        raise _NotNumbersError(array.type)
    return Column(array.to_numpy(zero_copy_only=False))


_READERS = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}


def _coded(codes: NDArray[Any], values: list[Any], known: list[Any] | None) -> Column:
    """Codes of `values`, where -1 is missing, as codes of the known ones."""
    wanted = values if known is None else known
    number = {value: float(code) for code, value in enumerate(wanted)}
    table = np.array([*(number.get(value, np.nan) for value in values), np.nan])
    return Column(table[np.asarray(codes, dtype=np.int64)], wanted)


def _looked_up(values: list[Any], known: list[Any]) -> Column:
    number = {value: float(code) for code, value in enumerate(known)}
    return Column(np.array([number.get(value, np.nan) for value in values], np.float64), known)
