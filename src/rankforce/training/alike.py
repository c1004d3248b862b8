"""Workers that train together: what must be the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.common.draws import hash_keys
from rankforce.common.errors import RankforceError
from rankforce.common.team import Team
from rankforce.data.ranking_data import RankingData

if TYPE_CHECKING:
    from rankforce.training.run import ScoredSet


def check_alike(sets: Sequence[ScoredSet], team: Team) -> None:
    """Refuse workers of which one has another version, other data sets, or a query of another's."""
    if team.size == 1:
        return
    versions = {f"the version of {name}": version(name) for name in ("rankforce", "lightgbm")}
    compare(versions | {"data sets": [one.name for one in sets]}, team)
    for one in sets:
        compare({f"{what} of {one.name}": value for what, value in _facts(one).items()}, team)
        _check_queries(one.name, one.data, team)


def _facts(one: ScoredSet) -> dict[str, Any]:
    data = one.data
    return {
        "feature names": list(data.feature_names),
        "categorical features": [int(column) for column in data.categorical],
        "categories": {str(c): list(map(str, known)) for c, known in data.categories.items()},
        "labels": [data.label_name, data.has_labels, *data.sources],
        "columns": [
            *(name for name, values in data.beside.items() if values is not None),
            *(["preferences"] if data.preferences is not None else []),
            *(["scores to start from"] if one.base is not None else []),
        ],
    }


def compare(own: dict[str, Any], team: Team) -> None:
    """Refuse workers of which one knows something else than worker 0."""
    first, *others = team.gather(own)
    for rank, other in enumerate(others, start=1):
        for what in {**first, **other}:
            value = first.get(what)
            if other.get(what) != value:
                raise RankforceError(
                    f"workers differ in {what}: worker 0 has {_short(value)}, worker {rank} has "
                    f"{_short(other.get(what))}"
                )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_queries(name: str, data: RankingData, team: Team) -> None:
    """Refuse a query that two workers have: each worker looks at the keys that fall to it."""
    key = data.index.key
    place = hash_keys(key) % np.uint64(team.size)
    parts = [np.ascontiguousarray(key[place == rank]).data.cast("B") for rank in range(team.size)]
    fallen = np.concatenate([np.frombuffer(one, np.uint64) for one in team.exchange(parts)])
    kept, counts = np.unique(fallen, return_counts=True)
    twice = np.concatenate(team.gather(kept[counts > 1][:1]))
    if len(twice):
        raise RankforceError(
            f"{name}: a query (with the key {twice[0]}) is at two workers: queries must stay whole"
        )
