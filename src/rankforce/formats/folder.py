"""Which files of a folder are one data set: its shards, in the order of their names."""

from __future__ import annotations

import re
from pathlib import Path

from rankforce.common.errors import RankforceError
from rankforce.common.notes import note
from rankforce.data.schema import some_names
from rankforce.formats.registry import (
    FORMATS,
    Format,
    all_titles,
    by_name,
    check_format,
    format_to_read,
)
from rankforce.formats.streams import split_packing

HIDDEN = (".", "_")  # what Spark and Dask put beside their files: _SUCCESS, _metadata, .crc
BESIDE = (".query", ".group", ".weight", ".labels")  # that belong to a file of text
# The part of a data set that a file is, by its name: two of them are no shards of one.
PARTS = {"train": "train", "test": "test", "eval": "eval", "dev": "dev"} | dict.fromkeys(
    ("vali", "valid", "validation"), "valid"
)


def files_to_read(
    path: Path, format: str | None, *, is_new: bool = False
) -> tuple[Format, list[Path]]:
    """The format of a file, or of a folder's files, and all of these."""
    check_format(format)
    kind = FORMATS[format] if format else by_name(path)
    if path.is_dir() and not kind.is_folder:
        return find_shards(path, format)
    return format_to_read(path, format, is_new=is_new), [path]


def find_shards(folder: Path, format: str | None = None) -> tuple[Format, list[Path]]:
    """The format of a folder's files, and these: part.2 stands before part.10.

    Hidden files and those that begin with `_` are passed over, others of no known ending with a
    note. Names without an ending are text if there are no others.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("part.10.parquet", "part.2.parquet", "_SUCCESS"):
    ...     _ = (folder / name).write_text("PAR1")
    >>> kind, files = find_shards(folder)
    >>> kind.title, [file.name for file in files]
    ('Parquet', ['part.2.parquet', 'part.10.parquet'])
    """
    files = _visible(folder)
    by_kind: dict[str, list[Path]] = {}
    for file in files:
        if name := _kind(file):
            by_kind.setdefault(name, []).append(file)
    if not by_kind and (plain := [file for file in files if not _ending(file)]):
        by_kind = {"letor": plain}
    if format is not None:
        by_kind = {name: found for name, found in by_kind.items() if name == format}
    if len(by_kind) > 1:
        shown = " and ".join(repr(found[0].name) for found in by_kind.values())
        raise RankforceError(
            f"{folder} has files of several formats, {shown}: expected one, or "
            f"format={' or '.join(repr(name) for name in by_kind)} to choose"
        )
    if not by_kind:
        wanted = all_titles() if format is None else FORMATS[format].title
        has = f"it has {some_names(file.name for file in files)}" if files else "it is empty"
        raise RankforceError(f"{folder}: no file of {wanted}: {has}")
    (kind, found), *_ = by_kind.items()
    if not FORMATS[kind].can_keep:
        title = FORMATS[kind].title
        raise RankforceError(f"{folder}: a folder of {title} is no data set: name one file")
    _check_parts(folder, found)
    if others := [file.name for file in files if file not in found and not _is_beside(file, found)]:
        note(f"{folder}: {some_names(others)}: no {FORMATS[kind].title}, left out")
    return FORMATS[kind], found


def _visible(folder: Path) -> list[Path]:
    """What a folder has, in natural order; folders inside it are refused."""
    try:
        inside = sorted(folder.iterdir(), key=lambda file: (natural(file.name), file.name))
    except OSError as error:
        raise RankforceError(f"{folder} cannot be read: {error.strerror}") from None
    files = [file for file in inside if not file.name.startswith(HIDDEN)]
    for file in files:
        if not file.is_file():
            what = "a folder" if file.is_dir() else "no plain file"
            raise RankforceError(
                f"{folder}: {file.name!r} is {what}: expected files of one data set"
            )
    return files


def natural(name: str) -> list[str | int]:
    """A name for sorting, in which numbers count as such.

    >>> sorted(["part.10", "part.9", "part.1"], key=natural)
    ['part.1', 'part.9', 'part.10']
    """
    return [int(word) if word.isdecimal() else word for word in re.split(r"([0-9]+)", name)]


def _ending(file: Path) -> str:
    """What stands behind the last dot, if it is more than a number: part.7 has no ending."""
    ending = Path(split_packing(file.name)[0]).suffix.lower()
    return "" if ending[1:].isdecimal() else ending


def _kind(file: Path) -> str | None:
    ending = _ending(file)
    known = (one for one in FORMATS.values() if not one.is_folder)
    return next((one.name for one in known if ending in one.endings + one.also_read), None)


def _is_beside(file: Path, shards: list[Path]) -> bool:
    """Whether a file says more about one of the shards."""
    bare = Path(split_packing(file.name)[0])
    names = {split_packing(shard.name)[0] for shard in shards} | {one.name for one in shards}
    return bare.suffix in BESIDE and bare.stem in names


def _check_parts(folder: Path, files: list[Path]) -> None:
    """Refuse a folder whose files are the training set and the test set."""
    parts: dict[str, str] = {}
    for file in files:
        word = re.match(r"[A-Za-z]*", file.name)
        if word and (part := PARTS.get(word[0].lower())):
            parts.setdefault(part, file.name)
    if len(parts) > 1:
        shown = " and ".join(parts.values())
        raise RankforceError(
            f"{folder} has {shown}, which seem to be different sets: name one of these files, or "
            "put the files of one set in a folder of its own"
        )
