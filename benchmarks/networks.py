"""Networks and linear rankers beside trees, fold by fold, with significance.

    python benchmarks/networks.py --data FOLDER                     # S1.txt.gz .. S5.txt.gz in it
    python benchmarks/networks.py --data FOLDER --seeds 1 --set dropout=0.5 --keep SCORES

Nothing is tuned: every contender has its defaults, the same objective, and the epoch or tree that
is best on the validation queries. Trees are those of `benchmarks/quality.py`. The value of a query
is its mean over seeds; p-values are two-sided, of Fisher's randomisation test on the differences of
queries.
"""

from __future__ import annotations

import argparse
from typing import Any

from contenders import Contender, fit_ours
from folds import add_options, run_sets

import rankforce as rf
from rankforce.experiments.train import read_setting

TREES = "LambdaMART"
PATIENCE = 20  # epochs without gain on the validation queries


def fit_network(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, **more: Any
) -> Any:
    ranker = rf.Ranker("lambdarank-ndcg", k=10, seed=seed, threads=threads, progress=False, **more)
    return ranker.fit(
        train, eval_set=[valid], eval_metric="ndcg@10", early_stopping_rounds=PATIENCE
    )


def fit_upon(
    train: rf.RankingData, valid: rf.RankingData, seed: int, threads: int, **more: Any
) -> Any:
    """A model upon another one: trees upon a network, or a linear ranker upon trees."""
    upon = dict(more)
    of, own = upon.pop("base"), {"seed": seed, "threads": threads}
    first = fit_ours if of == "trees" else fit_network
    base = first(train, valid, **own, **({} if of == "trees" else {"model": of}))
    second = fit_network if "model" in upon else fit_ours
    return second(train, valid, **own, **upon, base=base)


def make_contenders(options: argparse.Namespace) -> dict[str, Contender]:
    more = dict(read_setting(text) for text in options.set)
    found = {TREES: Contender(fit_ours)}
    for kind in options.models.split(","):
        found[kind] = Contender(fit_network, {"model": kind, **more})
    if options.upon:
        found["trees upon mlp"] = Contender(fit_upon, {"base": "mlp"})
        found["linear upon trees"] = Contender(fit_upon, {"base": "trees", "model": "linear"})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_options(parser, seeds=3, threads=2)
    parser.add_argument("--models", default="linear,mlp,attention", help="networks, with commas")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--upon", action="store_true", help="trees upon mlp, linear upon trees")
    parser.add_argument("--json", metavar="FILE", help="write the numbers to a file as well")
    options = parser.parse_args()
    contenders = make_contenders(options)
    baselines = [name for name in (TREES, "linear") if name in contenders]
    run_sets(options, contenders, baselines=baselines, step="steps")


if __name__ == "__main__":
    main()
