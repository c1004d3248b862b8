"""Models that XGBoost wrote are read, gone on from, and refused where they are no sums of trees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.models.forest.tree import stack
from rankforce.models.forest.walk import route
from rankforce.models.forest.xgboost_forest import XGBoostForest
from rankforce.models.forest.xgboost_tree import LARGEST, parse_tree, tree_record
from rankforce.models.load import load_model

xgb = pytest.importorskip("xgboost")

DATA = rf.make_data("yahoo", queries=30, seed=3)
X, Y = DATA.features, DATA.labels


def with_holes(seed: int = 0) -> Any:
    values = X.copy()
    values[np.random.default_rng(seed).random(values.shape) < 0.1] = np.nan
    return values


def train(objective: str = "rank:ndcg", rounds: int = 5, data: Any = None, **more: Any) -> Any:
    data = with_holes() if data is None else data
    matrix = xgb.DMatrix(data, Y, group=DATA.group)
    return xgb.train({"objective": objective, "max_depth": 4, **more}, matrix, rounds)


def save(booster: Any, folder: Path) -> Path:
    booster.save_model(folder / "theirs.json")
    return folder / "theirs.json"


@pytest.mark.parametrize(
    ("objective", "more"),
    [
        ("rank:ndcg", {}),
        ("rank:pairwise", {"base_score": 0.25, "num_parallel_tree": 2}),
        ("reg:squarederror", {"gamma": 0.5}),
        ("reg:absoluteerror", {}),
    ],
)
def test_a_plain_model_of_xgboosts(objective: str, more: dict[str, Any], tmp_path: Path) -> None:
    booster = train(objective, **more)
    ranker = rf.load(save(booster, tmp_path))
    rows = with_holes(1)
    assert ranker.predict(rows) == pytest.approx(booster.predict(xgb.DMatrix(rows)), abs=1e-5)
    ranker.save(tmp_path / "ours")
    again = rf.load(tmp_path / "ours")
    assert (again.predict(rows) == ranker.predict(rows)).all()
    with pytest.raises(rf.RankforceError, match="how many rows"):
        ranker.contributions(rows)


def test_every_value_goes_where_xgboost_sends_it(tmp_path: Path) -> None:
    """Thresholds themselves, their neighbours, and values too small for most programs."""
    booster = train(rounds=20)
    model = load_model(save(booster, tmp_path))
    tiny = [0.0, -0.0, 1e-45, -1e-45, 1e-38, 3e38, -3e38, np.nan]
    rows = []
    for tree in model.trees:
        for column, threshold in zip(tree.feature, tree.threshold.astype(np.float32), strict=True):
            beside = np.nextafter(threshold, np.array([-np.inf, np.inf], np.float32))
            for value in (threshold, *beside, *tiny):
                row = X[len(rows) % len(X)].copy()
                row[column] = value
                rows.append(row)
    given = np.array(rows, np.float32)
    expected = booster.predict(xgb.DMatrix(given), pred_leaf=True)
    found = model.scorer.leaves(given, range(model.steps), threads=1)
    for column in range(model.steps):
        pairs = {*zip(expected[:, column].tolist(), found[:, column].tolist(), strict=True)}
        assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def test_names_of_features(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, :3], columns=["a", "b", "c"])
    booster = train(data=frame)
    model = load_model(save(booster, tmp_path))
    assert model.feature_names == ["a", "b", "c"]
    ranker = rf.load(tmp_path / "theirs.json")
    turned = frame[["c", "a", "b"]]
    assert ranker.predict(turned) == pytest.approx(booster.predict(xgb.DMatrix(frame)), abs=1e-5)


def test_categories_of_a_frame(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    code = rng.integers(6, size=len(Y))
    label = (code % 2 + rng.random(len(Y)) > 1.2).astype(int)
    column = pandas.Categorical.from_codes(code, [10, 20, 30, 40, 50, 60])
    frame = pandas.DataFrame({"x": X[:, 0], "c": column})
    matrix = xgb.DMatrix(frame, label, group=DATA.group, enable_categorical=True)
    booster = xgb.train({"objective": "rank:ndcg", "max_depth": 4}, matrix, 4)
    model = load_model(save(booster, tmp_path))
    assert any(tree.is_categorical.any() for tree in model.trees)
    rows = np.stack([X[:, 0], code], axis=1).astype(np.float32)
    assert model.scores(rows) == pytest.approx(booster.predict(matrix), abs=1e-5)


def test_missing_values_alone_go_left() -> None:
    """XGBoost's trees from a GPU say so with minus infinity."""
    alone = {
        "left_children": [2, -1, -1],
        "right_children": [1, -1, -1],
        "split_indices": [1, 0, 0],
        "split_conditions": [-np.inf, 1.0, 2.0],
        "default_left": [1, 0, 0],
    }
    rows = np.array([[0, np.nan], [0, -LARGEST], [0, 0], [0, LARGEST]], np.float32)
    for missing, go_left in ((2.0, 1), (1.0, 0)):
        tree = parse_tree(json.loads(json.dumps(alone | {"default_left": [go_left, 0, 0]})))
        again = parse_tree(tree_record(tree))
        for one in (tree, again):
            leaf = route(one, stack([one]), rows, threads=1)
            assert one.leaf_value[leaf].tolist() == [missing, 1.0, 1.0, 1.0]
            assert np.isfinite(one.threshold).all()
    with pytest.raises(rf.RankforceError, match="not finite"):
        parse_tree(alone | {"split_conditions": [0.0, -np.inf, 2.0]})


def broken(tmp_path: Path, change: Any) -> Path:
    record = json.loads(save(train(rounds=2), tmp_path).read_text())
    change(record["learner"], record["learner"]["gradient_booster"]["model"]["trees"][1])
    (tmp_path / "broken.json").write_text(json.dumps(record))
    return tmp_path / "broken.json"


def set_to(path: str, value: Any) -> Any:
    def change(learner: Any, tree: Any) -> None:
        where = {"learner": learner, "tree": tree}
        *names, last = path.split(".")
        place: Any = where
        for name in names:
            place = place[name]
        place[int(last) if last.isdigit() else last] = value

    return change


BROKEN = {
    "points nowhere": set_to("tree.left_children.0", 999),
    "a node points nowhere": set_to("tree.right_children.0", 0),
    "different lengths": set_to("tree.split_indices", [0]),
    "not finite": set_to("tree.split_conditions.0", float("inf")),
    "no model of XGBoost's": set_to("learner.gradient_booster", {}),
    "'dart' is no sum of trees": set_to("learner.gradient_booster.name", "dart"),
    "for 'binary:logistic' gives no scores": set_to("learner.objective.name", "binary:logistic"),
    "several classes": set_to("learner.learner_model_param.num_class", "3"),
    "a node points nowhere ": set_to("tree.split_indices.0", 10_000),
}


@pytest.mark.parametrize("words", BROKEN)
def test_what_is_wrong_is_said(words: str, tmp_path: Path) -> None:
    place = broken(tmp_path, BROKEN[words])
    with pytest.raises(rf.RankforceError, match=words.strip()) as said:
        rf.load(place)
    assert str(place) in str(said.value)


def test_files_that_are_not_whole(tmp_path: Path) -> None:
    text = save(train(rounds=1), tmp_path).read_text()
    (tmp_path / "cut.json").write_text(text[: len(text) // 2])
    with pytest.raises(rf.RankforceError, match="cut off"):
        rf.load(tmp_path / "cut.json")
    train(rounds=1).save_model(tmp_path / "theirs.ubj")
    with pytest.raises(rf.RankforceError, match="JSON is read: save_model"):
        rf.load(tmp_path / "theirs.ubj")


def test_a_manifest_belongs_to_its_trees(tmp_path: Path) -> None:
    ranker = rf.Ranker(engine="xgboost", n_estimators=3, progress=False).fit(DATA)
    ranker.save(tmp_path)
    text = (tmp_path / "model.json").read_text()
    value = repr(float(ranker.model_.trees[0].leaf_value[0]))
    (tmp_path / "model.json").write_text(text.replace(value, "7.5"))
    with pytest.raises(rf.RankforceError, match=r"does not belong to the trees in model\.json"):
        rf.load(tmp_path)
    (tmp_path / "manifest.json").unlink()
    assert load_model(tmp_path).trees[0].leaf_value[0] == 7.5


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_going_on_from_a_model_of_xgboosts(engine: str) -> None:
    rows = with_holes()
    ranker = xgb.XGBRanker(n_estimators=4, max_depth=3).fit(rows, Y, group=DATA.group)
    data = rf.RankingData(rows, Y, group=DATA.group)
    usual: dict[str, Any] = {"engine": engine, "n_estimators": 2, "progress": False}
    for base in (ranker, ranker.get_booster()):
        ours = rf.Ranker(base=base, **usual).fit(data)
        assert ours.model_.steps == 6
        start = ours.predict(rows, num_iteration=4)
        assert start == pytest.approx(ranker.predict(rows), abs=1e-5)
    with pytest.raises(rf.RankforceError, match="not trained yet"):
        rf.Ranker(base=xgb.XGBRanker(), **usual).fit(data)


def test_what_trees_cannot_say_stays_outside() -> None:
    """A ranker for which another number is missing predicts itself."""
    ranker = xgb.XGBRanker(n_estimators=2, missing=0.0).fit(X, Y, group=DATA.group)
    ours = rf.Ranker(base=ranker, n_estimators=2, progress=False).fit(DATA)
    assert ours.model_.steps == 2
    assert ours.model_.base is ranker


def test_a_tree_that_takes_zeros_for_missing_has_no_such_form(tmp_path: Path) -> None:
    base = rf.Ranker(n_estimators=2, progress=False, engine="lightgbm", zero_as_missing=True)
    base.fit(DATA)
    with pytest.raises(rf.RankforceError, match="zero_as_missing"):
        rf.Ranker(engine="xgboost", base=base, n_estimators=1, progress=False).fit(DATA)
    assert XGBoostForest.kind == "xgboost"
