"""XGBoost's trees with our forces: the same ones however they are grown, on every kind of data."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import rankforce as rf
from rankforce.data.sources import Dense
from rankforce.engines.xgboost.engine import find_grid
from rankforce.models.forest.tree import GOES_LEFT
from rankforce.models.load import load_model
from tests.engines.cases import make_categories, with_holes

xgb = pytest.importorskip("xgboost")

needs_pages = pytest.mark.skipif(
    not hasattr(xgb, "ExtMemQuantileDMatrix"), reason="XGBoost 2 has no pages of bins"
)

TRAIN, VALID = (rf.make_data("mslr", queries=queries, seed=queries) for queries in (60, 20))
PARAMS: dict[str, Any] = {"engine": "xgboost", "n_estimators": 6, "num_leaves": 15}
PARAMS |= {"progress": False, "k": 10}


def fit(train: Any = TRAIN, valid: Any = None, **more: Any) -> rf.Ranker:
    sets = {} if valid is None else {"eval_set": [valid]}
    return rf.Ranker(**PARAMS | more).fit(train, **sets)


def digest(ranker: rf.Ranker) -> str:
    found: str = ranker.model_.scorer.digest(ranker.model_.steps)
    return found


def theirs(ranker: rf.Ranker, features: Any, folder: Path, **kinds: Any) -> Any:
    """What XGBoost itself makes of the saved file."""
    ranker.save(folder)
    booster = xgb.Booster(model_file=folder / "model.json")
    names = booster.feature_names
    return booster.predict(xgb.DMatrix(features, feature_names=names, **kinds))


class Elsewhere:
    """Rows that are read in blocks."""

    def __init__(self, values: Any) -> None:
        self._values, self.shape = values, values.shape

    def blocks(self, rows: int | None = None) -> Any:
        return Dense(self._values).blocks(rows or 500)

    def take(self, rows: Any) -> Any:
        return self._values[rows]


@pytest.mark.slow
def test_it_learns_as_lightgbms_trees_do() -> None:
    ours = fit(valid=VALID, n_estimators=30)
    other = fit(valid=VALID, n_estimators=30, engine="lightgbm")
    before = rf.metric("ndcg@10")(np.zeros(VALID.rows), VALID.labels, group=VALID.group).mean()
    assert ours.score(VALID) > before + 0.05
    assert ours.score(VALID) == pytest.approx(other.score(VALID), abs=0.05)
    assert {tree.leaves for tree in ours.model_.trees} == {15}


@pytest.mark.slow
@pytest.mark.parametrize(
    "more", [{}, {"colsample_bytree": 0.5}, {"colsample_bynode": 0.5}], ids=str
)
def test_threads_change_nothing(more: dict[str, Any]) -> None:
    """Weights make forces of very different sizes, whose plain sums depend on their order."""
    rng = np.random.default_rng(0)
    weight = np.exp(4.0 * rng.normal(size=len(TRAIN.group)))
    data = rf.RankingData(TRAIN.features, TRAIN.labels, group=TRAIN.group, query_weight=weight)
    assert digest(fit(data, threads=1, **more)) == digest(fit(data, threads=2, **more))


def test_sums_on_the_grid_are_exact() -> None:
    rng = np.random.default_rng(1)
    for rows in (3, 1000, 100_000):
        values = (rng.normal(size=rows) * np.exp(9.0 * rng.normal(size=rows))).astype(np.float32)
        grid = find_grid(float(np.abs(values).max()), rows)
        held = np.rint(values.astype(np.float64) / grid) * grid
        assert (held.astype(np.float32) == held).all()
        assert np.abs(held - values).max() <= grid / 2
        assert held.sum() == sum(held.tolist()) == held[::-1].cumsum()[-1]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"colsample_bytree": 0.4, "subsample": 0.7},
        pytest.param({"extmem": True}, marks=needs_pages),
    ],
    ids=str,
)
def test_a_resumed_run_ends_in_the_same_model(more: dict[str, Any], tmp_path: Path) -> None:
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    assert fit(**more, **place, n_estimators=3).model_.steps == 3
    again, whole = fit(valid=None, **more, **place), fit(**more)
    assert digest(again) == digest(whole)
    assert again.model_.text() == whole.model_.text()


def test_xgboost_reads_what_is_saved(tmp_path: Path) -> None:
    ranker, valid = fit(with_holes(TRAIN)), with_holes(VALID)
    assert theirs(ranker, valid.features, tmp_path) == pytest.approx(
        ranker.predict(valid), abs=1e-5
    )
    loaded = rf.load(tmp_path)
    assert (loaded.predict(valid) == ranker.predict(valid)).all()
    assert digest(loaded) == digest(ranker)
    same = loaded.predict(valid, pred_leaf=True) == ranker.predict(valid, pred_leaf=True)
    assert same.all()
    assert (loaded.contributions(valid) == ranker.contributions(valid)).all()


def test_rows_go_where_xgboost_sends_them() -> None:
    """Counts of leaves come from our walk, weights from XGBoost's own sums."""
    ranker = fit(with_holes(TRAIN), split="least-squares")
    for tree in ranker.model_.trees:
        assert tree.details["leaf_weight"] == pytest.approx(tree.details["leaf_count"])
        assert tree.details["weight"] == pytest.approx(tree.details["count"])
        assert tree.details["count"][0] == TRAIN.rows


def test_sparse_features_are_zeros_where_nothing_is_stored() -> None:
    values = np.where(TRAIN.features > np.median(TRAIN.features), TRAIN.features, 0.0)
    dense, some = (
        rf.RankingData(form(values), TRAIN.labels, group=TRAIN.group)
        for form in (np.array, sparse.csr_matrix)
    )
    assert digest(fit(dense)) == digest(fit(some))


@pytest.mark.parametrize("depth", [2, 4])
def test_level_by_level_is_the_same_tree_where_depth_alone_bounds_it(depth: int) -> None:
    bound = {"max_depth": depth, "num_leaves": 2**depth}
    levels, best = fit(**bound), fit(**bound, grow_policy="lossguide")
    assert levels.predict(VALID) == pytest.approx(best.predict(VALID), abs=1e-9)


def test_settings_mean_what_they_mean() -> None:
    gains = [tree.details["gain"] for tree in fit(min_split_gain=8.0).model_.trees]
    assert min(gain.min() for gain in gains) >= 8.0
    assert min(tree.details["gain"].min() for tree in fit().model_.trees) < 8.0
    heavy = fit(min_child_weight=2.0)
    assert min(tree.details["leaf_weight"].min() for tree in heavy.model_.trees) >= 2.0
    assert len({*fit(colsample_bytree=0.02).model_.trees[0].feature}) <= 3
    few = fit(max_bin=2, num_leaves=300).model_.trees
    splits = {(f, t) for tree in few for f, t in zip(tree.feature, tree.threshold, strict=True)}
    assert len(splits) <= 2 * TRAIN.features.shape[1]
    assert all(tree.leaves <= 4 for tree in fit(max_depth=2).model_.trees)


def test_directions_of_features_are_kept() -> None:
    column = int(np.argmax(fit().importance("gain")))
    directions = [0] * TRAIN.features.shape[1]
    directions[column] = -1
    ranker = fit(monotone_constraints=directions, n_estimators=20)
    rows = np.repeat(VALID.features[:50], 2, axis=0)
    rows[1::2, column] += 10.0
    scores = ranker.predict(rows)
    assert (scores[1::2] <= scores[::2] + 1e-9).all()
    with pytest.raises(rf.RankforceError, match="does not go with monotone_constraints"):
        fit(monotone_constraints=directions, step="exact-newton")


def test_it_says_what_it_cannot_do() -> None:
    wrong = {
        r"does not go with min_child_samples \(XGBoost bounds min_child_weight alone\)": {
            "min_child_samples": 50
        },
        "does not go with quantised": {"quantised": True},
        "grow_policy is 'widest': choose 'lossguide' or 'depthwise'": {"grow_policy": "widest"},
        "extmem is 'disk': it must be True or False": {"extmem": "disk"},
        "colsample_bylevel is 2: it must be a number above 0": {"colsample_bylevel": 2},
        "path_smooth is a parameter of engine 'lightgbm'": {"path_smooth": 1.0},
    }
    for message, given in wrong.items():
        with pytest.raises(rf.RankforceError, match=message):
            fit(**given)
    flat = rf.RankingData(np.ones((30, 3)), np.arange(30) % 3, group=[15, 15])
    with pytest.raises(rf.RankforceError, match="all are constant"):
        fit(flat)


# Categories


def test_categories_go_where_xgboost_sends_them(tmp_path: Path) -> None:
    data = make_categories(0)
    ranker = fit(data, split="least-squares", num_leaves=31)
    trees = ranker.model_.trees
    assert sum(tree.is_categorical.sum() for tree in trees) > 10
    for tree in trees:
        assert tree.details["leaf_weight"] == pytest.approx(tree.details["leaf_count"])
    rows = np.where(data.features < 0, np.nan, data.features)
    rows[:, 0] = data.features[:, 0]
    kinds = {"feature_types": ["float", "c", "c"], "enable_categorical": True}
    assert theirs(ranker, rows, tmp_path, **kinds) == pytest.approx(ranker.predict(data), abs=1e-5)
    assert (rf.load(tmp_path).predict(data) == ranker.predict(data)).all()
    unknown = data.features.copy()
    unknown[:, 1:] = 1000.0
    missing = data.features.copy()
    missing[:, 1:] = np.nan
    assert (ranker.predict(unknown) == ranker.predict(missing)).all()
    assert ranker.score(make_categories(1)) > 0.75


def test_missing_values_of_categories_go_either_way() -> None:
    """XGBoost sends them with either set of codes: both become sets of ours."""
    record = {
        "left_children": [1, -1, -1],
        "right_children": [2, -1, -1],
        "split_indices": [1, 0, 0],
        "split_conditions": [0.0, -1.0, 1.0],
        "split_type": [1, 0, 0],
        "categories": [0, 33],
        "categories_nodes": [0],
        "categories_segments": [0],
        "categories_sizes": [2],
    }
    from rankforce.models.forest.tree import stack
    from rankforce.models.forest.walk import route
    from rankforce.models.forest.xgboost_tree import parse_tree

    rows = np.array([[0, c] for c in (0, 1, 33, 39, np.nan)], np.float32)
    for default, expected in ((1, [1, -1, 1, -1, -1]), (0, [1, -1, 1, -1, 1])):
        tree = parse_tree(record | {"default_left": [default, 0, 0]}, {1: 40})
        leaf = route(tree, stack([tree]), rows, threads=1)
        assert tree.leaf_value[leaf].tolist() == expected
    with pytest.raises(rf.RankforceError, match="how many categories"):
        parse_tree(record | {"default_left": [0, 0, 0]})


# Data that is not in memory


@needs_pages
def test_pages_on_disk_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests have folders in the usual
    data = rf.RankingData(Elsewhere(TRAIN.features), TRAIN.labels, group=TRAIN.group)
    paged = fit(data, extmem=True)
    assert digest(paged) == digest(fit(data, extmem=True, threads=1))
    assert paged.score(VALID) == pytest.approx(fit().score(VALID), abs=0.05)
    assert digest(fit(extmem=True)) == digest(fit())
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_bins_of_ours_are_xgboosts(tmp_path: Path) -> None:
    inside, valid = with_holes(TRAIN), with_holes(VALID, seed=1)
    outside, other = (
        rf.RankingData(Elsewhere(one.features), one.labels, group=one.group)
        for one in (inside, valid)
    )
    place = {"checkpoint": tmp_path / "run", "checkpoint_every": 2}
    fit(outside, other, n_estimators=3, **place)
    ranker = fit(outside, other, n_estimators=12, **place)
    assert digest(ranker) == digest(fit(outside, other, n_estimators=12))
    history = ranker.model_.history["valid_0"]["ndcg@10"]
    found = rf.metric("ndcg@10")(ranker.predict(valid), valid.labels, group=valid.group).mean()
    assert history[-1] == pytest.approx(float(found), abs=1e-12)
    assert fit(inside, valid, n_estimators=12).score(valid) == pytest.approx(found, abs=0.05)


def test_only_missing_values_tell_documents_apart() -> None:
    rng = np.random.default_rng(5)
    values = np.ones((400, 2), np.float32)
    label = rng.integers(2, size=400)
    values[label == 1, 0] = np.nan
    group = [20] * 20
    inside = rf.RankingData(values, label, group=group)
    outside = rf.RankingData(Elsewhere(values), label, group=group)
    for data in (inside, outside):
        ranker = fit(data, n_estimators=2)
        assert ranker.score(inside) == 1.0
    assert not any((tree.rule & GOES_LEFT).any() for tree in ranker.model_.trees)


# Everything else does not care who grew the trees


def test_the_rest_of_the_toolkit(tmp_path: Path) -> None:
    recorder = rf.Recorder(every=3)
    ranker = rf.Ranker(**PARAMS).fit(TRAIN, eval_set=[VALID], callbacks=[recorder])
    other = fit(engine="lightgbm")
    assert recorder.curves.trees == [1, 4, 6]
    assert rf.diagnose(ranker, VALID, every=3).trees == [1, 4, 6]
    value = rf.evaluate(ranker, VALID, "ndcg@10").means["NDCG@10"]
    assert value == pytest.approx(ranker.score(VALID))
    compared = rf.compare({"x": ranker, "l": other}, VALID, resamples=100)
    assert compared.means["x"] == pytest.approx(value)
    page = rf.write_report({"by XGBoost": ranker, "other": other}, VALID, out=tmp_path / "p.html")
    assert "by XGBoost" in page.read_text()
    told = rf.explain("lambdarank-ndcg", ranker, VALID, query=VALID.qid[0])
    assert len(told.documents) > 1
    assert ranker.contributions(VALID).sum(1) == pytest.approx(ranker.predict(VALID))
    for kind in ("gain", "split", "cover"):
        assert ranker.importance(kind).max() > 0
    assert ranker.booster_.predict(VALID.features) == pytest.approx(ranker.predict(VALID))


@pytest.mark.slow
def test_committees_bases_and_early_stopping(tmp_path: Path) -> None:
    several = fit(valid=VALID, members=2, n_estimators=4)
    several.save(tmp_path / "several")
    assert (tmp_path / "several" / "model.json").exists()
    assert (rf.load(tmp_path / "several").predict(VALID) == several.predict(VALID)).all()
    stopped = fit(valid=VALID, n_estimators=200, early_stopping_rounds=3, learning_rate=0.5)
    assert stopped.model_.used < stopped.model_.steps < 200
    for engine in ("lightgbm", "xgboost"):
        base = fit(engine=engine)
        for upper in ("lightgbm", "xgboost"):
            on = fit(base=base, engine=upper, n_estimators=3)
            assert on.model_.steps == 9
            start = on.predict(VALID, num_iteration=6)
            assert start == pytest.approx(base.predict(VALID), abs=1e-12)
            on.save(tmp_path / upper)
            loaded = load_model(tmp_path / upper)
            assert (loaded.scores(VALID.features) == on.predict(VALID)).all()
            assert loaded.scorer.kind == {"lightgbm": "forest", "xgboost": "xgboost"}[upper]


def test_a_model_changes_its_form_in_place(tmp_path: Path) -> None:
    for engine, file in (
        ("xgboost", "model.json"),
        ("lightgbm", "model.txt"),
        ("xgboost", "model.json"),
    ):
        ranker = fit(engine=engine)
        ranker.save(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", file}
        assert (rf.load(tmp_path).predict(VALID) == ranker.predict(VALID)).all()
