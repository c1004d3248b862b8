"""Ranking data as columns with names: what files of columns, and frames, have in common."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Ints
from rankforce.data.sources import to_dense
from rankforce.formats.gather import gather, survey
from rankforce.formats.read import with_labels
from rankforce.formats.registry import Seen
from rankforce.formats.roles import (
    CATEGORIES,
    NUMBERS,
    TEXT,
    Asked,
    Roles,
    check_asked,
    find_roles,
    limit_roles,
    usual_column,
    wanted,
    written_roles,
)
from rankforce.formats.streams import PathLike
from rankforce.formats.write import Rows, id_array, rare_columns, text_array

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

METADATA = b"rankforce"


class Known(NamedTuple):
    """What is known of a file of columns before it is opened: as all files of its folder."""

    roles: Roles
    schema: Any  # of Arrow


class Columns(NamedTuple):
    """A file of columns that is open for reading."""

    roles: Roles
    read: Callable[[list[str]], Any]  # batches of these columns, from the first row on
    rows: int | None = None  # None where only the end tells: a text file
    # Of the file, that has been read when so many rows have been seen.
    share: Callable[[int], float] = lambda done: 1.0
    # Batches of columns that have some rows, which ascend, with the numbers of their first rows.
    some: Callable[[list[str], Ints], Iterator[tuple[int, Any]]] | None = None


def read_columns(columns: Columns, place: str) -> RankingData:
    """All rows of an open file."""
    return gather(columns.read(wanted(columns.roles)), columns.roles, columns.rows, place=place)


def stream_columns(
    path: Path, columns: Columns, seen: Seen, *, is_whole: bool | None = None
) -> Generator[RankingData, None, None]:
    """Batches of columns as data; `is_whole` is as for `gather`."""
    roles = columns.roles
    # A writer asks for all values of categories at the start.
    batches = columns.read(list(roles.coded)) if roles.coded else ()
    roles = survey(batches, roles, place=f"{path}: ")
    done = 0
    with contextlib.closing(columns.read(wanted(roles))) as batches:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            yield gather([batch], roles, batch.num_rows, is_part=True, is_whole=is_whole)
            done += batch.num_rows
            seen("converting", columns.share(done))
    if done == 0:
        raise RankforceError("holds no rows: expected one or more")


def read_frame(frame: Any, asked: Asked) -> RankingData:
    """Read a pandas or polars frame or an Arrow table, by the rules of a Parquet file."""
    pa: Any = importlib.import_module("pyarrow")
    table = as_table(pa, frame)
    roles = roles_of("the frame", table.schema, asked)
    # Batches whose dictionaries are the same in all of them.
    table = table.unify_dictionaries()
    columns = Columns(roles, lambda names: table.select(names).to_batches(), table.num_rows)
    return read_columns(columns, "the frame: ")


def as_table(pa: Any, frame: Any) -> Any:
    """A frame of pandas or polars as an Arrow table."""
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
        raise RankforceError(f"the frame cannot be read: {reason(error)}") from None


def of_table(path: Path, asked: Asked) -> Asked:
    """What the caller asks of a file with names: `labels` are the label and the sources."""
    if asked.n_features is not None:
        raise RankforceError(
            f"n_features={asked.n_features} is for text: {path} names its features"
        )
    return asked._replace(**with_labels(asked, asked.labels))


def roles_of(path: PathLike, schema: Any, asked: Asked) -> Roles:
    """Which column is what: by what rankforce wrote down, by name, or as the caller says.

    Without `features` every other column of numbers or categories is one. Text with few different
    values becomes categories; what is left out is said. A column "label" where another is asked for
    is no feature: it would give that away.
    """
    check_asked(path, asked)
    written = json.loads((schema.metadata or {}).get(METADATA, b"null"))
    if written:
        return written_roles(path, written, schema.names, asked)
    kinds = {field.name: kind_of_column(field.type) for field in schema}
    roles = find_roles(path, schema.names, kinds, asked)
    return roles if asked.like is None else limit_roles(path, roles, schema.names, asked.like)


def kind_of_column(kind: Any) -> str:
    """What a column holds, in the words of `roles.KINDS`, or what is no feature."""
    pa: Any = importlib.import_module("pyarrow")
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


def reason(error: Exception) -> str:
    """What an error of Arrow, or of the system, says in one line."""
    return getattr(error, "strerror", None) or str(error).splitlines()[0]


def write_tables(
    slices: Iterator[tuple[RankingData, Rows]],
    open_writer: Callable[[Any], Any],
    *,
    is_strict: bool,
    group: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> int:
    """Write rows as tables, one or more at once as `group` puts them together; their number."""
    count = 0
    with contextlib.ExitStack() as stack:
        writer = None
        for table in group(_tables(slices, is_strict=is_strict)):
            writer = writer or stack.enter_context(open_writer(table.schema))
            writer.write_table(table)
            count += table.num_rows
    return count


def _tables(
    slices: Iterator[tuple[RankingData, Rows]], *, is_strict: bool
) -> Generator[Any, None, None]:
    names, schema = dict[str, Any](), None
    for data, rows in slices:
        names = names or _names(data, is_strict=is_strict)
        table = _table(rows, names)
        if schema is None:
            schema = table.schema.with_metadata({METADATA: json.dumps(names, default=str)})
        if table.schema.names != schema.names:
            raise RankforceError(f"the block of row {rows.first} has other columns than the first")
        yield table.cast(schema)


def _names(data: RankingData, *, is_strict: bool) -> dict[str, Any]:
    """Which column is what, for `Roles`; a strict format has the usual names only."""
    taken = set(data.feature_names)

    def free(name: str) -> str:
        if is_strict and name in taken:
            what = "feature" if name in data.feature_names else "source"
            raise RankforceError(f"{what} {name!r} has the name of another column: rename it")
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    return {
        "label": free(csv_label(data) if is_strict else data.label_name),
        "label_name": data.label_name,
        "qid": free("qid"),
        "doc_id": None if data.doc_ids is None else free("doc_id"),
        "weight": None if data.row_weight is None else free("weight"),
        "sources": {name: free(name) for name in data.sources},
        # A reader of CSV would take them for features.
        "beside": {} if is_strict else {name: free(name) for name in rare_columns(data)},
        "features": data.feature_names,
        "categorical": data.categorical,
        "categories": {str(column): values for column, values in data.categories.items()},
        "renumbered": data.renumbered,
        "has_labels": data.has_labels,
    }


def csv_label(data: RankingData) -> str:
    """What the label is called where names alone tell which column it is.

    It keeps its name only where a reader finds it by that: no other column becomes the label when
    the names are left to the reader.
    """
    is_free = "label" not in (*data.feature_names, *data.sources)
    return "label" if is_free and not is_found(data.label_name, data) else data.label_name


def is_found(name: str, data: RankingData) -> bool:
    """Whether a reader of CSV takes the column of that name for the label without being told."""
    return usual_column([name, *data.sources, *data.feature_names], "label") == name


def _table(rows: Rows, names: dict[str, Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    columns = {names["label"]: pa.array(rows.labels), names["qid"]: id_array(rows.qid)}
    if rows.doc_ids is not None:
        columns[names["doc_id"]] = text_array(rows.doc_ids)
    for name, column in {"weight": names["weight"], **names["beside"]}.items():
        if name in rows.beside:
            columns[column] = pa.array(rows.beside[name])
    for name, values in rows.beside["sources"].items():
        columns[names["sources"].get(name, name)] = pa.array(values)
    by_column = np.ascontiguousarray(to_dense(rows.features).T)
    for name, values in zip(names["features"], by_column, strict=True):
        columns[name] = pa.array(values)
    return pa.table(columns)
