"""Trials of a search, and the file that keeps them: a line when one ends, whatever comes after."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.files import write_whole
from rankforce.experiments.space import Point

DONE, PRUNED, FAILED = "done", "pruned", "failed"
FEW = 5  # trials that end before any is stopped because of them
EVERY = 10  # trees between two looks at whether a trial is behind
GRACE = 10  # the part of its trees that a trial may always grow is 1 / GRACE


class Trial(NamedTuple):
    """What came of one point; of a trial that was pruned, what was to be expected (`outlook`)."""

    number: int
    point: Point
    state: str
    value: float | None = None
    trees: int | None = None
    seconds: float = 0.0
    curves: Sequence[Sequence[float]] = ()  # of each fold: the best so far, every few trees
    error: str | None = None


def reached(curves: Sequence[Sequence[float]], fold: int, step: int) -> float:
    """What a trial had reached at a step of a fold: the mean over it and the folds before.

    >>> reached([[0.1, 0.3], [0.5, 0.5, 0.7]], 1, 0)
    0.4
    """
    ends = [one[-1] for one in curves[:fold]]
    return float(np.mean([*ends, curves[fold][min(step, len(curves[fold]) - 1)]]))


def outlook(
    curves: Sequence[Sequence[float]], others: Sequence[Trial], *, higher: bool
) -> float | None:
    """What to expect of a trial that is behind; None for one that is not.

    It is behind if it is worse now than the median of those that ended were at the same place
    (the median stopping rule, Golovin et al. 2017); to expect is that it gains what the median
    gained. That can be compared with values of other trials, whatever fold it came to.
    """
    fold, step = len(curves) - 1, len(curves[-1]) - 1
    ended = [one for one in others if one.state == DONE and len(one.curves) > fold]
    if len(ended) < FEW:
        return None
    middle = float(np.median([reached(one.curves, fold, step) for one in ended]))
    own = reached(curves, fold, step)
    if own >= middle if higher else own <= middle:
        return None
    return own - middle + float(np.median([one.value for one in ended]))


class Follow:
    """A callback that writes down the best value so far, and ends a trial that is behind."""

    def __init__(
        self, others: Sequence[Trial], higher: bool, trees: int, is_over: threading.Event
    ) -> None:
        self._others, self._higher, self._grace = others, higher, trees / GRACE
        self._is_over = is_over
        self.curves: list[list[float]] = []
        self.outlook: float | None = None
        self._best = np.nan

    def __call__(self, moment: Any) -> bool:
        """After each tree."""
        done, value = moment.iteration + 1, moment.evaluation_result_list[0].metric_value
        if done == 1 + moment.begin_iteration:
            self._best = np.nan
        self._best = (np.fmax if self._higher else np.fmin)(self._best, value)
        if done % EVERY == 0:
            self.write()
            if done >= self._grace:
                self.outlook = outlook(self.curves, self._others, higher=self._higher)
        return self.outlook is not None or self._is_over.is_set()

    def write(self) -> None:
        """Add the best value so far to the curve of the fold."""
        self.curves[-1].append(float(self._best))


def to_lines(study: Mapping[str, Any], trials: Sequence[Trial]) -> str:
    """What a file of trials holds: a line about the study, and one for each trial."""
    records = [study, *(trial._asdict() for trial in trials)]
    return "".join(json.dumps(one, default=repr) + "\n" for one in records)


class Storage:
    """A file to which trials are added as they end; one that is there is gone on with."""

    def __init__(self, path: str | Path, study: Mapping[str, Any]) -> None:
        self._path = Path(path)
        if not self._path.parent.is_dir():
            raise RankforceError(f"storage is {str(path)!r}: {self._path.parent} is no folder")
        if not self._path.exists():
            write_whole(self._path, to_lines(study, ()))
        self.trials = self._read(json.loads(to_lines(study, ())))

    def _read(self, study: Mapping[str, Any]) -> list[Trial]:
        try:
            kept, end, _torn = self._path.read_bytes().rpartition(b"\n")
            first, *rest = map(json.loads, kept.decode().splitlines())
            trials = [Trial(**one) for one in rest]
            differs = [name for name in study if first.get(name) != study[name]]
        except OSError as error:
            raise RankforceError(f"storage {self._path} cannot be read: {error.strerror}") from None
        except (ValueError, TypeError, AttributeError):
            raise RankforceError(f"storage {self._path} is no file of trials") from None
        if differs:
            name = differs[0]
            raise RankforceError(
                f"storage {self._path} is of another study: its {name} was {first.get(name)!r}, "
                f"now {study[name]!r}"
            )
        os.truncate(self._path, len(kept + end))  # a process was killed while it wrote a line
        return trials

    def add(self, trial: Trial) -> None:
        """Write a trial so that it survives whatever comes."""
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(trial._asdict(), default=repr) + "\n")
            file.flush()
            os.fsync(file.fileno())
