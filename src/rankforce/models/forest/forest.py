"""A forest: the kind of model whose steps are trees, kept as LightGBM's text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.queries import QueryIndex
from rankforce.models.base import FOREST
from rankforce.models.forest.lightgbm_text import (
    SUMS,
    feature_infos,
    feature_names,
    make_head,
    model_text,
    parse_model,
    tree_text,
)
from rankforce.models.forest.score import Scoring
from rankforce.models.forest.tree import (
    GOES_LEFT,
    IS_CATEGORICAL,
    MISSING_SHIFT,
    Tree,
    stack,
)
from rankforce.models.forest.walk import route

RULES = IS_CATEGORICAL | GOES_LEFT | 3 << MISSING_SHIFT  # all bits that a rule may have
# Parameters that LightGBM's text repeats; the manifest has all of them.
SHOWN = ("learning_rate", "num_leaves", "max_depth", "seed")


class Forest:
    """Trees, and what is known of their features. A `Scorer`."""

    kind, file, step = FOREST, "model.txt", "tree"
    is_sum, needs_lists = True, False

    def __init__(self, head: str, trees: list[Tree]) -> None:
        self.head = head  # what stands before the trees in the text
        self.trees = trees
        self._kept: tuple[int, Scoring] | None = None

    @classmethod
    def on(
        cls,
        names: Sequence[str],
        ranges: Sequence[str],
        about: Mapping[str, str],
        trees: Sequence[Tree] = (),
    ) -> Forest:
        """A forest on features with these names and ranges, which begins with some trees."""
        return cls(make_head(names, ranges, about), list(trees))

    @classmethod
    def parse(cls, content: bytes, place: Path) -> Forest:
        """A forest from LightGBM's text, checked; `place` is where a mistake in it is."""
        try:
            # Lines may end as those of another system do.
            head, trees = parse_model(content.decode("utf-8").replace("\r\n", "\n"))
            check_trees(trees, len(feature_names(head)))
        except UnicodeDecodeError:
            raise RankforceError(f"cannot read a model from {place}: it is not text") from None
        except ValueError as error:
            raise RankforceError(f"{place}: {error}") from None
        return cls(head, trees)

    def __len__(self) -> int:
        return len(self.trees)

    @property
    def names(self) -> list[str]:
        """Names of the features, as the text has them."""
        return feature_names(self.head)

    @property
    def ranges(self) -> list[str]:
        """What is known of each feature: "[low:high]", codes of categories, or "none"."""
        return feature_infos(self.head)

    def keep(self, steps: int) -> None:
        """Forget all but the first trees."""
        del self.trees[steps:]

    def scaled(self, factor: float) -> Forest:
        """The same trees, every leaf times a factor."""
        several = [
            tree.with_values(factor * tree.leaf_value, factor * tree.shrinkage)
            for tree in self.trees
        ]
        return type(self)(self.head, several)

    def scoring(self, steps: range) -> Scoring:
        """Some trees, ready to score; those that begin with the first are kept for later."""
        if steps.start:
            return Scoring(self.trees[steps.start : steps.stop])
        kept = self._kept  # looked at once: another thread may replace it
        if kept is None or kept[0] != steps.stop:
            self._kept = kept = steps.stop, Scoring(self.trees[: steps.stop])
        return kept[1]

    def add_scores(
        self,
        features: Any,
        steps: range,
        out: Floats,
        *,
        threads: int,
        index: QueryIndex | None = None,
    ) -> None:
        """Add what some trees give each row to `out`; lists do not matter."""
        self.scoring(steps).add(features, out, threads=threads)

    def leaves(self, features: Any, steps: range, *, threads: int) -> NDArray[np.int32]:
        """Number of the leaf of each row (down) in each tree (across)."""
        found = np.empty((features.shape[0], len(steps)), np.int32)
        for column, tree in enumerate(self.trees[steps.start : steps.stop]):
            found[:, column] = route(tree, stack([tree]), features, threads=threads)
        return found

    def text(self, steps: int, parameters: dict[str, Any], categories: dict[int, list[Any]]) -> str:
        """The first trees in LightGBM's own format."""
        shown = {"boosting": "gbdt", "objective": SUMS, "num_iterations": str(steps)}
        # LightGBM reads these as numbers: a schedule of rates is left to the trees.
        known = {name: parameters.get(name) for name in SHOWN}
        shown |= {n: str(value) for n, value in known.items() if isinstance(value, (int, float))}
        values = [categories[column] for column in sorted(categories)]
        return model_text(self.head, self.trees[:steps], shown, categories=values or None)

    def content(
        self, steps: int, parameters: dict[str, Any], categories: dict[int, list[Any]]
    ) -> bytes:
        """What its file holds."""
        return self.text(steps, parameters, categories).encode()

    def digest(self, steps: int) -> str:
        """A fingerprint of the first trees."""
        return digest(self.trees[:steps])


def digest(trees: Sequence[Tree]) -> str:
    """A fingerprint of some trees."""
    total = hashlib.sha256()
    for number, tree in enumerate(trees):
        total.update(tree_text(tree, number).encode())
    return total.hexdigest()[:32]


def pandas_categories(forest: Forest, text: str, place: Path) -> dict[int, list[Any]]:
    """The values of categorical columns that LightGBM learnt from a pandas frame."""
    try:
        known = json.loads(text.rpartition("\npandas_categorical:")[2].strip() or "null")
    except json.JSONDecodeError:
        return {}
    kinds = enumerate(forest.ranges)
    columns = [c for c, kind in kinds if kind != "none" and not kind.startswith("[")]
    if not known:
        return {}
    if len(known) != len(columns):
        raise RankforceError(
            f"{place}: it has the values of {len(known)} categorical columns, but which of the "
            f"{len(columns)} columns they are is not clear"
        )
    return dict(zip(columns, map(list, known), strict=True))


def check_trees(trees: Sequence[Tree], features: int) -> None:
    """Refuse trees that would lead a kernel astray: every path must end in a leaf of the tree."""
    for number, tree in enumerate(trees):
        nodes = tree.leaves - 1
        if {len(a) for a in (tree.feature, tree.threshold, tree.rule, tree.left)} != {nodes}:
            raise RankforceError(f"tree {number} has {tree.leaves} leaves, but not {nodes} nodes")
        if not nodes:
            continue
        child = np.stack([tree.left, tree.right])
        # LightGBM numbers nodes as they are split, so a child comes after its parent.
        inner = child >= 0
        is_good = np.where(inner, (child > np.arange(nodes)) & (child < nodes), ~child <= nodes)
        if not is_good.all() or tree.feature.min() < 0 or tree.feature.max() >= features:
            raise RankforceError(f"tree {number} is damaged: a node points nowhere")
        if np.isnan(tree.threshold).any() or tree.rule.min() < 0 or tree.rule.max() > RULES:
            raise RankforceError(f"tree {number} is damaged: a threshold or a rule is no number")
        _check_categories(number, tree)


def _check_categories(number: int, tree: Tree) -> None:
    which = tree.threshold[tree.is_categorical]
    if not which.size:
        return
    bounds = tree.sets
    in_range = which.min() >= 0 and which.max() < len(bounds) - 1
    if not in_range or np.diff(bounds).min() < 0 or bounds[0] < 0 or bounds[-1] > len(tree.words):
        raise RankforceError(f"tree {number} is damaged: a set of categories is missing")
