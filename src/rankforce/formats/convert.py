"""Turns a data file into another format, a block of rows at a time."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.live_line import Voice, clock
from rankforce.data.ranking_data import RankingData
from rankforce.data.shards import Shard
from rankforce.formats.folder import files_to_read
from rankforce.formats.read import DISK, make_asked, read
from rankforce.formats.registry import Format, format_to_write
from rankforce.formats.streams import PathLike, is_stream, local_file
from rankforce.formats.trec import write_qrels

NEEDS = ("label", "qid", "doc_id")  # of qrels
QRELS = "qrels"  # a target that is no format of data: it has the labels alone
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
    like: PathLike | None = None,
    **columns: Any,
) -> int:
    """Write the rows of a file, or of a folder of files, to another file; the number of rows.

    Formats are "letor", "parquet", "csv" and "bins", or come from the names; text may be compressed
    (.gz, .zst). No more than some blocks of rows are in memory at once. What the target has no
    place for is said in one line on standard error; the sources of text go to a file `.labels`
    beside it. The target is whole or, after an error, as it was. A target "qrels" has the labels
    alone, for tools of TREC. One of bins is for training on it again and again; `like` is another
    file of bins whose bins it is to have, for a set to validate on. `labels`, `n_features` and
    `columns` say what is in the source, as for `rf.read`; the labels need not be there.

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
    asked = asked._replace(labels=labels, n_features=n_features)
    told = {"labels": labels, "n_features": n_features, **columns}
    with local_file(source) as start:
        kind, files = files_to_read(start, source_format, is_new=is_stream(source))
        if target_format == QRELS or (target_format is None and f".{QRELS}" in place.suffixes):
            data = read(start, format=kind.name, keep=DISK, needs=NEEDS, **told)
            write_qrels(data, place)
            return data.rows
        to = format_to_write(place, target_format)
        if place.exists() and os.path.samefile(start, place):
            raise RankforceError(f"{place} is the file to read: expected another file to write")
        if start.is_dir() and start.resolve() == place.resolve().parent:
            raise RankforceError(
                f"{place} is in the folder to read, of which it would be a part: expected another "
                "folder"
            )
        bar = Bar(start, place, is_wanted=progress)
        if to.needs_all:
            data = read(start, format=kind.name, keep=DISK, needs=("qid",), **told)
            for lost in to.lost(data, place):
                bar.say(f"{place}: {lost}")
            rows = to.write_set(data, place, None if like is None else read(like, needs=()))
            bar.finish(rows)
            return rows
        if like is not None:
            raise RankforceError(f"like={str(like)!r} goes with a target of bins: leave it out")
        with contextlib.ExitStack() as stack:
            stack.callback(bar.clear)
            if files == [start]:
                blocks = kind.stream(start, asked, bar.seen)
            else:
                blocks = _of_folder(kind.keep([Shard.of(f) for f in files], asked, str(start)), bar)
            blocks = stack.enter_context(contextlib.closing(blocks))
            blocks = _watched(blocks, start, place, to, bar)
            rows = to.write(stack.enter_context(contextlib.closing(blocks)), place)
    bar.finish(rows)
    return rows


def _of_folder(data: RankingData, bar: Bar) -> Generator[RankingData, None, None]:
    """The blocks of data whose features stay in several files."""
    done = 0
    for block in data.blocks():
        yield block
        done += block.rows
        bar.seen("converting", done / data.rows)


def _watched(
    blocks: Iterator[RankingData], source: Path, target: Path, to: Format, bar: Bar
) -> Generator[RankingData, None, None]:
    """The blocks; at the first, a line on what the target cannot hold.

    In an error about a block the number of the row becomes that of the file; for a folder it is
    that of a shard already.
    """
    done, is_file = 0, source.is_file()
    try:
        for data in blocks:
            if done == 0 and (lost := to.lost(data, target)):
                bar.say(f"{target}: {'; '.join(lost)}")
            yield data
            done += data.rows
    except ValueError as error:
        head, place, text = str(error).rpartition(str(source))
        if is_file:
            text = ROW.sub(lambda match: match[1] + str(done + int(match[2])), text, count=1)
        raise RankforceError(head + place + text) from error


class Bar:
    """What a conversion says on standard error: a live line in a terminal, and one at the end."""

    def __init__(self, source: Path, target: Path, *, is_wanted: bool) -> None:
        self._voice = Voice(is_wanted)
        self._source, self._target = source, target
        files = list(source.iterdir()) if source.is_dir() else [source]
        self._megabytes = sum(file.stat().st_size for file in files) / 1e6
        self._start = self._last = 0.0
        self._what = ""

    def seen(self, what: str, share: float) -> None:
        """This share of the file has been read; another word for it is another pass."""
        if what != self._what:
            self._what, self._start = what, self._last
        self._last = self._voice.seconds
        if self._voice.is_live:
            seconds = self._last - self._start
            self._voice.for_now(describe(what, share, self._megabytes, seconds))

    def say(self, text: str) -> None:
        """One line that stays, whether a bar is wanted or not."""
        self.clear()
        print(text, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the live line away."""
        self._voice.clear()

    def finish(self, rows: int) -> None:
        """The file is there."""
        seconds = self._voice.seconds
        speed = self._megabytes / max(seconds, 1e-9)
        self._voice.say(
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
