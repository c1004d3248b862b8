"""Data sets as a user gives them to a cluster: in memory, in a folder that all see, or in Dask."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.shards import Shards
from rankforce.training.eval_sets import (
    each_own,
    is_same_pair,
    name_sets,
    split_qid,
    weights,
)
from rankforce.training.run import ScoredSet

# What a Dask collection may have beside features, by the argument of `fit` that has it.
COLUMNS = {"y": "label", "qid": "query", "sample_weight": "weight", "init_score": "init_score"}


@dataclasses.dataclass(frozen=True)
class Folder:
    """Files on storage that the client need not see, and what `rf.read` is told of them."""

    path: str
    told: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Blocks:
    """Dask collections: features, and what belongs to them, by the names of `COLUMNS`."""

    features: Any
    columns: Mapping[str, Any]
    names: Sequence[str] | None  # of the columns of an array
    categorical: Sequence[Any]


class Given(NamedTuple):
    """A data set that is to be shared out."""

    name: str
    what: RankingData | Folder | Blocks
    start: Floats | None = None  # scores to start from, of data in memory
    is_training: bool = False  # the first one again


def is_elsewhere(what: Any) -> bool:
    """Whether data is in a folder or in Dask, and not in this process.

    >>> import numpy as np
    >>> is_elsewhere("train/"), is_elsewhere(np.zeros((2, 3))), is_elsewhere(None)
    (True, False, False)
    """
    if isinstance(what, (tuple, list)):
        return any(map(is_elsewhere, what))
    is_folder = isinstance(what, (str, os.PathLike, Folder)) or folder_of(what) is not None
    return is_folder or is_collection(what)


def folder_of(what: Any) -> Folder | None:
    """The files that data was read from, if its features are still there, as they were."""
    if not isinstance(what, RankingData) or not isinstance(what.features, Shards):
        return None
    told = {key: value for key, value in what.origin.items() if key != "file"}
    is_whole = "file" in what.origin and what.preferences is None
    return Folder(str(Path(what.origin["file"]).absolute()), told) if is_whole else None


def is_collection(what: Any) -> bool:
    """Whether this is Dask's."""
    return hasattr(what, "__dask_graph__")


def describe(
    X: Any, y: Any = None, *, told: Mapping[str, Any] | None = None, **columns: Any
) -> RankingData | Folder | Blocks:
    """A data set from what `fit` gets for it; columns that are None are not there."""
    given = {name: values for name, values in columns.items() if values is not None}
    X = folder_of(X) or X
    if isinstance(X, (str, os.PathLike)):
        X = Folder(str(Path(X).absolute()), told or {})
    if isinstance(X, (RankingData, Folder)):
        if y is not None or given:
            what = "y" if y is not None else next(iter(given))
            raise RankforceError(f"{what} does not go with {_shown(X)}: leave it out")
        return X
    if not is_collection(X):
        X, qid = split_qid(X, given.pop("qid", None), given.get("group"))
        counts = weights(given.pop("sample_weight", None), qid, given.get("group"))
        return RankingData(X, y, qid=qid, **given | counts)
    names, categorical = given.pop("feature_names", None), given.pop("categorical", ())
    beside = ({} if y is None else {"y": y}) | given
    for name, values in beside.items():
        if name not in COLUMNS:
            raise RankforceError(
                f"{name} does not go with Dask collections: give y, qid, sample_weight, init_score"
            )
        if not is_collection(values):
            raise RankforceError(
                f"{name} is a {type(values).__name__}, but the features are a Dask collection: "
                "give one too"
            )
    return Blocks(X, beside, names, categorical)


def _shown(what: Any) -> str:
    return f"the folder {what.path}" if isinstance(what, Folder) else "a RankingData"


def sets_elsewhere(
    given: tuple[Any, Any],
    columns: Mapping[str, Any],
    pairs: Sequence[Any],
    beside: Mapping[str, Any],
    names: Sequence[str] | None,
) -> list[Given]:
    """The training set and those to watch, some of which are not in this process.

    `given` are the features and labels of the first, `columns` what else `fit` got of it, `pairs`
    and `beside` the same of the others.
    """
    sets = [Given("training", describe(*given, **columns))]
    is_train = [is_same_pair(pair, given) for pair in _paired(pairs)]
    each = zip(_paired(pairs), each_own(dict(beside), len(pairs)), is_train, strict=True)
    for number, (pair, own, is_again) in enumerate(each):
        if is_again:
            sets.append(sets[0]._replace(is_training=True))
            continue
        try:
            what = describe(*pair, **own)
        except ValueError as error:
            raise RankforceError(f"eval_set[{number}]: {error}") from None
        sets.append(Given("", what))
    called = name_sets(names, is_train)
    return [sets[0], *(one._replace(name=name) for one, name in zip(sets[1:], called, strict=True))]


def _paired(pairs: Sequence[Any]) -> list[Any]:
    return [pair if isinstance(pair, (tuple, list)) else (pair, None) for pair in pairs]


def in_memory(sets: Sequence[ScoredSet]) -> list[Given]:
    """Data sets that are ready to be trained on."""
    first, *others = sets
    return [
        Given(first.name, first.data, first.base),
        *(Given(one.name, one.data, one.base, one.data is first.data) for one in others),
    ]
