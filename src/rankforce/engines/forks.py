"""Threads of a library that stayed behind in the process that this one was forked from."""

from __future__ import annotations

import os
import sys

from rankforce.common.notes import note


class LibraryThreads:
    """Whether this process has those of a library, a module that is imported when it is used."""

    def __init__(self, module: str, title: str) -> None:
        self._module, self._title = module, title
        self.are_lost = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._leave)

    def _leave(self) -> None:
        self.are_lost = self.are_lost or self._module in sys.modules

    def note_lost(self, threads: int) -> None:
        """Say that trees grow on one thread, where more were wanted and a fork has lost them."""
        if self.are_lost and threads > 1:
            note(
                f"{self._title} was loaded before this process was forked, and a fork loses its "
                "threads: trees grow on one thread, which changes no result; start processes with "
                "multiprocessing's 'spawn' to use more"
            )
