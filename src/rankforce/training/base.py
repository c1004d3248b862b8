"""What the first new tree starts from: trees of an earlier model, or the scores of any other."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any, NamedTuple

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.data.schema import Schema, kind_of
from rankforce.engines.base import engines
from rankforce.models.base import FORESTS
from rankforce.models.forest.forest import digest
from rankforce.models.forest.tree import Tree
from rankforce.models.load import load_model, plain_model
from rankforce.models.model import Model
from rankforce.models.outside import outside_scores
from rankforce.training.networks import TREES


class Base(NamedTuple):
    """A model of trees, which become the first ones, or a model of another kind, or neither."""

    model: Model | None = None
    outside: Any = None

    @property
    def trees(self) -> list[Tree]:
        """The trees that the forest begins with."""
        found: list[Tree] = [] if self.model is None else self.model.trees[: self.model.used]
        return found

    @property
    def mark(self) -> str | None:
        """What tells it from others, for the record of a run."""
        if self.model is not None:
            return f"{len(self.trees)} trees, {digest(self.trees)}"
        return None if self.outside is None else type(self.outside).__name__

    def widen(self, ranges: list[str]) -> list[str]:
        """Ranges of features, with what the base knows of those that are constant here."""
        known = [] if self.model is None else self.model.scorer.ranges
        if len(known) != len(ranges):
            return ranges
        return [old if new == "none" else new for new, old in zip(ranges, known, strict=True)]

    def scores(self, data: RankingData) -> Floats | None:
        """Scores that no tree of the forest gives."""
        return (
            None
            if self.outside is None
            else outside_scores(self.outside, data.features, data.index)
        )


NOTHING = Base()


def open_base(given: Any, kind: str = TREES) -> Base:
    """The base that a ranker's parameter `base` names, for a model of some kind.

    Trees come first in a model of trees, and are the features of a linear one. All else adds to the
    scores of its base.
    """
    if given is None or (isinstance(given, str) and given == "regressor"):
        return NOTHING
    model, given = _open(given)
    if model is None or kind not in (TREES, "linear"):
        return Base(outside=given)
    if model.base is not None:
        raise RankforceError(
            "base stands on another model itself, which is not made of trees: give another one"
        )
    return Base(model)


def _open(given: Any) -> tuple[Model | None, Any]:
    """The model of trees that a base is, if it is one; and the base as something with `predict`."""
    from rankforce.training.loading import make_ranker

    if isinstance(given, (str, os.PathLike)):
        given = load_model(Path(given), checks_base=False)
    if isinstance(given, Model):
        return given if given.scorer.kind in FORESTS else None, make_ranker(given)
    model = _forest(given)
    return model, given if model is None or hasattr(given, "predict") else make_ranker(model)


def _forest(given: Any) -> Model | None:
    """The trees of a ranker, or of a model of an engine; None for anything else."""
    for engine in engines():
        text = engine.adopt(given)
        if text is not None:
            return plain_model(text.encode(), Path("base"))
    if not hasattr(type(given), "contributions"):  # a ranker has them
        return None
    model: Model | None = getattr(given, "model_", None)
    if model is None:
        raise RankforceError("base is a ranker that is not trained yet: call fit first")
    return model if model.scorer.kind in FORESTS else None


def stand_on(base: Base, data: RankingData) -> RankingData:
    """The data as the trees of the base read it: its columns first, and its codes of categories."""
    if base.model is None:
        return data
    old = base.model.schema
    names = _joined(old, data)
    own = data.schema.by_name
    categories = {}
    for column, name in enumerate(names):
        values = [*old.categories.get(column, ()), *own.get(name, ())]
        if column in old.categories or (column >= len(old.names) and name in own):
            categories[column] = list(dict.fromkeys(values))
    changed = copy.copy(data.like(Schema(names, categories, old.renumbered)))
    changed.categories = categories
    changed.categorical = sorted({*changed.categorical, *base.model.categorical})
    return changed


def _joined(old: Schema, data: RankingData) -> list[str]:
    """Names of the base's features, and of those that only the data has."""
    new = data.feature_names
    kind = kind_of(new)
    if kind == kind_of(old.names) != "place":
        known = {*old.names}
        more = [name for name in new if name not in known and name.replace(" ", "_") not in known]
        return [*old.names, *more]
    if len(new) != len(old.names) and not data.is_text:
        raise RankforceError(
            f"the data has {len(new)} features, the base was trained on {len(old.names)}"
        )
    return list(new if kind_of(old.names) == "place" and len(new) == len(old.names) else old.names)
