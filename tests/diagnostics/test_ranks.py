from __future__ import annotations

import numpy as np
import pytest

from rankforce.diagnostics import label_mix, rank_changes
from tests.diagnostics.test_coherence import random_queries
from tests.reference import order


def test_label_mix_is_the_mean_over_queries() -> None:
    scores, labels, sizes = random_queries(1)
    found = label_mix(scores, labels, group=sizes, top=4)
    shares = np.zeros((len(sizes), 4))
    for query, end in enumerate(np.cumsum(sizes)):
        own = slice(end - sizes[query], end)
        top = order(scores[own].tolist())[:4]
        for label in labels[own][top]:
            shares[query, int(label)] += 1 / len(top)
    assert found.labels == ["0", "1", "2", "3"]
    assert found.shares == pytest.approx(shares.mean(axis=0), rel=1e-12)


def test_rank_changes_count_positions() -> None:
    before, _, sizes = random_queries(2)
    after = before + np.random.default_rng(0).normal(0, 0.03, len(before))
    found = rank_changes(before, after, group=sizes, top=3)
    top, overall = [], []
    for query, end in enumerate(np.cumsum(sizes)):
        own = slice(end - sizes[query], end)
        old, new = order(before[own].tolist()), order(after[own].tolist())
        changed = [a != b for a, b in zip(old, new, strict=True)]
        top.append(np.mean(changed[:3]))
        overall.append(np.mean(changed))
    assert found.top == pytest.approx(np.mean(top), rel=1e-12)
    assert found.overall == pytest.approx(np.mean(overall), rel=1e-12)
    assert rank_changes(before, before, group=sizes) == (0.0, 0.0)


def test_empty_queries_do_not_count() -> None:
    with_empty = label_mix([1.0, 0.0], [1, 0], group=[0, 2, 0], top=1)
    assert with_empty.shares.tolist() == [0.0, 1.0]
    assert rank_changes([1.0, 0.0], [0.0, 1.0], group=[0, 2], top=1) == (1.0, 1.0)


def test_wrong_top() -> None:
    with pytest.raises(ValueError, match="top is 0: it must be an integer from 1 up"):
        label_mix([1.0], [1], top=0)
    with pytest.raises(ValueError, match=r"top is 1\.5"):
        rank_changes([1.0], [1.0], top=1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="score of row 1 is nan: scores must be finite"):
        rank_changes([1.0, 0.0], [1.0, np.nan])
