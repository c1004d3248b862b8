"""Writes ranking data as LETOR text, Parquet or CSV, a block of rows at a time."""

from __future__ import annotations

import contextlib
import gzip
import importlib
import itertools
import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file
from rankforce.data.columns import cut_columns
from rankforce.data.schema import kind_of, numbers_from
from rankforce.data.sources import entries, pieces, to_dense
from rankforce.formats.columnar import METADATA
from rankforce.formats.labels import (
    TEXT_LABEL,
    check_writable,
    find_labels,
    label_lines,
    labels_place,
)
from rankforce.formats.roles import OF_ROWS, usual_column

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData

FORMATS = ("letor", "parquet", "csv")
ENDINGS = {".txt": "letor", ".letor": "letor", ".svm": "letor", ".parquet": "parquet"}
ENDINGS |= {
    ".pq": "parquet",
    ".csv": "csv",
    ".svmlight": "letor",
    ".libsvm": "letor",
    ".dat": "letor",
}
SLICE_VALUES = 1 << 20  # written at a time
GROUP_VALUES = 1 << 23  # in a row group of Parquet
GZIP_LEVEL = 5


class Rows(NamedTuple):
    """Some rows of a data set."""

    first: int  # number of the first row, for messages
    features: Any
    labels: NDArray[np.float64]
    qid: NDArray[Any]
    doc_ids: NDArray[Any] | None
    columns: dict[str, Any]  # that are there beside the labels
    numbers: list[str]  # of the features, in text


def write(
    data: RankingData | Iterable[RankingData],
    path: str | os.PathLike[str],
    format: str | None = None,
) -> int:
    """Write data, or blocks of it one after the other, to one file; the number of rows.

    The format is "letor", "parquet" or "csv", or comes from the name; `.gz` and `.zst` compress
    text. The file appears under its name when all of it is there. LETOR text has no place for
    names and weights, and its sources go to a file `.labels` beside it; weights of queries go into
    those of rows. No file has a place for preferences.

    >>> import tempfile, pathlib
    >>> from rankforce.data.ranking_data import RankingData
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "small.txt")
    ...     rows = write(RankingData([[0.1, 2]], [1], qid=[7], doc_ids=["a"]), path)
    ...     rows, path.read_text()
    (1, '1 qid:7 1:0.1 2:2 # docid = a\\n')
    """
    target = Path(path)
    kind, codec = find_target(target, format)
    if not target.parent.is_dir() or target.is_dir():
        raise RankforceError(f"{target}: expected the name of a file in a folder that exists")
    blocks: Iterator[Any] = iter([data] if hasattr(data, "features") else data)
    with contextlib.ExitStack() as stack:
        if kind == "letor":
            blocks = _with_labels(blocks, target, stack)
        part = stack.enter_context(whole_file(target))
        stream = stack.enter_context(_open(part, codec))
        return _WRITERS[kind](blocks, stream)


def _with_labels(
    blocks: Iterator[RankingData], target: Path, stack: contextlib.ExitStack
) -> Iterator[RankingData]:
    """The blocks; their sources go to the file of labels beside the target, if they have some."""
    first = next(blocks, None)
    if first is None:
        return blocks
    check_writable(first.sources)
    stream = None
    if first.sources:
        place = labels_place(target)
        part = stack.enter_context(whole_file(place))
        stream = stack.enter_context(_open(part, place.suffix))
        stream.write(("\t".join(first.sources) + "\n").encode())
    elif other := find_labels(target):
        raise RankforceError(
            f"{other} would be read with {target}, which has no sources: move it away, or choose "
            "another target"
        )
    return _label_writer(itertools.chain([first], blocks), list(first.sources), stream)


def _label_writer(
    blocks: Iterator[RankingData], names: list[str], stream: Any
) -> Iterator[RankingData]:
    before = 0
    for data in blocks:
        if list(data.sources) != names:
            raise RankforceError(f"the block from row {before} has other sources than the first")
        if stream is not None:
            stream.write(label_lines(data))
        yield data
        before += data.rows


def find_target(target: Path, format: str | None) -> tuple[str, str]:
    """The format and the compression that a name asks for."""
    codec = target.suffix if target.suffix in (".gz", ".zst") else ""
    name = Path(target.stem) if codec else target
    kind = ENDINGS.get(name.suffix.lower(), "") if format is None else format
    if kind not in FORMATS:
        asked = f"format {format!r}" if format else f"{target}: the format of that name"
        raise RankforceError(f"{asked} is unknown: choose one of {', '.join(FORMATS)}")
    if codec and kind == "parquet":
        raise RankforceError(
            f"{target}: Parquet is compressed inside: expected a name without {codec}"
        )
    return kind, codec


@contextlib.contextmanager
def _open(part: Path, codec: str) -> Iterator[Any]:
    with open(part, "wb") as file:
        if codec == ".gz":
            # No time in the header: the same data makes the same bytes.
            with gzip.GzipFile("", "wb", GZIP_LEVEL, file, mtime=0) as stream:
                yield stream
        elif codec == ".zst":
            pa: Any = importlib.import_module("pyarrow")
            with pa.CompressedOutputStream(file, "zstd") as stream:
                yield stream
        else:
            yield file


def _slices(blocks: Iterator[RankingData], values: int) -> Iterator[tuple[RankingData, Rows]]:
    """Blocks cut into rows of about that many values, and the block that each comes from."""
    names: list[str] | None = None
    before = 0
    for data in blocks:
        if names is not None and names != data.feature_names:
            raise RankforceError(f"the block from row {before} has other features than the first")
        names = data.feature_names
        step = max(values // max(len(names), 1), 1)
        for start, features in pieces(data.features, step):
            rows = slice(start, start + features.shape[0])
            yield data, _cut(data, features, rows, before + start)
        before += data.rows
    if names is None:
        raise RankforceError("there is no block to write: expected one or more")


def _cut(data: RankingData, features: Any, rows: slice, first: int) -> Rows:
    return Rows(
        first,
        features,
        data.labels[rows],
        data.qid[rows],
        None if data.doc_ids is None else data.doc_ids[rows],
        cut_columns(data.beside | {"weight": data.row_weight}, rows, slice(0)),
        data.feature_names
        if kind_of(data.feature_names) == "number"
        else numbers_from(1, len(data.feature_names)),
    )


def _write_letor(blocks: Iterator[RankingData], stream: Any) -> int:
    """Two threads make lines (Arrow lets go of Python's lock), this one writes them in order."""
    count = 0
    waiting: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(2) as pool:
        for _, rows in _slices(blocks, SLICE_VALUES):
            waiting.append(pool.submit(_lines, rows))
            count += len(rows.labels)
            if len(waiting) > 2:
                stream.write(waiting.popleft().result())
        for future in waiting:
            stream.write(future.result())
    return count


def _lines(rows: Rows) -> Any:
    """The lines of some rows as one buffer: `label qid:ID index:value ... # docid = ID`."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    values, columns, ends = _entries(rows)
    prefixes = pa.array([f" {number}:" for number in rows.numbers], pa.string())
    tokens = pc.binary_join_element_wise(
        prefixes.take(pa.array(columns)), pa.array(values).cast(pa.string()), ""
    )
    lines = pc.binary_join_element_wise(
        pa.array(rows.labels).cast(pa.string()),
        " qid:",
        _check_words(rows, pc),
        pc.binary_join(pa.ListArray.from_arrays(pa.array(ends), tokens), ""),
        _comments(rows, pa, pc),
        "\n",
        "",
    )
    offsets = np.frombuffer(lines.buffers()[1], np.int32, count=len(lines) + 1)
    return lines.buffers()[2].slice(int(offsets[0]), int(offsets[-1] - offsets[0]))


def _entries(rows: Rows) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int32]]:
    """Values, their columns, and where each row ends."""
    values, columns, ends = entries(rows.features)
    count, width = rows.features.shape
    if rows.first == 0 and count and width and (ends[1] == 0 or columns[ends[1] - 1] != width - 1):
        # A reader takes the number of columns from the last index that it meets.
        values = np.insert(values, ends[1], 0)
        columns = np.insert(columns, ends[1], width - 1)
        ends[1:] += 1
    return values, columns, ends


def _check_words(rows: Rows, pc: Any) -> Any:
    """Query ids as text, all of them fit to stand as one word."""
    ids = _query_ids(rows.qid)
    if rows.qid.dtype.kind in "iu":
        return ids.cast("string")
    ids = ids.cast("string")
    wrong = pc.match_substring_regex(ids, r"[\s#\x00]|^$")
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        where = f"qid of row {rows.first + row} is {ids[row].as_py()!r}"
        raise RankforceError(f"{where}: LETOR text has no place for blanks and '#' in it")
    return ids


def _comments(rows: Rows, pa: Any, pc: Any) -> Any:
    """The end of each line: ` # docid = ID`, or ` # ID` where blanks are in it."""
    if rows.doc_ids is None:
        return pa.scalar("")
    ids = _texts(rows.doc_ids)
    has_blank = pc.match_substring_regex(ids, r"[ \t]")
    wrong = pc.or_(
        pc.match_substring_regex(ids, r"[\r\n\x00]|^[ \t]|[ \t]$"),
        pc.and_(has_blank, pc.match_substring_regex(ids, r"(^|[ \t])docid[ \t]*=")),
    )
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        where = f"document id of row {rows.first + row} is {ids[row].as_py()!r}"
        raise RankforceError(f"{where}: LETOR text has no place for line ends or blanks around it")
    before = pc.if_else(has_blank, " # ", " # docid = ")
    return pc.if_else(pc.equal(ids, ""), "", pc.binary_join_element_wise(before, ids, ""))


def _texts(values: NDArray[Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    return pa.array(["" if value is None else str(value) for value in values], pa.string())


def _query_ids(values: NDArray[Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    return pa.array(values) if values.dtype.kind in "iuf" else _texts(values)


def _write_parquet(blocks: Iterator[RankingData], stream: Any) -> int:
    pq: Any = importlib.import_module("pyarrow.parquet")
    return _write_tables(
        _slices(blocks, GROUP_VALUES),
        lambda schema: pq.ParquetWriter(stream, schema, compression="zstd"),
        is_strict=False,
    )


def _write_csv(blocks: Iterator[RankingData], stream: Any) -> int:
    csv: Any = importlib.import_module("pyarrow.csv")
    return _write_tables(
        _slices(blocks, SLICE_VALUES), lambda schema: csv.CSVWriter(stream, schema), is_strict=True
    )


def _write_tables(
    slices: Iterator[tuple[RankingData, Rows]],
    open_writer: Callable[[Any], Any],
    *,
    is_strict: bool,
) -> int:
    count, names, schema = 0, dict[str, Any](), None
    with contextlib.ExitStack() as stack:
        for data, rows in slices:
            if schema is None:
                names = _names(data, is_strict=is_strict)
                table = _table(rows, names)
                schema = table.schema.with_metadata({METADATA: json.dumps(names, default=str)})
                writer = stack.enter_context(open_writer(schema))
            else:
                table = _table(rows, names)
            if table.schema.names != schema.names:
                raise RankforceError(
                    f"the block of row {rows.first} has other columns than the first"
                )
            writer.write_table(table.cast(schema))
            count += len(rows.labels)
    return count


def _names(data: RankingData, *, is_strict: bool) -> dict[str, Any]:
    """Which column is what, for `columnar.Roles`; a strict format has the usual names only."""
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
        "label": free(label_column(data, "csv" if is_strict else "parquet")),
        "label_name": data.label_name,
        "qid": free("qid"),
        "doc_id": None if data.doc_ids is None else free("doc_id"),
        "weight": None if data.row_weight is None else free("weight"),
        "sources": {name: free(name) for name in data.sources},
        # A reader of CSV would take them for features.
        "beside": {} if is_strict else {name: free(name) for name in beside(data)},
        "features": data.feature_names,
        "categorical": data.categorical,
        "categories": {str(column): values for column, values in data.categories.items()},
        "renumbered": data.renumbered,
        "has_labels": data.has_labels,
    }


def beside(data: RankingData) -> list[str]:
    """Columns of rows that have no usual name in files."""
    return [name for name in OF_ROWS if data.beside[name] is not None]


def label_column(data: RankingData, kind: str) -> str:
    """What the label is called in a file of that format.

    In CSV it keeps its name only where a reader finds it by that: no other column becomes the label
    when the names are left to the reader.
    """
    if kind == "letor":
        return TEXT_LABEL
    is_free = "label" not in (*data.feature_names, *data.sources)
    if kind == "csv" and is_free and not is_found(data.label_name, data):
        return "label"
    return data.label_name


def is_found(name: str, data: RankingData) -> bool:
    """Whether a reader of CSV takes the column of that name for the label without being told."""
    return usual_column([name, *data.sources, *data.feature_names], "label") == name


def _table(rows: Rows, names: dict[str, Any]) -> Any:
    pa: Any = importlib.import_module("pyarrow")
    columns = {names["label"]: pa.array(rows.labels), names["qid"]: _query_ids(rows.qid)}
    if rows.doc_ids is not None:
        columns[names["doc_id"]] = _texts(rows.doc_ids)
    for name, column in {"weight": names["weight"], **names["beside"]}.items():
        if name in rows.columns:
            columns[column] = pa.array(rows.columns[name])
    for name, values in rows.columns["sources"].items():
        columns[names["sources"].get(name, name)] = pa.array(values)
    by_column = np.ascontiguousarray(to_dense(rows.features).T)
    for name, values in zip(names["features"], by_column, strict=True):
        columns[name] = pa.array(values)
    return pa.table(columns)


_WRITERS: dict[str, Callable[[Iterator[Any], Any], int]] = {
    "letor": _write_letor,
    "parquet": _write_parquet,
    "csv": _write_csv,
}
