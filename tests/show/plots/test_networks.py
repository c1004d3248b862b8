"""Pictures of networks: their axes are of epochs, and of steps where trees are beside them."""

from __future__ import annotations

import pytest

import rankforce as rf
from tests.training.network.made import grow, make_data, train

DATA, OTHER = make_data(0), make_data(1)
ALONE = ("contributions", "contributions_by_size", "label_mix")
SEVERAL = ("incoherence", "effective_pairs", "rank_changes", "norm_factors")


@pytest.fixture(scope="module")
def runs() -> dict[str, rf.Ranker]:
    watched = {"valid": [OTHER], "callbacks": [rf.Recorder(every=1)]}
    return {"net": train("attention", DATA, **watched), "trees": grow(DATA, **watched)}


@pytest.mark.parametrize("picture", [*ALONE, *SEVERAL])
def test_curves_are_by_epoch(runs: dict[str, rf.Ranker], picture: str) -> None:
    curves = {name: run.model_.diagnostics for name, run in runs.items()}
    draw = getattr(rf.plots, picture)
    assert draw(curves["net"]).get_xlabel() == "epochs"
    assert draw(curves["trees"]).get_xlabel() == "trees"
    if picture in SEVERAL:
        assert draw(curves).get_xlabel() == "steps"


def test_metrics_are_by_epoch(runs: dict[str, rf.Ranker]) -> None:
    assert rf.plots.metric_curves(runs["net"]).get_xlabel() == "epochs"
    assert rf.plots.metric_curves({"": runs["net"].model_}).get_xlabel() == "epochs"
    axes = rf.plots.metric_curves(runs)
    assert axes.get_xlabel() == "steps"
    assert [len(line.get_xdata()) for line in axes.lines] == [3, 6]
