"""Models of all kinds score in a server as they do in `ranker.predict`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

import rankforce as rf
from rankforce.serving import answers, requests
from rankforce.serving.bodies import ARROW, JSON
from rankforce.serving.limits import Limits
from rankforce.serving.models import Models
from rankforce.serving.refusal import Refusal
from tests.serving.conftest import NAMES, Known, train
from tests.serving.running import to_arrow


def scores(models: Models, body: dict | bytes, kind: str = JSON) -> list[float]:
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    told = answers.rank(requests.read(content, kind, {}, models, Limits()))
    return [one.score for one in sorted(told.ranking, key=lambda one: one.row)]


def test_large_numbers_of_categories_keep_their_meaning(tmp_path: Path):
    """Numbers that float32 does not hold have codes, which must not be looked up twice."""
    draw = np.random.default_rng(3)
    shops = 2**40 + np.arange(6)
    chosen = draw.integers(0, 6, 400)
    features = np.stack([shops[chosen], draw.random(400)], axis=1).astype(np.float64)
    labels = (chosen % 2) + (features[:, 1] > 0.5)
    data = rf.RankingData(
        features, labels, group=[20] * 20, feature_names=["shop", "age"], categorical=["shop"]
    )
    ranker = rf.Ranker(n_estimators=5, num_leaves=7, min_child_samples=2, progress=False).fit(data)
    ranker.save(tmp_path)
    assert ranker.model_.renumbered == [0]
    models = Models({"shops": tmp_path})
    some = features[:30]
    wanted = ranker.predict(some).tolist()
    assert len({*wanted}) > 10
    assert scores(models, {"features": some.tolist()}) == wanted
    by_name = [{"features": {"shop": int(shop), "age": age}} for shop, age in some.tolist()]
    assert scores(models, {"documents": by_name}) == wanted
    table = {"shop": some[:, 0].astype(np.int64), "age": some[:, 1]}
    assert scores(models, to_arrow(table), ARROW) == wanted
    request = requests.read_explain(
        msgspec.json.encode({"features": some.tolist()}), JSON, {}, models, Limits()
    )
    for one in answers.explain(request).ranking:
        assert sum(one.contributions) + one.rest == pytest.approx(wanted[one.row], abs=1e-9)


@pytest.mark.parametrize("kind", ["linear", "mlp", "attention"])
def test_networks_are_served(kind: str, tmp_path: Path, rows: np.ndarray):
    data = rf.RankingData(
        np.tile(rows, (4, 1)), np.arange(120) % 3, group=[20] * 6, feature_names=NAMES
    )
    ranker = rf.Ranker(model=kind, epochs=1, progress=False).fit(data)
    ranker.save(tmp_path)
    models = Models({"net": tmp_path})
    wanted = ranker.predict(rows, group=[len(rows)])
    assert scores(models, {"features": rows.tolist()}) == pytest.approx(wanted.tolist(), abs=1e-6)
    request = requests.read_explain(
        msgspec.json.encode({"features": rows.tolist()}), JSON, {}, models, Limits()
    )
    answers.warm(models)
    if kind == "linear":
        one = answers.explain(request).ranking[0]
        assert sum(one.contributions) + one.rest == pytest.approx(one.score, abs=1e-6)
    else:
        with pytest.raises(Refusal, match="contributions are of trees and of linear networks"):
            answers.explain(request)


def test_a_plain_model_of_lightgbm_and_its_replacement(
    first: Known, tmp_path: Path, rows: np.ndarray
):
    file = tmp_path / "model.txt"
    first.ranker.booster_.save_model(file)
    models = Models({"plain": file})
    assert scores(models, {"features": rows.tolist()}) == first.ranker.predict(rows).tolist()
    entry = models.entry("plain")
    assert not entry.is_stale
    other = train(tmp_path / "other", seed=7)
    other.ranker.booster_.save_model(file)
    models.reload_stale()
    assert scores(models, {"features": rows.tolist()}) == other.ranker.predict(rows).tolist()


def test_a_version_is_what_a_model_computes(first: Known, second: Known, tmp_path: Path):
    first.ranker.save(tmp_path / "copy")
    paths = {"a": first.folder, "b": tmp_path / "copy", "c": second.folder}
    versions = [one.served.version for one in Models(paths).entries.values()]
    assert versions[0] == versions[1] != versions[2]


def test_a_model_upon_another_one_gets_its_base(first: Known, tmp_path: Path, rows: np.ndarray):
    data = rf.RankingData(rows, np.arange(30) % 3, group=[30], feature_names=NAMES)
    own = {"n_estimators": 2, "num_leaves": 3, "min_child_samples": 2, "progress": False}
    net = rf.Ranker(model="linear", epochs=1, progress=False).fit(data)
    net.save(tmp_path / "net")
    ranker = rf.Ranker(base=net, **own).fit(data)
    ranker.save(tmp_path / "upon")
    with pytest.raises(rf.RankforceError, match="stands on another one"):
        Models({"upon": tmp_path / "upon"})
    paths = {"upon": tmp_path / "upon", "first": first.folder}
    models = Models(paths, base=tmp_path / "net")
    wanted = ranker.predict(rows).tolist()
    assert scores(models, {"features": rows.tolist()}) == pytest.approx(wanted, abs=1e-6)
