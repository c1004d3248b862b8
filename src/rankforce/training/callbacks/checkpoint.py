"""Checkpoints: a folder that always holds a model, from which an interrupted run is resumed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.common.files import check_folder
from rankforce.common.notes import note
from rankforce.models.folder import MANIFEST, other_files
from rankforce.models.model import Model
from rankforce.training.callbacks.base import FAILED, Start


def check_checkpoint(place: Path, *, beside: tuple[str, ...] = ()) -> None:
    """Refuse a place that is no checkpoint, or that cannot be written to.

    What begins with one of the names `beside` may be there.
    """
    is_taken = place.exists() and not place.is_dir()
    others = [name for name in other_files(place) if not name.startswith(beside)]
    if is_taken or (others and not (place / MANIFEST).exists()):
        raise RankforceError(f"{place} is no checkpoint: choose a folder that is new or empty")
    check_folder(place, "checkpoint")


class Checkpoint:
    """A callback that saves the model every so many trees, and at the end.

    `settle(done, finished)` decides which of the trees make the scores. A disk that is full is said
    once, and training goes on.
    """

    def __init__(self, place: str | Path, every: int, settle: Callable[[int, bool], None]) -> None:
        self._place, self._every, self._settle = Path(place), every, settle
        self._model: Model | None = None
        self._has_failed = False
        check_checkpoint(self._place)

    def see_start(self, start: Start) -> None:
        """Which model to save."""
        self._model = start.model

    def __call__(self, moment: Any) -> None:
        """After each tree; behind a recorder, so that what it saw of the tree is saved with it."""
        done = moment.iteration + 1
        if done % self._every == 0:
            self._settle(done, False)
            self._save(done)

    def see_end(self, status: str) -> None:
        """The model as it is now, unless something went wrong in the middle of a tree."""
        if self._model is not None and status != FAILED:
            self._save(self._model.steps)

    def _save(self, done: int) -> None:
        assert self._model is not None
        try:
            self._model.save(self._place, steps=done)
        except ValueError as error:
            if not self._has_failed:
                self._has_failed = True
                note(f"no checkpoint: {error}; training goes on")
