"""Files that are whole or not there: written under another name, then moved."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankforce.common.errors import RankforceError

# Behind the name of the file that it is for: host, process, a number of its own, and what it is.
_TEMPORARY = re.compile(r"\.(?P<host>[^.]*)\.(?P<pid>\d{1,9})\.[0-9a-f]{8}\.(part|next)$")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary name beside `path`; when the block ends well, the file moves to `path`.

    What killed processes of this machine left there of the same file is removed.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as name:
    ...     _ = name.write_text("all of it")
    >>> [file.name for file in folder.iterdir()]
    ['a.txt']
    """
    temporary = name_beside(path, "part")
    try:
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        about = error.filename
        is_ours = about is None or Path(os.fsdecode(about)) in (temporary, path)
        if not is_ours or isinstance(error, BrokenPipeError):
            raise
        raise RankforceError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(OSError):  # where nothing can be written, there is nothing to remove
            temporary.unlink()
    remove_leftovers(path.parent, {path.name})


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole, or not at all."""
    with whole_file(path) as name:
        write_bytes(name, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file, and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def name_beside(path: Path, ending: str) -> Path:
    """A name beside `path` that no other process or thread takes; with ending "part" a hidden one.

    >>> name_beside(Path("a.txt"), "part").name.startswith(".a.txt.")
    True
    """
    hidden = "." if ending == "part" else ""
    own = f"{_host()}.{os.getpid()}.{os.urandom(4).hex()}"
    return path.with_name(f"{hidden}{path.name}.{own}.{ending}")


def is_temporary(name: str, *, of: set[str]) -> bool:
    """Whether a file is a temporary one of the files called `of`.

    >>> is_temporary(name_beside(Path("a.txt"), "next").name, of={"a.txt"})
    True
    """
    return bool(_TEMPORARY.search(name)) and _TEMPORARY.sub("", name).removeprefix(".") in of


def remove_leftovers(folder: Path, names: set[str]) -> None:
    """Remove temporary files of `names` whose process, on this machine, is no more."""
    with suppress(OSError):  # they are only in the way
        for file in folder.iterdir():
            found = _TEMPORARY.search(file.name)
            if found is None or not is_temporary(file.name, of=names):
                continue
            if found["host"] == _host() and not _is_alive(int(found["pid"])):
                file.unlink()


def check_folder(folder: Path, name: str) -> None:
    """Refuse a folder where nothing can be written, before there is anything to write.

    `name` is that of the setting. A folder that is not there yet is not made.

    >>> check_folder(Path("/dev/null/run"), "out")
    Traceback (most recent call last):
    rankforce.RankforceError: out is '/dev/null/run': /dev/null is no folder
    """
    nearest = folder
    try:
        while not nearest.exists() and nearest != nearest.parent:
            nearest = nearest.parent
        if nearest == folder and not folder.is_dir():
            raise RankforceError(f"{name} is {str(folder)!r}, which is a file: give a folder")
        if not nearest.is_dir():
            raise RankforceError(f"{name} is {str(folder)!r}: {nearest} is no folder")
        trial = name_beside(nearest / "rankforce", "part")
        try:
            trial.write_bytes(bytes(4096))
        finally:
            trial.unlink(missing_ok=True)
    except OSError as error:
        raise RankforceError(
            f"{name} is {str(folder)!r}: {nearest} cannot be written to: {error.strerror or error}"
        ) from None


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", platform.node())


def _is_alive(process: int) -> bool:
    """Whether a process of this machine still runs; where that cannot be asked, yes."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
