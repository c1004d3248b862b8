"""The models that are served, by name, and their replacement while requests are answered."""

from __future__ import annotations

import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError
from rankforce.common.notes import hold_notes
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.data.sources import mark_missing
from rankforce.models.base import FORESTS
from rankforce.models.folder import state
from rankforce.models.outside import outside_scores
from rankforce.serving.matrix import Columns
from rankforce.serving.refusal import Refusal
from rankforce.training.loading import load_one
from rankforce.training.prediction import find_contributions

NETWORK = 1_000  # trees that take about as long as a network
ROWS = 66  # that a new model scores first: enough for each kernel that scores rows
LOG = logging.getLogger("rankforce.serving")


class Served:
    """One version of a model, which never changes: a request keeps the one that it began with."""

    def __init__(self, path: Path, base: Path | None = None) -> None:
        self.ranker = load_one(path, base).set_params(threads=1)
        self.model = self.ranker.model_
        self._scorer = self.ranker.scorer()
        self.columns = Columns(self.model.schema)
        self.version = version_of(self.model)
        self.loaded = time.time()
        # Kernels are compiled, or fetched from the disk, before the first request needs them.
        self.scores(np.zeros((ROWS, len(self.columns)), np.float32))

    def scores(self, rows: NDArray[np.float32]) -> Floats:
        """Scores of the documents of one query; rows have codes of categories already."""
        if not self.model.renumbered:
            return self._scorer.scores(rows)
        # Anything else that takes an array would look for the codes of such categories again.
        marked = mark_missing(rows, self.model.parameters.get("missing"))
        index = index_queries(len(rows))
        return self.model.scores(marked, index=index) + self._below(marked, index)

    def contributions(self, rows: NDArray[np.float32]) -> Floats:
        """What each feature adds to each score, and in a last column the rest."""
        if not self.model.renumbered:
            return self.ranker.contributions(rows)
        marked = mark_missing(rows, self.model.parameters.get("missing"))
        found = find_contributions(self.model, marked, range(self.model.used), threads=1)
        found[:, -1] += self._below(marked, index_queries(len(rows)))
        return found

    def _below(self, rows: NDArray[np.float32], index: QueryIndex) -> Floats | float:
        """Scores of the model that this one stands on."""
        base = self.model.base
        return 0.0 if base is None else outside_scores(base, rows, index)

    @property
    def cost(self) -> int:
        """What a document takes, in trees."""
        return self.model.used if self.model.scorer.kind in FORESTS else NETWORK


def version_of(model: Any) -> str:
    """A short name of what a model computes: the same for the same model, in every worker."""
    told = [model.scorer.digest(model.used), model.used, model.feature_names]
    told += [model.categories, model.parameters.get("missing")]
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


class Entry:
    """A name, the folder behind it, and the version of it that answers."""

    def __init__(self, name: str, path: Path, base: Path | None) -> None:
        self.name, self.path, self.base = name, path, base
        self.error: str | None = None  # why the newest files are not served
        self._lock = threading.Lock()
        self._state = state(path)  # of the files that were read last, be they good or broken
        self.served = Served(path, base)

    @property
    def is_stale(self) -> bool:
        """Whether the files are others than those that were read last."""
        return state(self.path) != self._state

    def reload(self) -> None:
        """Read the files again; if they cannot be served, the version that is there goes on."""
        with self._lock:
            self._reload()

    def _reload(self) -> None:
        seen = state(self.path)
        try:
            with hold_notes() as notes:
                fresh = Served(self.path, self.base)
        except Exception as error:  # whatever is wrong with it, the old one answers
            self._state, self.error = seen, str(error) or type(error).__name__
            unknown = None if isinstance(error, RankforceError) else error
            told = "model %s: version %s goes on: %s"
            LOG.error(told, self.name, self.served.version, self.error, exc_info=unknown)
            return
        for one in notes:
            LOG.warning("model %s: %s", self.name, one)
        self.served, self.error, self._state = fresh, None, seen
        LOG.info("model %s: version %s", self.name, fresh.version)


class Models:
    """All models of a server; the first one answers where a request names none."""

    def __init__(
        self,
        paths: Mapping[str, Path],
        *,
        base: Path | None = None,
        heard: Callable[[Entry], None] = lambda entry: None,
    ) -> None:
        self._heard = heard  # is told of every reading but the first
        if not paths:
            raise RankforceError("there is no model to serve: give the folder of one")
        for name in paths:
            check_name(name)
        self.entries = {name: Entry(name, path, base) for name, path in paths.items()}

    def entry(self, name: str | None) -> Entry:
        """The model of that name, or the first one."""
        if name is None:
            return next(iter(self.entries.values()))
        if name not in self.entries:
            raise Refusal(404, f"model: {name!r} is not served: choose {listed(self.entries)}")
        return self.entries[name]

    def reload_stale(self) -> None:
        """Read again what has been replaced."""
        for entry in self.entries.values():
            if entry.is_stale:
                self.reload(entry)

    def reload(self, entry: Entry) -> None:
        """Read a model again."""
        entry.reload()
        self._heard(entry)


def check_name(name: str) -> None:
    """Refuse a name that cannot stand in an address.

    >>> check_name("a/b")
    Traceback (most recent call last):
    rankforce.RankforceError: the name of a model is 'a/b': it must be letters, digits, . _ or -
    """
    if not name or not all(one.isascii() and (one.isalnum() or one in "._-") for one in name):
        raise RankforceError(
            f"the name of a model is {name!r}: it must be letters, digits, . _ or -"
        )
