"""The runs of a report: trained models by name, and what each of them was trained for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.experiments.systems import name_systems
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.objective import Objective
from rankforce.models.model import Model
from rankforce.show.report.objective_tables import name_of
from rankforce.training.loading import load_one
from rankforce.training.ranker import Ranker


class ShownModel(NamedTuple):
    """A trained ranker under its name; without an objective, `reason` says why."""

    name: str
    ranker: Ranker
    objective: AnyObjective | None
    reason: str = ""

    @property
    def model(self) -> Model:
        """The trees and their story."""
        model: Model = self.ranker.model_
        return model

    @property
    def aim(self) -> str:
        """What the run was trained for, in few words."""
        return self.model.objective if self.objective is None else name_of(self.objective)


def open_runs(runs: Any, *, base: Any = None) -> list[ShownModel]:
    """Runs from folders of saved models, rankers, or a dictionary of those by name.

    `base` is the model that a saved one stands on, if it needs another.

    >>> import rankforce as rf
    >>> data = rf.make_data("yahoo", queries=20)
    >>> ranker = rf.Ranker("ranknet", n_estimators=2, num_leaves=3, progress=False).fit(data)
    >>> [(run.name, run.aim) for run in open_runs({"old": ranker})]
    [('old', 'RankNet')]
    """
    named = _name(runs)
    if not named:
        raise RankforceError("there is no run: give the folder of a saved model, or a ranker")
    return [_open(name, given, base) for name, given in named.items()]


def _name(runs: Any) -> dict[str, Any]:
    if isinstance(runs, Mapping):
        for name in runs:
            if not isinstance(name, str) or not name:
                raise RankforceError(f"the name of a run is {name!r}: it must be a text")
        return dict(runs)
    is_one = isinstance(runs, (str, os.PathLike)) or not isinstance(runs, Sequence)
    several = [runs] if is_one else list(runs)
    paths = [os.fspath(one) for one in several if isinstance(one, (str, os.PathLike))]
    if len(paths) == len(several):
        return dict(name_systems(paths))
    if paths:
        raise RankforceError("runs are folders and rankers: name them, as in {'new': ranker, ...}")
    return {_numbered(number, len(several)): one for number, one in enumerate(several, start=1)}


def _numbered(number: int, count: int) -> str:
    return "run" if count == 1 else f"run {number}"


def _open(name: str, given: Any, base: Any) -> ShownModel:
    if isinstance(given, (str, os.PathLike)):
        given = load_one(Path(given), base)
    if not isinstance(given, Ranker):
        kind = type(given).__name__
        raise RankforceError(
            f"run {name!r} is a {kind}: give the folder of a saved model, or a ranker"
        )
    if not hasattr(given, "model_"):
        raise RankforceError(f"run {name!r} is a ranker that is not trained yet: call fit first")
    if not given.model_.parameters:
        return ShownModel(name, given, None, "its file does not say what it was trained for")
    try:
        return ShownModel(name, given, _without_idle_seed(given.settings().make_objective()))
    except ValueError as error:
        return ShownModel(name, given, None, f"its objective cannot be made again ({error})")


def _without_idle_seed(objective: AnyObjective) -> AnyObjective:
    """The same objective; a seed that no random draw uses would only tell it from its equals."""
    if not isinstance(objective, Objective) or "seed" not in objective.arguments:
        return objective
    if objective.description.is_drawn:
        return objective
    rest = {key: value for key, value in objective.table().items() if key not in ("name", "seed")}
    return make_objective(objective.name, **rest)
