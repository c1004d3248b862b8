"""Reads ranking data from columns: Parquet, CSV with a header, and frames."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.formats.csv_text import (
    MISSING,
    Counted,
    find_fault,
    find_mixed,
    find_open_quote,
    open_text,
    read_header,
)
from rankforce.formats.gather import gather
from rankforce.formats.roles import (
    CATEGORIES,
    NUMBERS,
    TEXT,
    Asked,
    ColumnsError,
    Roles,
    check_asked,
    find_roles,
    limit_roles,
    wanted,
    wants,
    written_roles,
)

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

PathLike = str | os.PathLike[str]

METADATA = b"rankforce"
BATCH_VALUES = 1 << 21  # decoded at a time
CSV_BLOCK = 1 << 21  # bytes


class Columns(NamedTuple):
    """A file of columns that is open for reading."""

    names: list[str]
    roles: Roles
    read: Callable[[list[str]], Any]  # batches of these columns, from the first row on
    rows: int | None  # None where only the end tells: a text file


def read_parquet(path: PathLike, **asked: Any) -> RankingData:
    """Read a Parquet file; its columns are found by name, by what rankforce wrote, or as `Asked`.

    Without `features` every other column of numbers or categories is one. Text with few different
    values becomes categories; what is left out is said. A column "label" where another is asked for
    is no feature: it would give that away.

    >>> import tempfile, pathlib, rankforce.formats.write as write
    >>> from rankforce.data.ranking_data import RankingData
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.parquet")
    ...     _ = write.write(RankingData([[0.5], [2]], [1, 0], qid=["a", "a"]), path)
    ...     read_parquet(path)
    RankingData(2 rows, 1 queries, 1 features)
    """
    with open_parquet(path, Asked(**asked)) as columns:
        return _gathered(columns, f"{path}: ")


def read_csv(path: PathLike, **asked: Any) -> RankingData:
    """Read a CSV file with a header, plain or compressed; comma, tab or semicolon.

    Columns are found as by `read_parquet`. The first megabyte tells which ones are numbers.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("query;grade;clicks;f\\n7;1;0.5;3\\n7;0;;4\\n")
    ...     file.flush()
    ...     data = read_csv(file.name, sources=["clicks"])
    >>> data.features.ravel(), data.sources
    (array([3., 4.], dtype=float32), {'clicks': array([0.5, nan])})
    """
    with open_csv(path, Asked(**asked)) as columns:
        return _gathered(columns, f"{path}: ")


def read_frame(frame: Any, asked: Asked) -> RankingData:
    """Read a pandas or polars frame or an Arrow table, by the rules of a Parquet file."""
    pa: Any = importlib.import_module("pyarrow")
    table = _as_table(pa, frame)
    roles = _find_roles(pa, "the frame", table.schema, asked)
    columns = Columns(
        table.schema.names, roles, lambda names: _batches(table.select(names)), table.num_rows
    )
    return _gathered(columns, "the frame: ")


def _gathered(columns: Columns, place: str) -> RankingData:
    return gather(columns.read(wanted(columns.roles)), columns.roles, columns.rows, place=place)


def _as_table(pa: Any, frame: Any) -> Any:
    package = type(frame).__module__.partition(".")[0]
    if package not in ("pandas", "polars", "pyarrow") or not hasattr(frame, "columns"):
        kind = type(frame).__name__
        raise RankforceError(
            f"the frame is a {kind}: give one of pandas or polars, or an Arrow table"
        )
    try:
        if package == "pandas":
            named = frame.rename(columns=str) if any(type(n) is not str for n in frame) else frame
            return pa.Table.from_pandas(named, preserve_index=False)
        return frame.to_arrow() if package == "polars" else frame
    except (pa.ArrowInvalid, pa.ArrowTypeError, ValueError) as error:
        raise RankforceError(f"the frame cannot be read: {_reason(error)}") from None


def _batches(table: Any) -> Any:
    """Batches of a table whose dictionaries are the same in all of them."""
    return table.unify_dictionaries().to_batches()


@contextlib.contextmanager
def open_parquet(path: PathLike, asked: Asked) -> Iterator[Columns]:
    """Open a Parquet file; what is raised inside becomes an error with its name."""
    pq: Any = importlib.import_module("pyarrow.parquet")
    pa: Any = importlib.import_module("pyarrow")
    try:
        file = pq.ParquetFile(path, pre_buffer=False)  # row groups are not held ahead of use
    except (OSError, pa.ArrowInvalid) as error:
        raise RankforceError(f"{path}: cannot be read as Parquet: {_reason(error)}") from error
    with file:
        schema = file.schema_arrow
        roles = _find_roles(pa, path, schema, asked)
        step = max(BATCH_VALUES // max(len(roles.features), 1), 1024)
        rows = file.metadata.num_rows
        try:
            yield Columns(
                schema.names, roles, lambda names: file.iter_batches(step, columns=names), rows
            )
        except (OSError, pa.ArrowInvalid, ValueError) as error:
            raise RankforceError(f"{path}: {_reason(error)}") from error


def _find_roles(pa: Any, path: PathLike, schema: Any, asked: Asked) -> Roles:
    check_asked(path, asked)
    written = json.loads((schema.metadata or {}).get(METADATA, b"null"))
    if written:
        return written_roles(path, written, schema.names, asked)
    kinds = {field.name: _kind(pa, field.type) for field in schema}
    roles = find_roles(path, schema.names, kinds, asked)
    return roles if asked.like is None else limit_roles(path, roles, schema.names, asked.like)


@contextlib.contextmanager
def open_csv(
    path: PathLike, asked: Asked, *, open_stream: Callable[[PathLike], Any] = open_text
) -> Iterator[Columns]:
    """Open a CSV file; what is raised inside becomes an error with the line, if there is one."""
    pa: Any = importlib.import_module("pyarrow")
    csv: Any = importlib.import_module("pyarrow.csv")
    separator, names = read_header(path)
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    options = {"null_values": MISSING, "strings_can_be_null": False}
    roles: Roles | None = None
    try:
        with open_text(path) as stream:
            guess = csv.ConvertOptions(**options)
            schema = csv.open_csv(stream, parse_options=parse, convert_options=guess).schema
        roles = _find_roles(pa, path, schema, asked)
        if slip := find_mixed(path, separator, names, list(roles.texts)):
            raise ColumnsError(slip)
        types = _csv_types(pa, roles, schema)

        def read(columns: list[str]) -> Any:
            convert = csv.ConvertOptions(column_types=types, include_columns=columns, **options)
            block = csv.ReadOptions(block_size=CSV_BLOCK)
            rows = 0
            with open_stream(path) as stream:
                counted = Counted(stream)
                for batch in csv.open_csv(pa.PythonFile(counted, "r"), block, parse, convert):
                    rows += batch.num_rows
                    yield batch
            if counted.may_hide(rows) and (fault := find_open_quote(path, separator)):
                raise ColumnsError(fault)

        yield Columns(names, roles, read, None)
    except (OSError, ValueError) as error:  # Arrow's own errors are among them
        if isinstance(error, ColumnsError):
            raise RankforceError(str(error)) from None
        found = find_open_quote(path, separator)
        found = found or find_fault(path, separator, names, wants(roles) if roles else {})
        raise RankforceError(found or f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0]


def _kind(pa: Any, kind: Any) -> str:
    """What a column holds, in the words of `roles.KINDS`, or what is no feature."""
    for what, names in _TYPES.items():
        if any(getattr(pa.types, f"is_{name}")(kind) for name in names):
            return what
    return f"{kind} values"


_TYPES = {
    NUMBERS: ("integer", "floating", "boolean", "decimal", "null"),
    CATEGORIES: ("dictionary",),
    TEXT: ("string", "large_string"),
    "dates": ("temporal",),
    "lists": ("nested",),
    "bytes": ("binary", "large_binary", "fixed_size_binary"),
}


def _csv_types(pa: Any, roles: Roles, schema: Any) -> dict[str, Any]:
    """Types of the columns that are read, so that a later block is not read as another type."""
    kinds = {field.name: field.type for field in schema}
    words = pa.dictionary(pa.int32(), pa.string())
    types: dict[str, Any] = {}
    for number, name in enumerate(roles.features):
        if name not in roles.coded:
            types[name] = pa.bool_() if pa.types.is_boolean(kinds[name]) else pa.float64()
            continue
        known = (roles.categories or {}).get(number, ())
        is_number = _kind(pa, kinds[name]) == NUMBERS
        has_words = any(isinstance(value, str) for value in known)
        types[name] = kinds[name] if is_number and not has_words else words
    plain = (roles.label, roles.weight, *roles.sources.values(), *roles.beside.values())
    types.update({name: pa.float64() for name in plain if name is not None})
    types.update({name: pa.string() for name in (roles.qid, roles.doc_id) if name is not None})
    return types
