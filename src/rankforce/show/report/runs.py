"""The runs of a report, trained models by name, and the data that judges them.

That is given, or that of the runs themselves if it is still the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.checks import check_names
from rankforce.common.errors import RankforceError
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import merge
from rankforce.experiments.systems import name_systems
from rankforce.forces.base import AnyObjective
from rankforce.forces.make import objective as make_objective
from rankforce.forces.objective import Objective
from rankforce.formats.read import read
from rankforce.models.base import NETWORK
from rankforce.models.model import Model
from rankforce.show.report.objective_tables import name_of
from rankforce.training.loading import load_one
from rankforce.training.ranker import Ranker
from rankforce.training.resume import fingerprint

BRING = "the data (--data FILE) brings comparison, queries and forces into the report"
TRAINING = "training"  # the name of the training set
_NETWORKS = {
    "linear": "a linear ranker",
    "mlp": "an mlp",
    "attention": "a network with attention",
    "module": "a module of one's own",
}


class ShownModel(NamedTuple):
    """A trained ranker under its name; without an objective, `reason` says why."""

    name: str
    ranker: Ranker
    objective: AnyObjective | None
    reason: str = ""

    @property
    def model(self) -> Model:
        """The model and its story."""
        model: Model = self.ranker.model_
        return model

    @property
    def aim(self) -> str:
        """What the run was trained for, in few words."""
        known = self.model.objective if self.objective is None else name_of(self.objective)
        count = len(self.model.members)
        origin = self.model.distilled.get("from")
        if origin:
            return f"{known}, distilled from {origin}"
        if self.model.scorer.kind == NETWORK:
            return f"{known}, for {_NETWORKS[self.model.scorer.shape['model']]}"
        return f"{known}, for a committee of {count}" if count else known


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
        check_names(runs, "run")
        return dict(runs)
    is_one = isinstance(runs, (str, os.PathLike)) or not isinstance(runs, Sequence)
    several = [runs] if is_one else list(runs)
    paths = [os.fspath(one) for one in several if isinstance(one, (str, os.PathLike))]
    if len(paths) == len(several):
        return dict(name_systems(paths))
    if paths:
        raise RankforceError("runs are folders and rankers: name them, as in {'new': ranker, ...}")
    if len(several) == 1:
        return {"run": several[0]}
    return {f"run {number}": one for number, one in enumerate(several, start=1)}


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
        return ShownModel(name, given, _without_idle_seed(given.objective_))
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


class Known(NamedTuple):
    """A data set, and where it comes from."""

    data: RankingData
    name: str
    marks: dict[str, Any]  # its fingerprint

    def parts_of(self, run: ShownModel) -> list[str]:
        """Which sets of a run this data was: names as in its history."""
        return [name for name, old in run.model.data.items() if not _differing(old, self.marks)]


def find_data(
    runs: list[ShownModel], given: Any, notes: list[str], columns: Mapping[str, Any] | None = None
) -> Known | None:
    """The data that is given, or the first validation set of the first run that has its file.

    A run without validation set has its training set. Why there is no data goes into `notes`.
    """
    found = _own_data(runs, notes) if given is None else _given_data(runs, given, columns or {})
    if found is None:
        return None
    data = found.data
    if not data.has_labels and not data.sources:
        raise RankforceError(f"{found.name} has no labels: a report needs them to judge rankings")
    return found


def cautions(runs: list[ShownModel], known: Known) -> list[str]:
    """Why values on this data flatter a run, one sentence each."""
    said = []
    for run in runs:
        parts = known.parts_of(run)
        if TRAINING in parts:
            said.append(
                f"{run.name} was trained on this very data: its values flatter it, and say little "
                "about queries that it has not seen."
            )
        elif parts and _members_chose(run.model):
            said.append(
                f"{run.name} chose trees or weights of its members on this very data, which "
                "flatters it a little."
            )
        elif parts and run.model.used < run.model.steps:
            said.append(
                f"{run.name} chose its number of {run.model.scorer.step}s on this very data, which "
                "flatters it a little."
            )
    return said


def _members_chose(model: Model) -> bool:
    """Whether a validation set decided anything about the members of a committee."""
    stops = model.parameters.get("early_stopping_rounds") is not None
    weighs = model.parameters.get("member_weights", "equal") != "equal"
    return bool(model.members) and (stops or weighs)


def _given_data(runs: list[ShownModel], given: Any, columns: Mapping[str, Any]) -> Known:
    if isinstance(given, RankingData):
        return _know(given, given.origin.get("file", "the data"))
    if isinstance(given, (str, os.PathLike)):
        like = merge([run.model.schema for run in runs])
        data = read(Path(given), like=like, needs=("label", "qid"), **columns)
        return _know(data, os.fspath(given))
    raise RankforceError(
        f"data is a {type(given).__name__}: give the name of a file or a RankingData"
    )


def _own_data(runs: list[ShownModel], notes: list[str]) -> Known | None:
    """The data that a run itself names, checked."""
    reasons = []
    for run in runs:
        files = run.model.files
        order = sorted(files, key=lambda name: name == TRAINING)  # the first validation set
        for name in order:
            options = dict(files[name])
            path = options.pop("file", None)
            if path is None:
                continue
            try:
                data = read(path, like=run.ranker, needs=("label", "qid"), **options)
            except (ValueError, TypeError) as error:
                reasons.append(
                    f"{run.name} was trained with {path}, which cannot be read ({error})"
                )
                continue
            found = _know(data, path)
            changed = _differing(run.model.data.get(name, {}), found.marks)
            if changed:
                reasons.append(
                    f"{run.name} was trained with {path}, which has changed since "
                    f"({', '.join(changed)})"
                )
                continue
            notes += [f"{reason}; {found.name} stands for it." for reason in reasons]
            return found
    if not reasons:
        reasons = [f"{', '.join(run.name for run in runs)}: the model does not say which data"]
    notes += [f"No rankings here: {reason}; {BRING}." for reason in reasons]
    return None


def _know(data: RankingData, path: str) -> Known:
    return Known(data, os.path.basename(path), fingerprint(data, None))


def _differing(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What differs between two fingerprints of data, whatever the scores to start from."""
    return [key for key in new if key != "scores to start from" and old.get(key) != new[key]]
