"""What does distilling a committee lose? It, small rankers fitted to it, and one that is not.

    python benchmarks/distil.py                       # a made-up set
    python benchmarks/distil.py --data FOLDER         # S1.txt.gz .. S5.txt.gz in it, five folds

The small ones have 100 trees of 31 leaves: trained on labels as ever, and distilled with 0, 1 and 3
neighbours for each document. All are judged by NDCG@10 on queries that none of them has seen.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from contenders import EIGHT, SMALL, fit_ours, join

import rankforce as rf

NEIGHBOURS = (0, 1, 3)
Parts = tuple[rf.RankingData, rf.RankingData, rf.RankingData]


def made_up() -> Iterator[tuple[Parts, dict[str, Any]]]:
    """Few queries to train on, many to judge."""
    own = {"members": 8, "tau": float("inf"), "n_estimators": 200, "learning_rate": 0.1}
    yield tuple(rf.make_data("mslr", queries=q, seed=s) for s, q in enumerate((250, 80, 2000))), own


def folds(place: Path) -> Iterator[tuple[Parts, dict[str, Any]]]:
    """As quality.py has them."""
    parts = [rf.read(place / f"S{number}.txt.gz") for number in range(1, 6)]
    for fold in range(5):
        train = join([parts[(fold + i) % 5] for i in range(3)])
        yield (train, parts[(fold + 3) % 5], parts[(fold + 4) % 5]), {**SMALL, "members": EIGHT}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder with S1.txt.gz ...")
    options = parser.parse_args()
    metric = rf.metric("ndcg@10")
    values: dict[str, list[Any]] = {}
    losses: dict[str, list[Any]] = {}
    for (train, valid, test), own in folds(options.data) if options.data else made_up():
        committee = fit_ours(train, valid, 0, 2, **own)
        rankers = {"committee": committee}
        plain = {"k": 10, "tau": 30, "n_estimators": 100, "progress": False}
        rankers["small, on labels"] = rf.Ranker("lambdarank-ndcg", **plain).fit(train)
        for count in NEIGHBOURS:
            name = f"distilled, {count} neighbours"
            found = rf.distil(committee, train, valid=test, neighbours=count, progress=False)
            rankers[name] = found.ranker
            losses.setdefault(name, []).append((found.lost["valid"], found.sizes))
        for name, ranker in rankers.items():
            scores = ranker.predict(test.features)
            values.setdefault(name, []).append(metric(scores, test.labels, qid=test.qid))
    per_query = {name: np.concatenate(several) for name, several in values.items()}
    print(rf.compare_values(per_query, metric=metric, correction="none"))
    for name, several in losses.items():
        tau, r2 = (np.mean([getattr(loss, key) for loss, _ in several]) for key in ("tau", "r2"))
        large, small = ([sizes[key] for _, sizes in several] for key in ("committee", "small"))
        trees = f"{np.mean([one.trees for one in large]):.0f} trees to {small[0].trees}"
        speed = np.mean([a.seconds / b.seconds for a, b in zip(large, small, strict=True)])
        print(f"{name}: tau {tau:.3f}, R2 {r2:.3f}, {trees}, {speed:.1f} times as fast")


if __name__ == "__main__":
    main()
