"""Pictures of what was recorded while training, by number of steps: lines, stacks, metrics.

A step is a tree, or an epoch of a network.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError
from rankforce.measures.make import metric as make_metric
from rankforce.models.curves import TREE
from rankforce.show.plots.style import (
    DASHES,
    Axes,
    canvas,
    draw_lines,
    legend_above,
    log_steps,
    look,
    percent,
    put_legend,
)

if TYPE_CHECKING:
    from rankforce.models.curves import Curves

    Runs = Curves | Mapping[str, Curves]

Line = tuple[list[int], list[float]]
History = dict[str, dict[str, Line]]

# From light to dark as labels grow: the order is seen in gray and with any colour vision.
SHADES = "YlGnBu"


def incoherence(
    runs: Runs, *, restricted: bool = True, log: bool = True, ax: Axes | None = None
) -> Axes:
    """Share of queries whose forces are incoherent, by number of steps.

    Marcuzzi et al. 2023, Figure 3. Restricted: a false top-k document gets more than a missed one;
    else any document gets more than a better one below it. `log` is for the axis below.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "incoherence": {"restricted": [0.2, 0.1], "unrestricted": [1, 1]}}})
    >>> rf.plots.incoherence({"truncated": curves}).get_ylabel()
    'incoherent queries (%)'
    """
    which = "restricted" if restricted else "unrestricted"
    with canvas(ax) as axes:
        _draw_series(axes, runs, "incoherence", which)
        if log:
            log_steps(axes)
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel("incoherent queries (%)")
        percent(axes.yaxis)
        return axes


def effective_pairs(runs: Runs, *, relative: bool = True, ax: Axes | None = None) -> Axes:
    """Number of pairs that push, mean of the queries, by number of steps.

    Adalia et al. 2025, Figure A1. Relative to the n (n - 1) / 2 pairs of a query's n documents, or
    absolute.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "pairs": {"relative": [0.2, 0.1], "absolute": [90, 45]}}})
    >>> rf.plots.effective_pairs(curves).lines[0].get_ydata().tolist()
    [0.2, 0.1]
    """
    which = "relative" if relative else "absolute"
    with canvas(ax) as axes:
        _draw_series(axes, runs, "pairs", which)
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel("effective pairs (% of all)" if relative else "effective pairs per query")
        if relative:
            percent(axes.yaxis)
        return axes


def rank_changes(runs: Runs, *, ax: Axes | None = None) -> Axes:
    """Share of positions with another document than one step before, in the top and overall.

    Svore et al. 2011, Figure 4.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "rank_changes": {"top": [0.2, 0.1], "overall": [0.5, 0.4]}}})
    >>> len(rf.plots.rank_changes(curves).lines)
    2
    """
    with canvas(ax) as axes:
        known = named_runs(runs, "rank_changes")
        top = next(iter(known.values())).about.get("top")
        titles = {"overall": "whole list", "top": f"top {top}" if top else "top"}
        lines, looks = {}, []
        for number, (name, curves) in enumerate(known.items()):
            for dash, (key, title) in enumerate(titles.items()):
                lines[join(name, title)] = (curves.steps, curves.series["rank_changes"][key])
                looks.append(look(number) | {"linestyle": DASHES[dash]})
        draw_curves(axes, lines, looks if len(known) > 1 else None, step=step_of(known.values()))
        axes.set_ylim(bottom=0.0)
        axes.set_ylabel("positions that changed (%)")
        percent(axes.yaxis)
        return axes


def agreement(runs: Runs, *, ax: Axes | None = None) -> Axes:
    """Share of documents that two objectives push the same way, by number of steps.

    Svore et al. 2011, Figure 2.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "agreement": {"share": [0.6, 0.7]}}})
    >>> rf.plots.agreement(curves).get_xlabel()
    'trees'
    """
    with canvas(ax) as axes:
        _draw_series(axes, runs, "agreement", "share")
        low, high = axes.get_ylim()
        axes.set_ylim(max(low - 0.05, 0.0), min(high + 0.05, 1.0))  # a point is no mountain
        axes.set_ylabel("forces that agree (%)")
        percent(axes.yaxis)
        return axes


def norm_factors(runs: Runs, *, ax: Axes | None = None) -> Axes:
    """What the norm multiplies the forces of queries with: median, and the middle 80 percent.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves.from_record({"trees": [1, 10], "about": {}, "series": {
    ...     "norm_factors": {"low": [0.1, 0.2], "median": [0.3, 0.4], "high": [0.5, 0.9]}}})
    >>> rf.plots.norm_factors(curves).lines[0].get_ydata().tolist()
    [0.3, 0.4]
    """
    with canvas(ax) as axes:
        known = named_runs(runs, "norm_factors")
        for number, curves in enumerate(known.values()):
            low, high = (curves.series["norm_factors"][key] for key in ("low", "high"))
            color = look(number)["color"]
            axes.fill_between(curves.steps, low, high, color=color, alpha=0.2, linewidth=0.0)
        _draw_series(axes, runs, "norm_factors", "median")
        axes.set_yscale("log")
        axes.set_ylabel("factor of a query's forces")
        return axes


def contributions(run: Runs, *, ax: Axes | None = None) -> Axes:
    """Where the force on highly relevant documents comes from, by label and number of steps.

    Svore et al. 2011, Figure 3(a). A label that pushes them down has a share below 0.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves([1, 10], {"contributions": {"0": [1.2, 1.1], "4": [-0.2, -0.1]}})
    >>> [line.get_label() for line in rf.plots.contributions(curves).lines]
    ['label 0', 'label 4']
    """
    with canvas(ax) as axes:
        known = one_run(run, "contributions")
        shares = known.series["contributions"]
        lines = {f"label {label}": (known.steps, own) for label, own in shares.items()}
        draw_curves(axes, lines, step=known.step)
        axes.set_ylabel("share of the force (%)")
        percent(axes.yaxis)
        return axes


def contributions_by_size(run: Runs, *, ax: Axes | None = None) -> Axes:
    """The same by the magnitudes of forces under the norm.

    >>> import rankforce as rf
    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves([1, 10], {"contributions_by_size": {"0": [0.7, 0.6], "1": [0.3, 0.4]}})
    >>> rf.plots.contributions_by_size(curves).get_ylabel()
    'share of the magnitudes (%)'
    """
    with canvas(ax) as axes:
        _stack(axes, run, "contributions_by_size")
        axes.set_ylabel("share of the magnitudes (%)")
        return axes


def label_mix(run: Runs, *, ax: Axes | None = None) -> Axes:
    """Labels of the documents on top, by number of steps (Svore et al. 2011, Figure 3(b)).

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


def metric_curves(
    runs: Any,
    *,
    metric: str | None = None,
    data: str | Sequence[str] | None = None,
    skip: int = 0,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """A metric by number of steps, one line for each run and data set.

    `runs` is one run or a dictionary of them by name: a ranker, a model, its `history`, or the
    `Curves` of a recorder. `metric` is by default the first of the first run, `data` all data sets.
    `skip` leaves out the first steps, as Adalia et al. 2025, Figures 3 and 4 do.

    >>> import rankforce as rf
    >>> axes = rf.plots.metric_curves({"a": {"valid": {"P@5": [0.4, 0.5]}}}, metric="p@5")
    >>> axes.get_ylabel(), axes.lines[0].get_ydata().tolist()
    ('P@5', [0.4, 0.5])
    """
    with canvas(ax) as axes:
        several = _by_name(runs)
        histories = {name: _history(run) for name, run in several.items()}
        wanted = metric or _first_metric(histories)
        lines, looks, title = {}, [], wanted
        for number, (name, history) in enumerate(histories.items()):
            parts = _parts(name, history, data)
            for dash, part in enumerate(parts):
                title, (steps, values) = _find_metric(join(name, part), history[part], wanted)
                kept = [place for place, step in enumerate(steps) if step > skip]
                shown = "" if len(parts) == 1 else part
                # Where a run has several lines, its colour and marker say which run it is.
                looks.append(look(number) | ({"linestyle": DASHES[dash]} if shown else {}))
                lines[join(name, shown)] = (
                    [steps[place] for place in kept],
                    [values[place] for place in kept],
                )
        draw_curves(axes, lines, looks, step=step_of(several.values()))
        if log:
            log_steps(axes)
        axes.set_ylabel(title)
        return axes


def named_runs(runs: Runs, kind: str) -> dict[str, Curves]:
    """Runs by name, all of which have recorded `kind`; a single one has no name."""
    known = dict(runs) if isinstance(runs, Mapping) else {"": runs}
    if not known:
        raise RankforceError("there is no run to draw")
    for name, curves in known.items():
        series = getattr(curves, "series", None)
        if not isinstance(series, Mapping):
            raise RankforceError(f"the run {name!r} is {type(curves).__name__}: it must be Curves")
        if not series.get(kind):
            has = listed([key for key, lines in series.items() if lines] or ["nothing"])
            raise RankforceError(f"the run {name!r} has recorded no {kind!r}, only {has}")
    return known


def one_run(runs: Runs, kind: str) -> Curves:
    """The only run, for pictures that have no room for two."""
    known = named_runs(runs, kind)
    if len(known) > 1:
        raise RankforceError(f"this picture is of one run, and there are {listed(known)}")
    return next(iter(known.values()))


def join(run: str, line: str) -> str:
    """What a line of a run is called in a legend."""
    return f"{run}, {line}" if run and line else run or line


def _draw_series(axes: Any, runs: Runs, kind: str, which: str) -> None:
    known = named_runs(runs, kind)
    lines = {name: (one.steps, one.series[kind][which]) for name, one in known.items()}
    draw_curves(axes, lines, step=step_of(known.values()))


def draw_curves(
    axes: Any,
    lines: Mapping[str, tuple[Any, Any]],
    looks: Sequence[dict[str, Any]] | None = None,
    *,
    step: str = TREE,
) -> None:
    """Lines by number of steps, with a legend above."""
    from matplotlib.ticker import MaxNLocator

    draw_lines(axes, lines, looks)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10], integer=True))
    axes.set_xlabel(f"{step}s")
    axes.margins(x=0.02)
    legend_above(axes)


def step_of(runs: Iterable[Any]) -> str:
    """What a step of several runs is called; a history by itself is taken for one of trees.

    >>> from rankforce.diagnostics import Curves
    >>> curves = Curves(about={"step": "epoch"})
    >>> step_of([curves]), step_of([curves, Curves()])
    ('epoch', 'step')
    """
    known = {_step(run) for run in runs}
    return known.pop() if len(known) == 1 else "step"


def _step(run: Any) -> str:
    model = getattr(run, "model_", run)
    return str(getattr(getattr(model, "scorer", model), "step", TREE))


def _stack(axes: Any, runs: Runs, kind: str) -> Any:
    """Areas upon each other, the last label at the bottom: labels are recorded lowest first."""
    import matplotlib

    run = one_run(runs, kind)
    labels = list(run.series[kind])[::-1]
    shades = matplotlib.colormaps[SHADES](np.linspace(0.9, 0.08, len(labels)))
    areas = axes.stackplot(
        run.steps,
        [run.series[kind][label] for label in labels],
        labels=labels,
        colors=shades,
        edgecolor="white",
        linewidth=0.4,
    )
    axes.set_xlim(min(run.steps), max(run.steps))
    axes.set_ylim(0.0, 1.0)
    axes.grid(False)
    percent(axes.yaxis)
    axes.set_xlabel(f"{run.step}s")
    put_legend(axes, areas[::-1], [f"label {label}" for label in labels[::-1]], handletextpad=0.4)
    for handle in axes.get_legend().legend_handles:
        handle.set_edgecolor("0.4")
    return run


def _by_name(runs: Any) -> dict[str, Any]:
    """Runs by name; a single one has none."""
    if not isinstance(runs, Mapping) or _is_history(runs):
        return {"": runs}
    if not runs:
        raise RankforceError("there is no run to draw")
    return dict(runs)


def _is_history(run: Any) -> bool:
    """Whether it is data set -> metric -> values, and not runs by name."""
    inner = [
        values for sets in run.values() if isinstance(sets, Mapping) for values in sets.values()
    ]
    return bool(inner) and not any(isinstance(values, Mapping) for values in inner)


def _history(run: Any) -> History:
    """Data set -> metric -> (steps, values)."""
    if hasattr(run, "series"):
        metrics = run.series.get("metrics", {})
        return {"": {name: (list(run.steps), list(values)) for name, values in metrics.items()}}
    model = getattr(run, "model_", run)
    sets = getattr(model, "history", model)
    if not isinstance(sets, Mapping):
        raise RankforceError(
            f"a run is {type(run).__name__}: give a ranker, its history, or Curves"
        )
    return {
        part: {
            name: (list(range(1, len(values) + 1)), list(values))
            for name, values in metrics.items()
        }
        for part, metrics in sets.items()
    }


def _title(metric: str) -> str:
    """A metric's own name; a function of the user's has none but the one given."""
    try:
        return make_metric(metric).name
    except ValueError:
        return metric


def _first_metric(histories: dict[str, History]) -> str:
    for history in histories.values():
        for metrics in history.values():
            for name in metrics:
                return name
    raise RankforceError("no run has a metric: train with eval_set=, or with a recorder of metrics")


def _parts(name: str, history: History, data: str | Sequence[str] | None) -> list[str]:
    wanted = list(history) if data is None else [data] if isinstance(data, str) else list(data)
    for part in wanted:
        if part not in history:
            raise RankforceError(f"the run {name!r} has no data {part!r}, only {listed(history)}")
    return wanted


def _find_metric(where: str, metrics: dict[str, Line], wanted: str) -> tuple[str, Line]:
    for name, line in metrics.items():
        if _title(name) == _title(wanted):
            return _title(name), line
    raise RankforceError(
        f"the run {where!r} has no metric {wanted!r}, only {listed(metrics or ['none'])}"
    )
