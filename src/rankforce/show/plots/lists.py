"""A ranked list as bars, with arrows for where objectives push its documents."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rankforce.common.checks import check_choice, check_number, check_whole
from rankforce.common.errors import RankforceError
from rankforce.forces.base import AnyObjective
from rankforce.forces.named import at_cutoff, title_of
from rankforce.show.plots.style import DOWN, UP, WIDTH, Axes, canvas, wrap

Objectives = str | AnyObjective | Sequence[Any] | Mapping[str, Any]

SHADES, ADDED = "Blues", "#E69F00"
PAPER = {"boxstyle": "round,pad=0.15", "facecolor": "white", "linewidth": 0.0}  # behind a text
BAR = 0.72  # height of a bar, of a row's 1
COLUMN, LANE = 1.0, 0.16  # widths in units of a bar's length
GAP = 0.3  # rows between two arrows of a lane


class Arrow(NamedTuple):
    """Where an arrow stands: from the middle of its row to `end`, in one of the lanes."""

    rank: int
    force: float
    end: float
    lane: int


class Lane(NamedTuple):
    """Forces of one objective, best rank first."""

    title: str
    forces: NDArray[np.float64]
    is_incoherent: bool


def forces(
    scores: ArrayLike,
    labels: ArrayLike,
    objectives: Objectives,
    *,
    k: int | None = None,
    norm: str = "none",
    iteration: int = 0,
    arrows: str = "all",
    reach: float = 0.9,
    numbers: bool = True,
    ids: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The documents of one query by rank, with an arrow for the force of each objective.

    As Marcuzzi et al. 2023, Figure 1, and Burges' picture of pairwise errors. Bars are darker for
    higher labels. The longest arrow of an objective goes over `reach` rows; `arrows` is "all" or
    "relevant", `ids` names documents in the order of `scores`. With `k` a line marks the cutoff,
    and objectives are named incoherent where they are.

    >>> import rankforce as rf
    >>> axes = rf.plots.forces(
    ...     [0.04, 0.03, 0.02, 0.01, 0.00], [1, 2, 0, 0, 0], "lambdarank-ndcg", k=1)
    >>> axes.get_xticklabels()[0].get_text().splitlines()
    ['LambdaRank-', 'NDCG@1', 'incoherent']
    """
    values, grades = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    if values.ndim != 1 or values.shape != grades.shape or not len(values):
        shapes = f"{values.shape} and {grades.shape}"
        raise RankforceError(
            f"scores and labels have shapes {shapes}: give one of each per document"
        )
    if ids is not None and len(ids) != len(values):
        raise RankforceError(f"there are {len(ids)} ids for {len(values)} documents")
    which = check_choice("arrows", arrows, ("all", "relevant"))
    far = check_number("reach", reach, least=0.05)
    order = np.argsort(-values, kind="stable")
    now = {"norm": norm, "iteration": iteration}
    columns = _columns(_named(objectives, k), values, grades, order, k, **now)
    shown = grades[order] > 0 if which == "relevant" else np.ones(len(order), dtype=bool)
    placed = [_place(one.forces, shown, far) for one in columns]
    wide = COLUMN + LANE * max((arrow.lane for one in placed for arrow in one), default=0)
    size = (max(WIDTH * 0.6, 0.9 + 0.8 * wide * len(columns)), 0.5 + 0.27 * len(values))
    with canvas(ax, size) as axes:
        texts = None if ids is None else [f"{ids[row]}: {grades[row]:g}" for row in order]
        draw_bars(axes, grades[order], texts=texts)
        for number, several in enumerate(placed):
            _arrows(axes, several, 1.2 + number * wide, wide, numbers)
        _frame(axes, columns, wide)
        ends = [arrow.end for several in placed for arrow in several]
        axes.set_ylim(max(len(values) + 0.6, *ends) + 0.05, min(0.4, *ends) - 0.05)
        axes.set_yticks(range(1, len(values) + 1))
        if k is not None and check_whole("k", k, least=1) < len(values):
            axes.axhline(k + 0.5, color="0.4", linewidth=0.7, linestyle=(0, (4, 2)), zorder=0)
        return axes


def _named(objectives: Objectives, k: int | None) -> dict[str, AnyObjective]:
    """Objectives by name, from names, objectives, or a dictionary of either; `k` is for names."""
    if isinstance(objectives, (str, AnyObjective)):
        objectives = [objectives]
    if isinstance(objectives, Mapping):
        return {name: at_cutoff(one, k) for name, one in objectives.items()}
    made = [at_cutoff(one, k) for one in objectives]
    return {title_of(one): one for one in made}


def _columns(
    objectives: dict[str, Any],
    scores: NDArray[np.float64],
    labels: NDArray[np.float64],
    order: NDArray[np.int64],
    k: int | None,
    **now: Any,
) -> list[Lane]:
    from rankforce.diagnostics.coherence import incoherence

    found = []
    for name, one in objectives.items():
        lam, _ = one.gradients(scores, labels, **now)
        share = 0.0 if k is None else incoherence(one, scores, labels, k=k, **now).share
        found.append(Lane(name, lam[order], share > 0.0))
    return found


def draw_bars(
    axes: Any,
    labels: ArrayLike,
    *,
    texts: Sequence[str] | None = None,
    title: str | None = None,
    chosen: Collection[int] = (),
    added: Collection[int] = (),
) -> None:
    """Documents as bars, best rank first, darker for higher labels, with labels or texts in them.

    Places in `chosen` (from 0) have a frame, those in `added` another colour and a hatch too. A
    `title` makes the axes those of a list by itself.
    """
    import matplotlib

    grades = np.asarray(labels, dtype=np.float64)
    shades = matplotlib.colormaps[SHADES]
    top = max(float(grades.max()), 1.0)
    for place, label in enumerate(grades.tolist()):
        share = 0.35 + 0.5 * label / top if label > 0 else 0.0
        color = ADDED if place in added else shades(share) if label > 0 else "0.88"
        is_marked = place in added or place in chosen
        axes.barh(
            place + 1,
            1.0,
            BAR,
            color=color,
            edgecolor="black" if is_marked else "0.35",
            linewidth=1.4 if is_marked else 0.4,
            hatch="////" if place in added else None,
        )
        is_dark = share > 0.6 and place not in added
        axes.text(
            0.5,
            place + 1,
            f"{label:g}" if texts is None else texts[place],
            ha="center",
            va="center",
            color="white" if is_dark else "black",
            fontsize=7.0,
            bbox=PAPER if place in added else None,
            parse_math=False,
        )
    if title is not None:
        axes.set_title(title)
        axes.set_xlim(-0.05, 1.05)
        axes.set_xticks([])
        axes.set_yticks(range(1, len(grades) + 1))
        axes.set_ylim(len(grades) + 0.6, 0.4)
        axes.tick_params(length=0)
        axes.grid(False)
        axes.spines[:].set_visible(False)


def _place(lam: NDArray[np.float64], shown: NDArray[np.bool_], reach: float) -> list[Arrow]:
    """An arrow for each document that is shown, each in the first lane where it meets no other."""
    largest = float(np.abs(lam[shown]).max(initial=0.0)) or 1.0
    arrows: list[Arrow] = []
    for rank, (force, is_shown) in enumerate(zip(lam.tolist(), shown, strict=True), 1):
        if not is_shown:
            continue
        end = rank - force / largest * reach
        met = {
            one.lane
            for one in arrows
            if _low(one) - GAP < max(rank, end) and min(rank, end) - GAP < max(one.rank, one.end)
        }
        lane = next(number for number in range(len(arrows) + 1) if number not in met)
        arrows.append(Arrow(rank, force, end, lane))
    return arrows


def _low(arrow: Arrow) -> float:
    return min(arrow.rank, arrow.end)


def _arrows(axes: Any, arrows: list[Arrow], left: float, wide: float, numbers: bool) -> None:
    for rank, force, end, lane in arrows:
        x = left + LANE * lane
        color = UP if force > 0 else DOWN if force < 0 else "0.5"
        if force == 0.0:
            axes.plot(x, rank, marker=".", color=color, markersize=3.0)
        else:
            size = 3.0 + 4.0 * min(abs(end - rank), 1.0)
            how = {"arrowstyle": "-|>", "mutation_scale": size, "color": color, "linewidth": 1.3}
            how |= {"shrinkA": 0.0, "shrinkB": 0.0}
            axes.annotate("", (x, end), (x, rank), arrowprops=how, annotation_clip=False)
        if numbers:
            text = f"{force:+{'.3f' if abs(force) < 100.0 else '.3g'}}" if force else "0"
            place = left + LANE + wide - COLUMN
            axes.text(place, rank, text, va="center", fontsize=6.5, color=color)


def _frame(axes: Any, columns: list[Lane], wide: float) -> None:
    axes.set_xlim(-0.05, 1.15 + wide * len(columns))
    axes.set_xticks([1.15 + wide * (number + 0.45) for number in range(len(columns))])
    titles = [
        wrap(one.title, 13) + ("\n" + "incoherent" if one.is_incoherent else "") for one in columns
    ]
    axes.set_xticklabels(titles)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for tick, column in zip(axes.get_xticklabels(), columns, strict=True):
        tick.set_parse_math(False)
        if column.is_incoherent:
            tick.set_color(DOWN)
            tick.set_fontweight("bold")
    axes.set_ylabel("rank")
    axes.grid(False)
    axes.spines[:].set_visible(False)
