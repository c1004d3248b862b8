"""A trained model: trees, what they were trained for, and how to keep them in files."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.schema import Schema
from rankforce.models.curves import Curves
from rankforce.models.folder import MANIFEST, TEXT, read_manifests, state, write_model
from rankforce.models.forest.check import check_trees
from rankforce.models.forest.lightgbm_text import (
    feature_infos,
    feature_names,
    model_text,
    parse_model,
    tree_text,
)
from rankforce.models.forest.tree import Nodes, Tree, stack
from rankforce.models.forest.walk import add_scores
from rankforce.models.outside import check_outside

FORMAT = 1
OUTSIDE = "outside"  # in a manifest: the model stands on one of another kind
READINGS = 100  # of a folder that somebody saves into at the same time
# Parameters that LightGBM's text repeats; the manifest has all of them.
SHOWN = ("learning_rate", "num_leaves", "max_depth", "seed")


@dataclasses.dataclass
class Model:
    """Trees and their story. `used` of them make the scores."""

    head: str
    trees: list[Tree]
    used: int
    parameters: dict[str, Any]
    objective: str = ""
    history: dict[str, dict[str, list[float]]] = dataclasses.field(default_factory=dict)
    best_iteration: int | None = None
    categorical: list[int] = dataclasses.field(default_factory=list)
    categories: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    base: Any = None  # None, or a model of another kind, whose scores come first
    base_trees: int = 0  # the first trees, which the run did not grow for its objective
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    log: list[str] = dataclasses.field(default_factory=list)
    finished: bool = True
    names: list[str] = dataclasses.field(default_factory=list)  # as the user wrote them
    files: dict[str, Any] = dataclasses.field(default_factory=dict)  # that the data was read from
    diagnostics: Curves | None = None  # that a recorder saw while training
    renumbered: list[int] = dataclasses.field(default_factory=list)  # see `Schema`
    base_mark: dict[str, Any] | None = None  # by which `base` is known again

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of columns."""
        return self.names or feature_names(self.head)

    @property
    def schema(self) -> Schema:
        """The features that the model was trained on."""
        origin = self.files.get("training", {})
        roles = {key: value for key, value in origin.items() if key != "file"}
        return Schema(self.feature_names, self.categories, self.renumbered, roles)

    def nodes(self, trees: int) -> Nodes:
        """Arrays of the first `trees` trees; the last ones asked for are kept."""
        kept = self.__dict__.get("_nodes")
        if kept is None or kept[0] != trees:
            kept = trees, stack(self.trees[:trees])
            self.__dict__["_nodes"] = kept
        nodes: Nodes = kept[1]
        return nodes

    def scores(self, features: Any, *, trees: int | None = None, threads: int = 1) -> Floats:
        """Scores of a float32 matrix, dense or CSR; the higher, the better."""
        columns = len(self.feature_names)
        if features.shape[1] != columns:
            raise RankforceError(
                f"the data has {features.shape[1]} features, the model was trained on {columns}"
            )
        out = np.zeros(features.shape[0])
        count = self.used if trees is None else min(trees, len(self.trees))
        count = len(self.trees) if count <= 0 else count  # as LightGBM's num_iteration
        add_scores(self.nodes(count), features, out, threads=threads)
        return out

    def text(self, trees: int | None = None) -> str:
        """The model in LightGBM's own format; the trees that make the scores, or the first few."""
        count = self.used if trees is None else trees
        shown = {"boosting": "gbdt", "objective": "custom", "num_iterations": str(count)}
        # LightGBM reads these as numbers: a schedule of rates is left to the trees.
        known = {name: self.parameters.get(name) for name in SHOWN}
        shown |= {n: str(value) for n, value in known.items() if isinstance(value, (int, float))}
        values = [self.categories[column] for column in sorted(self.categories)]
        return model_text(self.head, self.trees[:count], shown, categories=values or None)

    def save(self, folder: str | Path, *, trees: int | None = None) -> None:
        """Write LightGBM's text and a manifest into `folder`, in place of a model that is there."""
        count = self.used if trees is None else trees
        manifest = json.dumps(self.manifest(count), indent=1) + "\n"
        write_model(Path(folder), self.text(count), manifest)

    def manifest(self, trees: int) -> dict[str, Any]:
        """What the text does not say, as JSON."""
        return {
            "format": FORMAT,
            "objective": self.objective,
            "parameters": self.parameters,
            "versions": {name: _version(name) for name in ("rankforce", "lightgbm", "numpy")},
            "trees": trees,
            "used": min(self.used, trees),
            "best_iteration": self.best_iteration,
            "base": None if self.base is None else OUTSIDE,
            "base_mark": self.base_mark,
            "base_trees": self.base_trees,
            "finished": self.finished,
            "digest": digest(self.trees[:trees]),
            "metrics": self.history,
            "feature_names": self.feature_names,
            "categorical": self.categorical,
            "categories": {str(column): values for column, values in self.categories.items()},
            "renumbered": self.renumbered,
            "data": self.data,
            "log": self.log,
            "files": self.files,
            "diagnostics": None if self.diagnostics is None else self.diagnostics.record(),
        }


def load_model(path: str | Path, *, base: Any = None, checks_base: bool = True) -> Model:
    """Read a saved model, or a plain LightGBM text file; nothing in it is ever executed.

    `base` is the model that it stands on, if it does; `checks_base=False` reads it without.
    """
    place = Path(path)
    if not place.is_dir():
        return plain_model(_read_text(place), place, base=base)
    for _ in range(READINGS - 1):
        before = state(place)
        try:
            found = _load_folder(place, base, checks_base)
        except ValueError:
            if state(place) == before:
                raise
        else:
            # Without a manifest only if none has come meanwhile.
            if found.parameters or state(place) == before:
                return found
    return _load_folder(place, base, checks_base)


def _load_folder(place: Path, base: Any, checks_base: bool) -> Model:
    """The model of a folder, by the first of its manifests that fits the text."""
    manifests = read_manifests(place)
    text = _read_text(place / TEXT)
    head, trees = _parse(text, place / TEXT)
    tried = [_try_manifest(file, story, head, trees) for file, story in manifests]
    for (file, _), model in zip(manifests, tried, strict=True):
        if isinstance(model, Model):
            return _put_on(model, base, file) if checks_base else model
    failed = [error for error in tried if isinstance(error, ValueError)]
    if failed and manifests[0][0].name == MANIFEST:
        raise failed[0]
    return plain_model(text, place / TEXT, base=base)


def _try_manifest(path: Path, text: str, head: str, trees: list[Tree]) -> Model | ValueError:
    """The model that a manifest makes of the trees, or why it makes none."""
    try:
        return _with_manifest(path, _json(path, text), head, trees)
    except ValueError as error:
        return error


def plain_model(text: str, path: Path, *, base: Any = None) -> Model:
    """A model from LightGBM's text alone; `path` is the place that a mistake in it is at."""
    head, trees = _parse(text, path)
    model = Model(head, trees, len(trees), {}, "LightGBM model")
    model.categories = pandas_categories(head, text, path)
    model.categorical = sorted(model.categories)
    return _put_on(model, base, path)


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise RankforceError(f"cannot read a model from {path}: {reason}") from None


def _parse(text: str, path: Path) -> tuple[str, list[Tree]]:
    try:
        head, trees = parse_model(text)
        check_trees(trees, len(feature_names(head)))
    except ValueError as error:
        raise RankforceError(f"{path}: {error}") from None
    return head, trees


def _json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise RankforceError(f"{path} is no manifest of a model: {error!r}") from None


def pandas_categories(head: str, text: str, path: Path) -> dict[int, list[Any]]:
    """The values of categorical columns that LightGBM learnt from a pandas frame."""
    try:
        known = json.loads(text.rpartition("\npandas_categorical:")[2].strip() or "null")
    except json.JSONDecodeError:
        return {}
    kinds = feature_infos(head)
    columns = [c for c, kind in enumerate(kinds) if kind != "none" and not kind.startswith("[")]
    if not known:
        return {}
    if len(known) != len(columns):
        raise RankforceError(
            f"{path}: it has the values of {len(known)} categorical columns, but which of the "
            f"{len(columns)} columns they are is not clear"
        )
    return dict(zip(columns, map(list, known), strict=True))


def _with_manifest(path: Path, record: Any, head: str, trees: list[Tree]) -> Model:
    try:
        count = int(record["trees"])
        if record["format"] != FORMAT:
            raise RankforceError(f"format {record['format']} is not known to this version")
        if len(trees) < count or digest(trees[:count]) != record["digest"]:
            raise RankforceError(f"it does not belong to the trees in {TEXT}")
        model = Model(
            head,
            trees[:count],
            int(record["used"]),
            dict(record["parameters"]),
            str(record["objective"]),
            dict(record["metrics"]),
            record["best_iteration"],
            list(record["categorical"]),
            {int(column): list(values) for column, values in record["categories"].items()},
            OUTSIDE if record["base"] == OUTSIDE else None,
            int(record["base_trees"]),
            dict(record["data"]),
            list(record["log"]),
            bool(record["finished"]),
            [str(name) for name in record["feature_names"]],
            # Models of earlier versions have none of these.
            dict(record.get("files", {})),
            _curves(record.get("diagnostics")),
            [int(column) for column in record.get("renumbered", [])],
            record.get("base_mark"),
        )
        _check_story(model, count)
    except _NO_MANIFEST as error:
        raise RankforceError(f"{path} is no manifest of a model: {error!r}") from None
    except ValueError as error:
        raise RankforceError(f"{path}: {error}") from None
    return model


def _put_on(model: Model, base: Any, path: Path) -> Model:
    """The model upon its base; one that it was not trained upon is refused."""
    if model.base is not None:
        if base is None:
            raise RankforceError(
                f"{path}: the model stands on another one: give it as base= (--base FOLDER)"
            )
        check_outside(base, model.base_mark, model.head)
        model.base = base
    elif base is not None:
        # A base that is in the forest may be given again.
        inner, own = getattr(base, "model_", None), model.trees[: model.base_trees]
        known = inner.trees[: inner.used] if isinstance(inner, Model) else []
        if not own or digest(known) != digest(own):
            raise RankforceError(f"{path}: the model does not stand on this base: leave it out")
    return model


def _curves(record: Any) -> Curves | None:
    return None if record is None else Curves.from_record(record)


_NO_MANIFEST = (AttributeError, KeyError, OverflowError, TypeError)


def _check_story(model: Model, trees: int) -> None:
    """Refuse a manifest whose parts cannot be true together."""
    if not 0 <= model.used <= trees:
        raise RankforceError(f"{model.used} trees are used, but there are {trees}")
    best = model.best_iteration
    if best is not None and (not isinstance(best, int) or isinstance(best, bool) or best < 0):
        raise RankforceError(f"best_iteration is {best!r}, expected an integer")
    columns = len(feature_names(model.head))
    if len(model.names) != columns:
        raise RankforceError(f"{len(model.names)} feature names for {columns} features")
    for column in (*model.categories, *model.categorical):
        if not isinstance(column, int) or not 0 <= column < columns:
            raise RankforceError(f"categorical column {column!r} is none of the {columns} features")
    mark = model.base_mark
    if mark is not None and not {"class", "scores"} <= {*mark}:
        raise RankforceError(f"base_mark is {mark!r}: expected class and scores")
    for name, metrics in model.history.items():
        for metric, values in metrics.items():
            if not isinstance(values, list) or not all(isinstance(v, (int, float)) for v in values):
                raise RankforceError(f"metrics of {name}, {metric}: expected a list of numbers")


def digest(trees: list[Tree]) -> str:
    """A fingerprint of some trees."""
    total = hashlib.sha256()
    for number, tree in enumerate(trees):
        total.update(tree_text(tree, number).encode())
    return total.hexdigest()[:32]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
