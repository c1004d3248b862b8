"""What a search has found: the best settings, every trial, and what mattered."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankforce.common.files import check_folder, write_whole
from rankforce.common.notes import note
from rankforce.common.types import Floats
from rankforce.experiments.space import Space
from rankforce.experiments.trials import FAILED, Trial, to_lines
from rankforce.show.tables import Cell, Table, render
from rankforce.training.ranker import Ranker

ROWS = 10  # of the table that is printed


class Tuning(NamedTuple):
    """The best trial, the settings and the ranker that came of it, and all trials."""

    best: Trial
    settings: dict[str, Any]  # of a Ranker
    ranker: Ranker
    trials: list[Trial]
    space: Space
    metric: Any
    study: dict[str, Any]  # what was searched, on which data, as the storage has it
    files: dict[str, dict[str, Any]]  # where the data sets come from

    def records(self) -> list[dict[str, Any]]:
        """A table of the trials for programs: `pandas.DataFrame(found.records())`."""
        about = ("number", "state", "value", "trees", "seconds")
        return [{key: getattr(one, key) for key in about} | one.point for one in self.trials]

    def table(self, format: str = "text", *, rows: int | None = None) -> str:
        """The trials, best first; the `rows` best of them."""
        sign = -1.0 if self.metric.higher_is_better else 1.0
        known = [one for one in self.trials if one.value is not None]
        known.sort(key=lambda one: (one.state != self.best.state, sign * (one.value or 0.0)))
        shown = known[:rows]
        names = ["trial", self.metric.name, "trees", "seconds", *self.space]
        lines: list[list[Cell] | str] = [
            [
                Cell(f"{one.number} {'' if one.state == self.best.state else one.state}".strip()),
                Cell(f"{one.value:.4f}", bold=one.number == self.best.number),
                Cell(f"{one.trees}"),
                Cell(f"{one.seconds:.1f}"),
                *(Cell(_short(one.point[name])) for name in self.space),
            ]
            for one in shown
        ]
        failed = sum(one.state == FAILED for one in self.trials)
        notes = [f"{len(self.trials)} trials, {failed} of them failed"] if failed else []
        if len(shown) < len(known):
            notes.append(f"the {len(shown)} best of {len(self.trials)} trials")
        return render(Table([(name,) for name in names], lines, notes), format)

    def __repr__(self) -> str:
        return self.table(rows=ROWS)

    def importance(self) -> dict[str, float]:
        """How much of what a forest knows of the values each parameter carries, adding up to 1.

        A random forest learns values from points; a parameter matters as much as its predictions
        lose when that one is shuffled (Breiman 2001). It tells of the trials that were made, and
        little if there are few; zeros if the values are all the same.
        """
        from sklearn.ensemble import RandomForestRegressor
        from sklearn.inspection import permutation_importance

        known = [one for one in self.trials if one.value is not None]
        points = np.array([[self._place(name, one) for name in self.space] for one in known])
        values = np.array([one.value for one in known])
        forest = RandomForestRegressor(200, min_samples_leaf=2, random_state=0).fit(points, values)
        found = permutation_importance(forest, points, values, n_repeats=20, random_state=0)
        lost: Floats = np.maximum(found.importances_mean, 0.0)
        shares = lost / lost.sum() if lost.sum() > 0.0 else lost
        named = dict(zip(self.space, shares.tolist(), strict=True))
        return dict(sorted(named.items(), key=lambda pair: -pair[1]))

    def _place(self, name: str, trial: Trial) -> float:
        one, value = self.space[name], trial.point[name]
        if isinstance(one, list):
            return float(one.index(value))
        return math.log(value) if one.log else float(value)

    def plot(self, path: str | Path) -> Path:
        """Draw the values of the trials against each parameter, the one that mattered most first.

        The format is that of the name: .png, .svg or .pdf. Needs matplotlib.
        """
        from rankforce.show.plots import save, tuning

        return save(tuning(self), path)

    def save(self, folder: str | Path) -> Path:
        """Write `config.toml`, which `rankforce train` takes, `trials.jsonl`, and the ranker.

        The ranker goes into the folder `model`. Where data did not come from files, give them to
        `rankforce train` beside the config.
        """
        place = Path(folder)
        text = self.config()
        check_folder(place, "folder")
        place.mkdir(parents=True, exist_ok=True)
        write_whole(place / "config.toml", text)
        write_whole(place / "trials.jsonl", to_lines(self.study, self.trials))
        self.ranker.save(place / "model")
        return place

    def config(self) -> str:
        """The best settings as TOML, with the files of the data where there are any.

        A note tells of settings that TOML cannot hold, as functions and models.
        """
        head = f"# {self.metric.name} {self.best.value:.6f}: the best of {len(self.trials)} trials"
        run: dict[str, Any] = {}
        for name, origin in self.files.items():
            if "file" in origin:
                run[name] = str(Path(origin["file"]).resolve())
                columns = {key: value for key, value in origin.items() if key != "file"}
                run |= {"columns": columns} if columns and name == "train" else {}
        lines = [_line(key, value) for key, value in (run | self.settings).items()]
        return "\n".join([head, *filter(None, lines)]) + "\n"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _line(key: str, value: Any) -> str:
    try:
        return f"{key} = {_toml(value)}"
    except TypeError as error:
        note(f"the config lacks {key}: {error}")
        return ""


def _toml(value: Any) -> str:
    """A value as TOML has it.

    >>> _toml([1, 2.5, math.inf, True, {"b": 'say "c"'}])
    '[1, 2.5, inf, true, {"b" = "say \\\\"c\\\\""}]'
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(str(name))} = {_toml(one)}" for name, one in value.items())
        return f"{{{', '.join(pairs)}}}"
    raise TypeError(f"TOML cannot hold {value!r}")
