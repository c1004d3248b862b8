"""Runs that were interrupted: what must be the same to resume them, and from where."""

from __future__ import annotations

import itertools
import json
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.checksums import join_checksums
from rankforce.common.errors import RankforceError
from rankforce.common.team import ALONE, Team
from rankforce.common.types import Floats
from rankforce.data.columns import COLUMNS
from rankforce.data.ranking_data import RankingData
from rankforce.data.sources import known_by
from rankforce.forces.base import AnyObjective
from rankforce.forces.named import known_cutoff
from rankforce.measures.metric import Metric
from rankforce.models.folder import has_model
from rankforce.models.load import load_model
from rankforce.models.model import Model
from rankforce.training.base import Base
from rankforce.training.members import describe_members
from rankforce.training.networks import TREES
from rankforce.training.settings import Settings
from rankforce.training.settings_table import TABLE

_FREE = {name for name, setting in TABLE.items() if setting.free}
_KEPT = [*sorted({*TABLE} - _FREE), *(name for name in TABLE if TABLE[name].noted)]


def record(
    settings: Settings, objective: AnyObjective, metrics: Sequence[Metric], base: Base
) -> dict[str, Any]:
    """The settings that decide a model, as JSON can hold them."""
    others = "network" if settings.kind == TREES else TREES
    values = {name: getattr(settings, name) for name in _KEPT if TABLE[name].only != others}
    values["model"] = settings.kind
    values["base"] = base.mark or settings.base
    values["objective"] = objective.name
    if isinstance(settings.objective, (AnyObjective, Mapping)):
        values["objective"] = objective.described()
    elif settings.k is None:
        values["k"] = known_cutoff(objective)  # of a name such as "lambdagap-x@3"
    values["eval_metric"] = [metric.name for metric in metrics]
    if settings.members is not None:
        values["members"] = describe_members(settings.members)
    values |= settings.passed
    return {name: _plain(value) for name, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, np.number)):
        return float(value) if np.isfinite(value) else repr(float(value))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if hasattr(value, "__code__"):
        # A function by its name and its code: its address is another in every process.
        code = value.__code__
        mark = zlib.crc32(code.co_code + repr(code.co_consts).encode())
        return f"{value.__module__}.{value.__qualname__} ({mark:08x})"
    return repr(value)


def fingerprint(data: RankingData, base: Floats | None, team: Team = ALONE) -> dict[str, Any]:
    """Enough of a data set to notice another one; features are looked at in a sample of rows.

    That of a team is the same as that of one who has the rows of all workers, in order of rank.
    """
    counts = [*itertools.accumulate(team.gather(data.rows), initial=0)]
    first, rows = counts[team.rank], counts[-1]
    chosen = np.unique(np.linspace(0, max(rows - 1, 0), min(rows, 512)).astype(np.int64))
    own = chosen[(first <= chosen) & (chosen < first + data.rows)] - first
    marks = {
        "labels": _mark(data.labels),
        "sizes": _mark(data.sizes),
        "query ids": _mark(data.index.key),
        "order of rows": _mark(_order_of_rows(data, first, team)),
        "weights": _mark(data.row_weight),
        "scores to start from": _mark(base),
        "sample of features": _mark(known_by(data.features, own)),
    }
    marks |= {f"labels {name}": _mark(values) for name, values in data.sources.items()}
    marks |= {name: _mark(data.beside[name]) for name in _BESIDE if data.beside[name] is not None}
    marks |= _mark_preferences(data, first, team)
    counted = {
        "rows": rows,
        "queries": sum(team.gather(len(data.sizes))),
        "features": int(data.features.shape[1]),
    }
    return counted | _join_marks(team.gather(marks))


def _order_of_rows(data: RankingData, first: int, team: Team) -> NDArray[np.int64]:
    """The row of each place, counted over all workers; nothing where all places are rows."""
    row: NDArray[np.int64] = data.index.row
    is_grouped = not any(team.gather(len(row)))
    if is_grouped:
        return row
    return first + (row if len(row) else np.arange(data.rows))


def _mark_preferences(data: RankingData, first: int, team: Team) -> dict[str, list[int] | None]:
    """That of all pairs, at worker 0: others have none."""
    if data.preferences is None:
        return {}
    hi, lo, weight = (np.asarray(values, float) for values in data.preferences)
    pairs = np.concatenate(team.gather(np.stack([hi + first, lo + first, weight])), axis=1)
    return {"preferences": None if team.rank else _mark(pairs)}


def _join_marks(parts: Sequence[Mapping[str, list[int] | None]]) -> dict[str, int | None]:
    """Marks of all workers' values, by those of each worker's."""
    found: dict[str, int | None] = {}
    for name in parts[0]:
        marks = [part[name] for part in parts]
        known = [(mark[0], mark[1]) for mark in marks if mark is not None]
        found[name] = join_checksums(known) if known else None
    return found


# Columns that no other mark is of.
_BESIDE = [n for n in COLUMNS if n not in ("weight", "query_weight", "init_score", "sources")]

# What says that rows are the same, whatever their queries are called and scores start from.
_ROWS = ("rows", "features", "labels", "sizes", "order of rows", "sample of features")


def same_rows(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two fingerprints are of the same documents with the same labels."""
    return all(one.get(key) == other.get(key) for key in _ROWS)


def plain_origin(data: RankingData) -> dict[str, Any]:
    """The file of a data set as JSON can hold it; nothing if columns were named by objects."""
    try:
        kept: dict[str, Any] = json.loads(json.dumps(data.origin))
    except TypeError:
        return {}
    return kept


def _mark(values: Any) -> list[int] | None:
    """Checksum of values, and the number of their bytes."""
    if values is None:
        return None
    content = np.ascontiguousarray(values).tobytes()
    return [zlib.crc32(content), len(content)]


def _rates(rate: Any, trees: int) -> Any:
    """The rates of the trees that are there: those to come may change."""
    rates = rate[:trees] if isinstance(rate, list) else [rate] * trees
    return rates[0] if len({*rates}) == 1 else rates


def share_model(found: Model | None, team: Team) -> Model | None:
    """What worker 0 has found, at every worker."""
    if team.size == 1:
        return found
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if found is not None:
            found.save(place, steps=found.steps)
        files = {one.name: np.fromfile(one, np.uint8) for one in place.iterdir()}
        told = team.gather(files)[0]
        if team.rank == 0 or not told:
            return found
        for name, content in told.items():
            (place / name).write_bytes(content.tobytes())
        return load_model(place, checks_base=False)


def resume(path: str | Path, parameters: dict[str, Any], data: dict[str, Any]) -> Model | None:
    """The model so far, or None if there is none yet; another run's checkpoint is an error."""
    place = Path(path)
    if not has_model(place):
        return None
    # Parameters and scores to start from tell whether the base is the same.
    model = load_model(place, checks_base=False)
    if not model.parameters:
        return None  # a text alone: what version 0.1 left when it was killed at its first save
    names = {*model.parameters, *parameters} - _FREE
    # The model, a preset, members and optimiser first, from which other defaults follow, and the
    # metric, which follows from the objective where it is not given, last.
    first = {"model": -3, "preset": -2, "members": -1, "optimiser": -1, "eval_metric": 1}
    for name in sorted(names, key=lambda name: (first.get(name, 0), name)):
        old, new = model.parameters.get(name), parameters.get(name)
        if name == "learning_rate":
            old, new = (_rates(value, model.steps) for value in (old, new))
        if json.dumps(old) != json.dumps(new):
            raise RankforceError(
                f"checkpoint {place} belongs to another run: {name} was {old!r}, now {new!r}"
            )
    for name in sorted({*model.data, *data}):
        old, new = model.data.get(name), data.get(name)
        if old is None or new is None:
            raise RankforceError(f"checkpoint {place} belongs to other data: {name} was not there")
        differs = [key for key in new if old.get(key) != new[key]]
        if differs:
            what = ", ".join(differs)
            raise RankforceError(
                f"checkpoint {place} belongs to other data: {what} of {name} differ"
            )
    return model
