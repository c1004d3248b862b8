"""Systems and what judges them, from files: for the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema, merge
from rankforce.evaluation.judge import predicted
from rankforce.formats.open import is_stream

if TYPE_CHECKING:
    from rankforce.training.ranker import Ranker

LIGHTGBM = b"tree\n"  # the first line of a model in LightGBM's own text


def open_all(
    named: Mapping[str, str],
    *,
    data: str | None,
    qrels: str | None,
    columns: Mapping[str, Any] | None = None,
    base: str | None = None,
) -> tuple[dict[str, Any], Any]:
    """Systems by name, and what judges them: a data file is read for the models among them."""
    if qrels is not None:
        judged = open_judged(data=data, qrels=qrels)
        return {name: open_system(path, judged) for name, path in named.items()}, judged
    models = {name: _load(path, base) for name, path in named.items()}
    like = merge([one.model_.schema for one in models.values() if one is not None])
    judged = open_judged(data=data, qrels=None, like=like, columns=columns)
    systems = {}
    for name, path in named.items():
        ranker = models[name]
        systems[name] = (
            open_system(path, judged) if ranker is None else predicted(ranker, judged, path)
        )
    return systems, judged


def open_judged(
    *,
    data: str | None,
    qrels: str | None,
    like: Schema | None = None,
    columns: Mapping[str, Any] | None = None,
) -> Any:
    """Labels from a data file, or qrels."""
    if qrels is not None and data is None:
        from rankforce.formats.trec import read_qrels

        return read_qrels(qrels)
    if data is not None and qrels is None:
        from rankforce.formats.read import read

        return read(data, like=like, needs=("label", "qid"), **(columns or {}))
    raise RankforceError(
        "give --data (for models and scores) or --qrels (for runs), one of the two"
    )


def open_system(path: str, judged: Any, *, base: Any = None) -> Any:
    """A run where qrels judge it; else scores, from a model (saved, or LightGBM's) or a file.

    `base` is the model that a saved one stands on, if it needs another.
    """
    if not isinstance(judged, RankingData):
        from rankforce.formats.trec import read_run

        return read_run(path)
    if (ranker := _load(path)) is not None:
        return predicted(ranker, judged, path)
    from rankforce.formats.read import read_numbers

    scores = read_numbers(path)
    if len(scores) != judged.rows:
        raise RankforceError(f"{path}: {len(scores)} scores, but the data has {judged.rows} rows")
    return scores


def _load(path: str, base: Any = None) -> Ranker | None:
    """The ranker in a folder, or in LightGBM's own text; None for a file of something else."""
    if is_stream(path) or not (Path(path).is_dir() or _starts(path, LIGHTGBM)):
        return None
    from rankforce.training.loading import load_one

    return load_one(path, base)


def name_systems(given: list[str]) -> dict[str, str]:
    """Paths by name: `name=path`, or the last part of the path that tells it from the others.

    >>> name_systems(["runs/a.txt", "runs/b/", "best=c.txt"])
    {'a': 'runs/a.txt', 'b': 'runs/b/', 'best': 'c.txt'}
    """
    stems = [_stem(one) for one in given]
    named = {}
    for one, stem in zip(given, stems, strict=True):
        name, path = stem, one
        if "=" in one and not os.path.exists(one):
            name, _, path = one.partition("=")
        elif stems.count(stem) > 1:
            name = one.rstrip("/")
        if name in named:
            raise RankforceError(f"two systems are called {name!r}: name them, as in new={path}")
        named[name] = path
    return named


def find_baseline(baseline: str | None, named: dict[str, str]) -> str | None:
    """The baseline's name, where it may be given by its path."""
    if baseline is None or baseline in named:
        return baseline
    paths = {path.rstrip("/"): name for name, path in named.items()}
    found = paths.get(baseline.rstrip("/"))
    if found is None:
        raise RankforceError(f"baseline {baseline!r} is none of the systems: {', '.join(named)}")
    return found


def _stem(path: str) -> str:
    return Path(path.rstrip("/")).stem if "=" not in path else path


def _starts(path: str, wanted: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(wanted)) == wanted
    except OSError as error:
        raise RankforceError(f"{path} cannot be read: {error.strerror}") from None
