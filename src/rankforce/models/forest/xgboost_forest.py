"""A forest that is kept as XGBoost's JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rankforce.common.errors import RankforceError
from rankforce.models.base import XGBOOST
from rankforce.models.forest.forest import Forest, check_trees
from rankforce.models.forest.lightgbm_text import feature_names, make_head
from rankforce.models.forest.tree import Tree
from rankforce.models.forest.xgboost_json import model_text, parse_model
from rankforce.models.forest.xgboost_tree import parse_tree, tree_record, tree_text


class XGBoostForest(Forest):
    """Trees in the form of XGBoost's: what they score is the same in either form."""

    kind, file = XGBOOST, "model.json"

    @classmethod
    def on(
        cls,
        names: Sequence[str],
        ranges: Sequence[str],
        about: Mapping[str, str],
        trees: Sequence[Tree] = (),
    ) -> Forest:
        """A forest that begins with some trees: numbered as they will be when they are read."""
        return cls(make_head(names, ranges, about), [parse_tree(tree_record(t)) for t in trees])

    @classmethod
    def parse(cls, content: bytes, place: Path) -> Forest:
        """A forest from XGBoost's JSON, checked; `place` is where a mistake in it is."""
        try:
            head, trees = parse_model(content.decode("utf-8"))
            check_trees(trees, len(feature_names(head)))
        except UnicodeDecodeError:
            raise RankforceError(
                f"cannot read a model from {place}: it is not text (of XGBoost's files, JSON is "
                "read: save_model('model.json'))"
            ) from None
        except ValueError as error:
            raise RankforceError(f"{place}: {error}") from None
        return cls(head, trees)

    def content(
        self, steps: int, parameters: dict[str, Any], categories: dict[int, list[Any]]
    ) -> bytes:
        """What its file holds."""
        return model_text(self.head, self.trees[:steps]).encode()

    def digest(self, steps: int) -> str:
        """A fingerprint of the first trees."""
        total = hashlib.sha256()
        for tree in self.trees[:steps]:
            total.update(tree_text(tree).encode())
        return total.hexdigest()[:32]
