"""Compare rankers query by query: `rf.compare`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from rankforce.common.checks import check_weights
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.evaluation.comparison import Comparison, changes, contrast
from rankforce.evaluation.graded import GradedComparison
from rankforce.evaluation.judge import Judgement, check_systems, judge, missing_notes
from rankforce.evaluation.paired import PairedTest, adjust
from rankforce.evaluation.scorecard import Scorecard
from rankforce.measures.make import MetricLike
from rankforce.measures.make import metric as make_metric
from rankforce.measures.metric import Metric


@overload
def compare(
    systems: Mapping[str, Any],
    labels: Any,
    *,
    group: Any = ...,
    qid: Any = ...,
    metric: MetricLike = ...,
    baseline: str | None = ...,
    test: str = ...,
    alternative: str | None = ...,
    correction: str = ...,
    resamples: int = ...,
    confidence: float = ...,
    seed: int = ...,
    weights: Any = ...,
    missing: str = ...,
    threads: int = ...,
) -> Comparison: ...


@overload
def compare(
    systems: Mapping[str, Any],
    labels: Any,
    *,
    group: Any = ...,
    qid: Any = ...,
    metric: Scorecard,
    baseline: str | None = ...,
    test: str = ...,
    alternative: str | None = ...,
    correction: str = ...,
    resamples: int = ...,
    confidence: float = ...,
    seed: int = ...,
    weights: Any = ...,
    missing: str = ...,
    threads: int = ...,
) -> GradedComparison: ...


def compare(
    systems: Mapping[str, Any],
    labels: Any,
    *,
    group: Any = None,
    qid: Any = None,
    metric: MetricLike | Scorecard = "ndcg@10",
    baseline: str | None = None,
    test: str = "fisher",
    alternative: str | None = None,
    correction: str = "holm",
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    weights: Any = None,
    missing: str = "error",
    threads: int = 1,
) -> Comparison | GradedComparison:
    """Compare systems with the `baseline` (by default the first), paired by query.

    `labels` are one per row, or a dictionary of such by the name of their source, with `group` or
    `qid`, and a system is one score per row; or a `RankingData`, and a system is a model with
    `predict` or scores; or qrels, and a system is a run (dictionaries, paths of TREC files, objects
    of ranx or ir-measures). `weights` has one number per query. With an `rf.scorecard` as `metric`,
    there is a comparison for each of its tiers, and a verdict by their order.

    `test` is "fisher" (randomisation, two-sided), "permutation" (the same, one-sided: is the system
    better?), "t" or "bootstrap"; `alternative` ("two-sided", "better", "worse") changes its side.
    `correction` over the systems is "holm", "bh" (Benjamini and Hochberg) or "none". `missing` says
    what a judged query without a document in some run means: "error", "zero" or "skip". The outcome
    depends on `seed`, not on `threads` nor on the order of queries.

    >>> labels, sizes = [1, 0, 0, 1, 0, 1], [2, 2, 2]
    >>> a, b = [0, 1, 2, 3, 4, 5], [1, 0, 2, 3, 5, 4]
    >>> c = compare({"a": a, "b": b}, labels, group=sizes, metric="p@1", test="permutation")
    >>> round(c.means["b"], 4), c.p_values["b"]
    (0.6667, 0.75)
    """
    made = [make_metric(metric)] if not isinstance(metric, Scorecard) else metric.metrics
    check_systems(systems)
    base = _find_baseline(baseline, systems)
    rules = PairedTest.make(test, alternative, correction, resamples, confidence, seed)
    found = judge(
        systems,
        labels,
        metrics=made,
        group=group,
        qid=qid,
        weights=weights,
        missing=missing,
        threads=threads,
    )
    tiers = [_tier(number, found, base, rules, threads) for number in range(len(made))]
    return _grade(metric, tiers, found) if isinstance(metric, Scorecard) else tiers[0]


def _tier(
    number: int, found: Judgement, baseline: str, rules: PairedTest, threads: int
) -> Comparison:
    """The comparison by one of the metrics."""
    values = {name: value[number] for name, value in found.values.items()}
    if found.pool is not None and len(found.metrics) > 1:
        pool = found.pool.alone(number)
        found = found._replace(pool=pool, notes=missing_notes(pool))
    return _compare(values, found, found.metrics[number], baseline, rules, threads)


def _grade(card: Scorecard, tiers: list[Comparison], found: Judgement) -> GradedComparison:
    values, weights = found.values, found.weights
    base = values[tiers[0].baseline]
    verdicts = {
        name: card.verdict(base, values[name], weights=weights) for name in tiers[0].contrasts
    }
    return GradedComparison(card, tiers, verdicts, card.choose(values, weights=weights))


def compare_values(
    values: Mapping[str, ArrayLike],
    *,
    metric: MetricLike,
    query_ids: Any = None,
    weights: Any = None,
    baseline: str | None = None,
    test: str = "fisher",
    alternative: str | None = None,
    correction: str = "holm",
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 0,
    threads: int = 1,
) -> Comparison:
    """Compare systems whose values are known, one per query: means over seeds, say.

    `metric` tells what the values are; NaN is a query that does not count. The rest is as in
    `rf.compare`.

    >>> values = {"old": [0.5, 0.2, 0.4], "new": [0.6, 0.3, 0.4]}
    >>> compare_values(values, metric="ndcg@10", test="permutation").p_values
    {'new': 0.25}
    """
    made = make_metric(metric)
    check_systems(values, "values", "values")
    known = {name: np.array(value, dtype=np.float64) for name, value in values.items()}
    queries = next(iter(known.values())).size
    ids = np.arange(queries) if query_ids is None else np.asarray(query_ids)
    for name, found in (known | {"query_ids": ids}).items():
        if found.shape != (queries,):
            raise RankforceError(
                f"{name!r} has shape {found.shape}, but there are {queries} queries"
            )
        if name in known and np.isinf(found).any():
            query = ids[np.flatnonzero(np.isinf(found))[0]]
            raise RankforceError(f"{name!r} has an infinite value for query {query}")
    weight = None if weights is None else check_weights(weights, ids)
    rules = PairedTest.make(test, alternative, correction, resamples, confidence, seed)
    told = Judgement([made], {}, ids, weight, None, [])
    return _compare(known, told, made, _find_baseline(baseline, known), rules, threads)


def _find_baseline(baseline: str | None, systems: Mapping[str, Any]) -> str:
    names = list(systems)
    found = names[0] if baseline is None else baseline
    if found not in names:
        raise RankforceError(f"baseline {found!r} is none of the systems: {', '.join(names)}")
    return found


def _compare(
    values: dict[str, Floats],
    found: Judgement,
    metric: Metric,
    baseline: str,
    rules: PairedTest,
    threads: int,
) -> Comparison:
    counts = _counting(values, found, metric)
    sign = 1.0 if metric.higher_is_better else -1.0
    known = None if found.weights is None else found.weights[counts]
    contrasts = {
        name: contrast(rules, sign * changes(values[baseline], value)[counts], known, sign, threads)
        for name, value in values.items()
        if name != baseline
    }
    adjusted = adjust([one.p_value for one in contrasts.values()], rules.correction).tolist()
    pairs = zip(contrasts.items(), adjusted, strict=True)
    return Comparison(
        metric=metric,
        baseline=baseline,
        test=rules,
        values=values,
        query_ids=found.query_ids,
        weights=found.weights,
        contrasts={name: one._replace(adjusted=p) for (name, one), p in pairs},
        queries=int(counts.sum()),
        pool=found.pool,
        notes=found.notes,
    )


def _counting(values: dict[str, Floats], found: Judgement, metric: Metric) -> Any:
    """Which queries count; an error if those are not the same for every system."""
    names = list(values)
    is_missing = np.isnan(values[names[0]])
    for name in names[1:]:
        differ = np.flatnonzero(np.isnan(values[name]) != is_missing)
        if differ.size:
            query = differ[0]
            has, lacks = (names[0], name) if not is_missing[query] else (name, names[0])
            raise RankforceError(
                f"{metric.name} of query {found.query_ids[query]} is a number for system {has!r}, "
                f"but not for {lacks!r}: a query must count for every system or for none"
            )
    if is_missing.all():
        raise RankforceError(f"no query counts for {metric.name}: {metric.conventions}")
    return ~is_missing if found.weights is None else ~is_missing & (found.weights > 0)
