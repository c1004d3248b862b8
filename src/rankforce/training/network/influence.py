"""How much each feature moves the scores of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.models.network.network import Network, take_dense

ROWS = 4096  # of the training set that are looked at, at most, lists as a whole


def find_influence(network: Network, step: int, data: RankingData) -> Floats:
    """The mean size of a score's derivative by each feature, once that is scaled.

    Of a linear ranker that is the size of its weights. A feature that is scaled in two ways has the
    sum. A category cannot move a little: its influence is the mean distance from the score with one
    that training has not seen. A feature that is left out, for it has no variance, has none, nor
    has one under trees.
    """
    found = np.zeros(len(network.names))
    index = data.index
    count = max(int(np.searchsorted(index.pointer, ROWS, side="right")) - 1, 1)
    queries = np.arange(min(count, len(index.sizes)))
    rows = index.rows_of(queries)
    if network.forest is not None or not len(rows):
        return found
    net, encoder = network.net(step), network.encoder
    sizes = torch.from_numpy(index.sizes[queries].astype(np.int64))
    with torch.no_grad():
        x = net.encode(torch.from_numpy(take_dense(data.features, rows)).to(network.device))
    x.requires_grad_(True)
    scores = net.body(x, sizes)
    (slope,) = torch.autograd.grad(scores.sum(), x, allow_unused=True)
    if slope is not None:
        each = _mean_size(slope[:, : encoder.scaled]).reshape(-1, len(encoder.numbers))
        found[encoder.numbers] = np.where(encoder.scale > 0, each.sum(axis=0), 0.0)
    with torch.no_grad():
        for place, (column, unseen) in enumerate(encoder.categories.items(), encoder.dense):
            other = x.detach().clone()
            other[:, place] = unseen
            found[column] = _mean_size(scores - net.body(other, sizes))
    return found


def _mean_size(values: Any) -> Any:
    return values.abs().mean(dim=0).double().cpu().numpy()
