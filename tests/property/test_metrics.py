"""Random rankings: what all metrics keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce._metrics.average import mean
from rankforce._metrics.make import metric, metrics
from rankforce._metrics.metric import Metric
from tests import reference as ref
from tests.property.test_forces import Floats, queries

USUAL = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def made_metrics(draw: Any) -> Metric:
    """Any metric of the registry, with any cutoff, for any labels from 0 up."""
    entry = draw(st.sampled_from([entry for entry in metrics() if entry.name != "CNDCG"]))
    k = None if entry.cutoff == "none" else draw(st.integers(1, 50))
    return metric(entry.name, k=k)


@USUAL
@given(made_metrics(), queries())
def test_any_query_equals_the_reference(made: Metric, query: tuple[Floats, Floats]) -> None:
    scores, labels = query
    ordered = [float(labels[row]) for row in ref.order(list(scores))]
    name = made.name.partition("@")[0].partition("(")[0].lower()
    expected = ref.metric(name, ordered, k=made.k)
    if not labels.any():
        expected = float(made.no_relevant or 0)
    np.testing.assert_allclose(made(scores, labels)[0], expected, rtol=1e-12)


@USUAL
@given(made_metrics(), queries(), st.randoms(use_true_random=False))
def test_only_the_order_of_scores_counts(
    made: Metric, query: tuple[Floats, Floats], random: Any
) -> None:
    scores, labels = query
    _, rank = np.unique(scores, return_inverse=True)
    expected = made(scores, labels)
    assert made(rank.astype(np.float64) * 3.0 - 7.0, labels) == expected
    if len(set(scores)) == len(scores):  # without ties the order of rows does not matter either
        rows = random.sample(range(len(scores)), len(scores))
        assert made(scores[rows], labels[rows]) == expected


@USUAL
@given(made_metrics(), queries())
def test_no_ranking_beats_the_perfect_one(made: Metric, query: tuple[Floats, Floats]) -> None:
    scores, labels = query
    ready = made.prepare(labels)
    value, best = ready.values(scores)[0], ready.perfect()[0]
    allowed = 1e-12 * abs(best)
    assert value <= best + allowed if made.higher_is_better else value >= best - allowed


@USUAL
@given(st.lists(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1e300)), min_size=1, max_size=30))
def test_mean_lies_among_the_values_that_count(pairs: list[tuple[float, float]]) -> None:
    values, weights = np.array(pairs).T
    counted = values[weights > 0]
    got = mean(values, weights)
    assert counted.min() <= got <= counted.max() if counted.size else np.isnan(got)
