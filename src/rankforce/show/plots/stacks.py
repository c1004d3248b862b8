"""Pictures of shares that add up: which labels the force comes from, which are on top."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.show.plots.inputs import one_run
from rankforce.show.plots.style import Axes, canvas, percent, put_legend

if TYPE_CHECKING:
    from rankforce.show.plots.inputs import Runs

# From light to dark as labels grow: the order is seen in gray and with any colour vision.
SHADES = "YlGnBu"


def contributions(run: Runs, *, ax: Axes | None = None) -> Axes:
    """Where the force on highly relevant documents comes from, by label and number of trees.

    Svore et al. 2011, Figure 3(a).

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "contributions": {"0": [0.7, 0.6], "1": [0.3, 0.4]}}})
    >>> rf.plots.contributions(curves).get_ylabel()
    'share of the force (%)'
    """
    with canvas(ax) as axes:
        _stack(axes, run, "contributions")
        axes.set_ylabel("share of the force (%)")
        return axes


def label_mix(run: Runs, *, ax: Axes | None = None) -> Axes:
    """Labels of the documents on top, by number of trees (Svore et al. 2011, Figure 3(b)).

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {"top": "3"}, "series": {
    ...     "label_mix": {"0": [0.7, 0.6], "1": [0.3, 0.4]}}})
    >>> rf.plots.label_mix(curves).get_ylabel()
    'share of the top 3 (%)'
    """
    with canvas(ax) as axes:
        top = _stack(axes, run, "label_mix").about.get("top")
        axes.set_ylabel(f"share of the top {top} (%)" if top else "share of the top (%)")
        return axes


def _stack(axes: Any, runs: Runs, kind: str) -> Any:
    """Areas upon each other, the last label at the bottom: labels are recorded lowest first."""
    import matplotlib

    run = one_run(runs, kind)
    labels = list(run.series[kind])[::-1]
    shades = matplotlib.colormaps[SHADES](np.linspace(0.9, 0.08, len(labels)))
    areas = axes.stackplot(
        run.trees,
        [run.series[kind][label] for label in labels],
        labels=labels,
        colors=shades,
        edgecolor="white",
        linewidth=0.4,
    )
    axes.set_xlim(min(run.trees), max(run.trees))
    axes.set_ylim(0.0, 1.0)
    axes.grid(False)
    percent(axes.yaxis)
    axes.set_xlabel("trees")
    put_legend(axes, areas[::-1], [f"label {label}" for label in labels[::-1]], handletextpad=0.4)
    for handle in axes.get_legend().legend_handles:
        handle.set_edgecolor("0.4")
    return run
