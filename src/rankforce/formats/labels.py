"""Several labels for each row: which is asked for, and the file of them beside LETOR text.

`train.txt.labels` has a line of names, then one line for each row of `train.txt`; tabs or commas
stand between, and nothing or `nan` where a label is unknown.
"""

from __future__ import annotations

import importlib
import math
import re
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.data.schema import twice
from rankforce.formats.cells import MISSING, SHOWN, parse_numbers, to_number
from rankforce.formats.lines import lines_of, open_blocks
from rankforce.formats.roles import split_labels
from rankforce.formats.streams import PACKINGS, split_packing

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

Floats = NDArray[np.float64]

TEXT_LABEL = "label"  # what the first word of a line of text is called
ENDING = ".labels"
UNWRITABLE = re.compile(r"[\t,\r\n\0]|^\s|\s$|^$")  # in the line of names


class Chosen(NamedTuple):
    """The column that is the label, and the sources beside it."""

    name: str
    values: Floats
    sources: dict[str, Floats]


def find_labels(path: Path) -> Path | None:
    """The file of labels beside a text file, compressed or not; None if there is none.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt.labels").write_text("click\\n0.5\\n")
    >>> find_labels(folder / "a.txt").name, find_labels(folder / "a.txt.gz").name
    ('a.txt.labels', 'a.txt.labels')
    """
    bare, _ = split_packing(path.name)
    packings = ("", *PACKINGS)
    names = [f"{name}{ENDING}{packing}" for name in (bare, path.name) for packing in packings]
    places = [labels_place(path), *(path.with_name(name) for name in names)]
    return next((place for place in places if place.is_file()), None)


def labels_place(path: Path) -> Path:
    """Where the labels of a text file are written: the first place where they are looked for.

    >>> labels_place(Path("a.txt")).name, labels_place(Path("a.txt.gz")).name
    ('a.txt.labels', 'a.txt.labels.gz')
    """
    bare, packing = split_packing(path.name)
    return path.with_name(bare + ENDING + packing)


def read_labels(path: Path, rows: int) -> dict[str, Floats]:
    """The columns of a file of labels for a text file of so many rows.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.txt.labels"
    >>> _ = path.write_text("click,age\\n0.5,\\nnan,3\\n")
    >>> read_labels(path, 2)
    {'click': array([0.5, nan]), 'age': array([nan,  3.])}
    """
    found, count, names, separator = list[Floats](), 0, list[str](), ","
    with open_blocks(path) as blocks:
        for block in blocks:
            begin, end, _ = block.pieces[0]
            if begin < end and not names:
                header = next(lines_of(path, block))[1]
                separator = "\t" if "\t" in header else ","
                names = _check_header(path, header.split(separator))
                begin = block.text.index(b"\n", begin) + 1
            numbers = parse_numbers(
                block.text[begin:end], len(names), separator=separator, missing=MISSING
            )
            if numbers is None or count + len(numbers) > rows:
                lines = [one for one in lines_of(path, block) if one[0] > 1]
                numbers = _closer_look(path, lines, names, separator, rows - count)
            found.append(numbers)
            count += len(numbers)
    if not names:
        raise RankforceError(
            f"{path}: is empty: expected a line with names of labels, then the rows"
        )
    if count != rows:
        text_file = path.name[: path.name.rindex(ENDING)]
        raise RankforceError(
            f"{path} has {count} rows below its names, {text_file} has {rows} rows"
        )
    table = np.concatenate(found)
    return {name: table[:, column].copy() for column, name in enumerate(names)}


def _closer_look(
    path: Path, lines: list[tuple[int, str]], names: list[str], separator: str, most: int
) -> Floats:
    """The rows of some lines, cell by cell; blank lines may follow the last row."""
    place = str(path)  # once: a Path takes as long to become text as a line to be read
    numbers, count = array("d"), 0
    for line, text in lines:
        if count < most or text.strip():
            numbers.extend(_cells(place, line, text.split(separator), names))
            count += 1
    return np.array(numbers).reshape(count, len(names))


def choose_labels(
    path: Path, labels: Floats, beside: Mapping[str, Floats], asked: str | Sequence[str] | None
) -> Chosen:
    """Which column of a text file, and of that beside it, is the label and which are sources.

    >>> choose_labels(Path("a.txt"), np.zeros(1), {"click": np.ones(1)}, "click").name
    'click'
    """
    if asked is None:
        return Chosen(TEXT_LABEL, labels, dict(beside))
    columns = {TEXT_LABEL: labels, **beside}
    names = split_labels(asked)
    unknown = next((name for name in names if name not in columns), None)
    if unknown is not None:
        has = ", ".join(repr(name) for name in columns)
        where = f"{path}" if beside else f"{path}, without a file {path.name}{ENDING} beside it,"
        raise RankforceError(f"{where} has no label {unknown!r}: choose from {has}")
    first, *others = names
    missing = np.flatnonzero(np.isnan(columns[first]))
    if missing.size:
        raise RankforceError(
            f"{path}: {first!r} of row {missing[0]} is unknown, and the label must be known: "
            "name it behind another"
        )
    return Chosen(first, columns[first], {name: columns[name] for name in others})


def check_writable(sources: Sequence[str]) -> None:
    """Refuse names of sources that a file of labels could not give back."""
    for name in sources:
        if name == TEXT_LABEL:
            raise RankforceError(
                f"source {name!r} has the name of the label in LETOR text: rename it"
            )
        if UNWRITABLE.search(name):
            raise RankforceError(
                f"source {name!r}: LETOR text has no place for commas, tabs, line ends and blanks "
                "around it: rename it"
            )
    if sources and all(to_number(name) is not None for name in sources):
        shown = ", ".join(repr(name) for name in sources)
        raise RankforceError(f"sources {shown}: LETOR text takes numbers for no names: rename one")


def label_lines(data: RankingData) -> Any:
    """The lines of some rows in a file of labels, as bytes."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    if data.rows == 0:
        return b""
    columns = [pa.array(values).cast(pa.string()) for values in data.sources.values()]
    lines = pc.binary_join_element_wise(*columns, "\t").to_pylist()
    return ("\n".join(lines) + "\n").encode()


def _check_header(path: Path, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    where = f"{path}, line 1"
    if not all(names):
        raise RankforceError(
            f"{where}: name {names.index('') + 1} is empty, expected names of labels"
        )
    if all(to_number(name) is not None for name in names):
        shown = ",".join(names)[:SHOWN]
        raise RankforceError(f"{where}: {shown!r}: expected names of labels above the rows")
    if (again := twice(names)) is not None:
        raise RankforceError(f"{where}: {again!r} occurs twice, expected names that differ")
    if TEXT_LABEL in names:
        raise RankforceError(f"{where}: {TEXT_LABEL!r} is the label in the text itself: rename it")
    return names


def _cells(place: str, line: int, cells: list[str], names: list[str]) -> list[float]:
    if len(cells) != len(names):
        raise RankforceError(
            f"{place}, line {line}: {len(cells)} cells, expected {len(names)} as in line 1"
        )
    numbers = []
    for cell, name in zip(cells, names, strict=True):
        number = to_number(cell) if cell else math.nan
        if number is None and cell.strip() in MISSING:
            number = math.nan
        if number is None or math.isinf(number):
            raise RankforceError(
                f"{place}, line {line}, column {name!r}: {cell[:SHOWN]!r}: "
                "expected a finite number, or nothing where it is unknown"
            )
        numbers.append(number)
    return numbers
