"""What a fitted ranker tells: scores of some trees, leaves, contributions, importances."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import rankforce as rf
from tests.reference import shapley

pytest.importorskip("lightgbm")

DATA = rf.make_data("mslr", queries=20, seed=1)
VALID = rf.make_data("mslr", queries=10, seed=2)
X = DATA.features
PARAMS: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 6,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "seed": 1,
    "threads": 1,
    "progress": False,
}


def make_frame(rows: int = 600, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    """Numbers with gaps, and categories with gaps."""
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue"], rows).astype(object)
    colour[::9] = None
    frame = pd.DataFrame(
        {
            "a": np.where(rng.uniform(size=rows) < 0.2, np.nan, rng.normal(size=rows)),
            "colour": pd.Categorical(colour, categories=["red", "green", "blue"]),
            "b": rng.normal(size=rows),
        }
    )
    raw = frame.a.fillna(1.0) + 2.0 * (frame.colour == "red") + rng.normal(size=rows) * 0.3
    return frame, np.clip(np.round(raw.to_numpy()), 0, 4)


FRAME, LABELS = make_frame()
QID = np.repeat(np.arange(30), 20)


@pytest.fixture(scope="module")
def stopped() -> rf.Ranker:
    """More trees than are used."""
    ranker = rf.Ranker(**PARAMS).fit(DATA, eval_set=[VALID], early_stopping_rounds=2)
    assert ranker.model_.used < len(ranker.model_.trees)
    return ranker


@pytest.fixture(scope="module")
def mixed() -> rf.Ranker:
    return rf.Ranker(**PARAMS).fit(FRAME, LABELS, qid=QID)


# Which trees.


def by_tree(ranker: rf.Ranker) -> Any:
    """Scores of every tree by itself: rows x trees."""
    leaves = ranker.predict(X, pred_leaf=True, num_iteration=-1)
    values = [tree.leaf_value for tree in ranker.model_.trees]
    return np.stack([own[leaf] for own, leaf in zip(values, leaves.T, strict=True)], axis=1)


SPANS: list[tuple[dict[str, Any], tuple[int | None, int | None]]] = [
    ({}, (0, None)),
    ({"num_iteration": 2}, (0, 2)),
    ({"num_iteration": np.int64(2)}, (0, 2)),
    ({"num_iteration": 0}, (0, 99)),
    ({"num_iteration": -1}, (0, 99)),
    ({"start_iteration": 1}, (1, None)),
    ({"start_iteration": 1, "num_iteration": 2}, (1, 3)),
    ({"start_iteration": 1, "num_iteration": 0}, (1, 99)),
    ({"start_iteration": -3}, (0, None)),
    ({"start_iteration": 50}, (50, 50)),
    ({"iteration_range": (0, 0)}, (0, None)),
    ({"iteration_range": (1, 3)}, (1, 3)),
    ({"iteration_range": [1, 0]}, (1, None)),
    ({"iteration_range": (2, 2)}, (2, 2)),
    ({"ntree_limit": 0}, (0, None)),
    ({"ntree_limit": 3}, (0, 3)),
]


@pytest.mark.parametrize(("given", "span"), SPANS, ids=[str(given) for given, _ in SPANS])
def test_some_trees(stopped: rf.Ranker, given: dict[str, Any], span: Any) -> None:
    first, last = span[0], stopped.model_.used if span[1] is None else span[1]
    expected = by_tree(stopped)[:, first:last].sum(axis=1)
    assert stopped.predict(X, **given) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    parts = stopped.predict(X, pred_contrib=True, **given)
    assert parts.sum(axis=1) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert (
        stopped.predict(X, pred_leaf=True, **given).shape[1]
        == by_tree(stopped)[:, first:last].shape[1]
    )


def test_leaves_are_those_of_the_booster(stopped: rf.Ranker) -> None:
    assert np.array_equal(
        stopped.predict(X, pred_leaf=True), stopped.booster_.predict(X, pred_leaf=True)
    )


SAME: list[dict[str, Any]] = [
    {"raw_score": True},
    {"output_margin": True},
    {"validate_features": True},
    {"base_margin": None},
]


@pytest.mark.parametrize("given", SAME, ids=str)
def test_arguments_that_change_nothing(stopped: rf.Ranker, given: dict[str, Any]) -> None:
    assert np.array_equal(stopped.predict(X, **given), stopped.predict(X))


def test_scores_to_start_from(stopped: rf.Ranker) -> None:
    start = np.arange(len(X), dtype=float)
    for name in ("init_score", "base_margin"):
        assert np.array_equal(stopped.predict(X, **{name: start}), stopped.predict(X) + start)
    with pytest.raises(ValueError, match="give init_score or base_margin, not both"):
        stopped.predict(X, init_score=start, base_margin=start)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"num_iteration": 2.5}, "num_iteration is 2.5: it must be an integer"),
    ({"num_iteration": "2"}, "num_iteration is '2'"),
    ({"num_iteration": True}, "num_iteration is True"),
    ({"start_iteration": 0.5}, "start_iteration is 0.5: it must be an integer"),
    ({"start_iteration": None}, "start_iteration is None"),
    ({"iteration_range": 3}, "iteration_range is 3: it must be a pair"),
    ({"iteration_range": (0, 1.5)}, "iteration_range is 1.5: it must be an integer"),
    ({"iteration_range": (3, 1)}, "it ends before it begins"),
    ({"ntree_limit": -1}, "ntree_limit is -1: it must be an integer from 0 up"),
    ({"ntree_limit": 1, "num_iteration": 1}, "give num_iteration or ntree_limit, not both"),
]


@pytest.mark.parametrize(("given", "message"), WRONG, ids=[message for _, message in WRONG])
def test_wrong_numbers_of_trees(stopped: rf.Ranker, given: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        stopped.predict(X, **given)


@pytest.mark.parametrize("given", [{"pred_leaf": True}, {"pred_contrib": True}])
def test_wrong_number_of_features(stopped: rf.Ranker, given: Any) -> None:
    with pytest.raises(ValueError, match="3 features"):
        stopped.predict(X[:, :3], **given)


# Contributions.


def test_contributions_are_shapley_values(mixed: rf.Ranker) -> None:
    codes = rf.RankingData(FRAME, qid=QID).features[:25]
    assert np.isnan(codes[:, :2]).any(axis=0).all()  # gaps in numbers and in categories
    got = mixed.contributions(FRAME.iloc[:25])
    assert got == pytest.approx(
        shapley.contributions(mixed.booster_.dump_model(), 3, codes), abs=1e-9
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_contributions_add_up(mixed: rf.Ranker, seed: int) -> None:
    frame, _ = make_frame(seed=seed)
    parts = mixed.contributions(frame)
    assert parts.shape == (len(frame), 4)
    assert np.abs(parts.sum(axis=1) - mixed.predict(frame)).max() < 1e-6
    # Values that training has not seen, and other numbers for the categories.
    frame["colour"] = pd.Categorical(
        np.where(np.arange(len(frame)) % 2, "blue", "purple"), categories=["purple", "blue"]
    )
    assert np.abs(mixed.contributions(frame).sum(axis=1) - mixed.predict(frame)).max() < 1e-6


@pytest.mark.parametrize("given", [{}, {"step": "exact-newton"}, {"quantised": False}])
def test_contributions_of_other_runs(given: dict[str, Any]) -> None:
    ranker = rf.Ranker(**PARAMS | given).fit(DATA)
    assert np.abs(ranker.contributions(VALID).sum(axis=1) - ranker.predict(VALID)).max() < 1e-6


def test_contributions_of_any_form_and_thread(stopped: rf.Ranker) -> None:
    expected = stopped.contributions(X)
    assert np.array_equal(stopped.contributions(DATA), expected)
    assert stopped.contributions(sparse.csr_matrix(X)) == pytest.approx(expected, abs=1e-12)
    stopped.set_params(threads=3)
    assert np.array_equal(stopped.contributions(X), expected)
    stopped.set_params(threads=1)


def test_contributions_with_a_base() -> None:
    base = rf.Ranker(**PARAMS | {"seed": 9}).fit(DATA)
    ranker = rf.Ranker(**PARAMS, base=base).fit(DATA)
    assert np.abs(ranker.contributions(X).sum(axis=1) - ranker.predict(X)).max() < 1e-6


def test_contributions_of_a_saved_model(mixed: rf.Ranker, tmp_path: Path) -> None:
    mixed.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).contributions(FRAME), mixed.contributions(FRAME))


def test_contributions_follow_a_model_that_changes() -> None:
    ranker = rf.Ranker(**PARAMS).fit(DATA)
    longer = ranker.contributions(X)
    assert np.array_equal(ranker.contributions(X), longer)  # from the same booster
    first, last = ranker.model_.trees[0], ranker.model_.trees.pop()
    ranker.model_.used -= 1
    shorter = ranker.contributions(X)
    assert np.abs(shorter.sum(axis=1) - ranker.predict(X)).max() < 1e-6
    ranker.model_.trees.append(first)
    ranker.model_.used += 1
    assert np.abs(ranker.contributions(X).sum(axis=1) - shorter.sum(axis=1)).max() > 1e-3
    ranker.model_.trees[-1] = last
    assert np.array_equal(ranker.contributions(X), longer)


def test_contributions_in_several_threads(stopped: rf.Ranker) -> None:
    expected = [stopped.contributions(X[n : n + 9]) for n in range(20)]
    with ThreadPoolExecutor(4) as pool:
        several = list(pool.map(lambda n: stopped.contributions(X[n : n + 9]), range(20)))
    assert all(map(np.array_equal, several, expected))


# Importances.


def naive_importance(ranker: rf.Ranker, kind: str) -> Any:
    count = np.zeros(ranker.n_features_in_)
    total = np.zeros(ranker.n_features_in_)
    field = {"gain": "split_gain", "mean_gain": "split_gain"}.get(kind, "internal_weight")

    def walk(node: Any) -> None:
        if "split_feature" in node:
            count[node["split_feature"]] += 1
            total[node["split_feature"]] += node[field]
            walk(node["left_child"])
            walk(node["right_child"])

    for tree in ranker.booster_.dump_model()["tree_info"]:
        walk(tree["tree_structure"])
    if kind == "split":
        return count
    return total / np.maximum(count, 1) if kind in ("mean_gain", "cover") else total


@pytest.mark.parametrize("kind", ["split", "gain", "mean_gain", "cover", "total_cover"])
def test_importance(stopped: rf.Ranker, kind: str) -> None:
    assert stopped.importance(kind) == pytest.approx(naive_importance(stopped, kind), rel=1e-5)


@pytest.mark.parametrize(("theirs", "ours"), [("weight", "split"), ("total_gain", "gain")])
def test_importance_by_xgboosts_names(stopped: rf.Ranker, theirs: str, ours: str) -> None:
    assert np.array_equal(stopped.importance(theirs), stopped.importance(ours))


@pytest.mark.parametrize("kind", ["split", "gain"])
def test_importance_is_lightgbms(stopped: rf.Ranker, kind: str) -> None:
    expected = stopped.booster_.feature_importance(kind)
    assert stopped.importance(kind) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("kind", [None, "split", "gain", "weight", "cover"])
def test_importances_follow_the_parameter(kind: str | None, tmp_path: Path) -> None:
    given = {} if kind is None else {"importance_type": kind}
    ranker = rf.Ranker(**PARAMS, **given).fit(DATA)
    expected = ranker.importance(kind or "split")
    assert np.array_equal(ranker.feature_importances_, expected)
    ranker.save(tmp_path)
    assert rf.load(tmp_path).feature_importances_ == pytest.approx(expected, rel=1e-12)
    ranker.set_params(importance_type="total_gain")
    assert np.array_equal(ranker.feature_importances_, ranker.importance("gain"))


def test_unknown_importance(stopped: rf.Ranker) -> None:
    with pytest.raises(ValueError, match="importance_type is 'shap': choose 'split', 'gain'"):
        stopped.importance("shap")
    with pytest.raises(ValueError, match="importance_type is 'gini': choose"):
        rf.Ranker(importance_type="gini").settings()
