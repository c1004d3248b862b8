"""What a trained network says beside scores: importance, contributions, itself as a module."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

import rankforce as rf
from tests.training.network.made import KIND, SMALL, grow, make_data, train

pytestmark = pytest.mark.slow  # CI runs it

DATA, OTHER = make_data(0), make_data(1)


@pytest.fixture(scope="module")
def rankers() -> dict[str, rf.Ranker]:
    made = {kind: train(kind, DATA, scaling="log") for kind in SMALL}
    return made | {"trees": grow(DATA)}


def weights(ranker: rf.Ranker) -> dict[str, Any]:
    return {name: values.numpy() for name, values in ranker.module_.body.state_dict().items()}


def test_influence_of_a_linear_ranker_is_the_size_of_its_weights(
    rankers: dict[str, rf.Ranker],
) -> None:
    found = rankers["linear"].importance()
    own = weights(rankers["linear"])
    numbers = [column for column in range(5) if column != KIND]
    assert found[numbers] == pytest.approx(np.abs(own["weight.weight"][0, :4]), rel=1e-5)
    table = own["tables.0.weight"][:, 0]
    codes = DATA.features[:, KIND].astype(int)
    assert found[KIND] == pytest.approx(np.abs(table[codes] - table[-1]).mean(), rel=1e-4)
    assert found[4] == 0  # constant


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_influence_is_the_slope_of_scores(rankers: dict[str, rf.Ranker], kind: str) -> None:
    ranker = rankers[kind]
    assert ranker.importance("influence") == pytest.approx(ranker.feature_importances_)
    module = ranker.module_.double()  # else differences are noise
    sizes = torch.from_numpy(DATA.sizes.astype(np.int64))
    rows = DATA.index.rows_of(np.arange(len(DATA.sizes)))
    with torch.no_grad():
        x = module.encode(torch.from_numpy(DATA.features[rows]).double())
        for place, column in enumerate([0, 1, 3]):
            slopes = []
            for row in range(len(x)):
                step = torch.zeros_like(x)
                step[row, place] = 1e-6
                moved = module.body(x + step, sizes) - module.body(x - step, sizes)
                slopes.append(abs(float(moved.sum())) / 2e-6)
            assert ranker.importance()[column] == pytest.approx(np.mean(slopes), rel=1e-3)
    assert ranker.importance()[KIND] > 0
    assert ranker.importance()[4] == 0  # constant: its column never moves


def test_a_feature_that_is_scaled_in_two_ways_has_the_sum() -> None:
    ranker = train("linear", DATA, scaling="both")
    both = np.abs(weights(ranker)["weight.weight"][0, :8]).reshape(2, 4).sum(axis=0)
    assert ranker.importance()[[0, 1, 3, 4]] == pytest.approx(both, rel=1e-5)
    assert ranker.importance()[4] == 0


def test_an_interrupted_run_knows_its_features_too() -> None:
    def interrupt(moment: Any) -> None:
        if moment.iteration == 1:
            raise KeyboardInterrupt

    ranker = train("linear", DATA, scaling="log", callbacks=[interrupt])
    assert (ranker.model_.steps, ranker.model_.finished) == (2, False)
    assert ranker.importance()[0] > 0


def test_a_network_has_one_kind_of_importance_and_trees_keep_theirs(
    rankers: dict[str, rf.Ranker], tmp_path: Path
) -> None:
    with pytest.raises(rf.RankforceError, match="is 'gain': a network has 'influence' alone"):
        rankers["mlp"].importance("gain")
    trees = rankers["trees"]
    assert np.array_equal(trees.importance(), trees.importance("gain"))
    assert np.array_equal(trees.feature_importances_, trees.importance("split"))
    with pytest.raises(rf.RankforceError, match="for networks: this model is made of trees"):
        trees.importance("influence")
    rankers["mlp"].save(tmp_path)
    assert np.array_equal(rf.load(tmp_path).importance(), rankers["mlp"].importance())


@pytest.mark.parametrize("scaling", ["log", "standard", "quantile", "none", "both"])
def test_contributions_of_a_linear_ranker_add_up(scaling: str) -> None:
    ranker = train("linear", DATA, scaling=scaling)
    found = ranker.contributions(OTHER)
    assert found.shape == (OTHER.rows, 6)
    assert found.sum(axis=1) == pytest.approx(ranker.predict(OTHER), abs=1e-5)
    assert not found[:, 4:].any()  # a constant feature, and nothing beside features
    own = weights(ranker)
    encoded, weight = ranker.model_.scorer.encoder.apply(OTHER.features), own["weight.weight"][0]
    ways = [0, 4] if scaling == "both" else [0]  # four numbers, scaled once or twice, and a flag
    assert found[:, 0] == pytest.approx(encoded[:, ways] @ weight[ways], abs=1e-6)
    gaps = np.isnan(OTHER.features[:, 1])
    assert gaps.any()
    assert found[gaps, 1] == pytest.approx(weight[-1], abs=1e-6)
    table = own["tables.0.weight"][:, 0]
    assert found[:, KIND] == pytest.approx(table[OTHER.features[:, KIND].astype(int)], abs=1e-6)


def test_scores_of_a_base_are_in_the_last_column(rankers: dict[str, rf.Ranker]) -> None:
    base = rankers["attention"]
    ranker = train("linear", DATA, base=base)
    found = ranker.contributions(OTHER)
    assert found[:, -1] == pytest.approx(base.predict(OTHER))
    assert found.sum(axis=1) == pytest.approx(ranker.predict(OTHER), abs=1e-5)


def test_contributions_under_trees_are_those_of_the_trees_by_their_weights(
    rankers: dict[str, rf.Ranker],
) -> None:
    trees = rankers["trees"]
    ranker = train("linear", DATA, base=trees)
    found = ranker.contributions(OTHER)
    assert found.sum(axis=1) == pytest.approx(ranker.predict(OTHER), abs=1e-5)
    share = weights_of_trees(ranker)
    each = [
        trees.predict(OTHER, pred_contrib=True, start_iteration=n, num_iteration=1)
        for n in range(len(share))
    ]
    expected = sum(one * own for one, own in zip(each, share, strict=True))
    assert found == pytest.approx(expected, abs=1e-5)
    with pytest.raises(rf.RankforceError, match="are trees: ask its base for the importance"):
        ranker.importance()
    with pytest.raises(rf.RankforceError, match=r"are trees, which are no part of a torch\.nn"):
        ranker.module_  # noqa: B018


def weights_of_trees(ranker: rf.Ranker) -> Any:
    return ranker.model_.scorer.states[ranker.model_.used]["weight.weight"][0]


@pytest.mark.parametrize("kind", ["mlp", "attention"])
def test_other_networks_have_no_contributions(rankers: dict[str, rf.Ranker], kind: str) -> None:
    with pytest.raises(rf.RankforceError, match=f"this one is '{kind}', whose scores are no sums"):
        rankers[kind].contributions(DATA)


@pytest.mark.parametrize("what", ["booster_", "pred_leaf", "text", "distil"])
def test_what_only_trees_have_is_refused(rankers: dict[str, rf.Ranker], what: str) -> None:
    ranker = rankers["mlp"]
    ask = {
        "booster_": lambda: ranker.booster_,
        "pred_leaf": lambda: ranker.predict(DATA, pred_leaf=True),
        "text": ranker.model_.text,
        "distil": lambda: rf.distil(ranker, DATA, progress=False),
    }
    with pytest.raises(rf.RankforceError, match=f"^{what} is for models of trees: .* a network$"):
        ask[what]()


def test_searches_are_for_trees() -> None:
    with pytest.raises(rf.RankforceError, match="tune searches settings of trees: leave model out"):
        rf.tune(DATA, folds=2, model="mlp", progress=False)
    with pytest.raises(rf.RankforceError, match="tune searches settings of trees: leave model out"):
        rf.tune(DATA, folds=2, space={"model": ["trees", "mlp"]}, progress=False)
    with pytest.raises(rf.RankforceError, match="model is 'mlp': auto chooses among trees"):
        rf.auto(DATA, model="mlp", progress=False)


def test_trees_are_no_module(rankers: dict[str, rf.Ranker]) -> None:
    with pytest.raises(rf.RankforceError, match=r"module_ is for networks: .* made of trees"):
        rankers["trees"].module_  # noqa: B018


def test_the_module_is_the_users_own(rankers: dict[str, rf.Ranker]) -> None:
    before = rankers["mlp"].predict(DATA)
    for one in rankers["mlp"].module_.parameters():
        torch.nn.init.zeros_(one)
    assert np.array_equal(rankers["mlp"].predict(DATA), before)


@pytest.mark.parametrize("kind", ["mlp", "attention"])
@pytest.mark.slow
def test_onnx_has_the_scores_of_the_ranker(
    rankers: dict[str, rf.Ranker], kind: str, tmp_path: Path
) -> None:
    module = rankers[kind].module_
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own, of PyTorch's older names
        torch.onnx.export(
            module,
            (torch.from_numpy(DATA.features[:9]),),
            tmp_path / "ranker.onnx",
            dynamo=True,
            verbose=False,
            input_names=["features"],
            dynamic_shapes=({0: torch.export.Dim("rows")},),
        )
    session = onnxruntime.InferenceSession(tmp_path / "ranker.onnx")
    for query in range(3):
        rows = OTHER.index.rows_of(query)
        (found,) = session.run(None, {"features": OTHER.features[rows]})
        np.testing.assert_allclose(found, rankers[kind].predict(OTHER)[rows], atol=1e-4)
