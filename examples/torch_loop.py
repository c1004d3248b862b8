"""A training loop of one's own in PyTorch: any objective as its loss, no padding.

    python examples/torch_loop.py                         # some seconds
    python examples/torch_loop.py --objective lambdagap-x+ --k 5 --epochs 10

A small network on a made-up set. A batch is some whole queries, one behind the other: scores are
flat, and the loss knows the queries by their sizes. Prints NDCG@10 on other queries before and
after.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import numpy as np
import torch

import rankforce as rf


def make_network(width: int) -> torch.nn.Module:
    layers = torch.nn
    return layers.Sequential(
        layers.BatchNorm1d(width),
        layers.Linear(width, 64),
        layers.ReLU(),
        layers.Linear(64, 1),
    )


def features_of(data: rf.RankingData) -> torch.Tensor:
    values = np.asarray(data.features, dtype=np.float32)
    return torch.from_numpy(np.sign(values) * np.log1p(np.abs(values)))


def batches(sizes: torch.Tensor, queries: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Rows and sizes of some queries at a time, all of them in a new order."""
    rows = torch.arange(int(sizes.sum())).split(sizes.tolist())
    for chosen in torch.randperm(len(sizes)).split(queries):
        yield torch.cat([rows[query] for query in chosen.tolist()]), sizes[chosen]


def judge(network: torch.nn.Module, data: rf.RankingData) -> float:
    network.eval()
    with torch.no_grad():
        scores = network(features_of(data)).squeeze(1).numpy()
    network.train()
    return float(np.mean(rf.metric("ndcg@10")(scores, data.labels, group=data.group)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objective", default="lambdarank-ndcg")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--queries", type=int, default=300, help="to train on, and to test on")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    torch.manual_seed(0)
    train, test = (rf.make_data("mslr", queries=options.queries, seed=seed) for seed in range(2))
    features, labels = features_of(train), torch.from_numpy(train.labels)
    network = make_network(features.shape[1])
    loss = rf.RankingLoss(options.objective, k=options.k)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    print(f"NDCG@10 before: {judge(network, test):.4f}")
    for epoch in range(options.epochs):
        costs = []
        for rows, sizes in batches(torch.from_numpy(train.group), queries=16):
            cost = loss(network(features[rows]), labels[rows], sizes=sizes)
            optimizer.zero_grad()
            cost.backward()
            optimizer.step()
            costs.append(cost.item())
        print(f"epoch {epoch + 1}: cost {np.mean(costs):.4f}")
    print(f"NDCG@10 after: {judge(network, test):.4f}")


if __name__ == "__main__":
    main()
