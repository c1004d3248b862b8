"""Pictures of objectives by themselves: weights of rank pairs, and how many pairs there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.common.checks import check_whole
from rankforce.common.errors import RankforceError
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

if TYPE_CHECKING:
    from rankforce.forces.base import AnyObjective

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
