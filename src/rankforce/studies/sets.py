"""The data of a study: a folder of a public set or of one's own, or synthetic queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.data.queries import query_folds
from rankforce.data.ranking_data import RankingData
from rankforce.data.synthetic import SHAPES, make_data
from rankforce.experiments.datasets import OWN, find_dataset

TRAIN, VALIDATION, TEST = "train", "validation", "test"
NO_VIEWS = "clicks or 0"  # a source of labels: a document that was never shown has 0 clicks
SYNTHETIC = "made:"  # before the name of a shape
HELD_OUT = 5  # of so many parts of the training queries, one, where a set has none for validation


class StudySet(NamedTuple):
    """A data set in parts: training, validation and test queries of each fold."""

    name: str  # as the papers' tables have it
    title: str
    folds: int
    mark: Any  # what tells it from others, for files that are kept
    read: Callable[[str, int], RankingData]  # a part of a fold


def open_set(place: str | Path, *, queries: int | None, seed: int) -> StudySet:
    """The data set in a folder, or "made:SHAPE": synthetic queries.

    `queries` limits each part.

    >>> made = open_set("made:mslr", queries=5, seed=0)
    >>> made.name, made.folds, made.read("test", 1)
    ('made:mslr', 1, RankingData(544 rows, 5 queries, 136 features))
    """
    if str(place).startswith(SYNTHETIC):
        return make_set(str(place)[len(SYNTHETIC) :], queries=queries, seed=seed)
    found = find_dataset(place)
    files = sorted({file for fold in found.folds for one in fold.values() for file in one})

    def read(part: str, fold: int) -> RankingData:
        """A part; validation queries of a set without any are a fifth of those to train on."""
        is_short = "valid" not in found.folds[fold - 1]
        asked = "valid" if part == VALIDATION and not is_short else TEST if part == TEST else TRAIN
        whole = found.read(asked, fold=fold, queries=queries)
        if whole is None:
            raise RankforceError(f"{place}: {found.name} has no {part} queries")
        if not is_short or part == TEST:
            return whole
        held = query_folds(len(whole.sizes), HELD_OUT, seed=seed)[0]
        rest = np.setdiff1d(np.arange(len(whole.sizes)), held)
        return whole.take_queries(held if part == VALIDATION else rest)

    name = Path(place).resolve().name if found.name == OWN else found.name
    mark = [found.name, [file.stat().st_size for file in files], queries, seed]
    return StudySet(name, name, len(found.folds), mark, read)


def make_set(shape: str, *, queries: int | None, seed: int) -> StudySet:
    """Synthetic queries of a shape; the parts differ in their seeds."""

    def read(part: str, fold: int) -> RankingData:
        """A part: there is one fold."""
        number = 3 * seed + (TRAIN, VALIDATION, TEST).index(part)
        made = make_data(shape, queries=queries, seed=number)
        made.sources[NO_VIEWS] = np.nan_to_num(made.sources["clicks"])
        return made

    name = f"{SYNTHETIC}{check_choice('the shape', shape, SHAPES)}"
    title = f"data of {SHAPES[shape].title}'s shape"
    return StudySet(name, title, 1, [name, queries, seed], read)
