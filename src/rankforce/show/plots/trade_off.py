"""One goal against another, a dot for each weight."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.show.plots.style import COLORS, Axes, canvas

if TYPE_CHECKING:
    from rankforce.experiments.trade_off import TradeOff

SIZE = (5.0, 4.0)  # inches
BEATEN = "0.6"
NEAR = 6.0  # points of print: dots closer than that share a label
# Where a label may stand beside its dot: places in points of print, and how it is aligned.
PLACES = (
    *(((6, 4), "left", "bottom"), ((-6, 4), "right", "bottom")),
    *(((6, -4), "left", "top"), ((-6, -4), "right", "top")),
    *(((0, 7), "center", "bottom"), ((0, -7), "center", "top")),
)


def trade_off(found: TradeOff, *, ax: Axes | None = None) -> Axes:
    """One metric against the other, a dot for each weight, those that none beats on a line.

    >>> import rankforce as rf
    >>> from rankforce.experiments.trade_off import TradeOff
    >>> values = {"w = 0": [0.5, 0.7], "w = 1": [0.4, 0.6]}
    >>> first, second = (rf.compare_values(values, metric=name) for name in ("ndcg@3", "mrr"))
    >>> rf.plots.trade_off(TradeOff([0.0, 1.0], (first, second))).get_xlabel()
    'NDCG@3'
    """
    with canvas(ax, SIZE) as axes:
        kept = found.front
        dots = list(zip(found.weights, found.points, strict=True))
        line = sorted(point for weight, point in dots if weight in kept)
        axes.plot(*zip(*line, strict=True), color=BEATEN, linewidth=1.0, zorder=1)
        for weight, (x, y) in dots:
            color, order = (COLORS[0], 3) if weight in kept else (BEATEN, 2)
            axes.scatter(x, y, color=color, zorder=order)
        axes.set_xlabel(found.comparisons[0].metric.name)
        axes.set_ylabel(found.comparisons[1].metric.name)
        axes.margins(0.12)
        _label(axes, found.weights, found.points, line)
        return axes


def _label(
    axes: Any,
    weights: list[float],
    points: list[tuple[float, float]],
    line: list[tuple[float, float]],
) -> None:
    """Write the weights beside their dots, those of dots that lie together in one label."""
    axes.figure.draw_without_rendering()  # lays out, so that places on paper are known
    dots = axes.transData.transform(points)
    ends = axes.transData.transform(line)
    share = np.linspace(0.0, 1.0, 50)[:, None, None]
    along = (1.0 - share) * ends[:-1] + share * ends[1:]
    busy = np.vstack([dots, along.reshape(-1, 2)])
    boxes: list[Any] = []
    for group in _near(dots, NEAR * axes.figure.dpi / 72.0):
        text = textwrap.fill("w = " + ", ".join(f"{weights[number]:g}" for number in group), 30)
        boxes.append(_write(axes, text, points[group[0]], busy, boxes))


def _write(axes: Any, text: str, point: tuple[float, float], busy: Any, boxes: list[Any]) -> Any:
    """Write where the label stays in the frame and covers least, and tell the box it takes."""
    label = axes.annotate(text, point, (0, 0), textcoords="offset points", fontsize=8)

    def put(place: tuple[tuple[int, int], str, str]) -> Any:
        label.xyann = place[0]
        label.set(horizontalalignment=place[1], verticalalignment=place[2])
        return label.get_window_extent()

    def cost(place: tuple[tuple[int, int], str, str]) -> tuple[int, int, int]:
        box = put(place)
        outside = 2 - axes.bbox.count_contains(box.get_points())
        return outside, box.count_overlaps(boxes), box.count_contains(busy)

    return put(min(PLACES, key=cost))


def _near(dots: Any, reach: float) -> list[list[int]]:
    """Numbers of the dots in groups: each is nearer than `reach` to the first of its group.

    >>> _near([(0, 0), (9, 0), (1, 0)], 2.0)
    [[0, 2], [1]]
    """
    groups: list[list[int]] = []
    for number, dot in enumerate(dots):
        home = next((group for group in groups if math.dist(dots[group[0]], dot) < reach), None)
        if home is None:
            groups.append([number])
        else:
            home.append(number)
    return groups
