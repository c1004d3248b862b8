"""Turns arrays, sparse matrices and frames of any library into float32 features.

A library is imported only for an object of its own.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.codes import CodedColumn, coded, looked_up, make_codes, not_numbers
from rankforce.data.precision import Precision
from rankforce.data.schema import Schema, check_width, match, usual_names
from rankforce.data.sources import EXPECTED, REAL, Matrix, Source, from_source, from_sparse

ROWS = 2048  # filled at a time: a block of a wide matrix stays in the cache

Wanted = Sequence[int | str]  # columns, by number or name


class _NotNumbersError(Exception):
    """A column of something else than numbers and categories; the argument says of what."""


def to_matrix(X: Any, *, like: Schema | None = None, categorical: Wanted | None = None) -> Matrix:
    """Features as float32; copied only if they are not that already.

    Columns of categories (pandas category, polars Categorical and Enum, Arrow dictionaries)
    become codes, and so do columns of text that `categorical` names. `like` is what a model was
    trained on: columns go by name where both have names, values of categories get the codes that
    they had, and NaN if they had none; an array, a sparse matrix or a source has codes already.

    >>> to_matrix([[1, None], [2, 0.5]]).values
    array([[1. , nan],
           [2. , 0.5]], dtype=float32)
    >>> import pandas as pd
    >>> matrix = to_matrix(pd.DataFrame({"colour": pd.Categorical(["red", "blue", None])}))
    >>> matrix.values.ravel(), matrix.categories
    (array([ 1.,  0., nan], dtype=float32), {0: ['blue', 'red']})
    """
    if type(X) is np.ndarray:  # the shortest way: a query's documents are scored in microseconds
        return _from_array(X, like, categorical)
    library = _library(X)
    if library in ("pandas", "polars", "pyarrow") and hasattr(X, "columns"):
        return _from_frame(X, library, like, categorical)
    if hasattr(X, "__arrow_c_stream__") and not hasattr(X, "__array__"):
        table = importlib.import_module("pyarrow").table(X)
        return _from_frame(table, "pyarrow", like, categorical)
    if library == "scipy":
        return from_sparse(X, like, categorical)
    if isinstance(X, Source):
        return from_source(X, like)
    return _from_array(X, like, categorical)


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
        raise RankforceError(f"{name} has shape {array.shape}: expected one number for each row")
    if array.dtype.kind not in REAL:
        array = _numbers(array, name)
    return np.asarray(array, dtype=np.float64)


def _vector(values: Any, name: str, library: str) -> NDArray[Any]:
    try:
        column = _READERS[library](values, None, name)
    except _NotNumbersError as error:
        raise RankforceError(f"{name} holds {error} values: expected numbers") from None
    if column.categories is not None:
        raise RankforceError(f"{name} holds categories: expected numbers")
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
        raise RankforceError(f"{name} has rows of different lengths: expected a table") from error


def _numbers(values: NDArray[Any], name: str) -> NDArray[np.float64]:
    """Numbers from a column of objects; None is missing, text is a mistake."""
    if values.dtype.kind == "O":
        wrong = [i for i, value in enumerate(values) if not _is_number(value)]
        if not wrong:
            return values.astype(np.float64)
        raise RankforceError(f"{name}, row {wrong[0]} is {values[wrong[0]]!r}: expected a number")
    kind = "text" if values.dtype.kind in "US" else f"{values.dtype.name} values"
    first = f", as {values[:1].tolist()[0]!r} in row 0" if values.size else ""
    raise RankforceError(f"{name} holds {kind}{first}: expected numbers")


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, np.number, np.bool_))


def _from_array(X: Any, like: Schema | None, categorical: Wanted | None) -> Matrix:
    array = _array(X, "X")
    if array.ndim != 2:
        raise RankforceError(f"X has shape {array.shape}: expected rows and columns")
    if like is not None:
        check_width(array.shape[1], like)
        codes = {
            c: looked_up(array[:, c], like.categories[c], f"column {c}") for c in like.renumbered
        }
        values = _dense(array, codes, None)
        return Matrix(values, None, [*like.categories], {**like.categories}, [*like.renumbered])
    columns = [c for c in categorical or () if isinstance(c, (int, np.integer))]
    inside = [int(c) for c in columns if 0 <= c < array.shape[1]]
    made = {c: make_codes(array[:, c], f"column {c}") for c in inside}
    codes = {c: column for c, column in made.items() if column.categories is not None}
    known = {c: column.categories or [] for c, column in codes.items()}
    watch = Precision()
    values = _dense(array, codes, watch)
    watch.say(None)
    renumbered = [c for c, column in codes.items() if column.is_renumbered]
    return Matrix(values, None, sorted(known), known, renumbered)


def _dense(
    array: NDArray[Any],
    codes: Mapping[int, CodedColumn],
    watch: Precision | None,
    names: Sequence[str] | None = None,
) -> Any:
    """Rows as float32; columns that have codes get those."""
    if array.dtype.kind not in REAL:
        columns = [
            codes[c].values if c in codes else _numbers(array[:, c], f"column {c}")
            for c in range(array.shape[1])
        ]
        array = np.stack(columns, axis=1) if columns else array.astype(np.float32)
    elif codes:
        # Codes are small: wherever a number is large its column has none.
        array = array.astype(np.float64)
        for column, own in codes.items():
            array[:, column] = own.values
    is_narrow = array.dtype == np.float32 and array.flags.c_contiguous
    values = array if is_narrow else np.empty(array.shape, np.float32)
    for start in range(0, len(values), ROWS):
        rows = array[start : start + ROWS]
        if not is_narrow:
            if watch is not None:
                watch.see_rows(rows)
            with np.errstate(over="ignore"):
                values[start : start + ROWS] = rows
        if np.isinf(values[start : start + ROWS]).any():
            row, column = (int(i[0]) for i in np.nonzero(np.isinf(values[: start + ROWS])))
            name = column if names is None else repr(names[column])
            raise RankforceError(f"row {row}, column {name} is {array[row, column]}: {EXPECTED}")
    return values


def _from_frame(X: Any, library: str, like: Schema | None, categorical: Wanted | None) -> Matrix:
    """A frame; `like` says which of its columns, in which order."""
    names = frame_names(X, library)
    columns = list(range(len(names)))
    if like is not None:
        found = match(names, like.names)
        columns = columns if found is None else found.tolist()
    asked = {c if isinstance(c, str) else names[c] for c in categorical or ()}
    known = {} if like is None else like.categories
    own = [names[c] for c in columns]
    whole = None if known or asked else _whole(X, library, columns, is_mixed=like is not None)
    if whole is not None:
        watch = None if like is not None else Precision()
        values = _dense(whole, {}, watch, own)
        if watch is not None:
            watch.say(own)
        return Matrix(values, _given(own), [], {})
    every = list(_columns(X, library))
    read = []
    for place, c in enumerate(columns):
        name = f"column {names[c]!r}"
        column = read_column(every[c], name, library, known.get(place), names[c] in asked)
        if like is not None and column.categories is not None and place not in known:
            raise RankforceError(not_numbers(name))
        read.append(column)
    rows = X.num_rows if library == "pyarrow" else len(X)
    values = np.empty((rows, len(columns)), np.float32)
    fill(values, read, own, watch=Precision() if like is None else None)
    codes = {c: column.categories for c, column in enumerate(read) if column.categories is not None}
    renumbered = [c for c, column in enumerate(read) if column.is_renumbered]
    return Matrix(values, _given(own), [*codes], codes, renumbered)


def frame_names(X: Any, library: str) -> list[str]:
    """Names of the columns of a frame; those that pandas counts are none."""
    names = list(X.schema.names if library == "pyarrow" else X.columns)
    if names == list(range(len(names))):
        return usual_names(len(names))
    return [str(name) for name in names]


def _given(names: list[str]) -> list[str] | None:
    """Names that somebody gave."""
    return None if names == usual_names(len(names)) else names


def read_column(
    given: Any, name: str, library: str, known: list[Any] | None = None, is_category: bool = False
) -> CodedColumn:
    """A column of a frame as numbers; `known` categories give their codes.

    `is_category` says that the user calls the column categorical, whatever it holds.
    """
    try:
        column = _READERS[library](given, known, name)
    except _NotNumbersError as error:
        if not is_category:
            raise RankforceError(
                f"{name} holds {error} values: expected numbers, or make it categorical "
                "(categorical=[...])"
            ) from None
        return make_codes(
            np.array([*given.to_pylist()] if library == "pyarrow" else given.to_list(), object),
            name,
        )
    return make_codes(column.values, name) if is_category and column.categories is None else column


def _columns(X: Any, library: str) -> Iterator[Any]:
    if library == "pandas":
        return (series for _, series in X.items())
    return iter(X.columns if library == "pyarrow" else X.get_columns())


def _whole(X: Any, library: str, columns: list[int], *, is_mixed: bool) -> NDArray[Any] | None:
    """The array of a pandas frame of numbers: to go by columns takes twice as long.

    `is_mixed` allows for several kinds of them, where integers beyond 2^53 are rounded.
    """
    if library != "pandas" or not len(X.dtypes):
        return None
    kinds = {*X.dtypes}
    if not all(isinstance(kind, np.dtype) and kind.kind in REAL for kind in kinds):
        return None
    if len(kinds) > 1 and not is_mixed:
        return None
    values = np.asarray(X.to_numpy() if len(kinds) == 1 else X.to_numpy(dtype=np.float64))
    return values if columns == list(range(values.shape[1])) else values[:, columns]


def fill(
    values: NDArray[np.float32],
    columns: list[CodedColumn],
    names: list[str],
    *,
    first: int = 0,
    watch: Precision | None = None,
) -> None:
    """Put columns side by side; a block of rows at a time, so that the block stays in the cache.

    `first` is the number of the first row, for messages. `watch` sees what is narrowed, and says
    so.
    """
    for start in range(0, len(values), ROWS):
        block = values[start : start + ROWS]
        with np.errstate(over="ignore"):
            for number, column in enumerate(columns):
                block[:, number] = column.values[start : start + ROWS]
        if np.isinf(block).any():
            row, number = (int(i[0]) for i in np.nonzero(np.isinf(block)))
            value = columns[number].values[start + row]
            where = f"row {first + start + row}, column {names[number]!r}"
            raise RankforceError(f"{where} is {value}: {EXPECTED}")
    if watch is not None:
        for number, column in enumerate(columns):
            if column.categories is None:
                watch.see(number, column.values)
        watch.say(names)


def _from_pandas(series: Any, known: list[Any] | None, name: str) -> CodedColumn:
    kind = series.dtype.kind
    if hasattr(series, "cat"):
        values = series.cat.categories.tolist()
        return coded(series.cat.codes.to_numpy(), values, known, name)
    if known is not None:
        plain = isinstance(series.dtype, np.dtype) and kind in "iuf"
        return looked_up(series.to_numpy() if plain else series.tolist(), known, name)
    if kind not in REAL:
        raise _NotNumbersError(series.dtype)
    if isinstance(series.dtype, np.dtype):
        return CodedColumn(series.to_numpy())
    return CodedColumn(series.to_numpy(dtype=np.float64, na_value=np.nan))


def _from_polars(series: Any, known: list[Any] | None, name: str) -> CodedColumn:
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
        return coded(codes.to_numpy(), values, known, name)
    if known is not None:
        return looked_up(series.to_list(), known, name)
    if series.dtype == pl.Boolean or series.dtype.is_decimal():
        series = series.cast(pl.Float64)
    if not series.dtype.is_numeric():
        raise _NotNumbersError(series.dtype)
    if series.null_count() and not series.dtype.is_float():
        series = series.cast(pl.Float64)
    return CodedColumn(series.to_numpy())


def _from_arrow(array: Any, known: list[Any] | None, name: str) -> CodedColumn:
    pa: Any = importlib.import_module("pyarrow")
    types = pa.types
    if isinstance(array, pa.ChunkedArray):
        if types.is_dictionary(array.type):
            array = array.unify_dictionaries()
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if types.is_dictionary(array.type):
        codes = array.indices.fill_null(-1) if array.indices.null_count else array.indices
        values = array.dictionary.to_pylist()
        return coded(codes.to_numpy(zero_copy_only=False), values, known, name)
    if known is not None:
        return looked_up(array.to_pylist(), known, name)
    if types.is_boolean(array.type) or types.is_decimal(array.type) or types.is_null(array.type):
        array = array.cast(pa.uint8() if types.is_boolean(array.type) else pa.float64())
    if not (types.is_integer(array.type) or types.is_floating(array.type)):
        raise _NotNumbersError(array.type)
    return CodedColumn(array.to_numpy(zero_copy_only=False))


_READERS = {"pandas": _from_pandas, "polars": _from_polars, "pyarrow": _from_arrow}
