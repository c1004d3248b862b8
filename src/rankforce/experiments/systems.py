"""Systems and what judges them, from files: for the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import merge
from rankforce.evaluation.judge import model_scores
from rankforce.formats.lines import read_numbers
from rankforce.formats.read import read
from rankforce.formats.streams import is_stream
from rankforce.formats.trec import read_qrels, read_run
from rankforce.training.loading import load_one
from rankforce.training.ranker import Ranker

LIGHTGBM = b"tree\n"  # the first line of a model in LightGBM's own text


def open_all(
    named: Mapping[str, str],
    *,
    data: str | None,
    qrels: str | None,
    columns: Mapping[str, Any] | None = None,
    base: str | None = None,
    keep: str | None = None,
) -> tuple[dict[str, Any], Any]:
    """Systems by name, and what judges them: runs by qrels, models and scores by a data file.

    The file is read for the models; `base` is the one that those stand on which need another, and
    `keep` as in `rf.read`.
    """
    if qrels is not None and data is None:
        judged = read_qrels(qrels)
        return {name: read_run(path) for name, path in named.items()}, judged
    if data is None or qrels is not None:
        raise RankforceError(
            "give --data (for models and scores) or --qrels (for runs), one of the two"
        )
    models = {name: _load(path, base) for name, path in named.items()}
    like = merge([one.model_.schema for one in models.values() if one is not None])
    rows = read(data, like=like, needs=("label", "qid"), keep=keep, **(columns or {}))
    return {name: _scores(path, models[name], rows) for name, path in named.items()}, rows


def open_system(path: str, data: RankingData) -> Any:
    """Scores, from a model (saved, or LightGBM's) or a file."""
    return _scores(path, _load(path), data)


def _load(path: str, base: Any = None) -> Ranker | None:
    """The ranker in a folder, or in LightGBM's own text; None for a file of something else."""
    if is_stream(path) or not (Path(path).is_dir() or _starts(path, LIGHTGBM)):
        return None
    return load_one(path, base)


def _scores(path: str, ranker: Ranker | None, data: RankingData) -> Any:
    if ranker is not None:
        return model_scores(ranker, data, path)
    scores = read_numbers(path)
    if len(scores) != data.rows:
        raise RankforceError(f"{path}: {len(scores)} scores, but the data has {data.rows} rows")
    return scores


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
