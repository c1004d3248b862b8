"""Networks, trees, and one upon the other: does it help?

    python examples/networks_and_trees.py                         # about a minute
    python examples/networks_and_trees.py --data MQ2007/Fold1     # train.txt, vali.txt, test.txt

Trees and an mlp by themselves; trees that begin where the mlp ends (`base=` takes its scores as
F0); an mlp that begins where the trees end; and a linear ranker that weighs the trees anew (its
features are what each tree gives a document). All learn the same objective, stop on the same
validation queries, and are compared on other ones.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import rankforce as rf


def read(folder: Path) -> list[rf.RankingData]:
    return [rf.read(folder / f"{name}.txt") for name in ("train", "vali", "test")]


def make(queries: int) -> list[rf.RankingData]:
    sizes = (queries, queries // 3, queries)
    return [rf.make_data("mslr", queries=size, seed=n) for n, size in enumerate(sizes)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="a folder with train.txt, vali.txt and test.txt")
    parser.add_argument("--queries", type=int, default=150, help="of a made-up set")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--trees", type=int, default=100)
    options = parser.parse_args()
    train, valid, test = read(options.data) if options.data else make(options.queries)

    def fit(**settings: Any) -> rf.Ranker:
        own = {"n_estimators": options.trees, "num_leaves": 15}
        if "model" in settings:
            own = {"epochs": options.epochs}
        ranker = rf.Ranker("lambdarank-ndcg", k=10, progress=False, **own, **settings)
        return ranker.fit(train, eval_set=[valid], early_stopping_rounds=10)

    trees, network = fit(), fit(model="mlp")
    rankers = {
        "trees": trees,
        "mlp": network,
        "trees upon mlp": fit(base=network),
        "mlp upon trees": fit(model="mlp", base=trees),
        "linear upon trees": fit(model="linear", base=trees),
    }
    print(f"train {train}\ntest  {test}\n")
    print(rf.compare(rankers, test, metric="ndcg@10", baseline="trees"))
    found = {name: ranker.score(test, metric="ndcg@10") for name, ranker in rankers.items()}
    alone = max(found["trees"], found["mlp"])
    for name in [name for name in found if " upon " in name]:
        verb = "is ahead of" if found[name] > alone else "is not ahead of"
        print(f"{name} {verb} the better one alone: {found[name]:.4f} and {alone:.4f}")


if __name__ == "__main__":
    main()
