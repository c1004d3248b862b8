"""The same model, byte for byte, at any number of threads; what the order of rows may change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.threads import ROWS
from rankforce.data.queries import index_queries
from rankforce.training.forces import Forces, order_within, shuffle_ties
from rankforce.training.settings import make_settings

SIZE, QUERIES = 25, 2700


def make_big() -> rf.RankingData:
    """More rows than two blocks have, so that sums over blocks are at stake."""
    rng = np.random.default_rng(0)
    rows = SIZE * QUERIES
    features = rng.normal(size=(rows, 5)).astype(np.float32)
    features[:, 3] = rng.integers(0, 30, rows)
    features[rng.random((rows, 5)) < 0.05] = np.nan
    signal = np.nan_to_num(features[:, 0]) + (features[:, 3] % 7 == 2)
    labels = np.clip(np.round(signal + rng.normal(size=rows)), 0, 4)
    return rf.RankingData(features, labels, qid=np.repeat(np.arange(QUERIES), SIZE))


BIG = make_big()
VALID = rf.make_data("mslr", queries=10, seed=2)
PARAMS: dict[str, Any] = {
    "n_estimators": 3,
    "num_leaves": 8,
    "learning_rate": 0.3,
    "seed": 1,
    "k": 10,
    "progress": False,
}
RUNS: dict[str, dict[str, Any]] = {
    "quantised": {},
    "plain": {"quantised": False},
    "rows": {"subsample": 0.5},
    "queries": {"subsample": 0.5, "subsample_by": "query"},
    "columns": {"colsample_bytree": 0.6},
    "columns of nodes": {"colsample_bynode": 0.6},
    "exact-newton": {"step": "exact-newton"},
    "exact-newton, plain, rows": {"step": "exact-newton", "quantised": False, "subsample": 0.5},
    "random objective": {"objective": "lambdamart-ex random"},
    "list": {"objective": "xendcg"},
    "list, exact-newton": {"objective": "xendcg", "step": "exact-newton"},
    "std": {"norm": "std"},
    "regressor": {"base": "regressor", "base_estimators": 2},
}


def test_there_are_several_blocks_of_many_rows() -> None:
    assert BIG.rows > 2 * ROWS
    assert ROWS > 10_000, "a file that was imported changed it"


def text(run: dict[str, Any], threads: int, **given: Any) -> str:
    ranker = rf.Ranker(**PARAMS | run, threads=threads)
    if given:
        ranker.fit(BIG.features, BIG.labels, qid=BIG.qid, **given)
    else:
        ranker.fit(BIG)
    return ranker.model_.text()


QUICK = ("plain",)  # each takes many seconds where others want the cores too


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, run in RUNS.items()
    ],
)
def test_same_model_at_any_number_of_threads(run: dict[str, Any]) -> None:
    one = text(run, 1)
    assert one.count("Tree=") >= PARAMS["n_estimators"]
    assert text(run, 2) == one
    assert text(run, 3) == one


@pytest.mark.slow
def test_same_model_with_categories_and_weights() -> None:
    weight = np.random.default_rng(1).uniform(0.5, 2.0, BIG.rows)
    texts = [
        text({}, threads, categorical_feature=[3], sample_weight=weight) for threads in (1, 2, 3)
    ]
    assert "cat_threshold" in texts[0]
    assert texts[1:] == texts[:1] * 2


def test_same_scores_and_histories() -> None:
    data = rf.make_data("mslr", queries=12, seed=1)
    rankers = [
        rf.Ranker(**PARAMS, threads=threads).fit(data, eval_set=[VALID, BIG_LIKE])
        for threads in (1, 2, 3)
    ]
    for other in rankers[1:]:
        assert other.evals_result_ == rankers[0].evals_result_
        assert np.array_equal(other.predict(BIG_LIKE), rankers[0].predict(BIG_LIKE))


BIG_LIKE = rf.make_data("mslr", queries=40, seed=4)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [None, 0, -1])
def test_all_cores_make_the_same_model(threads: int | None) -> None:
    assert text({}, threads) == text({}, 1)  # type: ignore[arg-type]


# The order of rows. What training/forces.py promises: the seeded order of ties depends on the seed,
# the query's id and the place of a row within its query, not on where the query stands.


def move_queries(qid: Any, seed: int) -> Any:
    """Rows in another order: whole queries move, rows inside a query stay in theirs."""
    order = np.random.default_rng(seed).permutation(np.unique(qid))
    return np.concatenate([np.flatnonzero(qid == one) for one in order])


def tie_order(qid: Any, seed: int) -> dict[int, list[int]]:
    """For each query, places of its rows in the order that decides ties."""
    index = shuffle_ties(index_queries(len(qid), qid=qid), seed)
    found = {}
    for number in range(len(index.sizes)):
        rows = index.row[index.pointer[number] : index.pointer[number + 1]]
        own = np.flatnonzero(qid == qid[rows[0]])
        found[int(qid[rows[0]])] = np.searchsorted(own, rows).tolist()
    return found


@pytest.mark.parametrize("queries", [0, 1, 2, 7, 300])
@pytest.mark.parametrize("most", [1, 3, 2**20, 2**64 - 1])  # the few lowest bits alone differ
def test_one_sort_orders_as_two_do(queries: int, most: int) -> None:
    rng = np.random.default_rng(queries)
    query = np.repeat(np.arange(queries), rng.integers(0, 40, queries))
    draw = rng.integers(0, most, len(query), dtype=np.uint64, endpoint=True)
    assert order_within(query, draw).tolist() == np.lexsort((draw, query)).tolist()


QID = np.repeat([12, 3, 44, 7, 5, 100], [9, 30, 1, 2, 15, 40])


@pytest.mark.parametrize("seed", [0, 1, 77])
def test_ties_do_not_depend_on_where_a_query_stands(seed: int) -> None:
    expected = tie_order(QID, seed)
    assert all(sorted(order) == list(range(len(order))) for order in expected.values())
    assert {len(order) for order in expected.values()} == {9, 30, 1, 2, 15, 40}
    assert tie_order(QID[move_queries(QID, 5)], seed) == expected
    interleaved = np.random.default_rng(6).permutation(QID)
    assert tie_order(interleaved, seed) == expected
    alone = QID[QID == 100]
    assert tie_order(alone, seed)[100] == expected[100]


def test_ties_depend_on_the_seed_and_the_id() -> None:
    first, second = tie_order(QID, 1), tie_order(QID, 2)
    assert first[100] != second[100]
    assert tie_order(QID + 1, 1)[101] != first[100]
    assert first[100] != sorted(first[100])


@pytest.mark.parametrize("seed", [1, 2])
def test_forces_do_not_depend_on_where_a_query_stands(seed: int) -> None:
    settings = make_settings({"seed": seed, "k": 5, "threads": 1})
    data = rf.make_data("mslr", queries=10, seed=3)
    order = move_queries(data.qid, 5)
    moved = rf.RankingData(data.features[order], data.labels[order], qid=data.qid[order])
    for scores in (np.zeros(data.rows), np.round(np.random.default_rng(0).normal(size=data.rows))):
        lam, hess = Forces(settings.make_objective(), data, settings).at(scores, 0)
        other = Forces(settings.make_objective(), moved, settings).at(scores[order], 0)
        assert np.array_equal(other[0], lam[order])
        assert np.array_equal(other[1], hess[order])


@pytest.mark.parametrize("by", ["query", None])
def test_models_do_not_depend_on_where_a_query_stands(by: str | None) -> None:
    """Without rounding and with whole queries in bags: sums in another order, nothing else."""
    run: dict[str, Any] = {"quantised": False, "threads": 1}
    run |= {"subsample": 0.5, "subsample_by": by} if by else {}
    data = rf.make_data("mslr", queries=20, seed=3)
    order = move_queries(data.qid, 5)
    kept = rf.Ranker(**PARAMS | run).fit(data)
    moved = rf.Ranker(**PARAMS | run).fit(
        data.features[order], data.labels[order], qid=data.qid[order]
    )
    assert moved.predict(data) == pytest.approx(kept.predict(data), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("by", ["row", "query"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.999])
@pytest.mark.parametrize("freq", [1, 3])
def test_bags_hold_their_share_and_change(by: str, share: float, freq: int) -> None:
    given = {"subsample": share, "subsample_by": by, "subsample_freq": freq, "threads": 1}
    settings = make_settings(given)
    data = rf.RankingData(np.zeros((len(QID), 1)), np.arange(len(QID)) % 3, qid=QID)
    plain = Forces(settings.make_objective(), data, make_settings({"threads": 1}))
    _, full = (array.copy() for array in plain.at(np.zeros(data.rows), 0))
    forces = Forces(settings.make_objective(), data, settings)
    bags = []
    for iteration in range(2 * freq):
        _, hess = forces.at(np.zeros(data.rows), iteration)
        inside = hess > 0
        assert np.array_equal(hess, np.where(inside, full, 0.0))
        bag = forces.bags.at(iteration)
        assert bag is not None
        assert bag.rows.tolist() == np.flatnonzero(bag.weight).tolist()
        assert bag.rest.tolist() == np.flatnonzero(bag.weight == 0).tolist()
        bags.append(bag.weight)
        assert not inside[bags[-1] == 0].any()
        if by == "row":
            assert bags[-1].sum() == max(round(share * data.rows), 1)
        else:
            chosen = [bags[-1][one == QID] for one in np.unique(QID)]
            assert all(len(set(values)) == 1 for values in chosen)
            assert sum(values[0] for values in chosen) == max(round(share * 6), 1)
    for bag in bags[1:freq]:
        assert np.array_equal(bag, bags[0])
    if by == "row" and share == 0.5:
        assert not np.array_equal(bags[freq], bags[0])
