"""The text of a CSV file: its header, and which cell is wrong when it cannot be read."""

from __future__ import annotations

import csv
import importlib
import io
import itertools
import math
import os
from collections.abc import Mapping
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.formats.streams import MAGIC

PathLike = str | os.PathLike[str]

SEPARATORS = ",\t;"
MISSING = ("", "NA", "N/A", "NaN", "nan", "-nan", "null", "NULL", "None")
LARGEST = 3.4028235677973366e38  # float32 rounds what is above to infinity
LOOKED_AT = 1000  # lines, to tell a column of text from one with a slip
SHOWN = 60  # characters of a cell in a message


def open_text(path: PathLike) -> Any:
    """The file as an Arrow stream, decompressed if its first bytes say so."""
    pa: Any = importlib.import_module("pyarrow")
    try:
        with open(path, "rb") as file:
            head = file.read(4)
    except OSError as error:
        raise RankforceError(f"{path}: {error.strerror}") from error
    codec = next((codec for magic, codec in MAGIC.items() if head.startswith(magic)), None)
    return pa.input_stream(os.fspath(path), compression=codec)


class Counted:
    """A stream that counts quotes and line ends as it is read."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.quotes = self.lines = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        data: bytes = self._stream.read(size)
        self.quotes += data.count(b'"')
        self.lines += data.count(b"\n")
        return data

    def close(self) -> None:
        """The stream belongs to who opened it."""
        self.closed = True

    def may_hide(self, rows: int) -> bool:
        """Whether lines may lie inside a quoted cell: the header and `rows` rows are fewer."""
        return self.quotes > 0 and (self.quotes % 2 == 1 or self.lines > rows + 1)


def find_open_quote(path: PathLike, separator: str) -> str | None:
    """A sentence on a quote that is not closed, or not where its cell ends; None if all are right.

    Arrow takes what follows, lines and all, for one cell. A slow walk through the file.
    """
    try:
        with open_text(path) as stream, _lines(stream) as lines:
            reader = csv.reader(lines, delimiter=separator, strict=True)
            begin, others = 1, 0  # line of a row, and separators in it
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
    except OSError:
        return None
    return None


def _is_rows(cell: str, separator: str, others: int) -> bool:
    """Whether a cell has swallowed rows: lines inside it that have as many cells as the header."""
    inner = cell.splitlines()[1:-1] if "\n" in cell else []
    return len(inner) > 1 and all(line.count(separator) == others for line in inner)


def read_header(path: PathLike) -> tuple[str, list[str]]:
    """The separator, the one that the first line has most of, and the names of the columns."""
    try:
        with open_text(path) as stream, _lines(stream) as lines:
            first = lines.readline()
    except OSError as error:
        raise RankforceError(f"{path}: cannot be read: {error}") from error
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
    try:
        with open_text(path) as stream, _lines(stream) as lines:
            reader = csv.reader(lines, delimiter=separator)
            next(reader)
            for cells in reader:
                if cells and len(cells) != len(names):
                    what = f"{len(cells)} cells, expected {len(names)} as in the header"
                    return f"{path}, line {reader.line_num}: {what}"
                for column, want in columns if cells else ():
                    wrong = _wrong(cells[column], want)
                    if wrong:
                        where = f"{path}, line {reader.line_num}, column {names[column]!r}"
                        return f"{where}: {cells[column][:SHOWN]!r}: {wrong}"
    except (OSError, csv.Error):
        return None
    return None


def find_mixed(path: PathLike, separator: str, names: list[str], texts: list[str]) -> str | None:
    """A sentence on the first word in a column that mostly holds numbers; None if there is none.

    Such a column is no text to be left out, but one with a slip. The first lines tell.
    """
    columns = {name: names.index(name) for name in texts}
    numbers, words = dict.fromkeys(texts, 0), dict.fromkeys(texts, 0)
    with open_text(path) as stream, _lines(stream) as lines:
        reader = csv.reader(lines, delimiter=separator)
        next(reader)
        for cells in itertools.islice(reader, LOOKED_AT):
            for name, column in columns.items():
                cell = cells[column] if column < len(cells) else ""
                if cell.strip() not in MISSING:
                    (words if to_number(cell) is None else numbers)[name] += 1
    mixed = next((name for name in texts if numbers[name] > words[name]), None)
    return None if mixed is None else find_fault(path, separator, names, {mixed: "number"})


def _lines(stream: Any) -> io.TextIOWrapper:
    return io.TextIOWrapper(
        io.BufferedReader(stream), encoding="utf-8-sig", errors="replace", newline=""
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


def to_number(cell: str) -> float | None:
    """The number that a cell holds; None if it holds none.

    >>> to_number(" 1e3"), to_number("1_000")
    (1000.0, None)
    """
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
