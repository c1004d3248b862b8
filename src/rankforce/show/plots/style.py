"""How all pictures look: one column of a paper, colours for everyone, readable in gray."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.checks import check_choice
from rankforce.common.errors import RankforceError
from rankforce.common.files import whole_file

Axes = Any  # matplotlib's: the types of a package that may not be there

WIDTH = 3.4  # inches: one column of a paper with two
SIZE = (WIDTH, 2.5)
DPI = 200

# Okabe and Ito's colours, which people with any colour vision tell apart, without the yellow.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#56B4E9", "#E69F00")
UP, DOWN = COLORS[0], COLORS[1]
# Numbers of colours, dashes and markers without a common factor: no two of 35 lines are alike.
DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (1, 1.2)), (0, (5, 1.5, 1, 1.5)), (0, (3, 3)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
EXCLUDED, HATCH = "0.88", "0.72"

STYLE: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "legend.fontsize": 7.0,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "hatch.linewidth": 0.5,
    "mathtext.fontset": "dejavusans",
    "text.usetex": False,  # names of runs are no LaTeX
}

FORMATS = ("png", "pdf", "svg")
# What would differ from one run to the next.
WITHOUT: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
}


@contextmanager
def style() -> Iterator[Any]:
    """Matplotlib with the settings of this file, until the block ends."""
    try:
        import matplotlib
    except ImportError:
        raise RankforceError("pictures need matplotlib: pip install 'rankforce[plots]'") from None
    with matplotlib.rc_context(STYLE):
        yield matplotlib


@contextmanager
def canvas(ax: Any, size: tuple[float, float] = SIZE) -> Iterator[Any]:
    """The caller's axes, or those of a new figure; no window opens and no setting stays."""
    with style():
        yield panels(1, 1, size)[0] if ax is None else ax


def panels(
    rows: int,
    columns: int,
    size: tuple[float, float],
    *,
    share_x: bool = False,
    share_y: bool = False,
    heights: Sequence[float] | None = None,
) -> list[Any]:
    """Axes of a new figure, row by row; call it inside `style()`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=DPI, layout="constrained")
    made = figure.subplots(
        rows, columns, sharex=share_x, sharey=share_y, squeeze=False, height_ratios=heights
    )
    for axes in made.flat:
        axes.spines[["top", "right"]].set_visible(False)
        # Ticks are made when drawn, when our settings are gone: so they are told now.
        axes.tick_params(which="both", width=0.6, length=2.5, labelsize=7.0)
        axes.tick_params(which="minor", length=1.5)
        axes.grid(True, which="major", color="0.9", linewidth=0.5)
        axes.set_axisbelow(True)
    return list(made.flat)


def look(number: int) -> dict[str, Any]:
    """Colour, dashes and marker of the line with that number."""
    return {
        "color": COLORS[number % len(COLORS)],
        "linestyle": DASHES[number % len(DASHES)],
        "marker": MARKERS[number % len(MARKERS)],
    }


def draw_lines(
    axes: Any,
    lines: Mapping[str, tuple[Any, Any]],
    looks: Sequence[dict[str, Any]] | None = None,
) -> None:
    """One line for each name, each with a look of its own; numbers that are none are left out."""
    for number, (name, (x, y)) in enumerate(lines.items()):
        how = look(number) if looks is None else looks[number]
        known = np.isfinite(np.asarray(y, dtype=np.float64))
        xs, ys = np.asarray(x, dtype=np.float64)[known], np.asarray(y, dtype=np.float64)[known]
        # By distance on paper, so that a logarithmic axis has no heap of markers.
        every = 1 if len(xs) < 12 else (0.04 + 0.17 * number / len(lines), 0.17)
        # Matplotlib hides names that begin with an underscore.
        shown = f" {name}" if name.startswith("_") else name
        axes.plot(xs, ys, label=shown, markevery=every, **how)


def legend_above(axes: Any, **options: Any) -> None:
    """A legend above the axes, where it hides nothing, in as many columns as fit."""
    handles, names = axes.get_legend_handles_labels()
    if len(names) > 1:
        put_legend(axes, handles, names, **options)


def put_legend(axes: Any, handles: Sequence[Any], names: Collection[str], **options: Any) -> None:
    """The same, for chosen handles and names."""
    # Inches: the legend may be a tenth wider than the axes.
    width = 1.1 * axes.get_position().width * axes.figure.get_figwidth()
    options |= {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}
    _put(axes, handles, names, width, **options)


def share_legend(axes: Sequence[Any]) -> None:
    """One legend above all axes of a figure, where each would have the same."""
    handles, names = axes[0].get_legend_handles_labels()
    for one in axes:
        legend = one.get_legend()
        if legend is not None:
            handles = legend.legend_handles
            names = [text.get_text() for text in legend.get_texts()]
            legend.remove()
    figure = axes[0].figure
    _put(figure, handles, names, figure.get_figwidth(), loc="outside upper left")


def _put(
    owner: Any, handles: Sequence[Any], names: Collection[str], width: float, **options: Any
) -> None:
    options |= {"ncol": _columns(names, width), "frameon": False}
    options |= {"columnspacing": 1.2, "handlelength": 2.4}
    for text in owner.legend(handles, names, **options).get_texts():
        text.set_parse_math(False)  # a name with dollars is no formula


def _columns(names: Collection[str], width: float) -> int:
    """Columns of a legend that fit into so many inches, such that its rows are about full."""
    fit = max(int(width / (0.5 + 0.04 * max(map(len, names)))), 1)  # handle and gap, letters
    rows = -(-len(names) // fit)
    return -(-len(names) // rows)


def percent(axis: Any) -> None:
    """Shares from 0 to 1 shown as percent; the label of the axis says so."""
    axis.set_major_formatter(lambda share, _: f"{100.0 * share:g}")


def log_steps(axes: Any) -> None:
    """Numbers of steps on a logarithmic axis, written as numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())


def wrap(name: str, width: int = 14) -> str:
    """A name in lines of at most so many letters, for narrow places."""
    return "\n".join(textwrap.wrap(name, width)) or name


def save(axes: Axes, path: str | Path, *, dpi: int = DPI) -> Path:
    """Write the figure of `axes`; the format is that of the name: .png (or none), .pdf or .svg.

    >>> import tempfile
    >>> import rankforce as rf
    >>> folder = Path(tempfile.mkdtemp())
    >>> save(rf.plots.pair_costs(), folder / "costs.svg").name
    'costs.svg'
    """
    target = Path(path)
    ending = check_choice("the ending of a picture", target.suffix[1:] or "png", FORMATS)
    if target.is_dir() or not target.parent.is_dir():
        raise RankforceError(f"{target}: expected the name of a file in a folder that exists")
    with style() as matplotlib, whole_file(target) as part:
        # Text stays text, in fonts that journals take.
        matplotlib.rcParams.update({"pdf.fonttype": 42, "svg.hashsalt": "rankforce"})
        matplotlib.rcParams["svg.fonttype"] = "none"
        axes.figure.savefig(part, format=ending, dpi=dpi, metadata=WITHOUT[ending])
    return target
