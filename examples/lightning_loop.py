"""A PyTorch Lightning module with any objective as its loss, no padding.

    python examples/lightning_loop.py                     # some seconds
    python examples/lightning_loop.py --objective lambdagap-x+ --k 5 --epochs 10

Needs `pip install lightning`. A small network on a made-up set: the data loader puts whole queries
one behind the other, with their sizes. The loss is a module of the model, so that a checkpoint has
its iteration. Prints NDCG@10 on other queries before and after.
"""

from __future__ import annotations

import argparse
import logging
import warnings

import lightning
import numpy as np
import torch
from torch.utils.data import DataLoader

import rankforce as rf

Query = tuple[torch.Tensor, torch.Tensor]  # features and labels
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # the same of several, and their sizes


class Network(lightning.LightningModule):
    def __init__(self, width: int, objective: str, k: int) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.BatchNorm1d(width),
            torch.nn.Linear(width, 64),
            torch.nn.ReLU(),
            torch.nn.Linear(64, 1),
        )
        self.loss = rf.RankingLoss(objective, k=k)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.layers(features).squeeze(1)

    def training_step(self, batch: Batch, number: int) -> torch.Tensor:
        features, labels, sizes = batch
        return self.loss(self(features), labels, sizes=sizes)

    def test_step(self, batch: Batch, number: int) -> None:
        scores, labels, sizes = (one.cpu().numpy() for one in (self(batch[0]), *batch[1:]))
        ndcg = rf.metric("ndcg@10")(scores, labels, group=sizes)
        self.log("NDCG@10", float(ndcg.mean()), batch_size=len(sizes))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=3e-3)


def queries_of(data: rf.RankingData) -> list[Query]:
    values = np.asarray(data.features, dtype=np.float32)
    features = torch.from_numpy(np.sign(values) * np.log1p(np.abs(values)))
    sizes = data.group.tolist()
    return list(zip(features.split(sizes), torch.from_numpy(data.labels).split(sizes), strict=True))


def collate(queries: list[Query]) -> Batch:
    features, labels = zip(*queries, strict=True)
    return torch.cat(features), torch.cat(labels), torch.tensor([len(one) for one in labels])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--objective", default="lambdarank-ndcg")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--queries", type=int, default=300, help="to train on, and to test on")
    parser.add_argument("--epochs", type=int, default=5)
    options = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", ".*LeafSpec.* is deprecated")  # Lightning 2.6, PyTorch 2.13
    warnings.filterwarnings("ignore", ".*does not have many workers")  # data is in memory already
    lightning.seed_everything(0, verbose=False)
    train, test = (rf.make_data("mslr", queries=options.queries, seed=seed) for seed in range(2))
    network = Network(train.features.shape[1], options.objective, options.k)
    trainer = lightning.Trainer(
        max_epochs=options.epochs,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    to_train = DataLoader(queries_of(train), batch_size=16, shuffle=True, collate_fn=collate)
    to_test = DataLoader(queries_of(test), batch_size=100, collate_fn=collate)
    before = trainer.test(network, to_test, verbose=False)[0]
    trainer.fit(network, to_train)
    after = trainer.test(network, to_test, verbose=False)[0]
    print(f"NDCG@10 before: {before['NDCG@10']:.4f}")
    print(f"NDCG@10 after: {after['NDCG@10']:.4f}, {network.loss.iteration} steps")


if __name__ == "__main__":
    main()
