"""Pictures of plain functions: what a pair costs, and how weights move while learning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rankforce.common.checks import check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.show.plots.style import Axes, canvas, draw_lines, legend_above


def pair_costs(*, center: float = 0.0, reach: float = 6.0, ax: Axes | None = None) -> Axes:
    """Force on the better document of a pair by the difference of scores, for both costs.

    Svore et al. 2011, Figure 5: the logistic cost pushes all misranked pairs alike, the sigmoid
    cost (around `center`) only those whose scores are near. The weight is 1.

    >>> import rankforce as rf
    >>> middle = [line.get_ydata()[60] for line in rf.plots.pair_costs().lines[:2]]
    >>> [float(force.round(4)) for force in middle]
    [0.5, 0.25]
    """
    import rankforce as rf

    with canvas(ax) as axes:
        far = check_number("reach", reach, least=0.0) or 1.0
        x = np.linspace(-far, far, 121)
        scores = np.column_stack([x, np.zeros_like(x)]).ravel()
        labels, group = np.tile([1, 0], len(x)), np.full(len(x), 2)
        costs = {
            "logistic": rf.objective("ranknet"),
            "sigmoid": rf.objective("ranknet", cost="sigmoid", center=center),
        }
        lines = {}
        for name, objective in costs.items():
            lines[name] = (x, objective.gradients(scores, labels, group=group)[0][::2])
        draw_lines(axes, lines)
        axes.axvline(0.0, color="0.6", linewidth=0.6, zorder=0.5)
        axes.set_ylim(0.0, 1.18)
        axes.set_xlabel("score of the better minus the worse one")
        axes.set_ylabel("force on the better document")
        axes.text(-far, 1.17, "misranked", va="top", fontsize=7.0, color="0.35")
        axes.text(far, 1.17, "in order", va="top", ha="right", fontsize=7.0, color="0.35")
        legend_above(axes)
        return axes


def schedules(
    moving: Mapping[str, Any] | None = None, *, trees: int = 500, ax: Axes | None = None
) -> Axes:
    """Weight of the second objective by number of trees (Svore et al. 2011, Figure 6).

    `moving` has objectives of `rf.scheduled` by name; by default linear and exponential ones at
    three rates each.

    >>> import rankforce as rf
    >>> moving = rf.scheduled("ranknet", "lambdarank-ndcg", rate=0.5)
    >>> rf.plots.schedules({"fast": moving}, trees=3).lines[0].get_ydata().tolist()
    [0.0, 0.5, 1.0]
    """
    with canvas(ax) as axes:
        iterations = list(range(check_whole("trees", trees, least=1)))
        lines = {}
        for name, objective in (_usual() if moving is None else moving).items():
            if not hasattr(objective, "weights"):
                raise RankforceError(f"{name!r} is {objective!r}: it must be made by rf.scheduled")
            lines[name] = (iterations, [objective.weights(m)[-1] for m in iterations])
        draw_lines(axes, lines)
        axes.set_ylim(0.0, 1.04)
        axes.set_xlabel("trees")
        axes.set_ylabel("weight of the second objective")
        legend_above(axes)
        return axes


def _usual() -> dict[str, Any]:
    import rankforce as rf

    rates = {"exponential": (100.0, 250.0, 500.0), "linear": (0.1, 0.01, 0.001)}
    return {
        f"{kind}, η = {rate:g}": rf.scheduled("ranknet", "ranknet", schedule=kind, rate=rate)
        for kind, several in rates.items()
        for rate in several
    }
