"""Metrics by number of trees, from whatever has recorded them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError
from rankforce.show.plots.curves import draw_curves, join
from rankforce.show.plots.style import DASHES, Axes, canvas, log_trees, look

Line = tuple[list[int], list[float]]
History = dict[str, dict[str, Line]]


def metric_curves(
    runs: Any,
    *,
    metric: str | None = None,
    data: str | Sequence[str] | None = None,
    skip: int = 0,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """A metric by number of trees, one line for each run and data set.

    `runs` is one run or a dictionary of them by name: a ranker, a model, its `history`, or the
    `Curves` of a recorder. `metric` is by default the first of the first run, `data` all data sets.
    `skip` leaves out the first trees, as Adalia et al. 2025, Figures 3 and 4 do.

    >>> import rankforce as rf
    >>> axes = rf.plots.metric_curves({"a": {"valid": {"P@5": [0.4, 0.5]}}}, metric="p@5")
    >>> axes.get_ylabel(), axes.lines[0].get_ydata().tolist()
    ('P@5', [0.4, 0.5])
    """
    with canvas(ax) as axes:
        histories = _histories(runs)
        wanted = metric or _first_metric(histories)
        lines, looks, title = {}, [], wanted
        for number, (name, history) in enumerate(histories.items()):
            parts = _parts(name, history, data)
            for dash, part in enumerate(parts):
                title, (trees, values) = _find_metric(join(name, part), history[part], wanted)
                kept = [place for place, tree in enumerate(trees) if tree > skip]
                shown = "" if len(parts) == 1 else part
                # Where a run has several lines, its colour and marker say which run it is.
                looks.append(look(number) | ({"linestyle": DASHES[dash]} if shown else {}))
                lines[join(name, shown)] = (
                    [trees[place] for place in kept],
                    [values[place] for place in kept],
                )
        draw_curves(axes, lines, looks)
        if log:
            log_trees(axes)
        axes.set_ylabel(title)
        return axes


def _histories(runs: Any) -> dict[str, History]:
    """Data set -> metric -> (trees, values), for each run."""
    if not isinstance(runs, Mapping) or _is_history(runs):
        return {"": _history(runs)}
    if not runs:
        raise RankforceError("there is no run to draw")
    return {name: _history(run) for name, run in runs.items()}


def _is_history(run: Any) -> bool:
    """Whether it is data set -> metric -> values, and not runs by name."""
    inner = [
        values for sets in run.values() if isinstance(sets, Mapping) for values in sets.values()
    ]
    return bool(inner) and not any(isinstance(values, Mapping) for values in inner)


def _history(run: Any) -> History:
    if hasattr(run, "series"):
        metrics = run.series.get("metrics", {})
        return {"": {name: (list(run.trees), list(values)) for name, values in metrics.items()}}
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
    from rankforce.measures.make import metric as make_metric

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
