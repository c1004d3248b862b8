"""Pictures of objectives by themselves: weights of ranks, numbers of pairs, costs, schedules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rankforce.common.checks import check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.mixed import scheduled
from rankforce.forces.named import at_cutoff, title_of
from rankforce.show.plots.style import (
    EXCLUDED,
    HATCH,
    WIDTH,
    Axes,
    canvas,
    draw_lines,
    legend_above,
)

SHADES = "YlOrBr"


def rank_weights(
    objective: str | AnyObjective, *, n: int = 10, k: int | None = None, ax: Axes | None = None
) -> Axes:
    """The weight of a pair by the ranks of its two documents; excluded pairs are gray.

    Adalia et al. 2025, Figure 1, from `objective.rank_weights(n)`: without the label term. `k` is
    for an objective given by name.

    >>> import rankforce as rf
    >>> axes = rf.plots.rank_weights("lambdagap-s", n=4, k=2)
    >>> int(axes.collections[0].get_array().count())
    4
    """
    with canvas(ax, (2.4, 2.2)) as axes:
        import matplotlib

        one: Any = at_cutoff(objective, k)
        if not hasattr(one, "rank_weights"):
            raise RankforceError(
                f"{title_of(one)} has no weight by ranks alone: give a single objective"
            )
        weights = one.rank_weights(check_whole("n", n, least=2))
        axes.patch.set(facecolor=EXCLUDED, edgecolor=HATCH, hatch="//////")
        edges = np.arange(0.5, n + 1.0)
        mesh = axes.pcolormesh(
            edges,
            edges,
            np.ma.masked_equal(weights, 0.0),
            cmap=matplotlib.colormaps[SHADES],
            vmin=0.0,
            vmax=float(weights.max()) * 1.5 or 1.0,  # brown is no better than orange
            edgecolors="white",
            linewidth=0.6,
        )
        axes.set_aspect("equal")
        axes.invert_yaxis()
        axes.grid(False)
        step = 1 if n <= 5 else 2 if n <= 12 else max(n // 5, 1)
        ticks = np.arange(1, n + 1, step)
        axes.set_xticks(ticks)
        axes.set_yticks(ticks)
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
        axes.set_xlabel("rank $j$")
        axes.set_ylabel("rank $i$")
        axes.set_title(title_of(one), parse_math=False)
        _color_bar(axes, mesh, weights)
        return axes


def _color_bar(axes: Any, mesh: Any, weights: Any) -> None:
    """A bar from 0 to the largest weight, with all weights that there are if they are few."""
    from matplotlib.ticker import MaxNLocator

    bar = axes.figure.colorbar(mesh, ax=axes, fraction=0.05, pad=0.03, aspect=16)
    largest = float(weights.max()) or 1.0
    bar.ax.set_ylim(0.0, largest)
    few = np.unique(weights[weights > 0.0])
    is_whole = bool(np.all(few == np.round(few)))
    steps = np.asarray(MaxNLocator(4, integer=is_whole).tick_values(0.0, largest))
    bar.set_ticks([0.0, *few] if len(few) <= 3 else steps[steps <= largest])
    bar.ax.yaxis.set_major_formatter(lambda value, _: f"{value:.2g}")
    bar.ax.tick_params(labelsize=6.5, length=2.0, width=0.5)
    bar.outline.set_visible(False)


def candidate_pairs(
    objectives: Sequence[str],
    *,
    n: int = 10,
    k: Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Number of rank pairs that can push, by the cutoff k (Adalia et al. 2025, Figure 2).

    From `objective.candidate_pairs(n)` for `n` documents; `k` is by default 1 to n - 1.

    >>> import rankforce as rf
    >>> axes = rf.plots.candidate_pairs(["lambdarank-p@k"], n=5)
    >>> axes.lines[0].get_ydata().tolist()
    [4.0, 6.0, 6.0, 4.0]
    """
    with canvas(ax, (WIDTH, 2.8)) as axes:
        if isinstance(objectives, str):
            objectives = [objectives]
        cutoffs = list(range(1, check_whole("n", n, least=2))) if k is None else list(k)
        lines = {}
        for name in objectives:
            made: list[Any] = [at_cutoff(name, cutoff) for cutoff in cutoffs]
            lines[made[0].name] = (cutoffs, [one.candidate_pairs(n) for one in made])
        draw_lines(axes, lines)
        axes.set_xticks(cutoffs)
        axes.set_ylim(bottom=0.0)
        axes.set_xlabel("cutoff $k$")
        axes.set_ylabel(f"candidate pairs of {n} documents")
        legend_above(axes)
        return axes


def pair_costs(*, center: float = 0.0, reach: float = 6.0, ax: Axes | None = None) -> Axes:
    """Force on the better document of a pair by the difference of scores, for both costs.

    Svore et al. 2011, Figure 5: the logistic cost pushes all misranked pairs alike, the sigmoid
    cost (around `center`) only those whose scores are near. The weight is 1.

    >>> import rankforce as rf
    >>> middle = [line.get_ydata()[60] for line in rf.plots.pair_costs().lines[:2]]
    >>> [float(force.round(4)) for force in middle]
    [0.5, 0.25]
    """
    with canvas(ax) as axes:
        far = check_number("reach", reach, least=0.0) or 1.0
        x = np.linspace(-far, far, 121)
        scores = np.column_stack([x, np.zeros_like(x)]).ravel()
        labels, group = np.tile([1, 0], len(x)), np.full(len(x), 2)
        costs = {
            "logistic": make_objective("ranknet"),
            "sigmoid": make_objective("ranknet", cost="sigmoid", center=center),
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
    rates = {"exponential": (100.0, 250.0, 500.0), "linear": (0.1, 0.01, 0.001)}
    return {
        f"{kind}, η = {rate:g}": scheduled("ranknet", "ranknet", schedule=kind, rate=rate)
        for kind, several in rates.items()
        for rate in several
    }
