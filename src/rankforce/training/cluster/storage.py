"""Files in a folder that all workers see: each reads its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.formats.folder import files_to_read
from rankforce.training.cluster.crew import Crew
from rankforce.training.cluster.given import Folder, Given
from rankforce.training.cluster.messages import Part


class InFolder:
    """The files of a folder, as the first worker sees them: the client need not."""

    def __init__(self, crew: Crew, given: Given) -> None:
        assert isinstance(given.what, Folder)
        self._name, self._folder = given.name, given.what
        looks = crew.submit(0, list_files, self._folder.path, dict(self._folder.told))
        found: Listed | str = crew.gather([looks])[0]
        if isinstance(found, str):
            raise RankforceError(f"worker {crew.addresses[0]}: {found}")
        self._found, self.rows = found, found.rows

    def send(self, crew: Crew, shares: Sequence[range], folder: str) -> list[Part]:
        """The names of each worker's files."""
        told = {**self._folder.told, "format": self._found.format}
        return [
            Part(
                self._name,
                [self._found.files[number] for number in share or [0]],
                told,
                self._folder.path,
                is_empty=not share,
            )
            for share in shares
        ]


class Listed(NamedTuple):
    """The files of a data set."""

    format: str
    files: list[str]
    rows: list[int]  # of each, about


def list_files(path: str, told: Mapping[str, Any]) -> Listed | str:
    """The files of a data set; or what is wrong, in words."""
    try:
        kind, files = files_to_read(Path(path), told.get("format"))
        rows = [max(kind.estimate(file)[0], 1) for file in files]
        return Listed(kind.name, [*map(str, files)], rows)
    except RankforceError as error:
        return str(error)
