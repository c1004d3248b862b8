"""A trained model: what makes its scores, and the story of how it came to be."""

from __future__ import annotations

import dataclasses
import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.data.schema import Schema
from rankforce.models.base import FORESTS, NETWORK
from rankforce.models.curves import Curves
from rankforce.models.folder import write_model
from rankforce.models.manifest import manifest_of


@dataclasses.dataclass
class Model:
    """A scorer and its story. `used` of its steps make the scores."""

    scorer: Any  # a `Scorer`; those of one kind have more to say than all of them
    used: int
    parameters: dict[str, Any]
    objective: str = ""
    history: dict[str, dict[str, list[float]]] = dataclasses.field(default_factory=dict)
    best_iteration: int | None = None
    categorical: list[int] = dataclasses.field(default_factory=list)
    categories: dict[int, list[Any]] = dataclasses.field(default_factory=dict)
    base: Any = None  # None, or a model of another kind, whose scores come first
    base_steps: int = 0  # the first steps, which the run did not make for its objective
    data: dict[str, Any] = dataclasses.field(default_factory=dict)
    log: list[str] = dataclasses.field(default_factory=list)
    finished: bool = True
    names: list[str] = dataclasses.field(default_factory=list)  # as the user wrote them
    files: dict[str, Any] = dataclasses.field(default_factory=dict)  # that the data was read from
    diagnostics: Curves | None = None  # that a recorder saw while training
    renumbered: list[int] = dataclasses.field(default_factory=list)  # see `Schema`
    base_mark: dict[str, Any] | None = None  # by which `base` is known again
    auto: str = ""  # what became of the objective "auto", and why
    members: list[dict[str, Any]] = dataclasses.field(default_factory=list)  # of a committee
    distilled: dict[str, Any] = dataclasses.field(default_factory=dict)  # from what, and how

    @property
    def steps(self) -> int:
        """Number of steps that are there: trees of a forest, epochs of a network."""
        return len(self.scorer)

    @property
    def trees(self) -> Any:
        """The trees of a forest, as arrays."""
        return self.forest("trees").trees

    def forest(self, what: str) -> Any:
        """The scorer, if it is one of trees; else `what` is refused."""
        if self.scorer.kind not in FORESTS:
            raise RankforceError(f"{what} is for models of trees: this one is a {self.scorer.kind}")
        return self.scorer

    def network(self, what: str) -> Any:
        """The scorer, if it is a network; else `what` is refused."""
        if self.scorer.kind != NETWORK:
            kind = "made of trees" if self.scorer.kind in FORESTS else f"a {self.scorer.kind}"
            raise RankforceError(f"{what} is for networks: this model is {kind}")
        return self.scorer

    @cached_property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of columns."""
        return self.names or self.scorer.names

    @property
    def schema(self) -> Schema:
        """The features that the model was trained on."""
        origin = self.files.get("training", {})
        roles = {key: value for key, value in origin.items() if key != "file"}
        return Schema(self.feature_names, self.categories, self.renumbered, roles)

    def check_width(self, features: Any) -> None:
        """Refuse a matrix with another number of columns than there are features."""
        columns = len(self.feature_names)
        if features.shape[1] != columns:
            raise RankforceError(
                f"the data has {features.shape[1]} features, the model was trained on {columns}"
            )

    def scores(
        self,
        features: Any,
        *,
        steps: range | None = None,
        threads: int = 1,
        index: QueryIndex | None = None,
    ) -> Floats:
        """Scores of a float32 matrix, dense or CSR, by the steps that are used or by some.

        `index` has the lists, for a scorer that needs them.
        """
        self.check_width(features)
        out = np.zeros(features.shape[0])
        chosen = range(self.used) if steps is None else steps
        self.scorer.add_scores(features, chosen, out, threads=threads, index=index)
        return out

    def text(self, steps: int | None = None) -> str:
        """A forest in LightGBM's own format; the trees that make the scores, or the first few."""
        count = self.used if steps is None else steps
        text: str = self.forest("text").text(count, self.parameters, self.categories)
        return text

    def save(self, folder: str | Path, *, steps: int | None = None) -> None:
        """Write the scorer and a manifest into `folder`, in place of a model that is there."""
        count = self.used if steps is None else steps
        content = self.scorer.content(count, self.parameters, self.categories)
        manifest = json.dumps(manifest_of(self, count), indent=1) + "\n"
        write_model(Path(folder), self.scorer.file, content, manifest)
