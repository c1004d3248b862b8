"""Made-up sets with the list lengths and label mix of known ones (no features needed here)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Shape(NamedTuple):
    """Facts of a training set; Adalia et al. 2025, Table 2, and Marcuzzi et al. 2023, Table 3."""

    title: str
    queries: int
    median: float
    shortest: int
    longest: int
    sigma: float  # of the logarithm of list lengths
    labels: tuple[float, ...]


SHAPES = {
    "mslr": Shape("MSLR-WEB30K", 18_919, 110, 1, 1_251, 0.48, (0.52, 0.32, 0.13, 0.02, 0.01)),
    "istella-s": Shape("Istella-S", 19_245, 124, 3, 180, 0.60, (0.89, 0.02, 0.04, 0.03, 0.02)),
    "yahoo": Shape("Yahoo", 19_944, 19, 1, 139, 0.65, (0.26, 0.36, 0.28, 0.08, 0.02)),
    # A tenth of its queries: 26.8 million documents do not fit a small machine's LightGBM.
    "istella-x": Shape(
        "Istella-X / 10", 1_000, 2_679, 100, 10_000, 0.10, (0.9983, 0.0005, 0.0005, 0.0004, 0.0003)
    ),
}


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
