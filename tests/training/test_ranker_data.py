"""A ranker on every kind of data, and what it says about data that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.models.forest.forest import digest
from tests.training.test_ranker import (
    DATA,
    GV,
    QID,
    SMALL,
    VALID,
    XV,
    YV,
    G,
    X,
    Y,
    lgb,
    make,
    ndcg,
)

# Kinds of features.

HOLES = X[:, :12].copy()
HOLES[np.random.default_rng(4).random(HOLES.shape) < 0.3] = np.nan
ZEROS = X[:, :12] * (np.random.default_rng(5).random((len(X), 12)) < 0.3)


@pytest.mark.parametrize("quantised", [None, False])
@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.coo_array, sp.csr_array])
def test_sparse_and_dense_make_one_model(kind: Any, quantised: bool | None) -> None:
    dense = make(quantised=quantised).fit(ZEROS, Y, group=G)
    sparse = make(quantised=quantised).fit(
        kind(ZEROS), Y, group=G, eval_set=[(kind(ZEROS), Y)], eval_group=[G]
    )
    assert sparse.model_.text() == dense.model_.text()
    assert np.array_equal(sparse.predict(kind(ZEROS)), dense.predict(ZEROS))
    value = ndcg(dense.predict(ZEROS), Y, group=G)
    assert sparse.evals_result_["valid_0"]["ndcg@10"][-1] == value


@pytest.mark.parametrize("matrix", [HOLES, ZEROS], ids=["missing", "zeros"])
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.asfortranarray, np.ndarray.tolist])
def test_frames_and_arrays_make_one_model(kind: Any, matrix: Any) -> None:
    expected = make().fit(matrix, Y, group=G)
    given = kind(matrix)
    got = make().fit(given, Y, group=G)
    assert digest(got.model_.trees) == digest(expected.model_.trees)
    assert np.array_equal(got.predict(given), expected.predict(matrix))
    assert np.array_equal(got.booster_.predict(matrix), expected.predict(matrix))


def test_names_of_columns() -> None:
    frame = pd.DataFrame(X[:, :3], columns=["one", "two", "three"])
    assert make().fit(frame, Y, group=G).feature_name_ == ["one", "two", "three"]
    named = make().fit(X[:, :3], Y, group=G, feature_name=["x", "y", "z"])
    assert named.feature_name_ == ["x", "y", "z"]


def test_names_that_lightgbm_refuses(tmp_path: Path) -> None:
    frame = pd.DataFrame(X[:, :3], columns=["a:b", "a b", 'c"'])
    ranker = make().fit(frame, Y, group=G)
    ranker.save(tmp_path)
    assert rf.load(tmp_path).feature_name_ == ["a:b", "a b", 'c"']
    assert len(set(lgb.Booster(model_file=tmp_path / "model.txt").feature_name())) == 3
    np.testing.assert_array_equal(rf.load(tmp_path).predict(frame), ranker.predict(frame))


def coloured(order: str) -> tuple[pd.DataFrame, Any]:
    """A column of categories that the labels depend on; `order` is that of the codes."""
    letters = np.random.default_rng(6).choice([*"abcdef"], len(Y))
    frame = pd.DataFrame(X[:, :4]).rename(columns=str)
    frame["colour"] = pd.Categorical(letters, categories=[*order])
    return frame, np.clip(Y + 2 * np.isin(letters, ["b", "c"]), 0, 4)


def fit_coloured(**given: Any) -> rf.Ranker:
    frame, labels = coloured("abcdef")
    return make(min_data_per_group=5, cat_smooth=1.0).fit(frame, labels, group=G, **given)


def test_category_columns() -> None:
    frame, _ = coloured("abcdef")
    ranker = fit_coloured()
    assert sum(max(len(tree.sets) - 1, 0) for tree in ranker.model_.trees) > 0
    codes = frame.assign(colour=frame["colour"].cat.codes).to_numpy(np.float32)
    assert np.array_equal(ranker.predict(frame), ranker.booster_.predict(codes))
    assert np.array_equal(ranker.predict(codes), ranker.predict(frame))


def test_categories_with_other_codes(tmp_path: Path) -> None:
    frame, labels = coloured("abcdef")
    other, _ = coloured("fedcba")
    ranker = fit_coloured(eval_set=[(other, labels)], eval_group=[G])
    expected = ranker.predict(frame)
    assert np.array_equal(ranker.predict(other), expected)
    assert np.array_equal(ranker.predict(pl.from_pandas(other)), expected)
    assert ranker.evals_result_["valid_0"]["ndcg@10"][-1] == ndcg(expected, labels, group=G)
    assert ranker.score(other, labels, group=G) == ndcg(expected, labels, group=G)
    ranker.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(other), expected)


def test_categories_with_other_codes_in_ranking_data() -> None:
    frame, labels = coloured("abcdef")
    other = rf.RankingData(coloured("fedcba")[0], labels, group=G)
    ranker = fit_coloured()
    assert np.array_equal(ranker.predict(other), ranker.predict(frame))


def test_categories_with_other_codes_in_validation() -> None:
    frame, labels = coloured("abcdef")
    other = rf.RankingData(coloured("fedcba")[0], labels, group=G)
    ranker = fit_coloured(eval_set=[other])
    expected = ndcg(ranker.predict(frame), labels, group=G)
    assert ranker.evals_result_["valid_0"]["ndcg@10"][-1] == expected


def test_unknown_categories_are_missing() -> None:
    frame, _ = coloured("abcdef")
    ranker = fit_coloured()
    strange = frame.assign(colour=pd.Categorical(["new"] * len(frame)))
    missing = frame.assign(colour=pd.Categorical([None] * len(frame), categories=[*"abcdef"]))
    with pytest.warns(Note, match="'colour': none of its values is known from training"):
        scores = ranker.predict(strange)
    assert np.array_equal(scores, ranker.predict(missing))


def test_categorical_feature_of_an_array() -> None:
    frame, labels = coloured("abcdef")
    codes = frame.assign(colour=frame["colour"].cat.codes).to_numpy(np.float32)
    given = make(min_data_per_group=5, cat_smooth=1.0).fit(
        codes, labels, group=G, categorical_feature=[4]
    )
    expected = fit_coloured()
    assert digest(given.model_.trees) == digest(expected.model_.trees)


# Weights and scores to start from.


def counted(queries: int, seed: int) -> tuple[Any, Any, Any]:
    """Features of few values, all of which occur in every few queries: the bins never change."""
    rng = np.random.default_rng(seed)
    sizes = np.full(queries, 30)
    features = np.column_stack(
        [np.tile(np.arange(30) % 10, queries), *rng.integers(0, 6, (3, 30 * queries))]
    )
    labels = np.clip(features[:, 0] / 3 + rng.normal(0, 1, len(features)), 0, 4).round()
    return features.astype(np.float32), labels, sizes


@pytest.mark.parametrize("by", ["row", "query"])
@pytest.mark.parametrize("quantised", [None, False])
def test_weight_0_leaves_queries_out(by: str, quantised: bool | None) -> None:
    features, labels, sizes = counted(24, seed=1)
    kept = 30 * 16
    query = (np.arange(24) < 16).astype(float)
    weight = {"query_weight": query} if by == "query" else {"sample_weight": np.repeat(query, 30)}
    params = {"min_child_samples": 0, "quantised": quantised, "n_estimators": 3}
    got = make(**params).fit(features, labels, group=sizes, **weight)
    expected = make(**params).fit(features[:kept], labels[:kept], group=sizes[:16])
    assert got.predict(features) == pytest.approx(expected.predict(features), rel=1e-9)
    without = make(**params).fit(features, labels, group=sizes)
    assert np.abs(got.predict(features) - without.predict(features)).max() > 1e-3


@pytest.mark.parametrize("quantised", [None, False])
@pytest.mark.parametrize("factor", [2.0, 0.25])
def test_all_weights_alike_change_nothing(factor: float, quantised: bool | None) -> None:
    params = {"quantised": quantised, "min_child_weight": 0.0}
    plain = make(**params).fit(X, Y, group=G)
    for given in ({"sample_weight": np.full(len(Y), factor)}, {"query_weight": [factor] * len(G)}):
        got = make(**params).fit(X, Y, group=G, **given)
        assert got.predict(X) == pytest.approx(plain.predict(X), rel=1e-12, abs=1e-15)


def test_row_and_query_weights_multiply() -> None:
    rng = np.random.default_rng(8)
    rows, queries = rng.uniform(0.5, 2.0, len(Y)), rng.uniform(0.5, 2.0, len(G))
    both = make().fit(X, Y, group=G, sample_weight=rows, query_weight=queries)
    one = make().fit(X, Y, group=G, sample_weight=np.repeat(queries, G) * rows)
    assert both.model_.text() == one.model_.text()


def test_init_score_is_where_training_starts() -> None:
    """Two trees, then two more from their scores, are four trees; nothing here is random."""
    params = {"quantised": False, "n_estimators": 2}
    first = make(**params).fit(X, Y, group=G)
    second = make(**params).fit(
        X,
        Y,
        group=G,
        init_score=first.predict(X),
        eval_set=[(XV, YV)],
        eval_group=[GV],
        eval_init_score=[first.predict(XV)],
    )
    four = make(quantised=False).fit(X, Y, group=G, eval_set=[(XV, YV)], eval_group=[GV])
    sums = first.predict(X) + second.predict(X)
    assert sums == pytest.approx(four.predict(X), rel=1e-12, abs=1e-15)
    assert np.array_equal(
        second.predict(X, init_score=first.predict(X)), second.predict(X) + first.predict(X)
    )
    history = second.evals_result_["valid_0"]["ndcg@10"]
    assert history == pytest.approx(four.evals_result_["valid_0"]["ndcg@10"][2:], rel=1e-12)


def test_base_model_comes_first(tmp_path: Path) -> None:
    first = make(quantised=False, n_estimators=2).fit(X, Y, group=G)
    second = make(quantised=False, n_estimators=2, base=first).fit(X, Y, group=G)
    four = make(quantised=False).fit(X, Y, group=G)
    assert second.predict(X) == pytest.approx(four.predict(X), rel=1e-12, abs=1e-15)
    second.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(X), second.predict(X))
    assert np.array_equal(rf.load(tmp_path, base=first).predict(X), second.predict(X))


def test_base_of_trees_fitted_to_the_labels() -> None:
    """The first tree lowers the squared error to the labels, in steps of the learning rate."""
    ranker = make(base="regressor", base_estimators=3, learning_rate=0.5).fit(X, Y, group=G)
    assert len(ranker.model_.trees) == 3 + SMALL["n_estimators"]
    errors = [np.mean((Y - ranker.predict(X, num_iteration=i)) ** 2) for i in range(1, 4)]
    assert errors[0] < np.mean(Y**2)
    assert errors == sorted(errors, reverse=True)
    first, leaf = ranker.predict(X, num_iteration=1), ranker.booster_.predict(X, pred_leaf=True)
    for number in np.unique(leaf[:, 0]):
        inside = leaf[:, 0] == number
        assert first[inside] == pytest.approx(0.5 * Y[inside].mean())


@pytest.mark.parametrize("quantised", [None, False])
def test_trees_that_run_out(quantised: bool | None) -> None:
    first = make(n_estimators=1, quantised=quantised).fit(DATA).booster_.trees_to_dataframe()
    least = 0.9 * float(first.split_gain.max())
    ranker = make(n_estimators=200, quantised=quantised, min_split_gain=least).fit(DATA)
    assert 1 <= len(ranker.model_.trees) < 200
    assert np.isfinite(ranker.predict(X)).all()


# Mistakes.

NAN = np.where(np.arange(len(Y)) == 7, np.nan, Y)
MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no queries": ({"group": None}, "rankers need queries: give qid= .* or group="),
    "both kinds of queries": ({"qid": QID}, "give group= .* or qid= .*, not both"),
    "sizes": ({"group": [3, 4]}, f"group sizes add up to 7, but there are {len(Y)} rows"),
    "qid": ({"group": None, "qid": [1, 2]}, "qid must hold one id for each of the"),
    "X of one dimension": ({"X": X[:, 0]}, "X has shape .*: expected rows and columns"),
    "no labels": ({"y": None}, "training needs labels: give y"),
    "labels": ({"y": Y[1:]}, f"labels have shape .*, but there are {len(Y)} rows"),
    "labels in a column": ({"y": Y[:, None]}, "labels has shape .*: expected one number"),
    "NaN label": ({"y": NAN}, "labels: row 7 is nan, expected finite numbers"),
    "negative label": ({"y": Y - 1}, "label"),
    "one label": ({"y": np.ones_like(Y)}, "all labels are the same: there is nothing to learn"),
    "weights": ({"sample_weight": [1.0]}, "weight has shape .*, expected one number for each of"),
    "negative weight": ({"sample_weight": -Y - 1}, r"weight\[0\] is -.*: weights are numbers"),
    "query weights": ({"query_weight": [1.0]}, "query_weight has shape"),
    "init_score": ({"init_score": [1.0]}, "must be one finite number for each row"),
    "NaN init_score": ({"init_score": NAN}, "must be one finite number for each row"),
    "names": ({"feature_name": ["a"]}, "1 feature names for 136 features"),
    "categorical": ({"categorical_feature": [999]}, "categorical column 999 is none of"),
    "validation without queries": ({"eval_set": [(XV, YV)]}, "eval_set needs queries"),
    "two ways": ({"eval_set": [VALID], "eval_X": XV, "eval_y": YV}, "eval_set or eval_X, not both"),
    "too many groups": (
        {"eval_set": [(XV, YV)], "eval_group": [GV, GV]},
        "eval_group has 2 entries for 1 validation sets",
    ),
    "group of validation not in a list": (
        {"eval_set": [(XV, YV)], "eval_group": GV},
        "eval_group has 10 entries for 1 validation sets",
    ),
    "columns of validation": (
        {"eval_set": [(XV[:, :5], YV)], "eval_group": [GV]},
        r"eval_set\[0\]: the data has 5 features, the model was trained on 136",
    ),
    "stopping without validation": ({"early_stopping_rounds": 3}, "needs a validation set"),
    "unknown metric": ({"eval_set": [VALID], "eval_metric": "mdcg@10"}, "mdcg"),
    "metric twice": ({"eval_set": [VALID], "eval_metric": "p@5,P@5"}, "asked for twice"),
    "columns of validation data": (
        {"eval_set": [rf.RankingData(XV[:, :-1].copy(), YV, group=GV)]},
        "135",
    ),
    "validation without labels": ({"eval_set": [(XV, None)], "eval_group": [GV]}, "label"),
    "validation data without labels": ({"eval_set": [rf.RankingData(XV, group=GV)]}, "label"),
    "names twice": ({"eval_set": [VALID, DATA], "eval_names": ["a", "a"]}, "a"),
    "too few names": ({"eval_set": [VALID, DATA], "eval_names": ["a"]}, "eval_names has 1 entr"),
    "no rows": ({"X": X[:0], "y": [], "group": []}, "rows"),
    "no columns": ({"X": X[:, :0]}, "features|columns"),
}


@pytest.mark.parametrize(("given", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_sentences(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make().fit(**{"X": X, "y": Y, "group": G} | given)


def test_mistakes_in_predict() -> None:
    ranker = make().fit(DATA)
    with pytest.raises(ValueError, match="the data has 5 features, the model was trained on 136"):
        ranker.predict(X[:, :5])
    with pytest.raises(ValueError, match=r"X has shape .*: expected rows and columns"):
        ranker.predict(X[0])


def test_a_failed_fit_leaves_the_data_alone() -> None:
    features, labels = X.copy(), Y.copy()
    make(step="exact-newton", subsample=0.5).fit(features, labels, group=G, sample_weight=Y + 1)
    assert np.array_equal(features, X, equal_nan=True)
    assert np.array_equal(labels, Y)
