"""Studies small enough for a test."""

from __future__ import annotations

from pathlib import Path

from rankforce.studies.make import METRICS, SETTINGS
from rankforce.studies.sets import make_set
from rankforce.studies.study import Rules, Study


def small_study(
    *shapes: str, trees: int = 4, keep: Path | None = None, said: list[str] | None = None
) -> Study:
    """Of a few synthetic queries."""
    sets = [make_set(shape, queries=8, seed=0) for shape in shapes or ("mslr",)]
    heard = [] if said is None else said
    return Study(sets, Rules(trees, METRICS, {"": SETTINGS}), keep=keep, say=heard.append)
