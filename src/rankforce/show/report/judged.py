"""The data of a report: given, or that of the run itself if it is still the same."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import merge
from rankforce.formats.read import read
from rankforce.show.report.models import ShownModel
from rankforce.training.resume import fingerprint

BRING = "the data (--data FILE) brings comparison, queries and forces into the report"
TRAINING = "training"  # the name of the training set


class Known(NamedTuple):
    """A data set, and where it comes from."""

    data: RankingData
    name: str
    marks: dict[str, Any]  # its fingerprint

    def parts_of(self, run: ShownModel) -> list[str]:
        """Which sets of a run this data was: names as in its history."""
        return [name for name, old in run.model.data.items() if not _differing(old, self.marks)]


def find_data(
    runs: list[ShownModel], given: Any, notes: list[str], columns: Mapping[str, Any] | None = None
) -> Known | None:
    """The data that is given, or the first validation set of the first run that has its file.

    A run without validation set has its training set. Why there is no data goes into `notes`.
    """
    found = _own(runs, notes) if given is None else _given(runs, given, columns or {})
    if found is None:
        return None
    data = found.data
    if not data.has_labels and not data.sources:
        raise RankforceError(f"{found.name} has no labels: a report needs them to judge rankings")
    return found


def cautions(runs: list[ShownModel], known: Known) -> list[str]:
    """Why values on this data flatter a run, one sentence each."""
    said = []
    for run in runs:
        parts = known.parts_of(run)
        if TRAINING in parts:
            said.append(
                f"{run.name} was trained on this very data: its values flatter it, and say little "
                "about queries that it has not seen."
            )
        elif parts and run.model.used < len(run.model.trees):
            said.append(
                f"{run.name} chose its number of trees on this very data, which flatters it a "
                "little."
            )
    return said


def _given(runs: list[ShownModel], given: Any, columns: Mapping[str, Any]) -> Known:
    if isinstance(given, RankingData):
        return _know(given, given.origin.get("file", "the data"))
    if isinstance(given, (str, os.PathLike)):
        like = merge([run.model.schema for run in runs])
        data = read(Path(given), like=like, needs=("label", "qid"), **columns)
        return _know(data, os.fspath(given))
    raise RankforceError(
        f"data is a {type(given).__name__}: give the name of a file or a RankingData"
    )


def _own(runs: list[ShownModel], notes: list[str]) -> Known | None:
    """The data that a run itself names, checked."""
    reasons = []
    for run in runs:
        files = run.model.files
        order = sorted(files, key=lambda name: name == TRAINING)  # the first validation set
        for name in order:
            options = dict(files[name])
            path = options.pop("file", None)
            if path is None:
                continue
            try:
                data = read(path, like=run.ranker, needs=("label", "qid"), **options)
            except (ValueError, TypeError) as error:
                reasons.append(
                    f"{run.name} was trained with {path}, which cannot be read ({error})"
                )
                continue
            found = _know(data, path)
            changed = _differing(run.model.data.get(name, {}), found.marks)
            if changed:
                reasons.append(
                    f"{run.name} was trained with {path}, which has changed since "
                    f"({', '.join(changed)})"
                )
                continue
            notes += [f"{reason}; {found.name} stands for it." for reason in reasons]
            return found
    if not reasons:
        reasons = [f"{', '.join(run.name for run in runs)}: the model does not say which data"]
    notes += [f"No rankings here: {reason}; {BRING}." for reason in reasons]
    return None


def _know(data: RankingData, path: str) -> Known:
    return Known(data, os.path.basename(path), fingerprint(data, None))


def _differing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two fingerprints of data, whatever the scores to start from."""
    return [key for key in new if key != "scores to start from" and old.get(key) != new[key]]
