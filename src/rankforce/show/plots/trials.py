"""What mattered in a search: a panel for each parameter, a dot for each trial."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankforce.experiments.trials import PRUNED
from rankforce.show.plots.style import COLORS, WIDTH, Axes, log_steps, panels, style

if TYPE_CHECKING:
    from rankforce.experiments.tuning import Tuning

COLUMNS = 3
HEIGHT = 1.7  # inches of a row
GREY = "0.6"
WIDE = 100  # the ratio from which an axis has room for powers of ten alone


def tuning(found: Tuning) -> Axes:
    """Values of trials against each parameter, the one that mattered most first; its first axes.

    Rings are trials that were pruned, the dot in another colour is the best. The title of a panel
    says how much its parameter mattered (`Tuning.importance`).
    """
    with style():
        shares = found.importance()
        columns = min(COLUMNS, len(shares))
        rows = -(-len(shares) // columns)
        known = [one for one in found.trials if one.value is not None]
        size = (WIDTH * max(columns, 2) / 1.7, HEIGHT * rows + 0.2)
        axes = panels(rows, columns, size, share_y=True)
        for panel, (name, share) in zip(axes, shares.items(), strict=False):
            one = found.space[name]
            for trial in known:
                x = trial.point[name]
                x = one.index(x) if isinstance(one, list) else x
                is_best, is_pruned = trial.number == found.best.number, trial.state == PRUNED
                color = COLORS[1] if is_best else GREY if is_pruned else COLORS[0]
                panel.scatter(
                    x,
                    trial.value,
                    s=22 if is_best else 10,
                    zorder=3 if is_best else 2,
                    facecolor="none" if is_pruned else color,
                    edgecolor=color,
                    linewidth=0.7,
                )
            if isinstance(one, list):
                panel.set_xticks(range(len(one)), [_tick(choice) for choice in one])
                panel.margins(x=0.2)
            elif one.log and one.high < WIDE * one.low:
                log_steps(panel)
            elif one.log:
                panel.set_xscale("log")
            panel.set_title(f"{name}  {100.0 * share:.0f} %", loc="left")
        for panel in axes[len(shares) :]:
            panel.set_visible(False)
        for row in range(rows):
            axes[row * columns].set_ylabel(found.metric.name)
        return axes[0]


def _tick(choice: object) -> str:
    """A choice below the axis; of names of objectives, what tells them apart.

    >>> _tick("LambdaMART-eX all-static"), _tick(5)
    ('all-static', '5')
    """
    return str(choice).split("-eX", 1)[-1].lstrip("+ ") if "-eX" in str(choice) else str(choice)
