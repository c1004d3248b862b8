"""The manifest of a model: its story, which the file of its scorer does not tell, as JSON."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankforce.common.errors import RankforceError
from rankforce.models.base import FOREST, NETWORK, XGBOOST, Scorer, find_kind
from rankforce.models.curves import Curves

if TYPE_CHECKING:
    from rankforce.models.model import Model

FORMAT = 1
OUTSIDE = "outside"  # the model stands on one of another kind


def manifest_of(model: Model, steps: int) -> dict[str, Any]:
    """What is to be known of a model with so many steps, as JSON can hold it."""
    scorer = model.scorer
    maker = {NETWORK: "torch", XGBOOST: "xgboost"}.get(scorer.kind, "lightgbm")
    return {
        "format": FORMAT,
        **({} if scorer.kind == FOREST else {"kind": scorer.kind}),
        "objective": model.objective,
        **({"auto": model.auto} if model.auto else {}),
        **({"members": model.members} if model.members else {}),
        **({"distilled": model.distilled} if model.distilled else {}),
        "parameters": model.parameters,
        "versions": {name: _version(name) for name in ("rankforce", maker, "numpy")},
        f"{scorer.step}s": steps,
        "used": min(model.used, steps),
        "best_iteration": model.best_iteration,
        "base": None if model.base is None else OUTSIDE,
        "base_mark": model.base_mark,
        f"base_{scorer.step}s": model.base_steps,
        "finished": model.finished,
        "digest": scorer.digest(steps),
        "metrics": model.history,
        "feature_names": model.feature_names,
        "categorical": model.categorical,
        "categories": {str(column): values for column, values in model.categories.items()},
        "renumbered": model.renumbered,
        "data": model.data,
        "log": model.log,
        "files": model.files,
        "diagnostics": None if model.diagnostics is None else model.diagnostics.record(),
    }


def parse_manifest(path: Path, text: str) -> Any:
    """A manifest as it stands in a file."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RankforceError(f"{path} is no manifest of a model: {error!r}") from None


def kind_of(record: Any) -> type[Scorer]:
    """The kind of scorer that a manifest is of; one that does not say is of trees."""
    return find_kind(record.get("kind", FOREST) if isinstance(record, dict) else FOREST)


def read_manifest(path: Path, record: Any, scorer: Scorer) -> tuple[int, dict[str, Any]]:
    """Number of steps, and the fields of the model that a manifest and a scorer make."""
    try:
        steps = int(record[f"{scorer.step}s"])
        if record["format"] != FORMAT:
            raise RankforceError(f"format {record['format']} is not known to this version")
        if len(scorer) < steps or scorer.digest(steps) != record["digest"]:
            raise RankforceError(f"it does not belong to the {scorer.step}s in {scorer.file}")
        curves = record.get("diagnostics")
        story: dict[str, Any] = {
            "used": int(record["used"]),
            "parameters": dict(record["parameters"]),
            "objective": str(record["objective"]),
            "history": dict(record["metrics"]),
            "best_iteration": record["best_iteration"],
            "categorical": list(record["categorical"]),
            "categories": {int(c): list(values) for c, values in record["categories"].items()},
            "base": OUTSIDE if record["base"] == OUTSIDE else None,
            "base_steps": int(record[f"base_{scorer.step}s"]),
            "data": dict(record["data"]),
            "log": list(record["log"]),
            "finished": bool(record["finished"]),
            "names": [str(name) for name in record["feature_names"]],
            # Models of earlier versions have none of these.
            "files": dict(record.get("files", {})),
            "diagnostics": None if curves is None else Curves.from_record(curves),
            "renumbered": [int(column) for column in record.get("renumbered", [])],
            "base_mark": record.get("base_mark"),
            "auto": str(record.get("auto", "")),
            "members": [dict(member) for member in record.get("members", [])],
            "distilled": dict(record.get("distilled", {})),
        }
        _check_story(story, steps, scorer)
    except (AttributeError, KeyError, OverflowError, TypeError) as error:
        raise RankforceError(f"{path} is no manifest of a model: {error!r}") from None
    except ValueError as error:
        raise RankforceError(f"{path}: {error}") from None
    return steps, story


def _check_story(story: dict[str, Any], steps: int, scorer: Scorer) -> None:
    """Refuse a manifest whose parts cannot be true together."""
    if not 0 <= story["used"] <= steps:
        raise RankforceError(f"{story['used']} {scorer.step}s are used, but there are {steps}")
    best = story["best_iteration"]
    if best is not None and (not isinstance(best, int) or isinstance(best, bool) or best < 0):
        raise RankforceError(f"best_iteration is {best!r}, expected an integer")
    columns = len(scorer.names)
    if len(story["names"]) != columns:
        raise RankforceError(f"{len(story['names'])} feature names for {columns} features")
    for column in (*story["categories"], *story["categorical"]):
        if not isinstance(column, int) or not 0 <= column < columns:
            raise RankforceError(f"categorical column {column!r} is none of the {columns} features")
    mark = story["base_mark"]
    if mark is not None and not {"class", "scores"} <= {*mark}:
        raise RankforceError(f"base_mark is {mark!r}: expected class and scores")
    for name, metrics in story["history"].items():
        for metric, values in metrics.items():
            if not isinstance(values, list) or not all(isinstance(v, (int, float)) for v in values):
                raise RankforceError(f"metrics of {name}, {metric}: expected a list of numbers")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        # What XGBoost without CUDA is called.
        return _version("xgboost-cpu") if name == "xgboost" else "unknown"
