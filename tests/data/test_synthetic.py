"""Synthetic data: the facts of each shape, the same bytes again, and a signal worth learning."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rankforce.data.synthetic import SHAPES, make_data

NAMES = sorted(SHAPES)


def sizes_of(qid: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(qid, return_counts=True)[1]


def mean_ndcg(scores, labels, sizes, k=10) -> float:
    discounts = 1 / np.log2(np.arange(2, k + 2))
    values, start = [], 0
    for size in sizes:
        gains = 2.0 ** labels[start : start + size] - 1
        order = np.argsort(-scores[start : start + size], kind="stable")
        best = np.sort(gains)[::-1][:k] @ discounts[: min(k, size)]
        if best > 0:
            values.append(gains[order][:k] @ discounts[: min(k, size)] / best)
        start += size
    return float(np.mean(values))


@pytest.mark.parametrize("name", NAMES)
def test_lists_and_labels_are_those_of_the_shape(name):
    shape = SHAPES[name]
    data = make_data(name, queries=40 if name == "istella-x" else 400)
    sizes = sizes_of(data.qid)
    assert data.features.shape == (sizes.sum(), shape.features)
    assert data.features.dtype == np.float32
    assert data.features.flags.c_contiguous
    assert np.isfinite(data.features).all()
    assert sizes.min() >= shape.shortest
    assert sizes.max() <= shape.longest
    assert np.median(sizes) == pytest.approx(shape.median, rel=0.15)
    mix = np.bincount(data.labels.astype(int), minlength=len(shape.labels)) / len(data.labels)
    # A query's documents rise and fall together, so that shares vary by more than a coin's.
    np.testing.assert_allclose(mix, shape.labels, atol=0.03 if name != "istella-x" else 0.0005)


@pytest.mark.parametrize("name", ["mslr", "yahoo"])
def test_queries_differ(name):
    data = make_data(name)
    sizes = sizes_of(data.qid)
    relevant = np.add.reduceat(data.labels > 0, np.cumsum(sizes) - sizes)
    assert 0.005 < np.mean(relevant == 0) < 0.1
    assert np.std(relevant / sizes) > 0.1


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_makes_the_same_bytes_for_any_number_of_queries(name):
    few = make_data(name, queries=3)
    more = make_data(name, queries=10)
    rows = len(few.labels)
    assert few.features.tobytes() == more.features[:rows].tobytes()
    assert few.labels.tobytes() == more.labels[:rows].tobytes()
    assert few.sources["clicks"].tobytes() == more.sources["clicks"][:rows].tobytes()
    other = make_data(name, queries=3, seed=1)
    assert few.features.tobytes() != other.features.tobytes()


def test_a_block_of_queries_ends_without_a_seam():
    many = make_data("mslr", queries=160)  # blocks of 74
    assert many.qid[-1] == 160
    assert len(np.unique(many.features[:, 0])) > 1
    assert make_data("mslr", queries=74).features.tobytes() == (
        many.features[: int((many.qid <= 74).sum())].tobytes()
    )


def test_features_are_of_many_kinds():
    data = make_data("mslr", queries=100)
    kinds = {name.split("_")[0] for name in data.feature_names}
    assert kinds == {"count", "heavy", "ratio", "score", "flag", "query"}
    starts = np.flatnonzero(np.diff(data.qid, prepend=-1))
    for column, name in enumerate(data.feature_names):
        values = data.features[:, column]
        is_constant = np.array_equal(values, np.repeat(values[starts], sizes_of(data.qid)))
        assert is_constant == name.startswith("query")
        if name.startswith("flag"):
            assert set(np.unique(values)) <= {0.0, 1.0}


def test_yahoo_is_sparse_and_leaves_columns_empty():
    features = make_data("yahoo", queries=200).features
    assert 0.4 < np.mean(features == 0) < 0.9
    assert np.sum(~features.any(axis=0)) == 180
    assert features.min() >= 0
    assert features.max() <= 1


@pytest.mark.slow
def test_a_model_of_one_seed_ranks_another():
    lightgbm = pytest.importorskip("lightgbm")
    train, valid = make_data("mslr", queries=300), make_data("mslr", queries=100, seed=1)
    sizes = sizes_of(valid.qid)
    booster = lightgbm.train(
        {"objective": "lambdarank", "num_leaves": 15, "verbose": -1, "num_threads": 1},
        lightgbm.Dataset(train.features, train.labels, group=sizes_of(train.qid)),
        num_boost_round=100,
    )
    learnt = mean_ndcg(booster.predict(valid.features), valid.labels, sizes)
    single = max(
        mean_ndcg(sign * valid.features[:, column], valid.labels, sizes)
        for column in range(valid.features.shape[1])
        for sign in (1, -1)
    )
    assert 0.5 < learnt < 0.75
    assert learnt > single + 0.15


@pytest.mark.parametrize(("name", "missing"), [("mslr", 0.65), ("yahoo", 0.6), ("istella-x", 0.96)])
def test_clicks_are_rates_and_missing_where_nothing_was_shown(name, missing):
    data = make_data(name)
    clicks = data.sources["clicks"]
    shown = ~np.isnan(clicks)
    assert np.mean(~shown) == pytest.approx(missing, abs=0.08)
    assert clicks[shown].min() >= 0
    assert clicks[shown].max() <= 1
    sizes = sizes_of(data.qid)
    per_query = np.add.reduceat(shown, np.cumsum(sizes) - sizes)
    np.testing.assert_array_equal(per_query, np.minimum(sizes, SHAPES[name].shown))


def test_clicks_know_the_grade_and_more():
    data = make_data("mslr")
    clicks, labels = data.sources["clicks"], data.labels
    shown = ~np.isnan(clicks)
    assert clicks[shown & (labels >= 3)].mean() > 1.5 * clicks[shown & (labels == 0)].mean()
    assert abs(np.corrcoef(clicks[shown], labels[shown])[0, 1]) < 0.5


@pytest.mark.parametrize("name", ["mslr", "istella-s", "yahoo"])
def test_a_document_without_click_was_mostly_never_seen(name):
    clicks = make_data(name).sources["clicks"]
    is_unseen, is_zero = np.isnan(clicks), clicks == 0
    assert is_zero.any()
    assert is_unseen.sum() > 0.85 * (is_unseen | is_zero).sum()
    assert (clicks > 0).mean() > 0.2


def share_in_order(scores, clicks, qid, labels) -> float:
    """Of the pairs of one query and one grade with different clicks, how many are in order."""
    right = pairs = 0
    for query in np.unique(qid):
        here = np.flatnonzero((qid == query) & (clicks > 0))
        above = clicks[here][:, None] > clicks[here]
        above &= labels[here][:, None] == labels[here]
        pairs += above.sum()
        right += (above & (scores[here][:, None] > scores[here])).sum()
    return float(right / pairs)


@pytest.mark.parametrize("name", ["mslr", "istella-s", "yahoo"])
@pytest.mark.slow
def test_features_tell_which_of_two_equal_grades_is_clicked_more(name):
    """More often than the grades do, which say nothing on such a pair but what features leak."""
    lightgbm = pytest.importorskip("lightgbm")
    train, valid = make_data(name, queries=300), make_data(name, queries=100, seed=1)
    options = {"num_leaves": 15, "verbose": -1, "num_threads": 1, "min_data_in_leaf": 50}

    def predict(target):
        known = ~np.isnan(target)
        rows = lightgbm.Dataset(train.features[known], target[known])
        return lightgbm.train(options, rows, num_boost_round=60).predict(valid.features)

    judged = (valid.sources["clicks"], valid.qid, valid.labels)
    of_clicks = share_in_order(predict(train.sources["clicks"]), *judged)
    of_grades = share_in_order(predict(train.labels), *judged)
    assert of_clicks > 0.65
    assert of_clicks > of_grades + 0.1


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"shape": "mslr-web"}, "shape 'mslr-web' is unknown: choose one of mslr, istella-s"),
        ({"queries": -1}, "queries is -1: an integer from 1 up"),
        ({"queries": 0}, "queries is 0: an integer from 1 up"),
        ({"queries": 2.5}, "queries is 2.5: an integer from 1 up"),
        ({"seed": -3}, "seed is -3: an integer from 0 up"),
    ],
)
def test_a_mistake_is_named(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_data(**options)
