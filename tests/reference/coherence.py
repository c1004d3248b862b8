"""Coherence of forces (Marcuzzi et al. 2023, definition 3.1), and shares of forces by label."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .extended import false_and_missed
from .forces import logistic
from .ranking import Matrix, order


def violations(
    scores: Sequence[float],
    labels: Sequence[float],
    lam: Sequence[float],
    k: int,
    *,
    restricted: bool,
    missed: str = "deficit",
) -> list[tuple[int, int]]:
    """Rows (worse document, better one below it) whose forces push them apart."""
    ranked = order(scores)
    false, lacking = false_and_missed([labels[row] for row in ranked], k, missed)
    found = []
    for above, worse in enumerate(ranked):
        for below in range(above + 1, len(ranked)):
            better = ranked[below]
            is_wrong = labels[better] > labels[worse]
            if restricted:
                is_wrong = above in false and below in lacking
            if is_wrong and lam[worse] > lam[better]:
                found.append((worse, better))
    return found


def shares_of_force(
    W: Matrix, scores: Sequence[float], labels: Sequence[float], high: float
) -> dict[float, float]:
    """Svore et al. 2011, equation 11, as a ratio of sums over highly relevant documents j:
    the forces of pairs (j, k) on j by the label of k, over all of them.
    """
    n = len(scores)
    sums = dict.fromkeys(sorted(set(labels)), 0.0)
    for j in range(n):
        if labels[j] >= high:
            for k in range(n):
                sums[labels[k]] += W[j][k] * logistic(scores[j] - scores[k])  # j is pushed up
                sums[labels[k]] -= W[k][j] * logistic(scores[k] - scores[j])
    total = math.fsum(sums.values())
    return {label: value / total for label, value in sums.items()}


def shares_by_label(
    W: Matrix, scores: Sequence[float], labels: Sequence[float], high: float
) -> dict[float, float]:
    """Mean over highly relevant documents of the shares of force magnitudes by label."""
    n = len(scores)
    documents = []
    for row in range(n):
        if labels[row] < high:
            continue
        own = dict.fromkeys(labels, 0.0)
        for other in range(n):
            own[labels[other]] += W[row][other] * logistic(scores[row] - scores[other])
            own[labels[other]] += W[other][row] * logistic(scores[other] - scores[row])
        total = math.fsum(own.values())
        if total > 0:
            documents.append({label: value / total for label, value in own.items()})
    return {
        label: math.fsum(own[label] for own in documents) / max(len(documents), 1)
        for label in sorted(set(labels))
    }
