"""Random rankings: what all metrics keep."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rankforce.measures.make import metric, metrics
from rankforce.measures.metric import Metric, mean
from tests.property.test_forces import Floats, queries
from tests.reference.metrics import relevance
from tests.reference.ties import metric_of_scores

USUAL = settings(max_examples=60, deadline=None, derandomize=True)


OTHERS: dict[str, Any] = {
    "gain": st.sampled_from(["2^y-1", "y"]),
    "p": st.floats(0.3, 0.95),
    "max_label": st.just(64.0),
    "rel": st.sampled_from([0.25, 1.0, 2.0, 5.0]),
    "score_type": st.sampled_from(["float64", "float32"]),
}


@st.composite
def drawn(draw: Any) -> tuple[str, dict[str, Any]]:
    """Any metric of the registry, with any of its parameters, for any labels from 0 up."""
    entry = draw(st.sampled_from([entry for entry in metrics() if entry.name != "CNDCG"]))
    chosen = {"k": draw(st.integers(1, 50))} if entry.cutoff != "none" else {}
    for key in entry.parameters:
        if key in OTHERS and draw(st.booleans()):
            chosen[key] = draw(OTHERS[key])
    if entry.name == "ARP":
        chosen.pop("gain", None)  # 2^y - 1 is none of its forms
    chosen["ties"] = draw(st.sampled_from(entry.ties))
    if entry.over:
        chosen["over"] = draw(st.sampled_from(entry.over))
    return entry.name, chosen


def made_metrics() -> Any:
    return drawn().map(lambda named: metric(named[0], **named[1]))


@settings(USUAL, max_examples=200)
@given(drawn(), queries())
def test_any_query_equals_the_reference(
    named: tuple[str, dict[str, Any]], query: tuple[Floats, Floats]
) -> None:
    name, chosen = named
    scores, labels = query
    made = metric(name, **chosen)
    if name == "ERR":
        chosen.setdefault("max_label", labels.max())
    expected = metric_of_scores(name.lower(), scores.tolist(), labels.tolist(), **chosen)
    if not any(relevance(labels, chosen.get("rel"))):
        expected = float(made.no_relevant or 0)
    np.testing.assert_allclose(made(scores, labels)[0], expected, rtol=1e-12)


@USUAL
@given(made_metrics(), queries(), st.randoms(use_true_random=False))
def test_only_the_order_of_scores_counts(
    made: Metric, query: tuple[Floats, Floats], random: Any
) -> None:
    scores, labels = query
    if made.definition.single:
        scores = scores.astype(np.float32).astype(np.float64)
    _, rank = np.unique(scores, return_inverse=True)
    expected = made(scores, labels)
    assert made(rank.astype(np.float64) * 3.0 - 7.0, labels) == expected
    # Where nothing ties, or ties do not go by row, the order of rows does not matter either.
    if len(set(scores)) == len(scores) or made.definition.ties != "row":
        rows = random.sample(range(len(scores)), len(scores))
        np.testing.assert_allclose(made(scores[rows], labels[rows]), expected, rtol=1e-12)


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
