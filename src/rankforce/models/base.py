"""What a model is: a scorer that is made in steps, and a manifest beside it.

A scorer turns features into scores and is kept in one file. Trees are one kind of them.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Protocol

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex


class Scorer(Protocol):
    """What gives documents their scores, made step by step: a tree is a step of a forest."""

    kind: str  # in the manifest
    file: str  # in the folder of the model
    step: str  # what a step is called
    is_sum: bool  # scores are sums over steps; else those behind a step have nothing of its past
    needs_lists: bool  # the score of a document depends on the others of its query

    def __len__(self) -> int:
        """Number of steps."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the features that it reads."""
        ...

    @property
    def ranges(self) -> list[str]:
        """What is known of each feature: "[low:high]", codes "3:7" of categories, or "none"."""
        ...

    def keep(self, steps: int) -> None:
        """Forget all but the first steps."""
        ...

    def add_scores(
        self,
        features: Any,
        steps: range,
        out: Floats,
        *,
        threads: int,
        index: QueryIndex | None = None,
    ) -> None:
        """Add what some steps give each row of a float32 matrix, dense or CSR, to `out`.

        `index` has the lists, for a scorer that needs them.
        """
        ...

    def content(
        self, steps: int, parameters: dict[str, Any], categories: dict[int, list[Any]]
    ) -> bytes:
        """What its file holds, with the first steps; a file repeats some of what a model knows."""
        ...

    def digest(self, steps: int) -> str:
        """A fingerprint of the first steps, by which a manifest is known to belong to them."""
        ...

    @classmethod
    def parse(cls, content: bytes, place: Path) -> Scorer:
        """A scorer from the content of a file, none of which is ever executed."""
        ...


FOREST, XGBOOST, NETWORK = "forest", "xgboost", "network"
FORESTS = (FOREST, XGBOOST)  # by the form of their file
# Kind -> the module and the class of its scorers, imported when a model of that kind is loaded.
KINDS = {
    FOREST: ("rankforce.models.forest.forest", "Forest"),
    XGBOOST: ("rankforce.models.forest.xgboost_forest", "XGBoostForest"),
    NETWORK: ("rankforce.models.network.network", "Network"),
}


def find_kind(name: str) -> type[Scorer]:
    """The class of the scorers of a kind.

    >>> find_kind("forest").file
    'model.txt'
    """
    if name not in KINDS:
        raise RankforceError(f"its kind is {name!r}: this version knows {', '.join(KINDS)}")
    module, title = KINDS[name]
    found: type[Scorer] = getattr(importlib.import_module(module), title)
    return found
