"""Code written for LGBMRanker and XGBRanker, with only the class changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file, make_classification
from sklearn.model_selection import StratifiedGroupKFold, cross_val_score

import rankforce as rf

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

TRAIN = rf.make_data("mslr", queries=20, seed=1)
VALID = rf.make_data("mslr", queries=10, seed=2)
X, Y, G = TRAIN.features, TRAIN.labels, TRAIN.group
XV, YV, GV = VALID.features, VALID.labels, VALID.group
QID, QV = np.repeat(np.arange(len(G)), G), np.repeat(np.arange(len(GV)), GV)
SMALL: dict[str, Any] = {
    "n_estimators": 6,
    "num_leaves": 6,
    "min_child_samples": 5,
    "seed": 1,
    "threads": 1,
    "progress": False,
}
quiet: dict[str, Any] = {"verbosity": 0, "n_jobs": 1}


def make(**given: Any) -> rf.Ranker:
    return rf.Ranker(**SMALL | given)


def ndcg(scores: Any, labels: Any = YV, k: int = 10, **queries: Any) -> float:
    queries = queries or {"group": GV}
    return float(rf.metric("ndcg", k=k)(scores, labels, **queries).mean())


# The published examples.


def write_lightgbm_files(folder: Path) -> None:
    """`rank.train` and `rank.train.query`, as in LightGBM's examples/lambdarank."""
    for name, data in (("train", TRAIN), ("test", VALID)):
        features = sparse.csr_matrix(np.nan_to_num(data.features))
        dump_svmlight_file(features, data.labels, str(folder / f"rank.{name}"), zero_based=False)
        np.savetxt(folder / f"rank.{name}.query", data.group, fmt="%d")


def test_lightgbms_ranking_example(tmp_path: Path) -> None:
    """What LightGBM's tests and examples do with examples/lambdarank."""
    write_lightgbm_files(tmp_path)
    files = [str(tmp_path / f"rank.{name}") for name in ("train", "test")]
    (X_train, y_train), (X_test, y_test) = (load_svmlight_file(file) for file in files)
    q_train, q_test = (np.loadtxt(f"{file}.query") for file in files)
    gbm = rf.Ranker(n_estimators=50, **quiet)
    gbm.fit(
        X_train,
        y_train,
        group=q_train,
        eval_set=[(X_test, y_test)],
        eval_group=[q_test],
        eval_at=[1, 3],
        callbacks=[
            lgb.early_stopping(10, verbose=False),
            lgb.reset_parameter(learning_rate=lambda x: max(0.01, 0.1 - 0.01 * x)),
        ],
    )
    assert list(gbm.best_score_["valid_0"]) == ["ndcg@1", "ndcg@3"]
    assert 1 <= gbm.best_iteration_ <= 50
    history = gbm.evals_result_["valid_0"]["ndcg@1"]
    assert gbm.best_iteration_ == 1 + int(np.argmax(history))
    assert gbm.best_score_["valid_0"]["ndcg@1"] == max(history)
    shrinkage = [tree.shrinkage for tree in gbm.model_.trees]
    assert shrinkage == pytest.approx([max(0.01, 0.1 - 0.01 * x) for x in range(len(shrinkage))])
    chance = np.random.default_rng(0).normal(size=len(y_test))
    assert ndcg(gbm.predict(X_test)) > ndcg(chance) + 0.05
    assert gbm.predict(X_test, raw_score=True, num_iteration=1).shape == y_test.shape


def test_lightgbms_parameters() -> None:
    """All that its class has, at their defaults, and those of the example's train.conf."""
    defaults = lgb.LGBMRanker().get_params()
    assert rf.Ranker(**defaults | {"objective": "lambdarank"}).settings().num_leaves == 31
    conf: dict[str, Any] = {
        "boosting_type": "gbdt",
        "objective": "lambdarank",
        "metric": "ndcg",
        "ndcg_eval_at": "1,3,5",
        "max_bin": 255,
        "num_trees": 3,
        "learning_rate": 0.1,
        "num_leaves": 31,
        "tree_learner": "serial",
        "feature_fraction": 1.0,
        "bagging_freq": 1,
        "bagging_fraction": 0.9,
        "min_data_in_leaf": 50,
        "min_sum_hessian_in_leaf": 5.0,
        "is_enable_sparse": True,
    }
    ranker = rf.Ranker(**conf, **quiet).fit(TRAIN, eval_set=[VALID])
    assert list(ranker.evals_result_["valid_0"]) == ["ndcg@1", "ndcg@3", "ndcg@5"]


def test_xgboosts_getting_started_example() -> None:
    """The tutorial's synthetic data, its ranker, its column of queries, its cross-validation."""
    rng = np.random.default_rng(1994)
    X_made, y = make_classification(n_samples=400, random_state=1994)
    qid = np.sort(rng.integers(0, 20, size=X_made.shape[0]))
    ranker = rf.Ranker(
        tree_method="hist",
        lambdarank_num_pair_per_sample=8,
        objective="rank:ndcg",
        lambdarank_pair_method="topk",
        **quiet,
    )
    ranker.fit(X_made, y, qid=qid)
    scores = ranker.predict(X_made)
    assert ndcg(scores, y, qid=qid) > 0.95
    df = pd.DataFrame(X_made, columns=[str(i) for i in range(X_made.shape[1])])
    df["qid"] = qid
    ranker.fit(df, y)
    assert ranker.feature_name_ == [str(i) for i in range(X_made.shape[1])]
    assert np.array_equal(ranker.predict(df), scores)
    assert ranker.score(df, y) == pytest.approx(ndcg(scores, y, qid=qid), rel=1e-12)
    folds = StratifiedGroupKFold(n_splits=2, shuffle=False)
    values = cross_val_score(
        ranker.set_params(n_estimators=3), df, y, cv=folds, groups=df.qid, error_score="raise"
    )
    assert values.shape == (2,)


def test_xgboosts_demo() -> None:
    """demo/guide-python/learning_to_rank.py, on a CPU."""
    order = np.argsort(QID)
    ranker = rf.Ranker(
        tree_method="hist",
        device="cpu",
        lambdarank_pair_method="topk",
        lambdarank_num_pair_per_sample=13,
        eval_metric=["ndcg@1", "ndcg@8"],
        n_estimators=5,
        n_jobs=1,
    )
    ranker.fit(
        sparse.csr_matrix(X)[order],
        Y[order].astype(np.int32),
        qid=QID[order].astype(np.int32),
        eval_set=[(sparse.csr_matrix(XV), YV.astype(np.int32))],
        eval_qid=[QV.astype(np.int32)],
        verbose=False,
    )
    assert list(ranker.evals_result_["valid_0"]) == ["ndcg@1", "ndcg@8"]
    last = ranker.evals_result_["valid_0"]["ndcg@8"][-1]
    assert last == pytest.approx(ndcg(ranker.predict(XV), k=8), rel=1e-12)


def test_xgboosts_early_stopping() -> None:
    ranker = rf.Ranker(
        objective="rank:ndcg",
        n_estimators=40,
        learning_rate=0.5,
        early_stopping_rounds=3,
        eval_metric=["ndcg@5", "map"],
        callbacks=[xgb.callback.EvaluationMonitor(period=10)],
        random_state=1,
        n_jobs=1,
        verbosity=0,
    )
    ranker.fit(X, Y, qid=QID, eval_set=[(X, Y), (XV, YV)], eval_qid=[QID, QV], verbose=False)
    best = ranker.best_iteration
    assert ranker.best_score == max(ranker.evals_result()["validation_1"]["ndcg@5"])
    assert [*ranker.evals_result()] == ["validation_0", "validation_1"]
    assert np.array_equal(ranker.predict(XV), ranker.predict(XV, iteration_range=(0, best + 1)))
    assert not np.array_equal(
        ranker.predict(XV), ranker.predict(XV, iteration_range=(0, len(ranker.model_.trees)))
    )


def test_xgboosts_parameters() -> None:
    """All that its class has and ours has not, at their defaults."""
    given = xgb.XGBRanker().get_params()
    ours = {*rf.Ranker().get_params(), "verbosity", "min_child_weight", "colsample_bynode"}
    ours |= {"subsample", "colsample_bytree"}
    theirs = {name: value for name, value in given.items() if name not in ours}
    assert len(theirs) > 20
    assert rf.Ranker(**theirs).settings() == rf.Ranker().settings()


# Arguments of fit.


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    make().fit(TRAIN, eval_set=[VALID], verbose=1)
    assert "valid_0 ndcg@10" in capsys.readouterr().err
    make(progress=True).fit(TRAIN, eval_set=[VALID], verbose=False)
    assert capsys.readouterr().err == ""
    rf.Ranker(n_estimators=1, verbosity=1, threads=1).fit(TRAIN, verbose=0)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["init_model", "xgb_model"])
def test_going_on_from_a_model(name: str, tmp_path: Path) -> None:
    first = make().fit(TRAIN)
    expected = make(base=first, seed=5).fit(TRAIN)
    ranker = make(seed=5).fit(TRAIN, **{name: first})
    assert np.array_equal(ranker.predict(XV), expected.predict(XV))
    assert ranker.get_params()["base"] is None
    first.save(tmp_path)
    for place in (tmp_path, str(tmp_path)):
        again = make(seed=5).fit(TRAIN, **{name: place})
        assert np.array_equal(again.predict(XV), expected.predict(XV))
    assert make(seed=5).fit(TRAIN, init_model=first.booster_).predict(XV) == pytest.approx(
        expected.predict(XV)
    )


def test_what_is_no_model() -> None:
    with pytest.raises(ValueError, match=r"base is 3: choose .* or a model with predict"):
        make().fit(TRAIN, init_model=3)
    theirs = xgb.XGBRanker(n_estimators=1, n_jobs=1).fit(X, Y, qid=QID)
    for model in (theirs, theirs.get_booster()):
        start = make().fit(TRAIN, xgb_model=model).predict(XV, num_iteration=1)
        assert start == pytest.approx(theirs.predict(XV), abs=1e-6)


def test_xgboosts_names_of_arguments() -> None:
    start, begin = np.linspace(0, 1, len(Y)), np.linspace(1, 0, len(YV))
    weight = np.linspace(1, 2, len(YV))
    ours = make().fit(
        X,
        Y,
        group=G,
        init_score=start,
        eval_set=[(XV, YV)],
        eval_group=[GV],
        eval_sample_weight=[weight],
        eval_init_score=[begin],
    )
    theirs = make().fit(
        X,
        Y,
        group=G,
        base_margin=start,
        eval_set=[(XV, YV)],
        eval_group=[GV],
        sample_weight_eval_set=[weight],
        base_margin_eval_set=[begin],
        feature_weights=None,
    )
    assert theirs.model_.text() == ours.model_.text()
    assert theirs.evals_result_ == ours.evals_result_
    with pytest.raises(ValueError, match="give init_score or base_margin, not both"):
        make().fit(X, Y, group=G, init_score=start, base_margin=start)
    with pytest.raises(TypeError, match="unexpected keyword argument 'grup'"):
        make().fit(X, Y, grup=G)  # type: ignore[call-arg]


@pytest.mark.parametrize("queries", [{"group": G}, {"qid": QID}])
def test_weights_of_queries(queries: dict[str, Any]) -> None:
    """XGBoost's weights are one for each query."""
    own, held = np.linspace(0.5, 2, len(G)), np.linspace(2, 0.5, len(GV))
    given: dict[str, Any] = {"eval_set": [(XV, YV)], "eval_group": [GV]}
    by_query = make().fit(
        X, Y, **queries, sample_weight=own, sample_weight_eval_set=[held], **given
    )
    by_row = make().fit(
        X,
        Y,
        **queries,
        sample_weight=np.repeat(own, G),
        eval_sample_weight=[np.repeat(held, GV)],
        **given,
    )
    assert by_query.model_.text() == by_row.model_.text()
    assert by_query.evals_result_["valid_0"]["ndcg@10"] == pytest.approx(
        by_row.evals_result_["valid_0"]["ndcg@10"]
    )
    with pytest.raises(ValueError, match="weight has shape"):
        make().fit(X, Y, **queries, sample_weight=own[:-1])


ONE_SET: dict[str, dict[str, Any]] = {
    "a list of sizes": {"eval_group": [GV]},
    "a list of ids": {"eval_qid": [QV]},
}


@pytest.mark.parametrize("given", ONE_SET.values(), ids=ONE_SET)
def test_queries_of_one_validation_set(given: dict[str, Any]) -> None:
    ranker = make().fit(X, Y, group=G, eval_set=[(XV, YV)], **given)
    assert ranker.evals_result_["valid_0"]["ndcg@10"][-1] == pytest.approx(
        ndcg(ranker.predict(XV)), rel=1e-12
    )


def test_queries_in_a_column_of_validation_sets() -> None:
    def framed(features: Any, qid: Any) -> pd.DataFrame:
        frame = pd.DataFrame(features, columns=TRAIN.feature_names)
        frame["qid"] = qid
        return frame

    ranker = make().fit(framed(X, QID), Y, eval_set=[(framed(XV, QV), YV)])
    expected = make().fit(X, Y, qid=QID, eval_set=[(XV, YV)], eval_qid=[QV])
    assert ranker.evals_result_ == expected.evals_result_


@pytest.mark.parametrize("cutoffs", [[1, 3], (1, 3), "1,3", np.array([1, 3])])
@pytest.mark.parametrize("metric", [None, "ndcg"])
def test_cutoffs(cutoffs: Any, metric: Any) -> None:
    in_class = make(eval_at=cutoffs, eval_metric=metric).fit(TRAIN, eval_set=[VALID])
    in_fit = make().fit(TRAIN, eval_set=[VALID], eval_at=cutoffs, eval_metric=metric)
    assert list(in_class.evals_result_["valid_0"]) == ["ndcg@1", "ndcg@3"]
    assert in_class.evals_result_ == in_fit.evals_result_


@pytest.mark.parametrize("wrong", [[0], ["a"], "1,x", 2.5])
def test_wrong_cutoffs(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"eval_at is .*: it must be an integer from 1 up"):
        make(eval_at=wrong).settings()


def test_arguments_of_fit_win() -> None:
    ranker = make(metric="map", early_stopping_round=50)
    ranker.fit(TRAIN, eval_set=[VALID], eval_metric="mrr", early_stopping_rounds=2)
    assert list(ranker.evals_result_["valid_0"]) == ["mrr"]


# Parameters of the class.


@pytest.mark.parametrize("value", [-999.0, 0.0])
def test_a_number_for_what_is_missing(value: float, tmp_path: Path) -> None:
    holes = np.random.default_rng(0).uniform(size=X.shape) < 0.2
    given = np.where(holes | (value == X), value, X)
    known = np.where(given == value, np.nan, X)
    held = np.where(XV[0] == XV, value, XV)
    held_known = np.where(held == value, np.nan, XV)
    one = make(missing=value).fit(given, Y, group=G, eval_set=[(held, YV)], eval_group=[GV])
    other = make().fit(known, Y, group=G, eval_set=[(held_known, YV)], eval_group=[GV])
    assert np.array_equal(one.predict(given), other.predict(known))
    assert one.evals_result_ == other.evals_result_
    one.save(tmp_path)
    again = rf.load(tmp_path)
    assert np.array_equal(again.predict(held), other.predict(held_known))
    assert np.array_equal(again.contributions(held), other.contributions(held_known))
    assert np.array_equal(held, np.where(XV[0] == XV, value, XV))  # the caller's stays as it is


def test_missing_values_of_a_sparse_matrix() -> None:
    dense = np.where(X[0] == X, -1.0, X)
    kept = sparse.csr_matrix(dense)
    one = make(missing=-1).fit(kept, Y, group=G)
    other = make(missing=-1).fit(dense, Y, group=G)
    assert one.predict(dense) == pytest.approx(other.predict(kept))
    with pytest.raises(ValueError, match="missing is 0: in a sparse matrix"):
        make(missing=0).fit(kept, Y, group=G)


@pytest.mark.parametrize("value", [None, np.nan, float("nan")])
def test_nan_is_missing_anyway(value: Any) -> None:
    assert make(missing=value).settings() == make().settings()


def test_weights_of_columns_are_refused_by_fit_too() -> None:
    with pytest.raises(ValueError, match="feature_weights is not available here"):
        make().fit(TRAIN, feature_weights=[1.0])  # type: ignore[call-arg]
