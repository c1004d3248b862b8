"""Metric curves from rankers, models, histories and recorders."""

from __future__ import annotations

import pytest

import rankforce as rf
from tests.show.plots.conftest import Runs


def test_a_line_for_each_run_and_data_set(runs: Runs) -> None:
    axes = rf.plots.metric_curves(runs.rankers, metric="P@3")
    assert axes.get_ylabel() == "P@3"
    expected = {
        f"{name}, {part}": values["p@3"] if "p@3" in values else values["P@3"]
        for name, ranker in runs.rankers.items()
        for part, values in ranker.evals_result_.items()
    }
    drawn = {line.get_label(): line.get_ydata().tolist() for line in axes.lines}
    assert drawn == expected
    assert len(drawn) == 4


def test_a_ranker_its_model_and_its_history_are_the_same(runs: Runs) -> None:
    ranker = runs.rankers["ranknet"]
    drawn = [
        [line.get_ydata().tolist() for line in rf.plots.metric_curves(given, data="valid").lines]
        for given in (ranker, ranker.model_, ranker.evals_result_)
    ]
    assert len(drawn[0]) == 1
    assert drawn[0] == drawn[1] == drawn[2]


def test_curves_of_a_recorder(runs: Runs) -> None:
    axes = rf.plots.metric_curves(runs.curves)
    assert axes.get_ylabel() == "NDCG@5"
    for line, curves in zip(axes.lines, runs.curves.values(), strict=True):
        (values,) = curves.series["metrics"].values()
        assert line.get_xdata().tolist() == curves.trees
        assert line.get_ydata().tolist() == values


def test_the_first_trees_can_be_left_out(runs: Runs) -> None:
    axes = rf.plots.metric_curves(runs.rankers, data="valid", skip=2)
    assert [line.get_xdata().tolist() for line in axes.lines] == [[3, 4, 5]] * 2
    assert [line.get_label() for line in axes.lines] == list(runs.rankers)


def test_mistakes_name_the_choices(runs: Runs) -> None:
    with pytest.raises(ValueError, match=r"no metric 'map', only '(?i:ndcg@5)' or '(?i:p@3)'"):
        rf.plots.metric_curves(runs.rankers, metric="map")
    with pytest.raises(ValueError, match="no data 'test', only 'valid' or 'train'"):
        rf.plots.metric_curves(runs.rankers, data="test")
    with pytest.raises(ValueError, match="there is no run"):
        rf.plots.metric_curves({})
    with pytest.raises(ValueError, match="give a ranker, its history, or Curves"):
        rf.plots.metric_curves({"a": 5})
