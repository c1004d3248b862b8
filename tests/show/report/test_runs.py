"""Rankings that leave judged documents out, or have documents that nobody judged."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from rankforce.data.queries import index_queries
from rankforce.measures.make import metric
from rankforce.measures.scoreboard import Judged, Scoreboard

Run = dict[str, dict[str, float]]
Qrels = dict[str, dict[str, int]]
CUTOFFS = (1, 3, 10, 100)


def board_of(metrics: Any, run: Run, qrels: Qrels) -> tuple[Scoreboard, list[float]]:
    """Rows are the documents of the run, and their scores; unjudged documents are irrelevant."""
    ranked = [run.get(query, {}) for query in qrels]
    labels = [
        float(qrels[q].get(d, 0)) for q, docs in zip(qrels, ranked, strict=True) for d in docs
    ]
    judged = np.array([float(y) for grades in qrels.values() for y in grades.values()])
    pool = Judged(
        judged,
        index_queries(len(judged), group=[len(grades) for grades in qrels.values()]),
        np.array([len({*docs, *qrels[q]}) for q, docs in zip(qrels, ranked, strict=True)]),
    )
    index = index_queries(len(labels), group=[len(docs) for docs in ranked])
    board = Scoreboard(metrics, labels, index=index, judged=pool)
    return board, [score for docs in ranked for score in docs.values()]


def values_of(metrics: Any, run: Run, qrels: Qrels) -> Any:
    board, scores = board_of(metrics, run, qrels)
    return board.values(scores)


def document(number: int) -> str:
    """Ids that fall with the number: trec_eval ranks tied documents by falling id."""
    return f"d{999 - number}"


def made_up(seed: int = 0) -> tuple[Run, Qrels]:
    """Each query ranks and judges some of 40 documents, drawn by themselves."""
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for number in range(60):
        is_ranked, is_judged = (rng.uniform(size=40) < rng.uniform() for _ in range(2))
        scores = rng.normal(size=40) if number % 2 else rng.integers(0, 5, 40) / 4.0
        labels = rng.choice([0, 0, 1, 2, 3], 40) * (number % 7 > 0)
        is_judged[number % 40] = True  # a query that nobody judged is none of trec_eval's
        run[str(number)] = {document(d): float(scores[d]) for d in np.flatnonzero(is_ranked)}
        qrels[str(number)] = {document(d): int(labels[d]) for d in np.flatnonzero(is_judged)}
    run["nothing retrieved"], qrels["nothing retrieved"] = {}, {"a": 1, "b": 2}
    run["all unjudged"], qrels["all unjudged"] = {"y": 2.0, "x": 1.0}, {"a": 1, "b": 0}
    run["all but the best"], qrels["all but the best"] = {"y": 2.0}, {"y": 1, "x": 3}
    return run, qrels


NAMES = [
    *("ndcg", "map", "recip_rank"),
    *(f"{name}_{k}" for name in ("ndcg_cut", "map_cut", "P", "recall") for k in CUTOFFS),
]


def trec_eval(run: Run, qrels: Qrels, level: int = 1) -> dict[str, list[float]]:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    depths = ",".join(map(str, CUTOFFS))
    asked = {f"{name}.{depths}" for name in ("ndcg_cut", "map_cut", "P", "recall")}
    asked |= {"ndcg", "map", "recip_rank"}
    found = pytrec_eval.RelevanceEvaluator(qrels, asked, relevance_level=level).evaluate(run)
    return {name: [found[query][name] for query in qrels] for name in NAMES}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_trec_eval_agrees(seed: int) -> None:
    run, qrels = made_up(seed)
    expected = trec_eval(run, qrels)
    made = [metric(name, preset="trec_eval") for name in NAMES]
    for name, values in zip(NAMES, values_of(made, run, qrels), strict=True):
        np.testing.assert_allclose(values, expected[name], rtol=1e-14, err_msg=name)


def test_trec_eval_agrees_on_the_least_relevant_label() -> None:
    run, qrels = made_up(3)
    expected = trec_eval(run, qrels, level=2)
    names = [name for name in NAMES if "ndcg" not in name]
    made = [metric(name, preset="trec_eval", rel=2) for name in names]
    for name, values in zip(names, values_of(made, run, qrels), strict=True):
        np.testing.assert_allclose(values, expected[name], rtol=1e-14, err_msg=name)


def test_the_numbers_are_those_of_a_ranking_with_the_rest_at_its_end() -> None:
    """For metrics that look at the top, where that is not beyond the ranked documents."""
    names = ["ndcg@3", "ndcg@3(ties=average)", "map@3", "recall@3", "p@3", "p@3(over=k)", "mrr@3"]
    names += ["err@3", "bndcg@3(rel=2)", "map@3(rel=2, over=relevant)", "dcg@3(gain=y)"]
    run, qrels = made_up(4)
    run = {query: docs for query, docs in run.items() if len(docs) >= 3}
    qrels = {query: qrels[query] for query in run}
    got = values_of(names, run, qrels)
    rows, labels, sizes = [], [], []
    for query, docs in run.items():
        rest = [d for d in qrels[query] if d not in docs]
        rows += [*docs.values(), *(-9.0 - i for i in range(len(rest)))]
        labels += [qrels[query].get(d, 0) for d in [*docs, *rest]]
        sizes.append(len(docs) + len(rest))
    expected = Scoreboard(names, labels, group=sizes).values(rows)
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_the_ideal_is_over_all_judged_documents() -> None:
    run, qrels = {"q": {"a": 2.0, "x": 1.0}}, {"q": {"b": 2, "a": 1, "c": 0}}
    ideal = 3.0 + 1.0 / math.log2(3.0)
    names = ["ndcg", "dcg", "map", "recall@5", "p@3", "p@10", "p@10(over=k)", "mrr"]
    board, scores = board_of(names, run, qrels)
    got = dict(zip(names, board.values(scores)[:, 0], strict=True))
    expected = [1 / ideal, 1.0, (1 / 1) / 2, 1 / 2, 1 / 3, 1 / 4, 1 / 10, 1.0]
    assert got == pytest.approx(dict(zip(names, expected, strict=True)), rel=1e-15)
    perfect = dict(zip(names, board.perfect()[:, 0], strict=True))
    expected = [1.0, ideal, 1.0, 1.0, 2 / 3, 2 / 4, 2 / 10, 1.0]
    assert perfect == pytest.approx(dict(zip(names, expected, strict=True)), rel=1e-15)


def test_a_query_with_nothing_retrieved() -> None:
    names = ["ndcg@5", "dcg", "map", "mrr", "p@5", "recall@5", "err", "rbp"]
    run, qrels = {"q": {"a": 1.0}, "empty": {}}, {"q": {"a": 2}, "empty": {"b": 1, "c": 2}}
    got = values_of(names, run, qrels)
    assert (got[:, 0] > 0).all()
    assert got[:, 1].tolist() == [0.0] * len(names)
    # Without a relevant document it counts what such a query counts, ranked or not.
    got = values_of(names, {"q": {}}, {"q": {"a": 0}})
    assert got[:, 0].tolist() == [1.0] + [0.0] * 7
    assert np.isnan(values_of(["ndcg(no_relevant=skip)"], {"q": {}}, {"q": {"a": 0}})).all()
    assert np.isnan(values_of(names, {"q": {}}, {"q": {}})).all()


def test_relevance_is_that_of_the_judged_documents() -> None:
    """No relevant document is ranked, but there is one: that is 0, not a query without."""
    run, qrels = {"q": {"x": 1.0}}, {"q": {"a": 1}}
    assert values_of(["ndcg", "ndcg(no_relevant=skip)"], run, qrels).tolist() == [[0.0], [0.0]]
    with_rel = values_of(["map(rel=2, no_relevant=skip)"], run, qrels)
    assert np.isnan(with_rel).all()


def test_err_takes_the_largest_judged_label() -> None:
    run, qrels = {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 3}}
    assert values_of(["err"], run, qrels).tolist() == [[(2 - 1) / 2**3]]
    qrels = {"q": {"a": 1}, "other": {"b": 3}}
    assert values_of(["err"], run, qrels)[0].tolist() == [(2 - 1) / 2**3, 0.0]


def test_random_is_the_mean_over_the_orders_of_what_is_ranked() -> None:
    names = ["ndcg@2", "map@2(rel=2)", "mrr", "err@3", "p@2(over=k)", "recall@3"]
    qrels = {"q": {"a": 1, "b": 3, "c": 0, "e": 2, "f": 4}}
    documents = ["a", "x", "b", "c", "e"]
    board, _ = board_of(names, {"q": dict.fromkeys(documents, 0.0)}, qrels)
    orders = itertools.permutations(map(float, range(len(documents))))
    every = np.stack([board.values(scores)[:, 0] for scores in orders])
    np.testing.assert_allclose(board.random()[:, 0], every.mean(axis=0), rtol=1e-13)


def test_all_documents_judged_and_ranked_is_nothing_special() -> None:
    names = ["ndcg@3", "map", "p@3", "recall@3", "mrr", "err", "arp", "rbp(rel=2)"]
    run, _ = made_up(5)
    rng = np.random.default_rng(5)
    qrels = {q: {d: int(rng.integers(0, 4)) for d in sorted(docs)} for q, docs in run.items()}
    board, scores = board_of(names, run, qrels)
    usual = Scoreboard(
        names,
        [qrels[q][d] for q, docs in run.items() for d in docs],
        group=[len(docs) for docs in run.values()],
    )
    np.testing.assert_array_equal(board.values(scores), usual.values(scores))
    np.testing.assert_array_equal(board.perfect(), usual.perfect())
    np.testing.assert_array_equal(board.random(), usual.random())
