"""What each feature adds to the scores of a linear network."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankforce.common.errors import RankforceError
from rankforce.common.types import Floats
from rankforce.data.sources import as_source
from rankforce.models.forest.forest import Forest
from rankforce.models.network.network import ROWS, Network

LINEAR = "linear"


def linear_contributions(network: Network, features: Any, step: int) -> Floats:
    """Weight times value of each feature once that is scaled, and a last column without anything.

    The weights of a category, and of a value that is missing, are with their feature.
    """
    weight, tables = linear_weights(network, step)
    encoder = network.encoder
    numbers, scaled = encoder.numbers, encoder.scaled
    found = np.zeros((features.shape[0], len(network.names) + 1))
    for first, rows in as_source(features).blocks(ROWS):
        encoded = encoder.apply(np.asarray(rows, np.float32))
        own = found[first : first + len(rows)]
        parts = encoded[:, : encoder.dense] * weight
        # A feature that is scaled in two ways has two columns.
        ways = parts[:, :scaled].reshape(len(rows), -1, len(numbers))
        own[:, numbers] = ways.sum(axis=1)
        own[:, numbers[encoder.flagged]] += parts[:, scaled:]
        codes = encoded[:, encoder.dense :].astype(np.int64)
        for place, (column, table) in enumerate(zip(encoder.categories, tables, strict=True)):
            own[:, column] = table[codes[:, place]]
    return found


def weighted_forest(network: Network, step: int) -> Forest:
    """The trees whose leaf values are the features of a linear network, by their weights."""
    weight, _ = linear_weights(network, step)
    if network.forest is None:
        raise RankforceError("the features of this network are no trees")
    trees = [
        tree.with_values(share * tree.leaf_value, share * tree.shrinkage)
        for tree, share in zip(network.forest.trees, weight * network.encoder.scale, strict=True)
    ]
    return Forest(network.forest.head, trees)


def linear_weights(network: Network, step: int) -> tuple[Floats, list[Floats]]:
    """Those of numbers and flags, and a table for each category."""
    kind = network.shape["model"]
    if kind != LINEAR:
        raise RankforceError(
            f"contributions are of trees and of linear networks: this one is {kind!r}, whose "
            "scores are no sums over features"
        )
    from rankforce.models.network.scoring import take_state

    kept = take_state(network.net(step).body)
    state = {name: values.astype(np.float64) for name, values in kept.items()}
    tables = range(len(network.encoder.categories))
    return state["weight.weight"][0], [state[f"tables.{n}.weight"][:, 0] for n in tables]
