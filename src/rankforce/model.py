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

from rankforce._objectives.tables import Floats
from rankforce.data.schema import Schema
from rankforce.diagnostics.curves import Curves
from rankforce.files import write_whole
from rankforce.trees.forest import add_scores, feature_names, model_text, parse_model
from rankforce.trees.tree import Nodes, Tree, stack

TEXT = "model.txt"
MANIFEST = "manifest.json"
FORMAT = 1
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
    base: Any = None  # None, or a model whose scores come first
    base_trees: int = 0  # trees of a base model of our own, which `used` includes
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    log: list[str] = dataclasses.field(default_factory=list)
    finished: bool = True
    names: list[str] = dataclasses.field(default_factory=list)  # as the user wrote them
    files: dict[str, Any] = dataclasses.field(default_factory=dict)  # that the data was read from
    diagnostics: Curves | None = None  # that a recorder saw while training
    renumbered: list[int] = dataclasses.field(default_factory=list)  # see `Schema`

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
            raise ValueError(
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
        return model_text(self.head, self.trees[:count], shown)

    def save(self, folder: str | Path, *, trees: int | None = None) -> None:
        """Write LightGBM's text and a manifest into `folder`."""
        place = Path(folder)
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place} is a file: a model is saved into a folder")
        place.mkdir(parents=True, exist_ok=True)
        count = self.used if trees is None else trees
        # The text first: a manifest fits the trees it counts, and more may stand behind them.
        write_whole(place / TEXT, self.text(count))
        write_whole(place / MANIFEST, json.dumps(self.manifest(count), indent=1) + "\n")

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
            "base": None if self.base is None else "outside",
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


def load_model(path: str | Path, *, base: Any = None) -> Model:
    """Read a saved model, or a plain LightGBM text file; nothing in it is ever executed."""
    place = Path(path)
    text_file = place / TEXT if place.is_dir() else place
    # The manifest first: a run that writes a checkpoint meanwhile adds trees to the text before it
    # counts them in the manifest.
    has_story = (place / MANIFEST).exists()
    story = _read_manifest(place / MANIFEST) if has_story else None
    try:
        text = text_file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ValueError(f"cannot read a model from {text_file}: {reason}") from None
    try:
        head, trees = parse_model(text)
        check_trees(trees, len(feature_names(head)))
    except ValueError as error:
        raise ValueError(f"{text_file}: {error}") from None
    if not has_story:
        model = Model(head, trees, len(trees), {}, "LightGBM model")
        model.categories = pandas_categories(head, text, text_file)
        model.categorical = sorted(model.categories)
        return model
    return _with_manifest(place / MANIFEST, story, head, trees, base)


def _read_manifest(path: Path) -> Any:
    """The manifest as JSON; what is wrong with it is said when the trees are known."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no manifest of a model: {error!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: {error}") from None


def pandas_categories(head: str, text: str, path: Path) -> dict[int, list[Any]]:
    """The values of categorical columns that LightGBM learnt from a pandas frame."""
    try:
        known = json.loads(text.rpartition("\npandas_categorical:")[2].strip() or "null")
    except json.JSONDecodeError:
        return {}
    infos = next((x for x in head.splitlines() if x.startswith("feature_infos=")), "=")
    kinds = infos.partition("=")[2].split(" ")
    columns = [c for c, kind in enumerate(kinds) if kind != "none" and not kind.startswith("[")]
    if not known:
        return {}
    if len(known) != len(columns):
        raise ValueError(
            f"{path}: it has the values of {len(known)} categorical columns, but which of the "
            f"{len(columns)} columns they are is not clear"
        )
    return dict(zip(columns, map(list, known), strict=True))


def _with_manifest(path: Path, record: Any, head: str, trees: list[Tree], base: Any) -> Model:
    try:
        count = int(record["trees"])
        if record["format"] != FORMAT:
            raise ValueError(f"format {record['format']} is not known to this version")
        if len(trees) < count or digest(trees[:count]) != record["digest"]:
            raise ValueError(f"it does not belong to the trees in {TEXT}")
        if record["base"] == "outside" and base is None:
            raise ValueError("the model stands on another one: give it as base=")
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
            base,
            int(record["base_trees"]),
            dict(record["data"]),
            list(record["log"]),
            bool(record["finished"]),
            [str(name) for name in record["feature_names"]],
            # Models of earlier versions have neither.
            dict(record.get("files", {})),
            _curves(record.get("diagnostics")),
            [int(column) for column in record.get("renumbered", [])],
        )
        _check_story(model, count)
    except _NO_MANIFEST as error:
        raise ValueError(f"{path} is no manifest of a model: {error!r}") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return model


def _curves(record: Any) -> Curves | None:
    return None if record is None else Curves.from_record(record)


_NO_MANIFEST = (AttributeError, KeyError, OverflowError, TypeError)


def _check_story(model: Model, trees: int) -> None:
    """Refuse a manifest whose parts cannot be true together."""
    if not 0 <= model.used <= trees:
        raise ValueError(f"{model.used} trees are used, but there are {trees}")
    best = model.best_iteration
    if best is not None and (not isinstance(best, int) or isinstance(best, bool) or best < 0):
        raise ValueError(f"best_iteration is {best!r}, expected a whole number")
    columns = len(feature_names(model.head))
    if len(model.names) != columns:
        raise ValueError(f"{len(model.names)} feature names for {columns} features")
    for column in (*model.categories, *model.categorical):
        if not isinstance(column, int) or not 0 <= column < columns:
            raise ValueError(f"categorical column {column!r} is none of the {columns} features")
    for name, metrics in model.history.items():
        for metric, values in metrics.items():
            if not isinstance(values, list) or not all(isinstance(v, (int, float)) for v in values):
                raise ValueError(f"metrics of {name}, {metric}: expected a list of numbers")


def check_trees(trees: list[Tree], features: int) -> None:
    """Refuse trees that would lead a kernel astray: every path must end in a leaf of the tree."""
    for number, tree in enumerate(trees):
        nodes = tree.leaves - 1
        names = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
        lengths = {len(tree.numbers(name, float)) for name in names}
        if nodes and lengths != {nodes}:
            raise ValueError(f"tree {number} has {tree.leaves} leaves, but not {nodes} nodes")
        if not nodes:
            continue
        feature = tree.numbers("split_feature", np.int64)
        child = np.stack([tree.numbers(name, np.int64) for name in names[3:]])
        # LightGBM numbers nodes as they are split, so a child comes after its parent.
        inner = child >= 0
        is_good = np.where(inner, (child > np.arange(nodes)) & (child < nodes), ~child <= nodes)
        if not is_good.all() or feature.min() < 0 or feature.max() >= features:
            raise ValueError(f"tree {number} is damaged: a node points nowhere")
        if np.isnan(tree.numbers("threshold", np.float64)).any():
            raise ValueError(f"tree {number} is damaged: a threshold is no number")
        _check_categories(number, tree)


def _check_categories(number: int, tree: Tree) -> None:
    kind = tree.numbers("decision_type", np.int64)
    which = tree.numbers("threshold", np.float64)[kind & 1 != 0]
    if not which.size:
        return
    bounds = tree.numbers("cat_boundaries", np.int64)
    words = len(tree.numbers("cat_threshold", np.int64))
    in_range = which.min() >= 0 and which.max() < len(bounds) - 1
    if not in_range or np.diff(bounds).min() < 0 or bounds[0] < 0 or bounds[-1] > words:
        raise ValueError(f"tree {number} is damaged: a set of categories is missing")


def digest(trees: list[Tree]) -> str:
    """A fingerprint of some trees."""
    total = hashlib.sha256()
    for number, tree in enumerate(trees):
        total.update(tree.text(number).encode())
    return total.hexdigest()[:32]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
