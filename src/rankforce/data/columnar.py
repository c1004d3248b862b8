"""Reads ranking data from columns: Parquet, and CSV with a header."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.data.csv_text import MISSING, find_fault, find_mixed, open_text, read_header
from rankforce.data.frames import fill, read_column, to_vector
from rankforce.data.roles import (
    Asked,
    ColumnsError,
    Roles,
    check_asked,
    find_roles,
    plain_columns,
    wanted,
    wants,
    written_roles,
)

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

PathLike = str | os.PathLike[str]

METADATA = b"rankforce"
BATCH_VALUES = 1 << 21  # decoded at a time
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")  # without leading zeros: 07 and 7 are two ids
CSV_BLOCK = 1 << 21  # bytes


class Columns(NamedTuple):
    """A file of columns that is open for reading."""

    names: list[str]
    roles: Roles
    read: Callable[[list[str]], Any]  # batches of these columns, from the first row on
    rows: int | None  # None where only the end tells: a text file


def read_parquet(
    path: PathLike,
    *,
    label: str | None = None,
    qid: str | None = None,
    doc_id: str | None = None,
    weight: str | None = None,
    sources: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> RankingData:
    """Read a Parquet file; its columns are found by name, by what rankforce wrote, or as given.

    Without `features` every other column of numbers or categories is one; text is left out, and so
    is a column "label" where another is asked for: it would give that away.

    >>> import tempfile, pathlib, rankforce.data.write as write
    >>> from rankforce.data.ranking_data import RankingData
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.parquet")
    ...     _ = write.write(RankingData([[0.5], [2]], [1, 0], qid=["a", "a"]), path)
    ...     read_parquet(path)
    RankingData(2 rows, 1 queries, 1 features)
    """
    with open_parquet(path, Asked(label, qid, doc_id, weight, sources, features)) as columns:
        return gather(columns.read(wanted(columns.roles)), columns.roles, columns.rows)


@contextlib.contextmanager
def open_parquet(path: PathLike, asked: Asked) -> Iterator[Columns]:
    """Open a Parquet file; what is raised inside becomes an error with its name."""
    pq: Any = importlib.import_module("pyarrow.parquet")
    pa: Any = importlib.import_module("pyarrow")
    try:
        file = pq.ParquetFile(path, pre_buffer=False)  # row groups are not held ahead of use
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path}: cannot be read as Parquet: {_reason(error)}") from error
    with file:
        schema = file.schema_arrow
        written = json.loads((schema.metadata or {}).get(METADATA, b"null"))
        check_asked(path, asked)
        if written:
            roles = written_roles(path, written, schema.names, asked)
        else:
            kinds = {field.name: _is_feature(pa, field.type) for field in schema}
            roles = find_roles(path, schema.names, kinds, asked)
        step = max(BATCH_VALUES // max(len(roles.features), 1), 1024)
        rows = file.metadata.num_rows
        try:
            yield Columns(
                schema.names, roles, lambda names: file.iter_batches(step, columns=names), rows
            )
        except (OSError, pa.ArrowInvalid, ValueError) as error:
            raise ValueError(f"{path}: {_reason(error)}") from error


def read_csv(
    path: PathLike,
    *,
    label: str | None = None,
    qid: str | None = None,
    doc_id: str | None = None,
    weight: str | None = None,
    sources: Sequence[str] = (),
    features: Sequence[str] | None = None,
) -> RankingData:
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
    with open_csv(path, Asked(label, qid, doc_id, weight, sources, features)) as columns:
        return gather(columns.read(wanted(columns.roles)), columns.roles, None)


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
        kinds = {field.name: _is_feature(pa, field.type) for field in schema}
        check_asked(path, asked)
        roles = find_roles(path, names, kinds, asked)
        taken = {*wanted(roles), *roles.features}
        texts = [name for name in names if not kinds.get(name, True) and name not in taken]
        slip = find_mixed(path, separator, names, texts) if asked.features is None else None
        if slip:
            raise ColumnsError(slip)
        types = _csv_types(pa, roles, schema)

        def read(columns: list[str]) -> Any:
            convert = csv.ConvertOptions(column_types=types, include_columns=columns, **options)
            block = csv.ReadOptions(block_size=CSV_BLOCK)
            with open_stream(path) as stream:
                yield from csv.open_csv(stream, block, parse, convert)

        yield Columns(names, roles, read, None)
    except (OSError, ValueError) as error:  # Arrow's own errors are among them
        if isinstance(error, ColumnsError):
            raise ValueError(str(error)) from None
        found = find_fault(path, separator, names, wants(roles) if roles else {})
        raise ValueError(found or f"{path}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error).splitlines()[0]


def _is_feature(pa: Any, kind: Any) -> bool:
    names = ("integer", "floating", "boolean", "decimal", "dictionary", "null")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def gather(
    batches: Any,
    roles: Roles,
    rows: int | None,
    *,
    known: dict[int, list[Any]] | None = None,
    is_whole: bool | None = None,
) -> RankingData:
    """Batches as one data set; features go into place at once where the rows are known.

    For a part of a file, `known` are the categories of all of it, and `is_whole` says whether all
    its query ids, which are text, are whole numbers.
    """
    names = roles.features
    known = {} if known is None else known
    blocks: list[NDArray[np.float32]] = []
    features = np.empty((rows or 0, len(names)), np.float32)
    plain: dict[str, list[Any]] = {name: [] for name in plain_columns(roles)}
    done = 0
    for batch in batches:
        block = features[done : done + batch.num_rows]
        if rows is None:
            block = np.empty((batch.num_rows, len(names)), np.float32)
            blocks.append(block)
        fill(block, _numbers(batch, names, known), names, first=done)
        for name, pieces in plain.items():
            pieces.append(batch.column(name))
        done += batch.num_rows
    if done == 0:
        raise ValueError("holds no rows: expected one or more")
    if rows is None:
        features = _stack(blocks, done, len(names))
    is_text = rows is None or is_whole is not None
    qid = _ids(plain[roles.qid], roles.qid, is_text=is_text, is_whole=is_whole)
    return _as_data(features, qid, plain, roles, known)


def _as_data(
    features: Any, qid: Any, plain: dict[str, list[Any]], roles: Roles, known: dict[int, list[Any]]
) -> RankingData:
    from rankforce.data.ranking_data import RankingData

    weight, label = roles.weight, roles.label
    return RankingData(
        features,
        None if label is None else _floats(plain[label], label),
        qid=qid,
        weight=None if weight is None else _floats(plain[weight], weight),
        doc_ids=None if roles.doc_id is None else _texts(plain[roles.doc_id]),
        feature_names=roles.features,
        categorical=roles.categorical,
        sources={name: _floats(plain[column], name) for name, column in roles.sources.items()},
        categories=roles.categories or known or None,
        label_name=roles.label_name,
    )


def _stack(blocks: list[NDArray[np.float32]], rows: int, columns: int) -> NDArray[np.float32]:
    """Blocks one below the other; each is freed as it is copied, so that no two copies stay."""
    values = np.empty((rows, columns), np.float32)
    while blocks:
        block = blocks.pop()
        values[rows - len(block) : rows] = block
        rows -= len(block)
    return values


def _numbers(batch: Any, names: list[str], known: dict[int, list[Any]]) -> list[NDArray[Any]]:
    """The feature columns of a batch; categories that were not seen before get the next codes."""
    columns = []
    for number, name in enumerate(names):
        array = batch.column(name)
        if hasattr(array, "dictionary"):
            add_categories(array, known.setdefault(number, []))
        columns.append(read_column(array, f"column {name!r}", "pyarrow", known.get(number)).values)
    return columns


def add_categories(array: Any, seen: list[Any]) -> None:
    """Append the values behind an Arrow dictionary that were not seen before."""
    new = dict.fromkeys(v for v in array.dictionary.to_pylist() if v is not None)
    seen.extend(value for value in new if value not in seen)


def _floats(pieces: list[Any], name: str) -> NDArray[np.float64]:
    # A dictionary is a way to store numbers here, no category.
    plain = [p.dictionary_decode() if hasattr(p, "dictionary") else p for p in pieces]
    return np.concatenate([np.empty(0), *(to_vector(p, f"column {name!r}") for p in plain)])


def _chunked(pieces: list[Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    array = pa.chunked_array(pieces) if pieces else pa.chunked_array([], pa.string())
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def _ids(pieces: list[Any], name: str, *, is_text: bool, is_whole: bool | None) -> NDArray[Any]:
    """Query ids; those of a text file are whole numbers where all are written as such."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    array = _chunked(pieces)
    row = pc.index(pc.equal(array, "") if is_text else array.is_null(), True).as_py()
    if row >= 0:
        raise ValueError(f"row {row}, column {name!r} is empty: every row needs a query id")
    if pa.types.is_integer(array.type) or pa.types.is_floating(array.type):
        return np.asarray(array.to_numpy())
    coded = array.cast(pa.string()).combine_chunks().dictionary_encode()
    values = coded.dictionary.to_pylist()
    codes: NDArray[np.int64] = coded.indices.to_numpy()
    if is_text and (are_whole(values) if is_whole is None else is_whole):
        return np.array([int(value) for value in values], dtype=np.int64)[codes]
    names: NDArray[Any] = np.array([*values, None], dtype=object)  # not as a table of letters
    return names[codes]


def are_whole(ids: list[str]) -> bool:
    """Whether query ids, as text, are all whole numbers."""
    return all(WHOLE.fullmatch(value) for value in ids)


def _texts(pieces: list[Any]) -> Any:
    """Document ids as one Arrow array of text, empty where there is none."""
    pa: Any = importlib.import_module("pyarrow")
    array = _chunked(pieces).cast(pa.string())
    return (array.fill_null("") if array.null_count else array).combine_chunks()


def _csv_types(pa: Any, roles: Roles, schema: Any) -> dict[str, Any]:
    """Types of the columns that are read, so that a later block is not read as another type."""
    kinds = {field.name: field.type for field in schema}
    types = {
        name: pa.bool_() if pa.types.is_boolean(kinds[name]) else pa.float32()
        for name in roles.features
    }
    plain = (roles.label, roles.weight, *roles.sources.values())
    types.update({name: pa.float64() for name in plain if name is not None})
    types.update({name: pa.string() for name in (roles.qid, roles.doc_id) if name is not None})
    return types
