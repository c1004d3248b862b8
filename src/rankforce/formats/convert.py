"""Turns a data file into another format, a block of rows at a time."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import LiveLine, clock
from rankforce.data.columns import join_columns
from rankforce.data.queries import index_queries
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import kind_of
from rankforce.formats import columnar
from rankforce.formats import write as writer
from rankforce.formats.gather import are_whole, gather, survey
from rankforce.formats.labels import labels_beside, labels_place
from rankforce.formats.letor_blocks import Shape, find_shape, read_blocks
from rankforce.formats.open import MAGIC, is_stream, local_file
from rankforce.formats.read import (
    check_format,
    check_text_roles,
    make_asked,
    read,
    read_beside,
    read_weights,
    text_features,
    with_labels,
)
from rankforce.formats.roles import Asked, wanted
from rankforce.formats.trec import write_qrels

PathLike = str | os.PathLike[str]

DRAW_EVERY = 0.1  # seconds between two redraws of the bar
NAMES = {"letor": "LETOR text", "csv": "CSV"}
ROW = re.compile(r"(\brow |\bweight\[)(\d+)")  # in a message


def convert(
    source: PathLike,
    target: PathLike,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    progress: bool = False,
    labels: str | Sequence[str] | None = None,
    n_features: int | None = None,
    **columns: Any,
) -> int:
    """Write the rows of a data file to another file, in another format; the number of rows.

    Formats are "letor", "parquet" and "csv", or come from the names; text may be compressed (.gz,
    .zst). No more than some blocks of rows are in memory at once. What the target has no place for
    is said in one line on standard error; the sources of text go to a file `.labels` beside it. The
    target is whole or, after an error, as it was. A target "qrels" has the labels alone, for tools
    of TREC. `labels`, `n_features` and `columns` say what is in the source, as for `rf.read`; the
    labels need not be there.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "a.txt").write_text("2 qid:7 1:0.5 # docid = D1\\n0 qid:7 2:3\\n")
    >>> convert(folder / "a.txt", folder / "a.csv")
    2
    >>> print((folder / "a.csv").read_text().replace('"', ""), end="")
    label,qid,doc_id,1,2
    2,7,D1,0.5,0
    0,7,,0,3
    """
    place = Path(target)
    asked = make_asked(columns, needs=("qid",))
    asked = asked._replace(**with_labels(asked, labels))
    with local_file(source) as start:
        kind = check_format(start, source_format, is_new=is_stream(source))
        if target_format == "qrels" or (target_format is None and ".qrels" in place.suffixes):
            data = read(start, format=kind, labels=labels, n_features=n_features, **columns)
            write_qrels(data, place)
            return data.rows
        to, _ = writer.find_target(place, target_format)
        if place.exists() and os.path.samefile(start, place):
            raise RankforceError(f"{place} is the file to read: expected another file to write")
        return _convert(start, kind, place, to, asked, n_features, progress)


def _convert(
    start: Path,
    kind: str,
    place: Path,
    to: str,
    asked: Asked,
    n_features: int | None,
    progress: bool,
) -> int:
    bar = Bar(start, place, is_wanted=progress)
    with contextlib.ExitStack() as stack:
        stack.callback(bar.clear)
        made = _letor_blocks(start, bar, asked, n_features)
        if kind != "letor":
            made = (_parquet_blocks if kind == "parquet" else _csv_blocks)(start, bar, asked)
        blocks = stack.enter_context(contextlib.closing(made))
        blocks = stack.enter_context(contextlib.closing(_noted(blocks, to, place, bar)))
        if to == "parquet":
            blocks = stack.enter_context(contextlib.closing(_merged(blocks, writer.GROUP_VALUES)))
        rows = writer.write(blocks, place, to)
    bar.finish(rows)
    return rows


class Bar:
    """What a conversion says on standard error: a live line in a terminal, and one at the end."""

    def __init__(
        self, source: Path, target: Path, *, is_wanted: bool, stream: TextIO | None = None
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_wanted = is_wanted
        self._is_live = is_wanted and self._stream.isatty()
        self._source, self._target = source, target
        self._megabytes = source.stat().st_size / 1e6
        self._begin = self._start = self._shown = time.monotonic()
        self._what = ""
        self._line = LiveLine(self._stream)

    def start(self, what: str) -> None:
        """Another pass over the file begins."""
        self._what = what
        self._start = time.monotonic()

    def seen(self, share: float) -> None:
        """This share of the file has been read in this pass."""
        now = time.monotonic()
        if not self._is_live or now - self._shown < DRAW_EVERY:
            return
        self._shown = now
        self._line.draw(describe(self._what, share, self._megabytes, now - self._start))

    def say(self, text: str) -> None:
        """One line that stays, whether a bar is wanted or not."""
        self.clear()
        print(text, file=self._stream, flush=True)

    def clear(self) -> None:
        """Take the live line away."""
        self._line.clear()

    def finish(self, rows: int) -> None:
        """The file is there."""
        seconds = time.monotonic() - self._begin
        speed = self._megabytes / max(seconds, 1e-9)
        if self._is_wanted:
            self.say(
                f"{self._source} -> {self._target}: {rows} rows, {self._megabytes:.1f} MB read "
                f"in {clock(round(seconds))} ({speed:.1f} MB/s)"
            )


def describe(what: str, share: float, megabytes: float, seconds: float) -> str:
    """One line: what is done, how much of the file, speed, time left.

    >>> describe("writing b.csv", 0.25, megabytes=200.0, seconds=10.0)
    'writing b.csv [#####---------------]  25%  5.0 MB/s  0:30 left'
    """
    full = int(share * 20)
    left = round(seconds * (1 - share) / max(share, 1e-9))
    speed = share * megabytes / max(seconds, 1e-9)
    drawing = "#" * full + "-" * (20 - full)
    return f"{what} [{drawing}] {share:4.0%}  {speed:.1f} MB/s  {clock(left)} left"


Blocks = Generator[RankingData, None, None]


def _letor_blocks(path: Path, bar: Bar, asked: Asked, n_features: int | None) -> Blocks:
    """Blocks of a text file, with the files beside it."""
    check_text_roles(path, asked)
    bar.start(f"checking {path.name}")
    shape = find_shape(path, seen=bar.seen)
    weight, sources = read_weights(path, shape.rows), labels_beside(path, shape.rows)
    ends = None if shape.has_qid else _ends_of_queries(path, shape)
    bar.start("converting")
    first = 0
    for file in read_blocks(path, shape, seen=bar.seen):
        end = first + len(file.labels)
        qid = file.qid
        if ends is not None:
            qid = np.searchsorted(ends, np.arange(first, end), side="right")
        features, names = text_features(path, file.features, shape.base, asked, n_features)
        with _counted_from(first, f"{path}: "):
            data = RankingData(
                features,
                file.labels if shape.has_labels and asked.has_labels is not False else None,
                qid=qid,
                weight=None if weight is None else weight[first:end],
                doc_ids=file.doc_ids,
                sources={name: values[first:end] for name, values in sources.items()},
                feature_names=names,
                categorical=asked.categorical or None,
            )
        data.is_text = True
        yield data
        first = end


def _ends_of_queries(path: Path, shape: Shape) -> Any:
    """The row behind each query, where the file beside the text has their sizes."""
    sizes = read_beside(path, (".query", ".group"))
    if sizes is None:
        raise RankforceError(
            f"{path} has no qid: and there is no {path.name}.query beside it: "
            "which rows belong to one query?"
        )
    with _counted_from(0, f"{path}: "):
        return index_queries(shape.rows, group=sizes).pointer[1:]


@contextlib.contextmanager
def _counted_from(first: int, place: str = "") -> Iterator[None]:
    """In an error about a block, make the number of the row that of the file."""
    try:
        yield
    except ValueError as error:
        text = ROW.sub(lambda match: match[1] + str(first + int(match[2])), str(error), count=1)
        raise RankforceError(place + text) from error


def _parquet_blocks(path: Path, bar: Bar, asked: Asked) -> Blocks:
    """Blocks of a Parquet file."""
    with columnar.open_parquet(path, asked) as columns:
        rows = max(columns.rows or 0, 1)
        yield from _column_blocks(path, columns, bar, lambda done: bar.seen(done / rows))


def _csv_blocks(path: Path, bar: Bar, asked: Asked) -> Blocks:
    """Blocks of a CSV file; whether all query ids are numbers is only known at its end."""
    file = _CountedFile()
    with columnar.open_csv(path, asked, open_stream=file.open) as columns:
        bar.start(f"checking {path.name}")
        is_whole, qid = True, columns.roles.qid
        for batch in columns.read([qid]) if qid is not None else ():
            is_whole = is_whole and are_whole(batch.column(qid).unique().to_pylist())
            bar.seen(file.share())
        yield from _column_blocks(
            path, columns, bar, lambda done: bar.seen(file.share()), is_whole=is_whole
        )


def _column_blocks(
    path: Path,
    columns: columnar.Columns,
    bar: Bar,
    seen: Callable[[int], None],
    *,
    is_whole: bool | None = None,
) -> Blocks:
    """Batches of columns as data; `seen` is told the rows so far."""
    roles = columns.roles
    # A writer asks for all values of categories at the start.
    bar.start(f"checking {path.name}")
    batches = columns.read(list(roles.coded)) if roles.coded else ()
    roles = survey(batches, roles, place=f"{path}: ")
    bar.start("converting")
    done = 0
    with contextlib.closing(columns.read(wanted(roles))) as batches:
        for batch in batches:
            if batch.num_rows == 0:
                continue
            with _counted_from(done):
                data = gather([batch], roles, batch.num_rows, is_part=True, is_whole=is_whole)
            yield data
            done += batch.num_rows
            seen(done)
    if done == 0:
        raise RankforceError("holds no rows: expected one or more")


class _CountedFile:
    """Text, compressed or not, and how much of its file has been read."""

    def __init__(self) -> None:
        self._raw: Any = None

    @contextlib.contextmanager
    def open(self, path: PathLike) -> Iterator[Any]:
        """The stream of the text, from its start."""
        pa: Any = importlib.import_module("pyarrow")
        with pa.OSFile(os.fspath(path)) as self._raw:
            head = self._raw.read(4)
            self._raw.seek(0)
            codec = next((codec for magic, codec in MAGIC.items() if head.startswith(magic)), None)
            if codec is None:
                yield self._raw
                return
            with pa.CompressedInputStream(self._raw, codec) as stream:
                yield stream

    def share(self) -> float:
        """The share that has been read, of the file as it is on the disk."""
        return float(self._raw.tell() / max(self._raw.size(), 1))


def _noted(blocks: Blocks, kind: str, target: Path, bar: Bar) -> Blocks:
    """The blocks; at the first, a line on what the target cannot hold."""
    for number, data in enumerate(blocks):
        if number == 0 and (lost := _lost(data, kind, target)):
            bar.say(f"{target}: {'; '.join(lost)}")
        yield data


def _lost(data: RankingData, kind: str, target: Path) -> list[str]:
    """What is not the same behind a writer of this format."""
    if kind == "parquet":
        return []
    lost = []
    has = {
        "feature names": kind == "letor" and kind_of(data.feature_names) == "name",
        "weights": kind == "letor" and data.row_weight is not None,
        ", ".join(writer.beside(data)): bool(writer.beside(data)),
        "the marks and names of categories": bool(data.categorical),
    }
    if any(has.values()):
        what = ", ".join(name for name, is_there in has.items() if is_there)
        lost.append(f"{NAMES[kind]} has no place for {what}: left out")
    name = writer.label_column(data, kind)
    if name != data.label_name:
        lost.append(f"the label {data.label_name!r} is called {name!r}")
    if data.sources and kind == "letor":
        lost.append(f"sources are beside it, in {labels_place(target).name}")
    elif data.sources:
        how = f"sources={list(data.sources)}"
        if not writer.is_found(name, data):
            how = f"labels={[name, *data.sources]}"
        lost.append(f"sources are plain columns: read with {how}")
    if not data.has_labels:
        lost.append("the source has no labels: 0 is written")
    return lost


def _merged(blocks: Blocks, values: int) -> Blocks:
    """Blocks of up to about that many values: each becomes a row group, and small ones are slow."""
    held: list[RankingData] = []
    rows = 0
    for data in blocks:
        if held and (rows + data.rows) * data.features.shape[1] > values:
            yield _joined(held)
            held, rows = [], 0
        held.append(data)
        rows += data.rows
    if held:
        yield _joined(held)


def _joined(parts: list[RankingData]) -> RankingData:
    """Blocks of one file as one."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return RankingData(
        np.concatenate([part.features for part in parts]),
        np.concatenate([part.labels for part in parts]) if first.has_labels else None,
        qid=np.concatenate([part.qid for part in parts]),
        doc_ids=None if first.doc_ids is None else np.concatenate([p.doc_ids for p in parts]),
        feature_names=first.feature_names,
        categorical=first.categorical,
        categories=first.categories,
        label_name=first.label_name,
        **join_columns([part.beside for part in parts]),
    )
