"""The formats of data files. A new one is a file of its own, and a line in `FORMATS`.

The file has `read(path, asked)`, which gives the data, and `write(blocks, path)`, which writes them
and gives the number of rows; where there is more to say, also `stream(path, asked, seen)`, which
yields blocks of rows, `keep(shards, asked, place)`, which gives data whose features stay in their
files, `estimate(path)`, about how many rows and columns a file has, `write_set(data, path, like)`
where all rows decide how one is written, and `lost(data, path)`, what such a file has no place for.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.formats.streams import first_bytes, split_packing

if TYPE_CHECKING:
    from rankforce.data.ranking_data import RankingData
    from rankforce.data.shards import Shard
    from rankforce.formats.roles import Asked

Seen = Callable[[str, float], None]  # is told what is done, and the share of the file it has seen

ANY_NAME, ANY_TEXT = "letor", "csv"  # where a name, where the first line says nothing


@dataclass(frozen=True)
class Format:
    """One format: what it is called, how its files are known, and where its code is."""

    name: str
    title: str  # in a sentence
    endings: tuple[str, ...]  # of names; the first is the usual one
    home: str  # the module that reads and writes it, loaded when it is used
    also_read: tuple[str, ...] = ()  # endings of files that are read, and not written
    sign: bytes | None = None  # a pattern that the first line of such a file has
    is_packed: bool = False  # inside: .gz and .zst have no place behind its name
    is_folder: bool = False

    def read(self, path: Path, asked: Asked) -> RankingData:
        """All of a file."""
        data: RankingData = self._code.read(path, asked)
        return data

    def stream(self, path: Path, asked: Asked, seen: Seen) -> Generator[RankingData, None, None]:
        """A file in blocks of rows, one after the other; the whole of it if it has no parts."""
        if hasattr(self._code, "stream"):
            yield from self._code.stream(path, asked, seen)
        else:
            yield self.read(path, asked)

    @property
    def can_keep(self) -> bool:
        """Whether features can stay in such files."""
        return hasattr(self._code, "keep")

    def keep(self, shards: Sequence[Shard], asked: Asked, place: str) -> RankingData:
        """The rows of one or several files, called `place`, whose features stay there."""
        data: RankingData = self._code.keep(shards, asked, place)
        return data

    def estimate(self, path: Path) -> tuple[int, int]:
        """About how many rows and columns a file has, without reading all of it."""
        rows, columns = self._code.estimate(path)
        return int(rows), int(columns)

    def write(self, blocks: Iterator[RankingData], path: Path) -> int:
        """Write blocks of rows to one file; the number of rows."""
        return int(self._code.write(blocks, path))

    @property
    def needs_all(self) -> bool:
        """Whether it is written from a whole set, whose features may stay where they are."""
        return hasattr(self._code, "write_set")

    def write_set(self, data: RankingData, path: Path, like: RankingData | None = None) -> int:
        """Write a whole set, in the way of another one if it is given; the number of rows."""
        return int(self._code.write_set(data, path, like))

    def lost(self, data: RankingData, path: Path) -> list[str]:
        """What a file at `path` does not say of the data as it is, in short sentences."""
        lost = getattr(self._code, "lost", None)
        return lost(data, path) if lost else []

    @property
    def _code(self) -> Any:
        return importlib.import_module(self.home)


FORMATS = {
    one.name: one
    for one in (
        Format(
            *("letor", "LETOR/SVMlight text"),
            (".txt", ".letor", ".svm", ".svmlight", ".libsvm", ".dat"),
            "rankforce.formats.letor",
            sign=rb"^$|(?:^|\s)(?:qid|\d+):\S",
        ),
        Format(
            *("parquet", "Parquet", (".parquet", ".pq"), "rankforce.formats.parquet"),
            sign=rb"^PAR1",
            is_packed=True,
        ),
        Format("csv", "CSV", (".csv",), "rankforce.formats.csv_text", also_read=(".tsv",)),
        Format(
            *("bins", "bins", (".bins",), "rankforce.formats.bins"),
            sign=rb"^rankforce\.bins",
            is_packed=True,
        ),
    )
}


def all_titles() -> str:
    """The formats in a sentence.

    >>> all_titles()
    'LETOR/SVMlight text, Parquet, CSV or bins'
    """
    return _either([one.title for one in FORMATS.values()])


def _either(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def by_name(path: Path) -> Format:
    """The format that a file's name says.

    >>> by_name(Path("a.csv.gz")).name, by_name(Path("train")).name, by_name(Path("b.pq")).name
    ('csv', 'letor', 'parquet')
    """
    name = split_packing(path.name)[0].lower()
    found = (one for one in FORMATS.values() if name.endswith(one.endings + one.also_read))
    return next(found, FORMATS[ANY_NAME])


def by_content(path: Path) -> Format:
    """The format that the first line of a file shows."""
    lines = first_bytes(path).split(b"\n")
    first = next((line for line in lines if line.strip() and not line.startswith(b"#")), b"")
    signed = (one for one in FORMATS.values() if one.sign and re.search(one.sign, first))
    return next(signed, FORMATS[ANY_TEXT])


def check_format(format: str | None) -> None:
    """Refuse the name of a format that there is not."""
    if format is not None and format not in FORMATS:
        names = _either([repr(name) for name in FORMATS])
        raise RankforceError(f"unknown format {format!r}: choose {names}")


def format_to_read(path: Path, format: str | None, *, is_new: bool = False) -> Format:
    """The format of a file that is there; `is_new` says that its name tells nothing."""
    check_format(format)
    is_file = path.is_file()
    if not is_file and not path.is_dir():
        reason = "it is no plain file" if path.exists() else "there is no such file"
        raise RankforceError(f"cannot read {path}: {reason}")
    kind = FORMATS[format] if format else by_content(path) if is_new else by_name(path)
    if kind.is_folder == is_file:
        reason = f"{kind.title} is a folder" if is_file else "it is a folder"
        raise RankforceError(f"cannot read {path}: {reason}")
    return kind


def format_to_write(path: Path, format: str | None) -> Format:
    """The format that a new file of this name will have."""
    bare, packing = split_packing(path.name)
    ending = Path(bare).suffix.lower()
    name = format or next((one.name for one in FORMATS.values() if ending in one.endings), None)
    if name not in FORMATS:
        asked = f"format {format!r}" if format else f"{path}: the format of that name"
        raise RankforceError(f"{asked} is unknown: choose one of {', '.join(FORMATS)}")
    if packing and FORMATS[name].is_packed:
        title = FORMATS[name].title
        raise RankforceError(
            f"{path}: {title} is compressed inside: expected a name without {packing}"
        )
    return FORMATS[name]
