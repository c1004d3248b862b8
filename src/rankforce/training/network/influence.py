"""How much each feature moves the scores of a network."""

from __future__ import annotations

import numpy as np
import torch

from rankforce.common.types import Floats
from rankforce.data.ranking_data import RankingData
from rankforce.models.network.network import Network, take_dense

ROWS = 4096  # of the training set that are looked at, at most, lists as a whole


def find_influence(network: Network, step: int, data: RankingData) -> Floats:
    """The mean size of a score's derivative by each feature, once that is scaled.

    Of a linear ranker that is the size of its weights. A category, which cannot move a little, has
    none, nor has a feature under trees.
    """
    found = np.zeros(len(network.names))
    if network.forest is not None:
        return found
    index = data.index
    count = max(int(np.searchsorted(index.pointer, ROWS, side="right")) - 1, 1)
    rows = index.rows_of(np.arange(min(count, len(index.sizes))))
    if not len(rows):
        return found
    net = network.net(step)
    given = torch.from_numpy(take_dense(data.features, rows)).to(network.device)
    with torch.no_grad():
        x = net.encode(given)
    x.requires_grad_(True)
    sizes = torch.from_numpy(index.sizes[: min(count, len(index.sizes))].astype(np.int64))
    net.body(x, sizes).sum().backward()
    if x.grad is not None:
        numbers = network.encoder.numbers
        each = x.grad[:, : network.encoder.scaled].abs().mean(dim=0).double().cpu().numpy()
        found[numbers] = each.reshape(-1, len(numbers)).sum(axis=0)
    return found
