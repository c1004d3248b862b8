"""Continued training: trees of a base come first, any other base is known again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import rankforce as rf
from rankforce.common.notes import Note
from rankforce.models.outside import probe_rows
from rankforce.show.report.gather import gather

lgb = pytest.importorskip("lightgbm")

TRAIN = rf.make_data("mslr", queries=15, seed=1)
VALID = rf.make_data("mslr", queries=8, seed=2)
X, Y, G = TRAIN.features, TRAIN.labels, TRAIN.group
PARAMS: dict[str, Any] = {
    "num_leaves": 5,
    "min_child_samples": 5,
    "learning_rate": 0.3,
    "seed": 1,
    "threads": 1,
    "progress": False,
}


def make(trees: int, base: Any = None, **more: Any) -> rf.Ranker:
    return rf.Ranker(n_estimators=trees, base=base, **PARAMS | more)


def fit(trees: int, base: Any = None, **more: Any) -> rf.Ranker:
    return make(trees, base, **more).fit(TRAIN, eval_set=[VALID])


def tree(depth: int) -> Any:
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


def by_lightgbm(folder: Path, features: Any) -> Any:
    return lgb.Booster(model_file=folder / "model.txt").predict(features)


# A base of trees.


@pytest.fixture(scope="module")
def first() -> rf.Ranker:
    return fit(4)


BASES: dict[str, Any] = {
    "ranker": lambda ranker, place: ranker,
    "model": lambda ranker, place: ranker.model_,
    "folder": lambda ranker, place: place,
    "folder as text": lambda ranker, place: str(place),
    "text file": lambda ranker, place: place / "model.txt",
    "booster": lambda ranker, place: ranker.booster_,
}


@pytest.mark.parametrize("kind", BASES)
def test_trees_of_a_base_come_first(kind: str, first: rf.Ranker, tmp_path: Path) -> None:
    first.save(tmp_path / "first")
    ranker = fit(3, BASES[kind](first, tmp_path / "first"), subsample=0.7)
    model = ranker.model_
    assert (len(model.trees), model.used, model.base_steps) == (7, 7, 4)
    assert ranker.predict(VALID, num_iteration=4) == pytest.approx(first.predict(VALID), rel=1e-12)
    ranker.save(tmp_path / "run")
    expected = ranker.predict(VALID)
    assert not np.array_equal(expected, first.predict(VALID))
    assert np.array_equal(rf.load(tmp_path / "run").predict(VALID), expected)
    assert by_lightgbm(tmp_path / "run", VALID.features) == pytest.approx(expected, rel=1e-12)
    assert ranker.booster_.predict(VALID.features) == pytest.approx(expected, rel=1e-12)
    record = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (record["base"], record["base_trees"], record["trees"]) == (None, 4, 7)


def test_a_run_in_two_parts_is_the_run_in_one(first: rf.Ranker) -> None:
    """Scores, draws and metrics go on where the base ended: tree by tree, to the bit."""
    whole, second = fit(9), fit(5, first)
    assert second.model_.text() == whole.model_.text()
    assert second.evals_result_ == whole.evals_result_
    assert second.best_iteration_ == whole.best_iteration_
    assert np.array_equal(
        second.predict(VALID, num_iteration=6), whole.predict(VALID, num_iteration=6)
    )


def test_only_the_used_trees_of_a_base_come(tmp_path: Path) -> None:
    early = fit(40, early_stopping_rounds=3)
    used = early.best_iteration_
    assert used is not None
    assert used < len(early.model_.trees)
    model = fit(2, early).model_
    assert (model.base_steps, len(model.trees)) == (used, used + 2)


def test_a_model_of_lightgbm_is_a_base() -> None:
    params = {"n_estimators": 5, "num_leaves": 5, "min_child_samples": 5, "verbosity": -1}
    for known in (lgb.LGBMRanker(**params), lgb.LGBMRegressor(**params)):
        given = {"group": G} if isinstance(known, lgb.LGBMRanker) else {}
        known.fit(X, Y, **given)
        ranker = make(3, known).fit(X, Y, group=G)
        assert (ranker.model_.base_steps, ranker.model_.base) == (5, None)
        assert ranker.predict(X, num_iteration=5) == pytest.approx(known.predict(X), rel=1e-12)
    # What a classifier predicts is no sum of trees: it stands outside.
    classifier = lgb.LGBMClassifier(**params).fit(X, Y > 1)
    ranker = make(3, classifier).fit(X, Y, group=G)
    assert (ranker.model_.base_steps, ranker.model_.base) == (0, classifier)


def test_a_base_with_categories_recodes_the_data(tmp_path: Path) -> None:
    """New values stand behind those of the base, whatever the order in the new frame."""
    rng = np.random.default_rng(0)
    colours = np.array(["red", "blue", "green", "black"])
    code = rng.integers(0, 4, len(Y))
    labels = np.clip(Y + 2 * (code == 1), 0, 4)
    kept = {"min_data_per_group": 5, "cat_smooth": 1.0}

    def frame(values: Any, order: list[str]) -> pd.DataFrame:
        made = pd.DataFrame(X[:, :5], columns=list("abcde"))
        made["colour"] = pd.Categorical(values, categories=order)
        return made

    old = frame(np.where(code == 3, "red", colours[code]), ["red", "blue", "green"])
    base = make(4, **kept).fit(old, labels, group=G)
    new = frame(colours[code], ["black", "green", "blue", "red"])
    ranker = make(3, base, **kept).fit(new, labels, group=G)
    assert ranker.model_.categories == {5: ["red", "blue", "green", "black"]}
    assert np.array_equal(ranker.predict(old, num_iteration=4), base.predict(old))
    ranker.save(tmp_path)
    assert by_lightgbm(tmp_path, new) == pytest.approx(ranker.predict(new), rel=1e-12)
    with pytest.raises(ValueError, match="feature 'colour' holds categories, the model was"):
        make(2, make(2).fit(X[:, :6], Y, group=G)).fit(new, labels, group=G)


NAMES = [f"f{column}" for column in range(5)]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["f0", "f1", "f2", "f3", "x"], "the data lacks the feature 'f4', which the model was"),
        (NAMES[:4], "the data lacks the feature 'f4'"),
        (None, ""),
    ],
)
def test_columns_must_be_those_of_the_base(names: Any, message: str) -> None:
    base = make(2).fit(X[:, :5], Y, group=G, feature_name=NAMES)
    width = 5 if names is None else len(names)
    given = {} if names is None else {"feature_name": names}
    if not message:
        assert len(make(1, base).fit(X[:, :width], Y, group=G, **given).model_.trees) == 3
        return
    with pytest.raises(ValueError, match=message):
        make(1, base).fit(X[:, :width], Y, group=G, **given)


def test_columns_go_by_name_and_new_ones_come_behind(tmp_path: Path) -> None:
    base = make(2).fit(X[:, :5], Y, group=G, feature_name=NAMES)
    order = [6, 4, 2, 0, 3, 1]  # f4, f2, f0, f3, f1 behind a new one
    names = ["new", "f4", "f2", "f0", "f3", "f1"]
    ranker = make(3, base).fit(X[:, order], Y, group=G, feature_name=names)
    assert ranker.feature_name_ == [*NAMES, "new"]
    frame = pd.DataFrame(X[:, order], columns=names)
    assert np.array_equal(ranker.predict(frame, num_iteration=2), base.predict(X[:, :5]))
    ranker.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(frame), ranker.predict(frame))
    assert by_lightgbm(tmp_path, frame[ranker.feature_name_]) == pytest.approx(
        ranker.predict(frame), rel=1e-12
    )


def test_early_stopping_waits_behind_the_base() -> None:
    """A base that has passed its best must not stop the run before its first tree."""
    base = fit(60, learning_rate=1.0)
    model = fit(30, base, early_stopping_rounds=4, learning_rate=0.01).model_
    assert len(model.trees) >= 64


def test_init_scores_stand_before_the_base(first: rf.Ranker) -> None:
    start = np.linspace(-1, 1, TRAIN.rows)
    seen: list[Any] = []
    ranker = make(1, first).fit(
        TRAIN, init_score=start, callbacks=[lambda m: seen.append(m.scores.copy())]
    )
    assert seen[0] == pytest.approx(ranker.predict(TRAIN, init_score=start), rel=1e-12, abs=1e-15)


def test_a_checkpoint_has_the_trees_of_the_base(first: rf.Ranker, tmp_path: Path) -> None:
    whole = fit(6, first, checkpoint=tmp_path / "whole")
    fit(2, first, checkpoint=tmp_path / "part")
    assert len(rf.load(tmp_path / "part").model_.trees) == 6
    resumed = fit(6, first, checkpoint=tmp_path / "part")
    for name in ("model.txt", "manifest.json"):
        assert (tmp_path / "part" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert resumed.evals_result_ == whole.evals_result_
    other = fit(4, seed=5, subsample=0.5)
    for base in (other, None):
        with pytest.raises(ValueError, match="belongs to another run: base was '4 trees, "):
            fit(8, base, checkpoint=tmp_path / "part")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("nowhere", "base is 'nowhere': choose None, 'regressor', the folder of a saved model"),
        (3, "base is 3: choose"),
        (rf.Ranker(), "base is a ranker that is not trained yet"),
        (lgb.LGBMRanker(), "base is a LGBMRanker that is not trained yet"),
    ],
)
def test_what_is_no_base(base: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fit(1, base)


# A base of another kind.


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, rf.Ranker]:
    other_kind = tree(4).fit(X, Y)
    ranker = fit(3, other_kind)
    place = tmp_path_factory.mktemp("outside")
    ranker.save(place)
    return place, other_kind, ranker


def test_another_base_is_noticed(outside: Any, tmp_path: Path) -> None:
    place, other_kind, ranker = outside
    with pytest.raises(ValueError, match=r"stands on another one: give it as base="):
        rf.load(place)
    again = rf.load(place, base=other_kind)
    assert np.array_equal(again.predict(VALID), ranker.predict(VALID))
    again.save(tmp_path)
    assert (tmp_path / "manifest.json").read_bytes() == (place / "manifest.json").read_bytes()
    for wrong in (tree(2).fit(X, Y), fit(2)):
        with pytest.raises(ValueError, match="with other scores than the DecisionTree"):
            rf.load(place, base=wrong)


def test_the_probe_holds_nothing_of_the_data(outside: Any) -> None:
    place, other_kind, _ = outside
    record = json.loads((place / "manifest.json").read_text())
    assert record["base"] == "outside"
    assert record["base_mark"]["class"] == "DecisionTreeRegressor"
    scores = np.array(record["base_mark"]["scores"])
    assert scores.shape == (16,)
    assert (
        not (probe_rows(rf.load(place, base=other_kind).model_.scorer.ranges) == X[:, None])
        .all(2)
        .any()
    )


def test_a_base_that_is_not_needed_is_refused(first: rf.Ranker, tmp_path: Path) -> None:
    first.save(tmp_path / "first")
    with pytest.raises(ValueError, match="does not stand on this base: leave it out"):
        rf.load(tmp_path / "first", base=tree(4).fit(X, Y))
    fit(2, first).save(tmp_path / "second")
    assert rf.load(tmp_path / "second", base=tmp_path / "first").model_.base is None
    with pytest.raises(ValueError, match="does not stand on this base: leave it out"):
        rf.load(tmp_path / "second", base=fit(2))


def test_models_of_version_0_1_have_no_fingerprint(outside: Any, tmp_path: Path) -> None:
    place, other_kind, ranker = outside
    shutil.copytree(place, tmp_path / "old")
    record = json.loads((place / "manifest.json").read_text())
    del record["base_mark"]
    (tmp_path / "old" / "manifest.json").write_text(json.dumps(record))
    with pytest.warns(Note, match="did not record its base"):
        old = rf.load(tmp_path / "old", base=other_kind)
    assert np.array_equal(old.predict(VALID), ranker.predict(VALID))


def test_no_base_upon_a_base_of_another_kind(outside: Any) -> None:
    place, _, ranker = outside
    for base in (ranker, place):
        with pytest.raises(ValueError, match="base stands on another model itself"):
            fit(1, base)


def test_the_booster_says_that_it_lacks_the_base(outside: Any) -> None:
    _, _, ranker = outside
    with pytest.warns(Note, match="but not the base, a DecisionTreeRegressor"):
        assert ranker.booster_.num_trees() == 3


def test_a_base_that_gives_no_scores_of_rows() -> None:
    class Wrong:
        def predict(self, features: Any) -> Any:
            return np.zeros((len(features), 2))

    with pytest.raises(ValueError, match=r"base, a Wrong, predicts shape \(\d+, 2\) for"):
        fit(1, Wrong())


def test_everything_takes_a_model_upon_another(outside: Any, tmp_path: Path) -> None:
    place, other_kind, ranker = outside
    again = rf.load(place, base=other_kind)
    means = rf.evaluate(again, VALID, "ndcg@5").means
    assert means == rf.evaluate(ranker.predict(VALID), VALID, "ndcg@5").means
    assert rf.compare({"a": again, "b": fit(2)}, VALID, metric="ndcg@5").values["a"].shape
    curves = rf.diagnose(again, VALID, what="rank_changes", every=1)
    assert curves.series["rank_changes"]["overall"][0] < 1
    table = gather({"a": place}, VALID, metric="ndcg@5", objectives=["ranknet"], base=other_kind)
    assert table["scores"]["per_query"]["a"] == pytest.approx(
        rf.evaluate(again, VALID, "ndcg@5").values[0], abs=1e-6
    )
    page = rf.write_report([place], VALID, out=tmp_path / "r.html", objectives=[], base=other_kind)
    assert page.stat().st_size > 10_000
