"""Presets against the packages that they are named after, query by query.

The packages add up in another order, and some multiply by the inverse of the ideal value: for lists
of 200 documents NDCG differs by up to 17 units of the last place, MAP by 5 at most, and P, Recall
and MRR by none.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce.measures.make import metric
from rankforce.measures.metric import mean

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")
sklearn = pytest.importorskip("sklearn.metrics")
pytrec_eval = pytest.importorskip("pytrec_eval")
ir_measures = pytest.importorskip("ir_measures")

Floats = NDArray[np.float64]
TOLERANCE = 1e-14
CUTOFFS = (1, 3, 10, 50, 1000)  # the last is beyond every query
SIZES = (1, 2, 3, 5, 8, 13, 40, 200)


class Query(NamedTuple):
    """Scores and labels of one query."""

    scores: Floats
    labels: Floats


# How scores may tie: not at all, in groups, all, in single precision only, by less than that.
SCORES: list[Callable[[np.random.Generator, int], Floats]] = [
    lambda rng, n: rng.normal(size=n),
    lambda rng, n: rng.integers(0, 4, n) / 2.0,
    lambda rng, n: np.full(n, 0.1),
    lambda rng, n: 1.0 + rng.integers(0, 3, n) / 4.0 + 1e-9 * rng.normal(size=n),
    lambda rng, n: 1.0 + rng.integers(0, 3, n) * np.finfo(np.float64).eps,
]
LABELS: list[Callable[[np.random.Generator, int], Floats]] = [
    lambda rng, n: rng.choice([0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0], n),
    lambda rng, n: rng.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], n),
    lambda rng, n: rng.integers(1, 5, n).astype(np.float64),  # relevant documents only
    lambda rng, n: np.zeros(n),  # none
]


def make_queries() -> list[Query]:
    rng = np.random.default_rng(0)
    return [Query(s(rng, n), y(rng, n)) for n in SIZES for s in SCORES for y in LABELS]


QUERIES = make_queries()
BINARY = [Query(scores, np.minimum(labels, 1.0)) for scores, labels in QUERIES]


def our_values(name: str, preset: str, queries: Sequence[Query], **parameters: Any) -> Floats:
    return metric(name, preset=preset, **parameters)(
        np.concatenate([query.scores for query in queries]),
        np.concatenate([query.labels for query in queries]),
        group=[len(query.labels) for query in queries],
    )


def assert_same(got: Floats | float, expected: Sequence[float] | float) -> None:
    np.testing.assert_allclose(got, expected, rtol=TOLERANCE, atol=0.0)


def test_the_queries_are_those_that_tell_tools_apart() -> None:
    """Single precision, ties, and queries without relevant document all change something."""
    for first, second in (
        ("mrr", "mrr(score_type=float32)"),
        ("map", "map(ties=last)"),
        ("ndcg", "ndcg(ties=average)"),
        ("ndcg", "ndcg@50"),
        ("ndcg", "ndcg(no_relevant=0)"),
    ):
        values = [
            np.array([metric(name)(*query)[0] for query in QUERIES]) for name in (first, second)
        ]
        assert (np.abs(values[0] - values[1]) > 0.01).sum() > 5


# LightGBM: its metrics of scores given as `init_score`, before any tree.


def lightgbm_set(
    queries: Sequence[Query], weights: Sequence[float] | None = None, **more: Any
) -> Any:
    sizes = [len(query.labels) for query in queries]
    return lgb.Dataset(
        np.zeros((sum(sizes), 1)),
        np.concatenate([query.labels for query in queries]),
        group=sizes,
        init_score=np.concatenate([query.scores for query in queries]),
        weight=None if weights is None else np.repeat(weights, sizes),
        params={"verbosity": -1, "feature_pre_filter": False},
        **more,
    )


def lightgbm_values(*sets: Sequence[Query], weights: Any = None) -> dict[str, list[float]]:
    """Each metric of each set, which is a mean over its queries."""
    train = lightgbm_set(sets[0])
    settings = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS}
    booster = lgb.Booster(settings | {"verbosity": -1, "num_threads": 1}, train)
    for number, queries in enumerate(sets):
        booster.add_valid(lightgbm_set(queries, weights, reference=train), str(number))
    found: dict[str, list[float]] = {}
    for _, name, value, *_ in booster.eval_valid():
        found.setdefault(name, []).append(float(value))
    return found


@functools.cache
def lightgbm_per_query() -> dict[str, list[float]]:
    return lightgbm_values(*([query] for query in QUERIES))


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_lightgbm(name: str, k: int) -> None:
    expected = lightgbm_per_query()[f"{name}@{k}"]
    assert_same(our_values(f"{name}@{k}", "lightgbm", QUERIES), expected)


def test_lightgbm_means() -> None:
    weights = np.random.default_rng(1).integers(1, 40, len(QUERIES)) / 8.0
    plain, weighted = lightgbm_values(QUERIES), lightgbm_values(QUERIES, weights=weights)
    for k in CUTOFFS:
        for name in (f"ndcg@{k}", f"map@{k}"):
            assert_same(mean(our_values(name, "lightgbm", QUERIES)), plain[name][0])
        expected = weighted[f"map@{k}"][0]
        assert_same(mean(our_values(f"map@{k}", "lightgbm", QUERIES), weights), expected)
    relevant = [query for query in QUERIES if query.labels.any()]
    weights = weights[: len(relevant)]
    expected = lightgbm_values(relevant, weights=weights)["ndcg@10"][0]
    assert_same(mean(our_values("ndcg@10", "lightgbm", relevant), weights), expected)


# A perfect ranking, one without relevant document, and one whose second document is relevant.
THREE = [Query(np.array([2.0, 1.0]), np.array(y)) for y in ([1.0, 0.0], [0.0, 0.0], [0.0, 1.0])]
THREE_NDCG = [1.0, 1.0, 1.0 / math.log2(3.0)]


@pytest.mark.parametrize("weight", [0.125, 0.5, 1.0, 8.0])
def test_lightgbm_forgets_the_weight_of_a_query_without_relevant_document(weight: float) -> None:
    """Its NDCG counts such a query as 1 whatever its weight, and so exceeds 1; ours cannot."""
    weights = [1.0, weight, 1.0]
    theirs = lightgbm_values(THREE, weights=weights)["ndcg@10"][0]
    assert_same(theirs, (THREE_NDCG[0] + 1.0 + THREE_NDCG[2]) / sum(weights))
    assert (theirs > 1.0) == (weight == 0.125 or weight == 0.5)
    ours = mean(our_values("ndcg@10", "lightgbm", THREE), weights)
    assert_same(ours, (THREE_NDCG[0] + weight + THREE_NDCG[2]) / sum(weights))
    assert 0.0 <= ours <= 1.0


# XGBoost: its metrics of scores given as `base_margin`.


def xgboost_values(
    queries: Sequence[Query], metrics: Sequence[str], weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Each metric as a mean over the queries."""
    sizes = [len(query.labels) for query in queries]
    data = xgb.DMatrix(
        np.zeros((sum(sizes), 1)),
        label=np.concatenate([query.labels for query in queries]),
        group=sizes,
        base_margin=np.concatenate([query.scores for query in queries]),
        weight=weights,
    )
    settings = {"objective": "rank:ndcg", "eval_metric": list(metrics), "nthread": 1}
    line = xgb.Booster(settings, [data]).eval_set([(data, "e")], 0)
    found = re.findall(r"\te-(\S+):(\S+)", line)
    return {name: float(value) for name, value in found}


def forms(name: str, minus: Sequence[str] = ("", "-")) -> list[str]:
    return [f"{name}{k}{end}" for k in ("", *(f"@{k}" for k in CUTOFFS)) for end in minus]


@functools.cache
def xgboost_per_query(name: str) -> list[dict[str, float]]:
    queries = QUERIES if name == "ndcg" else BINARY  # it has MAP and P for binary labels only
    asked = forms(name, ("",) if name == "pre" else ("", "-"))
    return [xgboost_values([query], asked) for query in queries]


@pytest.mark.parametrize("form", [*forms("ndcg"), *forms("map"), *forms("pre", ("",))])
def test_xgboost(form: str) -> None:
    name = re.split("[@-]", form)[0]
    expected = [values[form] for values in xgboost_per_query(name)]
    queries = QUERIES if name == "ndcg" else BINARY
    assert_same(our_values(form, "xgboost", queries), expected)


def test_xgboost_without_cutoff_looks_at_32_documents() -> None:
    assert metric("ndcg", preset="xgboost").name == "NDCG@32(xgboost)"
    assert metric("ndcg@50", preset="xgboost").k == 50
    whole = [metric("ndcg", score_type="float32")(*query)[0] for query in QUERIES]
    theirs = [values["ndcg"] for values in xgboost_per_query("ndcg")]
    assert np.abs(np.array(whole) - np.array(theirs)).max() > 0.01


def test_xgboost_means() -> None:
    weights = np.random.default_rng(2).integers(1, 40, len(BINARY)) / 8.0
    names = ["ndcg@10", "map@10", "pre@10", "ndcg@10-", "map@10-"]
    for name, expected in xgboost_values(BINARY, names).items():
        assert_same(mean(our_values(name, "xgboost", BINARY)), expected)
    for name, expected in xgboost_values(BINARY, names[1:], weights).items():
        assert_same(mean(our_values(name, "xgboost", BINARY), weights), expected)


def test_xgboost_forgets_the_weight_as_well() -> None:
    """As LightGBM does; but it refuses what exceeds 1."""
    theirs = xgboost_values(THREE, ["ndcg@10"], [1.0, 8.0, 1.0])["ndcg@10"]
    assert_same(theirs, (THREE_NDCG[0] + 1.0 + THREE_NDCG[2]) / 10.0)
    with pytest.raises(
        xgb.core.XGBoostError, match="might be caused by invalid query group weight"
    ):
        xgboost_values(THREE, ["ndcg@10"], [1.0, 0.125, 1.0])
    ours = mean(our_values("ndcg@10", "xgboost", THREE), [1.0, 0.125, 1.0])
    assert_same(ours, (THREE_NDCG[0] + 0.125 + THREE_NDCG[2]) / 2.125)


# scikit-learn, which has NDCG for two documents and more.

PAIRS = [query for query in QUERIES if len(query.labels) > 1]


@pytest.mark.parametrize("k", [None, *CUTOFFS])
@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_scikit_learn(name: str, k: int | None) -> None:
    score = {"ndcg": sklearn.ndcg_score, "dcg": sklearn.dcg_score}[name]
    expected = [score([labels], [scores], k=k) for scores, labels in PAIRS]
    assert_same(our_values(name, "sklearn", PAIRS, k=k), expected)


def test_scikit_learn_average_precision() -> None:
    relevant = [query for query in QUERIES if query.labels.any()]
    expected = [sklearn.average_precision_score(labels > 0, s) for s, labels in relevant]
    got = our_values("map", "sklearn", relevant)
    assert_same(got, expected)
    # Where all documents are relevant, the other function says 1 and warns of nothing.
    mixed = [query for query in relevant if not query.labels.all()]
    ranking = sklearn.label_ranking_average_precision_score
    expected = [ranking([labels > 0], [scores]) for scores, labels in mixed]
    assert_same(our_values("map", "sklearn", mixed), expected)


def test_scikit_learn_average_precision_without_relevant_document() -> None:
    with pytest.warns(UserWarning, match="No positive class found"):
        theirs = sklearn.average_precision_score([0, 0, 0], [1.0, 2.0, 3.0])
    assert metric("map", preset="sklearn")([1.0, 2.0, 3.0], [0, 0, 0])[0] == theirs == 0.0


def test_scikit_learn_weighted_means() -> None:
    queries = [query for query in QUERIES if len(query.labels) == 40]
    weights = np.random.default_rng(3).uniform(size=len(queries))
    scores, labels = (np.stack(part) for part in zip(*queries, strict=True))
    for k in (None, 5):
        expected = sklearn.ndcg_score(labels, scores, k=k, sample_weight=weights)
        assert_same(mean(our_values("ndcg", "sklearn", queries, k=k), weights), expected)


# trec_eval, which puts tied documents in the falling order of their ids.


def trec(values: Floats, kind: type) -> dict[str, Any]:
    """Values by document id, where ids fall from row to row."""
    return {f"d{99999 - row}": kind(value) for row, value in enumerate(values)}


RUN = {str(i): trec(query.scores, float) for i, query in enumerate(QUERIES)}
QRELS = {str(i): trec(query.labels, int) for i, query in enumerate(QUERIES)}
DEPTHS = ",".join(map(str, CUTOFFS))
TREC_MEASURES = [
    *("ndcg", "map", "recip_rank"),
    *(f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "P", "recall") for k in CUTOFFS),
]


IR_MEASURES = [
    *("nDCG", "nDCG@10", "AP", "AP@10", "AP(rel=2)@10", "P@5", "P(rel=2)@5"),
    *("R@100", "R(rel=2)@5", "RR", "RR(rel=2)"),
]


@functools.cache
def trec_values(level: int) -> dict[str, list[float]]:
    cut = {f"{name}.{DEPTHS}" for name in ("ndcg_cut", "map_cut", "P", "recall")}
    asked = {"ndcg", "map", "recip_rank"} | cut
    results = pytrec_eval.RelevanceEvaluator(QRELS, asked, relevance_level=level).evaluate(RUN)
    return {name: [results[query][name] for query in RUN] for name in TREC_MEASURES}


@pytest.mark.parametrize("name", TREC_MEASURES)
def test_trec_eval(name: str) -> None:
    assert_same(our_values(name, "trec_eval", QUERIES), trec_values(1)[name])
    if "ndcg" not in name:  # trec_eval's NDCG takes every grade, whatever the level
        assert_same(our_values(name, "trec_eval", QUERIES, rel=2), trec_values(2)[name])


# From Python 3.12 on, that is told of how ir_measures reads a name.
@pytest.mark.filterwarnings("ignore:.* removed in Python 3.14:DeprecationWarning")
@pytest.mark.parametrize("text", IR_MEASURES)
def test_ir_measures_by_its_own_names(text: str) -> None:
    measure = ir_measures.parse_measure(text)
    found = {m.query_id: m.value for m in ir_measures.iter_calc([measure], QRELS, RUN)}
    got = our_values(text, "trec_eval", QUERIES)
    assert_same(got, [found[query] for query in RUN])
    assert_same(mean(got), ir_measures.calc_aggregate([measure], QRELS, RUN)[measure])
    assert metric(str(measure)) == metric(text)
