"""Sizes, labels and scores of the made-up shapes, and features that know a little of the labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import rankforce as rf
from rankforce.data.synthetic import SHAPES, Shape

__all__ = ["FEATURES", "SHAPES", "Made", "Shape", "make", "make_set"]

FEATURES = 136


class Made(NamedTuple):
    """One made-up set."""

    sizes: NDArray[np.int64]
    labels: NDArray[np.int64]
    scores: NDArray[np.float64]


def make(shape: Shape, *, share: float = 1.0, seed: int = 0) -> Made:
    """A set of that shape, or of a share of its queries, with scores of a middling model."""
    rng = np.random.default_rng(seed)
    queries = max(int(shape.queries * share), 1)
    sizes = np.exp(rng.normal(np.log(shape.median), shape.sigma, queries)).round()
    sizes = sizes.clip(shape.shortest, shape.longest).astype(np.int64)
    labels = rng.choice(len(shape.labels), size=int(sizes.sum()), p=shape.labels)
    scores = rng.normal(size=len(labels)) + 0.3 * labels
    return Made(sizes, labels, scores)


def make_set(made: Made, seed: int) -> rf.RankingData:
    """Features of which a quarter knows something of the labels."""
    rng = np.random.default_rng(seed)
    features = np.empty((len(made.labels), FEATURES), np.float32)
    for column in range(FEATURES):
        values = rng.normal(size=len(made.labels))
        if column % 4 == 0:
            values += 0.02 * made.labels * (1 + column % 3)
        features[:, column] = np.exp(values) if column % 2 else values
    return rf.RankingData(features, made.labels, group=made.sizes)
