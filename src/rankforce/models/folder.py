"""The two files of a model in a folder: replaced together, though a disk moves one at a time.

The new manifest waits under a name of its own; then the file of the scorer is replaced, and from
there on the folder holds the new model; then the manifest moves into its place. A reader takes the
manifest that fits the scorer: `manifest.json`, or one that waits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankforce.common.errors import RankforceError
from rankforce.common.files import is_temporary, name_beside, remove_leftovers, write_bytes
from rankforce.models.base import KINDS, find_kind

MANIFEST = "manifest.json"
PATIENCE = 10.0  # seconds to wait for another save into the same folder


def write_model(place: Path, file: str, content: bytes, manifest: str) -> None:
    """Write both files of a model: at any moment the folder has the old model, or the new one."""
    try:
        if place.exists() and not place.is_dir():
            raise RankforceError(f"{place} is a file: a model is saved into a folder")
        place.mkdir(parents=True, exist_ok=True)
        with _alone(place):
            _replace(place, file, content, manifest.encode())
    except OSError as error:
        reason = error.strerror or error
        raise RankforceError(f"cannot save a model to {place}: {reason}") from None


def _replace(place: Path, file: str, content: bytes, manifest: bytes) -> None:
    waiting = name_beside(place / MANIFEST, "next")
    fresh = name_beside(place / file, "part")
    try:
        write_bytes(waiting, manifest)
        write_bytes(fresh, content)
    except BaseException:
        _remove(waiting, fresh)
        raise
    try:
        os.replace(fresh, place / file)
    except OSError:  # nothing else: an interrupt may come when the file has moved already
        _remove(waiting, fresh)
        raise
    os.replace(waiting, place / MANIFEST)
    _remove(*(place / other for other in _files() - {file, MANIFEST}))
    remove_leftovers(place, _files())


def _files() -> set[str]:
    """Names that files of models have, of whichever kind."""
    return {MANIFEST, *(find_kind(kind).file for kind in KINDS)}


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def read_manifests(place: Path) -> list[tuple[Path, str]]:
    """The manifests of a folder as text: the one in its place first, then those that wait."""
    # Read in the other order: one that waits moves into the place, and never back.
    names = sorted(name for name in _names(place) if is_waiting(name))
    found = [(place / name, _read(place / name)) for name in (*names, MANIFEST)]
    return [(path, text) for path, text in found[::-1] if text is not None]


def is_waiting(name: str) -> bool:
    """Whether a file is a manifest that is not in its place yet."""
    return name.endswith(".next") and is_temporary(name, of={MANIFEST})


def has_model(place: Path) -> bool:
    """Whether a folder holds a model, or what a first save that was killed left of one."""
    return any((place / name).exists() for name in _files())


def other_files(place: Path) -> list[str]:
    """Names of the files in a folder that no save of a model has made."""
    files = _files()
    own = files | {name for name in _names(place) if is_temporary(name, of=files)}
    # Names that version 0.1 gave to half-written files.
    old = tuple(f".{name}." for name in files)
    return [n for n in _names(place) if n not in own and not (n.startswith(old) and ".part" in n)]


def state(place: Path) -> list[tuple[int, ...]]:
    """Something that is another when a file of the model, or the one that it is, was replaced."""
    if place.is_file():
        return [_state(place)]
    return [_state(place / name) for name in sorted(_files())]


def _state(path: Path) -> tuple[int, ...]:
    try:
        seen = os.stat(path)
    except OSError:
        return ()
    return seen.st_ino, seen.st_mtime_ns, seen.st_size


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise RankforceError(f"{path}: {error}") from None


def _names(place: Path) -> list[str]:
    return os.listdir(place) if place.is_dir() else []


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """No other process or thread saves into the folder meanwhile, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder = os.open(place, os.O_RDONLY)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise RankforceError(f"{place}: another process saves a model there") from None
                time.sleep(0.005)
            except OSError:  # a file system without locks
                break
        yield
    finally:
        os.close(folder)
