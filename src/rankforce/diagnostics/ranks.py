"""What stands at the top, and what moves (Svore et al. 2011, Figures 3b and 4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_whole
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex, index_queries
from rankforce.diagnostics.grades import Grades, read_grades
from rankforce.diagnostics.view import rank_rows
from rankforce.forces.ready import check_scores
from rankforce.measures.labels import index_of


class LabelMix(NamedTuple):
    """Which labels the top positions have."""

    labels: list[str]
    shares: Floats  # one for each label; they add up to 1


class RankChanges(NamedTuple):
    """Share of positions that have another document, mean over queries."""

    top: float
    overall: float


def label_mix(
    scores: ArrayLike,
    labels: Any,
    *,
    top: int = 3,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    threads: int = 1,
) -> LabelMix:
    """Share of each label among the first `top` documents, mean over queries.

    >>> label_mix([3, 2, 1, 0], [2, 0, 2, 0], top=3)
    LabelMix(labels=['0', '2'], shares=array([0.33333333, 0.66666667]))
    """
    index = index_of(labels, group=group, qid=qid)
    values = check_scores(scores, int(index.pointer[-1]))
    grades = read_grades(None, labels, index)
    ranked = rank_rows(values, index, threads)
    return find_label_mix(ranked, index, grades, check_whole("top", top, least=1))


def rank_changes(
    before: ArrayLike,
    after: ArrayLike,
    *,
    top: int = 3,
    group: ArrayLike | None = None,
    qid: ArrayLike | None = None,
    threads: int = 1,
) -> RankChanges:
    """Share of positions whose document is another one than before, in the top and overall.

    >>> rank_changes([4, 3, 2, 1], [4, 3, 1, 2], top=2)
    RankChanges(top=0.0, overall=0.5)
    """
    rows = len(np.asarray(before))
    index = index_queries(rows, group=group, qid=qid)
    old, new = (rank_rows(check_scores(scores, rows), index, threads) for scores in (before, after))
    return find_rank_changes(old, new, index, check_whole("top", top, least=1))


def find_label_mix(
    ranked: NDArray[np.int64], index: QueryIndex, grades: Grades, top: int
) -> LabelMix:
    """The label mix of rows by rank."""
    kept = _ranks(index) < top
    query = np.repeat(np.arange(len(index.sizes)), index.sizes)[kept]
    weight = 1.0 / np.asarray(np.minimum(index.sizes, top))[query]
    names = grades.names
    total = np.bincount(grades.group[ranked[kept]], weight, len(names))
    return LabelMix(names, total / max(int(np.count_nonzero(index.sizes)), 1))


def find_rank_changes(
    before: NDArray[np.int64], after: NDArray[np.int64], index: QueryIndex, top: int
) -> RankChanges:
    """The changes between rows by rank."""
    changed = before != after
    in_top = _ranks(index) < top
    query = np.repeat(np.arange(len(index.sizes)), index.sizes)
    count = max(np.count_nonzero(index.sizes), 1)
    weight = 1.0 / np.maximum(index.sizes, 1)[query]
    weight_top = 1.0 / np.maximum(np.minimum(index.sizes, top), 1)[query]
    return RankChanges(
        float(np.sum(weight_top[changed & in_top]) / count),
        float(np.sum(weight[changed]) / count),
    )


def _ranks(index: QueryIndex) -> NDArray[np.int64]:
    """Rank of each place, from 0."""
    return np.asarray(np.arange(index.pointer[-1]) - np.repeat(index.pointer[:-1], index.sizes))
