"""What is drawn is what was recorded, for one run and for several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import rankforce as rf
from rankforce.diagnostics import Curves
from rankforce.show.plots.style import COLORS, DASHES, MARKERS, look
from tests.show.plots.conftest import Runs

LINES = [
    (rf.plots.incoherence, {}, "incoherence", "restricted"),
    (rf.plots.incoherence, {"restricted": False}, "incoherence", "unrestricted"),
    (rf.plots.effective_pairs, {}, "pairs", "relative"),
    (rf.plots.effective_pairs, {"relative": False}, "pairs", "absolute"),
    (rf.plots.agreement, {}, "agreement", "share"),
    (rf.plots.norm_factors, {}, "norm_factors", "median"),
]


@pytest.mark.parametrize(("draw", "options", "kind", "key"), LINES)
def test_a_line_for_each_run(
    runs: Runs, draw: Callable[..., Any], options: dict[str, Any], kind: str, key: str
) -> None:
    axes = draw(runs.curves, **options)
    assert [line.get_label() for line in axes.lines] == list(runs.curves)
    for line, curves in zip(axes.lines, runs.curves.values(), strict=True):
        assert line.get_xdata().tolist() == curves.trees
        assert line.get_ydata().tolist() == curves.series[kind][key]
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == list(runs.curves)
    assert axes.get_xlabel() == "trees"
    assert axes.get_ylabel()


@pytest.mark.parametrize(("draw", "options", "kind", "key"), LINES)
def test_one_run_needs_no_name(
    runs: Runs, draw: Callable[..., Any], options: dict[str, Any], kind: str, key: str
) -> None:
    curves = runs.curves["ranknet"]
    axes = draw(curves, **options)
    assert len(axes.lines) == 1
    assert axes.lines[0].get_ydata().tolist() == curves.series[kind][key]
    assert axes.get_legend() is None


def test_shares_are_shown_as_percent(runs: Runs) -> None:
    axes = rf.plots.effective_pairs(runs.curves)
    assert axes.yaxis.get_major_formatter()(0.25, 0) == "25"
    assert "%" in axes.get_ylabel()


def test_norm_factors_have_a_band(runs: Runs) -> None:
    curves = runs.curves["ranknet"]
    axes = rf.plots.norm_factors(curves)
    corners = axes.collections[0].get_paths()[0].vertices
    expected = {*curves.series["norm_factors"]["low"], *curves.series["norm_factors"]["high"]}
    assert expected <= set(corners[:, 1].tolist())


def test_rank_changes_in_the_top_and_overall(runs: Runs) -> None:
    axes = rf.plots.rank_changes(runs.curves)
    names = [line.get_label() for line in axes.lines]
    assert names == [
        "lambdarank-ndcg, whole list",
        "lambdarank-ndcg, top 3",
        "ranknet, whole list",
        "ranknet, top 3",
    ]
    drawn = [line.get_ydata().tolist() for line in axes.lines]
    recorded = [
        curves.series["rank_changes"][key]
        for curves in runs.curves.values()
        for key in ("overall", "top")
    ]
    assert drawn == recorded
    colors = [line.get_color() for line in axes.lines]
    assert colors == [COLORS[0], COLORS[0], COLORS[1], COLORS[1]]


def test_contributions_are_lines_because_some_are_below_0(runs: Runs) -> None:
    curves = runs.curves["lambdarank-ndcg"]
    recorded = curves.series["contributions"]
    lines = rf.plots.contributions(curves).lines
    assert [line.get_label() for line in lines] == [f"label {label}" for label in recorded]
    assert [line.get_ydata().tolist() for line in lines] == [*recorded.values()]
    assert min(map(min, recorded.values())) < 0.0


@pytest.mark.parametrize("kind", ["contributions_by_size", "label_mix"])
def test_areas_add_up_and_are_those_recorded(runs: Runs, kind: str) -> None:
    curves = runs.curves["lambdarank-ndcg"]
    axes = getattr(rf.plots, kind)(curves)
    labels = list(curves.series[kind])
    bottom = np.zeros(len(curves.trees))
    for area, label in zip(axes.collections, labels[::-1], strict=True):
        top = bottom + np.array(curves.series[kind][label])
        corners = area.get_paths()[0].vertices
        for tree, low, high in zip(curves.trees, bottom, top, strict=True):
            heights = corners[corners[:, 0] == tree][:, 1]
            assert heights.min() == pytest.approx(low)
            assert heights.max() == pytest.approx(high)
        bottom = top
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names == [f"label {label}" for label in labels]


def test_areas_are_of_one_run(runs: Runs) -> None:
    with pytest.raises(ValueError, match=r"of one run, and there are 'lambdarank-ndcg' or 'rankn"):
        rf.plots.contributions(runs.curves)
    alone = {"a": runs.curves["ranknet"]}
    assert rf.plots.contributions(alone).get_ylabel() == "share of the force (%)"


def test_what_was_not_recorded_is_an_error() -> None:
    curves = Curves([1], {"pairs": {"relative": [0.5], "absolute": [3.0]}}, {})
    with pytest.raises(ValueError, match="run 'a' has recorded no 'incoherence', only 'pairs'"):
        rf.plots.incoherence({"a": curves})
    with pytest.raises(ValueError, match="there is no run"):
        rf.plots.incoherence({})
    with pytest.raises(ValueError, match="the run 'a' is list: it must be Curves"):
        rf.plots.incoherence({"a": [1, 2]})  # type: ignore[dict-item]


def test_unknown_values_leave_a_gap_and_no_warning(runs: Runs) -> None:
    curves = Curves([1, 2, 3], {"agreement": {"share": [float("nan"), 0.5, 0.6]}}, {})
    axes = rf.plots.agreement(curves)
    assert axes.lines[0].get_xdata().tolist() == [2, 3]


def test_drawing_into_axes_and_no_global_state(runs: Runs) -> None:
    before = dict(matplotlib.rcParams)
    figure = Figure()
    own = figure.add_subplot()
    assert rf.plots.incoherence(runs.curves, ax=own) is own
    assert rf.plots.incoherence(runs.curves).figure is not figure
    assert dict(matplotlib.rcParams) == before


def test_no_two_lines_look_alike() -> None:
    looks = {tuple(look(number).items()) for number in range(35)}
    assert len(looks) == 35
    assert len({look(number)["color"] for number in range(len(COLORS))}) == len(COLORS)
    in_gray = {(str(one["linestyle"]), one["marker"]) for one in map(look, range(35))}
    assert len(in_gray) == 35
    assert len(DASHES) * len(MARKERS) == 40
