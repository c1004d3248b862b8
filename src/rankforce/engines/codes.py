"""Codes: numbers of bins that trees were grown on, and those of categories."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from rankforce.common.notes import note
from rankforce.data.binned import Binned
from rankforce.data.sources import as_source
from rankforce.models.forest.tree import Tree


def with_ends(tree: Tree, binned: Binned) -> Tree:
    """The tree with ends of bins in place of numbers of bins."""
    edges = binned.edges
    code = np.clip(np.floor(tree.threshold), 0, edges.many[tree.feature] - 1).astype(np.int64)
    lines = {key: text for key, text in tree.lines.items() if key != "threshold"}
    threshold = edges.ends[edges.starts[tree.feature] + code]
    return dataclasses.replace(tree, threshold=threshold, lines=lines)


def note_negative(features: Any, names: list[str], categorical: list[int]) -> None:
    """Say which codes of categories no tree takes as such."""
    if not categorical:
        return
    found = np.zeros(len(categorical), np.int64)
    for _, block in as_source(features).blocks():
        found += np.count_nonzero(block[:, categorical] <= -1.0, axis=0)
    every = zip(categorical, found.tolist(), strict=True)
    named = [f"{names[column]!r} ({count} rows)" for column, count in every if count]
    if named:
        note(f"categories below 0 count as missing values: in {', '.join(named)}")
