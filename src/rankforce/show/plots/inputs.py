"""What the pictures are drawn from: one run or several by name, and objectives by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankforce.common.checks import listed
from rankforce.common.errors import RankforceError

if TYPE_CHECKING:
    from rankforce.forces.base import AnyObjective
    from rankforce.models.curves import Curves

    Runs = Curves | Mapping[str, Curves]
    Objectives = str | AnyObjective | Sequence[Any] | Mapping[str, Any]


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


def named_objectives(objectives: Objectives, k: int | None = None) -> dict[str, AnyObjective]:
    """Objectives by name, from names, objectives, or a dictionary of either; `k` is for names."""
    from rankforce.forces.base import AnyObjective
    from rankforce.forces.named import at_cutoff, title_of

    if isinstance(objectives, (str, AnyObjective)):
        objectives = [objectives]
    if isinstance(objectives, Mapping):
        return {name: at_cutoff(one, k) for name, one in objectives.items()}
    made = [at_cutoff(one, k) for one in objectives]
    return {title_of(one): one for one in made}
