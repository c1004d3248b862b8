"""Networks on trees, trees on networks, networks on networks: trained, kept, resumed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankforce as rf
from tests.training.network.made import grow, make_data, train

DATA, OTHER = make_data(0), make_data(1)
TREES = grow(DATA)
ATTENTION = train("attention", DATA)
MLP = train("mlp", DATA)
# Name -> the base, and how the ranker on it is trained.
ON = {
    "trees on attention": (ATTENTION, lambda **more: grow(DATA, valid=[OTHER], **more)),
    "mlp on trees": (TREES, lambda **more: train("mlp", DATA, valid=[OTHER], **more)),
    "linear on trees": (TREES, lambda **more: train("linear", DATA, valid=[OTHER], **more)),
    "linear on attention": (ATTENTION, lambda **more: train("linear", DATA, **more)),
    "attention on mlp": (MLP, lambda **more: train("attention", DATA, valid=[OTHER], **more)),
}
MEMBERS = [pytest.param(*parts, id=name) for name, parts in ON.items()]


def stop_first(moment: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("base", "make"), MEMBERS)
def test_it_is_saved_loaded_and_resumed(base: rf.Ranker, make: Any, tmp_path: Path) -> None:
    ranker = make(base=base)
    expected = ranker.predict(OTHER)
    ranker.save(tmp_path / "whole")
    base.save(tmp_path / "base")
    for given in (base, tmp_path / "base"):
        assert np.array_equal(rf.load(tmp_path / "whole", base=given).predict(OTHER), expected)
    with pytest.raises(rf.RankforceError, match=r"base is a Ranker with other scores|leave it out"):
        rf.load(tmp_path / "whole", base=grow(OTHER, n_estimators=2))
    options = {"base": base, "checkpoint": tmp_path / "part", "checkpoint_every": 1}
    assert make(callbacks=[stop_first], **options).model_.steps == 1
    assert np.array_equal(make(**options).predict(OTHER), expected)


@pytest.mark.parametrize(("base", "make"), MEMBERS)
def test_all_that_looks_at_models_looks_at_it(base: rf.Ranker, make: Any) -> None:
    ranker = make(base=base)
    scores = ranker.predict(OTHER)
    judged = rf.evaluate(ranker, OTHER, "ndcg@5")
    assert judged.means == rf.evaluate(scores, OTHER, "ndcg@5").means
    query = rf.explain(None, ranker, OTHER)
    assert [one.score for one in query.documents] == [scores[one.row] for one in query.documents]
    last = rf.diagnose(ranker, OTHER, metrics="ndcg@5").last["metrics"]["NDCG@5"]
    assert last == pytest.approx(judged.means["NDCG@5"])
    best = ranker.rank(OTHER.features, qid=OTHER.qid, top=1)
    assert np.array_equal(best.row, ranker.rank(OTHER, top=1).row)


@pytest.mark.parametrize("name", ["trees on attention", "linear on attention", "attention on mlp"])
def test_lists_are_asked_for(name: str) -> None:
    base, make = ON[name]
    ranker = make(base=base)
    with pytest.raises(rf.RankforceError, match="depends on the whole list: give qid or group"):
        ranker.predict(OTHER.features)
    alone = np.concatenate(
        [
            ranker.predict(OTHER.features[OTHER.index.rows_of(query)], group=[size])
            for query, size in enumerate(OTHER.sizes)
        ]
    )
    whole = ranker.predict(OTHER)[OTHER.index.rows_of(np.arange(len(OTHER.sizes)))]
    assert alone == pytest.approx(whole, abs=1e-5)


def test_a_linear_ranker_on_trees_starts_as_their_sum() -> None:
    ranker = train("linear", DATA, base=TREES, learning_rate=1e-12)
    assert ranker.predict(OTHER) == pytest.approx(TREES.predict(OTHER), abs=1e-6)


def test_it_needs_no_trees_beside_its_file(tmp_path: Path) -> None:
    ranker = train("linear", DATA, base=TREES)
    ranker.save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).predict(OTHER), ranker.predict(OTHER))


def test_an_mlp_on_trees_adds_to_their_scores() -> None:
    ranker = train("mlp", DATA, base=TREES)
    own = ranker.model_.scores(OTHER.features)
    assert ranker.predict(OTHER) == pytest.approx(TREES.predict(OTHER) + own)
