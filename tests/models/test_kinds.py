"""A model is a scorer and a manifest: trees are one kind of scorer, and here is another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.models import base
from rankforce.models.load import load_model
from rankforce.models.model import Model
from rankforce.training.loading import make_ranker

DATA = rf.make_data("yahoo", queries=20, seed=1)
WIDTH = DATA.features.shape[1]


class Linear:
    """Weights of features, a step adds some."""

    kind, file, step = "linear", "weights.json", "epoch"
    is_sum, needs_lists = True, False

    def __init__(self, names: list[str], weights: list[list[float]]) -> None:
        self.names, self.weights = names, weights
        self.ranges = ["none"] * len(names)

    def __len__(self) -> int:
        return len(self.weights)

    def keep(self, steps: int) -> None:
        del self.weights[steps:]

    def add_scores(
        self, features: Any, steps: range, out: Floats, *, threads: int, index: Any = None
    ) -> None:
        for step in steps:
            out += features @ np.array(self.weights[step])

    def content(self, steps: int, parameters: Any, categories: Any) -> bytes:
        return json.dumps({"names": self.names, "weights": self.weights[:steps]}).encode()

    def digest(self, steps: int) -> str:
        return str(sum(map(sum, self.weights[:steps])))

    @classmethod
    def parse(cls, content: bytes, place: Path) -> Linear:
        try:
            return cls(**json.loads(content))
        except (ValueError, TypeError) as error:
            raise RankforceError(f"{place}: {error}") from None


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base.KINDS, "linear", (__name__, "Linear"))


def make(steps: int = 3, used: int = 2) -> Model:
    weights = np.random.default_rng(5).normal(size=(steps, WIDTH)).tolist()
    scorer = Linear(list(DATA.feature_names), weights)
    return Model(scorer, used, {}, "by hand", names=list(DATA.feature_names))


def test_it_is_saved_and_loaded_with_its_manifest(tmp_path: Path) -> None:
    model = make()
    model.save(tmp_path, steps=3)
    record = json.loads((tmp_path / "manifest.json").read_text())
    assert (record["kind"], record["epochs"], record["used"]) == ("linear", 3, 2)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["manifest.json", "weights.json"]
    found = load_model(tmp_path)
    assert (found.scorer.kind, found.steps, found.used) == ("linear", 3, 2)
    assert np.array_equal(found.scores(DATA.features), model.scores(DATA.features))


def test_a_ranker_around_it_predicts_and_is_judged(tmp_path: Path) -> None:
    make().save(tmp_path, steps=3)
    ranker = rf.load(tmp_path)
    expected = DATA.features.astype(float) @ np.sum(make().scorer.weights[:2], axis=0)
    assert ranker.predict(DATA) == pytest.approx(expected)
    assert ranker.predict(DATA, num_iteration=3) == pytest.approx(make(3, 3).scores(DATA.features))
    assert 0 < ranker.score(DATA, metric="ndcg@5") < 1
    other = rf.Ranker(n_estimators=3, progress=False).fit(DATA)
    found = rf.compare({"linear": ranker, "trees": other}, DATA, metric="ndcg@5")
    assert found.means["trees"] > found.means["linear"]


def test_trees_stand_on_it(tmp_path: Path) -> None:
    first = make_ranker(make())
    ranker = rf.Ranker(n_estimators=2, base=first, progress=False).fit(DATA)
    ranker.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path, base=first).predict(DATA), ranker.predict(DATA))
    trees = ranker.model_.scores(DATA.features)
    assert ranker.predict(DATA) == pytest.approx(first.predict(DATA) + trees)


@pytest.mark.parametrize("what", ["pred_leaf", "pred_contrib"])
def test_what_only_trees_have_is_refused(what: str) -> None:
    ranker = make_ranker(make())
    with pytest.raises(rf.RankforceError, match=f"{what} is for models of trees: .* a linear"):
        ranker.predict(DATA, **{what: True})
    with pytest.raises(rf.RankforceError, match="importance is for models of trees"):
        ranker.importance()


def test_a_broken_payload_and_an_unknown_kind_are_named(tmp_path: Path) -> None:
    make().save(tmp_path)
    (tmp_path / "weights.json").write_text("{")
    with pytest.raises(rf.RankforceError, match=r"weights\.json: Expecting property name"):
        rf.load(tmp_path)
    make().save(tmp_path)
    record = json.loads((tmp_path / "manifest.json").read_text()) | {"kind": "oracle"}
    (tmp_path / "manifest.json").write_text(json.dumps(record))
    with pytest.raises(rf.RankforceError, match="its kind is 'oracle': this version knows forest"):
        rf.load(tmp_path)


def test_a_model_of_another_kind_takes_the_place_of_one_of_trees(tmp_path: Path) -> None:
    rf.Ranker(n_estimators=2, progress=False).fit(DATA).save(tmp_path)
    make().save(tmp_path)
    assert rf.load(tmp_path).model_.scorer.kind == "linear"
    assert not (tmp_path / "model.txt").exists()
