"""The format LETOR: lines `label qid:ID index:value ... # docid`, and the files beside them.

Features are called by their numbers. Text without `qid:` takes the sizes of its queries from a file
of the same name with `.query` or `.group` behind it, weights from `.weight`, further label columns
from `.labels`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import re
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.pool import Task, open_pool
from rankforce.common.types import Ints
from rankforce.data.precision import Precision
from rankforce.data.queries import index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import kind_of, numbers_from, some_names
from rankforce.data.shards import Shard
from rankforce.data.sources import Blocks, entries
from rankforce.formats.keep import Kept, check_sizes, join
from rankforce.formats.labels import (
    TEXT_LABEL,
    check_writable,
    choose_labels,
    find_labels,
    label_lines,
    labels_place,
    read_labels,
)
from rankforce.formats.letor_text import (
    Shape,
    TextFile,
    find_shape,
    read_beside,
    read_blocks,
    read_text,
)
from rankforce.formats.lines import estimate_rows, read_numbers
from rankforce.formats.registry import Seen
from rankforce.formats.roles import Asked, NoRowsError
from rankforce.formats.streams import first_bytes, open_output, split_packing
from rankforce.formats.write import Rows, id_array, lost_in_text, slices, text_array
from rankforce.kernels import text as kernels

KNOWN = {"label", "qid", "categorical", "ignore"}  # roles that also a line of text knows
SLICE_VALUES = 1 << 20  # written at a time
LOOKED_AT = 1 << 16  # bytes that tell about how wide a file is


class Beside(NamedTuple):
    """What the files beside a text file say of its rows."""

    sizes: NDArray[np.float64] | None  # of queries; None where lines have their ids
    weight: NDArray[np.float64] | None
    labels: dict[str, NDArray[np.float64]]


def read(path: Path, asked: Asked) -> RankingData:
    """Read LETOR or SVMlight text, with the files beside it.

    >>> import tempfile
    >>> name = Path(tempfile.mkdtemp()) / "small.txt"
    >>> _ = name.write_text("qid:7 3:0.5\\nqid:7 1:2\\n")
    >>> data = read(name, Asked(has_labels=None, n_features=4))
    >>> data.feature_names, data.has_labels
    (['1', '2', '3', '4'], False)
    """
    _check_roles(path, asked)
    file = read_text(path, needs_labels=asked.has_labels is True)
    beside = _read_beside(path, asked, len(file.labels), has_qid=file.qid is not None)
    return _as_data(path, file, beside, asked)


def stream(path: Path, asked: Asked, seen: Seen) -> Generator[RankingData, None, None]:
    """Blocks of a text file, as `read` would have all of it; the file is gone through twice."""
    _check_roles(path, asked)
    shape = find_shape(path, seen=functools.partial(seen, f"checking {path.name}"))
    beside = _read_beside(path, asked, shape.rows, has_qid=shape.mode != kernels.NO_QID)
    ends = None if beside.sizes is None else _ends_of_queries(path, beside.sizes, shape.rows)
    first = 0
    for file in read_blocks(path, shape, seen=functools.partial(seen, "converting")):
        end = first + len(file.labels)
        if ends is not None:
            file = file._replace(qid=np.searchsorted(ends, np.arange(first, end), side="right"))
        yield _as_data(path, file, beside, asked, slice(first, end))
        first = end


def keep(shards: Sequence[Shard], asked: Asked, place: str) -> RankingData:
    """The rows of text files; features are parsed when they are needed."""
    _check_roles(Path(place), asked)
    check_sizes(shards)
    read = [one for shard in shards if (one := _look(shard, asked)) is not None]
    base = min((one.shape.base for one in read), default=1)
    columns = max((one.shape.base + one.shape.columns for one in read), default=base) - base
    found = [
        Kept(one.data, TextPart(one.shard, one.shape._replace(base=base, columns=columns), asked))
        for one in read
    ]
    blank = TextFile(np.empty((0, columns), np.float32), np.empty(0), None, None, base)
    names = _features(Path(place), blank, asked)[1]
    large = Precision()
    for one in read:
        one.large.move(one.shape.base - base)
        large.add(one.large)
    large.say(numbers_from(base, columns), place=f"{place}: ")
    data = join(
        place,
        shards,
        found,
        names=names,
        checks_queries=asked.has_queries is True,
        categorical=asked.categorical or None,
    )
    data.is_text = True
    return data


class Looked(NamedTuple):
    """What a first pass over a text file found."""

    shard: Shard
    shape: Shape
    data: RankingData
    large: Precision


def _look(shard: Shard, asked: Asked) -> Looked | None:
    """All of a file but its features; None if it has no rows."""
    path = shard.path
    try:
        shape, file, large = read_beside(
            path, needs_labels=asked.has_labels is True, has_documents=asked.has_documents
        )
    except NoRowsError:
        return None
    beside = _read_beside(path, asked, shape.rows, has_qid=file.qid is not None)
    data = _as_data(path, file, beside, asked._replace(n_features=None, ignore=(), categorical=()))
    return Looked(shard, shape, data, large)


class TextPart(NamedTuple):
    """The features of a text file."""

    shard: Shard
    shape: Shape
    asked: Asked

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return self.shape.rows

    def blocks(self, wanted: Ints | None = None) -> Blocks:
        """Blocks of lines, parsed."""
        first = 0
        for file in read_blocks(self.shard.path, self.shape, seen=lambda share: None):
            block = np.ascontiguousarray(_features(self.shard.path, file, self.asked)[0])
            yield first, block
            first += len(block)
            if wanted is not None and first > wanted[-1]:
                return


def estimate(path: Path) -> tuple[int, int]:
    """About the rows and features of a text file, as the first lines have it."""
    numbers = re.findall(rb"[ \t](\d{1,8}):", first_bytes(path, LOOKED_AT))
    return estimate_rows(path), max(map(int, numbers), default=0)


def _ends_of_queries(path: Path, sizes: NDArray[np.float64], rows: int) -> NDArray[np.int64]:
    """The row behind each query."""
    try:
        return index_queries(rows, group=sizes).pointer[1:]
    except ValueError as error:
        raise RankforceError(f"{path}: {error}") from None


def _as_data(
    path: Path, file: TextFile, beside: Beside, asked: Asked, rows: slice | None = None
) -> RankingData:
    """Lines of a file, all or those of `rows`, with what stands beside them."""
    place = f"{path} and the files beside it" if rows is None else f"{path}"
    part = slice(None) if rows is None else rows
    columns = {name: values[part] for name, values in beside.labels.items()}
    chosen = choose_labels(path, file.labels, columns, asked.labels)
    has_labels = asked.has_labels is not False and (file.has_labels or asked.labels is not None)
    features, names = _features(path, file, asked)
    try:
        data = RankingData(
            features,
            chosen.values if has_labels else None,
            qid=file.qid,
            group=beside.sizes if file.qid is None else None,
            weight=None if beside.weight is None else beside.weight[part],
            doc_ids=file.doc_ids,
            label_name=chosen.name,
            sources=chosen.sources,
            feature_names=names,
            categorical=asked.categorical or None,
        )
    except ValueError as error:
        raise RankforceError(f"{place}: {error}") from None
    data.is_text = True
    return data


def _check_roles(path: Path, asked: Asked) -> None:
    """Refuse names of columns that text does not have."""
    given = {key for key in Asked._fields[:8] if getattr(asked, key)} - KNOWN | {*asked.beside}
    if given:
        names = ", ".join(sorted(given))
        raise RankforceError(f"{path} is text, which has no named columns: leave out {names}")


def _features(path: Path, file: TextFile, asked: Asked) -> tuple[Any, list[str]]:
    """The matrix of a text file, as wide as it is said to be, and the numbers of its features."""
    features, wanted = file.features, asked.n_features
    wide = features.shape[1]
    if wanted is not None:
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
            raise RankforceError(f"n_features is {wanted!r}: it must be an integer from 1 up")
        if wide > wanted:
            raise RankforceError(f"{path} has {wide} features, but n_features is {wanted}")
        features = np.pad(features, ((0, 0), (0, wanted - wide)))
    names = numbers_from(file.base, features.shape[1])
    unknown = [name for name in asked.ignore if name not in names]
    if unknown:
        raise RankforceError(
            f"{path}: ignore names {some_names(unknown)}: it has {some_names(names)}"
        )
    kept = [number for number, name in enumerate(names) if name not in asked.ignore]
    if len(kept) < len(names):
        features, names = features[:, kept], [names[number] for number in kept]
    return features, names


def _read_beside(path: Path, asked: Asked, rows: int, *, has_qid: bool) -> Beside:
    sizes = None if has_qid else _numbers_beside(path, ".query", ".group")
    if sizes is None and not has_qid:
        if asked.has_queries is True:
            raise RankforceError(
                f"{path} has no qid: and there is no {path.name}.query beside it: "
                "which rows belong to one query?"
            )
        sizes = np.array([float(rows)])
    weight = _numbers_beside(path, ".weight")
    if weight is not None and len(weight) != rows:
        raise RankforceError(f"{path}.weight has {len(weight)} lines, {path} has {rows} rows")
    place = find_labels(path)
    return Beside(sizes, weight, {} if place is None else read_labels(place, rows))


def _numbers_beside(path: Path, *endings: str) -> NDArray[np.float64] | None:
    """Numbers, one a line, of a file with one more ending; the packing's may be left out."""
    for name in dict.fromkeys((path.name, split_packing(path.name)[0])):
        for ending in endings:
            beside = path.with_name(name + ending)
            if beside.is_file():
                return read_numbers(beside)
    return None


def write(blocks: Iterator[RankingData], path: Path) -> int:
    """Write lines; sources go to the file of labels beside them.

    Two threads make lines (Arrow lets go of Python's lock), this one writes them in order.
    """
    count = 0
    waiting: deque[Task[Any]] = deque()
    with contextlib.ExitStack() as stack:
        blocks = _with_labels(blocks, path, stack)
        stream = stack.enter_context(open_output(path))
        pool = stack.enter_context(open_pool(2))
        for data, rows in slices(blocks, SLICE_VALUES):
            waiting.append(pool.submit(_lines, rows, _numbers(data)))
            count += len(rows.labels)
            if len(waiting) > 2:
                stream.write(waiting.popleft().result())
        for task in waiting:
            stream.write(task.result())
    return count


def lost(data: RankingData, path: Path) -> list[str]:
    """What lines of text do not say."""
    return lost_in_text(
        "LETOR text",
        data,
        label=TEXT_LABEL,
        sources=f"sources are beside it, in {labels_place(path).name}",
        feature_names=kind_of(data.feature_names) == "name",
        weights=data.row_weight is not None,
    )


def _numbers(data: RankingData) -> list[str]:
    names = data.feature_names
    return names if kind_of(names) == "number" else numbers_from(1, len(names))


def _with_labels(
    blocks: Iterator[RankingData], target: Path, stack: contextlib.ExitStack
) -> Iterator[RankingData]:
    """The blocks; their sources go to the file of labels beside the target, if they have some."""
    first = next(blocks, None)
    if first is None:
        return blocks
    names = list(first.sources)
    check_writable(names)
    stream: Any = None
    if names:
        stream = stack.enter_context(open_output(labels_place(target)))
        stream.write(("\t".join(names) + "\n").encode())
    elif other := find_labels(target):
        raise RankforceError(
            f"{other} would be read with {target}, which has no sources: move it away, or choose "
            "another target"
        )

    def written() -> Iterator[RankingData]:
        before = 0
        for data in itertools.chain([first], blocks):
            if list(data.sources) != names:
                raise RankforceError(
                    f"the block from row {before} has other sources than the first"
                )
            if stream is not None:
                stream.write(label_lines(data))
            yield data
            before += data.rows

    return written()


def _lines(rows: Rows, numbers: list[str]) -> Any:
    """The lines of some rows as one buffer: `label qid:ID index:value ... # docid = ID`."""
    pa: Any = importlib.import_module("pyarrow")
    pc: Any = importlib.import_module("pyarrow.compute")
    values, columns, ends = _entries(rows)
    prefixes = pa.array([f" {number}:" for number in numbers], pa.string())
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
    ids = id_array(rows.qid)
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
    ids = text_array(rows.doc_ids)
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
