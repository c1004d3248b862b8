"""Systems and what judges them, from files: for the command line."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from rankforce.data.ranking_data import RankingData

LIGHTGBM = b"tree\n"  # the first line of a model in LightGBM's own text


def open_judged(*, data: str | None, qrels: str | None) -> Any:
    """Labels from a data file, or qrels."""
    if qrels is not None and data is None:
        from rankforce.data.trec import read_qrels

        return read_qrels(qrels)
    if data is not None and qrels is None:
        from rankforce.data.read import read

        return read(data)
    raise ValueError("give --data (for models and scores) or --qrels (for runs), one of the two")


def open_system(path: str, judged: Any, *, base: Any = None) -> Any:
    """A run where qrels judge it; else scores, from a model (saved, or LightGBM's) or a file.

    `base` is the model that a saved one stands on, if it needs another.
    """
    if not isinstance(judged, RankingData):
        from rankforce.data.trec import read_run

        return read_run(path)
    if Path(path).is_dir() or _starts(path, LIGHTGBM):
        from rankforce.ranker import load_one

        ranker = load_one(path, base)
        try:
            return ranker.predict(judged)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
    from rankforce.data.read import read_numbers

    scores = read_numbers(path)
    if len(scores) != judged.rows:
        raise ValueError(f"{path}: {len(scores)} scores, but the data has {judged.rows} rows")
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
            raise ValueError(f"two systems are called {name!r}: name them, as in new={path}")
        named[name] = path
    return named


def find_baseline(baseline: str | None, named: dict[str, str]) -> str | None:
    """The baseline's name, where it may be given by its path."""
    if baseline is None or baseline in named:
        return baseline
    paths = {path.rstrip("/"): name for name, path in named.items()}
    found = paths.get(baseline.rstrip("/"))
    if found is None:
        raise ValueError(f"baseline {baseline!r} is none of the systems: {', '.join(named)}")
    return found


def _stem(path: str) -> str:
    return Path(path.rstrip("/")).stem if "=" not in path else path


def _starts(path: str, wanted: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(wanted)) == wanted
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
