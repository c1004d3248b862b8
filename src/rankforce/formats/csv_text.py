"""The format CSV: its header, its cells, and which of them is wrong when it cannot be read."""

from __future__ import annotations

import contextlib
import csv
import importlib
import io
import itertools
import math
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.data.shards import Shard
from rankforce.formats.cells import MISSING, SHOWN, to_number
from rankforce.formats.columnar import (
    Columns,
    Known,
    csv_label,
    is_found,
    kind_of_column,
    of_table,
    read_columns,
    reason,
    roles_of,
    stream_columns,
    write_tables,
)
from rankforce.formats.gather import are_whole
from rankforce.formats.keep_columns import keep_columns
from rankforce.formats.lines import estimate_rows
from rankforce.formats.registry import Seen
from rankforce.formats.roles import NUMBERS, Asked, ColumnsError, Roles, wants
from rankforce.formats.streams import PathLike, Source, open_output
from rankforce.formats.write import lost_in_text, slices

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

SEPARATORS = ",\t;"
LARGEST = 3.4028235677973366e38  # float32 rounds what is above to infinity
LOOKED_AT = 1000  # lines, to tell a column of text from one with a slip
BLOCK_BYTES = 1 << 21  # read at a time
OPTIONS = {"null_values": MISSING, "strings_can_be_null": False}
SLICE_VALUES = 1 << 20  # written at a time


def read(path: Path, asked: Asked) -> RankingData:
    """All of a CSV file with a header; comma, tab or semicolon.

    The first megabyte tells which columns are numbers.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "small.csv")
    >>> _ = path.write_text("query;grade;clicks;f\\n7;1;0.5;3\\n7;0;;4\\n")
    >>> data = read(path, Asked(sources=["clicks"]))
    >>> data.features.ravel(), data.sources
    (array([3., 4.], dtype=float32), {'clicks': array([0.5, nan])})
    """
    with opened(path, asked) as columns:
        return read_columns(columns, f"{path}: ")


def stream(path: Path, asked: Asked, seen: Seen) -> Generator[RankingData, None, None]:
    """Blocks of a CSV file; whether all query ids are numbers is only known at its end."""
    with opened(path, asked) as columns:
        is_whole, qid = True, columns.roles.qid
        for batch in columns.read([qid]) if qid is not None else ():
            is_whole = is_whole and are_whole(batch.column(qid).unique().to_pylist())
            seen(f"checking {path.name}", columns.share(0))
        yield from stream_columns(path, columns, seen, is_whole=is_whole)


def keep(shards: Sequence[Shard], asked: Asked, place: str) -> RankingData:
    """The rows of CSV files; features are parsed when they are needed."""
    return keep_columns(__name__, shards, asked, place, _schema)


def estimate(path: Path) -> tuple[int, int]:
    """About the rows of a CSV file, and its columns, as the first lines have it."""
    return estimate_rows(path), len(read_header(path)[1])


def write(blocks: Iterator[RankingData], path: Path) -> int:
    """Write a header of the usual names, and the rows; all with commas."""
    pa_csv: Any = importlib.import_module("pyarrow.csv")
    with open_output(path) as stream:
        return write_tables(
            slices(blocks, SLICE_VALUES),
            lambda schema: pa_csv.CSVWriter(stream, schema),
            is_strict=True,
        )


def lost(data: RankingData, path: Path) -> list[str]:
    """What names of columns do not say."""
    name = csv_label(data)
    how = f"sources={list(data.sources)}"
    if not is_found(name, data):
        how = f"labels={[name, *data.sources]}"
    return lost_in_text(
        "CSV", data, label=name, sources=f"sources are plain columns: read with {how}"
    )


class Counted(Source):
    """A file that counts quotes and line ends as it is read."""

    quotes = lines = 0

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self._stream.read(size)  # not by way of `readinto`: nothing is copied twice
        self.quotes += data.count(b'"')
        self.lines += data.count(b"\n")
        return data

    def may_hide(self, rows: int) -> bool:
        """Whether lines may lie inside a quoted cell: the header and `rows` rows are fewer."""
        return self.quotes > 0 and (self.quotes % 2 == 1 or self.lines > rows + 1)


@contextlib.contextmanager
def opened(path: Path, asked: Asked | Known) -> Iterator[Columns]:
    """Open a CSV file; what is raised inside becomes an error with the line, if there is one."""
    pa_csv: Any = importlib.import_module("pyarrow.csv")
    asked = asked if isinstance(asked, Known) else of_table(path, asked)
    separator, names = read_header(path)
    parse = _parse_options(separator)
    roles: Roles | None = None
    source: Counted | None = None
    try:
        if isinstance(asked, Known):
            roles, schema = asked
        else:
            schema = _guess(path, separator)
            roles = roles_of(path, schema, asked)
        if slip := find_mixed(path, separator, names, list(roles.texts)):
            raise ColumnsError(slip)
        types = _types(roles, schema)

        def read(columns: list[str]) -> Any:
            nonlocal source
            convert = pa_csv.ConvertOptions(column_types=types, include_columns=columns, **OPTIONS)
            block = pa_csv.ReadOptions(block_size=BLOCK_BYTES)
            rows = 0
            with Counted(path) as source:
                for batch in pa_csv.open_csv(source, block, parse, convert):
                    rows += batch.num_rows
                    yield batch
                if source.may_hide(rows) and (fault := find_open_quote(path, separator)):
                    raise ColumnsError(fault)

        yield Columns(roles, read, None, lambda done: source.share if source else 0.0)
    except (OSError, ValueError) as error:  # Arrow's own errors are among them
        if isinstance(error, ColumnsError):
            raise RankforceError(str(error)) from None
        found = find_open_quote(path, separator)
        found = found or find_fault(path, separator, names, wants(roles) if roles else {})
        raise RankforceError(found or f"{path}: {reason(error)}") from error


def _parse_options(separator: str) -> Any:
    pa_csv: Any = importlib.import_module("pyarrow.csv")
    return pa_csv.ParseOptions(delimiter=separator, newlines_in_values=True)


def _guess(path: Path, separator: str) -> Any:
    """The types that the first megabyte tells."""
    pa_csv: Any = importlib.import_module("pyarrow.csv")
    with Source(path) as first:
        options = pa_csv.ConvertOptions(**OPTIONS)
        parse = _parse_options(separator)
        return pa_csv.open_csv(first, parse_options=parse, convert_options=options).schema


def _schema(path: Path) -> Any:
    """The columns of a file, with the types that its first megabyte tells."""
    separator, names = read_header(path)
    try:
        return _guess(path, separator)
    except (OSError, ValueError) as error:
        found = find_open_quote(path, separator) or find_fault(path, separator, names, {})
        raise RankforceError(found or f"{path}: {reason(error)}") from error


def _types(roles: Roles, schema: Any) -> dict[str, Any]:
    """Types of the columns that are read, so that a later block is not read as another type."""
    pa: Any = importlib.import_module("pyarrow")
    kinds = {field.name: field.type for field in schema}
    words = pa.dictionary(pa.int32(), pa.string())
    types: dict[str, Any] = {}
    for number, name in enumerate(roles.features):
        if name not in roles.coded:
            types[name] = pa.bool_() if pa.types.is_boolean(kinds[name]) else pa.float64()
            continue
        known = (roles.categories or {}).get(number, ())
        is_number = kind_of_column(kinds[name]) == NUMBERS
        has_words = any(isinstance(value, str) for value in known)
        types[name] = kinds[name] if is_number and not has_words else words
    plain = (roles.label, roles.weight, *roles.sources.values(), *roles.beside.values())
    types.update({name: pa.float64() for name in plain if name is not None})
    types.update({name: pa.string() for name in (roles.qid, roles.doc_id) if name is not None})
    return types


def find_open_quote(path: PathLike, separator: str) -> str | None:
    """A sentence on a quote that is not closed, or not where its cell ends; None if all are right.

    Arrow takes what follows, lines and all, for one cell. A slow walk through the file.
    """
    begin, others = 1, 0  # line of a row, and separators in it
    with _lines(path) as lines:
        reader = csv.reader(lines, delimiter=separator, strict=True)
        try:
            for cells in reader:
                others = others or len(cells) - 1
                if any(_is_rows(cell, separator, others) for cell in cells):
                    what = f"a cell of {reader.line_num + 1 - begin} lines that look like rows"
                    return f"{path}, line {begin}: {what}: is a quote not closed?"
                begin = reader.line_num + 1
        except csv.Error as error:
            what = "an unclosed quote" if "end of data" in str(error) else "a stray quote"
            where = f"{path}, line {begin}"
            return f'{where}: {what}: expected each cell in quotes to end with one ("" inside)'
    return None


def _is_rows(cell: str, separator: str, others: int) -> bool:
    """Whether a cell has swallowed rows: lines inside it that have as many cells as the header."""
    inner = cell.splitlines()[1:-1] if "\n" in cell else []
    return len(inner) > 1 and all(line.count(separator) == others for line in inner)


def read_header(path: PathLike) -> tuple[str, list[str]]:
    """The separator, the one that the first line has most of, and the names of the columns."""
    with _lines(path) as lines:
        first = lines.readline()
    separator = max(SEPARATORS, key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    if not names:
        raise RankforceError(f"{path}: is empty: expected a header line and rows")
    if all(to_number(name) is not None for name in names):
        raise RankforceError(
            f"{path}, line 1: {first.strip()[:SHOWN]!r}: expected names of columns"
        )
    return separator, names


def find_fault(
    path: PathLike, separator: str, names: list[str], wants: Mapping[str, str]
) -> str | None:
    """A sentence on the first cell that is not what its column wants: number, label or id.

    A slow walk through the file, for when it could not be read: Arrow does not say where.
    """
    columns = [(names.index(name), want) for name, want in wants.items() if name in names]
    with _lines(path) as lines, contextlib.suppress(csv.Error):
        reader = csv.reader(lines, delimiter=separator)
        next(reader)
        for cells in reader:
            if cells and len(cells) != len(names):
                what = f"{len(cells)} cells, expected {len(names)} as in the header"
                return f"{path}, line {reader.line_num}: {what}"
            for column, want in columns if cells else ():
                if wrong := _wrong(cells[column], want):
                    where = f"{path}, line {reader.line_num}, column {names[column]!r}"
                    return f"{where}: {cells[column][:SHOWN]!r}: {wrong}"
    return None


def find_mixed(path: PathLike, separator: str, names: list[str], texts: list[str]) -> str | None:
    """A sentence on the first word in a column that mostly holds numbers; None if there is none.

    Such a column is no text to be left out, but one with a slip. The first lines tell.
    """
    columns = {name: names.index(name) for name in texts}
    numbers, words = dict.fromkeys(texts, 0), dict.fromkeys(texts, 0)
    with _lines(path) as lines:
        reader = csv.reader(lines, delimiter=separator)
        next(reader)
        for cells in itertools.islice(reader, LOOKED_AT):
            for name, column in columns.items():
                cell = cells[column] if column < len(cells) else ""
                if cell.strip() not in MISSING:
                    (words if to_number(cell) is None else numbers)[name] += 1
    mixed = next((name for name in texts if numbers[name] > words[name]), None)
    return None if mixed is None else find_fault(path, separator, names, {mixed: "number"})


def _lines(path: PathLike) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedReader(Source(path)), encoding="utf-8-sig", errors="replace", newline=""
    )


def _wrong(cell: str, want: str) -> str | None:
    if want == "id":
        return None if cell else "expected a query id"
    if cell.strip() in MISSING or cell.lower() in ("true", "false"):
        return "expected a number" if want == "label" else None
    value = to_number(cell)
    if value is None:
        return "expected a number"
    if math.isinf(value) or (want == "number" and abs(value) >= LARGEST):
        return "expected a number that float32 can hold (at most 3.4e38)"
    return None
